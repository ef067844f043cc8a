"""The four real data sets: each loads with the counts of its README, and runs to the end. They are other people's texts and no part of
this tree: VQ_SHARED names their folder (default: ../shared). Missing, the tests skip, or fail with VQ_REQUIRE_SHARED=1. VQ_FULL=1 runs
every row instead of a sample."""
import os
import re
from pathlib import Path

import vqtest
from vqtest import ROOT, Case

FOLDER = Path(os.environ.get("VQ_SHARED", ROOT.parent / "shared")) / "data" / "vibecheck"
REQUIRED = os.environ.get("VQ_REQUIRE_SHARED") == "1"
LIMIT = 0 if os.environ.get("VQ_FULL") == "1" else 60
JUDGES = ("--judge", "offline-a,offline-b")


class Datasets(Case):
    def setUp(self):
        super().setUp()
        if not FOLDER.is_dir():
            if REQUIRED:
                self.fail(f"the data sets are required, and {FOLDER} is not there")
            self.skipTest(f"SKIP: the real data sets are not in {FOLDER}; name their folder with VQ_SHARED")

    def readme_rows(self, name):
        row = re.search(rf"(?m)^\| `{re.escape(name)}` \|.*$", (FOLDER / "README.md").read_text(encoding="utf-8")).group(0)
        return int(row.split("|")[4].strip().replace(",", ""))

    def load(self, name, models, *settings):
        words = [w for s in settings for w in ("--set", s)]
        return self.vibeq("run", FOLDER / name, "--models", ",".join(models), *JUDGES, "--dry-run", *words).stderr

    def check(self, name, models, questions, alike, ties, preferred):
        """Everything that the README says of a file, then a run."""
        rows = self.readme_rows(name)
        said = self.load(name, models)
        self.assertIn(f"{name}: {rows} records", said)
        self.assertRegex(said, rf"split +{rows} -> {rows}  train \d+, test \d+ \(by prompt; {questions} prompts\)")
        self.assertRegex(said, rf"alike outputs +{rows} -> {rows - alike}  0 identical, {alike} at least 80 % alike")
        self.assertIn(f"{rows - alike} rows x 10 vibes; 2 judges", said)
        whole = self.load(name, models, "data.near_duplicate=0")
        self.assertIn(f"{rows} rows x 10 vibes; 2 judges", whole)
        if ties is None:
            self.assertNotIn("ties", whole)
        else:
            self.assertIn(f"{ties} ties kept", whole)
        self.run_it(name, models, rows, preferred)

    def run_it(self, name, models, rows, preferred):
        self.vibeq("run", FOLDER / name, "--models", ",".join(models), *JUDGES, "--limit", LIMIT, "--name", "r", "--quiet", timeout=280)
        r = self.results("r")
        self.assertEqual(r["models"], list(models))
        self.assertEqual((r["data"]["rows"], r["data"]["has_preference"]), (rows, preferred is not None))
        self.assertEqual(r["data"]["used"] + sum(r["data"]["excluded"].values()), rows)
        self.assertEqual((r["cells_missing"], r["judge_kind"], len(r["vibes"])), (0, "offline-lexical", 10))
        self.assertEqual(r["mm"]["status"] in ("ok", "no_vibes"), True, r["mm"])
        self.assertEqual(r["pp"] is None or r["pp"]["accuracy_test"] is None, preferred is None, r["pp"])
        if LIMIT == 0 and preferred is not None:
            for side, count in zip("ab", preferred):
                self.assertLessEqual(sum(r["data"]["preferred"][s][side] for s in ("train", "test")), count)

    def test_friendly_and_cold(self):
        self.check("friendly_and_cold_sample.csv", ("friendly", "cold"), questions=50, alike=0, ties=0, preferred=(44, 6))

    def test_human_and_chatgpt_without_preferences(self):
        self.check("hc3_multisource_train.csv", ("human_answers", "chatgpt_answers"), questions=250, alike=0, ties=None, preferred=None)

    def test_arena_with_repeated_questions(self):
        self.check("arena_llama_vs_not_llama_soft_questions.csv", ("llama-3-70b-instruct", "not_llama"), questions=529, alike=6, ties=0,
                   preferred=(320, 235))

    def test_summaries_with_ties(self):
        self.check("cnndm_test_with_pref.csv", ("command_xlarge_beta", "TNLGv2"), questions=500, alike=33, ties=154, preferred=(103, 243))

    def test_the_paper_drops_ties(self):
        said = self.load("cnndm_test_with_pref.csv", ("command_xlarge_beta", "TNLGv2"), "data.ties=drop_all", "data.near_duplicate=0")
        self.assertIn("346 rows", said)

    def test_init_guesses_every_file(self):
        for name, models in (("friendly_and_cold_sample.csv", ["friendly", "cold"]),
                             ("hc3_multisource_train.csv", ["human_answers", "chatgpt_answers"]),
                             ("arena_llama_vs_not_llama_soft_questions.csv", ["llama-3-70b-instruct", "not_llama"]),
                             ("cnndm_test_with_pref.csv", ["command_xlarge_beta", "TNLGv2"])):
            self.vibeq("init", FOLDER / name, "--force")
            text = (self.dir / "vibeq.yaml").read_text()
            self.assertEqual(re.findall(r'(?m)^- "(.*)"$', text), models, name)
            self.assertIn('prompt: "question"', text)
            self.vibeq("run", "vibeq.yaml", "--dry-run")


if __name__ == "__main__":
    vqtest.main()
