"""The whole method with real processes: planted truth is found and noise is not, the properties that every run has, what each setting
does, templates of one's own, sloppy answers, and workers from elsewhere. The real data sets are in test_discover_data.py, kills in
test_discover_kills.py."""
import csv
import json
import random
import re
import subprocess
import unittest

import vqtest
from discovering import Discover
from planted_texts import FEATURES, planted_texts, write_truth
from vqtest import BIN, DONE, MISSING, USAGE, add_rates

PLANTED = ("lists", "questions", "numbers")


class Planted(Discover):
    """The judges are an oracle, which must know an axis by its name: a first run, of the server that counts words, tells which names are
    found; what the judges say of them in the second run is known from how the texts were made."""

    def settings(self, url):
        self.discover(url=url, vibecheck__iterations=1, vibecheck__d=40, vibecheck__batch=5, gates__separability="interval")

    def axes_found(self):
        """Names that are found in data.csv, each with the feature that it is about: all are worded with more of it as the high end."""
        self.settings(self.offline(name="words").url)
        self.run_it("names", "--quiet", "--runs", "other-runs")
        found = json.loads((self.dir / "other-runs/names/results/results.json").read_text())["vibes"]
        return {v["name"]: self.feature(v) for v in found}

    def judged_by_oracle(self, truth, axes, samples, **rates):
        write_truth(self.dir, truth, axes, samples)
        if rates:
            add_rates(self.dir, **rates)
        self.settings(self.offline("--oracle", self.dir / "truth.jsonl").url)
        return self.run_it()

    def test_three_planted_features_of_ten_are_found_kept_and_first(self):
        truth = planted_texts(self.dir, 200, PLANTED)
        axes = self.axes_found()
        self.assertLessEqual(set(PLANTED), set(axes.values()), axes)
        self.judged_by_oracle(truth, axes, 200, error=0.05)
        vibes = self.results("r")["vibes"]
        kept = [v for v in vibes if v["kept"]]
        self.assertEqual({self.feature(v) for v in kept[:3]}, set(PLANTED), "the planted three are first")
        self.assertEqual({self.feature(v) for v in kept}, set(PLANTED), "and nothing else is kept")
        for v in kept:
            feature = self.feature(v)
            expected = sum(truth[i, feature] for i in range(200)) / 200
            self.assertAlmostEqual(v["separability"]["train"], expected * 0.9, delta=0.15, msg=feature)
            self.assertLess(v["separability"]["ci95"][1], 0, "more of it in B")
        self.assertGreater(len(vibes), len(kept), "other axes were proposed, looked at and rejected")
        self.assertGreater(self.results("r")["mm"]["accuracy_test_ci95"][0], 0.8)

    def test_vibes_planted_as_noise_are_rejected(self):
        truth = planted_texts(self.dir, 160, PLANTED)
        noise = [f"Noise {i}" for i in range(5)]
        axes = {**{f: f for f in PLANTED}, **{n: None for n in noise}}
        write_truth(self.dir, truth, axes, 160)
        for n in noise[:3]:  # the judges guess, each for itself; of the others they see the same coin
            add_rates(self.dir, axis=n, error=0.5)
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        self.config(noise[:2] + list(PLANTED) + noise[2:], url=server.url)
        self.run_it("r", "--set", "gates.separability=interval", config="config.yaml")
        vibes = self.results("r")["vibes"]
        self.assertEqual([v["kept"] for v in vibes], [True] * 3 + [False] * 5)
        self.assertEqual({v["name"] for v in vibes[:3]}, set(PLANTED))
        # where nothing is asked of separability, agreement alone drops what the judges guess
        self.run_it("kappa", "--set", "gates.separability_min=0", config="config.yaml")
        dropped = {v["name"]: v["reason"] for v in self.results("kappa")["vibes"] if not v["kept"]}
        self.assertLessEqual(set(noise[:3]), set(dropped), dropped)
        self.assertIn("kappa", {dropped[n] for n in noise[:3]})
        self.assertEqual(self.accounting("kappa")["sent"], 0)

    def test_random_judges_are_rejected(self):
        truth = planted_texts(self.dir, 120, PLANTED)
        axes = dict.fromkeys(self.axes_found())
        self.judged_by_oracle(truth, axes, 120, error=0.5)
        vibes = self.results("r")["vibes"]
        self.assertGreaterEqual(len(vibes), 3)
        for v in vibes:
            self.assertLess(abs(v["separability"]["train"]), 0.3)
            self.assertLess(abs(v["kappa"]["train"]), 0.35)
            self.assertFalse(v["kept"], v)

    def test_where_nothing_differs_almost_nothing_is_kept(self):
        for seed in (1, 2):
            planted_texts(self.dir, 160, more_in_b=(), seed=seed)
            self.discover(vibecheck__d=40, vibecheck__batch=5, gates__separability="interval")
            self.run_it(f"null-{seed}", "--quiet")
            r = self.results(f"null-{seed}")
            self.assertGreater(len(r["vibes"]), 0, "small batches show differences by chance")
            self.assertLessEqual(sum(v["kept"] for v in r["vibes"]), 1)
            low, high = r["mm"]["accuracy_test_ci95"] or (0, 1)
            self.assertTrue(low <= 0.5 <= high, r["mm"])


class Properties(Discover):
    def test_any_number_of_workers_and_a_rerun_give_the_same_bytes(self):
        planted_texts(self.dir, 60, PLANTED, preferred="questions")
        self.discover(judging__audit_share=0.2)
        seen = set()
        for workers in (1, 2, 8):
            self.vibeq("run", "discover.yaml", "--name", "r", "--quiet", "--runs", f"runs-{workers}", "--workers", workers)
            seen.add((self.dir / f"runs-{workers}/r/results/results.json").read_bytes())
        self.assertEqual(len(seen), 1)
        self.vibeq("run", "discover.yaml", "--name", "again", "--quiet", "--runs", "runs-8")
        seen.add((self.dir / "runs-8/again/results/results.json").read_bytes())
        self.assertEqual(len(seen), 1)
        again = json.loads((self.dir / "runs-8/again/accounting.json").read_text())["calls"]
        self.assertEqual((again["sent"], again["planned"]), (0, again["from_store"] + again["saved_by_lazy_swap"]))
        self.vibeq("replay", "again", "--verify", "--runs", "runs-8")

    def test_swapping_the_models_with_the_vibes_held_fixed_negates(self):
        planted_texts(self.dir, 60, PLANTED, preferred="questions")
        self.discover()
        self.run_it("found", "--quiet")
        vibes = self.results("found")["vibes"]
        for name, models in (("one", "alpha, beta"), ("two", "beta, alpha")):
            lines = ["data: data.csv", f"models: [{models}]", "method: vibes", "judges: [offline-a, offline-b]", "vibes:"]
            lines += [f"  - {json.dumps({k: v[k] for k in ('name', 'low', 'high')})}" for v in vibes]
            (self.dir / f"{name}.yaml").write_text("\n".join(lines) + "\n")
            self.run_it(name, "--quiet", config=f"{name}.yaml")
        self.assertEqual(self.accounting("two")["sent"], 0)
        one, two = self.results("one"), self.vibes("two")
        self.assertGreaterEqual(len(vibes), 3)
        for v in one["vibes"]:
            w = two[v["name"]]
            self.assertEqual((v["kept"], v["kappa"]), (w["kept"], w["kappa"]))
            self.assertAlmostEqual(v["separability"]["test"], -w["separability"]["test"], 8)
            self.assertAlmostEqual(v["pref_separability"]["test"], w["pref_separability"]["test"], 8)
            if v["mm_coefficient"]:
                self.assertAlmostEqual(v["mm_coefficient"]["value"], -w["mm_coefficient"]["value"], 6)
                self.assertAlmostEqual(v["pp_coefficient"]["value"], w["pp_coefficient"]["value"], 6)
        for fit in ("mm", "pp"):
            self.assertEqual(one[fit]["accuracy_test"], self.results("two")[fit]["accuracy_test"])

    def test_a_judge_that_always_says_a(self):
        planted_texts(self.dir, 40, PLANTED)
        server = self.offline("--fault", "always_a=1")
        self.discover(url=server.url)
        run = self.run_it()
        r = self.results("r")
        self.assertGreater(len(r["vibes"]), 0, "discovery does not judge")
        for v in r["vibes"]:
            self.assertEqual((v["separability"]["train"], v["kept"]), (0, False))
            self.assertEqual(set(v["position_bias_rate"].values()), {1})
        self.assertEqual((r["mm"]["status"], r["mm"]["accuracy_test"]), ("no_vibes", 0.5))
        self.assertIn("misclassified", run.stderr + run.stdout)

    def test_a_perfect_difference(self):
        truth = planted_texts(self.dir, 40, ("lists",), high=1, low=0, both=0)
        self.assertEqual({truth[i, "lists"] for i in range(40)}, {-1})
        self.discover()
        self.run_it()
        r = self.results("r")
        lists = [v for v in r["vibes"] if self.feature(v) == "lists"]
        self.assertEqual([v["separability"]["test"] for v in lists], [-1])
        self.assertTrue(lists[0]["kept"] and lists[0]["kappa"]["test"] in (None, 1), lists[0]["kappa"])
        self.assertEqual(r["mm"]["accuracy_test"], 1)

    def test_calls_equal_the_formula_without_lazy_swap(self):
        planted_texts(self.dir, 40, PLANTED, high=0.7, low=0.3)
        server = self.offline()
        self.discover(url=server.url, judging__lazy_swap="off", vibecheck__discovery_calls=2, vibecheck__K=2)
        self.run_it()
        r, planned, calls = self.results("r"), self.planned("r"), self.accounting("r")
        rows, final = r["data"], sum(v["kept"] for v in r["vibes"])
        names = [s["name"] for s in self.stages("r")]
        iterations = sum(n.startswith("rank") for n in names)
        self.assertEqual(iterations, 2, names)
        self.assertEqual(planned["train"], 2 * 2 * rows["train"] * len(r["vibes"]))
        self.assertEqual(planned["test"], 2 * 2 * rows["test"] * final)
        reductions = sum(n.startswith("reduce") for n in names)
        self.assertTrue(1 <= reductions <= 3 * iterations, names)
        self.assertEqual(planned["reduction"], iterations * (2 * 1 + 1) + reductions)
        self.assertEqual(planned["dedup"], iterations - 1)
        first = next(s for s in self.stages("r") if s["name"] == "differences 1")["planned"]
        self.assertEqual(first, 3)
        self.assertEqual(calls["planned"], sum(planned.values()))
        self.assertEqual((calls["first_sends"], calls["saved_by_lazy_swap"]), (calls["planned"], 0))
        self.assertEqual(len(server.requests()), calls["planned"])
        for stage in self.stages("r"):
            self.assertEqual(stage["planned"], stage["first_sends"], stage["name"])

    def test_bad_preferences_and_rows_of_the_test_file_are_told(self):
        planted_texts(self.dir, 30, PLANTED, preferred="questions")
        (self.dir / "test.csv").write_bytes((self.dir / "data.csv").read_bytes())
        self.discover()
        run = self.vibeq("run", "discover.yaml", "--dry-run", "--set", "data.test_path=test.csv", code=None)
        self.assertRegex(run.stdout + run.stderr, r"(?i)test file")
        text = (self.dir / "data.csv").read_text()
        (self.dir / "data.csv").write_text(re.sub(r",beta(?=\n|$)", ",betta", text))
        run = self.vibeq("run", "discover.yaml", "--dry-run", code=USAGE)
        self.assertIn("betta", run.stderr)


if __name__ == "__main__":
    vqtest.main()
