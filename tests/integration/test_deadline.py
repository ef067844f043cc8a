"""Runs with a deadline, whose judge has an interactive and a batch pool. The clock of the decisions is faster (VIBEQ_DEADLINE_SPEED)."""
import json
import re
import shutil
import signal
import time
import unittest

from vqtest import ROOT, Case

SPEED = 150


class Deadlines(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "examples" / "friendly-vs-terse.csv", self.dir / "data.csv")

    def environment(self, **more):
        return super().environment(VIBEQ_BATCH_SETTLE_MS="2000", VIBEQ_DEADLINE_SPEED=str(SPEED), **more)

    def write(self, server, *, batch=True, rpm=6000, more=""):
        model = "model: judge-1, price_input_usd: 2, price_output_usd: 8"
        entries = [f"{{{model}, concurrency: 64, requests_per_minute: {rpm}}}"]
        entries += [f"{{{model}, batch: {{wait_s: 1, poll_s: 1}}}}"] if batch else []
        (self.dir / "run.yaml").write_text("\n".join([
            "data: {path: data.csv, prompt: question, preference: preference, limit: 8}", "models: [friendly, terse]", "method: preset",
            "judges: [{model: judge-1, identity: one}]", "judging: {lazy_swap: false, prefix_cache: off}", "term_ms: 2000", more, "pools:",
            f"  - {{name: p, dialect: openai, base_url: '{server.url}', models: [{', '.join(entries)}]}}", ""]))

    @staticmethod
    def at(seconds):
        """A time of day with seconds, in UTC."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))

    def check(self, server):
        """How many questions were carried out in batches and by single calls: each one once, and paid as it should be."""
        lines = server.log()
        asked = {line["n"]: line["hash"] for line in lines if line["event"] == "request"}
        batched = [line for line in lines if line["event"] == "batch_line" and line["paid"]]
        single = [line for line in lines if line["event"] == "answer" and line["paid"]]
        questions = [line["hash"] for line in batched] + [asked[line["n"]] for line in single]
        self.assertGreater(len(questions), 100)
        self.assertEqual(len(questions), len(set(questions)), "a question was bought twice")
        usd = sum((2 * line["prompt_tokens"] + 8 * line["completion_tokens"]) / (2 if line in batched else 1) for line in batched + single) / 1e6
        calls = json.loads((self.dir / "runs" / "r" / "accounting.json").read_text())["calls"]
        self.assertEqual(sum(calls["failed"].values()), 0, "a call of a cancelled batch did not fail")
        self.assertAlmostEqual(json.loads((self.dir / "runs" / "r" / "accounting.json").read_text())["cost_usd"], usd, places=7)
        self.vibeq("verify", "r")
        return len(batched), len(single)

    def metrics(self):
        """The last values without a label but the run's."""
        text = (self.dir / "runs" / "r" / "metrics.prom").read_text()
        return {name: float(value) for name, value in re.findall(r'(?m)^vibeq_(\w+){run="r"} (\S+)$', text)}

    def late(self):
        return self.log_of("deadline.late") + self.log_of("deadline.passed")

    def begin(self, server, *words):
        """A run whose calls are all in batches at the provider."""
        run = self.start("run", "run.yaml", "--name", "r", "--quiet", "--yes", *words)
        self.wait_for("batches", lambda: sum(line["event"] == "batch" for line in server.log()) >= 4)
        return run

    def test_batches_that_end_soon_answer_all_at_half_price(self):
        server = self.offline("--model", "judge-1", "--batch", "duration=1s")
        self.write(server)
        self.vibeq("run", "run.yaml", "--name", "r", "--quiet", "--yes", "--deadline", self.at(300))
        batched, single = self.check(server)
        self.assertEqual(single, 0)
        times = (self.dir / "runs" / "batches.csv").read_text().splitlines()
        self.assertEqual(times[0], "ended_unix_s,dialect,model,calls,seconds,end")
        self.assertGreater(len(times), 4)  # several, since a batch is cancelled as a whole
        self.assertTrue(all(line.split(",")[1:3] == ["openai", "judge-1"] and line.endswith(",ended") for line in times[1:]), times)
        self.assertFalse(self.late() + self.log_of("deadline.cancel"))

    def test_batches_that_never_end_are_bought_in_time(self):
        """Also if the coordinator and its worker are killed between: a resume keeps the deadline."""
        server = self.offline("--model", "judge-1", "--batch", "duration=600s")
        self.write(server)
        run = self.begin(server, "--deadline", self.at(20))
        seen = self.status("r")["deadline"]
        self.assertEqual(seen["state"], "batches")
        self.assertLess(seen["batches_until_unix_ms"], seen["ends_unix_ms"])
        self.assertIn("batches have until", self.vibeq("status", "r").stdout)
        self.kill_all(run)
        self.vibeq("resume", "r", "--quiet")
        _, single = self.check(server)
        self.assertGreater(single, 100)
        self.assertFalse(self.late())
        self.assertGreaterEqual(len(self.log_of("deadline.cancel")), 4)
        self.assertGreater(json.loads((self.dir / "runs" / "r" / "accounting.json").read_text())["calls"]["cancelled"], 100)
        last = self.metrics()
        self.assertEqual(last["deadline_batches_cancelled_total"], len(self.log_of("deadline.cancel")))
        self.assertEqual(last["deadline_met"], 1)
        self.assertGreater(last["deadline_seconds"], last["deadline_end_seconds"])

    def test_a_deadline_that_has_passed(self):
        server = self.offline("--model", "judge-1", "--batch", "duration=600s")
        self.write(server)
        self.kill_all(self.begin(server, "--deadline", self.at(3000)))
        self.vibeq("resume", "r", "--quiet", "--deadline", self.at(-60))
        _, single = self.check(server)
        self.assertGreater(single, 100)
        self.assertEqual(len(self.late()), 1)

    def test_interactive_pools_alone_warn_early(self):
        server = self.offline("--model", "judge-1")
        self.write(server, batch=False, rpm=60)
        run = self.start("run", "run.yaml", "--name", "r", "--yes", "--deadline", self.at(60))
        self.wait_for("the warning", self.late)
        self.assertEqual(self.status("r")["deadline"]["state"], "late")
        self.assertIn("CANNOT BE MET", self.vibeq("status", "r").stdout)
        self.wait_for("the metrics", lambda: self.metrics().get("deadline_met") == 0)
        run.send_signal(signal.SIGINT)
        self.wait_exit(run, 4)
        self.assertIn("cannot be met: with calls at 1.0/s the run is over at about", (self.dir / "start.out").read_text())


if __name__ == "__main__":
    unittest.main()
