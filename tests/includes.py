"""Checks who includes whom: the layers of the README's map, read from the #include lines."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])

# A folder may include itself and what stands here; the longest matching prefix counts.
ALLOWED = {
    "engine/core": [],
    "engine/kernels": ["engine/core"],
    "engine/backends": ["engine/core", "engine/kernels"],
    "engine/autograd": ["engine/core", "engine/kernels"],
    "engine/ops": ["engine/core", "engine/kernels", "engine/backends", "engine/autograd"],
    "engine/optim": ["engine/core", "engine/kernels"],
    "mpi_comm": [],
    "model": ["engine"],
    "train": ["engine", "mpi_comm", "model"],
    "tools": ["engine", "mpi_comm", "model", "train"],
}
# The seams that a lower layer reaches up to: storage asks the device's backend for memory, and GPU
# code is started on the backend's stream, or by the simulation.
EXCEPTIONS = {
    ("engine/core/storage.cpp", "engine/backends/backend.h"),
    ("engine/kernels/gpu.h", "engine/backends/cuda/stream.h"),
    ("engine/kernels/gpu.h", "engine/backends/cuda/simulated/language.h"),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def layer(path):
    fitting = [name for name in ALLOWED if path == name or path.startswith(name + "/")]
    return max(fitting, key=len, default=None)


def faults(path, text):
    own = layer(path)
    for included in INCLUDE.findall(text):
        target = layer(included)
        if target and target != own and (path, included) not in EXCEPTIONS:
            if not any(target == a or target.startswith(a + "/") for a in ALLOWED[own]):
                yield f"{path}: {own} may not include {included}"
        if included == "mpi.h" and not re.fullmatch(r"mpi_comm/[^/]+\.cpp", path):
            yield f"{path}: mpi.h belongs in mpi_comm/*.cpp"
        if included.startswith(("Eigen/", "oneapi/")) and not path.startswith("engine/backends/cpu/"):
            yield f"{path}: {included} belongs in engine/backends/cpu"
        if included.startswith("train/main"):
            yield f"{path}: nothing includes main"


def main():
    found, files = [], 0
    for top in ("engine", "mpi_comm", "model", "train", "tools"):
        for file in sorted((ROOT / top).rglob("*")):
            if file.suffix in (".h", ".cpp", ".cu"):
                files += 1
                found += faults(str(file.relative_to(ROOT)), file.read_text())
    # The rule must be able to fail: a planted fault is seen.
    assert list(faults("engine/ops/x.cpp", '#include "train/build.h"')), "the checker sees nothing"
    assert files > 50, f"only {files} sources read"
    print("\n".join(found) or f"{files} sources keep to the layers")
    return bool(found)


sys.exit(main())
