# labels: slow
"""A provider's key is one run's at a time, or shared by runs that take a share. Real processes, one runs folder."""
import os
import re
import shutil
import signal
import socket
import subprocess
import unittest

import vqtest
from pooling import Pool, Pools
from vqtest import DONE, Case, planted

REDIS = shutil.which("redis-server") or shutil.which("redis-check-rdb")  # one binary, told apart by its name
AXES = ("V1", "V2", "V3", "V4")


class PoolLocks(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 60, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms")

    def write(self, name, axes, **more):
        """Its questions are its own, so that nothing comes out of the store."""
        config = {key: more.pop(key) for key in ("redis", "term_ms") if key in more}
        self.config(axes, url=self.server.url, name=f"{name}.yaml", judge={"concurrency": 4, **more}, **config)

    def begin(self, name, runs="runs"):
        child = self.start("run", f"{name}.yaml", "--name", name, "--quiet", "--runs", self.dir / runs)
        self.wait_for("its log", lambda: child.poll() is not None or (self.dir / runs / name / "log").exists())
        return child

    def log(self, name, runs="runs"):
        return (self.dir / runs / name / "log").read_text(errors="replace")

    def redis(self):
        """A server for several machines; what its one client says and hears is lines."""
        holder, port = vqtest.kept_port()
        self.addCleanup(holder.close)
        server = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.dir)],
                                  executable=REDIS, stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

        def ask(words):
            with socket.create_connection(("127.0.0.1", port), 5) as client:
                client.sendall(words.encode() + b"\r\n")
                return client.recv(4096).decode()

        def is_up():
            try:
                return ask("PING").startswith("+PONG")
            except OSError:
                return False
        self.wait_for("Redis", is_up)
        return port, ask

    def test_a_second_run_waits_and_says_for_whom(self):
        self.write("one", AXES[:2])
        self.write("two", AXES[2:])
        one = self.begin("one")
        self.wait_for("some answers", lambda: len(self.server.answers()) >= 20)
        two = self.begin("two")
        self.wait_for("the reason", lambda: re.search(r'"locked","text":"run ."one." .pid %d ' % one.pid, self.log("two")))
        self.assertEqual(self.settled("two"), 0)
        self.assertIsNone(one.poll(), self.logs())
        self.wait_exit(one, DONE)
        self.wait_exit(two, DONE)
        self.assertEqual(self.results("two")["cells_missing"], 0)
        for run in ("one", "two"):
            self.assertGreater(self.accounting(run)["sent"], 0)
        for path in (self.dir / "runs" / "pools").iterdir():
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            self.assertEqual(path.read_text(), "", path)  # given back

    def test_two_runs_with_shares_go_on_together(self):
        self.write("one", AXES[:2], share=0.5)
        self.write("two", AXES[2:], share=0.5)
        one, two = self.begin("one"), self.begin("two")
        self.wait_for("answers of both", lambda: all(self.settled(run) > 5 for run in ("one", "two")))
        self.wait_exit(one, DONE)
        self.wait_exit(two, DONE)
        self.assertNotIn('"locked"', self.log("one") + self.log("two"))

    def test_a_killed_run_goes_on_at_once_and_another_waits_out_its_term(self):
        self.write("one", AXES[:2], term_ms=4000)
        self.write("two", AXES[2:], term_ms=4000)
        one = self.begin("one")
        self.wait_for("some answers", lambda: len(self.server.answers()) >= 20)
        one.send_signal(signal.SIGKILL)
        one.wait()
        two = self.begin("two")
        self.wait_for("the reason", lambda: re.search(r'"locked",.*without giving it back', self.log("two")))
        self.vibeq("resume", "one", "--quiet")  # its own lock does not hold it up
        self.wait_exit(two, DONE)
        self.assertEqual(self.results("one")["cells_missing"], 0)
        self.assertEqual(self.results("two")["cells_missing"], 0)

    @unittest.skipUnless(REDIS, "no Redis server")
    def test_a_shared_redis_is_for_runs_of_other_folders(self):
        port, ask = self.redis()
        url = "{url: 'redis://127.0.0.1:%d'}" % port
        self.write("one", AXES[:2], redis=url)
        self.write("two", AXES[2:], redis=url)
        one = self.begin("one")
        self.wait_for("some answers", lambda: len(self.server.answers()) >= 20)
        self.assertRegex(ask("KEYS vibeq:pool:*"), r"vibeq:pool:[0-9a-f]{32}")
        two = self.begin("two", "elsewhere")
        self.wait_for("the reason", lambda: re.search(r'"locked","text":"run ."one." .pid %d ' % one.pid, self.log("two", "elsewhere")))
        self.wait_exit(one, DONE)
        self.wait_exit(two, DONE)
        self.assertEqual(ask("KEYS vibeq:pool:*"), "*0\r\n")


class Unserved(Pools):
    samples = 40

    def test_a_key_that_no_worker_has_is_said_once(self):
        pools = {"o": Pool(concurrency=1), "a": Pool(dialect="anthropic")}
        self.serve(pools, latency="60ms")
        self.told(pools)
        del os.environ["KEY_A_1"]
        got = self.vibeq("run", "config.yaml", "--name", "r")
        self.assertEqual(got.stderr.count("Pool a gets no calls: no worker has a key for it"), 1)
        self.assertEqual(list(self.by_pool()), ["o"])
        self.check_whole()


if __name__ == "__main__":
    vqtest.main()
