# labels: slow
"""A worker with a certificate that lies: it is a real worker, whose judge says the opposite of the truth, and beside it one that forges
results of tasks that it never leased (tests/tools/rogue.c). `vibeq ctl RUN distrust` refuses it and throws away what it delivered; the
questions are asked again, in the same process or by a resume, and the results are those of a run without it."""
import json
import os
import re
import socket
import subprocess

import vqtest
from vqtest import BIN, DONE, STOPPED, USAGE, Case, planted

TOOLS = vqtest.Path(os.environ.get("VQ_BUILD_DIR", BIN.parent)) / "tests"
AXES = ("V1", "V2", "V3")
JUDGE = {"concurrency": 4, "price_input_usd": 1000, "price_output_usd": 1000}


class Distrust(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 40, AXES)
        lies = [json.loads(line) for line in (self.dir / "truth.jsonl").read_text().splitlines()]
        (self.dir / "lies.jsonl").write_text("".join(json.dumps({**line, "score": -line["score"]}) + "\n" for line in lies))
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms")
        self.liar = self.offline("--oracle", self.dir / "lies.jsonl", "--latency", "uniform:20ms:60ms", name="liar")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.vibeq("cert", "new", "certs", "--workers", "red,blue", "--advertise", f"127.0.0.1:{self.port}")
        self.config(AXES, judges=1, url=self.server.url, term_ms=1000, judge=JUDGE)

    def begin(self, verb="run", what="config.yaml", *words):
        child = self.start(verb, what, "--quiet", "--workers", "0", "--cert", "certs", "--listen", f"127.0.0.1:{self.port}", *words)
        self.wait_for("the endpoint", (self.dir / "runs/r/endpoint.json").exists)
        return child

    def far(self, name, cert, lies=False):
        ports = [re.search(r":(\d+)", server.url.split("//")[1]).group(1) for server in (self.server, self.liar)]
        env = {"LD_PRELOAD": str(TOOLS / "libvq-redirect.so"), "VIBEQ_REDIRECT": ":".join(ports)} if lies else {}
        with open(self.dir / f"{name}.err", "ab") as err:
            child = subprocess.Popen([str(BIN / "vibeq-worker"), "--join", str(self.dir / f"certs/{cert}.cert"), "--name", name, "--no-spool"],
                                     cwd=self.dir, env=self.environment(**env), stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        self.children.append(child)
        return child

    def lied(self, least=20):
        """A real worker of the certificate red has delivered lies."""
        red = self.far("honest-1", "red", lies=True)
        self.wait_for("lies", lambda: len(self.liar.answers()) >= least)
        return red

    def calm(self):
        server = self.offline("--oracle", self.dir / "truth.jsonl", name="calm")
        self.config(AXES, judges=1, url=server.url, name="calm.yaml", term_ms=1000, judge=JUDGE)
        self.vibeq("run", "calm.yaml", "--name", "r", "--quiet", "--runs", self.dir / "calm-runs")
        return (self.dir / "calm-runs/r/results/results.json").read_bytes()

    def thrown(self, said):
        found = re.search(r"Thrown away: (\d+) answers? \(([^)]*)\)", said)
        self.assertIsNotNone(found, said)
        return int(found.group(1)), found.group(2)

    def billed(self):
        return json.loads((self.dir / "runs/r/accounting.json").read_text())["workers"]

    def is_mended(self, red_calls):
        self.assertEqual(self.results_bytes("r"), self.calm())
        calls = self.accounting("r")
        workers = self.billed()
        self.assertGreaterEqual(calls["sent"], len(self.server.requests()) + workers["red:honest-1"]["sent"], "the bill keeps what was spent")
        self.assertGreaterEqual(workers["red:honest-1"]["answered"], red_calls)
        self.assertEqual(workers["red:honest-1"]["paid_unused"], workers["red:honest-1"]["answered"], "no answer of it counts")
        self.assertGreater(workers["red:honest-1"]["tokens_in"], 0)
        self.vibeq("verify", "r")
        self.vibeq("store", "check")

    def test_while_the_run_is_active(self):
        child = self.begin("run", "config.yaml", "--name", "r")
        red = self.lied()
        names = {w["name"] for w in self.status("r")["workers"]}
        self.assertEqual(names, {"red:honest-1"}, "a worker cannot choose the name of its certificate")
        rogue = subprocess.run([str(TOOLS / "vq-rogue"), str(self.dir / "certs/red.cert"), str(2 * len(AXES)), "forge"],
                               capture_output=True, text=True, timeout=100)
        self.assertEqual(rogue.returncode, 0, rogue.stderr)
        self.assertGreaterEqual(json.loads(rogue.stdout)["acks"], 100, "what it forged is recorded")
        blue = self.far("blue", "blue")
        self.wait_for("an honest answer", lambda: len(self.server.answers()) >= 5)
        for words, says in ((("nobody",), "no worker and no certificate of this run has the name 'nobody'"),
                            (("local-0",), "local-0 is a local worker"), (("join",), "share one key"), (("x" * 65,), "1 to 64 bytes")):
            self.assertIn(says, self.vibeq("ctl", "r", "distrust", *words, code=USAGE).stderr)
        said = self.vibeq("ctl", "r", "distrust", "red").stdout
        count, stages = self.thrown(said)
        self.assertGreaterEqual(count, 20)
        self.assertIn("of rank", stages)
        self.assertRegex(said, r"Its [\d,]+ calls cost \$[\d.,]+, which stays on the bill")
        self.wait_exit_of(red, 1)
        self.assertIn("this run distrusts this worker", (self.dir / "honest-1.err").read_text())
        again = self.far("other", "red")
        self.wait_exit_of(again, 1)
        self.wait_exit(child, DONE)
        self.assertEqual(len(self.log_of("worker.distrusted")), 1)
        self.assertIn("red:rogue", self.billed())
        self.is_mended(20)
        self.assertEqual(blue.wait(20), 0, "it served the run before and after")

    def wait_exit_of(self, worker, code):
        self.assertEqual(worker.wait(30), code)

    def test_of_a_run_that_has_ended(self):
        child = self.begin("run", "config.yaml", "--name", "r")
        red = self.lied()
        self.wait_exit(child, DONE)
        self.assertEqual(red.wait(20), 0)
        bad = self.results_bytes("r")
        self.assertIn("no worker 'nobody' delivered anything to this run", self.vibeq("ctl", "r", "distrust", "nobody", code=USAGE).stderr)
        said = self.vibeq("ctl", "r", "distrust", "red").stdout
        count, stages = self.thrown(said)
        self.assertEqual(count, len(self.liar.answers()))
        self.assertIn("of rank", stages)
        self.assertIn("`vibeq resume r` asks all of this again", said)
        self.assertEqual(self.results_bytes("r"), bad, "until it is resumed")
        self.assertEqual(self.thrown_again(), 0, "again it finds nothing")
        child = self.start("run", "config.yaml", "--name", "r", "--or-resume", "--quiet", "--workers", "1")
        self.wait_exit(child, DONE)
        self.assertEqual(len(self.server.requests()), count)
        self.is_mended(count)

    def thrown_again(self):
        return int(re.search(r"Thrown away: (\d+) answers?", self.vibeq("ctl", "r", "distrust", "red").stdout).group(1))

    def test_a_kill_after_the_command(self):
        child = self.begin("run", "config.yaml", "--name", "r")
        self.lied()
        self.vibeq("ctl", "r", "distrust", "red")
        self.kill_all(child)
        child = self.begin("resume", "r")
        self.far("blue", "blue")
        self.wait_exit(child, DONE)
        self.is_mended(20)


if __name__ == "__main__":
    vqtest.main()
