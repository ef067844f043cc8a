# labels: split
"""The whole method with real processes: planted truth is found and noise is not, the properties that every run has, what each setting
does, templates of one's own, sloppy answers, and workers from elsewhere. The real data sets are in test_discover_data.py, kills in
test_discover_kills.py."""
import csv
import json
import random
import re

import vqtest
from discovering import Discover
from planted_texts import planted_texts, write_truth
from vqtest import DONE, MISSING, USAGE, add_rates

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
        self.assertRegex(run.stderr, r"undecided: 20 of 20")

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


class Settings(Discover):
    """Every way to go about it runs to its end, and says what it did."""

    def setUp(self):
        super().setUp()
        planted_texts(self.dir, 60, PLANTED, high=0.7, low=0.3, preferred="questions")

    def said(self, *notes, name="r", code=DONE, **keys):
        self.discover(**keys)
        run = self.run_it(name, code=code)
        for note in notes:
            self.assertRegex(run.stdout + run.stderr, note)
        return self.planned(name), run.stdout + run.stderr

    def names(self, run="r"):
        return [s["name"] for s in self.stages(run)]

    def report(self, run="r"):
        return (self.dir / "runs" / run / "results/report.html").read_text()

    def early(self, name, **keys):
        self.discover(url=self.url, vibecheck__iterations=1, vibecheck__d=40, gates__separability_min=0.2, **keys)
        self.run_it(name, "--runs", f"runs-{name}")
        folder = self.dir / f"runs-{name}" / name
        results = json.loads((folder / "results/results.json").read_text())
        return results, json.loads((folder / "accounting.json").read_text())

    def test_early_stopping_keeps_the_same_and_asks_less(self):
        planted_texts(self.dir, 300, PLANTED, preferred="questions")
        self.url = self.offline().url
        full, all_calls = self.early("full", judging__early_stop="off")
        kept = [v for v in full["vibes"] if v["kept"]]
        self.assertTrue(kept)
        self.assertLess(len(kept), len(full["vibes"]))
        self.assertNotIn("early_stop", full)
        for name, rule in (("exact", "exact"), ("alpha", "{alpha: 0.01}")):
            early, calls = self.early(name, **({} if name == "exact" else {"judging__early_stop": rule}))
            self.assertEqual(json.dumps([v for v in early["vibes"] if v["kept"]]), json.dumps(kept), name)
            for part in ("mm", "pp"):
                self.assertEqual(early[part], full[part], name)
            said, sent = early["early_stop"], calls["calls"]["sent"]
            print(f"{name}: {sent} of {all_calls['calls']['sent']} calls sent; {said}")
            self.assertGreater(said["settled_exactly"] + said["settled_with_alpha"], 0)
            self.assertLessEqual(sent + said["questions_saved"], all_calls["calls"]["sent"])
            self.assertLessEqual(all_calls["calls"]["sent"], sent + 2 * said["questions_saved"])
            self.vibeq("replay", name, "--verify", "--runs", f"runs-{name}")
            log = (self.dir / f"runs-{name}" / name / "log").read_text()
            self.assertRegex(log, r"was settled after \d+ of \d+ training rows: it fails its gates, decided " + ("exactly" if name == "exact" else ""))
            self.assertRegex(log, r"so far early stopping saved \d+ to \d+ calls: vibes settled exactly: \d+")

    def test_a_resumed_run_settles_the_same(self):
        planted_texts(self.dir, 120, PLANTED, preferred="questions")
        self.url = self.offline("--latency", "uniform:10ms:20ms").url
        keys = {"judging__early_stop": "{alpha: 0.05, final: true}", "judging__early_stop_rows": 10}
        self.early("calm", **keys)
        self.url = self.offline("--latency", "uniform:10ms:20ms", name="cut").url
        self.discover(url=self.url, term_ms=1500, vibecheck__iterations=1, vibecheck__d=40, gates__separability_min=0.2, **keys)
        server = self.servers[-1]
        for k in range(3):  # killed with half of the next look bought
            seen = len(server.requests())
            child = self.start(*(("run", "discover.yaml", "--name", "r") if k == 0 else ("resume", "r")), "--quiet", "--runs", "runs-cut")
            self.wait_for("100 more calls", lambda: child.poll() is not None or len(server.requests()) > seen + 100)
            child.kill()
            child.wait()
        self.vibeq("resume", "r", "--runs", "runs-cut", "--quiet")
        self.assertEqual((self.dir / "runs-cut/r/results/results.json").read_bytes(),
                         (self.dir / "runs-calm/calm/results/results.json").read_bytes())
        self.assertTrue([s["name"] for s in json.loads((self.dir / "runs-cut/r/accounting.json").read_text())["stages"] if "look 2" in s["name"]])

    def test_preferences_by_judges(self):
        with open(self.dir / "data.csv", newline="", encoding="utf-8") as file:
            text = [row[:-1] for row in csv.reader(file)]
        with open(self.dir / "data.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(text)
        self.said("no preferences in the data", name="none", vibecheck__iterations=1)
        self.assertEqual(self.results("none")["pp"]["status"], "no_labels")
        planned, said = self.said(r"preference labels by 2 judges: A in \d+ rows, B in \d+, ties \d+, without an answer 0", preference="judge",
                               vibecheck__iterations=1)
        self.assertEqual(planned["preference"], 2 * 2 * 60)
        self.assertEqual(self.results("r")["pp"]["status"], "ok")
        self.assertIn("a model that also ranks", self.report())
        self.assertEqual(self.results("r")["data"]["preference_source"], "judge")
        self.assertEqual(self.results("r")["data"]["preference_judges"], ["offline-a", "offline-b"])
        self.assertIn("labelled, in both orders, by offline-a, offline-b", self.report())
        self.assertNotIn("preference_source", self.results("none")["data"])
        with open(self.dir / "runs/r/results/rows.csv", newline="", encoding="utf-8") as file:
            labels = [row["preference"] for row in csv.DictReader(file)]
        self.assertEqual({label: labels.count(label) for label in set(labels)}, {label: int(n) for label, n in zip(("alpha", "beta", "tie"), re.findall(
            r"A in (\d+) rows, B in (\d+), ties (\d+)", said)[0]) if n != "0"})
        self.vibeq("replay", "r", "--verify")
        self.discover(preference="judge", vibecheck__question_types="on")
        self.run_it("given", "--set", "method=preset")
        self.assertIn("a model that also ranks", self.report("given"))
        page = self.page_data("given")
        self.assertTrue(page["preferred"]["judged"])
        self.assertTrue(page["question_types"])
        self.assertNotIn("discovery", page["results"])

    def test_compared_with_the_presets(self):
        planned, _ = self.said(vibecheck__compare_presets="on", vibecheck__iterations=1)
        self.assertEqual(planned["presets"], 2 * 2 * 60 * 10)
        self.assertEqual(len(self.page_data("r")["presets"]["vibes"]), 10)

    def test_question_types(self):
        planned, _ = self.said(vibecheck__question_types="on", vibecheck__iterations=1)
        self.assertEqual(planned["types"], sum(v["kept"] for v in self.results("r")["vibes"]))

    def test_clusters(self):
        self.said(r"iteration 1: the \d+ proposed axes fall into 3 groups", vibecheck__clustering="always", vibecheck__d=20)
        by_name = {s["name"]: s["planned"] for s in self.stages("r")}
        self.assertEqual((by_name["summarise 1"], by_name["formalise summaries 1"]), (3, 3), "2c of the formula")

    def test_nobody_embeds(self):
        planned, _ = self.said(r"without an embedder the \d+ proposed axes are one group", "counted by the words that it shares",
                               embedder="none", vibecheck__clustering="always")
        self.assertNotIn("embedding", planned)

    def test_two_calls_for_differences(self):
        _, said = self.said(vibecheck__discovery_calls=2, vibecheck__iterations=1)
        by_name = {s["name"]: s["planned"] for s in self.stages("r")}
        nothing = int(re.search(r"without a difference: (\d+)", said).group(1))
        self.assertEqual((by_name["differences 1"], by_name["formalise differences 1"]), (3, 3 - nothing))

    def test_what_is_carried_and_what_is_misclassified(self):
        seen = set()
        for i, keys in enumerate(({}, {"vibecheck__carried": "all"}, {"vibecheck__misclassified": "mm_or_pp"}, {"vibecheck__list_rejected": "off"})):
            _, said = self.said(r"iteration 2: axes proposed: ", name=f"r{i}", **keys)
            seen.add(re.search(r"wrong or undecided: (\d+) of 30", said).group(1))
        self.assertGreater(len(seen), 1, "preferences that are predicted wrongly count too")

    def test_dedup(self):
        on, _ = self.said(name="on", vibecheck__num_eval_vibes=1)
        off, _ = self.said(name="off", vibecheck__num_eval_vibes=1, vibecheck__dedup="off")
        self.assertEqual((on["dedup"], "dedup" in off), (1, False))

    def test_topics(self):
        planned, _ = self.said(r"iteration 1: axes proposed: \d+, from 12 rows in [3456] batches", data__group="topic",
                               vibecheck__shuffle_outputs="on")
        self.assertGreater(planned["discovery"], 3)

    def test_the_order_of_the_final_vibes(self):
        order = {}
        for by in ("lars", "separability", "p_value"):
            self.said("final vibes: 2 of [3-9] that were validated", name=by, vibecheck__final_order=by, vibecheck__num_final_vibes=2, vibecheck__iterations=1,
                      vibecheck__d=30)
            vibes = self.results(by)["vibes"]
            order[by] = [v["name"] for v in vibes if v["kept"]]
            self.assertEqual(len(order[by]), 2)
            self.assertIn("num_final_vibes", " ".join(v["reason"] for v in vibes if not v["kept"]))
        passed = [v for v in self.results("separability")["vibes"] if v["kept"] or "final" in v["reason"]]
        best = sorted(passed, key=lambda v: -abs(v["separability"]["train"]))[:2]
        self.assertEqual({v["name"] for v in best}, set(order["separability"]))

    def test_when_it_stops(self):
        self.said("discovery stopped after iteration 1 of 2: model matching reached mm_stop", name="mm", vibecheck__mm_stop=0.6)
        self.said("discovery stopped after iteration 1 of 2: too few rows", name="few", vibecheck__min_misclassified=30)
        self.said("discovery stopped after iteration 1 of 1: as many iterations", name="all", vibecheck__iterations=1)

    def test_replay_under_another_rule_names_what_is_not_decided_and_buys_it(self):
        server = self.offline("--fault", "always_a=0.2,sticky=true")
        self.discover(url=server.url, vibecheck__iterations=1)
        self.run_it()
        sent = len(server.requests())
        run = self.vibeq("replay", "r", "--pair-rule", "lenient", code=MISSING)
        self.assertEqual(len(server.requests()), sent)
        calls = int(re.search(r'--buy would make ([\d,]+) calls in stage "rank 1", and those that follow', run.stderr).group(1))
        saved = {s["name"]: s["saved_by_lazy_swap"] for s in self.stages("r")}
        self.assertEqual(calls, saved["rank 1"], "what lazy swap left out")
        self.assertRegex(run.stderr, r"record \d+, .*, judge offline-[ab]")
        self.vibeq("replay", "r", "--pair-rule", "lenient", "--buy", "--quiet")
        bought = server.requests()[sent:]
        self.assertGreaterEqual(len(bought), calls, "which vibes are asked about in the test rows depends on what was bought")
        self.assertEqual({x["kind"] for x in bought}, {"judge"})
        self.assertEqual({x["try"] for x in bought}, {1}, "nothing twice")
        self.vibeq("replay", "r", "--pair-rule", "lenient")
        self.assertEqual(len(server.requests()), sent + len(bought))
        self.vibeq("replay", "r", "--verify")

    def test_replay_buys_exactly_what_it_said_where_nothing_follows(self):
        server = self.offline("--fault", "always_a=0.2,sticky=true")
        self.config(("Structure", "Numbers", "Questions"), url=server.url)
        text = (self.dir / "config.yaml").read_text()
        for name, high in (("Structure", "bullet points and lists"), ("Numbers", "numbers and figures"), ("Questions", "asks questions")):
            text = text.replace(f"low: low on {name}, high: high on {name}", f"low: none, high: {high}")
        (self.dir / "config.yaml").write_text(text)
        self.run_it(config="config.yaml")
        sent = len(server.requests())
        run = self.vibeq("replay", "r", "--pair-rule", "lenient", code=MISSING)
        calls = int(re.search(r"--buy would make ([\d,]+) calls\.", run.stderr).group(1))
        self.assertEqual(calls, self.accounting("r")["saved_by_lazy_swap"])
        self.vibeq("replay", "r", "--pair-rule", "lenient", "--buy", "--quiet")
        self.assertEqual(len(server.requests()), sent + calls)
        self.vibeq("replay", "r", "--pair-rule", "lenient")
        self.assertEqual(len(server.requests()), sent + calls)

class Templates(Discover):
    NAMES = ("judge", "judge-many", "repair", "preference", "discover", "differences", "formalise", "discover-again", "summarise", "simplify", "reduce", "dedup",
             "generate", "match", "question-types")
    ELSEWHERE = ("binary", "likert", "pairwise", "persona", "queries")  # of personas and rubric judges, which no run asks

    def marked(self):
        """A folder of templates, each with a mark of its own."""
        self.vibeq("prompts", "export", "prompts")
        folder = self.dir / "prompts"
        self.assertEqual({p.stem for p in folder.glob("*.txt")}, {*self.NAMES, *self.ELSEWHERE})
        for name in self.ELSEWHERE:
            (folder / f"{name}.txt").unlink()
        for path in folder.glob("*.txt"):
            path.write_text(path.read_text().replace("@system\n", f"@system\nMARK-{path.stem}-END\n", 1))
        return folder

    def test_a_folder_replaces_every_template(self):
        planted_texts(self.dir, 24, PLANTED, high=0.75, low=0.25, seed=2)
        self.marked()
        # answers that cannot be read make repairs; K makes the reducer shorten
        proxy = self.between(self.offline("--fault", "unparseable=0.2,sticky=true,contains=MARK-judge-END").url)
        keys = dict(url=proxy.url, prompts="{dir: prompts}", preference="judge", vibecheck__K=1, vibecheck__num_eval_vibes=1, vibecheck__d=8,
                    vibecheck__question_types="on")
        self.discover(**keys, vibecheck__discovery_calls=2)
        self.run_it("r", "--quiet", code=None)
        self.discover(**keys)
        self.run_it("once", "--quiet", code=None)
        marks = {m for body in proxy.asked for m in re.findall(r"MARK-([a-z-]+)-END", body)}
        self.assertEqual(marks, set(self.NAMES) - {"generate", "match", "judge-many"})  # other verbs, and several vibes in a call
        unmarked = [b for b in proxy.asked if "MARK-" not in b and "\"messages\"" in b]
        self.assertEqual(unmarked, [], "every question is in the words of the folder")

    def test_a_template_without_a_placeholder_is_refused_by_name_and_line(self):
        planted_texts(self.dir, 10, PLANTED)
        folder = self.marked()
        self.discover(prompts="{dir: prompts}", judging__vibes_per_call=2)
        tried = 0
        for path in sorted(folder.glob("*.txt")):
            text = path.read_text()
            user = text[:text.index("@user")].count("\n") + 2
            for name in sorted(set(re.findall(r"{{(\w+)}}", text))):
                path.write_text(text.replace("{{" + name + "}}", "nothing"))
                run = self.vibeq("run", "discover.yaml", "--dry-run", code=USAGE)
                self.assertIn(f"{path.name}:{user}:1: {{{{{name}}}}} is missing", run.stderr)
                tried += 1
            path.write_text(text)
        self.assertGreaterEqual(tried, 27)
        self.vibeq("run", "discover.yaml", "--dry-run")


class Forms(Discover):
    """Answers in other forms than the one that was asked for."""
    SAME = ("Model: {0}", "**Model:** {0}", "Model = \"{0}\"", "Verdict: Output {0}.", "Winner: [{0}]", '{{"verdict": "{0}"}}', "Final answer: **{0}**\n\nThat is all.",
            "<think>Model: B? Model: A?</think>\nModel: `{0}`", "Model:\n\n{0}")

    def reword(self, question, text):
        found = re.search(r"Model: (A|B)\s*$", text)
        if not found or "<wanted>" in question["messages"][-1]["content"]:
            return text
        return f"It is so.\n{random.Random(json.dumps(question)).choice(self.SAME).format(found.group(1))}"

    def test_other_forms_of_the_same_verdicts_give_the_same_bytes(self):
        planted_texts(self.dir, 30, PLANTED)
        server = self.offline()
        vibes = []
        for name, url in (("plain", server.url), ("odd", self.between(server.url, self.reword).url)):
            self.discover(url=url, name=f"{name}.yaml", vibecheck__iterations=1)
            self.vibeq("run", f"{name}.yaml", "--name", "r", "--quiet", "--runs", f"{name}-runs")
            folder = self.dir / f"{name}-runs/r/results"
            vibes.append({f: (folder / f).read_bytes() for f in ("results.json", "scores.csv", "rows.csv", "vibes.csv")})
            calls = json.loads((folder.parent / "accounting.json").read_text())["calls"]
            self.assertEqual(calls["repairs"], 0, "none of the forms needs a repair")
        self.assertEqual(vibes[0], vibes[1])

    def test_a_fifth_unreadable_changes_only_what_is_missing(self):
        planted_texts(self.dir, 200, PLANTED)
        self.discover(vibecheck__iterations=1)
        self.run_it("plain", "--quiet")
        fixed = [f"  - {json.dumps({k: v[k] for k in ('name', 'low', 'high')})}" for v in self.results("plain")["vibes"]]
        runs = {}
        for name, words in (("whole", ()), ("fifth", ("--fault", "unparseable=0.2,sticky=true"))):
            url = self.offline(*words, name=name).url
            judges = [f"  - {{model: {m}, base_url: {url}, identity: {name}}}" for m in ("offline-a", "offline-b")]
            (self.dir / f"{name}.yaml").write_text("\n".join(["data: data.csv", "models: [alpha, beta]", "judging: {lazy_swap: off}", "judges:",
                                                              *judges, "vibes:", *fixed]) + "\n")
            self.run_it(name, "--quiet", config=f"{name}.yaml", code=DONE if not words else MISSING)
            with open(self.dir / "runs" / name / "results/scores.csv", newline="", encoding="utf-8") as file:
                runs[name] = list(csv.DictReader(file))
        self.assertGreater(self.accounting("fifth")["repairs"], 0)
        empty = 0
        for one, two in zip(runs["whole"], runs["fifth"], strict=True):
            self.assertIn(two["score"], (one["score"], ""), (one, two))
            empty += two["score"] == ""
        self.assertGreater(empty, 0.1 * len(runs["whole"]))
        whole, fifth = self.vibes("whole"), self.vibes("fifth")
        strong = [n for n, v in whole.items() if abs(v["separability"]["train"]) >= 0.2]
        self.assertGreaterEqual(len(strong), 3)
        for name in strong:
            self.assertEqual((whole[name]["kept"], whole[name]["reason"]), (fifth[name]["kept"], fifth[name]["reason"]), name)

    def test_sloppy_lists_of_the_same_axes_give_the_same_run(self):
        planted_texts(self.dir, 30, PLANTED, high=0.75, low=0.25)
        seen = {}
        for variant in (None, "sub_bullets", "preamble", "fence", "json", "bold"):
            words = () if variant is None else [w for part in ("axes", "new axes")
                                                for w in ("--fault", f"wrong_format=1,variant={variant},contains=<wanted>{part}</wanted>")]
            self.discover(url=self.offline(*words, name=f"server-{variant}").url)
            self.vibeq("run", "discover.yaml", "--name", "r", "--quiet", "--runs", f"runs-{variant}")
            seen[variant] = (self.dir / f"runs-{variant}/r/results/results.json").read_bytes()
        for variant, results in seen.items():
            self.assertEqual(json.loads(results)["vibes"], json.loads(seen[None])["vibes"], variant)
            self.assertEqual(results, seen[None], variant)


class Remote(Discover):
    def test_a_worker_from_elsewhere_goes_through_all_stages_and_leaves(self):
        planted_texts(self.dir, 30, PLANTED, high=0.75, low=0.25)
        server = self.offline()
        self.discover(url=server.url, vibecheck__num_eval_vibes=1)
        run = self.start("run", "discover.yaml", "--name", "r", "--quiet", "--workers", "0")
        self.wait_for("the certificate", (self.dir / "runs/r/join.cert").exists)
        worker = self.join()
        self.wait_exit(run, DONE)
        self.wait_exit(worker, 0, seconds=20)
        self.assertEqual(len([s for s in self.stages("r") if s["name"].startswith("rank")]), 2)
        self.assertEqual(len(server.requests()), self.accounting("r")["sent"])
        self.assertEqual(self.accounting("r")["unknown"], 0)
        self.vibeq("run", "discover.yaml", "--name", "local", "--quiet", "--runs", "other")
        self.assertEqual(self.results_bytes("r"), (self.dir / "other/local/results/results.json").read_bytes())


class CutLists(Discover):
    """Behind a server that ends each answer of the proposer (62) or the reducer (61 tokens) at max_tokens words."""
    def cut(self, most):
        def change(question, text):
            tokens = question["max_tokens"]
            base = next((n for n in (61, 62) if tokens in (n, 2 * n, 4 * n)), None)
            if base is None or tokens // base >= most.get(base, 1):
                return text
            self.cuts.append(tokens)
            return text[:len(text) // 2], "length"
        return change

    def run_cut(self, name="r", **most):
        self.cuts = []
        planted_texts(self.dir, 60, PLANTED)
        proxy = self.between(self.offline().url, self.cut({61: most.get("reducer", 1), 62: most.get("proposer", 1)}))
        self.discover(url=proxy.url, vibecheck__iterations=1,
                      proposer=f"{{model: offline-a, base_url: {proxy.url}, identity: p-{name}, max_tokens: 62}}",
                      reducer=f"{{model: offline-a, base_url: {proxy.url}, identity: r-{name}, max_tokens: 61}}")
        return self.run_it(name)

    def test_a_cut_list_is_asked_again_and_is_then_whole(self):
        self.run_cut("whole")
        whole = [v["name"] for v in self.results("whole")["vibes"]]
        self.run_cut("again", reducer=4, proposer=2)
        self.assertEqual(set(self.cuts), {61, 122, 62})
        results = self.results("again")
        self.assertEqual([v["name"] for v in results["vibes"]], whole)
        self.assertGreater(results["discovery"]["cut_answers"]["asked_again"], 0)
        self.assertNotIn("list_cut", [w["code"] for w in results["warnings"]])
        self.assertIn("simplify 1, room x4", [s["name"] for s in self.stages("again")])

    def test_a_list_that_stays_cut_is_refused_and_said(self):
        done = self.run_cut("cut", reducer=9)
        results = self.results("cut")
        self.assertEqual(set(self.cuts), {61, 122, 244})
        self.assertGreater(results["discovery"]["cut_answers"]["not_used"], 0)
        text = next(w["text"] for w in results["warnings"] if w["code"] == "list_cut")
        self.assertIn("max_tokens", text)
        self.assertIn("were cut at the token limit", done.stdout)
        self.assertIn(text[:40], (self.dir / "runs/cut/results/report.html").read_text())
        self.vibeq("verify", "cut")


if __name__ == "__main__":
    vqtest.main()
