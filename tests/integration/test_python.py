"""The Python package: installed into a fresh environment without a network, it starts a run, reads it, and keeps N/A apart from what is
missing. Needs venv, setuptools and pandas of this machine; CI has them."""
import csv
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import vqtest
from vqtest import BIN, ROOT, Case, planted


def python_with_all():
    for python in (sys.executable, "/usr/bin/python3"):
        words = [python, "-c", "import ensurepip, pandas, setuptools, venv, wheel"]
        if shutil.which(python) and subprocess.run(words, capture_output=True, check=False).returncode == 0:
            return python
    return None


class Package(Case):
    @classmethod
    def setUpClass(cls):
        base = python_with_all()
        if base is None:
            raise unittest.SkipTest("SKIP: no python3 with venv, setuptools, wheel and pandas; deploy/install-deps --ci installs them")
        cls.place = Path(tempfile.mkdtemp(prefix="vq-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.python = cls.place / "env" / "bin" / "python"
        shutil.copytree(ROOT / "python", cls.place / "python", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        for words in ((base, "-m", "venv", "--system-site-packages", "env"),
                      (cls.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-build-isolation", "./python")):
            done = subprocess.run(list(map(str, words)), cwd=cls.place, capture_output=True, text=True, timeout=240, check=False)
            if done.returncode != 0:
                raise AssertionError(f"{words}\n{done.stdout}\n{done.stderr}")

    def checked(self, words, **more):
        done = subprocess.run(words, cwd=self.dir, env=self.environment(VIBEQ=str(BIN / "vibeq"), **more), capture_output=True, text=True,
                              timeout=240, check=False)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def script(self, text):
        return self.checked([str(self.python), "-c", textwrap.dedent(text)])

    def test_a_run_from_a_notebook(self):
        planted(self.dir, 24, ("Warmth", "Length", "Humour"))
        said = self.script("""
            import pandas as pd, vibeq
            assert "site-packages" in vibeq.__file__, vibeq.__file__
            run = vibeq.run("data.csv", models=["alpha", "beta"], judge=["offline-a", "offline-b"], name="r", set={"data.near_duplicate": 70})
            scores = run.scores
            assert len(scores) == run.results["data"]["used"] * len(run.results["vibes"]) * 2, len(scores)
            assert str(scores["score"].dtype) == "Int8" and set(scores["score"].dropna()) <= {-1, 0, 1}
            assert str(scores["verdict_a_first"].dtype) == "category"
            assert str(run.vibes["sep_test"].dtype) == "Float64" and str(run.vibes["kept"].dtype) == "boolean"
            assert list(run.rows["topic"].unique()) and str(run.rows["topic"].dtype) == "string"
            page = run._repr_html_()
            assert "alpha" in page and "<table" in page and "offline judge" in page, page
            assert vibeq.load("runs/r").results == vibeq.load("r").results
            frame = pd.read_csv("data.csv")
            again = vibeq.run(frame, models=["alpha", "beta"], judge="offline-a", name="frame", limit=10)
            assert again.results["data"]["used"] <= 10
            print("fine")
        """)
        self.assertEqual(said, "fine\n")

    def test_missing_is_not_na_and_na_is_not_missing(self):
        planted(self.dir, 12, ("Warmth",))
        said = self.script("""
            import pandas as pd, pathlib, vibeq
            vibeq.run("data.csv", models=["alpha", "beta"], judge="offline-a", name="r")
            path = pathlib.Path("runs/r/results/scores.csv")
            lines = path.read_text().splitlines()
            lines[1] = "3,0,train,1,offline-a,N/A,N/A,0,not_applicable"
            lines[2] = "3,0,train,2,offline-a,refused,failed,,missing"
            path.write_text("\\n".join(lines) + "\\n")
            scores = vibeq.load("r").scores
            assert scores.loc[0, "verdict_a_first"] == "N/A" and scores.loc[0, "score"] == 0
            assert "N/A" in scores["verdict_a_first"].cat.categories
            assert scores.loc[1, "score"] is pd.NA and scores.loc[1, "verdict_a_first"] == "refused"
            assert scores["verdict_a_first"].isna().sum() == 0 and scores["score"].isna().sum() == 1
            rows = pathlib.Path("runs/r/results/rows.csv")
            text = rows.read_text().splitlines()
            text[1] = text[1].rsplit(",", 1)[0] + ",NA"
            rows.write_text("\\n".join(text) + "\\n")
            run = vibeq.load("r")
            assert run.rows.loc[0, "topic"] == "NA" and run.rows["topic"].isna().sum() == 0
            print("fine")
        """)
        self.assertEqual(said, "fine\n")

    def test_texts_that_would_be_formulas_come_as_they_were(self):
        """vibeq writes them for spreadsheets with an apostrophe in front; readers take it off again."""
        planted(self.dir, 12, ("Warmth",))
        with open(self.dir / "data.csv", newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        with open(self.dir / "data.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([[*head, "note"], *([*row, "=1+1"] for row in rows)])
        said = self.script("""
            import vibeq
            run = vibeq.run("data.csv", models=["alpha", "beta"], judge="offline-a", name="r")
            assert set(run.rows["note"]) == {"=1+1"}, run.rows["note"]
            print("fine")
        """)
        self.assertEqual(said, "fine\n")
        self.assertIn("'=1+1", (self.dir / "runs/r/results/rows.csv").read_text())
        self.assertIn('"=1+1"', self.vibeq("export", "r", "rows", "--format", "jsonl").stdout)
        self.assertNotIn("'=1+1", self.vibeq("export", "r", "rows", "--raw").stdout)
        self.assertNotIn("'=1+1", self.vibeq("export", "r", "rows", "--format", "md").stdout)

    def test_what_goes_wrong_is_raised(self):
        said = self.script("""
            import vibeq
            for call, error, words in ((lambda: vibeq.run("no.csv", models=["a", "b"], judge="offline-a"), vibeq.VibeqError, "no.csv"),
                                       (lambda: vibeq.load("nothing"), FileNotFoundError, "vibeq list")):
                try:
                    call()
                except error as e:
                    assert words in str(e), e
                else:
                    raise AssertionError(words)
            print("fine")
        """)
        self.assertEqual(said, "fine\n")


if __name__ == "__main__":
    vqtest.main()
