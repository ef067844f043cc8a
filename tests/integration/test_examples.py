"""The ten-line readers of results, where pandas or R is present; and that they are ten lines."""
import shutil
import subprocess
import sys
import unittest

import vqtest
from vqtest import MISSING, ROOT, Case, add_rates, planted

READERS = ROOT / "examples"


def python_with_pandas():
    for python in (sys.executable, "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run([python, "-c", "import pandas"], capture_output=True).returncode == 0:
            return python
    return None


class Readers(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 20, ("V1", "V2"))
        add_rates(self.dir, tie=0.1)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--fault", "refusal=0.05,sticky=true")
        self.config(("V1", "V2"), url=server.url)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        self.folder = self.dir / "runs/r/results"

    def read(self, *command):
        run = subprocess.run([*command, self.folder], capture_output=True, text=True, timeout=120)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stderr)
        for text in ("V1", "V2", "sep_test", "offline-a", "offline-b", "train", "test"):
            self.assertIn(text, run.stdout)
        return run.stdout

    @unittest.skipUnless(python_with_pandas(), "SKIP: python3-pandas is not here")
    def test_pandas(self):
        text = self.read(python_with_pandas(), READERS / "read_results.py")
        scored = sum(int(line.split()[-1]) for line in text.splitlines() if line.split()[-3:-2] in (["offline-a"], ["offline-b"]))
        self.assertEqual(scored, 20 * 2 * 2 - self.results("r")["cells_missing"], text)

    @unittest.skipUnless(shutil.which("Rscript"), "SKIP: R is not here")
    def test_r(self):
        self.read("Rscript", READERS / "read_results.R")

    def test_they_are_ten_lines(self):
        for name in ("read_results.py", "read_results.R"):
            lines = [x for x in (READERS / name).read_text().splitlines() if x.strip() and not x.startswith("#")]
            self.assertLessEqual(len(lines), 11, name)


if __name__ == "__main__":
    vqtest.main()
