# labels: slow split
"""What a person tells a run that goes on, and what a run says of itself: pause and resume by the server's log, commands refused, a run
that makes no progress. Real processes."""
import json
import os
import signal
import time
import urllib.error
import urllib.request

import vqtest
from vqtest import DONE, MISSING, STOPPED, USAGE, Case, planted

AXES = ("V1", "V2", "V3")
NO_PROGRESS = 5
SICK_REQUESTS = 200


class Ctl(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 40, AXES)

    def slow(self, *options, **config):
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms", *options)
        config.setdefault("judge", {"concurrency": 4})
        return self.config(AXES, url=self.server.url, **config)

    def begin(self, answers=30):
        child = self.start("run", "config.yaml", "--name", "r")
        self.wait_for("some answers", lambda: child.poll() is not None or len(self.server.answers()) >= answers)
        self.assertIsNone(child.poll(), self.logs())
        return child

    def ctl(self, *words, code=DONE, run="r"):
        return self.vibeq("ctl", run, *words, code=code)

    def settled_sends(self):
        """How many calls were sent once none is in flight, and none is started any more."""
        self.wait_for("the calls in flight", lambda: len(self.server.answers()) == self.settle(lambda: len(self.server.requests())))
        return len(self.server.requests())

    def endpoint(self):
        return json.loads((self.dir / "runs/r/endpoint.json").read_text())

    def post(self, body, token):
        request = urllib.request.Request(f"{self.endpoint()['address']}/api/v1/ctl", data=body, method="POST")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def refusal(self, body, token):
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.post(body, token)
        with refused.exception as answer:
            return answer.code


class Pause(Ctl):
    def test_pause_stops_sends_and_resume_goes_on(self):
        self.slow()
        child = self.begin()
        workers = {w["pid"] for w in self.status("r")["workers"]}
        self.assertIn("paused", self.ctl("pause").stdout)
        sent = self.settled_sends()
        status = self.status("r")
        self.assertEqual(status["state"], "held")
        self.assertGreater(status["held_since_unix_ms"], 0)
        self.assertIsNone(status["eta_s"])
        self.assertIn("paused by vibeq ctl since", self.vibeq("status", "r").stdout)
        time.sleep(2)
        self.assertEqual(len(self.server.requests()), sent, "no call is started while it is paused")
        self.assertEqual(len(self.server.answers()), sent, "those in flight ended")
        status = self.status("r")
        self.assertEqual({w["pid"] for w in status["workers"]}, workers, "workers keep their sessions")
        self.assertGreater(status["tasks"]["open"], 0)
        self.assertIn("already", self.ctl("pause").stdout)
        self.assertIn("resumed", self.ctl("resume").stdout)
        self.wait_for("a call", lambda: len(self.server.requests()) > sent)
        self.assertIn("not paused", self.ctl("resume").stdout)
        self.wait_exit(child, DONE)
        calls = self.accounting("r")
        self.assertEqual(calls["sent"], len(self.server.requests()), "nothing was asked twice")
        self.assertEqual(calls["unknown"], 0)
        said = [line["command"] for line in self.log_of("ctl")]
        self.assertEqual(said, ["pause", "pause", "resume", "resume"])

    def test_a_pause_outlasts_terms_and_a_stop_while_paused_is_clean(self):
        self.slow(term_ms=600)
        child = self.begin()
        self.ctl("pause")
        sent = self.settled_sends()
        time.sleep(3)
        self.assertEqual((len(self.server.requests()), len(self.server.answers())), (sent, sent))
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED, 20)
        self.assertEqual(len(self.server.requests()), sent)
        child = self.start("resume", "r", "--quiet")
        self.wait_for("the pause, which is still in force", lambda: self.status("r").get("state") == "held")
        self.ctl("resume")
        self.wait_exit(child, DONE)
        self.assertEqual(self.accounting("r")["sent"], len(self.server.requests()))

    def test_a_pause_with_a_worker_that_dies_and_comes_back(self):
        self.slow(term_ms=1000)
        child = self.begin()
        self.ctl("pause")
        sent = self.settled_sends()
        os.kill(self.status("r")["workers"][0]["pid"], signal.SIGKILL)
        time.sleep(2.5)
        self.assertEqual(len(self.server.requests()), sent, "a new worker has no slice either")
        self.ctl("resume")
        self.wait_exit(child, DONE)


class Refused(Ctl):
    def test_without_the_token_nothing_happens(self):
        self.slow()
        child = self.begin()
        token = self.endpoint()["token"]
        self.assertEqual(self.refusal(b"pause\n", None), 401)
        self.assertEqual(self.refusal(b"pause\n", token[:-1] + ("0" if token[-1] != "0" else "1")), 401)
        self.assertEqual(self.status("r")["state"], "running")
        self.assertEqual(self.refusal(b"explode\n", token), 400)
        self.assertEqual(self.refusal(b"", token), 400)
        self.assertEqual(self.refusal(b"pause\nnow\n", token), 400)
        self.assertEqual(self.refusal(b"pause\0\n", token), 400)
        self.assertEqual(self.refusal(b"pause\n" * 40, token), 400)
        self.assertEqual(self.refusal(b"x" * 60000, token), 400)
        self.assertTrue(self.post(b"pause", token)["ok"])
        self.assertEqual(self.status("r")["state"], "held")
        self.assertTrue(self.post(b"resume\n", token)["ok"])
        self.wait_exit(child, DONE)

    def test_words_that_make_no_sense(self):
        for words, said in ((["r"], "use one of"), (["r", "puase"], "is no command"), (["r", "pause", "now"], "does not take 'now'"),
                            ([], "name the run"), (["r", "pause", "--runs"], "needs a value")):
            got = self.vibeq("ctl", *words, code=USAGE)
            self.assertIn(said, got.stderr)

    def test_a_run_that_does_not_run(self):
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        got = self.ctl("pause", code=STOPPED)
        self.assertIn("is not active", got.stderr)
        self.assertIn("vibeq resume r", got.stderr)
        self.assertIn("no run", self.ctl("pause", run="x", code=USAGE).stderr)


class Told(Ctl):
    """What was set by hand survives a crash and a resume."""

    def crash(self, child):
        child.kill()
        child.wait()
        self.kill_workers()

    def test_a_pause_survives(self):
        self.slow()
        child = self.begin()
        self.ctl("pause")
        since = self.status("r")["held_since_unix_ms"]
        sent = self.settled_sends()
        self.crash(child)
        child = self.start("resume", "r", "--quiet")
        self.wait_for("the pause", lambda: "r is paused by vibeq ctl since" in (self.dir / "start.out").read_text())
        self.wait_for("its status", lambda: self.status("r").get("state") == "held")
        self.assertLess(abs(self.status("r")["held_since_unix_ms"] - since), 1000)
        time.sleep(1)
        self.assertEqual(len(self.server.requests()), sent)
        self.ctl("resume")
        self.wait_for("a call", lambda: len(self.server.requests()) > sent)
        self.crash(child)
        self.vibeq("resume", "r", "--quiet")

    def test_limits_a_park_and_a_budget_survive_and_set_wins(self):
        self.slow("--latency", "uniform:100ms:200ms", judge={"concurrency": 4, "price_input_usd": 1, "price_output_usd": 1}, budget="{usd: 100}")
        child = self.begin(10)
        self.server.freeze()  # the run must not be over before all is told
        self.ctl("budget", "40")
        self.ctl("budget", "41")
        self.ctl("pool", "offline-a", "--rpm", "6000", "--concurrency", "3")
        self.ctl("concurrency", "2", "--pool", "offline-b")
        self.ctl("park", "offline-b")
        self.crash(child)
        self.server.thaw()
        told = [c["words"] for c in json.loads((self.dir / "runs/r/told.json").read_text())["told"]]
        self.assertEqual(told, [["budget", "41"], ["pool", "offline-a", "--rpm", "6000"], ["pool", "offline-a", "--concurrency", "3"],
                                ["pool", "offline-b", "--concurrency", "2"], ["park", "offline-b"]])
        (self.dir / "start.out").write_text("")
        child = self.start("resume", "r", "--set", "budget.usd=50", "--set", "judges[0].concurrency=1")
        self.wait_for("the run", lambda: self.status("r").get("money", {}).get("budget_usd") == 50)
        pools = {p["name"]: p for p in self.status("r")["pools"]}
        self.assertEqual(pools["offline-a"]["limits"]["requests_per_minute"]["limit"], 6000)
        self.assertEqual(pools["offline-b"]["state"], "held")
        said = (self.dir / "start.out").read_text()
        self.assertIn("vibeq ctl budget 41 of an earlier process is not applied: --set wins", said)
        self.assertIn("vibeq ctl pool offline-a --rpm 6000 of an earlier process is in force", said)
        self.assertIn("vibeq ctl park offline-b of an earlier process is in force", said)
        self.ctl("unpark", "offline-b")
        self.crash(child)
        self.vibeq("resume", "r", "--quiet")
        self.assertNotIn("park", (self.dir / "runs/r/told.json").read_text())

    def test_what_cannot_be_kept_is_printed_at_once(self):
        self.slow()
        child = self.begin()
        (self.dir / "runs/r/told.json").mkdir()
        self.assertIn("It is lost if this process ends", self.ctl("pause").stdout)
        (self.dir / "runs/r/told.json").rmdir()
        self.assertIn("resumed", self.ctl("resume").stdout)
        self.wait_exit(child, DONE)


class Requeue(Ctl):
    """Failures by a server that refuses some of its first requests."""

    def failing(self, requests):
        planted(self.dir, 120, AXES)
        (self.dir / "faults.jsonl").write_text(json.dumps({"fault": "bad_request", "p": 0.2, "to": requests}) + "\n")
        self.slow("--faults", self.dir / "faults.jsonl", term_ms=2000)

    def failed(self):
        return self.status("r")["tasks"]["failed"]

    def test_what_failed_is_asked_again_in_the_running_stage(self):
        self.failing(SICK_REQUESTS)
        child = self.begin(60)
        self.wait_for("failures", lambda: self.failed() > 5)
        self.wait_for("the server to be well", lambda: len(self.server.requests()) > SICK_REQUESTS)
        self.ctl("pause")
        self.settled_sends()
        failed = self.settle(self.failed)
        self.assertIn("none of", self.ctl("requeue", "--class", "eror", code=USAGE).stderr.replace("one of", "none of"))
        listed = json.loads(self.vibeq("dead", "r", "--json").stdout)
        self.assertEqual(listed["count"], failed, "of a run that goes on, too")
        self.assertIn("nothing to retry", self.ctl("requeue", "--class", "worker_lost").stdout)
        self.assertIn("the current stage is", self.ctl("requeue", "--stage", "reduce", code=USAGE).stderr)
        self.assertEqual(self.failed(), failed)
        said = self.ctl("requeue", "--class", "error", "--stage", "rank").stdout
        self.assertIn(f"{failed} failed task", said)
        self.assertIn(f"{failed} error", said)
        self.wait_for("them to be open", lambda: self.failed() == 0)
        self.assertIn("nothing to retry", self.ctl("requeue").stdout)
        self.ctl("resume")
        self.wait_exit(child, DONE)
        calls = self.accounting("r")
        self.assertEqual(calls["planned"], calls["first_sends"] + calls["from_store"] + calls["saved_by_lazy_swap"])
        self.assertEqual(calls["sent"], len(self.server.requests()))
        self.assertEqual(self.failed(), 0)
        self.assertEqual(json.loads(self.vibeq("dead", "r", "--json").stdout)["count"], 0)
        self.vibeq("replay", "r", "--verify", "--quiet")

    def test_it_is_durable_and_a_late_replay_does_not_undo_it(self):
        self.failing(SICK_REQUESTS)
        child = self.begin(60)
        self.wait_for("failures", lambda: self.failed() > 5)
        self.wait_for("the server to be well", lambda: len(self.server.requests()) > SICK_REQUESTS)
        self.ctl("pause")
        self.settled_sends()
        self.settle(self.failed)
        self.ctl("requeue")
        self.wait_for("them to be open", lambda: self.failed() == 0)
        child.kill()
        child.wait()
        again = self.start("resume", "r", "--quiet")  # not told again: still paused
        self.wait_for("it to listen", lambda: self.ctl("resume", code=None).returncode == DONE)
        self.wait_exit(again, DONE)
        self.assertEqual(self.failed(), 0)

    def test_a_run_that_is_over_is_resumed_with_a_class(self):
        self.failing(10**9)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        failed = self.failed()
        self.assertGreater(failed, 10)
        self.assertIn("vibeq resume r --retry-failed", self.ctl("requeue", code=STOPPED).stderr)
        well = self.offline("--oracle", self.dir / "truth.jsonl", name="well")
        there = [x for n in (0, 1) for x in ("--set", f"judges[{n}].base_url={well.url}")]
        self.assertIn("--class is one of", self.vibeq("resume", "r", "--retry-failed", "--class", "x", code=USAGE).stderr)
        self.assertIn("goes with", self.vibeq("resume", "r", "--class", "error", code=USAGE).stderr)
        self.vibeq("resume", "r", "--quiet", "--retry-failed", "--class", "unavailable", *there, code=MISSING)
        self.assertEqual((self.failed(), len(well.requests())), (failed, 0))
        self.vibeq("resume", "r", "--quiet", "--retry-failed", "--class", "error", *there)
        self.assertEqual(self.failed(), 0)
        self.assertGreaterEqual(len(well.requests()), failed)
        self.vibeq("store", "check")


class Drain(Ctl):
    def names(self):
        return {worker["name"]: worker for worker in self.status("r").get("workers", [])}

    def test_a_worker_that_is_told_to_leave(self):
        """A remote one ends; a local one ends and is not started again; the last one stays. No call is lost or sent twice."""
        planted(self.dir, 120, AXES)
        self.slow("--latency", "uniform:100ms:300ms")
        child = self.start("run", "config.yaml", "--name", "r", "--workers", "2", "--quiet")
        self.wait_for("answers", lambda: len(self.server.answers()) > 10)
        remote = self.join("--name", "elsewhere")
        self.wait_for("it to join", lambda: "elsewhere" in self.names() and self.names()["elsewhere"]["results"] > 3)
        self.assertIn("there is no worker 'nobody'", self.ctl("drain", "nobody", code=USAGE).stderr)
        self.assertIn("gets no more work", self.ctl("drain", "elsewhere").stdout)
        self.wait_exit(remote, DONE, 20)
        self.wait_for("it to be gone", lambda: "elsewhere" not in self.names())
        local = sorted(self.names())
        self.assertEqual(len(local), 2)
        self.ctl("drain", local[0])
        self.wait_for("it to be gone", lambda: sorted(self.names()) == local[1:])
        self.assertIn("no other worker would stay", self.ctl("drain", local[1], code=USAGE).stderr)
        time.sleep(3)
        self.assertEqual(sorted(self.names()), local[1:], "it is not started again")
        self.wait_exit(child, DONE)
        calls = self.accounting("r")
        self.assertEqual((calls["sent"], calls["unknown"]), (len(self.server.requests()), 0))
        self.assertNotIn("drain", (self.dir / "runs/r/told.json").read_text() if (self.dir / "runs/r/told.json").exists() else "")


class Dead(Ctl):
    def dead(self):
        return json.loads(self.vibeq("dead", "r", "--json").stdout)

    def test_what_failed_is_listed_with_its_reason(self):
        for fault, chance in (("bad_request", 0.1), ("server_error", 0.1)):
            with open(self.dir / "faults.jsonl", "a") as file:
                file.write(json.dumps({"fault": fault, "p": chance, "sticky": True}) + "\n")
        self.slow("--faults", self.dir / "faults.jsonl", judging="{tries_max: 2}")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        failed = self.status("r")["tasks"]["failed"]
        outcomes = self.status("r")["outcomes"]
        got = self.dead()
        self.assertEqual((got["count"], len(got["dead"])), (failed, failed))
        self.assertEqual(sum(g["count"] for g in got["groups"]), failed)
        for reason in ("error", "unavailable"):
            self.assertEqual(sum(g["count"] for g in got["groups"] if g["class"] == reason), outcomes[reason])
        for letter in got["dead"]:
            refused = letter["class"] == "error"
            self.assertEqual(letter["last_end"], "bad_request" if refused else "provider")
            self.assertEqual(letter["http_status"], 400 if refused else 500)
            self.assertEqual(letter["sends"], 1 if refused else 2)
            self.assertTrue(letter["error"])
            self.assertIn(letter["vibe"], AXES)
            self.assertIn(letter["judge"], ("offline-a", "offline-b"))
            self.assertIn(letter["order"], (0, 1))
            self.assertIn(letter["record"], range(0, 41))
        self.assertEqual(len({letter["task"] for letter in got["dead"]}), failed)
        self.assertIn("vibeq dead r", self.vibeq("status", "r").stdout)
        text = self.vibeq("dead", "r", "--all").stdout
        self.assertIn(f"r: {failed} dead letters", text)
        self.assertEqual(text.count("sent 2 times, last: provider (HTTP 500)"), outcomes["unavailable"])

    def test_of_a_run_that_goes_on_and_of_one_without_any(self):
        self.slow()
        child = self.begin()
        self.assertEqual(self.dead()["count"], 0)
        self.assertIn("no dead letters", self.vibeq("dead", "r").stdout)
        self.wait_exit(child, DONE)
        self.vibeq("dead", "x", code=USAGE)
        self.vibeq("dead", code=USAGE)


class Attempts(Ctl):
    def test_a_task_is_not_tried_without_end_over_its_leases(self):
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "60s")
        self.config(AXES, url=self.server.url, term_ms=1000, judging="{tries_max: 1}", attempts="{unknown: 2}")
        child = self.start("run", "config.yaml", "--name", "r")
        for n in (1, 2):  # each judge's first call is alone: nothing of it is known yet
            self.wait_for("calls in flight", lambda: len(self.server.requests()) >= 2 * n, 30)
            self.kill_workers()
        self.wait_for("dead letters", lambda: self.status("r")["tasks"]["failed"] == 2, 30)
        dead = json.loads(self.vibeq("dead", "r", "--json").stdout)["dead"]
        self.assertEqual({(x["class"], x["last_end"], x["sends"]) for x in dead}, {("worker_lost", "unknown", 2)})
        notes = [line for line in (self.dir / "runs/r/log").read_text().splitlines() if "used up its attempts (unknown 2)" in line]
        self.assertEqual(len(notes), 2)
        child.send_signal(signal.SIGINT)
        self.wait_for("the drain to be said", lambda: "once more stops now" in (self.dir / "start.out").read_text())
        time.sleep(0.7)  # sooner it would be the same request, told twice
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED, 20)


class Alarm(Ctl):
    def test_a_server_that_hangs_is_never_healthy(self):
        self.slow(alarm="{idle_s: 1}")
        child = self.begin()
        self.assertIsNone(self.status("r")["alarm"])
        os.kill(self.server.process.pid, signal.SIGSTOP)
        try:
            self.wait_for("the alarm", lambda: self.log_of("alarm.idle"), 20)
            got = self.vibeq("status", "r", "--json", code=NO_PROGRESS)
            status = json.loads(got.stdout)
            self.assertEqual(status["state"], "stalled")
            self.assertEqual((status["alarm"]["kind"], status["alarm"]["idle_s"]), ("idle", 1))
            self.assertLess(status["alarm"]["since_unix_ms"], time.time() * 1000)
            self.assertIn("no answer arrived since", self.vibeq("status", "r", code=NO_PROGRESS).stdout)
            with urllib.request.urlopen(f"{self.endpoint()['address']}/metrics", timeout=10) as answer:
                self.assertIn('\nvibeq_alarm_idle{run="r"} 1\n', answer.read().decode())
            written = json.loads((self.dir / "runs/r/status.json").read_text())
            self.assertEqual(written["state"], "stalled")
        finally:
            os.kill(self.server.process.pid, signal.SIGCONT)
        self.wait_for("the end of the alarm", lambda: self.log_of("alarm.over"), 20)
        self.wait_exit(child, DONE)
        self.assertEqual(len(self.log_of("alarm.idle")), 1, "said once")
        self.vibeq("status", "r")

    def test_paused_by_hand_is_no_alarm(self):
        self.slow(alarm="{idle_s: 1}")
        child = self.begin()
        self.ctl("pause")
        time.sleep(2.5)
        self.assertIsNone(self.status("r")["alarm"])
        self.ctl("resume")
        self.wait_exit(child, DONE)
        self.assertEqual(self.log_of("alarm.idle"), [])


if __name__ == "__main__":
    vqtest.main()
