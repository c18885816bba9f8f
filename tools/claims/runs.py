"""How runs are made. A recipe is a way to train; a run is a recipe for one purpose (its loss, its bytes, its pace,
its checkpoints) in a folder of its own, named RECIPE/PURPOSE. A run that is there already, made by the same command
and the same programs, is not made again.
"""
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import sources

HOSTS = pathlib.Path(__file__).resolve().parent.parent / "bench" / "hosts.sh"
RATE = "1gbit"
PERIOD = 4  # steps: three by oneself, one together

ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


SEED = object()  # the run's seed, where a key wants one of its own


@dataclasses.dataclass(frozen=True)
class Share:
    """So much of a run's steps, where a key wants a number of steps."""
    of: float

    def steps(self, total):
        return max(1, round(self.of * total))


@dataclasses.dataclass(frozen=True)
class Recipe:
    name: str
    flags: dict = dataclasses.field(default_factory=dict)
    phases: tuple = ()  # of (Share or None, {short key: value})
    ranks: int = 4
    data: str = "text"  # text; mixed, all ranks the four sources of it; apart, each rank one of them


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is run. Bytes, and the losses, with a small model; pace and checkpoints with larger ones."""
    seeds: int
    loss_steps: int
    byte_steps: tuple
    pace_steps: int
    pace_model: dict
    save_model: dict
    saves: int
    restores: int


def model(layers, width):
    return {"model.layers": layers, "model.heads": 4, "model.width": width, "model.context": 64, "model.bias": "false"}


# Steps are such that all rules end a period, and all schedules a cycle, with the run.
FULL = Sizes(seeds=5, loss_steps=480, byte_steps=(8, 24), pace_steps=32, pace_model=model(4, 256),
             save_model=model(4, 256), saves=5, restores=3)
QUICK = Sizes(seeds=1, loss_steps=16, byte_steps=(8, 24), pace_steps=12, pace_model=model(2, 64),
              save_model=model(2, 64), saves=5, restores=1)

GLOBAL_BATCH = 16
COMMON = {"batch.global_batch": GLOBAL_BATCH, "data.tokenizer": "byte", "data.val_fraction": 0.03, "optim.lr": 2e-3,
          "optim.min_lr": 2e-4, "schedule.kind": "cosine", "schedule.warmup": Share(0.1), "run.progress": "plain",
          "run.log_every": 100, "run.eval_every": 0, "comm.hash_every": 0, "comm.topology": "full_mesh"}


@dataclasses.dataclass(frozen=True)
class Run:
    name: str
    recipe: Recipe
    flags: dict  # beside the recipe's
    steps: int
    link: str = "memory"  # or RATE: a network of that speed between the ranks
    counted: bool = False  # Open MPI counts the bytes
    restores: str = ""  # the run whose last checkpoint it goes on from
    keeps: bool = False  # its checkpoints, until all runs are made


# Which runs a figure takes. `name` is what report.py finds them by.

def loss_runs(recipe, sizes):
    # Distances between replicas are looked at one, two and three steps after they met.
    flags = {**model(2, 64), "comm.hash_every": 23 if sizes.loss_steps > 23 else 3}
    return [Run(f"{recipe.name}/loss-{seed}", recipe, {**flags, "run.seed": seed}, sizes.loss_steps)
            for seed in range(1, sizes.seeds + 1)]


def byte_runs(recipe, sizes):
    return [Run(f"{recipe.name}/bytes-{steps}", recipe, {**model(2, 64), "run.eval_batches": 1}, steps, counted=True)
            for steps in sizes.byte_steps]


def pace_runs(recipe, sizes, links):
    return [Run(f"{recipe.name}/pace-{link}", recipe, {**sizes.pace_model, "run.eval_batches": 1}, sizes.pace_steps, link)
            for link in links]


def save_runs(recipe, sizes):
    every = 2 * PERIOD
    steps = sizes.saves * every
    flags = {**sizes.save_model, "run.eval_batches": 1, "checkpoint.every": every, "checkpoint.keep": 100}
    saves = Run(f"{recipe.name}/saves", recipe, flags, steps, keeps=True)
    return [saves] + [Run(f"{recipe.name}/restore-{i}", recipe, flags, steps, restores=saves.name)
                      for i in range(1, sizes.restores + 1)]


class Workshop:
    """Makes runs below `folder` with the programs in `build`."""

    def __init__(self, build, text, folder, sizes):
        self.binaries = pathlib.Path(build).resolve() / "bin"
        self.text = pathlib.Path(text).resolve()
        self.folder = pathlib.Path(folder).resolve()
        self.sizes = sizes
        built = [self.binaries / "train", *(self.binaries.parent / "lib").glob("*.so")]
        if not built[0].exists():
            raise SystemExit(f"claims: {built[0]} does not exist: build Skep first, and name its build folder")
        self.built = max(file.stat().st_mtime for file in built)

    def make(self, run):
        command, environment = self._command(run)
        ckpt = self.folder / run.name / "run" / "ckpt"
        if not self._execute(run.name, command, environment):
            return False
        sizes = {save.name: sum(file.stat().st_size for file in save.rglob("*") if file.is_file())
                 for save in sorted(ckpt.glob("step-*"))}
        (self.folder / run.name / "sizes.json").write_text(json.dumps(sizes))
        if not run.keeps:
            shutil.rmtree(ckpt, ignore_errors=True)
        return True

    def time_codecs(self, density):
        self._execute("codecs", [str(self.binaries / "bench"), "codecs", "--json", "--density", str(density)], {})

    def shed(self):
        """Frees the checkpoints that were kept for others."""
        for ckpt in self.folder.glob("*/saves/run/ckpt"):
            shutil.rmtree(ckpt)

    def why_no_links(self):
        """Why ranks cannot be put on hosts with links of their own here; empty when they can."""
        if os.geteuid() != 0:
            return "it takes root to make network namespaces"
        try:
            test = subprocess.run([str(HOSTS), "2", "2", "true"], env={**os.environ, "RATE": RATE}, text=True,
                                  capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            return "hosts.sh did not answer within a minute"
        return "" if test.returncode == 0 else f"hosts.sh: {(test.stderr or test.stdout).strip()[:200]}"

    def _command(self, run):
        place = self.folder / run.name
        flags = {**COMMON, **run.flags, **run.recipe.flags, **self._data(run.recipe), "run.steps": run.steps,
                 "run.dir": place / "run"}
        if run.restores:
            flags["run.resume"] = self.folder / run.restores / "run" / "ckpt" / f"step-{run.steps}"
        values = {key: value.steps(run.steps) if isinstance(value, Share) else
                  flags.get("run.seed", 1) if value is SEED else value for key, value in flags.items()}
        train = [str(self.binaries / "train"), *self._phases(run)]
        train += [part for key, value in values.items() for part in (f"--{key}", str(value))]
        ranks = run.recipe.ranks
        if run.link != "memory":
            return [str(HOSTS), str(ranks), str(ranks), *train], {"RATE": run.link}
        mpirun = ["mpirun", "-q", "--bind-to", "none"]
        if run.counted:
            mpirun += ["--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3",
                       "--mca", "pml_monitoring_filename", str(place / "rank")]
        if run.recipe.data != "apart":
            return [*mpirun, "-np", str(ranks), *train], {}
        for rank in range(ranks):  # the same relative path, another file for each
            folder = sources.folder_of(self._sources(run.recipe), rank)
            mpirun += [*([":"] if rank else []), "-np", "1", "-wdir", str(folder), *train]
        return mpirun, {}

    def _phases(self, run):
        """The flag that names a file of the recipe's [[phase]]s, for this many steps."""
        if not run.recipe.phases:
            return []
        lines = []
        for until, settings in run.recipe.phases:
            lines.append("[[phase]]")
            if until:
                lines.append(f"until_step = {until.steps(run.steps)}")
            lines += [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        file = self.folder / "phases" / f"{run.recipe.name}-{run.steps}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n")
        return ["--config", str(file)]

    def _data(self, recipe):
        if recipe.data == "text":
            return {"data.train": self.text}
        folder = self._sources(recipe)
        return {"data.train": sources.FILE if recipe.data == "apart" else folder / sources.MIXED,
                "data.val": folder / sources.VALIDATION}

    def _sources(self, recipe):
        """Four sources, so long that the ranks see each of their windows about four times."""
        length = GLOBAL_BATCH * 64 * self.sizes.loss_steps // (4 * recipe.ranks)
        return sources.make(self.text, self.folder / "sources", recipe.ranks, length)

    def _execute(self, name, command, environment):
        """Runs the command, unless the folder holds its result. Returns whether it ran."""
        place = self.folder / name
        files = [command[i + 1] for i, part in enumerate(command) if part == "--config"]
        made = {"command": command, "environment": environment, "built": self.built,
                "config": [pathlib.Path(file).read_text() for file in files]}
        note = place / "command.json"
        if note.exists() and json.loads(note.read_text()) == made:
            return False
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        started = time.monotonic()
        code = run_to_end(command, {**os.environ, **ENVIRONMENT, **environment}, place / "console.txt")
        if code != 0:
            told = (place / "console.txt").read_text(errors="replace")[-2000:]
            raise SystemExit(f"claims: exit code {code} from\n{' '.join(command)}\n{told}")
        print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)
        note.write_text(json.dumps(made, indent=1))
        return True


def run_to_end(command, environment, console, timeout_seconds=300):
    with open(console, "w", encoding="utf-8") as out:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(timeout_seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
