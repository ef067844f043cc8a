"""Whole runs through the batch APIs that vibeq-offline plays: the scores of single calls, nothing bought twice, half the price, kills."""
import csv
import json
import os
import random
import re
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
    known = {}

    def setUp(self):
        super().setUp()
        self.is_large = False
        self.data(False)

    def data(self, is_large):
        """Large: a batch of all calls has more than the 15 MB that go inline to gemini."""
        with open(ROOT / "examples" / "friendly-vs-terse.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))[:8 if is_large else None]
        for row in rows if is_large else []:
            for model in ("friendly", "terse"):
                row[model] += "\n" + "lorem ipsum dolor sit amet " * 2200
        with open(self.dir / "data.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, rows[0].keys())
            table.writeheader()
            table.writerows(rows)
        self.is_large = is_large
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
        if self.is_large not in Batches.known:
            name = f"plain-{self.is_large}"
            self.write(name, self.serve(name), "openai", None)
            self.vibeq("run", f"{name}.yaml", "--name", name, "--quiet", "--yes")
            Batches.known[self.is_large] = self.scores(name)
            (self.dir / "runs" / "calls.lmdb").unlink()
        return Batches.known[self.is_large]

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

    def uploads(self, server):
        """(bytes, status) of the files that were sent to gemini."""
        calls = [line for line in server.log() if line["event"] == "batch_call" and line["path"] == "/upload/v1beta/files"]
        return [(line["bytes"], line["status"]) for line in calls if line["bytes"] > 1e6]  # the others open an upload

    def test_gemini_by_file(self):
        """A large batch is uploaded, twice if the server does not know the first upload any more. Lines that are lost or damaged in the
        file of results are asked again, and no other ones."""
        server = self.serve("file", "--batch", "duration=300ms,reorder=on,damaged=0.03,missing=0.03,torn=0.03,duplicate=0.03,foreign=0.03",
                            "--fault", "no_model=1,batch_call=POST /upload/v1beta/files,nth=2")
        self.data(True)
        self.write("file", server, "gemini", QUICK, "workers: 1")
        self.vibeq("run", "file.yaml", "--name", "file", "--quiet", "--yes")
        self.assertEqual([(n > 15e6, status) for n, status in self.uploads(server)], [(True, 404), (True, 200)])
        lost = {line["hash"] for line in paid_lines(server.log()) if line["fault"] in ("damaged", "missing", "torn")}
        self.assertGreater(len(lost), 0)
        self.assertEqual(bought_twice(server.log()), sorted(lost))
        self.assertEqual(self.scores("file"), self.plain())
        calls = [(line["method"], line["path"]) for line in server.log() if line["event"] == "batch_call"]
        self.assertEqual(sum(method == "DELETE" and path.startswith("/v1beta/files/") for method, path in calls), 1)
        self.assertTrue(any(path.startswith("/download/v1beta/files/") for _, path in calls))

    def test_gemini_by_file_killed(self):
        """Killed with a file and no batch: it is uploaded again. Killed with a batch: its results are collected."""
        server = self.serve("killed", "--batch", "duration=3s", "--fault", "overloaded=1,batch_call=batchGenerateContent,count=1")
        self.data(True)
        self.write("killed", server, "gemini", QUICK, "workers: 1")
        run = self.start("run", "killed.yaml", "--name", "killed", "--quiet", "--yes")
        self.wait_for("a file", lambda: len(self.uploads(server)) == 1)
        self.kill_all(run)
        self.assertEqual([line for line in server.log() if line["event"] == "batch"], [])
        run = self.start("resume", "killed", "--quiet")
        self.wait_for("a batch", lambda: any(line["event"] == "batch" for line in server.log()))
        self.kill_all(run)
        self.vibeq("resume", "killed", "--quiet")
        self.check("killed", server)
        self.assertEqual(len(self.uploads(server)), 2)

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
        self.assertIn(f"rogue reports on batch {batch}, which another worker owns: ignored", log)
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
        cancelled = lambda: self.status("cancel")["calls"]["cancelled"]
        self.wait_for("all calls of the first one", lambda: cancelled() > 100 and cancelled() == self.settle(cancelled))
        count = cancelled()
        self.assertEqual(sum(n for end, n in self.status("cancel")["calls"].items() if end not in ("ended", "cancelled")), 0)
        said = self.vibeq("status", "cancel").stdout
        self.assertIn(f"cancelled with their batches, without cost: {count} calls", said)
        self.assertNotIn("calls without an answer", said)
        run.send_signal(signal.SIGINT)
        self.wait_exit(run, 4)
        calls = json.loads((self.dir / "runs" / "cancel" / "accounting.json").read_text())["calls"]
        self.assertEqual((calls["cancelled"], sum(calls["failed"].values())), (count, 0))
        self.assertEqual(calls["not_sent"], count)
        self.vibeq("verify", "cancel")

    def killed_at_a_point(self):
        """A worker kills itself at VQ_BATCH_POINT: tests/chaos/points, whose programs have such points."""
        server = self.serve("point", "--batch", "duration=1s")
        by_file = "open" in os.environ["VQ_BATCH_POINT"]  # only an upload to gemini is opened
        self.data(by_file)
        self.write("point", server, "gemini" if by_file else "openai", QUICK, "workers: 2")
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
                dialect = chance.choice([*ENDS, "gemini by file"])
                self.data(dialect not in ENDS)
                self.round(chance, f"round-{n}", dialect)

    def round(self, chance, name, dialect):
        (self.dir / "runs" / "calls.lmdb").unlink(missing_ok=True)
        server = self.serve(name, "--batch", "duration=400ms,reorder=on,errored=0.02,duplicate=0.02")
        most = 40 if dialect in ENDS else 1000
        self.write(name, server, dialect.split()[0], f"batch: {{wait_s: 1, poll_s: 1, max_requests: {most}}}", "workers: 2")
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
