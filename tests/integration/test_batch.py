"""Whole runs through the batch APIs that vibeq-offline plays: the scores of single calls, nothing bought twice, half the price, kills."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from batching import bought_twice, paid_lines
from vqtest import BIN, ROOT, STOPPED, Case

ENDS = {"openai": "/v1", "azure": "/openai/v1", "anthropic": "/v1", "gemini": "/v1beta"}
BUILD = Path(os.environ.get("VQ_BUILD_DIR", BIN.parent))
QUICK = "batch: {wait_s: 1, poll_s: 1}"


class Batches(Case):
    known = None

    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "examples" / "friendly-vs-terse.csv", self.dir / "data.csv")
        self.plain()

    def environment(self, **more):
        return super().environment(VIBEQ_BATCH_SETTLE_MS="2000", **more)

    def write(self, name, server, dialect, batch, more="", method="preset", lazy=False):
        url = server.url.removesuffix("/v1") + ENDS[dialect]
        model = "{model: judge-1, price_input_usd: 2, price_output_usd: 8"
        entries = ([f"{model}, {batch}}}"] if batch else []) + ([f"{model}, concurrency: 8}}"] if lazy or not batch else [])
        (self.dir / f"{name}.yaml").write_text("\n".join([
            f"data: {{path: data.csv, prompt: question, preference: preference, near_duplicate: 0, limit: {48 if lazy else 8}}}",
            "models: [friendly, terse]", f"method: {method}", "judges: [{model: judge-1, identity: one}]",
            f"judging: {{lazy_swap: {str(lazy).lower()}, prefix_cache: off}}", "term_ms: 2000", more, "pools:",
            f"  - {{name: p, dialect: {dialect}, base_url: '{url}', models: [{', '.join(entries)}]}}", ""]))

    def serve(self, name, *options):
        return self.offline("--model", "judge-1", *options, name=name)

    def scores(self, run):
        return (self.dir / "runs" / run / "results" / "scores.csv").read_bytes()

    def plain(self):
        """The scores of the same run by single calls, made once, on a store of its own."""
        if Batches.known is None:
            self.write("plain", self.serve("plain"), "openai", None)
            self.vibeq("run", "plain.yaml", "--name", "plain", "--quiet", "--yes")
            Batches.known = self.scores("plain")
            (self.dir / "runs" / "calls.lmdb").unlink()
        return Batches.known

    def usd(self, run):
        return json.loads((self.dir / "runs" / run / "accounting.json").read_text())["cost_usd"]

    def check(self, run, server):
        """Each question was carried out once, the results are those of single calls, and what was paid is half the price."""
        paid = paid_lines(server.log())
        self.assertGreater(len(paid), 100)
        self.assertEqual(bought_twice(server.log()), [], "a question was bought twice")
        self.assertEqual(self.scores(run), self.plain())
        usd = sum(2 * line["prompt_tokens"] + 8 * line["completion_tokens"] for line in paid) / 1e6 / 2
        self.assertAlmostEqual(self.usd(run), usd, places=7)
        self.vibeq("verify", run)

    def test_each_dialect(self):
        for dialect in ENDS:
            with self.subTest(dialect):
                server = self.serve(f"s-{dialect}", "--batch", "duration=300ms,reorder=on")
                self.write(dialect, server, dialect, QUICK)
                self.vibeq("run", f"{dialect}.yaml", "--name", dialect, "--quiet", "--yes")
                self.check(dialect, server)
                (self.dir / "runs" / "calls.lmdb").unlink()

    def discovered(self, run, server, batch):
        """The accounting of a run with several stages under lazy swap."""
        self.write(run, server, "openai", batch, method="discover", lazy=True,
                   more="vibecheck: {d: 10, iterations: 1}")
        self.vibeq("run", f"{run}.yaml", "--name", run, "--quiet", "--yes")
        self.vibeq("verify", run)
        (self.dir / "runs" / "calls.lmdb").unlink()
        return json.loads((self.dir / "runs" / run / "accounting.json").read_text())["calls"]

    def test_second_orders_wait_when_many_first_ones_settle(self):
        """The first stage asks both orders in one batch; from then on the share that settles is known, and they go into two."""
        alone = self.discovered("alone", self.serve("sa"), None)
        server = self.serve("sb", "--batch", "duration=300ms")
        batched = self.discovered("batched", server, QUICK)
        self.assertEqual(self.scores("batched"), self.scores("alone"))
        log = [json.loads(line) for line in (self.dir / "runs" / "batched" / "log").read_text().splitlines()]
        waits = [line["wait"] for line in log if line["event"] == "stage.second_orders"]
        self.assertEqual(waits, [0] + [1] * (len(waits) - 1))
        self.assertGreater(len(waits), 1)
        self.assertGreater(batched["saved_by_lazy_swap"], 0)
        self.assertLess(batched["saved_by_lazy_swap"], alone["saved_by_lazy_swap"])
        self.assertEqual(bought_twice(server.log()), [], "a question was bought twice")

    def test_the_first_stage_waits_too_if_the_store_shows_the_share(self):
        """Another run of the folder asked the judge other questions; the plan expects what the run then does."""
        server = self.serve("sc", "--batch", "duration=300ms")
        self.write("one", server, "openai", QUICK, lazy=True)
        self.vibeq("run", "one.yaml", "--name", "one", "--quiet", "--yes", "--set", "data.limit=20")
        self.write("two", server, "openai", QUICK, lazy=True)
        plan = json.loads(self.vibeq("plan", "two.yaml", "--json").stdout)
        self.vibeq("run", "two.yaml", "--name", "two", "--quiet", "--yes")
        waits = {}
        for run in ("one", "two"):
            log = [json.loads(line) for line in (self.dir / "runs" / run / "log").read_text().splitlines()]
            waits[run] = [(line["wait"], line["source"]) for line in log if line["event"] == "stage.second_orders"]
        self.assertEqual(waits, {"one": [(0, "run")], "two": [(1, "store")]})
        self.vibeq("verify", "two")
        calls = json.loads((self.dir / "runs" / "two" / "accounting.json").read_text())["calls"]
        self.assertGreater(calls["saved_by_lazy_swap"], 0)
        self.assertGreater(plan["as_batches"]["in_sequence"], 1)
        expected, sent = plan["as_batches"]["calls"], calls["sent"] - calls["repairs"]
        self.assertTrue(expected["least"] <= sent <= expected["most"], (expected, sent))
        self.assertEqual(bought_twice(server.log()), [], "a question was bought twice")

    def test_lines_that_fail_are_asked_again(self):
        server = self.serve("odd", "--batch", "duration=300ms,errored=0.1,expired=0.1")
        self.write("odd", server, "openai", QUICK)
        self.vibeq("run", "odd.yaml", "--name", "odd", "--quiet", "--yes")
        self.check("odd", server)

    def test_killed_and_resumed(self):
        server = self.serve("kill", "--batch", "duration=6s")
        self.write("kill", server, "openai", QUICK, "workers: 2")
        run = self.start("run", "kill.yaml", "--name", "kill", "--quiet", "--yes")
        self.wait_for("a batch", lambda: any(line["event"] == "batch" for line in server.log()))
        status = json.loads(self.vibeq("status", "kill", "--json").stdout)
        self.assertGreater(status["in_batches"], 0)
        self.assertIn("is at the provider as batch", self.vibeq("ctl", "kill", "batches").stdout)
        self.kill_all(run)
        self.vibeq("resume", "kill", "--quiet")
        self.check("kill", server)

    def test_a_worker_that_claims_the_batch_of_another(self):
        server = self.serve("claim", "--batch", "duration=4s")
        self.write("claim", server, "openai", QUICK)
        run = self.start("run", "claim.yaml", "--name", "claim", "--quiet", "--yes")
        self.wait_for("a batch", lambda: any(line["event"] == "batch" for line in server.log()))
        self.wait_for("its id", lambda: "is at the provider as batch" in self.vibeq("ctl", "claim", "batches").stdout)
        batch = re.search(r"vq-[0-9a-f]{16}-\d+", self.vibeq("ctl", "claim", "batches").stdout).group(0)
        rogue = subprocess.run([BUILD / "tests" / "vq-rogue", self.dir / "runs/claim/join.cert", "20", "batch", batch],
                               capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(json.loads(rogue.stdout)["acks"], 0)
        log = (self.dir / "runs/claim/log").read_text()
        self.assertIn(f"rogue reports on batch {batch}, which it does not look after: ignored", log)
        self.assertIn("rogue broke the protocol: a result that fits no task", log)
        self.assertNotIn("stolen", self.vibeq("ctl", "claim", "batches").stdout)
        self.kill_all(run)  # what is stored of the batch is not what the other one said, either
        self.vibeq("resume", "claim", "--quiet")
        self.check("claim", server)

    def test_an_account_without_money(self):
        """The pool is closed as after a single call: no second batch is tried, the run stops and says why, and a resume completes it."""
        for dialect, path in (("openai", "POST /v1/files"), ("gemini", "batchGenerateContent")):
            with self.subTest(dialect):
                name = f"poor-{dialect}"
                server = self.serve(name, "--fault", f"quota=1,batch_call={path},count=1")
                self.write(name, server, dialect, QUICK, "workers: 1")
                said = self.vibeq("run", f"{name}.yaml", "--name", name, "--quiet", "--yes", code=STOPPED).stderr
                self.assertIn("pool p", said)
                self.assertEqual([line["what"] for line in server.log() if line["event"] == "batch"], [])
                self.vibeq("resume", name, "--quiet")
                self.check(name, server)
                (self.dir / "runs" / "calls.lmdb").unlink()

    def test_a_limit_of_enqueued_tokens(self):
        """OpenAI fails such a batch after its creation, others refuse to create it: smaller ones follow, and no task uses up its attempts."""
        server = self.serve("limit", "--batch", "duration=300ms,tokens=50000")
        self.write("limit", server, "openai", QUICK, "workers: 1")
        self.vibeq("run", "limit.yaml", "--name", "limit", "--quiet", "--yes")
        self.assertIn("token_limit_exceeded", {line["problem"] for line in server.log() if line["event"] == "batch"})
        self.check("limit", server)

    def test_cancelled(self):
        server = self.serve("cancel", "--batch", "duration=600s")
        self.write("cancel", server, "openai", QUICK)
        run = self.start("run", "cancel.yaml", "--name", "cancel", "--quiet", "--yes")
        self.wait_for("a batch", lambda: any(line["event"] == "batch" for line in server.log()))
        self.assertIn("cancelled", self.vibeq("ctl", "cancel", "cancel", "all").stdout)
        self.wait_for("a second batch", lambda: sum(line["event"] == "batch" for line in server.log()) > 1)
        run.send_signal(signal.SIGINT)
        self.wait_exit(run, 4)

    def killed_at_a_point(self):
        """A worker kills itself at VQ_BATCH_POINT: tests/chaos/points, whose programs have such points."""
        server = self.serve("point", "--batch", "duration=1s")
        self.write("point", server, "openai", QUICK, "workers: 2")
        log = self.dir / "crash.log"
        run = self.start("run", "point.yaml", "--name", "point", "--quiet", "--yes",
                         env={"VIBEQ_CRASH_AT": os.environ["VQ_BATCH_POINT"] + ":1", "VIBEQ_CRASH_LOG": str(log)})
        self.wait_exit(run, 0)
        self.assertTrue(log.with_name("crash.log.died").exists(), "no worker came to this point")
        self.check("point", server)

    def test_killed_at_random(self):
        """Rounds of a run that is killed: its coordinator, a worker, both, or a worker whose machine is gone for good. VQ_BATCH_ROUNDS: which."""
        first, last = os.environ.get("VQ_BATCH_ROUNDS", "0..1").split("..")
        for n in range(int(first), int(last) + 1):
            chance = random.Random(n)
            with self.subTest(n):
                self.round(chance, f"round-{n}", chance.choice(list(ENDS)))

    def round(self, chance, name, dialect):
        (self.dir / "runs" / "calls.lmdb").unlink(missing_ok=True)
        server = self.serve(name, "--batch", "duration=400ms,reorder=on,errored=0.02,duplicate=0.02")
        self.write(name, server, dialect, "batch: {wait_s: 1, poll_s: 1, max_requests: 40}", "workers: 2")
        run = self.start("run", f"{name}.yaml", "--name", name, "--quiet", "--yes")
        for _ in range(chance.randint(1, 3)):
            time.sleep(chance.uniform(0.2, 3))
            workers = [pid for pid in self.workers() if name in Path(f"/proc/{pid}/cmdline").read_text()]
            victims = chance.choice(("coordinator", "worker", "both", "machine"))
            if victims in ("worker", "both", "machine") and workers:
                os.kill(chance.choice(workers), signal.SIGKILL)
            if victims == "machine":
                for spool in (self.dir / "runs" / name / "spool").glob("*/spool"):
                    if chance.random() < 0.5:
                        spool.unlink(missing_ok=True)
            if victims in ("coordinator", "both") and run.poll() is None and (self.dir / "runs" / name / "status.json").exists():
                run.kill()
                run.wait()
                run = self.start("resume", name, "--quiet")
        self.wait_exit(run, 0)
        self.check(name, server)
        server.stop()


if __name__ == "__main__":
    unittest.main()
