"""The bundled example as it ships: what its data must show (decision 17), what its results must say about their judge (decision 15),
which files it leaves, and that a second run of it is free and the same."""
import csv
import json
import unittest

import vqtest
from vqtest import DONE, ROOT, Case

EXAMPLE = ROOT / "examples" / "friendly-vs-terse.yaml"
PROMPTS_MIN = 120
AGREED_MIN = 6


class Demo(Case):
    """One run for all tests: it is read, not changed."""

    @classmethod
    def setUpClass(cls):
        cls.ran = None

    def setUp(self):
        super().setUp()
        if type(self).ran is None:
            type(self).ran = self.run_it("one"), self.results_bytes("one"), self.accounting("one"), self.files("one")
        self.run_of_it, bytes_, self.calls, self.file_names = type(self).ran
        self.r = json.loads(bytes_)
        self.kept = [v for v in self.r["vibes"] if v["kept"]]
        self.dropped = [v for v in self.r["vibes"] if not v["kept"]]

    def run_it(self, name):
        return self.vibeq("run", EXAMPLE, "--name", name, code=DONE, env={"LC_ALL": "C.UTF-8", "COLUMNS": ""})

    def files(self, name):
        folder = self.dir / "runs" / name
        return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())

    def test_there_are_prompts_enough(self):
        self.assertGreaterEqual(self.r["data"]["rows"], PROMPTS_MIN)
        self.assertGreaterEqual(self.r["data"]["used"], PROMPTS_MIN)
        with open(EXAMPLE.with_suffix(".csv"), newline="", encoding="utf-8") as file:
            self.assertGreaterEqual(len({row["question"] for row in csv.DictReader(file)}), PROMPTS_MIN)

    def test_the_readme_shows_this_very_table(self):
        shown = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        lines = [line.rstrip() for line in self.run_of_it.stdout.splitlines() if line.strip() and not line.startswith("/")]
        self.assertGreater(len(lines), 20)
        for line in lines:
            self.assertIn(line, shown)

    def test_a_kept_vibe_has_negative_separability(self):
        self.assertTrue([v["name"] for v in self.kept if v["separability"]["train"] < 0 and v["separability"]["test"] < 0])
        self.assertTrue([v["name"] for v in self.kept if v["separability"]["train"] > 0])

    def test_one_vibe_is_dropped_for_separability_and_one_for_kappa(self):
        low = [v for v in self.dropped if v["reason"] == "separability"]
        self.assertTrue(low)
        for v in low:
            self.assertLessEqual(abs(v["separability"]["train"]), self.r["settings"]["separability_min"])
        split = [v for v in self.dropped if v["reason"] == "kappa"]
        self.assertTrue(split)
        for v in split:
            self.assertLess(v["kappa"]["train"], self.r["settings"]["kappa_min"])
            self.assertLess(v["kappa_mirrored"]["train"], self.r["settings"]["kappa_min"])

    def test_judges_agree_neither_perfectly_nor_not_at_all(self):
        for part in ("train", "test"):
            between = [v["name"] for v in self.r["vibes"] if v["kappa"][part] is not None and 0.2 <= v["kappa"][part] <= 0.95]
            self.assertGreaterEqual(len(between), AGREED_MIN, part)

    def test_the_models_are_told_apart_but_not_always(self):
        mm = self.r["mm"]
        self.assertEqual(mm["status"], "ok")
        self.assertLess(mm["accuracy_test"], 1)
        self.assertGreater(mm["accuracy_test_ci95"][0], 0.5)

    def test_preferences_are_predicted_better_than_by_the_majority(self):
        pp = self.r["pp"]
        self.assertEqual(pp["status"], "ok")
        self.assertGreater(pp["accuracy_test"], pp["majority_baseline"])
        self.assertLess(pp["accuracy_test"], 1)

    def test_the_results_say_that_there_is_no_model(self):
        self.assertEqual(self.r["judge_kind"], "offline-lexical")
        self.assertIn("plumbing", self.r["judge_note"])
        self.assertIn("plumbing", self.run_of_it.stdout)
        self.assertEqual({j["provider"] for j in self.r["judges"]}, {"offline/1"})

    def test_every_file_is_there_and_named(self):
        for name in ("run.yaml", "log", "accounting.json", "status.json", "lock", "inputs/data", "inputs/judge.txt",
                     "inputs/repair.txt", "results/results.json", "results/vibes.csv", "results/scores.csv", "results/rows.csv", "results/report.html"):
            self.assertIn(name, self.file_names)
        self.assertNotIn("endpoint.json", self.file_names, "nothing answers there any more")
        for name in ("results.json", "vibes.csv", "scores.csv", "rows.csv", "report.html"):
            self.assertIn(f"runs/one/results/{name}", self.run_of_it.stdout)

    def test_the_calls_add_up(self):
        c = self.calls
        self.assertEqual(c["planned"], self.r["data"]["used"] * len(self.r["vibes"]) * len(self.r["judges"]) * 2)
        self.assertEqual(c["planned"], c["first_sends"] + c["from_store"] + c["saved_by_lazy_swap"])
        self.assertGreater(c["saved_by_lazy_swap"], 0)
        self.assertEqual((c["unknown"], sum(c["failed"].values())), (0, 0))
        self.assertEqual(self.r["cells_missing"], 0)

    def test_again_it_sends_nothing_and_says_the_same(self):
        self.run_it("first")
        self.run_it("second")
        self.assertGreater(self.accounting("first")["sent"], 0)
        c = self.accounting("second")
        self.assertEqual((c["sent"], c["first_sends"]), (0, 0))
        self.assertEqual(c["planned"], c["from_store"] + c["saved_by_lazy_swap"])
        self.assertEqual(self.results_bytes("first"), self.results_bytes("second"))
        for name in ("vibes.csv", "scores.csv", "rows.csv"):
            first, second = ((self.dir / "runs" / run / "results" / name).read_bytes() for run in ("first", "second"))
            self.assertEqual(first, second, name)
        self.assertEqual(self.results_bytes("first"), type(self).ran[1], "and in another runs folder, with its own calls")


if __name__ == "__main__":
    vqtest.main()
