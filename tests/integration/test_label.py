"""People's verdicts on vibes: a blind sheet is written, filled in and read back; the results say how far judges agree, verify agrees, and a
wrong label is refused with its line."""
import csv
import io

import vqtest
from vqtest import USAGE, Case, planted

AXES = ("V1", "V2")


class Label(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 80, AXES)
        self.config(AXES, judges=1)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")

    def sheet(self, *words):
        return list(csv.DictReader(io.StringIO(self.vibeq("label", "r", *words).stdout)))

    def fill(self, rows, label, name="filled.csv"):
        with open(self.dir / name, "w", newline="") as file:
            out = csv.DictWriter(file, rows[0].keys())
            out.writeheader()
            out.writerows({**row, "label": label(row)} for row in rows)
        return name

    def test_a_sheet_is_blind_and_comes_back(self):
        rows = self.sheet("--rows", "20", "--all")
        self.assertEqual(len(rows), 40)
        self.assertEqual(rows, self.sheet("--rows", "20", "--all"), "drawn by the run's seed")
        data = list(csv.DictReader((self.dir / "data.csv").read_text().splitlines()))
        of_a = {row["alpha"] for row in data}
        firsts = [row["output_1"] in of_a for row in rows]
        self.assertTrue(8 < sum(firsts) < 32, "either model stands first")
        self.assertNotIn("alpha", rows[0].keys())
        before = self.results("r")
        name = self.fill(rows, lambda row: "1" if row["output_1"] in of_a else "2")
        said = self.vibeq("label", "r", "--read", name)
        self.assertIn("40 labels were read, 0 lines have none", said.stderr)
        self.assertIn("what people say", said.stdout)
        after = self.results("r")
        for was, now in zip(before["vibes"], after["vibes"]):
            people = now.pop("people")
            self.assertEqual((people["rows"], people["separability_of_judges"]), (20, now["separability"]["test"]))
            self.assertGreater(people["separability"], people["separability_of_judges"])
            self.assertEqual(was, now, "nothing else has changed")
        self.assertIn("Judges agree with people", (self.dir / "runs/r/results/report.html").read_text())
        self.vibeq("verify", "r")
        self.vibeq("report", "r")
        self.assertEqual(self.results("r")["vibes"][0]["people"]["rows"], 20)
        more = self.fill(self.sheet("--rows", "30", "--all"), lambda row: "equal", "more.csv")
        self.vibeq("label", "r", "--read", more)
        self.assertEqual(self.results("r")["vibes"][0]["people"]["rows"], 30, "labels add up")

    def test_half_a_sheet_and_wrong_labels(self):
        rows = self.sheet("--rows", "10")
        empty = self.fill(rows, lambda row: "")
        self.assertIn("has no label yet", self.vibeq("label", "r", "--read", empty, code=USAGE).stderr)
        wrong = self.fill(rows, lambda row: "A")
        refused = self.vibeq("label", "r", "--read", wrong, code=USAGE).stderr
        self.assertIn("filled.csv, line 2, column \"label\": \"A\" is no label", refused)
        self.assertFalse((self.dir / "runs/r/labels.csv").exists())
        (self.dir / "own.csv").write_text("record,vibe,label\n1,V1,A\n2,V1,beta\n3,V2,equal\n")
        self.vibeq("label", "r", "--read", "own.csv")
        self.assertEqual(len((self.dir / "runs/r/labels.csv").read_text().splitlines()), 4)


if __name__ == "__main__":
    vqtest.main()
