"""A codec that is the identity, and a rule that is every_step, do not get the verdict of the real ones: real runs.

Usage: claims_flip.py REPOSITORY BUILD_FOLDER.
"""
import dataclasses
import pathlib
import sys
import tempfile
import unittest

build = pathlib.Path(sys.argv.pop(2)).resolve()
repository = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(repository / "tools" / "claims"))

import report  # noqa: E402
import runs  # noqa: E402
import tricks  # noqa: E402
import verdicts  # noqa: E402

MEASURES = ("bytes", "loss")


class Flip(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="skep-claims-")
        cls.addClassCleanup(scratch.cleanup)
        cls.out = pathlib.Path(scratch.name)
        cls.workshop = runs.Workshop(build, repository / "README.md", cls.out, runs.QUICK)

    def verdict(self, line):
        for recipe in (line.baseline, line.recipe):
            for run in (*runs.byte_runs(recipe, runs.QUICK), *runs.loss_runs(recipe, runs.QUICK)):
                self.workshop.make(run)
        settings = {"seeds": [1], "byte_steps": runs.QUICK.byte_steps}
        return line.judge(report.figures_of(line, self.out, settings))

    def impostor(self, line, flag, value):
        recipe = dataclasses.replace(line.recipe, name=f"not_{line.name}", flags={**line.recipe.flags, flag: value})
        return dataclasses.replace(line, recipe=recipe)

    def check(self, trick, name, flag, value):
        line = next(line for line in trick.lines if line.name == name)
        line = dataclasses.replace(line, measures=MEASURES)
        real, false = self.verdict(line), self.verdict(self.impostor(line, flag, value))
        print(f"{name}: {real}\nwith {flag} {value}: {false}")
        self.assertNotEqual(real.kind, verdicts.NOT_CONFIRMED)
        self.assertEqual(false.kind, verdicts.NOT_CONFIRMED)

    def test_codec(self):
        self.check(tricks.CODECS, "int8", "compress.codec", "none")

    def test_rule(self):
        self.check(tricks.SYNC, "local_sgd", "sync.rule", "every_step")

    def test_a_run_is_made_once(self):
        run = runs.loss_runs(tricks.EVERY_STEP, runs.QUICK)[0]
        self.workshop.make(run)
        self.assertFalse(self.workshop.make(run))
        self.assertTrue(self.workshop.make(dataclasses.replace(run, flags={**run.flags, "optim.lr": 1e-3})))


if __name__ == "__main__":
    unittest.main()
