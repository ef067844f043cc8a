"""What a paper takes: tables in LaTeX and Markdown, the three bar panels as SVG and PNG."""
import struct
import subprocess
import xml.etree.ElementTree as xml

import vqtest
from vqtest import BIN, DONE, USAGE, Case, planted


class Paper(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 24, ("Warmth", "Length", "Humour"))
        self.vibeq("run", "data.csv", "--models", "alpha,beta", "--judge", "offline-a,offline-b", "--name", "r", "--quiet")

    def kept(self):
        return [v["name"] for v in self.results("r")["vibes"] if v["kept"]]

    def test_tables(self):
        for words in (("r",), ("r", "vibes")):
            latex = self.vibeq("export", *words, "--format", "latex").stdout
            self.assertIn("\\toprule", latex)
            self.assertEqual(latex.count("$\\rightarrow$"), len(self.kept()))
            md = self.vibeq("export", *words, "--format", "md").stdout
            self.assertIn("| Vibe | Low to high | Separability | Kappa | MM | PP |", md)
            for name in self.kept():
                self.assertIn(name.replace("&", "\\&"), latex)
                self.assertIn(name.replace("&", "&amp;"), md)
        rows = self.vibeq("export", "r", "rows", "--format", "md").stdout
        self.assertEqual(rows.count("\n"), 2 + self.results("r")["data"]["used"])
        self.assertIn("--format is csv, jsonl, latex or md", self.vibeq("export", "r", "rows", "--format", "tex", code=USAGE).stderr)
        self.assertIn("csv or jsonl", self.vibeq("export", "r", "calls", "--format", "md", code=USAGE).stderr)
        self.vibeq("run", "data.csv", "--models", "alpha", "--judge", "offline-a", "--criteria", "refusal", "--name", "c", "--quiet")
        self.assertIn("| item | group | output | criterion |", self.vibeq("export", "c", "--format", "md").stdout)

    def test_pictures(self):
        svg = self.vibeq("plot", "r").stdout
        page = xml.fromstring(svg)
        texts = [t.text for t in page.iter("{http://www.w3.org/2000/svg}text")]
        for word in ("Separability", "PP coefficient", "Kappa", *(self.kept() or [v["name"] for v in self.results("r")["vibes"]])):
            self.assertIn(word, texts)
        self.assertTrue(any("offline judge" in t for t in texts))
        self.vibeq("plot", "r", "--format", "svg", "-o", "p.svg")
        self.assertEqual((self.dir / "p.svg").read_text(encoding="utf-8"), svg)
        self.assertIn("--force", self.vibeq("plot", "r", "-o", "p.svg", code=USAGE).stderr)
        self.vibeq("plot", "r", "-o", "p.png")
        png = (self.dir / "p.png").read_bytes()
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">I", png[16:20])[0], 2000)
        piped = subprocess.run([str(BIN / "vibeq"), "plot", "r", "--format", "png"], cwd=self.dir, env=self.environment(), capture_output=True,
                               check=False)
        self.assertEqual((piped.returncode, piped.stdout), (DONE, png))
        self.assertIn("svg or png", self.vibeq("plot", "r", "--format", "pdf", code=USAGE).stderr)
        self.assertIn("r", self.vibeq("plot", "nothing", code=USAGE).stderr)


if __name__ == "__main__":
    vqtest.main()
