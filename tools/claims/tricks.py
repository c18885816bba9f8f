"""The table's rows: what the essay claims of each trick, how the trick is trained with, beside which baseline, what is
measured of both, and the rule by which the figures become a verdict. To add a row: one Line here.
"""
import dataclasses
import functools
from typing import Callable

import verdicts
from runs import COMMON as SETTINGS, PERIOD, SEED, Recipe, Share


@dataclasses.dataclass(frozen=True)
class Line:
    """One recipe beside its baseline: the same seeds, the same tokens."""
    recipe: Recipe
    baseline: Recipe
    measures: tuple  # of bytes, pace, loss, swing, codec, saves
    judge: Callable
    share_between: tuple = ()  # bounds of its bytes, as a share of the baseline's

    @property
    def name(self):
        return self.recipe.name


@dataclasses.dataclass(frozen=True)
class Trick:
    name: str
    title: str
    claim: str  # the essay's, in our words, with its figure
    how: str  # what was compared
    lines: tuple = ()


def against(baseline, measures, judge, *recipes):
    return tuple(Line(recipe, baseline, measures, judge) for recipe in recipes)


EVERY_STEP = Recipe("every_step")


def rule(kind, name="", **flags):
    recipe = Recipe(name or kind, {"sync.rule": kind, "sync.period": PERIOD, **flags})
    return Line(recipe, EVERY_STEP, ("bytes", "pace", "loss"),
                functools.partial(verdicts.fewer_bytes, claimed=0.15, allowed=(0, 0.27)), (0, 0.27))


# A step of AdamW on a quarter of the batch: the gradient is twice as noisy, the mean of steps half as long.
TWICE = {key: 2 * SETTINGS[key] for key in ("optim.lr", "optim.min_lr")}


SYNC = Trick(
    "sync", "3:1 synchronisation",
    "Three steps by oneself, then one with the others: 15 % less communication, convergence kept.",
    "sync.rule with sync.period 4 against every_step. accumulate is the essay's code read literally: it updates every "
    "fourth step, with the gradients of all four. local_sgd once with the baseline's learning rate and once with twice "
    "that, the square root of the ranks, as each rank's AdamW has a quarter of the batch.",
    (rule("accumulate"), rule("local_sgd"), rule("local_sgd", "local_sgd_twice", **TWICE), rule("diloco")))


def schedule(name, kind, cycle, **more):
    flags = {"schedule.kind": kind, "schedule.cycle": Share(cycle), "schedule.jitter": 0.05}
    return Recipe(name, {**flags, **more})


RESTARTS = Trick(
    "restarts", "warm restarts with jitter",
    "The learning rate returns to its start every 10 epochs, moved by ±5 %, best from the best snapshot: a marked "
    "improvement, without a figure. The essay's code is another schedule, a tenth every 10 epochs with the same jitter.",
    "schedule.kind warm_restarts with four cycles in a run, the same begun anew from the best snapshot, and step with "
    "three; each against cosine.",
    against(EVERY_STEP, ("loss",), verdicts.lower_loss,
            schedule("warm_restarts", "warm_restarts", 0.225),
            schedule("restarts_from_best", "warm_restarts", 0.225, **{"schedule.restart_from": "best"}),
            schedule("step_decay", "step", 0.3)))

CHAOS = {"data.sharding": "chaos", "data.chaos_seed": SEED}
COMMON = {"data.common_fraction": 0.1}
LOCAL = {"sync.rule": "local_sgd", "sync.period": 4 * PERIOD}
EVEN, APART = Recipe("even", data="mixed"), Recipe("apart", data="apart")
EVEN_LOCAL, APART_LOCAL = Recipe("even_local", LOCAL, data="mixed"), Recipe("apart_local", LOCAL, data="apart")


def chaos(name, baseline, **flags):
    return Line(Recipe(name, {**CHAOS, **flags}, data="mixed"), baseline, ("loss",),
                functools.partial(verdicts.lower_loss, claimed=0.02))


SHARDING = Trick(
    "chaos", "chaos seeding of shards",
    "A random seed deals the data anew each epoch, and a tenth of it is common to all nodes: 2 % more accuracy.",
    "data.sharding chaos with data.common_fraction 0.1, by validation loss. IID shards: even, which deals all windows "
    "out evenly after shuffling them. Non-IID shards: four sources (the text as it is, in capitals, with lines "
    "backwards, without vowels), of which each rank has one and no other. Each once with every_step and once with "
    "local_sgd, whose ranks are by themselves for 16 steps; there no part is common, as it could not weigh less.",
    (chaos("chaos_iid", EVEN, **COMMON), chaos("chaos_non_iid", APART, **COMMON),
     chaos("chaos_iid_local", EVEN_LOCAL, **LOCAL), chaos("chaos_non_iid_local", APART_LOCAL, **LOCAL)))


def codec(name, most, least=0.0, **flags):
    recipe = Recipe(name, {"compress.codec": name, **flags})
    judge = functools.partial(verdicts.fewer_bytes, claimed=0.70, allowed=(least, most))
    return Line(recipe, EVERY_STEP, ("bytes", "pace", "loss", "codec"), judge, (least, most))


# 1.3 bytes an element of fp32's 4: a tenth of the elements at 8 bytes, and half a byte for each.
MIXED_SHARE = 1.3 / 4

CODECS = Trick(
    "codecs", "gradient compression",
    "The largest k % of the gradients are sent, the rest quantised: up to 70 % less traffic, accuracy hardly touched.",
    "compress.codec with error feedback against fp32; topk at density 0.01, topk_int8 and topk_int4 (the essay's) at "
    "0.1. Encoding and decoding are timed by `bench codecs` at density 0.1.",
    (codec("bf16", 0.51), codec("int8", 0.27), codec("int4", 0.14),
     codec("topk", 0.10, **{"compress.density": 0.01}),
     codec("topk_int8", 0.47, **{"compress.density": 0.1}),
     codec("topk_int4", 1.05 * MIXED_SHARE, 0.95 * MIXED_SHARE, **{"compress.density": 0.1})))


def saving(ranks, kind, name, **flags):
    return Recipe(f"{kind}_{name}_n{ranks}", {"checkpoint.kind": kind, **flags}, ranks=ranks)


def diffs(ranks, name, **flags):
    return Line(saving(ranks, "base_diff", name, **{"checkpoint.max_diffs": 4, **flags}),
                saving(ranks, "full", name, **flags), ("saves",), verdicts.quicker_saves)


DIFFS = Trick(
    "diffs", "checkpoint fusion",
    "A base and differences instead of whole checkpoints: saving takes 40 % less time, less space, quicker recovery.",
    "checkpoint.kind base_diff with checkpoint.max_diffs 4 against full, in which each rank writes its share of one "
    "copy; means over a base and its four differences, eight steps apart, restored from the last. Once with equal "
    "replicas (every_step) and once with replicas that differ (local_sgd).",
    tuple(diffs(ranks, name, **flags) for ranks in (2, 4) for name, flags in
          (("equal", {}), ("apart", {"sync.rule": "local_sgd", "sync.period": 2 * PERIOD + 1}))))

MESH = Recipe("full_mesh_n8", ranks=8)
PHASES = Recipe("phases_n8", ranks=8, phases=((Share(0.25), {"topology": "full_mesh"}),
                                              (Share(0.75), {"topology": "random_clusters", "cluster_size": 4}),
                                              (None, {"topology": "full_mesh"})))
TOPOLOGY = Trick(
    "topology", "topology that changes",
    "Full mesh at first, random groups of four in the middle, full mesh again at the end: suits training better than "
    "a fixed topology, without a figure.",
    "The schedule of train/presets/dynamic_topology.toml (5 epochs, 10, and 5 more, here as quarters of the run) "
    "against full mesh, with 8 ranks, so that clusters of four are not everybody.",
    (Line(PHASES, MESH, ("bytes", "pace", "loss"), verdicts.lighter_wires),))

VIEWS = Trick(
    "views", "multi-view loss",
    "Losses are exchanged and weighted as training goes: steadier convergence, no swings in mid training; no figure.",
    "loss.view_weighting adaptive (temperature 1) against uniform. Swings: the standard deviation of the training "
    "loss around its moving mean, in the middle third of the run.",
    (Line(Recipe("adaptive", {"loss.view_weighting": "adaptive"}), EVERY_STEP, ("loss", "swing"),
          verdicts.steadier),))

RDMA = Trick(
    "rdma", "compression in the network card",
    "The network's cards compress what passes through them, over RDMA.",
    "Nothing could be run: it takes such cards, and a library that hands them what to compress; MPI has no call for "
    "it. What an RDMA card would show is looked for in /sys/class/infiniband.")

TRICKS = (SYNC, RESTARTS, SHARDING, CODECS, DIFFS, TOPOLOGY, VIEWS, RDMA)
CODEC_DENSITY = 0.1
