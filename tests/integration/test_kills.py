"""Real processes, really killed, half-way: the results are the same bytes, and the endpoint's own log shows that nothing was bought
twice but what was in flight at a killed worker, each such call listed as unknown."""
import collections
import os
import shutil
import signal
import time

import vqtest
from vqtest import DONE, STOPPED, Case, add_rates, planted

AXES = ("V1", "V2", "V3", "V4")
SAMPLES = 40
CONCURRENCY = 8


class Kills(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, SAMPLES, AXES)
        add_rates(self.dir, tie=0.2, error=0.1)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms")
        self.config(AXES, url=self.server.url, judge={"concurrency": CONCURRENCY}, term_ms=2000)

    def undisturbed(self):
        server = self.offline("--oracle", self.dir / "truth.jsonl", name="calm")
        self.config(AXES, url=server.url, name="calm.yaml", term_ms=2000)
        runs = self.dir / "calm-runs"
        self.vibeq("run", "calm.yaml", "--name", "r", "--quiet", "--runs", runs)
        return (runs / "r/results/results.json").read_bytes()

    def begin(self, *words):
        child = self.start("run", "config.yaml", "--name", "r", "--quiet", *words)
        self.half_way(child)
        return child

    def half_way(self, child, share=0.4):
        whole = SAMPLES * len(AXES) * 2 * 2
        self.wait_for("a good part of the answers",
                      lambda: child.poll() is not None or len(self.server.answers()) > share * whole * 0.7)
        self.assertIsNone(child.poll(), f"the run was over before it could be disturbed\n{self.logs()}")

    def repeats(self):
        """Prompts that were sent more often than once."""
        count = collections.Counter(x["hash"] for x in self.server.requests())
        return {h: n for h, n in count.items() if n > 1}

    def check(self, in_flight_max):
        self.assertEqual(self.results_bytes("r"), self.undisturbed())
        calls = self.accounting("r")
        repeats = sum(n - 1 for n in self.repeats().values())
        self.assertLessEqual(repeats, in_flight_max)
        self.assertLessEqual(repeats, calls["unknown"])
        # a worker may die between noting a send and sending: such a call is unknown too
        received = len(self.server.requests())
        self.assertGreaterEqual(calls["sent"], received, "every request is in the ledger")
        self.assertLessEqual(calls["sent"] - calls["unknown"], received)
        self.assertEqual(calls["planned"], calls["first_sends"] + calls["from_store"] + calls["saved_by_lazy_swap"])

    def test_nothing_killed_nothing_repeated(self):
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.wait_exit(child, DONE)
        self.check(0)
        self.assertEqual(self.accounting("r")["unknown"], 0)

    def test_a_signal_before_the_loop_stops_the_run(self):
        """Between the removal of its file `ended` and its loop, the run waits at its log: a FIFO without a reader."""
        child = self.begin()
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        log, ended = self.dir / "runs/r/log", self.dir / "runs/r/ended"
        for signum in (signal.SIGINT, signal.SIGTERM):
            log.unlink(missing_ok=True)
            os.mkfifo(log)
            ended.write_text("")
            child = self.start("resume", "r")
            self.wait_for("the start", lambda: child.poll() is not None or not ended.exists())
            child.send_signal(signum)
            reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
            log.unlink()
            self.wait_exit(child, STOPPED)
            os.close(reader)
            self.assertIn("stopped before anything was sent; vibeq resume r continues", self.logs())

    def test_a_worker_is_killed(self):
        child = self.begin()
        os.kill(self.workers()[0], signal.SIGKILL)
        self.wait_exit(child, DONE)
        self.check(CONCURRENCY * 2)

    def test_every_worker_is_killed(self):
        child = self.begin()
        self.kill_workers()
        self.wait_exit(child, DONE)
        self.check(CONCURRENCY * 2 * 2)

    def test_the_coordinator_is_killed_and_resumed(self):
        child = self.begin()
        child.kill()
        child.wait()
        self.assertTrue(self.workers(), "workers outlive the coordinator")
        self.assertEqual(self.status("r")["state"], "stopped")
        self.assertIn("r: not running since", self.vibeq("status", "r").stdout)
        self.vibeq("resume", "r", "--quiet")
        self.check(0)  # live workers brought back what they held

    def test_the_coordinator_and_a_worker_are_killed(self):
        child = self.begin()
        child.kill()
        child.wait()
        os.kill(self.workers()[0], signal.SIGKILL)
        self.vibeq("resume", "r", "--quiet")
        self.check(CONCURRENCY * 2)

    def test_everything_is_killed_and_resumed_later(self):
        child = self.begin()
        self.kill_all(child)
        time.sleep(0.5)
        self.vibeq("resume", "r", "--quiet")
        self.check(CONCURRENCY * 2 * 2)

    def test_redis_is_killed(self):
        child = self.begin()
        pids = [p for p in self.processes_of("unixsocket") + self.processes_of("redis-server") if self.is_ours(p)]
        self.assertTrue(pids, "there is a private Redis")
        for pid in set(pids):
            os.kill(pid, signal.SIGKILL)
        self.wait_exit(child, DONE)
        self.check(0)

    def test_redis_comes_late_at_a_resume(self):
        """Nobody is heard before Redis is up: the term that live workers have to say what they hold begins then."""
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.half_way(child, 1)
        slow = self.dir / "slow"
        slow.mkdir()
        real = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        (slow / "redis-server").write_text(f"#!/bin/bash\nsleep 3\nexec -a redis-server {real} \"$@\"\n")
        (slow / "redis-server").chmod(0o755)
        late = self.workers()[0]
        child.kill()
        child.wait()
        os.kill(late, signal.SIGSTOP)
        joined = self.joined()
        child = self.start("resume", "r", "--quiet", env={"PATH": f"{slow}:{os.environ['PATH']}"})
        self.wait_for("the other worker", lambda: self.joined() > joined)
        time.sleep(0.8)
        os.kill(late, signal.SIGCONT)
        self.wait_exit(child, DONE)
        self.check(0)

    def joined(self):
        return (self.dir / "runs/r/log").read_text().count(" joined (session ")

    def is_ours(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/cwd").startswith(str(self.dir))
        except OSError:
            return False

    def test_ctrl_c_drains_and_resume_goes_on(self):
        child = self.begin()
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        self.assertEqual(self.workers(), [])
        out = (self.dir / "start.out").read_text()
        self.assertIn("vibeq resume r", out)
        began = time.monotonic()
        self.vibeq("resume", "r", "--quiet")
        self.check(0)
        self.assertEqual(self.accounting("r")["unknown"], 0)
        del began

    def test_a_stopped_coordinator_goes_on(self):
        child = self.begin()
        child.send_signal(signal.SIGSTOP)
        time.sleep(5)  # two terms and more
        child.send_signal(signal.SIGCONT)
        self.wait_exit(child, DONE)
        self.check(0)

    def test_a_stopped_worker_loses_its_leases_and_no_answer(self):
        child = self.begin()
        pid = self.workers()[0]
        os.kill(pid, signal.SIGSTOP)
        time.sleep(5)
        os.kill(pid, signal.SIGCONT)
        self.wait_exit(child, DONE)
        self.assertEqual(self.results_bytes("r"), self.undisturbed())
        # what it had in flight when its term ran out was asked again elsewhere: paid, listed, bounded
        repeats = sum(n - 1 for n in self.repeats().values())
        self.assertLessEqual(repeats, CONCURRENCY * 2)

    def test_two_coordinators_on_one_run(self):
        child = self.begin()
        second = self.vibeq("resume", "r", "--quiet", code=2)
        self.assertIn("r", second.stderr)
        self.wait_exit(child, DONE)
        self.check(0)

    def test_killed_again_and_again(self):
        child = self.begin()
        for _ in range(3):
            child.kill()
            child.wait()
            child = self.start("resume", "r", "--quiet")
            before = self.settled("r")
            self.wait_for("progress after a resume",
                          lambda: child.poll() is not None or self.settled("r") > before + 20)
        self.wait_exit(child, DONE)
        self.check(0)


if __name__ == "__main__":
    vqtest.main()
