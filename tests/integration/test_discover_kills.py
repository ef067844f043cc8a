# labels: slow
"""Real processes, really killed, in the middle of every stage of a discovery and between them: the results are the same bytes, and the
endpoint's own log shows that nothing was bought twice but what was in flight, all of it listed as unknown. Here a run is disturbed in
one place after the other by those who matter most; test_discover_kills_long.py kills everybody everywhere."""
import collections
import os
import signal

import vqtest
from discovering import Discover
from planted_texts import planted_texts
from vqtest import DONE, STOPPED

ROWS, JUDGES, CONCURRENCY = 24, 2, 8


class Disturbed(Discover):
    """A run of two iterations, what it gives undisturbed, and ways to disturb it."""

    def setUp(self):
        super().setUp()
        planted_texts(self.dir, ROWS, ("lists", "questions"), seed=2, high=0.75, low=0.25)
        self.server = self.offline("--latency", "uniform:60ms:90ms")
        self.settings("discover.yaml", self.server.url)
        self.calm = self.undisturbed()

    def settings(self, name, url):
        # after a kill nothing is leased for a term
        self.discover(url=url, name=name, concurrency=CONCURRENCY, term_ms=1500, vibecheck__d=8, vibecheck__batch=4, vibecheck__num_eval_vibes=1,
                      regression__bootstrap_draws=50)

    def undisturbed(self):
        self.settings("calm.yaml", self.offline(name="calm").url)
        self.vibeq("run", "calm.yaml", "--name", "r", "--quiet", "--runs", self.dir / "calm-runs")
        self.walk = self.stages_in(self.servers[-1].requests())
        self.assertGreaterEqual(len(self.walk), 13, self.walk)  # two iterations
        return (self.dir / "calm-runs/r/results/results.json").read_bytes()

    @staticmethod
    def stages_in(requests):
        """Kinds of questions in the order in which they came; a stage is a row of one kind (the last ranking and the test are one)."""
        walk = []
        for kind in (x["kind"] for x in requests):
            if not walk or walk[-1] != kind:
                walk.append(kind)
        return walk

    def place(self):
        """How many stages the endpoint has seen, how many calls it has answered, and how many it holds now."""
        log = self.server.log()
        requests = [x for x in log if x["event"] == "request"]
        answered = {x["n"] for x in log if x["event"] in ("answer", "lost")}
        return len(self.stages_in(requests)), len(answered), sum(x["n"] not in answered for x in requests)

    def redis(self):
        found = self.processes_of("unixsocket") + self.processes_of("redis-server")
        return [p for p in set(found) if self.is_ours(p)]

    def is_ours(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/cwd").startswith(str(self.dir))
        except OSError:
            return False

    def go(self, *words):
        return self.start(*(words or ("resume", "r")), "--quiet")

    def kill(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def until(self, child, what, condition):
        self.wait_for(what, lambda: child.poll() is not None or condition(), 60)
        return child.poll() is None

    def middle(self, child, stage):
        """A call of the stage is in flight."""
        return self.until(child, f"the middle of stage {stage}", lambda: self.place()[0] >= stage and self.place()[2] > 0)

    def boundary(self, child, stage):
        """All calls of the stage are answered, and none of the next has come."""
        def over():
            at, _, out = self.place()
            return at > stage or (at == stage and out == 0)
        return self.until(child, f"the end of stage {stage}", over)

    def check(self, in_flight_max):
        self.assertEqual(self.results_bytes("r"), self.calm)
        calls = self.accounting("r")
        count = collections.Counter(x["hash"] for x in self.server.requests())
        repeats = sum(n - 1 for n in count.values())
        received = len(self.server.requests())
        self.assertLessEqual(repeats, in_flight_max)
        self.assertLessEqual(repeats, calls["unknown"], "what was bought twice is listed")
        self.assertGreaterEqual(calls["sent"], received, "every request is in the ledger")
        self.assertLessEqual(calls["sent"] - calls["unknown"], received)
        self.assertEqual(calls["planned"], calls["first_sends"] + calls["from_store"] + calls["saved_by_lazy_swap"])
        for stage in self.stages("r"):
            self.assertEqual(stage["planned"], stage["first_sends"] + stage["from_store"] + stage["saved_by_lazy_swap"], stage)

    def everywhere(self, moment, victims, resumes, every=1):
        """Disturbs one run at every stage, or only at every so many; returns how often it could."""
        child = self.go("run", "discover.yaml", "--name", "r")
        disturbed = 0
        for stage in range(1, len(self.walk) + 1, every):
            if not moment(child, stage):
                break
            self.kill(victims(child))
            disturbed += 1
            if resumes:
                child.wait()
                child = self.go()
        self.wait_exit(child, DONE)
        self.assertGreaterEqual(disturbed, (len(self.walk) - 3) // every, "the run was too fast to be disturbed everywhere")
        return disturbed


class Kills(Disturbed):
    def test_the_coordinator_is_killed_in_the_middle_of_every_stage(self):
        self.everywhere(self.middle, lambda child: [child.pid], True)
        self.check(0)  # live workers brought back what they held

    def test_redis_is_killed_at_every_boundary(self):
        self.everywhere(self.boundary, lambda child: self.redis(), False, every=2)  # one that dies ten times is given up
        self.check(0)
        self.assertEqual(self.accounting("r")["unknown"], 0)

    def test_ctrl_c_at_every_boundary(self):
        child = self.go("run", "discover.yaml", "--name", "r")
        for stage in range(1, len(self.walk), 2):
            if not self.boundary(child, stage):
                break
            child.send_signal(signal.SIGINT)
            self.wait_exit(child, STOPPED)
            self.assertEqual(self.workers(), [])
            child = self.go()
        self.wait_exit(child, DONE)
        self.check(0)
        self.assertEqual(self.accounting("r")["unknown"], 0)


if __name__ == "__main__":
    vqtest.main()
