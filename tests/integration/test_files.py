"""Data files as other programs leave them: packed, piped, with NaN, lists and half characters. Each kind is read with a count, or
refused with the next step."""
import csv
import gzip
import json
import subprocess

import vqtest
from vqtest import BIN, DONE, USAGE, Case

JUDGES = ("--models", "alpha,beta", "--judge", "offline-a")


def zstd(data):
    """A frame of raw blocks: no packer is needed to write one."""
    frame = b"\x28\xb5\x2f\xfd" + b"\xa0" + len(data).to_bytes(4, "little")
    pieces = [data[i:i + 100_000] for i in range(0, len(data), 100_000)] or [b""]
    for i, piece in enumerate(pieces):
        frame += (len(piece) << 3 | (i == len(pieces) - 1)).to_bytes(3, "little") + piece
    return frame


class Files(Case):
    def rows(self, n=12):
        return [{"question": f"q{i}?", "alpha": f"the river stone {i} is warm", "beta": f"a cold lamp, window {i * 7}"} for i in range(n)]

    def jsonl(self, rows):
        return "".join(json.dumps(row) + "\n" for row in rows)

    def csv(self, rows, name="data.csv"):
        with open(self.dir / name, "w", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, rows[0].keys())
            out.writeheader()
            out.writerows(rows)
        return (self.dir / name).read_bytes()

    def dry(self, name, *more, code=DONE):
        return self.vibeq("run", name, *JUDGES, "--dry-run", *more, code=code).stderr

    def test_packed_files_are_read(self):
        data = self.csv(self.rows())
        (self.dir / "data.csv.gz").write_bytes(gzip.compress(data))
        (self.dir / "data.csv.zst").write_bytes(zstd(data))
        (self.dir / "lines.jsonl.gz").write_bytes(gzip.compress(self.jsonl(self.rows()).encode()))
        for name in ("data.csv.gz", "data.csv.zst", "lines.jsonl.gz"):
            self.assertIn("12 records", self.dry(name))
        self.vibeq("run", "data.csv.gz", *JUDGES, "--name", "r", "--quiet")
        self.assertEqual((self.dir / "runs/r/inputs/data").read_bytes(), (self.dir / "data.csv.gz").read_bytes())
        self.vibeq("run", "data.csv", *JUDGES, "--name", "plain", "--quiet")
        packed, plain = self.results("r"), self.results("plain")
        self.assertEqual(packed["vibes"], plain["vibes"])
        self.vibeq("report", "r")
        (self.dir / "cut.csv.gz").write_bytes(gzip.compress(data)[:-12])
        self.assertIn("cut.csv.gz is packed by gzip and is cut off", self.dry("cut.csv.gz", code=USAGE))

    def test_standard_input_is_kept_with_the_run(self):
        data = self.csv(self.rows())
        words = [str(BIN / "vibeq"), "run", "-", *JUDGES, "--name", "r", "--quiet"]
        done = subprocess.run(words, input=data, cwd=self.dir, env=self.environment(), capture_output=True, timeout=90, check=False)
        self.assertEqual(done.returncode, DONE, done.stderr)
        self.assertEqual((self.dir / "runs/r/inputs/data").read_bytes(), data)
        before = self.results_bytes("r")
        self.vibeq("resume", "r", "--quiet")
        self.vibeq("report", "r")
        self.assertEqual(self.results_bytes("r"), before)
        said = self.vibeq("run", "-", *JUDGES, "--set", "data.test_path=-", code=USAGE).stderr
        self.assertIn("only data.path can be standard input", said)

    def test_parquet_is_named_with_its_conversion(self):
        (self.dir / "data.parquet").write_bytes(b"PAR1\x15\x04\x15\x00" + bytes(60) + b"PAR1")
        said = self.dry("data.parquet", code=USAGE)
        self.assertIn("data.parquet is a Parquet file", said)
        self.assertIn("pandas.read_parquet(sys.argv[1]).to_json", said)

    def test_what_json_does_not_have(self):
        rows = self.rows()
        for row in rows:
            row["perplexity"] = float("nan")
        rows[3]["score"] = float("-inf")
        rows[4]["alpha"] += " \ud83d"
        (self.dir / "data.jsonl").write_text(self.jsonl(rows), encoding="utf-8")
        said = self.dry("data.jsonl")
        self.assertIn("13 values are NaN or Infinity, which JSON does not have (the first in line 1); they are read as empty", said)
        self.assertIn("1 character is half of a surrogate pair (the first in line 5); it is read as U+FFFD", said)
        self.vibeq("run", "data.jsonl", *JUDGES, "--name", "r", "--quiet")
        self.assertEqual(len([w for w in self.results("r")["data"]["warnings"] if "NaN" in w or "U+FFFD" in w]), 2)

    def test_outputs_that_are_missing(self):
        rows = self.rows()
        rows[1]["alpha"], rows[2]["beta"], rows[3]["beta"], rows[4]["alpha"] = "nan", "None", "null", ""
        self.csv(rows)
        said = self.dry("data.csv")
        self.assertIn('3 outputs are a word for a missing value ("nan" first, in line 3); they are judged as they are', said)
        self.assertIn("1 record has an empty output", said)
        self.vibeq("run", "data.csv", "--models", "alpha", "--criteria", "refusal", "--judge", "offline-a", "--name", "r", "--quiet")
        r = self.results("r")
        self.assertEqual(r["data"]["without_output"], [1])
        self.assertIn('1 output is a word for a missing value ("nan" first', r["data"]["warnings"][0])

    def test_lists_of_one_text(self):
        rows = self.rows()
        for row in rows:
            row["alpha"], row["beta"] = str([row["alpha"]]), json.dumps([row["beta"]])
        self.csv(rows)
        self.assertIn("24 cells are lists of one text (the first in line 2)", self.dry("data.csv"))
        self.assertIn("data.unwrap_lists: true", self.dry("data.csv"))
        self.assertIn("of 24 cells that are lists of one text, the text is taken", self.dry("data.csv", "--set", "data.unwrap_lists=true"))
        self.vibeq("run", "data.csv", *JUDGES, "--name", "r", "--quiet", "--set", "data.unwrap_lists=true")
        self.csv(self.rows(), "plain.csv")
        self.vibeq("run", "plain.csv", *JUDGES, "--name", "p", "--quiet")
        self.assertEqual(self.results("r")["vibes"], self.results("p")["vibes"])
        self.vibeq("resume", "r", "--quiet")
        (self.dir / "lists.jsonl").write_text(self.jsonl([{**row, "alpha": [row["alpha"]]} for row in self.rows()]), encoding="utf-8")
        said = self.dry("lists.jsonl", code=USAGE)
        self.assertIn("set data.unwrap_lists: true, which takes the text out of a list of one", said)
        self.assertIn("of 12 cells", self.dry("lists.jsonl", "--set", "data.unwrap_lists=true"))

    def test_yes_and_no_of_people(self):
        rows = self.rows()
        for row, label in zip(rows, ["1.0", "0.0", "Y", "n", "PASS", "Fail", "true", "FALSE", "Yes", "no", "1", "0"]):
            row["human"] = label
        self.csv(rows)
        said = self.vibeq("run", "data.csv", "--models", "alpha", "--judge", "offline-a", "--criteria", "refusal", "--dry-run",
                          "--set", "criteria[0].human=human").stderr
        self.assertIn("refusal: 12 labels by people", said)


if __name__ == "__main__":
    vqtest.main()
