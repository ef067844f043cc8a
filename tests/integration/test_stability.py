"""vibecheck.repeats: discovery is done again from other seeds, and the results say which vibes were found again; the vibes themselves, a replay and what
verify finds do not change; plan counts the calls."""
import json

import vqtest
from vqtest import ROOT, USAGE, Case


class Stability(Case):
    def configure(self, repeats, more="", judges="offline-a, offline-b"):
        (self.dir / "again.yaml").write_text("\n".join((
            f"data: {{path: {ROOT / 'examples/friendly-vs-terse.csv'}, limit: 80}}", "models: [friendly, terse]", "method: discover", f"judges: [{judges}]",
            f"vibecheck: {{d: 20, batch: 5, iterations: 1, repeats: {repeats}}}", more)) + "\n")

    def test_repeats(self):
        self.configure(0)
        self.vibeq("run", "again.yaml", "--name", "none", "--quiet")
        self.configure(2)
        plan = json.loads(self.vibeq("plan", "again.yaml", "--json", "--runs", "other").stdout)
        table = self.vibeq("run", "again.yaml", "--name", "two", "--quiet", "--runs", "other").stdout
        calls = json.loads((self.dir / "other/two/accounting.json").read_text())
        self.assertLessEqual(calls["calls"]["first_sends"], plan["calls"]["most"])
        names = [stage["name"] for stage in calls["stages"]]
        for name in ("again 1: discover 1", "again 2: simplify 1", "match repeats"):
            self.assertIn(name, names)
        none = self.results("none")
        two = json.loads((self.dir / "other/two/results/results.json").read_text())
        found = two["discovery"].pop("stability")
        self.assertEqual(none, two, "nothing else has changed")
        self.assertEqual((found["repeats"], len(found["axes_found"])), (2, 2))
        self.assertEqual([v["name"] for v in found["vibes"]], [v["name"] for v in sorted(two["vibes"], key=lambda v: v["id"]) if v["kept"]])
        self.assertTrue(any(v["found_again"] == 2 for v in found["vibes"]), found)
        for vibe in found["vibes"]:
            self.assertEqual(vibe["found_again"], sum(n is not None and n >= found["threshold"] for n in vibe["nearest"]))
        self.assertIn("Found again in 2 repeats of discovery:", table)
        self.assertIn('"found_again"', (self.dir / "other/two/results/report.html").read_text())
        self.vibeq("verify", "two", "--runs", "other")
        before = (self.dir / "other/two/results/results.json").read_bytes()
        self.vibeq("replay", "two", "--runs", "other")
        self.assertEqual((self.dir / "other/two/replay/results.json").read_bytes(), before)

    def test_other_proposers(self):
        self.configure(3, "repeat_proposers: [offline-b, {model: offline-a, name: again}]", judges="offline-a")
        plan = json.loads(self.vibeq("plan", "again.yaml", "--json").stdout)
        asked = {stage["name"]: [judge["name"] for judge in stage["judges"]] for stage in plan["stages"] if "discover" in stage["name"]}
        want = {"discover 1": ["offline-a"], "again 1: discover 1": ["offline-b"], "again 2: discover 1": ["again"], "again 3: discover 1": ["offline-b"]}
        self.assertEqual(asked, want)
        self.vibeq("run", "again.yaml", "--name", "r", "--quiet")
        accounting = json.loads((self.dir / "runs/r/accounting.json").read_text())
        self.assertLessEqual(accounting["calls"]["first_sends"], plan["calls"]["most"])
        answered = {name: accounting["models"][name]["answered"] for name in ("offline-b", "again")}
        self.assertEqual(answered, {"offline-b": 8, "again": 4}, "they propose from 20 rows, 5 a call, and do nothing else")
        self.assertEqual(self.results("r")["discovery"]["stability"]["proposers"], ["offline-b", "offline-a", "offline-b"])
        self.assertEqual(self.page_data("r")["results"]["discovery"]["stability"]["proposers"], ["offline-b", "offline-a", "offline-b"])
        self.vibeq("verify", "r")
        self.assertIn("repeat_proposers", self.vibeq("resume", "r", "--set", "repeat_proposers[0].model=offline-a", code=USAGE).stderr)


if __name__ == "__main__":
    vqtest.main()
