"""vibeq import: every format's sample becomes a CSV that a run takes; what is left out is counted, what does not fit is named."""
import csv
import gzip
import io

import vqtest
from vqtest import DONE, ROOT, USAGE, Case

SAMPLES = ROOT / "tests" / "data" / "import"
FORMATS = {"arena-hard": ["arena-hard-question.jsonl", "arena-hard-alpha.jsonl", "arena-hard-beta.jsonl"], "alpaca-eval": ["alpaca-eval.json"],
           "lm-eval": ["lm-eval-alpha.jsonl", "lm-eval-beta.jsonl"], "helm": ["helm-alpha.json", "helm-beta.json"],
           "inspect": ["inspect-alpha.json", "inspect-beta.json"], "promptfoo": ["promptfoo.json"],
           "openai-chat": ["openai-chat-alpha.jsonl", "openai-chat-beta.jsonl"], "join": ["join-alpha.csv", "join-beta.jsonl", "--key", "id"]}


class Import(Case):
    def imported(self, *words, code=DONE):
        return self.vibeq("import", *words, code=code)

    def files(self, name):
        return [SAMPLES / word if "." in word else word for word in FORMATS[name]]

    def test_every_format_gives_a_run_its_data(self):
        for name in FORMATS:
            out = self.imported(name, *self.files(name)).stdout
            rows = list(csv.DictReader(io.StringIO(out)))
            self.assertGreaterEqual(len(rows), 2, name)
            models = [c for c in rows[0] if c not in ("id", "question")]
            self.assertEqual(len(models), 2, name)
            self.assertTrue(all(row["question"] for row in rows), name)
            said = self.imported(name, *self.files(name), "-o", f"{name}.csv").stderr
            self.assertIn(f"{name}.csv: {len(rows)} rows, {models[0]} (A) and {models[1]} (B)", said)
            self.assertEqual((self.dir / f"{name}.csv").read_text(encoding="utf-8"), out)
            dry = self.vibeq("run", f"{name}.csv", "--models", ",".join(models), "--judge", "offline-a", "--dry-run", "--set",
                             "data.near_duplicate=0", "--set", "data.test_share=0").stderr
            self.assertIn(f"{len(rows)} records", dry)

    def test_what_is_left_out_is_counted(self):
        said = self.imported("arena-hard", *self.files("arena-hard")).stderr
        self.assertIn("1 left out: answered only by alpha", said)
        self.assertIn("1 left out: answered only by beta", said)
        self.assertIn("1 left out: the key came before, in the answers of beta", said)
        self.assertIn("1 answer has further turns; the first is taken", said)
        self.assertIn("1 output is empty, of own:beta", self.imported("promptfoo", *self.files("promptfoo")).stderr)

    def test_models_are_chosen_and_named(self):
        three = (SAMPLES / "alpaca-eval.json").read_text().rstrip().rstrip("]") + ', {"instruction": "Name a river.", "output": "x", "generator": "c"}]'
        (self.dir / "three.json.gz").write_bytes(gzip.compress(three.encode()))
        said = self.imported("alpaca-eval", "three.json.gz", code=USAGE).stderr
        self.assertIn("choose them with --a NAME --b NAME; the models in these files are alpha (2 in three.json.gz), beta (2", said)
        out = self.imported("alpaca-eval", "three.json.gz", "--a", "c", "--b", "alpha").stdout
        self.assertEqual(out, "question,c,alpha\nName a river.,x,The Elbe.\n")

    def test_what_does_not_fit_is_named(self):
        (self.dir / "odd.jsonl").write_text('{"question_id": 1, "choices": []}\n')
        said = self.imported("arena-hard", "odd.jsonl", code=USAGE).stderr
        self.assertIn("odd.jsonl, line 1, choices.0.turns: expected a list of turns, found nothing, in a list of 0", said)
        self.assertIn("docs/use/import.md", said)
        (self.dir / "log.eval").write_bytes(b"PK\x03\x04")
        self.assertIn("inspect log convert --to json", self.imported("inspect", "log.eval", code=USAGE).stderr)
        self.assertIn("did you mean alpaca-eval?", self.imported("alpaca_eval", "x", code=USAGE).stderr)
        self.assertIn("--key COLUMN", self.imported("join", "a", "b", code=USAGE).stderr)
        self.assertIn("the format join", self.imported("helm", "a", "--key", "b", code=USAGE).stderr)
        self.assertIn("no/where", self.imported("helm", "no/where", code=USAGE).stderr)
        (self.dir / "there.csv").write_text("mine")
        self.assertIn("--force", self.imported("promptfoo", *self.files("promptfoo"), "-o", "there.csv", code=USAGE).stderr)
        self.assertEqual((self.dir / "there.csv").read_text(), "mine")
        self.imported("promptfoo", *self.files("promptfoo"), "-o", "there.csv", "--force")
        self.assertNotEqual((self.dir / "there.csv").read_text(), "mine")


if __name__ == "__main__":
    vqtest.main()
