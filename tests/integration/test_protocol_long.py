# labels: long
"""Rules of the protocol whose showing takes its time: waits of seconds that are part of the rule."""
import collections
import ctypes.util
import os
import signal
import subprocess
import sys
import time

import vqtest
from vqtest import DONE, MISSING, Case, planted

AXES = ("V1", "V2", "V3")
SAMPLES = 30

# Opens the store as vibeq does and stands inside a write transaction until it is killed.
HOLDER = """
import ctypes, sys, time
lmdb = ctypes.CDLL(sys.argv[1])
lmdb.mdb_env_set_mapsize.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
env, txn = ctypes.c_void_p(), ctypes.c_void_p()
NOSUBDIR = 0x4000
assert lmdb.mdb_env_create(ctypes.byref(env)) == 0
assert lmdb.mdb_env_set_mapsize(env, 4 << 30) == 0
assert lmdb.mdb_env_open(env, sys.argv[2].encode(), NOSUBDIR, 0o600) == 0
assert lmdb.mdb_txn_begin(env, None, 0, ctypes.byref(txn)) == 0
print("held", flush=True)
time.sleep(600)
"""


class Long(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, SAMPLES, AXES)

    def slow(self, *options, **config):
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms", *options)
        config.setdefault("term_ms", 2000)
        config.setdefault("judge", {"concurrency": 8})
        return self.config(AXES, url=self.server.url, **config)

    def begin(self, *words, answers=60):
        child = self.start("run", "config.yaml", "--name", "r", *words)
        self.wait_for("some answers", lambda: child.poll() is not None or len(self.server.answers()) >= answers)
        self.assertIsNone(child.poll(), f"the run was over before it could be disturbed\n{self.logs()}")
        return child

    def said(self):
        return (self.dir / "start.out").read_text(errors="replace")

    def hold_the_store(self):
        library = ctypes.util.find_library("lmdb")
        if library is None:
            self.skipTest("no liblmdb that ctypes can find")
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, library, str(self.dir / "runs" / "calls.lmdb")],
                                  stdout=subprocess.PIPE, text=True)
        self.children.append(holder)
        self.assertEqual(holder.stdout.readline(), "held\n")
        return holder

    def test_17_a_process_that_stands_inside_a_write_is_named(self):
        self.slow()
        child = self.begin(answers=30)
        holder = self.hold_the_store()
        self.wait_for("the lock to be named", lambda: "calls.lmdb-lock" in self.said(), 30)
        self.assertIsNone(child.poll(), "the run waits")
        holder.kill()
        holder.wait()
        self.wait_exit(child, DONE)
        self.assertEqual(self.results("r")["cells_missing"], 0)

    def test_17_also_when_it_stands_there_from_the_start(self):
        self.config(AXES)
        self.vibeq("run", "config.yaml", "--name", "first", "--quiet")
        holder = self.hold_the_store()
        child = self.start("run", "config.yaml", "--name", "r")
        self.wait_for("the lock to be named", lambda: "calls.lmdb-lock" in self.said(), 30)
        holder.kill()
        holder.wait()
        self.wait_exit(child, DONE)

    def test_20_a_redis_that_stands_still_since_its_coordinator_was_killed(self):
        self.slow()
        child = self.begin("--quiet")
        redis = [p for p in self.processes_of("redis-server") if self.cwd(p).startswith(str(self.dir))]
        self.assertEqual(len(redis), 1)
        os.kill(redis[0], signal.SIGSTOP)
        child.kill()
        child.wait()
        self.vibeq("resume", "r", "--quiet")
        self.assertEqual([p for p in redis if os.path.exists(f"/proc/{p}")], [], "the old one is gone")

    @staticmethod
    def cwd(pid):
        try:
            return os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return ""

    def test_21_resume_of_a_finished_run_collects_what_came_late(self):
        """A worker that stands still through the end of the run, and is killed then, has calls and answers in its spool."""
        self.slow(term_ms=1000)
        child = self.begin("--quiet")
        frozen = self.workers()[0]
        os.kill(frozen, signal.SIGSTOP)
        self.wait_exit(child, DONE)
        before = self.results_bytes("r")
        self.wait_for("the end of the frozen worker", lambda: frozen not in self.workers())
        sent = len(self.server.requests())
        self.assertLess(self.accounting("r")["sent"], sent, "what is out at the frozen worker is not in yet")
        self.vibeq("resume", "r", "--quiet")
        self.assertEqual(self.results_bytes("r"), before)
        self.assertEqual(len(self.server.requests()), sent, "nothing was asked")
        calls = self.accounting("r")
        self.assertEqual((calls["sent"], calls["still_out"]), (sent, 0))
        repeats = sum(n - 1 for n in collections.Counter(x["hash"] for x in self.server.requests()).values())
        self.assertEqual(calls["unknown"] + calls["paid_unused"], repeats)


class Deadly(Case):
    def test_06_a_task_that_always_loses_its_worker_fails_alone(self):
        """The server never answers one sample; whoever asked about it is killed."""
        planted(self.dir, 3, ("V1",))
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--fault", "hang_before_headers=1,contains=[S2]")
        self.config(("V1",), judges=1, url=server.url, term_ms=300, judge={"concurrency": 1})
        child = self.start("run", "config.yaml", "--name", "r", "--quiet", "--workers", "1")
        killed, seen = 0, 0
        deadline = time.monotonic() + 120
        while child.poll() is None and time.monotonic() < deadline:
            hung = sum(1 for x in server.log() if x.get("fault") == "hang_before_headers")
            if hung > seen:
                seen = hung
                killed += self.kill_workers()
            time.sleep(0.02)
        self.wait_exit(child, MISSING, 1)
        self.assertGreaterEqual(killed, 4, "three leases and then task by task")
        self.assertLessEqual(killed, 10)
        r = self.results("r")
        self.assertEqual(r["cells_missing"], 1, "the other samples have their scores")
        export = (self.dir / "runs/r/results/scores.csv").read_text()
        self.assertIn("worker_lost", export.replace(" ", "_"))
        sent, calls = len(server.requests()), self.accounting("r")
        self.assertEqual(calls["sent"], sent)
        self.assertEqual(calls["unknown"], killed)


if __name__ == "__main__":
    vqtest.main()
