"""Plots of the table: training losses of each trick beside its baseline, and what it sends and how long it takes."""
import collections
import statistics

import measure
import verdicts

SMOOTHED = 25  # steps of the moving mean that curves show


def draw(tricks, rows, folder, settings):
    """Writes TRICK-loss.png, TRICK-bytes.png and TRICK-step.png, as far as there is something to show, into `folder`.
    Returns their names; none where this Python has no matplotlib."""
    try:
        import matplotlib
    except ImportError:
        print("claims: no plots: this python3 has no matplotlib (Debian: python3-matplotlib)")
        return []
    matplotlib.use("Agg")
    names = []
    for trick in tricks:
        own = [row for row in rows if row["trick"] == trick.name]
        if any("loss" in row for row in own):
            names.append(draw_losses(trick, folder, settings))
        if any("bytes_share" in row for row in own):
            names.append(draw_bars(f"{trick.name}-bytes.png", "bytes a step, of the baseline's",
                                   {row["line"]: {"": row["bytes_share"]} for row in own}, folder))
            names.append(draw_bars(f"{trick.name}-step.png", "seconds a step, of the baseline's",
                                   {row["line"]: {verdicts.place(link): pace["step_seconds"] / pace["baseline_step_seconds"]
                                                  for link, pace in row["pace"].items()} for row in own}, folder))
    return names


def mean_curve(folder, recipe, seeds):
    """The training loss, averaged over seeds and over the last SMOOTHED steps."""
    runs = [measure.training_losses(folder / "runs" / recipe / f"loss-{seed}") for seed in seeds]
    mean = [statistics.fmean(losses) for losses in zip(*runs)]
    window = collections.deque(maxlen=SMOOTHED)
    curve = []
    for loss in mean:
        window.append(loss)
        curve.append(statistics.fmean(window))
    return curve


def draw_losses(trick, folder, settings):
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 4))
    recipes = dict.fromkeys(name for line in trick.lines for name in (line.baseline.name, line.recipe.name))
    for recipe in recipes:
        curve = mean_curve(folder, recipe, settings["seeds"])
        axes.plot(range(1, len(curve) + 1), curve, label=recipe, linewidth=1)
    axes.set_xlabel("step")
    axes.set_ylabel(f"training loss, mean of the last {SMOOTHED} steps")
    axes.legend()
    return finish(figure, folder, f"{trick.name}-loss.png")


def draw_bars(name, title, groups, folder):
    """`groups`: {line: {label: value}}; a dashed line marks the baseline."""
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 1 + 0.4 * len(groups)))
    labels = list(dict.fromkeys(label for values in groups.values() for label in values))
    thickness = 0.8 / len(labels)
    for i, label in enumerate(labels):
        places = [row + thickness * (i - (len(labels) - 1) / 2) for row in range(len(groups))]
        axes.barh(places, [values[label] for values in groups.values()], thickness, label=label)
    axes.set_yticks(range(len(groups)), list(groups))
    axes.invert_yaxis()
    axes.axvline(1, linestyle="--", color="black", linewidth=0.8)
    axes.set_title(title)
    if labels != [""]:
        axes.legend()
    return finish(figure, folder, name)


def finish(figure, folder, name):
    from matplotlib import pyplot
    figure.tight_layout()
    figure.savefig(folder / name, dpi=90, metadata={"Software": None})
    pyplot.close(figure)
    return name
