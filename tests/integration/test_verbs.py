"""Verbs around a run, and what is asked beside its scores: the retest, comparing found vibes with a reference list, vibes as YAML."""
import csv
import io
import json
import unittest

from vqtest import Case, DONE, INTERNAL, MISSING, STOPPED, USAGE, add_rates, main, planted

AXES = ("V1", "V2", "V3")


class Retest(Case):
    """decision 14"""
    SHARE = 0.2

    def setUp(self):
        super().setUp()
        self.truth = planted(self.dir, 60, AXES, seed=5)

    def run_with(self, name, share, faults=None, **more):
        words = {"judging": f"{{retest: {share}{more.pop('judging', '')}}}"} if share is not None else {}
        if faults:
            (self.dir / "faults.jsonl").write_text("".join(json.dumps(line) + "\n" for line in faults))
            words["oracle"] = False
            words["offline"] = "{oracle: truth.jsonl, faults: faults.jsonl}"
        config = self.config(AXES, **words, **more)
        return self.vibeq("run", config, "--name", name, "--yes")

    def calls(self, run, stage):
        rows = csv.DictReader(io.StringIO(self.vibeq("export", run, "calls").stdout))
        return [row for row in rows if row["stage"] == stage]

    def stage(self, run, name):
        stages = json.loads((self.dir / "runs" / run / "accounting.json").read_text())["stages"]
        return next((stage for stage in stages if stage["name"] == name), None)

    def test_14_off_by_default_it_asks_nothing(self):
        self.run_with("plain", None)
        self.assertNotIn("retest", self.results("plain"))
        self.assertIsNone(self.stage("plain", "retest"))
        self.run_with("zero", 0)
        self.assertEqual(self.results_bytes("zero"), self.results_bytes("plain"))
        self.assertIsNone(self.stage("zero", "retest"))

    def test_14_a_judge_that_keeps_its_word_never_flips(self):
        plain = self.run_with("plain", None)
        run = self.run_with("again", self.SHARE)
        results, before = self.results("again"), self.results("plain")
        retest = results.pop("retest")
        self.assertEqual(results, before)  # never in scores
        self.assertEqual(retest["share"], self.SHARE)
        asked = self.calls("again", "retest")
        stage = self.stage("again", "retest")
        self.assertEqual(stage["planned"], len(asked))
        self.assertEqual(stage["first_sends"], len(asked))
        self.assertEqual(self.stage("again", "rank")["sent"], 0)  # bought by the first run
        cells = len(self.truth) * 2
        self.assertTrue(abs(len(asked) - cells * self.SHARE) < 6 * (cells * self.SHARE * (1 - self.SHARE)) ** 0.5, len(asked))
        for judge in retest["judges"]:
            mine = [row for row in asked if row["judge"] == judge["name"]]
            self.assertEqual((judge["cells"], judge["flips"], judge["flip_rate"], judge["missing"]), (len(mine), 0, 0, 0))
            self.assertIn(f"Asked again: {judge['name']} changed 0 of {len(mine)} answers (0.0 %)", run.stdout)
        self.assertNotIn("Asked again", plain.stdout)
        page = (self.dir / "runs" / "again" / "results" / "report.html").read_text()
        self.assertIn("asked a second time", page)

    def test_14_flips_are_counted_exactly(self):
        """A judge that says A to each question the first time it comes, and the truth afterwards."""
        self.run_with("liar", self.SHARE, faults=[{"fault": "always_a", "p": 1, "tries": 1}])
        retest = self.results("liar")["retest"]
        asked = self.calls("liar", "retest")
        firsts = {(row["record"], row["vibe"], row["judge"], row["order"]): row["verdict"] for row in self.calls("liar", "rank")}
        for judge in retest["judges"]:
            flips = cells = 0
            for row in asked:
                if row["judge"] == judge["name"]:
                    self.assertEqual(firsts[row["record"], row["vibe"], row["judge"], row["order"]], "A")
                    self.assertGreater(int(row["repeat"]), 63)
                    shown = self.truth[int(row["record"]) - 1, row["vibe"]] * (1 if row["order"] == "0" else -1)
                    cells += 1
                    flips += shown < 0
            self.assertEqual((judge["cells"], judge["flips"], judge["missing"]), (cells, flips, 0))
            self.assertAlmostEqual(judge["flip_rate"], flips / cells, places=6)
            self.assertGreater(flips, 0)

    def test_14_the_same_again_and_replayed(self):
        self.run_with("one", self.SHARE)
        first = self.results_bytes("one")
        self.run_with("two", self.SHARE)
        self.assertEqual(self.results_bytes("two"), first)
        self.assertEqual(self.accounting("two")["sent"], 0)
        self.vibeq("replay", "one", "--verify")
        self.vibeq("resume", "one")
        self.assertEqual(self.results_bytes("one"), first)

    def test_14_one_order_where_one_is_asked(self):
        self.run_with("forward", self.SHARE, judging=", pair_rule: forward")
        asked = self.calls("forward", "retest")
        self.assertGreater(len(asked), 0)
        self.assertEqual({row["order"] for row in asked}, {"0"})


if __name__ == "__main__":
    main()
