"""Runs over more than two models: rankings of four imagined models, three from the command line, designs and their budgets, discovery, resuming, and
the commands that are about two models alone."""
import csv
import json
import re
import signal

import vqtest
from vqtest import ROOT, USAGE, Case

MODELS = ("warm", "plain", "formal", "terse")


class Ranking(Case):
    def setUp(self):
        super().setUp()
        with open(ROOT / "examples/four-styles.csv", newline="", encoding="utf-8") as file:
            self.rows = list(csv.DictReader(file))
        self.write("data.csv", self.rows)

    def write(self, name, rows, drop=()):
        with open(self.dir / name, "w", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, [key for key in rows[0] if key not in drop], extrasaction="ignore")
            out.writeheader()
            out.writerows(rows)

    def configure(self, models=MODELS, data="data.csv", **more):
        lines = [f"data: {{path: {data}, near_duplicate: 0}}", f"models: [{', '.join(models)}]", "judges: [offline-a, offline-b]"]
        lines += [f"{key}: {value}" for key, value in more.items()]
        (self.dir / "many.yaml").write_text("\n".join(lines) + "\n")

    def run_it(self, name="r", *words):
        return self.vibeq("run", "many.yaml", "--name", name, "--quiet", *words).stdout

    @staticmethod
    def cells(results, vibe):
        number = next(v["id"] for v in results["vibes"] if v["name"] == vibe)
        return {cell["model"]: cell for cell in results["ranking"]["matrix"] if cell["vibe"] == number}

    def test_four_models(self):
        self.configure()
        table = self.run_it()
        results = self.results("r")
        self.assertEqual(results["models"], list(MODELS))
        self.assertEqual((results["pairs"]["design"], len(results["pairs"]["compared"])), ("all", 6))
        self.assertEqual(len(results["ranking"]["matrix"]), 40)
        tone = self.cells(results, "Emotional Tone")
        self.assertEqual([model for model in sorted(tone, key=lambda m: tone[m]["rank"])], ["warm", "plain", "formal", "terse"])
        self.assertEqual((tone["warm"]["rank_from"], tone["warm"]["rank_to"]), (1, 1))
        self.assertAlmostEqual(sum(cell["strength"] for cell in tone.values()), 0, places=6)
        self.assertEqual(self.cells(results, "Formality")["formal"]["rank"], 1)
        self.assertGreater(results["mm"]["accuracy_test"], 0.5)
        self.assertEqual(results["ranking"]["multinomial"]["chance"], 0.25)
        self.assertNotIn("power", results)
        self.assertRegex(table, r"Emotional Tone +0\.\d\d +0\.000")
        self.assertRegex(table, r"warm \+\d\.\d\d > plain")
        self.assertEqual(self.page_data("r")["results"], results)
        with open(self.dir / "runs/r/results/rows.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({(row["model_a"], row["model_b"]) for row in rows},
                         {(a, b) for i, a in enumerate(MODELS) for b in MODELS[i + 1:]})
        for row in rows:
            self.assertIn(row["preference"], ("", row["model_a"], row["model_b"]))
        said = self.vibeq("check", "many.yaml", "--row", "3").stdout
        self.assertRegex(said, "record 3, vibe Assertiveness, (warm|plain|formal) shown first")
        self.vibeq("verify", "r")
        before = self.results_bytes("r")
        self.vibeq("replay", "r")
        self.assertEqual((self.dir / "runs/r/replay/results.json").read_bytes(), before)
        for words in (("label", "r"), ("plot", "r"), ("export", "r", "vibes", "--format", "latex")):
            self.assertIn("two models", self.vibeq(*words, code=USAGE).stderr, words)

    def test_three_from_the_command_line(self):
        self.write("three.csv", self.rows, drop=("preference",))
        table = self.vibeq("run", "three.csv", "--models", "warm,formal,terse", "--judge", "offline-a", "--name", "r", "--quiet").stdout
        self.assertIn("3 models, all pairs", table)
        results = self.results("r")
        self.assertEqual(results["pp"]["status"], "no_labels")
        self.assertEqual(self.cells(results, "Conciseness")["terse"]["rank"], 1)
        self.assertAlmostEqual(results["ranking"]["multinomial"]["chance"], 1 / 3, places=8)

    def test_designs(self):
        self.configure(pairs="{design: baseline, baseline: plain}")
        self.run_it("base")
        pairs = self.results("base")["pairs"]
        self.assertEqual({(p["a"], p["b"]) for p in pairs["compared"]}, {("warm", "plain"), ("plain", "formal"), ("plain", "terse")})
        self.configure(pairs="{design: incomplete, calls: 4000}")
        plan = json.loads(self.vibeq("plan", "many.yaml", "--json").stdout)
        self.assertLessEqual(plan["calls"]["most"], 4000)
        self.assertNotIn("power", plan)
        self.run_it("few")
        self.assertLessEqual(self.accounting("few")["sent"], 4000)
        rows = [p["rows"] for p in self.results("few")["pairs"]["compared"]]
        self.assertEqual(len(rows), 6)
        self.assertLessEqual(sum(rows), 100)
        self.configure(pairs="{design: incomplete, calls: 100}")
        self.assertIn("less than one for each of the 6 pairs", self.vibeq("run", "many.yaml", code=USAGE).stderr)
        self.configure(pairs="{design: incomplete}")
        self.assertIn("per_prompt", self.vibeq("run", "many.yaml", code=USAGE).stderr)
        self.configure(models=("warm", "terse", "warm"))
        self.assertIn("models[2]", self.vibeq("run", "many.yaml", code=USAGE).stderr)
        self.configure(models=("warm", "formal", "terse"))
        self.assertIn('neither a model ("warm", "formal", "terse")', self.vibeq("run", "many.yaml", code=USAGE).stderr)

    def test_killed_and_resumed(self):
        server = self.offline("--latency", "5ms")
        self.configure(judges=f"[{{model: offline-a, base_url: {server.url}, identity: x}}, {{model: offline-b, base_url: {server.url}, identity: x}}]")
        text = (self.dir / "many.yaml").read_text()
        (self.dir / "many.yaml").write_text(re.sub(r"judges: \[offline-a, offline-b\]\n", "", text))
        run = self.start("run", "many.yaml", "--name", "cut", "--quiet")
        self.wait_for("a hundred calls", lambda: len(server.requests()) > 100)
        run.send_signal(signal.SIGKILL)
        run.wait()
        self.kill_workers()
        self.vibeq("resume", "cut", "--quiet", timeout=180)
        self.vibeq("verify", "cut")
        self.vibeq("run", "many.yaml", "--name", "whole", "--runs", "other", "--quiet", timeout=180)
        self.assertEqual((self.dir / "other/whole/results/results.json").read_bytes(), self.results_bytes("cut"))

    def test_discovery(self):
        self.configure(method="discover", vibecheck="{d: 30, batch: 5, iterations: 1}")
        self.run_it()
        results = self.results("r")
        self.assertGreater(sum(v["kept"] for v in results["vibes"]), 2)
        best = {min(self.cells(results, v["name"]).values(), key=lambda c: c["rank"])["model"] for v in results["vibes"] if v["kept"]}
        self.assertIn("warm", best)
        self.vibeq("verify", "r")
        self.assertIn("recall", self.vibeq("compare", "r", "--gold", "hc3").stdout)


if __name__ == "__main__":
    vqtest.main()
