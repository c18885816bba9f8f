"""Compiles every file with kernels for the GPUs Skep is built for, warnings as errors, and reads what
ptxas tells of each kernel: one that runs out of registers and keeps values in memory instead ("spills")
is slow, and fails the check. Needs nvcc, no GPU.

Usage: python3 tests/engine/ptxas_spills.py ROOT NVCC
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

FOLDERS = ("engine/ops", "engine/optim", "engine/kernels", "engine/backends/cuda")
ARCHITECTURES = (80, 90)
# fmt 9 as it is compiled by g++; see engine/kernels.cmake.
FLAGS = ["-std=c++20", "-x", "cu", "-DFMT_USE_CONSTEXPR=1", "-Werror=all-warnings", "-Xptxas=-v", "-fatbin"]

# "Compiling entry function '_Z3fooPf' for 'sm_90'", and two lines on, what it takes.
KERNEL = re.compile(r"Compiling entry function '(\S+)' for 'sm_(\d+)'"
                    r".*?(\d+) bytes spill stores, (\d+) bytes spill loads"
                    r".*?Used (\d+) registers", re.DOTALL)

# More live values than the 24 registers it is compiled with.
SPILLING = """
__global__ void spills(float* x) {
  float kept[64];
  for (int i = 0; i < 64; ++i) kept[i] = x[i * 7];
  __syncthreads();
  for (int i = 0; i < 64; ++i) x[i] = kept[i] * kept[63 - i];
}
"""


class Kernel(typing.NamedTuple):
    name: str
    architecture: int
    spilled_bytes: int
    registers: int


def kernels_of(nvcc, root, source, extra=()):
    """What ptxas tells of the kernels in a file."""
    targets = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in ARCHITECTURES]
    done = subprocess.run([nvcc, *FLAGS, *targets, *extra, f"-I{root}", "-o", os.devnull, str(source)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{source} does not compile for a GPU:\n{done.stdout}")
    return [Kernel(name, int(architecture), int(stores) + int(loads), int(registers))
            for name, architecture, stores, loads, registers in KERNEL.findall(done.stdout)]


def check_that_spills_show(nvcc, root):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "spills.cu"
        source.write_text(SPILLING)
        found = kernels_of(nvcc, root, source, ["-maxrregcount=24"])
    assert len(found) == len(ARCHITECTURES) and all(k.spilled_bytes > 0 for k in found), found


def main():
    root, nvcc = pathlib.Path(sys.argv[1]), sys.argv[2]
    check_that_spills_show(nvcc, root)
    sources = sorted(file for folder in FOLDERS for file in (root / folder).glob("*.cpp"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda source: kernels_of(nvcc, root, source), sources))
    kernels = [k for of_file in found for k in of_file]
    spilling = [f"{source.relative_to(root)}: {k.name} spills {k.spilled_bytes} bytes on sm_{k.architecture}"
                for source, of_file in zip(sources, found) for k in of_file if k.spilled_bytes]
    print("\n".join(spilling) or f"{len(kernels)} kernels, {max(k.registers for k in kernels)} registers at most, "
                                 "no spills")
    return bool(spilling)


sys.exit(main())
