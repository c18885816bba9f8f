"""From run folders to numbers. A run folder holds run/metrics.jsonl and console.txt (from train), *.prof
(Open MPI's own count of messages) and sizes.json (of its checkpoints); see runs.py. Nothing here knows of tricks.
"""
import collections
import dataclasses
import json
import math
import re
import statistics


class Missing(Exception):
    """A folder lacks what a figure is made of."""


# Statistics.

@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean with its 95 % confidence interval; without one (None) when there is a single value."""
    mean: float
    half: float | None
    count: int

    @property
    def low(self):
        return None if self.half is None else self.mean - self.half

    @property
    def high(self):
        return None if self.half is None else self.mean + self.half


def student_cdf(t, freedom):
    """Student's distribution for a whole number of degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cos, odd = math.cos(angle), freedom % 2
    term, total = (cos if odd else 1.0), 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cos * cos * (k - 1) / k
    middle = (angle + math.sin(angle) * total) * 2 / math.pi if odd else math.sin(angle) * total
    return (1 + middle) / 2


def student_quantile(p, freedom):
    """The t below which a share p > 0.5 lies. By halving: nothing in Python's own library knows it."""
    low, high = 0.0, 1.0
    while student_cdf(high, freedom) < p:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, freedom) < p else (low, middle)
    return high


def interval(values):
    count = len(values)
    if count < 2:
        return Interval(values[0], None, count)
    half = student_quantile(0.975, count - 1) * statistics.stdev(values) / math.sqrt(count)
    return Interval(statistics.fmean(values), half, count)


def paired(values, baseline):
    """The relative difference, seed by seed: what both owe to the seed drops out."""
    return interval([a / b - 1 for a, b in zip(values, baseline, strict=True)])


# One run folder.

def _read(folder, name):
    try:
        return (folder / name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Missing(f"{folder / name}: {error.strerror}") from error


def _rows(folder, key):
    rows = (json.loads(line) for line in _read(folder, "run/metrics.jsonl").splitlines())
    return [row for row in rows if key in row]


def training_losses(folder):
    return [row["loss"] for row in _rows(folder, "step_s")]


def final_loss(folder):
    """The validation loss at the run's end."""
    rows = _rows(folder, "val_loss")
    if not rows or rows[-1]["val_loss"] is None:
        raise Missing(f"{folder}: no validation loss")
    return rows[-1]["val_loss"]


def oscillation(folder, window=9):
    """How much the training loss swings in the middle third of a run: the standard deviation around a moving mean."""
    losses = training_losses(folder)
    begin, end = len(losses) // 3, 2 * len(losses) // 3
    swings = []
    for i in range(begin, end):
        near = losses[max(0, i - window // 2):i + window // 2 + 1]
        swings.append(losses[i] - statistics.fmean(near))
    return statistics.pstdev(swings)


def consensus_distance(folder):
    """The largest distance of a rank's parameters from the mean that the run told of; 0: replicas were always equal."""
    found = re.findall(r"consensus distance ([\d.e+-]+)", _read(folder, "console.txt"))
    return max(map(float, found), default=0.0)


def traffic(folder):
    """{(from, to): bytes}. E lines count the program's messages, I lines the library's own collectives."""
    sent = collections.Counter()
    profiles = sorted(folder.glob("*.prof"))
    if not profiles:
        raise Missing(f"{folder}: no profiles by Open MPI's monitoring")
    for profile in profiles:
        for line in profile.read_text().splitlines():
            if found := re.match(r"[EI]\s+(\d+)\s+(\d+)\s+(\d+) bytes", line):
                sent[int(found[1]), int(found[2])] += int(found[3])
    return sent


def bytes_a_step(short, long, ranks):
    """What a rank sends in a step, from two runs that differ in length alone: start, validation and saving drop out."""
    steps = len(training_losses(long)) - len(training_losses(short))
    return (traffic(long).total() - traffic(short).total()) / steps / ranks


@dataclasses.dataclass(frozen=True)
class Pace:
    step_seconds: float
    waiting_seconds: float  # of them, in which only messages were waited for: communication that nothing hides


def pace(folder, period):
    """Medians over stretches of `period` steps without the first one, a topology at a time, weighted by its steps."""
    steps = _rows(folder, "step_s")
    stretches = collections.defaultdict(list)
    for begin in range(period, len(steps) - period + 1, period):
        stretches[steps[begin]["topology"]].append(steps[begin:begin + period])

    def mean(key):
        weighted = [(len(group), statistics.median(statistics.fmean(row[key] for row in part) for part in group))
                    for group in stretches.values()]
        return sum(count * value for count, value in weighted) / sum(count for count, _ in weighted)

    if not stretches:
        raise Missing(f"{folder}: fewer than {2 * period} steps")
    return Pace(mean("step_s"), mean("comm_wait_s"))


@dataclasses.dataclass(frozen=True)
class Saving:
    """Means over all saves of a run: seconds that training stood still, seconds until all was on disk, bytes; and
    the median seconds of going on from the last one."""
    stall_seconds: float
    durable_seconds: float
    bytes: float
    restore_seconds: float


def saving(folder, restores):
    found = re.findall(r"saved \S+ \(training waited ([\d.]+) s, complete after ([\d.]+) s[,)]",
                       _read(folder, "console.txt"))
    sizes = json.loads(_read(folder, "sizes.json"))
    if not found or not sizes:
        raise Missing(f"{folder}: no checkpoints")
    return Saving(statistics.fmean(float(stall) for stall, _ in found),
                  statistics.fmean(float(total) for _, total in found),
                  statistics.fmean(sizes.values()),
                  statistics.median(restore_seconds(one) for one in restores))


def restore_seconds(folder):
    found = re.search(r"resumed from .* \(after ([\d.]+) s\)", _read(folder, "console.txt"))
    if not found:
        raise Missing(f"{folder}: not resumed")
    return float(found[1])


def codec_seconds(folder, codec):
    """Seconds to encode and to decode an element, from `bench codecs --json`."""
    row = json.loads(_read(folder, "console.txt"))[codec]
    return row["encode_s_per_element"], row["decode_s_per_element"]
