"""From run folders to the table: figures (read by measure.py), verdicts (by the rules in verdicts.py), and their two
forms, claims.json and claims.md. What was run, when and where is settings.json, written by the run step.
"""
import dataclasses
import json
import re
import statistics

import measure
import verdicts
from runs import PERIOD, RATE
from tricks import RDMA

MEMORY = "memory"


# Figures.

def figures_of(line, folder, settings):
    """All that the line measures, from the folders of its two recipes."""
    figures = {}
    own, baseline = folder / line.recipe.name, folder / line.baseline.name
    if "bytes" in line.measures:
        add_bytes(figures, line, folder, settings["byte_steps"])
    if "pace" in line.measures:
        figures["pace"] = {link: compare_pace(own / f"pace-{link}", baseline / f"pace-{link}")
                           for link in settings["links"]}
    if "loss" in line.measures:
        figures["loss"] = compare(own, baseline, settings["seeds"], measure.final_loss)
        distances = [measure.consensus_distance(own / f"loss-{seed}") for seed in settings["seeds"]]
        figures["consensus_distance"] = max(distances)
    if "swing" in line.measures:
        figures["swing"] = compare(own, baseline, settings["seeds"], measure.oscillation)
    if "codec" in line.measures:
        figures["encode_seconds"], figures["decode_seconds"] = measure.codec_seconds(folder / "codecs", line.name)
    if "saves" in line.measures:
        for name, place in (("saving", own), ("baseline_saving", baseline)):
            restores = [place / f"restore-{i}" for i in range(1, settings["restores"] + 1)]
            figures[name] = dataclasses.asdict(measure.saving(place / "saves", restores))
    return figures


def add_bytes(figures, line, folder, steps):
    def bytes_of(recipe, ranks):
        return measure.bytes_a_step(*(folder / recipe / f"bytes-{count}" for count in steps), ranks)

    figures["bytes_a_step"] = bytes_of(line.recipe.name, line.recipe.ranks)
    figures["baseline_bytes_a_step"] = bytes_of(line.baseline.name, line.baseline.ranks)
    figures["bytes_share"] = figures["bytes_a_step"] / figures["baseline_bytes_a_step"]
    if "codec" in line.measures and (folder / "bf16").exists():
        figures["bytes_share_of_bf16"] = figures["bytes_a_step"] / bytes_of("bf16", line.recipe.ranks)


def compare(own, baseline, seeds, read):
    values, others = ([read(place / f"loss-{seed}") for seed in seeds] for place in (own, baseline))
    return {"values": values, "baseline": others, "difference": measure.paired(values, others)}


def compare_pace(own, baseline):
    figures = dataclasses.asdict(measure.pace(own, PERIOD))
    figures.update({f"baseline_{key}": value for key, value in
                    dataclasses.asdict(measure.pace(baseline, PERIOD)).items()})
    return figures


def judged(trick, line, folder, settings):
    figures = figures_of(line, folder, settings)
    return {"trick": trick.name, "line": line.name, "baseline": line.baseline.name,
            "runs": [f"runs/{line.recipe.name}", f"runs/{line.baseline.name}"],
            "verdict": dataclasses.asdict(line.judge(figures)), **figures}


def results(tricks, folder, settings):
    """Every row of the table, in order."""
    rows = []
    for trick in tricks:
        rows += [judged(trick, line, folder / "runs", settings) for line in trick.lines]
        if trick is RDMA:
            rows.append({"trick": RDMA.name, "line": RDMA.name, "cards": settings["rdma_cards"],
                         "verdict": dataclasses.asdict(verdicts.hardware(settings["rdma_cards"]))})
    return rows


def broken_bounds(tricks, rows):
    """Sentences on bytes out of their bounds: no chance is in them, so a run that shows any has found a fault."""
    bounds = {line.name: line.share_between for trick in tricks for line in trick.lines if line.share_between}
    return [f"{row['line']} sends {verdicts.percent(row['bytes_share'])} of its baseline's bytes"
            for row in rows if row["line"] in bounds
            and not bounds[row["line"]][0] <= row["bytes_share"] <= bounds[row["line"]][1]]


# claims.md.

def megabytes(count):
    return f"{count / 1e6:.3g} MB"


def milliseconds(seconds):
    return f"{1e3 * seconds:.3g} ms" if seconds < 0.1 else f"{1e3 * seconds:.0f} ms"


def show_bytes(row):
    if "bytes_share" not in row:
        return None
    text = f"{megabytes(row['bytes_a_step'])}, {verdicts.percent(row['bytes_share'])} of the baseline's"
    if "bytes_share_of_bf16" in row:
        text += f", {verdicts.percent(row['bytes_share_of_bf16'])} of bf16's"
    return text


def show_pace(link):
    def show(row):
        if link not in row.get("pace", {}):
            return None
        pace = row["pace"][link]
        return (f"{milliseconds(pace['step_seconds'])} ({milliseconds(pace['waiting_seconds'])}); "
                f"{milliseconds(pace['baseline_step_seconds'])} ({milliseconds(pace['baseline_waiting_seconds'])})")
    return show


def show_codec(row):
    if "encode_seconds" not in row:
        return None
    return f"{1e9 * row['encode_seconds']:.2f} + {1e9 * row['decode_seconds']:.2f} ns"


def show_difference(key):
    def show(row):
        if key not in row:
            return None
        mean = statistics.fmean(row[key]["values"])
        return f"{mean:.4f}, {verdicts.words(row[key]['difference'])}"
    return show


def show_distance(row):
    return f"{row['consensus_distance']:.2g}" if row.get("consensus_distance") else None


def show_saving(key, form):
    def show(row):
        if "saving" not in row:
            return None
        return f"{form(row['saving'][key])}; {form(row['baseline_saving'][key])}"
    return show


COLUMNS = [
    ("bytes a rank sends a step", show_bytes),
    ("encode + decode an element", show_codec),
    (f"step (of it waiting) {verdicts.place(RATE)}; the baseline's", show_pace(RATE)),
    (f"step (of it waiting) {verdicts.place(MEMORY)}; the baseline's", show_pace(MEMORY)),
    ("validation loss, difference", show_difference("loss")),
    ("replicas apart by at most", show_distance),
    ("swing of the loss, difference", show_difference("swing")),
    ("training waits for a save; the baseline's", show_saving("stall_seconds", milliseconds)),
    ("until it is on disk", show_saving("durable_seconds", milliseconds)),
    ("bytes a save", show_saving("bytes", megabytes)),
    ("going on from the last", show_saving("restore_seconds", milliseconds)),
]


def table(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header),
            *("| " + " | ".join(row) + " |" for row in rows), ""]


def section(trick, rows):
    columns = [(title, show) for title, show in COLUMNS if any(show(row) for row in rows)]
    lines = [f"## {trick.title}", "", f"Claimed: {trick.claim}", "", f"Measured: {trick.how}", ""]
    if columns:
        lines += table(["", *(title for title, _ in columns)],
                       [[f"`{row['line']}`", *(show(row) or "" for _, show in columns)] for row in rows])
    lines += [f"- `{row['line']}`: **{row['verdict']['kind']}**. {row['verdict']['sentence']}" for row in rows]
    return lines + [""]


def foreword(settings):
    lines = ["# What was claimed, and what is true here", "",
             f"{settings['date']}, {settings['machine']}; `{settings['command']}`.", "",
             f"Four ranks where nothing else is said, {settings['loss_steps']} steps, {len(settings['seeds'])} "
             f"seed{'s' if len(settings['seeds']) > 1 else ''}. Differences are relative to the baseline with the same "
             "seed and the same tokens, with a 95 % interval by Student's t. Bytes are counted by Open MPI's monitoring; "
             "waiting is the time of a step in which only messages were waited for. Verdicts are computed."]
    if settings["no_links"]:
        lines += ["", f"No step was timed {verdicts.place(RATE)}: {settings['no_links']}."]
    return lines + [""]


def anchor(title):
    """As GitHub makes it of a heading."""
    return "#" + re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def markdown(tricks, rows, settings, plots=()):
    lines = foreword(settings)
    summary = [[f"[{trick.title}]({anchor(trick.title)})", f"`{row['line']}`",
                f"**{row['verdict']['kind']}**"]
               for trick in tricks for row in rows if row["trick"] == trick.name]
    lines += table(["trick", "as", "verdict"], summary)
    for trick in tricks:
        lines += section(trick, [row for row in rows if row["trick"] == trick.name])
        lines += [f"![{trick.title}]({plot})\n" for plot in plots if plot.startswith(f"{trick.name}-")]
    return "\n".join(lines).rstrip() + "\n"


def to_json(rows, settings):
    def plain(value):
        if isinstance(value, measure.Interval):
            return {**dataclasses.asdict(value), "low": value.low, "high": value.high}
        raise TypeError(value)
    return json.dumps({"settings": settings, "rows": rows}, indent=1, default=plain) + "\n"
