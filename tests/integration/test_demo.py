"""The bundled example as it ships, with the full method: what its data must show (decision 17), what its results must say about
their judge (decision 15), what it tells while it runs, which files it leaves, and that a second run of it is free and the same.
And the example of given vibes beside it."""
import csv
import json
import re
import subprocess
import sys

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
            type(self).ran = (self.run_it("one"), self.results_bytes("one"), self.accounting("one"), self.files("one"),
                              json.loads((self.dir / "runs/one/accounting.json").read_text())["stages"])
        self.run_of_it, bytes_, self.calls, self.file_names, self.stages = type(self).ran
        self.r = json.loads(bytes_)
        self.kept = [v for v in self.r["vibes"] if v["kept"]]
        self.dropped = [v for v in self.r["vibes"] if not v["kept"]]

    def run_it(self, name, *words):
        return self.vibeq("run", EXAMPLE, "--name", name, *words, code=DONE, env={"LC_ALL": "C.UTF-8", "COLUMNS": ""})

    def data(self):
        with open(EXAMPLE.with_suffix(".csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def rows(self, name):
        with open(self.dir / "runs" / name / "results" / "rows.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def files(self, name):
        folder = self.dir / "runs" / name
        return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())

    def test_there_are_prompts_enough(self):
        self.assertGreaterEqual(self.r["data"]["rows"], PROMPTS_MIN)
        self.assertGreaterEqual(self.r["data"]["used"], PROMPTS_MIN)
        self.assertGreaterEqual(len({row["question"] for row in self.data()}), PROMPTS_MIN)

    def test_the_data_are_what_their_script_writes(self):
        subprocess.run([sys.executable, EXAMPLE.parent / "make_friendly_vs_terse.py", self.dir / "made.csv"], check=True, timeout=60)
        self.assertEqual((self.dir / "made.csv").read_bytes(), EXAMPLE.with_suffix(".csv").read_bytes())

    def test_the_preference_does_not_know_the_models(self):
        shares = [sum(row["preference"] == model for row in self.data()) / len(self.data()) for model in self.r["models"]]
        self.assertLess(max(shares), 0.65)
        firm = [v for v in self.kept if abs(v["pref_separability"]["train"]) > abs(v["separability"]["train"])]
        self.assertTrue(firm, "a vibe tells more of what is preferred than of who wrote it")

    def test_the_readme_shows_lines_of_this_run(self):
        """Its sample output is an excerpt: each line of it is one that the run prints, and `...` stands for the others."""
        block = re.search(r"```\n(A = friendly.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S).group(1)
        shown = [line for line in block.splitlines() if line and line != "..."]
        printed = self.run_of_it.stdout.splitlines()
        self.assertGreater(len(shown), 7)
        for line in shown:
            self.assertIn(line, printed)

    def told(self):
        return self.run_of_it.stderr.splitlines()

    def test_before_it_says_who_will_be_asked(self):
        text = self.run_of_it.stderr
        self.assertRegex(text, r"At most [\d,]+ calls, about [\d,]+ tokens in")
        self.assertRegex(text, r"discovery +\d+ calls: \d+ to the proposer, \d+ to the reducer, \d+ to the embedder; up to 2 iterations of 10 rows")
        self.assertRegex(text, r"ranking +[\d,]+ calls: \d+ train rows x 20 vibes, \d+ test rows x 10; 2 judges x 2 orders")

    def test_labels_are_asked_only_where_there_are_none(self):
        words = ("run", EXAMPLE, "--dry-run", "--set", "preference=judge")
        self.assertNotIn("labels", self.vibeq(*words, code=DONE).stderr)
        without = "".join(",".join(("q%d" % i, "one %d" % i, "another %d" % (i * i))) + "\n" for i in range(20))
        (self.dir / "bare.csv").write_text("question,friendly,terse\n" + without)
        words = ("run", "bare.csv", "--models", "friendly,terse", "--judge", "offline-a", "--dry-run", "--set", "preference=judge")
        self.assertRegex(self.vibeq(*words, code=DONE).stderr, r"labels +\d+ calls: \d+ rows x 1 judge x 2 orders")

    def test_it_says_why_it_stopped(self):
        self.assertIn("discovery stopped after iteration 2 of 2: as many iterations as were asked for were done", self.told())
        early = self.run_it("early", "--set", "vibecheck.min_misclassified=70").stderr
        self.assertIn("discovery stopped after iteration 1 of 2: too few rows were still misclassified", early)
        self.assertNotIn("iteration 2:", early)

    def test_it_is_calm(self):
        for line in self.told():
            self.assertNotRegex(line, r"Redis|warning|without an answer: 0")
        self.assertLess(len(self.told()), 25)

    def test_each_vibe_knows_where_it_comes_from(self):
        d = self.r["discovery"]
        self.assertEqual(len(d["iterations"]), 2)
        self.assertEqual(sum(it["evaluated"] for it in d["iterations"]), len(self.r["vibes"]))
        self.assertEqual({p["id"]: p["name"] for p in d["provenance"]}, {v["id"]: v["name"] for v in self.r["vibes"]})
        records = range(1, len(self.data()) + 1)
        for vibe in d["provenance"]:
            self.assertEqual(vibe["support"], len(vibe["proposals"]))
            for proposal in vibe["proposals"]:
                self.assertLessEqual(len(proposal["records"]), d["settings"]["batch"])
                self.assertTrue(all(record in records for record in proposal["records"]))

    def test_the_second_iteration_finds_what_was_planted_for_it(self):
        """Lists stand only in rows that the vibes of a first iteration get wrong."""
        names = {n: re.search(r"iteration %d: .*, validated: \d+ \((.*)\)" % n, self.run_of_it.stderr).group(1).split(", ") for n in (1, 2)}
        lists = [v for v in self.kept if set(re.findall(r"\w+", v["high"])) & {"list", "lists", "headings", "bullet"}]
        self.assertEqual(len(lists), 1)
        self.assertIn(lists[0]["name"], names[2])
        self.assertNotIn(lists[0]["name"], names[1])
        planted = {i for i, row in enumerate(self.data(), 1) if row["friendly"].startswith("1. ") or "\n1. " in row["friendly"]}
        self.assertFalse([row for row in self.data() if "1. " in row["terse"]])
        self.run_it("first-only", "--set", "vibecheck.iterations=1")
        train = [row for row in self.rows("first-only") if row["split"] == "train" and int(row["record"]) in planted]
        wrong = [row for row in train if row["mm_correct"] != "1"]
        self.assertGreater(len(train), 5)
        self.assertGreaterEqual(len(wrong), 0.9 * len(train))
        with open(self.dir / "runs/first-only/results/results.json", encoding="utf-8") as file:
            self.assertLess(json.load(file)["mm"]["accuracy_train"], self.r["mm"]["accuracy_train"])

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
        for part in ("train", "test"):  # dropped vibes are asked on train only
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
        data, judges = self.r["data"], len(self.r["judges"])
        ranked = (data["train"] * len(self.r["vibes"]) + data["test"] * len(self.kept)) * judges * 2
        rank = [s for s in self.stages if s["name"].startswith("rank") or s["name"] == "test"]
        self.assertEqual(sum(s["planned"] for s in rank), ranked)
        self.assertLess(c["planned"] - ranked, 60, "the rest is discovery")
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

    def write_data_of(self, block):
        """The data file that a configuration names, with the columns it asks for."""
        models = re.search(r"models: \[(.*?)\]", block).group(1).replace(" ", "").split(",")
        people = re.findall(r"human: (\w+)", block)
        name = re.search(r"[\w-]+\.csv", block).group(0)
        label = (re.findall(r"preference: (\w+)}", block) + ["winner"])[0]
        rows = [["question", *models, label, *people]]
        texts = [[f"one answer {i}", f"something else {i * i}"][:len(models)] for i in range(12)]
        rows += [[f"q{i}", *text, "", *["3" for _ in people]] for i, text in enumerate(texts)]
        (self.dir / name).write_text("".join(",".join(row) + "\n" for row in rows))

    def test_configurations_in_the_documentation_are_accepted(self):
        for page, least in (("README.md", 1), ("docs/use/compare.md", 1), ("docs/use/pools.md", 1), ("docs/use/config.md", 3)):
            blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)
            self.assertGreaterEqual(len(blocks), least, page)
            for block in blocks:
                if "method: persona" in block:
                    for name in re.findall(r"[\w-]+\.(?:yaml|txt|csv)", block):
                        (self.dir / name).write_bytes((ROOT / "examples" / name).read_bytes())
                else:
                    self.write_data_of(block)
                (self.dir / "block.yaml").write_text(block)
                for key in re.findall(r"file:([\w./-]+)", block):
                    (self.dir / key).parent.mkdir(parents=True, exist_ok=True)
                    (self.dir / key).write_text("a key")
                    (self.dir / key).chmod(0o600)
                keys = {name: "a key" for name in re.findall(r"env:(\w+)", block)}
                self.assertIn("nothing was sent", self.vibeq("run", "block.yaml", "--dry-run", code=DONE, env=keys).stderr, block)

    def test_the_page_on_pools_shows_what_plan_and_ctl_print(self):
        """Its example: the configuration is planned and, against a server of our own, run and controlled. The plan is an excerpt."""
        section = (ROOT / "docs/use/pools.md").read_text(encoding="utf-8").split("\n## Example")[1].split("\n## ")[0]
        text = re.search(r"```yaml\n(.*?)```", section, flags=re.S).group(1)
        plan, *told = re.findall(r"\$ vibeq ((?:plan|ctl) [^\n]*)\n((?:(?!\$ |```).*\n)+)", section)
        (self.dir / "night.yaml").write_text(text)
        (self.dir / "answers.csv").write_bytes(EXAMPLE.with_suffix(".csv").read_bytes())
        said = self.vibeq(*plan[0].split(), "--runs", self.dir / "none-yet", code=DONE).stdout.splitlines()
        for line in plan[1].splitlines():
            if line != "...":
                self.assertIn(line, said)
        server = self.offline("--latency", "100ms", "--model", "gpt-small", "--model", "small-2")
        (self.dir / "lab.key").write_text("a key")
        (self.dir / "lab.key").chmod(0o600)
        (self.dir / "night.yaml").write_text(re.sub(r"https://\S+/v1", server.url, text))
        child = self.start("run", "night.yaml", "--name", "night", "--quiet", env={"TEAM_KEY": "one", "TEAM_KEY_2": "two"})
        self.wait_for("answers", lambda: self.settled("night") > 0)
        self.assertGreater(len(told), 2)
        for command, lines in told:
            self.assertEqual(self.vibeq(*command.split(), code=DONE).stdout, lines)
        child.terminate()
        self.wait_exit(child, vqtest.STOPPED)

    def test_discovery_from_words_alone(self):
        words = ("run", EXAMPLE.with_suffix(".csv"), "--models", "friendly,terse", "--judge", "offline-a,offline-b", "--discover")
        run = self.vibeq(*words, "--proposer", "offline-b", "--set", "vibecheck.iterations=1", "--name", "words", code=DONE)
        self.assertIn("iteration 1: axes proposed", run.stderr)
        self.assertIn('model: "offline-b"', (self.dir / "runs/words/run.yaml").read_text().split("proposer:")[1][:200])
        shown = self.vibeq("prompts", "show", "discover", "--config", EXAMPLE, code=DONE).stdout
        self.assertEqual(shown.count("<output_1>"), 5)
        self.assertIn("the first of 2 prompts to offline-a", shown)
        self.vibeq("prompts", "show", "discover", "--config", EXAMPLE.parent / "preset.yaml", code=2)

    def test_the_example_of_given_vibes(self):
        run = self.vibeq("run", EXAMPLE.parent / "preset.yaml", "--name", "given", code=DONE)
        self.assertIn(f"{self.r['data']['used']} rows x 10 vibes; 2 judges x 2 orders", run.stderr)
        r = self.results("given")
        self.assertEqual(len(r["vibes"]), 10)
        self.assertGreater(r["mm"]["accuracy_test_ci95"][0], 0.5)


if __name__ == "__main__":
    vqtest.main()
