# labels: split
"""The rules of leases, calls, commits and locks where they show from outside, with real processes. Rules about what two cores say to
each other are shown by the simulation and by the unit tests of both cores; docs/develop/decisions-tested.md says which test shows which."""
import collections
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import vqtest
from vqtest import BIN, DONE, INTERNAL, MISSING, STOPPED, USAGE, Case, planted

AXES = ("V1", "V2", "V3")
SAMPLES = 30


class Protocol(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, SAMPLES, AXES)

    def slow(self, *options, **config):
        """A server that takes its time, and a configuration that goes to it."""
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms", *options)
        config.setdefault("term_ms", 2000)
        config.setdefault("judge", {"concurrency": 8})
        return self.config(AXES, url=self.server.url, **config)

    def begin(self, *words, answers=60, **more):
        child = self.start("run", "config.yaml", "--name", "r", *words, **more)
        self.wait_for("some answers", lambda: child.poll() is not None or len(self.server.answers()) >= answers)
        self.assertIsNone(child.poll(), f"the run was over before it could be disturbed\n{self.logs()}")
        return child

    def redis(self):
        return [p for p in self.processes_of("redis-server") if self.cwd(p).startswith(str(self.dir))]

    @staticmethod
    def cwd(pid):
        try:
            return os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return ""

    def repeats(self):
        return sum(n - 1 for n in collections.Counter(x["hash"] for x in self.server.requests()).values())

    def said(self):
        return (self.dir / "start.out").read_text(errors="replace")

    def run_dir(self, name="r"):
        return self.dir / "runs" / name


class Leases(Protocol):
    def test_04_after_a_crash_nothing_is_leased_before_one_term(self):
        term_s = 3.0
        self.slow(term_ms=int(term_s * 1000))
        self.kill_all(self.begin())
        time.sleep(0.5)  # what was on its way to the server has arrived
        before, resumed_ms = len(self.server.requests()), time.time() * 1000
        self.vibeq("resume", "r", "--quiet")
        first = min(x["unix_ms"] for x in self.server.requests()[before:])
        self.assertGreaterEqual(first - resumed_ms, term_s * 1000 * 0.99)

    def test_04_after_a_clean_stop_it_goes_on_at_once(self):
        self.slow(term_ms=600000)
        child = self.begin("--quiet")
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        self.vibeq("resume", "r", "--quiet", timeout=120)  # a term would be ten minutes
        self.assertEqual(self.repeats(), 0)

    def test_08_another_key_and_another_port_buy_nothing_again(self):
        one = self.offline("--oracle", self.dir / "truth.jsonl", "--require-key", name="one")
        two = self.offline("--oracle", self.dir / "truth.jsonl", "--require-key", name="two")
        self.config(AXES, url=one.url, judge={"key": "env:THE_KEY"})
        self.vibeq("run", "config.yaml", "--name", "one", "--quiet", env={"THE_KEY": "sk-one"})
        self.config(AXES, url=two.url, judge={"key": "env:OTHER_KEY"})
        self.vibeq("run", "config.yaml", "--name", "two", "--quiet", env={"OTHER_KEY": "sk-two"})
        self.assertGreater(len(one.requests()), 0)
        self.assertEqual(two.requests(), [])
        self.assertEqual(self.results_bytes("one"), self.results_bytes("two"))

    def test_10_every_request_has_an_id_of_its_own(self):
        self.slow("--fault", "server_error=0.1")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        ids = [x["call"] for x in self.server.requests()]
        self.assertNotIn(None, ids)
        self.assertEqual(len(set(ids)), len(ids))
        self.assertEqual(self.accounting("r")["sent"], len(ids), "each is in the ledger")

    def test_12_what_is_too_long_is_cut_only_where_the_run_says_so(self):
        text = (self.dir / "data.csv").read_text().replace("[A] ", "[A] " + "word " * 300, 3)
        (self.dir / "data.csv").write_text(re.sub(r'(word ","?\[?)', r"\1", text))
        marked = (self.dir / "data.csv").read_text().replace(", 0", ", 0 THE-END", 1)
        (self.dir / "data.csv").write_text(marked)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--fault", "too_long=1,contains=THE-END")
        self.config(AXES, url=server.url)
        self.vibeq("run", "config.yaml", "--name", "whole", "--quiet", code=MISSING)
        self.assertEqual(self.accounting("whole")["failed"]["too_long"], len(AXES) * 2 * 2)
        self.assertEqual(self.results("whole")["cells_missing"], len(AXES) * 2)
        self.vibeq("run", "config.yaml", "--name", "cut", "--quiet", "--set", "judging.truncate=on")
        self.assertEqual(self.results("cut")["cells_missing"], 0)
        page = self.page_data("cut")
        self.assertEqual(page["calls"]["too_long"], self.accounting("cut")["failed"]["too_long"])
        self.assertTrue(page["results"]["settings"]["truncate"])
        sent = len(server.requests())
        self.vibeq("run", "config.yaml", "--name", "again", "--quiet", "--set", "judging.truncate=on")
        self.assertEqual(len(server.requests()), sent)
        self.vibeq("run", "config.yaml", "--name", "plain", "--quiet", code=MISSING)
        self.assertEqual(self.results("plain")["cells_missing"], len(AXES) * 2, "whether it may be cut is part of the question")

    def in_flight_most(self):
        """Of all moments, by the server's own log."""
        most = now = 0
        for line in self.server.log():
            now += {"request": 1, "answer": -1}.get(line.get("event"), 0)
            most = max(most, now)
        return most

    def test_07_orphans_of_more_workers_share_the_limit(self):
        planted(self.dir, 60, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:150ms:250ms")
        self.config(AXES, judges=1, url=self.server.url, term_ms=2000, judge={"concurrency": 12})
        child = self.begin("--quiet", "--workers", "2", answers=40)
        self.assertGreater(self.in_flight_most(), 6, "both had work")
        child.kill()
        child.wait()
        self.assertEqual(len(self.workers()), 2)
        child = self.start("resume", "r", "--quiet", "--workers", "1")
        self.wait_for("both orphans", lambda: child.poll() is not None or self.sessions() == 2)
        self.wait_exit(child, DONE)
        self.assertLessEqual(self.in_flight_most(), 12)

    def sessions(self):
        got = self.vibeq("status", "r", "--json", code=None)
        return len(json.loads(got.stdout).get("workers", [])) if got.returncode == 0 else 0

    def test_16_two_runs_at_once_on_one_store(self):
        self.slow(judge={"concurrency": 8, "share": 0.5})
        first = self.begin("--quiet", answers=20)
        second = self.start("run", "config.yaml", "--name", "s", "--quiet")
        self.wait_exit(first, DONE)
        self.wait_exit(second, DONE)
        self.assertEqual(self.results_bytes("r"), self.results_bytes("s"))
        accounts = [self.accounting("r"), self.accounting("s")]
        self.assertEqual(sum(c["sent"] for c in accounts), len(self.server.requests()))
        unknown = sum(c["unknown"] for c in accounts)
        unused = sum(c["paid_unused"] for c in accounts)
        self.assertEqual(unused + unknown, self.repeats(), "the first answer stands, the other is shown as unused")
        self.assertEqual([c["still_out"] for c in accounts], [0, 0])
        self.assertGreater(accounts[1]["from_store"], 0)

    def test_16_two_runs_begun_together_buy_little_twice(self):
        planted(self.dir, 100, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:200ms:300ms")
        self.config(AXES, judges=1, url=self.server.url, term_ms=2000, judge={"concurrency": 16, "share": 0.5})
        alone = 100 * len(AXES) * 2  # what one run buys, less what lazy swap saves
        both = [self.start("run", "config.yaml", "--name", name, "--quiet") for name in "rs"]
        for child in both:
            self.wait_exit(child, DONE)
        self.assertEqual(self.results_bytes("r"), self.results_bytes("s"))
        bought = len(self.server.requests())
        self.assertLess(bought, 1.5 * alone, "well below twice")
        accounts = [self.accounting("r"), self.accounting("s")]
        self.assertEqual(sum(c["sent"] for c in accounts), bought)
        self.assertEqual(sum(c["paid_unused"] + c["unknown"] for c in accounts), self.repeats(), "each answer stands once")
        for c in accounts:
            self.assertGreater(c["from_store"], 0.2 * alone, "each has its share from the other")


class Store(Protocol):
    def damaged(self, change):
        self.config(AXES)
        self.vibeq("run", "config.yaml", "--name", "one", "--quiet")
        path = self.dir / "runs" / "calls.lmdb"
        change(path)
        run = self.vibeq("run", "config.yaml", "--name", "two", "--quiet", code=INTERNAL)
        self.assertIn("calls.lmdb", run.stderr)
        self.assertFalse((self.run_dir("two") / "results" / "results.json").exists())
        return run

    def left_alone(self, change):
        before = []

        def change_and_look(path):
            change(path)
            before.append(path.read_bytes())

        self.damaged(change_and_look)
        self.assertEqual((self.dir / "runs" / "calls.lmdb").read_bytes(), before[0])

    def test_17_a_store_that_was_cut_is_named_and_left_alone(self):
        self.left_alone(lambda path: os.truncate(path, 3 * 4096))

    def test_17_a_file_that_is_no_store_is_named_and_left_alone(self):
        self.left_alone(lambda path: path.write_bytes(b"this is not a store\n" * 2000))

    def test_17_a_damaged_answer_is_named(self):
        def change(path):
            body = bytearray(path.read_bytes())
            at = body.find(b"Analysis:")
            while at >= 0:  # every stored answer
                body[at] ^= 1
                at = body.find(b"Analysis:", at + 1)
            path.write_bytes(body)

        run = self.damaged(change)
        self.assertIn("damaged", run.stderr)
        check = self.vibeq("store", "check", code=INTERNAL)
        self.assertIn("damaged", check.stdout + check.stderr)

    def test_17_what_is_kept_is_for_its_owner_only(self):
        self.slow()
        child = self.begin("--quiet")
        seen = 0
        for path in [self.dir / "runs", *(self.dir / "runs").rglob("*")]:
            try:
                mode = path.lstat().st_mode & 0o077
            except FileNotFoundError:
                continue
            if "redis" not in path.parent.parts:  # that folder is closed, and what Redis makes in it is Redis's
                self.assertEqual(mode, 0, f"{path} is open to others")
            seen += 1
        self.assertGreater(seen, 20)
        self.assertEqual((self.run_dir() / "endpoint.json").stat().st_mode & 0o777, 0o600)
        self.assertEqual((self.run_dir() / "join.cert").stat().st_mode & 0o777, 0o600)
        self.wait_exit(child, DONE)

    def test_19_changed_templates_are_refused_by_name(self):
        prompts = self.dir / "prompts"
        self.vibeq("prompts", "export", prompts)
        self.config(AXES, prompts="{dir: prompts}")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        with open(prompts / "judge.txt", "a", encoding="utf-8") as file:
            file.write("One more line.\n")
        run = self.vibeq("resume", "r", "--quiet", code=USAGE)
        self.assertIn("judge.txt", run.stderr)

    def test_19_only_workers_limits_keys_and_endpoints_may_be_overridden(self):
        self.config(AXES)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        before = self.results_bytes("r")
        for change in ("gates.kappa_min=0.9", "data.limit=5", "judging.pair_rule=lenient", "seed=1", "models=[beta, alpha]",
                       "judges[0].model=offline-c", "judges[0].temperature=1", "regression.cv=paper", "data.path=other.csv"):
            run = self.vibeq("resume", "r", "--quiet", "--set", change, code=USAGE)
            self.assertIn(re.split(r"[=\[]", change)[0], run.stderr, change)
        self.vibeq("resume", "r", "--quiet", "--set", "workers=1", "--set", "judges[0].concurrency=3",
                   "--set", "judges[1].requests_per_minute=6000", "--set", "term_ms=5000")
        self.assertEqual(self.results_bytes("r"), before)


class Processes(Protocol):
    def shared_redis(self):
        return f"{{url: 'unix://{self.start_redis()}'}}"

    def start_redis(self):
        path = self.dir / "shared.sock"
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")  # one binary, told apart by its name
        server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", self.dir],
                                  executable=program, stdout=subprocess.DEVNULL)
        self.children.append(server)
        self.wait_for("the shared Redis", path.exists)
        return path

    def copied_runs(self):
        """Another folder with the same runs: locks do not help there, the owner in Redis does."""
        other = self.dir / "copied"
        shutil.copytree(self.dir / "runs", other, ignore=lambda _, names: [n for n in names if n in ("spool", "endpoint.json")])
        return other

    def test_15_a_second_coordinator_on_a_shared_redis(self):
        self.slow(redis=self.shared_redis())
        child = self.begin("--quiet")
        child.send_signal(signal.SIGSTOP)
        other = self.copied_runs()
        self.vibeq("resume", "r", "--quiet", "--runs", other)
        child.send_signal(signal.SIGCONT)
        self.wait_exit(child, STOPPED)
        self.assertIn("another coordinator", self.said())
        self.assertFalse((self.run_dir() / "results" / "results.json").exists())
        self.assertTrue((other / "r" / "results" / "results.json").exists())

    def test_15_the_first_one_notices_though_it_has_nothing_to_write(self):
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "60s")
        self.config(AXES, url=self.server.url, term_ms=1500, redis=self.shared_redis())
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.wait_for("calls in flight", lambda: len(self.server.requests()) >= 2)
        child.send_signal(signal.SIGSTOP)
        other = self.copied_runs()
        second = self.start("resume", "r", "--quiet", "--runs", other, "--workers", "0")
        self.wait_for("the second to own the run", (other / "r" / "endpoint.json").exists)
        second.kill()
        second.wait()
        child.send_signal(signal.SIGCONT)
        self.wait_exit(child, STOPPED, 30)
        self.assertIn("another coordinator", self.said())

    def test_20_the_private_redis_has_no_port_and_goes_with_its_coordinator(self):
        self.slow()
        child = self.begin("--quiet")
        pids = self.redis()
        self.assertEqual(len(pids), 1)
        self.assertEqual(self.listening(pids[0]), [])
        child.kill()
        child.wait()
        self.wait_for("the private Redis to end", lambda: not self.redis(), 20)

    def listening(self, pid):
        """Addresses of the TCP sockets on which a process listens."""
        sockets = set()
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                continue
            if found:
                sockets.add(found.group(1))
        addresses = []
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{pid}/net/{table}", encoding="ascii") as file:
                lines = file.read().splitlines()[1:]
            for words in map(str.split, lines):
                if words[3] == "0A" and words[9] in sockets:
                    addresses.append(words[1].split(":")[0])
        return addresses

    def test_23_without_listen_only_the_loopback_is_bound(self):
        self.slow()
        child = self.begin("--quiet")
        addresses = self.listening(child.pid)
        self.assertEqual(set(addresses), {"0100007F"})
        self.wait_exit(child, DONE)

    def test_23_listen_takes_the_address_it_was_given_and_keeps_key_and_address(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.slow()
            run = self.vibeq("run", "config.yaml", "--name", "no", "--quiet", "--listen", f"127.0.0.1:{port}", code=None)
            self.assertIn(run.returncode, (USAGE, STOPPED))
            self.assertIn(str(port), run.stderr)
        child = self.begin("--quiet", "--listen", "127.0.0.1")
        cert = (self.run_dir() / "join.cert").read_text()
        self.assertIn("tcp://127.0.0.1:", cert)
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        child = self.start("resume", "r", "--quiet")
        self.wait_for("the resumed run", (self.run_dir() / "endpoint.json").exists)
        self.assertEqual((self.run_dir() / "join.cert").read_text(), cert)
        self.wait_exit(child, DONE)

    def test_23_listen_where_nobody_could_connect_is_refused_or_said(self):
        self.config(AXES)
        for listen in ("127.0.0.1:65536", "127.0.0.1:99999", "127.0.0.1:", "127.0.0.1:5x", ":5000", "::1", "[::1", "[::1]5000", ""):
            run = self.vibeq("run", "config.yaml", "--name", "no", "--quiet", "--listen", listen, code=USAGE)
            self.assertIn(f"--listen {listen}:", run.stderr)
            self.assertFalse((self.dir / "runs/no").exists(), listen)
        for k, listen in enumerate(("0.0.0.0", "*", "127.0.0.1")):
            run = self.vibeq("run", "config.yaml", "--name", f"r{k}", "--listen", listen)
            self.assertEqual("every address of this machine" in run.stderr, listen != "127.0.0.1", run.stderr)
            cert = (self.run_dir(f"r{k}") / "join.cert").read_text()
            self.assertEqual(("0.0.0.0" in cert, "::]" in cert, "tcp://*" in cert), (False, False, False), cert)

    def test_23_a_resume_keeps_the_port(self):
        """Workers elsewhere wait at the port that their certificate names."""
        self.slow()
        child = self.begin("--listen", "127.0.0.1")
        cert = (self.run_dir() / "join.cert").read_text()
        child.kill()
        child.wait()
        child = self.start("resume", "r", "--listen", "127.0.0.1")
        self.wait_for("the resumed run", lambda: self.log_of("lease.first")[1:])
        self.assertEqual((self.run_dir() / "join.cert").read_text(), cert)
        self.kill_all(child)
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", int(re.search(r"tcp://127.0.0.1:(\d+)", cert).group(1))))
            taken.listen()
            run = self.vibeq("resume", "r", "--listen", "127.0.0.1")
        self.assertIn("the address of last time, is taken", run.stderr)
        self.assertNotEqual((self.run_dir() / "join.cert").read_text(), cert)

    def test_21_a_remote_worker_that_lost_its_coordinator_leaves_and_comes_back(self):
        self.slow(orphan_s=2, term_ms=1000, judge={"concurrency": 2})
        spool = self.dir / "remote-spool"
        child = self.start("run", "config.yaml", "--name", "r", "--quiet", "--workers", "0")
        cert = self.run_dir() / "join.cert"
        self.wait_for("the certificate", cert.exists)
        join = lambda: self.join("--spool", spool, "--name", "far", cert=cert)
        worker = join()
        self.wait_for("answers", lambda: len(self.server.answers()) > 60)
        child.kill()
        child.wait()
        self.assertEqual(worker.wait(30), 4, "orphaned: it keeps its spool")
        calls = len(self.server.requests())
        child = self.start("resume", "r", "--quiet", "--workers", "0")
        worker = join()
        self.wait_exit(child, DONE)
        self.assertEqual(worker.wait(20), 0)
        self.assertGreater(len(self.server.requests()), calls)
        self.assertEqual(self.repeats(), 0, "what was in its spool was not bought again")
        self.assertEqual(self.accounting("r")["sent"], len(self.server.requests()))

    def test_21_anothers_spool_is_refused_by_name(self):
        self.slow()
        spool = self.dir / "remote-spool"
        for name in ("one", "two"):
            self.start("run", "config.yaml", "--name", name, "--quiet", "--workers", "0")
            self.wait_for("the certificate", (self.run_dir(name) / "join.cert").exists)
        worker = self.join("--spool", spool, cert=self.run_dir("one") / "join.cert")
        self.wait_for("answers", lambda: len(self.server.answers()) > 20)
        worker.kill()
        worker.wait()
        other = self.join("--spool", spool, cert=self.run_dir("two") / "join.cert")
        self.assertEqual(other.wait(20), 2)
        self.assertIn(str(spool), (self.dir / "worker.err").read_text())

    def test_22_ctrl_c_reaches_only_the_coordinator(self):
        self.slow(term_ms=600000)
        out = open(self.dir / "start.out", "ab")
        child = subprocess.Popen([str(BIN / "vibeq"), "run", "config.yaml", "--name", "r"], cwd=self.dir, env=self.environment(),
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        out.close()
        self.children.append(child)
        self.wait_for("some answers", lambda: len(self.server.answers()) > 60)
        for pid in self.workers() + self.redis():
            self.assertNotEqual(os.getpgid(pid), child.pid)
        os.killpg(child.pid, signal.SIGINT)
        self.wait_exit(child, STOPPED)
        self.assertEqual(self.workers(), [])
        self.assertEqual(self.accounting("r")["unknown"], 0, "the calls in flight came to their end")
        self.vibeq("resume", "r", "--quiet", timeout=120)
        self.assertEqual(self.repeats(), 0)

    def test_22_a_second_ctrl_c_stops_now(self):
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "30s")
        self.config(AXES, url=self.server.url, term_ms=1000, judge={"concurrency": 4})
        child = self.start("run", "config.yaml", "--name", "r")
        self.wait_for("calls in flight", lambda: len(self.server.requests()) >= 2)
        child.send_signal(signal.SIGINT)
        self.wait_for("the drain to be said", lambda: "once more stops now" in self.said())
        time.sleep(0.7)  # sooner it would be the same request, told twice
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED, 20)
        self.assertEqual(self.workers(), [])
        calls = self.accounting("r")
        self.assertEqual(calls["sent"], len(self.server.requests()))
        self.assertEqual(calls["unknown"], len(self.server.requests()), "sent and never answered, and said so")

    def test_22_a_second_ctrl_c_stops_now_though_redis_is_away(self):
        self.slow(redis=self.shared_redis())
        child = self.begin()
        redis = self.children[0]
        redis.kill()
        redis.wait()
        self.wait_for("Redis to be missed", lambda: "Redis is away" in self.said())
        child.send_signal(signal.SIGINT)
        self.wait_for("the drain", lambda: "once more stops now" in self.said())
        time.sleep(0.6)  # the same signal twice at once is one
        self.assertIsNone(child.poll(), "it may come back")
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED, 10)
        self.assertIn("stopped while Redis was away", self.said())
        (self.dir / "shared.sock").unlink()
        self.start_redis()
        self.vibeq("resume", "r", "--quiet")
        calls, received = self.accounting("r"), len(self.server.requests())
        self.assertEqual(calls["planned"], calls["first_sends"] + calls["from_store"] + calls["saved_by_lazy_swap"])
        self.assertGreaterEqual(calls["sent"], received)
        self.assertLessEqual(calls["sent"] - calls["unknown"], received)

    def test_22_a_signal_that_comes_twice_at_once_is_one(self):
        self.slow()
        child = self.begin("--quiet")
        child.send_signal(signal.SIGTERM)
        time.sleep(0.05)
        child.send_signal(signal.SIGTERM)  # as timeout(1) does: to the group and to its leader
        self.wait_exit(child, STOPPED)
        calls = self.accounting("r")
        self.assertEqual(calls["unknown"], 0, "the calls in flight came to their end")
        self.assertEqual(calls["sent"], len(self.server.requests()))

    def storm(self, pid, ended, *signums):
        """All of them, again and again, until the process has ended: there is no moment in which one may not come."""
        deadline = time.monotonic() + 60
        while not ended() and time.monotonic() < deadline:
            for signum in signums:
                try:
                    os.kill(pid, signum)
                except ProcessLookupError:
                    break
            time.sleep(0.002)

    def test_22_a_storm_of_signals_does_not_change_the_exit_code(self):
        self.slow()
        child = self.begin("--quiet")
        self.storm(child.pid, lambda: child.poll() is not None, signal.SIGTERM, signal.SIGHUP)
        self.wait_exit(child, STOPPED)
        calls = self.accounting("r")
        self.assertEqual(calls["unknown"], 0, "one request: the calls in flight came to their end")
        self.assertEqual(calls["sent"], len(self.server.requests()))
        child = self.start("resume", "r", "--quiet")
        before = len(self.server.requests())
        self.wait_for("new calls", lambda: child.poll() is not None or len(self.server.requests()) > before + 5)
        self.storm(child.pid, lambda: child.poll() is not None, signal.SIGINT, signal.SIGTERM)
        self.wait_exit(child, STOPPED)
        self.assertIn("Continue with: vibeq resume r", self.said())
        self.vibeq("resume", "r", "--quiet")

    def test_22_a_storm_of_signals_on_a_worker(self):
        self.slow()
        child = self.begin("--quiet")
        pid = self.workers()[0]
        self.storm(pid, lambda: pid not in self.workers(), signal.SIGTERM)
        self.wait_exit(child, DONE)
        ends = [line for line in map(json.loads, (self.run_dir() / "log").read_text().splitlines()) if line["event"] == "worker.exited"]
        self.assertEqual([(int(end["code"]), int(end["signal"])) for end in ends], [(DONE, 0)] * len(ends))
        self.assertGreaterEqual(len(ends), 2)
        self.assertEqual(self.repeats(), 0, "it drained")

    def test_22_without_its_terminal_the_run_goes_on(self):
        self.slow()
        child = self.begin()
        child.send_signal(signal.SIGHUP)
        self.wait_exit(child, DONE)
        self.assertEqual(self.repeats(), 0)

    def test_22_more_calls_than_files_are_refused_before_anything_is_sent(self):
        self.slow(judge={"concurrency": 2000})
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        run = subprocess.run([str(BIN / "vibeq"), "run", "config.yaml", "--name", "r", "--quiet"], cwd=self.dir, env=self.environment(),
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(400, hard), min(400, hard))))
        self.assertEqual(run.returncode, USAGE, run.stderr)
        self.assertIn("concurrency", run.stderr)
        self.assertEqual(self.server.requests(), [])


class Looking(Protocol):
    def test_24_status_asks_the_run_with_its_token(self):
        self.slow()
        child = self.begin("--quiet")
        self.server.freeze()  # the run does not end while it is looked at
        endpoint = json.loads((self.run_dir() / "endpoint.json").read_text())
        live = self.status("r")
        self.assertEqual(live["state"], "running")
        self.assertTrue(live["workers"])
        address = endpoint["address"]
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{address}/api/v1/status", timeout=10)
        self.assertIn(refused.exception.code, (401, 403))
        refused.exception.close()
        request = urllib.request.Request(f"{address}/api/v1/status", headers={"Authorization": f"Bearer {endpoint['token']}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            self.assertEqual(json.load(answer)["run"], "r")
        with urllib.request.urlopen(f"{address}/metrics", timeout=10) as answer:
            self.assertIn("vibeq_", answer.read().decode())
        for pid in self.redis():
            os.kill(pid, signal.SIGSTOP)  # neither reads Redis
        self.assertEqual(self.status("r")["state"] in ("running", "paused"), True)
        for pid in self.redis():
            os.kill(pid, signal.SIGCONT)
        self.server.thaw()
        self.wait_exit(child, DONE)

    def test_24_status_of_a_run_that_is_not_running(self):
        self.slow()
        child = self.begin("--quiet")
        child.kill()
        child.wait()
        run = self.vibeq("status", "r", code=None)
        self.assertIn("not running since", run.stdout + run.stderr)
        self.assertIn("vibeq resume r", run.stdout + run.stderr)

    def refused(self, fault, calls_max, word):
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--fault", fault, name="refusing")
        self.config(AXES, url=server.url)
        run = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        self.assertIn("vibeq resume r", run.stderr)
        self.assertRegex(run.stderr.lower(), word)
        per_judge = collections.Counter(x["model"] for x in server.requests())
        self.assertLessEqual(max(per_judge.values()), calls_max, "one probe call a judge")
        self.assertFalse((self.run_dir() / "results" / "results.json").exists())
        server.stop()
        healed = self.offline("--oracle", self.dir / "truth.jsonl", name="healed")
        self.vibeq("resume", "r", "--quiet", "--set", f"judges[0].base_url={healed.url}", "--set", f"judges[1].base_url={healed.url}")
        self.assertEqual(self.results("r")["cells_missing"], 0, "the refusal failed no task")

    def test_25_a_wrong_key_stops_the_run(self):
        self.refused("bad_key=1", 1, "key")

    def test_25_an_unknown_model_stops_the_run(self):
        self.refused("no_model=1", 1, "model")

    def test_25_no_money_stops_the_run(self):
        self.refused("quota=1", 1, "money|quota|credit|balance|pay")

    def test_25_one_judge_that_cannot_be_called_is_enough(self):
        self.refused("bad_key=1,model=offline-b", len(AXES) * SAMPLES * 2, "offline-b")

    def test_i6_a_key_is_nowhere_but_on_its_way(self):
        key = "sk-canary-5c0ffee5"
        self.slow("--require-key", judge={"key": "env:THE_KEY", "concurrency": 8})
        child = self.begin("--quiet", env={"THE_KEY": key})
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    self.assertNotIn(key.encode(), file.read())
            except OSError:
                continue
        for pid in self.redis():
            with open(f"/proc/{pid}/environ", "rb") as file:
                self.assertNotIn(key.encode(), file.read(), "Redis needs no key")
        socket_path = re.search(r"unixsocket (\S+)", (self.run_dir() / "redis" / "redis.conf").read_text()).group(1).strip('"')
        self.assertNotIn(key.encode(), self.everything_in(socket_path))
        self.wait_exit(child, DONE)
        for path in self.dir.rglob("*"):
            if path.is_file():
                self.assertNotIn(key.encode(), path.read_bytes(), f"the key stands in {path}")

    def everything_in(self, socket_path):
        with socket.socket(socket.AF_UNIX) as redis:
            redis.connect(socket_path)
            file = redis.makefile("rwb")

            def ask(*words):
                file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
                file.flush()
                return answer()

            def answer():
                line = file.readline()
                kind, rest = line[:1], line[1:-2]
                if kind == b"$":
                    n = int(rest)
                    return b"" if n < 0 else file.read(n + 2)[:-2]
                if kind == b"*":
                    return [answer() for _ in range(int(rest))]
                return rest

            keys = ask(b"KEYS", b"*")
            self.assertTrue(any(k.startswith(b"vibeq:{r.") for k in keys), keys)
            return b" ".join(ask(b"DUMP", k) for k in keys) + b" ".join(keys)


if __name__ == "__main__":
    vqtest.main()
