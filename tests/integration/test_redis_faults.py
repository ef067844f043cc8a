# labels: slow
"""What may befall Redis while a run goes on: a lost tail, a flushed server, another server at the old address, a wrong password, full memory,
another owner, bytes that nobody wrote. Each is found out and named; then Redis is filled again from the call store, or waited for, or
the run stops with a message. Nothing is bought twice, and the results are the same bytes."""
import collections
import json
import shutil
import signal
import socket
import subprocess
import time

import vqtest
from vqtest import DONE, INTERNAL, STOPPED, Case, planted

AXES = ("V1", "V2", "V3")
SAMPLES = 40


class Redis:
    """A server of the test's own, and a connection to ask it."""

    def __init__(self, case, path, *options, folder="redis"):
        self.path = path
        self.folder = case.dir / folder
        self.folder.mkdir(exist_ok=True)
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")  # one binary, told apart by its name
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "yes", "--dir", self.folder,
             "--enable-debug-command", "yes", *options], executable=program, stdout=subprocess.DEVNULL)
        case.children.append(self.process)
        case.wait_for("Redis", self.answers)

    def answers(self):
        try:
            return self.ask("PING") in ("PONG", None) or True
        except OSError:
            return False

    def ask(self, *words):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(self.path))
            file = s.makefile("rwb")
            words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
            file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
            file.flush()
            return self.answer(file)

    def answer(self, file):
        line = file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if int(rest) < 0 else file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.answer(file) for _ in range(int(rest))]
        return rest.decode()

    def key(self, end):
        found = [k for k in self.ask("KEYS", "vibeq:*") if k.endswith(end.encode())]
        return found[0] if found else None

    def kill(self):
        self.process.kill()
        self.process.wait()


class RedisFaults(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, SAMPLES, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:5ms:15ms")
        self.path = self.dir / "redis.sock"

    def begin(self, *options, url=None, answers=150):
        self.redis = Redis(self, self.path, *options)
        self.config(AXES, url=self.server.url, judge={"concurrency": 4}, term_ms=2000, redis=f"{{url: '{url or 'unix://' + str(self.path)}'}}")
        child = self.start("run", "config.yaml", "--name", "r")
        self.half_way(child, answers)
        return child

    def half_way(self, child, answers):
        self.wait_for("answers", lambda: child.poll() is not None or len(self.server.answers()) >= answers)
        self.assertIsNone(child.poll(), f"over before it could be disturbed\n{self.logs()}")

    def said(self):
        return (self.dir / "start.out").read_text(errors="replace")

    def wait_said(self, text):
        self.wait_for(f"'{text}'", lambda: text in self.said(), 20)

    def is_whole(self, name="r"):
        counts = collections.Counter(x["hash"] for x in self.server.requests())
        if max(counts.values()) > 1:
            for h, n in counts.items():
                if n > 1:
                    print([(x["unix_ms"], x["call"], x.get("key")) for x in self.server.requests() if x["hash"] == h])
            print(self.accounting(name), self.server.answers()[-1]["unix_ms"])
        self.assertEqual(max(counts.values()), 1, "nothing was bought twice")
        calls = self.accounting(name)
        self.assertEqual((calls["unknown"], calls["paid_unused"], calls["still_out"]), (0, 0, 0))
        self.assertEqual(calls["sent"], len(self.server.requests()))
        results = self.results_bytes(name)
        self.config(AXES, url=self.server.url, term_ms=2000, name="calm.yaml")
        self.vibeq("run", "calm.yaml", "--name", "calm", "--quiet")
        self.assertEqual(results, self.results_bytes("calm"))

    def rebuilt(self, child, why):
        self.wait_exit(child, DONE)
        self.assertIn("The data in Redis is not what this run wrote", self.said())
        self.assertIn(why, self.said())
        status = json.loads((self.dir / "runs/r/status.json").read_text())
        self.assertGreaterEqual(status["recovered"]["redis_rebuilds"], 1)
        self.is_whole()

    def test_a_lost_tail(self):
        child = self.begin("--appendfsync", "always")
        older = self.dir / "older"
        shutil.copytree(self.redis.folder, older)
        before = len(self.server.answers())
        self.wait_for("more answers", lambda: len(self.server.answers()) > before + 60)
        self.redis.kill()
        shutil.rmtree(self.redis.folder)
        shutil.copytree(older, self.redis.folder)
        Redis(self, self.path)
        self.rebuilt(child, "Redis is at commit 0:")

    def test_a_flushed_server(self):
        child = self.begin()
        self.redis.ask("FLUSHALL")
        self.rebuilt(child, "Redis holds nothing of this run")

    def test_an_empty_server_at_the_old_address(self):
        child = self.begin()
        self.redis.kill()
        other = Redis(self, self.path, folder="other")
        other.ask("SET", "somebody", "else")
        self.rebuilt(child, "Redis holds nothing of this run")
        self.assertEqual(other.ask("GET", "somebody"), b"else")

    def test_a_server_that_holds_another_run(self):
        planted(self.dir, 6, AXES)
        other = Redis(self, self.dir / "other.sock", folder="other")
        self.config(AXES, url=self.server.url, redis=f"{{url: 'unix://{other.path}'}}")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--runs", self.dir / "elsewhere")
        theirs = other.key(":owner")
        self.assertTrue(theirs)
        other.kill()
        self.server.stop()
        planted(self.dir, SAMPLES, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:5ms:15ms", name="second")
        child = self.begin()
        self.redis.kill()
        self.path.unlink(missing_ok=True)
        after = Redis(self, self.path, folder="other")
        self.rebuilt(child, "Redis holds nothing of this run")
        self.assertTrue(after.ask("GET", theirs), "another run's keys are left alone")

    def test_full_memory_is_waited_for(self):
        self.server.stop()  # slower and more of it: the calls that are under way when memory is full must not be all that is left
        planted(self.dir, 4 * SAMPLES, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:30ms:60ms", name="slow")
        child = self.begin()
        self.redis.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
        self.redis.ask("CONFIG", "SET", "maxmemory", "1")
        self.wait_said("OOM")
        before = len(self.server.requests())
        self.assertIsNone(child.poll())
        self.assertIn("the run waits, nothing is lost", self.said())
        status = self.status("r")
        self.assertEqual((status["redis"], status["eta_s"]), ("away", None))
        self.assertRegex(status["note"], "Redis is away .*OOM.*; the run waits")
        self.redis.ask("CONFIG", "SET", "maxmemory", "0")
        self.wait_exit(child, DONE)
        self.assertIn("Redis is back", self.said())
        self.assertGreater(len(self.server.requests()), before)
        self.is_whole()

    def test_a_password_that_was_changed_is_named(self):
        child = self.begin()
        self.redis.ask("CONFIG", "SET", "requirepass", "another")
        self.redis.kill()
        Redis(self, self.path, "--requirepass", "another")
        self.wait_said("NOAUTH")
        self.assertIn("the run waits, nothing is lost", self.said())
        child.send_signal(signal.SIGINT)
        self.wait_said("once more stops now")
        time.sleep(0.6)  # sooner it would be the same request, told twice
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        self.vibeq("resume", "r", "--quiet", "--set", f"redis.url=unix://{self.path}", code=STOPPED)

    def test_a_wrong_password_at_the_start(self):
        Redis(self, self.path, "--requirepass", "right")
        self.config(AXES, url=self.server.url, redis=f"{{url: 'unix://{self.path}'}}")
        run = self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=STOPPED)
        self.assertIn("NOAUTH", run.stderr)
        self.assertIn("redis.url", run.stderr)
        self.assertEqual(self.server.requests(), [])

    def test_another_owner_stops_it(self):
        child = self.begin()
        key = self.redis.key(":owner")
        uid, epoch, nonce = self.redis.ask("GET", key).decode().split(":")
        self.redis.ask("SET", key, f"{uid}:{int(epoch) + 1}:{nonce}")
        self.wait_exit(child, STOPPED)
        self.assertIn("another coordinator", self.said())
        self.redis.ask("DEL", key)  # it was none after all
        self.vibeq("resume", "r", "--quiet")
        self.is_whole()

    def test_bytes_that_nobody_wrote(self):
        child = self.begin()
        column = self.redis.key(":0:0")
        outcomes = self.redis.ask("GET", column)
        self.redis.ask("SETRANGE", column, 0, bytes(b and b ^ 3 for b in outcomes))
        self.wait_exit(child, INTERNAL)
        self.assertIn("Redis and the coordinator disagree about task", self.said())
        self.assertFalse((self.dir / "runs/r/results/results.json").exists())
        self.vibeq("resume", "r", "--quiet")
        self.is_whole()


if __name__ == "__main__":
    vqtest.main()
