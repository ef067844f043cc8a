"""Decisions on method where they show in a run of real processes. Those that show in numbers alone are unit tests of
methods/; docs/develop/decisions-tested.md says which test shows which."""
import csv
import random

import vqtest
from vqtest import MISSING, USAGE, Case, add_rates, planted

AXES = ("V1", "V2", "V3")


class Decisions(Case):
    def table(self, run, name):
        with open(self.dir / "runs" / run / "results" / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def rewrite(self, change):
        """Puts every row of data.csv through change(i, row)."""
        with open(self.dir / "data.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for i, row in enumerate(rows):
            change(i, row)
        with open(self.dir / "data.csv", "w", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, rows[0].keys())
            out.writeheader()
            out.writerows(rows)

    def test_01_a_failed_call_is_an_empty_cell(self):
        planted(self.dir, 20, AXES, p=[1.0])
        add_rates(self.dir, model="offline-b", axis="V1", refused=0.5)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        v = {v["name"]: v for v in self.results("r")["vibes"]}["V1"]
        self.assertGreater(v["missing"]["offline-b"], 0)
        self.assertEqual(v["separability"]["test"], 1, "the cells there are all say +1")
        self.assertEqual(v["rows_missing"], 0, "the other judge has a score everywhere")
        empty = [s for s in self.table("r", "scores.csv") if s["score"] == ""]
        self.assertEqual(len(empty), v["missing"]["offline-b"])
        self.assertEqual({s["judge"] for s in empty}, {"offline-b"})

    def test_03_the_seed_of_the_run_asks_nothing_new(self):
        planted(self.dir, 30, AXES)
        add_rates(self.dir, tie=0.3)
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        self.config(url=server.url)
        self.vibeq("run", "config.yaml", "--name", "one", "--quiet")
        sent = len(server.requests())
        self.vibeq("run", "config.yaml", "--name", "two", "--quiet", "--set", "seed=7")
        self.assertEqual(len(server.requests()), sent, "first orders and the audited tenth are hashes of the sample")
        one, two = self.table("one", "rows.csv"), self.table("two", "rows.csv")
        self.assertNotEqual([r["record"] for r in one], [r["record"] for r in two], "but another order of rows")
        self.assertEqual({r["record"]: r["x_1"] for r in one}, {r["record"]: r["x_1"] for r in two})

    def test_03_a_tenth_of_the_settled_is_audited(self):
        planted(self.dir, 100, AXES)
        add_rates(self.dir, tie=0.5)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        c = self.accounting("r")
        share = c["audit"] / (c["audit"] + c["saved_by_lazy_swap"])
        self.assertTrue(0.05 < share < 0.15, share)
        self.assertTrue(all(j["cells_audited"] > 0 for j in self.results("r")["audit"]["judges"]))
        self.assertEqual(sum(j["cells_audited"] for j in self.results("r")["audit"]["judges"]), c["audit"])

    def test_03_forward_asks_one_order_and_lazy_swap_is_for_strict(self):
        planted(self.dir, 10, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        self.config(url=server.url)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--set", "judging.pair_rule=forward")
        self.assertEqual(len(server.requests()), 10 * 3 * 2)
        for rule in ("forward", "lenient"):
            run = self.vibeq("run", "config.yaml", "--set", f"judging.pair_rule={rule}", "--set", "judging.lazy_swap=on", code=USAGE)
            self.assertIn("lazy_swap", run.stderr)
        self.vibeq("run", "config.yaml", "--name", "lenient", "--quiet", "--set", "judging.pair_rule=lenient")
        self.assertEqual(self.accounting("lenient")["saved_by_lazy_swap"], 0)
        self.assertEqual(len(server.requests()), 10 * 3 * 2 * 2, "and what forward bought was not bought again")

    def test_04_empty_is_unlabelled_and_ties_may_be_dropped(self):
        planted(self.dir, 40, AXES)

        def change(i, row):
            row["preference"] = "" if i % 4 == 0 else "tie" if i % 4 == 1 else row["preference"]

        self.rewrite(change)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "keep", "--quiet")
        keep = self.results("keep")
        self.assertEqual(keep["data"]["used"], 40)
        self.assertEqual(keep["mm"]["rows_train"] + keep["mm"]["rows_test"], 40)
        self.assertEqual(keep["pp"]["rows_train"] + keep["pp"]["rows_test"], 20)
        self.vibeq("run", "config.yaml", "--name", "drop", "--quiet", "--set", "data.ties=drop_all")
        drop = self.results("drop")
        self.assertEqual((drop["data"]["used"], drop["data"]["excluded"]["tie"]), (30, 10))
        self.assertEqual(drop["mm"]["rows_train"] + drop["mm"]["rows_test"], 30)

    def test_05_rows_are_shuffled_and_keep_their_record_numbers(self):
        planted(self.dir, 40, AXES)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        rows = self.table("r", "rows.csv")
        numbers = [int(r["record"]) for r in rows]
        self.assertEqual(sorted(numbers), list(range(1, 41)))
        train = [int(r["record"]) for r in rows if r["split"] == "train"]
        self.assertNotEqual(train, sorted(train))
        with open(self.dir / "data.csv", newline="", encoding="utf-8") as file:
            data = list(csv.DictReader(file))
        self.assertEqual([r["topic"] for r in rows], [data[n - 1]["topic"] for n in numbers])
        self.vibeq("run", "config.yaml", "--name", "capped", "--quiet", "--set", "data.num_train_max=5")
        capped = [int(r["record"]) for r in self.table("capped", "rows.csv") if r["split"] == "train"]
        self.assertEqual(capped, train[:5], "a cap takes the first of that order")

    def test_05_one_prompt_for_all_rows_is_split_by_row(self):
        planted(self.dir, 40, AXES)
        self.rewrite(lambda i, row: row.update(question="[S0] the one question?", alpha=f"{row['alpha']} {i}"))
        self.config()
        run = self.vibeq("run", "config.yaml", "--name", "r")
        r = self.results("r")
        self.assertTrue(r["data"]["split_by_row"])
        self.assertTrue(15 <= r["data"]["train"] <= 25)
        self.assertTrue(any("row" in w for w in r["data"]["warnings"]), r["data"]["warnings"])
        self.assertIn("warning", run.stderr)

    def test_06_questions_that_repeat_stay_on_one_side(self):
        planted(self.dir, 60, AXES)
        question = {}

        def change(i, row):
            question[i + 1] = i // 3
            row["question"] = f"[S{i // 3}] question {i // 3}"

        self.rewrite(change)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        side = {}
        for row in self.table("r", "rows.csv"):
            side.setdefault(question[int(row["record"])], set()).add(row["split"])
        self.assertEqual(len(side), 20)
        self.assertEqual({len(s) for s in side.values()}, {1})
        r = self.results("r")
        self.assertEqual(r["data"]["questions"], 20)

    def test_09_a_vibe_that_passes_by_luck_is_marked_and_the_interval_gate_drops_it(self):
        planted(self.dir, 60, AXES, p=[0.5])
        self.config()
        run = self.vibeq("run", "config.yaml", "--name", "point", "--set", "gates.separability_min=0.01")
        kept = [v for v in self.results("point")["vibes"] if v["kept"]]
        self.assertTrue(kept, "no vibe passed by luck: choose another seed")
        for v in kept:
            self.assertGreater(v["separability"]["q"], 0.05)
            self.assertFalse(v["distinguishable"])
            self.assertIn(f"~ {v['name']}", run.stdout)
        self.assertIn("not distinguishable from 0", run.stdout)
        self.vibeq("run", "config.yaml", "--name", "interval", "--quiet", "--set", "gates.separability_min=0.01",
                   "--set", "gates.separability=interval")
        r = self.results("interval")
        self.assertEqual([v["name"] for v in r["vibes"] if v["kept"]], [])
        self.assertEqual((r["mm"]["status"], r["mm"]["accuracy_test"]), ("no_vibes", 0.5))  # decision 13

    def test_10_12_what_the_results_give(self):
        planted(self.dir, 60, AXES)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        r = self.results("r")
        self.assertGreater(r["mm"]["C_mm"], 0)
        self.assertGreater(r["pp"]["C_pp"], 0)
        self.assertIn("majority_baseline", r["pp"])
        self.assertIn("not that of judges", r["intervals_note"])
        self.assertIn("C fixed", r["intervals_note"])
        for v in r["vibes"]:
            for key in ("separability", "kappa"):
                self.assertTrue({"train", "test"} <= set(v[key]), key)
            lo, hi = v["separability"]["ci95"]
            self.assertTrue(lo <= v["separability"]["test"] <= hi, "the headline is test")
            if v["kept"]:
                self.assertIn("unregularised", v["mm_coefficient"])
                self.assertIn("unregularised_se", v["mm_coefficient"])
                self.assertTrue(0 < v["mm_coefficient"]["p"] <= 1)
        self.assertEqual((r["settings"]["p_values"], r["settings"]["standardise"]), ("bootstrap", False))
        self.assertNotIn("legacy_accuracy_in_sample", r["mm"])
        self.vibeq("run", "config.yaml", "--name", "old", "--quiet", "--set", "regression.estimator=legacy_bootstrap")
        old = self.results("old")
        self.assertEqual(old["mm"]["C_mm"], 1)
        self.assertTrue(0.5 < old["mm"]["legacy_accuracy_in_sample"] <= 1)
        self.assertEqual((old["settings"]["estimator"], old["settings"]["p_values"], old["settings"]["standardise"]),
                         ("legacy_bootstrap", "legacy_share_of_zeros", True))

    def lexical(self, name, low, high, axis="Length"):
        (self.dir / name).write_text(
            "data: {path: prose.csv}\nmodels: [alpha, beta]\nmethod: vibes\nvibes:\n"
            f"  - {{name: {axis}, low: \"{low}\", high: \"{high}\"}}\njudges: [offline-a, offline-b]\n")
        return name

    def prose(self):
        rng = random.Random(3)
        with open(self.dir / "prose.csv", "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["question", "alpha", "beta"])
            for i in range(24):
                long, short = vqtest.words(rng, 40 + i), vqtest.words(rng, 6)
                out.writerow([f"question {i}?"] + ([long, short] if i % 4 else [short, long]))

    def test_15_swapping_low_and_high_negates_every_score(self):
        self.prose()
        low, high = "very short and brief", "very long and detailed"
        self.vibeq("run", self.lexical("up.yaml", low, high), "--name", "up", "--quiet")
        self.vibeq("run", self.lexical("down.yaml", high, low), "--name", "down", "--quiet")
        up, down = self.table("up", "scores.csv"), self.table("down", "scores.csv")
        self.assertGreater(sum(s["score"] not in ("0", "") for s in up), 20)
        self.assertEqual([int(s["score"]) for s in up], [-int(s["score"]) for s in down])
        self.assertNotEqual(self.results("up")["vibes"][0]["separability"]["train"], 0)

    def test_15_an_axis_that_cannot_be_counted_is_not_applicable(self):
        self.prose()
        self.vibeq("run", self.lexical("odd.yaml", "tastes of salt", "tastes of sugar", "Flavour"), "--name", "r", "--quiet")
        for counts in self.results("r")["vibes"][0]["label_counts"].values():
            self.assertEqual((counts["na"], counts["a"], counts["b"]), (24, 0, 0))

    def test_15_a_mixture_of_judges_says_so(self):
        planted(self.dir, 8, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--model", "some-model")
        self.config(url=server.url, judges=1)
        text = (self.dir / "config.yaml").read_text()
        (self.dir / "config.yaml").write_text(text.replace("model: offline-a", "model: some-model"))
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        self.assertEqual(self.results("r")["judge_kind"], "model", "a real endpoint is taken at its word")
        (self.dir / "config.yaml").write_text(text.replace("model: offline-a", "model: some-model") + "  - {model: offline-b}\n"
                                              "offline: {oracle: truth.jsonl}\n")
        run = self.vibeq("run", "config.yaml", "--name", "mixed")
        self.assertEqual(self.results("mixed")["judge_kind"], "mixed")
        self.assertIn("judge_note", self.results("mixed"))
        self.assertIn("offline", run.stdout)

    def test_16_the_oracle_gives_what_it_was_told(self):
        """Coarsely, through real processes; the closed forms are tested in pure code."""
        planted(self.dir, 300, ("V1",), p=[0.8])
        add_rates(self.dir, model="offline-a", position_bias=0.2, tie=0.1)
        add_rates(self.dir, model="offline-b", error=0.15, na=0.1)
        self.config(("V1",))
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        v = self.results("r")["vibes"][0]
        self.assertAlmostEqual(v["position_bias_rate"]["offline-a"], 0.2, delta=0.07)
        self.assertEqual(v["position_bias_rate"]["offline-b"], 0)
        counts = v["label_counts"]
        self.assertAlmostEqual(counts["offline-a"]["equal"] / 300, 0.8 * 0.1, delta=0.05)
        self.assertAlmostEqual(counts["offline-b"]["na"] / 300, 0.1, delta=0.05)
        mean = (0.8 * 0.9 + 0.9 * 0.7) / 2  # of x, given that A is higher
        for part in ("train", "test"):
            self.assertAlmostEqual(v["separability"][part], 0.6 * mean, delta=0.2)


if __name__ == "__main__":
    vqtest.main()
