"""tools/claims: figures from run folders made by hand, intervals against published tables, verdicts that turn when a
trick does nothing. Usage: test_claims.py REPOSITORY."""
import dataclasses
import json
import math
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "tools" / "claims"))

import claims  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402
import runs  # noqa: E402
import sources  # noqa: E402
import tricks  # noqa: E402
import verdicts  # noqa: E402
from measure import Interval  # noqa: E402


class Statistics(unittest.TestCase):
    def test_student_quantiles_are_those_of_printed_tables(self):
        table = {(0.975, 1): 12.706, (0.975, 2): 4.303, (0.975, 3): 3.182, (0.975, 4): 2.776, (0.975, 5): 2.571,
                 (0.975, 9): 2.262, (0.975, 10): 2.228, (0.975, 30): 2.042, (0.975, 120): 1.980, (0.95, 1): 6.314,
                 (0.95, 4): 2.132, (0.995, 4): 4.604, (0.995, 9): 3.250}
        for (p, freedom), t in table.items():
            self.assertAlmostEqual(measure.student_quantile(p, freedom), t, delta=0.0006, msg=(p, freedom))

    def test_interval(self):
        five = measure.interval([1, 2, 3, 4, 5])  # 2.776 sqrt(2.5 / 5)
        self.assertEqual((five.mean, five.count), (3, 5))
        self.assertAlmostEqual(five.half, 1.963, delta=0.0005)
        self.assertAlmostEqual(five.low, 1.037, delta=0.0005)
        one = measure.interval([7.0])
        self.assertEqual((one.mean, one.half, one.low, one.high), (7, None, None, None))

    def test_pairing_takes_out_what_seeds_share(self):
        baseline = [1.0, 2.0, 4.0]
        same = measure.paired([1.1 * b for b in baseline], baseline)
        self.assertAlmostEqual(same.mean, 0.1)
        self.assertAlmostEqual(same.half, 0)
        with self.assertRaises(ValueError):
            measure.paired([1.0], baseline)


class Folder(unittest.TestCase):
    """A scratch folder in which run folders are made by hand."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = pathlib.Path(scratch.name)

    def run_folder(self, name, steps=(), val_losses=(2.0,), console="", sent=None):
        """`steps`: of (loss, seconds, waiting, topology); `sent`: {(from, to): bytes}."""
        place = self.out / "runs" / name
        (place / "run").mkdir(parents=True)
        rows = [{"step": i + 1, "loss": loss, "step_s": seconds, "comm_wait_s": waiting, "topology": topology}
                for i, (loss, seconds, waiting, topology) in enumerate(steps)]
        rows += [{"step": len(rows), "val_loss": loss} for loss in val_losses]
        (place / "run" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (place / "console.txt").write_text(console)
        for (sender, receiver), count in (sent or {}).items():
            with open(place / f"rank.{sender}.prof", "a", encoding="utf-8") as file:
                file.write(f"E\t{sender}\t{receiver}\t{count} bytes\t3 msgs sent\t0,0,1,2,0\n")
        return place


class Reading(Folder):
    def test_monitoring_counts_messages_of_the_program_and_of_the_library(self):
        place = self.run_folder("a")
        (place / "rank.0.prof").write_text("# POINT TO POINT\n"
                                           "E\t0\t1\t1000 bytes\t2 msgs sent\t0,0,0,0\n"
                                           "E\t0\t2\t24 bytes\t1 msgs sent\t0,1,0,0\n"
                                           "# COLLECTIVES\n"
                                           "I\t0\t1\t5 bytes\t1 msgs sent\t1,0,0,0\n"
                                           "D\tMPI COMMUNICATOR 5\tprocs: 0,1,2\n"
                                           "O2A\t0\t700 bytes\t1 msgs sent\n")
        (place / "rank.2.prof").write_text("E\t2\t0\t8 bytes\t1 msgs sent\t0\n")
        self.assertEqual(dict(measure.traffic(place)), {(0, 1): 1005, (0, 2): 24, (2, 0): 8})

    def test_without_profiles_there_is_no_figure(self):
        with self.assertRaisesRegex(measure.Missing, "monitoring"):
            measure.traffic(self.run_folder("a"))

    def test_bytes_a_step_leave_out_what_both_runs_send(self):
        step = (1.0, 0.1, 0.0, "ring")
        short = self.run_folder("short", 8 * [step], sent={(0, 1): 5000 + 8 * 30, (1, 0): 100 + 8 * 10})
        long = self.run_folder("long", 24 * [step], sent={(0, 1): 5000 + 24 * 30, (1, 0): 100 + 24 * 10})
        self.assertEqual(measure.bytes_a_step(short, long, ranks=2), 20)

    def test_pace_is_a_median_of_periods_without_the_first(self):
        periods = [9.0, 1.0, 2.0, 30.0]
        steps = [(1.0, seconds * share, 0.25 * seconds * share, "ring")
                 for seconds in periods for share in (0.5, 0.5, 0.5, 2.5)]
        self.assertEqual(measure.pace(self.run_folder("a", steps), 4), measure.Pace(2.0, 0.5))
        with self.assertRaisesRegex(measure.Missing, "fewer than 8 steps"):
            measure.pace(self.run_folder("b", steps[:7]), 4)

    def test_pace_weighs_topologies_by_their_steps(self):
        steps = 8 * [(1.0, 4.0, 1.0, "full_mesh")] + 12 * [(1.0, 8.0, 2.0, "random_clusters")]
        self.assertEqual(measure.pace(self.run_folder("a", steps), 4), measure.Pace(7.0, 1.75))

    def test_swings_are_those_around_the_moving_mean_in_the_middle(self):
        def swing(name, losses):
            return measure.oscillation(self.run_folder(name, [(loss, 1, 0, "ring") for loss in losses]))
        self.assertEqual(swing("flat", 30 * [2.0]), 0)
        self.assertAlmostEqual(swing("slope", [2 - 0.01 * i for i in range(60)]), 0)
        # Nine neighbours of a 1 hold five ones, of a 0 four.
        self.assertAlmostEqual(swing("zigzag", [i % 2 for i in range(60)]), 4 / 9)
        self.assertEqual(swing("early", [9.0 * (i < 10) for i in range(60)]), 0)

    def test_losses_and_distances(self):
        console = "step 3: consensus distance 1.5e-3\nstep 6: consensus distance 0.0002\n" \
                  "step 9: the ranks are one again: consensus distance 0.001 before, 0 after\n"
        place = self.run_folder("a", val_losses=(3.0, 2.5), console=console)
        self.assertEqual(measure.final_loss(place), 2.5)
        self.assertEqual(measure.consensus_distance(place), 0.0015)
        self.assertEqual(measure.consensus_distance(self.run_folder("b")), 0)
        with self.assertRaisesRegex(measure.Missing, "no validation loss"):
            measure.final_loss(self.run_folder("c", val_losses=()))

    def test_savings(self):
        saves = self.run_folder("saves", console="saved x/ckpt/step-8 (training waited 0.100 s, complete after 2.000 s, 9 bytes, base)\n"
                                                 "saved x/ckpt/step-16 (training waited 0.300 s, complete after 1.000 s)\n")
        (saves / "sizes.json").write_text(json.dumps({"step-8": 1000, "step-16": 200}))
        restores = [self.run_folder(f"r{s}", console=f"resumed from x/ckpt/step-16 at step 16 (after {s} s)\n")
                    for s in ("0.500", "0.100", "0.200")]
        self.assertEqual(measure.saving(saves, restores), measure.Saving(0.2, 1.5, 600, 0.2))
        with self.assertRaisesRegex(measure.Missing, "not resumed"):
            measure.restore_seconds(saves)


def known(mean, half):
    return {"difference": Interval(mean, half, 5), "values": [1.0], "baseline": [1.0]}


class Verdicts(unittest.TestCase):
    def test_a_trick_that_sends_less_needs_bytes_and_loss(self):
        def kind(share, mean, half):
            return verdicts.fewer_bytes({"bytes_share": share, "loss": known(mean, half)}, claimed=0.7,
                                        allowed=(0.2, 0.4)).kind
        self.assertEqual(kind(0.3, 0.004, 0.005), verdicts.CONFIRMED)
        self.assertEqual(kind(0.3, 0.004, 0.007), verdicts.UNDECIDED)
        self.assertEqual(kind(0.3, 0.004, None), verdicts.UNDECIDED)
        self.assertEqual(kind(0.3, 0.03, 0.01), verdicts.DIFFERENT)
        self.assertEqual(kind(0.2, -0.01, 0.001), verdicts.DIFFERENT)  # 80 %, not 70 %
        self.assertEqual(kind(0.41, 0, 0), verdicts.NOT_CONFIRMED)
        self.assertEqual(kind(0.19, 0, 0), verdicts.NOT_CONFIRMED)

    def test_the_identity_in_a_tricks_place_turns_its_verdict(self):
        lines = [line for trick in tricks.TRICKS for line in trick.lines if line.share_between]
        self.assertEqual(len(lines), 10)  # four rules, six codecs
        for line in lines:
            for loss in (known(0, 0), known(0.005, 0.02), known(0, None)):
                inside = {"bytes_share": sum(line.share_between) / 2, "loss": loss}
                self.assertNotEqual(line.judge(inside).kind, verdicts.NOT_CONFIRMED, line.name)
                self.assertEqual(line.judge({"bytes_share": 1.0, "loss": loss}).kind, verdicts.NOT_CONFIRMED, line.name)

    def test_a_better_loss_is_one_whose_interval_is_below_zero(self):
        def kind(mean, half, claimed=None):
            return verdicts.lower_loss({"loss": known(mean, half)}, claimed).kind
        self.assertEqual(kind(-0.01, 0.005), verdicts.CONFIRMED)
        self.assertEqual(kind(-0.01, 0.005, claimed=0.02), verdicts.DIFFERENT)
        self.assertEqual(kind(-0.018, 0.005, claimed=0.02), verdicts.CONFIRMED)
        self.assertEqual(kind(-0.01, 0.02), verdicts.NOT_CONFIRMED)
        self.assertEqual(kind(0.01, 0.005), verdicts.NOT_CONFIRMED)
        self.assertEqual(kind(0, 0), verdicts.NOT_CONFIRMED)  # the same thing twice
        self.assertEqual(kind(-0.5, None), verdicts.UNDECIDED)
        self.assertIn("is higher", verdicts.lower_loss({"loss": known(0.01, 0.005)}).sentence)

    def test_quicker_saves(self):
        full = {"durable_seconds": 1.0, "stall_seconds": 0.1, "bytes": 100, "restore_seconds": 1.0}
        less = {**full, "bytes": 60, "restore_seconds": 0.9}
        for own, seconds, kind in ((less, 0.55, verdicts.CONFIRMED), (less, 0.8, verdicts.DIFFERENT),
                                   ({**less, "restore_seconds": 1.3}, 0.55, verdicts.DIFFERENT),
                                   ({**less, "bytes": 101}, 0.55, verdicts.DIFFERENT),
                                   (less, 1.0, verdicts.NOT_CONFIRMED), (less, 1.4, verdicts.NOT_CONFIRMED)):
            verdict = verdicts.quicker_saves({"saving": {**own, "durable_seconds": seconds}, "baseline_saving": full})
            self.assertEqual(verdict.kind, kind)
        self.assertIn("on disk after 40 % more time", verdict.sentence)

    def test_wires_and_swings_and_cards(self):
        def wires(share, mean):
            return verdicts.lighter_wires({"bytes_share": share, "loss": known(mean, 0.002)}).kind
        self.assertEqual([wires(0.9, 0), wires(1, 0), wires(0.9, 0.05)],
                         [verdicts.CONFIRMED, verdicts.NOT_CONFIRMED, verdicts.NOT_CONFIRMED])
        def swings(mean, half, loss=0):
            return verdicts.steadier({"swing": known(mean, half), "loss": known(loss, 0)}).kind
        self.assertEqual(swings(-0.2, 0.1, 0.03), verdicts.NOT_CONFIRMED)  # calm, and worse
        self.assertEqual([swings(-0.2, 0.1), swings(-0.1, 0.2), swings(0, 0), swings(-0.1, None)],
                         [verdicts.CONFIRMED, verdicts.NOT_CONFIRMED, verdicts.NOT_CONFIRMED, verdicts.UNDECIDED])
        self.assertIn("no RDMA card", verdicts.hardware([]).sentence)
        self.assertIn("mlx5_0", verdicts.hardware(["mlx5_0"]).sentence)


SETTINGS = {"date": "2026-01-02", "machine": "2 CPUs", "command": "claims.py", "tricks": ["sync"], "links": ["memory"],
            "no_links": "no root", "seeds": [1, 2], "loss_steps": 8, "byte_steps": [8, 24], "restores": 1, "rdma_cards": []}


class Reports(Folder):
    def recipe(self, name, bytes_a_step, losses, seconds):
        step = (2.0, seconds, seconds / 2, "full_mesh")
        for steps in SETTINGS["byte_steps"]:
            self.run_folder(f"{name}/bytes-{steps}", steps * [step], sent={(0, 1): 77 + steps * 4 * bytes_a_step})
        for seed, loss in enumerate(losses, 1):
            self.run_folder(f"{name}/loss-{seed}", 8 * [step], (loss,), "step 3: consensus distance 0.25")
        self.run_folder(f"{name}/pace-memory", 16 * [step])

    def test_a_table_from_folders_alone(self):
        self.recipe("every_step", 1000, (2.0, 3.0), 0.020)
        self.recipe("accumulate", 250, (2.2, 3.3), 0.010)
        self.recipe("local_sgd", 260, (2.0, 3.0), 0.010)
        self.recipe("local_sgd_twice", 260, (1.9, 2.9), 0.010)
        self.recipe("diloco", 1000, (2.0, 3.0), 0.010)  # does nothing
        rows = report.results([tricks.SYNC], self.out, SETTINGS)
        self.assertEqual([row["bytes_share"] for row in rows], [0.25, 0.26, 0.26, 1.0])
        self.assertAlmostEqual(rows[0]["loss"]["difference"].mean, 0.1)
        self.assertAlmostEqual(rows[0]["pace"]["memory"]["baseline_step_seconds"], 0.020)
        self.assertAlmostEqual(rows[0]["pace"]["memory"]["waiting_seconds"], 0.005)
        self.assertEqual([row["verdict"]["kind"] for row in rows],
                         [verdicts.DIFFERENT, verdicts.DIFFERENT, verdicts.DIFFERENT, verdicts.NOT_CONFIRMED])
        self.assertIn("Bytes fall by 75.0 %, not by 15 %", rows[0]["verdict"]["sentence"])
        self.assertIn("the loss is worse (+10.00 % ± 0.00 %)", rows[0]["verdict"]["sentence"])
        self.assertIn("the loss is kept within 1 %", rows[1]["verdict"]["sentence"])
        self.assertIn("a step takes 50 % less time within the machine", rows[1]["verdict"]["sentence"])
        self.assertEqual(report.broken_bounds([tricks.SYNC], rows), ["diloco sends 100.0 % of its baseline's bytes"])
        page = report.markdown([tricks.SYNC], rows, SETTINGS, ["sync-loss.png"])
        for part in ("No step was timed on links of 1 Gbit/s: no root", "**not confirmed**", "(#31-synchronisation)", "0.25", "10 ms (5 ms); 20 ms (10 ms)",
                     "(sync-loss.png)", "2026-01-02"):
            self.assertIn(part, page)
        self.assertNotIn("encode", page)  # a column without figures is left out
        self.assertAlmostEqual(json.loads(report.to_json(rows, SETTINGS))["rows"][0]["loss"]["difference"]["low"], 0.1)

    def test_a_card_that_is_not_there(self):
        rows = report.results([tricks.RDMA], self.out, SETTINGS)
        self.assertIn("Not reproducible here", report.markdown([tricks.RDMA], rows, SETTINGS))


class Plans(Folder):
    def test_every_run_is_planned_once(self):
        lines = [line for trick in tricks.TRICKS for line in trick.lines]
        names = [run.name for run in claims.planned(lines, runs.QUICK, ["memory"])]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("every_step/loss-1", names)
        self.assertIn("phases_n8/pace-memory", names)
        by_name = {}
        for line in lines:
            for recipe in (line.recipe, line.baseline):
                self.assertEqual(by_name.setdefault(recipe.name, recipe), recipe)

    def test_shares_of_a_run(self):
        self.assertEqual([runs.Share(0.225).steps(400), runs.Share(0.25).steps(24), runs.Share(0.01).steps(8)], [90, 6, 1])

    def test_the_whole_run_ends_with_a_period_and_a_cycle(self):
        steps = runs.FULL.loss_steps
        self.assertEqual(steps % tricks.LOCAL["sync.period"], 0)
        for line in tricks.RESTARTS.lines:
            cycle = line.recipe.flags["schedule.cycle"].steps(steps)
            self.assertEqual((steps - runs.COMMON["schedule.warmup"].steps(steps)) % cycle, 0, line.name)

    def test_sources_are_told_apart_and_as_long(self):
        text = self.out / "text"
        text.write_text(40 * "Once upon a Time\nétait a Bee\n")
        folder = sources.make(text, self.out / "sources", 4, 90)
        parts = [(sources.folder_of(folder, i) / sources.FILE).read_bytes() for i in range(4)]
        self.assertEqual([len(part) for part in parts], 4 * [90])
        self.assertEqual(parts, [file.read_bytes() for file in sorted((folder / sources.MIXED).iterdir())])
        self.assertEqual(len((folder / sources.VALIDATION).read_bytes()), 40)
        self.assertTrue(parts[0].startswith("Once upon a Time\nétait".encode()))
        self.assertEqual(parts[1].decode().upper(), parts[1].decode())
        self.assertIn(b"emiT a nopu ecnO", parts[2])
        self.assertFalse(re.search(b"[aeiou]", parts[3]))
        with self.assertRaisesRegex(SystemExit, "too short"):
            sources.make(text, self.out / "more", 4, 900)


if __name__ == "__main__":
    unittest.main()
