"""docs/develop/decisions-tested.md is true: every decision and rule has its row, and every test it names exists and is run."""
import re
import unittest

from vqtest import ROOT

PAGE = ROOT / "docs" / "develop" / "decisions-tested.md"
NAMED = re.compile(r"`([\w/.]+\.(?:c|py)): (\w+)`")


class Tested(unittest.TestCase):
    def setUp(self):
        self.text = PAGE.read_text(encoding="utf-8")

    def rows(self, title):
        part = self.text.split(f"## {title}")[1].split("\n## ")[0]
        return dict(re.findall(r"^- \*\*(\d+)\*\*: (.*?)(?=^- |\Z)", part, re.MULTILINE | re.DOTALL))

    def test_every_decision_and_rule_has_a_test(self):
        for title, last in (("Decisions on method", 20), ("Rules of leases, calls, commits and locks", 25)):
            rows = self.rows(title)
            self.assertEqual(list(rows), [str(n) for n in range(1, last + 1)], title)
            for number, tests in rows.items():
                self.assertRegex(tests, NAMED, f"{title} {number}")

    def test_every_named_test_is_there_and_is_run(self):
        named = NAMED.findall(self.text)
        self.assertEqual(len(named), len(re.findall(r"`[^`]*\.(?:c|py): ?[^`]*`", self.text)), "a name that this test cannot read")
        self.assertGreater(len(named), 100)
        for file, name in named:
            path = ROOT / file
            self.assertTrue(path.is_file(), f"{file} is not there")
            source = path.read_text(encoding="utf-8")
            if file.endswith(".py"):
                self.assertRegex(source, rf"\n    def {name}\(self\)", f"{file} has no {name}")
                self.assertTrue(name.startswith("test_"), f"{name} is not run")
            else:
                registered = re.search(rf"\nTEST(?:_WITH)?\({name}\b", source)
                if not registered:
                    self.assertRegex(source, rf"\n(?:static )?void {name}\(", f"{file}: {name} is no function")
                if path.parent.name != "simulation" and not registered:
                    self.assertGreater(len(re.findall(rf"\b{name}\b", source)), 1, f"{file} does not run {name}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
