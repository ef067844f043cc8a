"""The whole method on the four real data sets, with the paper's settings for each, against the offline judges. They are other people's texts and
no part of this tree: VQ_SHARED names their folder (default: ../shared). Missing, the tests skip, or fail with VQ_REQUIRE_SHARED=1."""
import json
import math
import re

import vqtest
from discovering import Discover
from test_datasets import FOLDER, REQUIRED


class Data(Discover):
    def setUp(self):
        super().setUp()
        if not FOLDER.is_dir():
            if REQUIRED:
                self.fail(f"the data sets are required, and {FOLDER} is not there")
            self.skipTest(f"SKIP: the real data sets are not in {FOLDER}; name their folder with VQ_SHARED")

    def whole(self, name, models, preset, d, batch, distinct):
        (self.dir / "discover.yaml").write_text("\n".join([
            f"data: {{path: {json.dumps(str(FOLDER / name))}}}", f"models: {json.dumps(models)}", "method: discover",
            f"vibecheck: {{preset: {preset}}}", "judges: [offline-a, offline-b]"]) + "\n")
        run = self.run_it(timeout=280)
        said = run.stdout + run.stderr
        results, accounting = self.results("r"), self.accounting("r")
        self.assertEqual((results["cells_missing"], results["judge_kind"], results["settings"]["method"]), (0, "offline-lexical", "discover"))
        self.check_formula(results, said, d, batch)
        self.check_same(accounting)
        low, high = results["mm"]["accuracy_test_ci95"]
        self.assertLess(low, high)
        if distinct:
            self.assertGreater(low, 0.5)
        return results, said

    def check_formula(self, results, said, d, batch):
        """The terms of docs/method/method.md, from accounting.json; what was not sent came from the store or was saved by lazy swap."""
        stages, rows, judges = self.stages("r"), results["data"], len(results["judges"])
        names = [s["name"] for s in stages]
        discovered = sum(n.startswith("discover") for n in names)
        reduced = sum(n.startswith("simplify") for n in names)
        ranked = [s for s in stages if s["name"].startswith("rank")]
        proposed = [int(n) for n in re.findall(r"axes proposed: (\d+), from", said)]
        validated = [int(n) for n in re.findall(r"new ones after dedup: \d+, validated: (\d+)", said)]
        self.assertEqual((discovered, reduced), (len(proposed), sum(n > 0 for n in proposed)), names)
        self.assertRegex(said, rf"discovery stopped after iteration {discovered} of 3: ")
        planned = self.planned("r")
        misclassified = [int(n) for n in re.findall(r"wrong or undecided: (\d+) of", said)]
        shown = [min(d, n) for n in [rows["train"]] + misclassified[:discovered - 1]]
        self.assertEqual(planned["discovery"], sum(math.ceil(n / batch) for n in shown))
        fewer = sum(s["planned"] for s in stages if s["name"].startswith("reduce"))
        self.assertLessEqual(fewer, 3 * reduced)
        self.assertEqual(planned["reduction"], reduced * (2 * 1 + 1) + fewer)
        self.assertEqual(planned.get("dedup", 0), sum(n > 0 for n in proposed[1:]))
        not_asked = 2 * results["early_stop"]["questions_saved"]  # about vibes that were settled
        self.assertEqual(planned["train"], sum(2 * judges * rows["train"] * v for v in validated) - not_asked)
        self.assertLess(not_asked, planned["train"] / 20, "only what is certain is left out")
        self.assertEqual(sum(validated), len(results["vibes"]))
        self.assertEqual(planned["test"], 2 * judges * rows["test"] * sum(v["kept"] for v in results["vibes"]))
        self.assertEqual(set(planned) - {"discovery", "reduction", "dedup", "embedding", "train", "test"}, set())
        for s in stages:
            self.assertEqual(s["planned"], s["first_sends"] + s["from_store"] + s["saved_by_lazy_swap"], s["name"])
            self.assertTrue(s["saved_by_lazy_swap"] == 0 or s in ranked or s["name"] == "test", s["name"])
        log = [json.loads(x) for x in (self.dir / "runs/r/offline.log").read_text().splitlines()]
        sent = sum(s["first_sends"] for s in stages)
        self.assertEqual(sum(x["event"] == "request" for x in log), sent)
        self.assertEqual(self.accounting("r")["planned"], sum(planned.values()))

    def check_same(self, accounting):
        before = self.results_bytes("r")
        self.vibeq("replay", "r", "--verify", timeout=280)
        self.run_it("again", "--quiet", timeout=280)
        self.assertEqual(self.results_bytes("again"), before)
        again = self.accounting("again")
        self.assertEqual((again["sent"], again["planned"]), (0, accounting["planned"]))
        self.assertEqual(again["planned"], again["from_store"] + again["saved_by_lazy_swap"])

    def test_friendly_and_cold(self):
        results, _ = self.whole("friendly_and_cold_sample.csv", ["friendly", "cold"], "none", 20, 5, True)
        self.assertGreater(results["pp"]["accuracy_test"], 0.5)

    def test_human_and_chatgpt(self):
        results, _ = self.whole("hc3_multisource_train.csv", ["human_answers", "chatgpt_answers"], "paper-hc3", 40, 5, True)
        self.assertEqual(results["pp"]["status"], "no_labels")

    def test_arena(self):
        self.whole("arena_llama_vs_not_llama_soft_questions.csv", ["llama-3-70b-instruct", "not_llama"], "paper-arena", 20, 5, True)

    def test_summaries(self):
        results, _ = self.whole("cnndm_test_with_pref.csv", ["command_xlarge_beta", "TNLGv2"], "paper-cnndm", 20, 2, False)
        self.assertEqual(results["settings"]["ties"], "drop_all")


if __name__ == "__main__":
    vqtest.main()
