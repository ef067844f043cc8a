"""People's verdicts on vibes: a blind sheet is written, filled in and read back; the results say how far judges agree, verify agrees, and a
wrong label is refused with its line."""
import csv
import io

import vqtest
from vqtest import ROOT, USAGE, Case, planted

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
        self.assertEqual(self.page_data("r")["results"], self.results("r"))
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
        self.assertIn("filled.csv, line 2, column \"label\": \"A\" is not a label", refused)
        self.assertFalse((self.dir / "runs/r/labels.csv").exists())
        (self.dir / "own.csv").write_text("record,vibe,label\n1,V1,A\n2,V1,beta\n3,V2,equal\n")
        self.vibeq("label", "r", "--read", "own.csv")
        self.assertEqual(len((self.dir / "runs/r/labels.csv").read_text().splitlines()), 4)


class Human(Case):
    """The key human: labels of people as an input of the run."""

    def setUp(self):
        super().setUp()
        planted(self.dir, 80, AXES)
        self.config(AXES, judges=1)
        lines = [f"{record},{axis},{'A' if (record * 7 + len(axis)) % 3 else 'equal'}" for record in range(1, 81, 2) for axis in AXES]
        (self.dir / "people.csv").write_text("\n".join(["record,vibe,label", *lines]) + "\n")

    def vibes(self, run):
        return self.results(run)["vibes"]

    def test_the_same_numbers_as_vibeq_label(self):
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        self.vibeq("label", "r", "--read", "people.csv")
        self.config(AXES, judges=1, name="human.yaml", human="people.csv")
        said = self.vibeq("run", "human.yaml", "--name", "h", "--quiet")
        self.assertIn("what people say", said.stdout)
        self.assertGreater(self.vibes("h")[0]["people"]["rows"], 10)
        self.assertEqual(self.vibes("r"), self.vibes("h"))
        self.assertNotIn("human_sha256", self.results("r")["data"])
        self.assertEqual(len(self.results("h")["data"]["human_sha256"]), 64)
        self.vibeq("verify", "h")
        before = self.results_bytes("h")
        (self.dir / "people.csv").unlink()  # the run keeps a copy
        self.vibeq("report", "h")
        self.assertEqual(self.results_bytes("h"), before)
        (self.dir / "more.csv").write_text("record,vibe,label\n1,V1,B\n2,V1,B\n")
        self.vibeq("label", "h", "--read", "more.csv")
        labels = (self.dir / "runs/h/labels.csv").read_text().splitlines()
        self.assertEqual(len(labels), 1 + 80 + 1, "all labels of the run, one of them replaced, one new")
        self.assertIn(",1,V1,B", labels)
        self.vibeq("verify", "h")

    def test_wrong_lines_are_refused_before_anything_is_sent(self):
        for text, said in (
                ("record,vibe,label\n1,V1,A\n1,Warmth,A\n", 'people.csv, line 3, column "vibe": "Warmth" is no vibe'),
                ("record,vibe,label\n1,V1,1\n", 'people.csv, line 2, column "label": "1" is not a label'),
                ("record,vibe,label\n81,V1,A\n", 'people.csv, line 2, column "record": "81" is no record'),
                ("record,vibe,label\n1,V1,A\n1,V1,B\n", 'people.csv, line 3, column "label": "B" differs from an earlier line'),
                ("item,vibe,label\n0.1,V1,1\n", "is a sheet of vibeq label"),
                ("record,vibe,label\n1,V1,\n", "has no label"),
                ("record,label\n1,A\n", "needs the columns")):
            (self.dir / "people.csv").write_text(text)
            self.config(AXES, judges=1, human="people.csv")
            self.assertIn(said, self.vibeq("run", "config.yaml", "--name", "w", code=USAGE).stderr)
            self.assertFalse((self.dir / "runs/w").exists())
        self.config(AXES, judges=1, human="nowhere.csv")
        self.assertIn("nowhere.csv", self.vibeq("run", "config.yaml", "--name", "w", code=USAGE).stderr)

    def test_vibes_that_are_discovered(self):
        """Names that nobody knows beforehand: what fits is used, the rest is counted."""
        text = "\n".join((f"data: {{path: {ROOT / 'examples/friendly-vs-terse.csv'}, limit: 60}}", "models: [friendly, terse]", "method: discover",
                          "judges: [offline-a, offline-b]", "vibecheck: {d: 20, batch: 5, iterations: 1}"))
        (self.dir / "found.yaml").write_text(text + "\n")
        self.vibeq("run", "found.yaml", "--name", "first", "--quiet")
        vibe = next(v["name"] for v in self.vibes("first") if v["kept"])
        rows = list(csv.DictReader(io.StringIO(self.vibeq("export", "first", "rows").stdout)))
        lines = [f"{row['record']},{name},friendly" for row in rows for name in (vibe, "Something else")]
        (self.dir / "people.csv").write_text("\n".join(["record,vibe,label", *lines]) + "\n")
        (self.dir / "found.yaml").write_text(text + "\nhuman: people.csv\n")
        self.vibeq("run", "found.yaml", "--name", "second", "--quiet")
        results = self.results("second")
        self.assertEqual([v["name"] for v in results["vibes"] if "people" in v], [vibe])
        warning = next(w["text"] for w in results["warnings"] if w["code"] == "labels_of_other_vibes")
        self.assertIn(f"does not have: {len(rows)}.", warning)


if __name__ == "__main__":
    vqtest.main()
