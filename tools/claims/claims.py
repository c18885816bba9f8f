#!/usr/bin/python3
"""Runs every trick beside its baseline and writes what was claimed and what is true: claims.md, claims.json and plots.

  tools/claims/claims.py BUILD_FOLDER TEXT [--quick] [--out runs/claims] [--only TRICK...] [--seeds N] [--report-only]

Two steps apart: runs land in OUT/runs/RECIPE/PURPOSE (a run that is there is not made again), and every figure is made
of those folders alone (--report-only does just that). Needs mpirun; as root also times steps on throttled links.
The exit code is 1 when bytes are out of the bounds that the tricks' arithmetic gives.
Read on: tricks.py (the rows), runs.py (how a run is made), measure.py (from folders to numbers), verdicts.py, report.py.
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import signal
import sys

import measure
import plots
import report
import runs
import tricks


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", help="build folder with bin/train and bin/bench")
    parser.add_argument("text", help="text to train on, of 300 kB or more")
    parser.add_argument("--quick", action="store_true", help="one seed and few steps: shows that all works, in minutes")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/claims"))
    parser.add_argument("--only", nargs="+", metavar="TRICK", choices=[trick.name for trick in tricks.TRICKS],
                        help="of " + ", ".join(trick.name for trick in tricks.TRICKS))
    parser.add_argument("--seeds", type=int, help="runs of each recipe whose losses are compared")
    parser.add_argument("--report-only", action="store_true", help="make the table anew from the runs in OUT")
    options = parser.parse_args(arguments)
    missing = [name for name in ("train", "bench") if not (pathlib.Path(options.build) / "bin" / name).exists()]
    if missing and not options.report_only:
        parser.error(f"{options.build}/bin has no {' and no '.join(missing)}: build first")
    if not pathlib.Path(options.text).exists():
        parser.error(f"there is no text {options.text}")
    return options


def planned(lines, sizes, links):
    """Every run that the lines need, each once; what is compared on a clock stands together."""
    recipes = {kind: list({recipe.name: recipe for line in lines if kind in line.measures
                           for recipe in (line.baseline, line.recipe)}.values())
               for kind in ("bytes", "pace", "saves", "loss")}
    makers = [("bytes", runs.byte_runs, ()), ("pace", runs.pace_runs, (links,)), ("saves", runs.save_runs, ()),
              ("loss", runs.loss_runs, ())]
    return [run for kind, make, more in makers for recipe in recipes[kind] for run in make(recipe, sizes, *more)]


def machine():
    """'2 CPUs, AMD EPYC …'"""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return f"{len(os.sched_getaffinity(0))} CPUs, {names[0] if names else platform.machine()}"


def rdma_cards():
    folder = pathlib.Path("/sys/class/infiniband")
    return sorted(card.name for card in folder.iterdir()) if folder.is_dir() else []


def run_all(options, chosen, sizes):
    """Makes the runs, and returns what the report has to know about them."""
    workshop = runs.Workshop(options.build, options.text, options.out / "runs", sizes)
    no_links = workshop.why_no_links()
    links = [report.MEMORY] if no_links else [report.MEMORY, runs.RATE]
    lines = [line for trick in chosen for line in trick.lines]
    if any("codec" in line.measures for line in lines):
        workshop.time_codecs(tricks.CODEC_DENSITY)
    for run in planned(lines, sizes, links):
        workshop.make(run)
    workshop.shed()
    return {"date": f"{datetime.date.today()}", "machine": machine(), "command": " ".join(sys.argv),
            "tricks": [trick.name for trick in chosen], "links": links, "no_links": no_links,
            "seeds": list(range(1, sizes.seeds + 1)), "loss_steps": sizes.loss_steps,
            "byte_steps": list(sizes.byte_steps), "restores": sizes.restores, "rdma_cards": rdma_cards()}


def write_report(out, settings):
    """Returns the bounds that are broken."""
    chosen = [trick for trick in tricks.TRICKS if trick.name in settings["tricks"]]
    rows = report.results(chosen, out, settings)
    (out / "claims.json").write_text(report.to_json(rows, settings))
    images = plots.draw(chosen, rows, out, settings)
    (out / "claims.md").write_text(report.markdown(chosen, rows, settings, images))
    return report.broken_bounds(chosen, rows)


def main():
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the run under way is ended too
    settings_file = options.out / "settings.json"
    if not options.report_only:
        sizes = runs.QUICK if options.quick else runs.FULL
        if options.seeds:
            sizes = dataclasses.replace(sizes, seeds=options.seeds)
        chosen = [trick for trick in tricks.TRICKS if not options.only or trick.name in options.only]
        options.out.mkdir(parents=True, exist_ok=True)
        settings_file.write_text(json.dumps(run_all(options, chosen, sizes), indent=1))
    try:
        broken = write_report(options.out, json.loads(settings_file.read_text()))
    except (measure.Missing, FileNotFoundError) as error:
        raise SystemExit(f"claims: {error}: make the runs first, without --report-only") from error
    print((options.out / "claims.md").read_text())
    for bound in broken:
        print(f"claims: out of bounds: {bound}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
