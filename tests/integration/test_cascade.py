"""A cascade of two judges with real processes: who is asked what, estimates against asking the second judge everything, the plan,
margins from real log-probabilities, and that a run that continues asks the same."""
import contextlib
import io
import json
import re
import signal

import vqtest
from answering import Between
from auditrun import audit_program
from vqtest import DONE, USAGE, Case, add_rates, planted

AXES = ("V1", "V2")
ROWS = 240


def audit(run_dir, log):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = audit_program.main([str(run_dir), "--log", str(log)])
    return code, out.getvalue()


class Cascade(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, ROWS, AXES, p=[0.75, 0.5])
        add_rates(self.dir, model="small", error=0.15, position_bias=0.2)
        add_rates(self.dir, model="large", error=0.0)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl")

    def write(self, name, url, judges=("small", "large"), cascade="{first: small, audit: 0.2}", **more):
        prices = {"small": (0.1, 0.4), "large": (2, 8)}
        lines = ["data: {path: data.csv}", "models: [alpha, beta]", "method: vibes", "vibes:"]
        lines += [f"  - {{name: {axis}, low: low on {axis}, high: high on {axis}}}" for axis in AXES]
        lines += ["judges:"]
        for judge in judges:
            lines += [f"  - {{name: {judge}, model: {judge}, base_url: '{url}', identity: the-test, "
                      f"price_input_usd: {prices[judge][0]}, price_output_usd: {prices[judge][1]}}}"]
        if cascade:
            lines += [f"cascade: {cascade}"]
        lines += [f"{key}: {value}" for key, value in more.items()]
        (self.dir / name).write_text("\n".join(lines) + "\n")
        return name

    def asked(self):
        count = {}
        for line in self.server.requests():
            count[line["model"]] = count.get(line["model"], 0) + 1
        return count

    def test_estimates_what_the_second_judge_says(self):
        self.write("cascade.yaml", self.server.url)
        done = self.vibeq("run", "cascade.yaml", "--name", "c")
        results = self.results("c")
        of = results["cascade"]
        self.assertEqual((of["first"], of["second"]), ("small", "large"))
        self.assertEqual(of["cells"]["first"], ROWS * len(AXES))
        reasons = of["reasons"]
        self.assertEqual(of["cells"]["second"], reasons["disagreement"] + reasons["audit_alone"])
        self.assertTrue(reasons["disagreement"] > 0.1 * ROWS and reasons["audit"] > 0.2 * ROWS, reasons)
        # the server knows who was asked: no settled answers here, so that every cell is two calls
        self.assertEqual(self.asked(), {"small": of["calls"]["first"], "large": of["calls"]["second"]})
        self.assertEqual((of["calls"]["first"], of["calls"]["second"]), (2 * ROWS * len(AXES), 2 * of["cells"]["second"]))
        self.assertEqual(of["calls"]["second_saved"], 2 * ROWS * len(AXES) - of["calls"]["second"])
        self.assertTrue(0 < of["audited_not_escalated"]["disagreement"] < of["audited"]["disagreement"] < 1)
        stages = {stage["name"]: stage for stage in self.accounting_file("c")["stages"]}
        self.assertEqual((stages["rank"]["sent"], stages["rank, second judge"]["sent"]), (of["calls"]["first"], of["calls"]["second"]))
        spent = stages["rank"]["cost_usd"] + stages["rank, second judge"]["cost_usd"]
        self.assertTrue(stages["rank"]["cost_usd"] > 0)
        saved = re.search(r"The cascade cost \$([\d.]+); the second judge everywhere would cost about \$(\d+\.\d+)", done.stdout)
        self.assertAlmostEqual(float(saved.group(1)), spent, delta=0.01)
        self.assertTrue(float(saved.group(2)) > float(saved.group(1)))
        self.assertIn("uncorrected", done.stdout)
        self.assertIn('id="data"', (self.dir / "runs/c/results/report.html").read_text())
        # a program of its own looks at who was asked, and computes the estimates again
        code, out = audit(self.dir / "runs/c", self.server.log_path)
        self.assertEqual(code, 0, out)
        path = self.dir / "runs/c/results/results.json"
        kept = path.read_text()
        path.write_text(json.dumps({**results, "vibes": [{**v, "separability": {**v["separability"], "test": v["separability"]["test"] + 1e-4}} for v in results["vibes"]]}))
        self.assertIn("the cascade's estimate is", audit(self.dir / "runs/c", self.server.log_path)[1])
        path.write_text(kept)
        # the second judge everywhere: only what the cascade did not ask is bought
        before = self.asked()["large"]
        self.write("large.yaml", self.server.url, judges=("large",), cascade=None)
        self.vibeq("run", "large.yaml", "--name", "l", "--quiet")
        self.assertEqual(self.asked()["large"] - before, of["calls"]["second_saved"])
        full = {vibe["name"]: vibe for vibe in self.results("l")["vibes"]}
        for vibe in results["vibes"]:
            for split in ("train", "test"):
                truth, part = full[vibe["name"]]["separability"][split], vibe["cascade"][split]
                low, high = part["rows_ci95"]
                self.assertTrue(low <= truth <= high, (vibe["name"], split, truth, part))
                self.assertTrue(low <= vibe["separability"][split] <= high)
                if vibe["name"] == "V1":  # errors pull the mean row score toward 0
                    self.assertLess(part["uncorrected"], truth - 0.03)
        plain = self.results("l")
        self.assertNotIn("cascade", plain)
        self.assertNotIn("cascade", plain["vibes"][0])

    def accounting_file(self, run):
        return json.loads((self.dir / "runs" / run / "accounting.json").read_text())

    def plan(self, name):
        return json.loads(self.vibeq("plan", name, "--json").stdout)

    def test_the_plan_has_an_interval_and_then_the_truth(self):
        self.write("cascade.yaml", self.server.url)
        calls = {(line["stage"], line["judge"]): line["calls"] for line in self.lines(self.plan("cascade.yaml"))}
        self.assertEqual(set(calls), {("rank", "small"), ("rank, second judge", "large")})
        second = calls["rank, second judge", "large"]
        self.assertTrue(0 < second["least"] < second["expected"] < second["most"], second)
        self.assertEqual(second["most"], 2 * ROWS * len(AXES))
        self.vibeq("run", "cascade.yaml", "--name", "c", "--quiet")
        sent = self.results("c")["cascade"]["calls"]["second"]
        self.assertTrue(second["least"] <= sent <= second["most"])
        lines = self.lines(self.plan("cascade.yaml"))  # all of it is stored by now
        self.assertEqual([line["calls"]["most"] for line in lines], [0, 0])
        self.assertEqual([line["from_store"] for line in lines], [2 * ROWS * len(AXES), sent])
        asked = self.asked()
        self.vibeq("run", "cascade.yaml", "--name", "again", "--quiet")
        self.assertEqual(self.asked(), asked)  # nothing is bought twice

    @staticmethod
    def lines(plan):
        return [{**line, "stage": stage["name"], "judge": line["name"]} for stage in plan["stages"] for line in stage["judges"]]

    def test_a_margin_escalates_by_log_probabilities(self):
        proxy = Between(self.server.url)
        self.servers.append(proxy)
        self.write("cascade.yaml", proxy.url, cascade="{first: small, audit: 0.2, escalate: {margin: 0.8, disagree: off}}")
        self.vibeq("run", "cascade.yaml", "--name", "m", "--quiet")
        of = self.results("m")["cascade"]
        # the offline judge gives 0.78 to A or B and 0.08 to the others, so that each such answer is below 0.8
        self.assertEqual((of["reasons"]["margin"], of["margin_unknown"], of["reasons"]["audit_alone"]), (ROWS * len(AXES), 0, 0))
        bodies = [json.loads(body) for body in proxy.asked]
        self.assertEqual({body["model"]: body.get("logprobs", False) for body in bodies}, {"small": True, "large": False})
        asked = self.asked()
        self.write("cascade.yaml", proxy.url, cascade="{first: small, audit: 0.2, escalate: {margin: 0.5, disagree: off}}")
        self.vibeq("run", "cascade.yaml", "--name", "n", "--quiet")
        self.assertEqual(self.asked(), asked)  # the stored probabilities decide
        of = self.results("n")["cascade"]
        self.assertEqual((of["reasons"]["margin"], of["cells"]["second"]), (0, of["reasons"]["audit"]))

    def test_a_run_that_continues_asks_the_same(self):
        self.write("cascade.yaml", self.server.url)
        self.vibeq("run", "cascade.yaml", "--name", "whole", "--runs", "runs-whole", "--quiet")
        slow = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "20ms", name="slow")
        self.write("cascade.yaml", slow.url, term_ms=2000)
        child = self.start("run", "cascade.yaml", "--name", "r", "--quiet")
        self.wait_for("the second judge", lambda: any(line["model"] == "large" for line in slow.requests()), 60)
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.vibeq("resume", "r", "--quiet", code=DONE)
        whole = json.loads((self.dir / "runs-whole/whole/results/results.json").read_text())
        resumed = self.results("r")
        for key in ("cascade", "vibes", "mm", "pp"):
            self.assertEqual(resumed[key], whole[key], key)

    def test_what_does_not_fit_is_refused(self):
        name = self.write("cascade.yaml", self.server.url, judging="{vibes_per_call: 3}")
        got = self.vibeq("run", name, code=USAGE)
        self.assertRegex(got.stderr, r"cascade\.yaml, line 11, column \d+, judging\.vibes_per_call: not with cascade")
        name = self.write("cascade.yaml", self.server.url, cascade="{first: smal}")
        self.assertRegex(self.vibeq("plan", name, code=USAGE).stderr, r"line 10, column 11, cascade\.first: .*did you mean \"small\"")
        self.assertEqual(self.asked(), {})


if __name__ == "__main__":
    vqtest.main()
