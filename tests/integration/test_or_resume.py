"""`vibeq run --or-resume`, started again by the same command after each end, as systemd and Kubernetes do it: a coordinator that is killed
again and again finishes, nothing is bought twice, and a run that is finished is not started again."""
import calendar
import collections
import json
import re
import shutil
import signal
import socket
import time

import vqtest
from vqtest import DONE, MISSING, STOPPED, USAGE, Case, add_rates, planted

AXES = ("V1", "V2", "V3")
SAMPLES = 30
CONCURRENCY = 6
RESTART = (1, STOPPED, -signal.SIGKILL)  # what docs/use/runs.md tells a restart policy


class OrResume(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, SAMPLES, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms")
        self.config(AXES, url=self.server.url, judge={"concurrency": CONCURRENCY}, term_ms=1500)

    COMMAND = ("run", "config.yaml", "--name", "r", "--or-resume", "--yes")

    def again(self, *words, code=DONE):
        return self.vibeq(*self.COMMAND, *words, code=code)

    def repeats(self):
        return sum(n - 1 for n in collections.Counter(x["hash"] for x in self.server.requests()).values())

    def test_killed_in_a_loop_it_finishes_and_buys_nothing_twice(self):
        """Every second time the workers die too, as they do when a whole machine or pod is killed."""
        code, kills, killed_workers = None, 0, 0
        while code is None or code in RESTART:
            child = self.start(*self.COMMAND, "--quiet")
            before = len(self.server.answers())
            self.wait_for("answers, or the end", lambda: child.poll() is not None or len(self.server.answers()) > before + 60)
            if child.poll() is None and kills < 4:
                child.kill()
                child.wait()
                killed_workers += self.kill_workers() if kills % 2 else 0
                kills += 1
            code = child.wait(60)
        self.assertEqual((code, kills), (DONE, 4))
        calls = self.accounting("r")
        self.assertLessEqual(self.repeats(), killed_workers * CONCURRENCY * 2, "only what was in flight at a killed worker")
        self.assertLessEqual(self.repeats(), calls["unknown"])
        self.assertEqual(calls["planned"], calls["first_sends"] + calls["from_store"] + calls["saved_by_lazy_swap"])

        sent, results = len(self.server.requests()), self.results_bytes("r")
        log = (self.dir / "runs/r/log").stat().st_size
        self.assertIn("Run r is finished.", self.again().stderr)
        self.assertEqual(json.loads(self.again("--json", "--quiet").stdout), json.loads(results))
        self.assertEqual(len(self.server.requests()), sent)
        self.assertEqual((self.dir / "runs/r/log").stat().st_size, log, "no coordinator was started")

    def test_an_ordered_stop_goes_on_and_missing_answers_are_an_end(self):
        poor = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "20ms", "--fault", "refusal=0.1,sticky=true", name="poor")
        self.config(AXES, url=poor.url, judge={"concurrency": CONCURRENCY}, judging="{brake: 0}")
        child = self.start(*self.COMMAND, "--quiet")
        self.wait_for("answers", lambda: len(poor.answers()) > 20)
        child.send_signal(signal.SIGTERM)
        self.wait_exit(child, STOPPED)
        self.again("--quiet", code=MISSING)
        sent = len(poor.requests())
        self.assertIn("Run r is finished, with missing answers.", self.again(code=MISSING).stderr)
        self.assertEqual(len(poor.requests()), sent)
        self.vibeq("resume", "r", "--retry-failed", "--quiet", code=MISSING)
        self.again("--quiet", code=MISSING)

    def test_another_configuration_is_refused_and_a_limit_is_taken(self):
        child = self.start(*self.COMMAND, "--quiet")
        self.wait_for("answers", lambda: len(self.server.answers()) > 20)
        self.assertIn("run r is running already", self.again(code=USAGE).stderr)
        child.send_signal(signal.SIGTERM)
        self.wait_exit(child, STOPPED)
        sent = len(self.server.requests())
        for words, says in ((("--set", "seed=7"), "run r exists: seed differs from the start of this run"),
                            (("--limit", "3"), "run r exists: data.limit differs"),
                            (("--set", "judges[0].model=other"), "run r exists: judges[0].model differs")):
            self.assertIn(says, self.again(*words, code=USAGE).stderr)
        data = (self.dir / "data.csv").read_bytes()
        (self.dir / "data.csv").write_bytes(data + b"more,[A] x,[B] y,t,alpha\n")
        self.assertIn("data.csv", self.again(code=USAGE).stderr)
        (self.dir / "data.csv").write_bytes(data)
        self.assertEqual(len(self.server.requests()), sent, "nothing was sent")
        said = self.again("--workers", "1").stderr
        self.assertIn("workers differs from the start of this run: the new value is in force.", said)

    def test_a_deadline_keeps_the_date_of_the_first_start(self):
        """As if the run had been started yesterday: its 07:00 is over, and tomorrow's is not meant."""
        at = time.strftime("%H:%M", time.localtime(time.time() + 7200))
        for words in ((), ("--deadline", at)):
            self.config(AXES, url=self.server.url, judge={"concurrency": CONCURRENCY}, term_ms=1500, **({} if words else {"deadline": at}))
            child = self.start(*self.COMMAND, "--quiet", *words)
            self.wait_for("a deadline", lambda: (self.dir / "runs/r/endpoint.json").exists() and self.status("r").get("deadline"))
            self.kill_all(child)
            path = self.dir / "runs/r/run.yaml"
            first = re.search(r'deadline: "?([^"\n]+)', path.read_text()).group(1)
            when = calendar.timegm(time.strptime(first, "%Y-%m-%dT%H:%M:%SZ")) - 86400
            path.write_text(path.read_text().replace(first, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))))
            said = self.again(*words).stderr
            self.assertNotIn("deadline differs", said)
            self.assertEqual([line["at"] for line in self.log_of("deadline.passed")], [time.strftime("%H:%M on %Y-%m-%d", time.localtime(when))])
            shutil.rmtree(self.dir / "runs")

    def test_what_it_needs(self):
        for words, says in ((("run", "config.yaml", "--or-resume"), "--or-resume needs --name"),
                            ((*self.COMMAND, "--dry-run"), "--or-resume and --dry-run exclude each other")):
            self.assertIn(says, self.vibeq(*words, code=USAGE).stderr)

    def test_an_address_that_is_taken_is_tried_again_later(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.assertIn("the port is taken", self.again("--listen", address, "--quiet", code=STOPPED).stderr)
        self.again("--listen", address, "--quiet")


if __name__ == "__main__":
    vqtest.main()
