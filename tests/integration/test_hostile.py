# labels: slow
"""A worker with an approved key that keeps no rule, beside good ones: what it says is refused, counted and seen, and the run ends in the same
results as without it. It is tests/tools/rogue.c."""
import collections
import json
import os
import subprocess
import urllib.request

import vqtest
from vqtest import BIN, DONE, Case, planted

ROGUE = vqtest.Path(os.environ.get("VQ_BUILD_DIR", BIN.parent)) / "tests" / "vq-rogue"
AXES = ("V1", "V2", "V3")


class Hostile(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 70, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:100ms:300ms")
        self.config(AXES, judges=1, url=self.server.url, term_ms=1000, judge={"concurrency": 4})

    def begin(self):
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.wait_for("answers", lambda: child.poll() is not None or len(self.server.answers()) >= 10)
        self.assertIsNone(child.poll(), self.logs())
        return child

    def rogue(self, *words):
        run = subprocess.run([str(ROGUE), str(self.dir / "runs/r/join.cert"), str(2 * len(AXES)), *words], capture_output=True, text=True,
                             timeout=100)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def metrics(self):
        address = json.loads((self.dir / "runs/r/endpoint.json").read_text())["address"]
        text = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address + "/metrics", timeout=10).read().decode()
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def calm(self):
        """The same without it, from another store: nobody else's answers."""
        runs = self.dir / "calm-runs"
        server = self.offline("--oracle", self.dir / "truth.jsonl", name="calm")
        self.config(AXES, judges=1, url=server.url, name="calm.yaml", term_ms=1000)
        self.vibeq("run", "calm.yaml", "--name", "r", "--quiet", "--runs", runs)
        return (runs / "r/results/results.json").read_bytes()

    def test_a_worker_that_keeps_no_rule(self):
        child = self.begin()
        said = self.rogue()
        self.assertTrue(said["welcome"])
        self.assertEqual(said["dropped"], 0)
        self.assertEqual(said["heartbeats"], 100000)
        self.vibeq("ctl", "r", "pause")  # so that the run is there until all of it was heard
        self.wait_for("its last word, behind all that it had said before",
                      lambda: self.status("r")["refused_messages"]["broken"] > 0, 20)
        status, metrics = self.status("r"), self.metrics()
        self.vibeq("ctl", "r", "resume")
        self.assertIsNone(child.poll(), "it was there to the end of it")
        refused = status["refused_messages"]
        self.assertEqual(refused["other_session"], 4 * 50)
        self.assertGreaterEqual(refused["no_session"], 50)
        self.assertEqual(refused["unreadable"], 100)
        self.assertEqual(refused["broken"], 1, "and nothing of it is heard after that")
        odd = status["odd_results"]
        self.assertGreaterEqual(odd["repeated"], 4 * 100)
        self.assertEqual(odd["foreign"], 90, "the ten of another stage are nobody's fault")
        self.assertEqual(float(metrics['vibeq_messages_refused_total{run="r",why="other_session"}']), 200)
        self.assertEqual(float(metrics['vibeq_results_odd_total{run="r",what="foreign"}']), 90)
        self.assertGreaterEqual(said["acks"], 100, "each of its results was recorded")
        log = (self.dir / "runs/r/log").read_text()
        self.assertIn("answer.foreign", log)
        self.assertIn("rogue broke the protocol", log)
        self.wait_exit(child, DONE)
        self.assertEqual(self.results_bytes("r"), self.calm())
        counts = collections.Counter(x["hash"] for x in self.server.requests())
        self.assertEqual(max(counts.values()), 1, "nothing was bought twice for it")
        calls = self.accounting("r")
        self.assertEqual(calls["sent"], len(self.server.requests()) + 100 + calls["unknown"])
        self.assertEqual(calls["foreign"], 90)
        self.assertEqual(calls["unknown"], 20, "the calls that it claimed and never returned")
        for path in (self.dir / "runs/r/results").iterdir():
            self.assertNotIn(b"canary", path.read_bytes(), path)

    def lies(self, what, says):
        """It says one thing that cannot be: that is refused, counted and logged, its session ends, and nothing of it counts."""
        child = self.begin()
        said = self.rogue(what)
        self.assertGreaterEqual(said["byes"], 1, "it is told, and its session ends")
        self.assertEqual(said["acks"], 0)
        self.assertIsNone(child.poll(), self.logs())
        self.assertEqual(self.status("r")["refused_messages"]["broken"], 1)
        log = (self.dir / "runs/r/log").read_text()
        self.assertIn("rogue broke the protocol", log)
        self.assertIn(says, log)
        with open(f"/proc/{child.pid}/status") as text:
            peak_kb = next(int(line.split()[1]) for line in text if line.startswith("VmHWM"))
        self.assertLess(peak_kb, 400 * 1024)
        self.wait_exit(child, DONE)
        calls = self.accounting("r")
        self.assertEqual((calls["sent"], calls["unknown"]), (len(self.server.requests()), 0))
        self.assertNotIn("46116860", (self.dir / "runs/r/accounting.json").read_text())

    def test_a_cost_that_cannot_be(self):
        self.lies("cost", "a call that cost $4611686018")

    def test_amounts_that_cannot_be(self):
        self.lies("spent", "these amounts cannot be")

    def test_a_park_that_cannot_be(self):
        self.lies("park", "a time at which a quota begins again that cannot be")

    def test_more_calls_than_a_worker_can_have(self):
        self.lies("list", "too many calls of one worker")

    def test_a_key_that_nobody_approved(self):
        """Nothing of it comes in, and that it knocked is seen: status, metrics, log."""
        child = self.begin()
        said = self.rogue("stranger")
        self.assertFalse(said["welcome"])
        self.assertEqual((said["acks"], said["byes"], said["echoes"]), (0, 0, 0))
        status = self.status("r")
        self.assertEqual(sum(status["refused_messages"].values()), 0, "not one message of it came in")
        self.assertNotIn("rogue", json.dumps(status))
        self.assertGreaterEqual(status["peers_refused"], 1)
        self.assertGreaterEqual(float(self.metrics()['vibeq_peers_refused_total{run="r"}']), status["peers_refused"])
        self.assertGreaterEqual(float(self.metrics()['vibeq_frames_dropped_total{run="r"}']), status["frames_dropped"])
        told = [line for line in (self.dir / "runs/r/log").read_text().splitlines() if "peers.refused" in line]
        self.assertGreaterEqual(len(told), 1)
        self.assertIn("a key that is not approved", told[0])
        self.assertLessEqual(len(told), status["peers_refused"], "it is told how many, not each")
        self.wait_exit(child, DONE)


if __name__ == "__main__":
    vqtest.main()
