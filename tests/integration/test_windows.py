"""The judge of limits (tests/tools/windows.py) against logs made by hand, some of which are over, and the offline server's limits
against a client that keeps to none, in every dialect."""
import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse

from vqtest import ROOT, Case

sys.path.insert(0, str(ROOT / "tests" / "tools"))
import windows  # noqa: E402


class Log:
    """Lines as the server writes them; times in ms."""

    def __init__(self):
        self.lines = []

    def call(self, at, took=10, pool="default", refused_by=None, asked_in=10, asked_out=5, counted_out=None, dialect="openai",
             admitted=True, lost=False, cached=0, output=None):
        n = len(self.lines) + 1
        counted = asked_out if counted_out is None else counted_out
        self.lines.append({"event": "request", "n": n, "unix_ms": int(at), "mono_ns": int(at * 1e6), "pool": pool, "dialect": dialect,
                           "admitted": None if admitted is None else refused_by is None, "refused_by": refused_by,
                           "asked_in": asked_in, "asked_out": asked_out, "prompt_tokens": asked_in + cached})
        if took is None:
            return
        end = {"n": n, "unix_ms": int(at + took), "mono_ns": int((at + took) * 1e6)}
        if lost:
            self.lines.append({"event": "lost", "why": "client", **end})
        else:
            self.lines.append({"event": "answer", "status": 429 if refused_by else 200, "counted_out": 0 if refused_by else counted,
                               "completion_tokens": counted if output is None else output, **end})

    def judge(self, *texts, **more):
        return windows.judge(self.lines, texts, **more)

    def dimension(self, what, *texts, pool="default", **more):
        found = self.judge(*texts, **more)["pools"][pool]["dimensions"][what]
        return found["limit"], found["largest"], found["over"]


class ByHand(unittest.TestCase):
    def test_a_window_is_half_open(self):
        log = Log()
        for at in (0, 400, 999, 1000, 1400, 1999):
            log.call(at)
        self.assertEqual(log.dimension("requests", "rpm=180,window_ms=1000"), (3, 3, 0))
        self.assertEqual(log.dimension("requests", "rpm=120,window_ms=1000"), (2, 3, 4))
        self.assertEqual(log.dimension("requests", "rpm=180,window_ms=1001"), (3, 4, 3))

    def test_one_over_is_found_wherever_it_is(self):
        for moved in range(1, 100):
            log = Log()
            for i in range(100):
                log.call(100 * i - (1 if i == moved else 0))
            self.assertEqual(log.judge("rpm=600,window_ms=1000")["over"], 1 if moved >= 10 else 0, moved)

    def test_each_kind_of_tokens(self):
        log = Log()
        log.call(0, asked_in=50, asked_out=10)
        log.call(10, asked_in=40, asked_out=30)
        text = "itpm=%d,otpm=%d,tpm=%d"
        self.assertEqual(log.judge(text % (90, 40, 130))["over"], 0)
        for values, over in (((89, 40, 130), "input_tokens"), ((90, 39, 130), "output_tokens"), ((90, 40, 129), "tokens")):
            self.assertEqual(log.judge(text % values)["over"], 1)
            self.assertEqual(log.dimension(over, text % values)[2], 1)

    def test_what_is_settled_is_given_back_when_it_is(self):
        for took, over in ((100, 0), (300, 1)):  # the second comes at 200
            log = Log()
            log.call(0, took=took, asked_in=10, asked_out=90, counted_out=5)
            log.call(200, asked_in=10, asked_out=60, counted_out=5)
            self.assertEqual(log.judge("tpm=6000,window_ms=1000,count=settle")["over"], over)
        log = Log()
        log.call(0, took=1500, asked_in=10, asked_out=90, counted_out=5)  # settled when it has left the window
        log.call(1200, asked_in=10, asked_out=90)
        log.call(1600, asked_in=0, asked_out=1)
        self.assertEqual(log.dimension("tokens", "tpm=6000,window_ms=1000"), (100, 101, 1))

    def test_refused_calls_count_as_the_server_says(self):
        log = Log()
        for i in range(4):
            log.call(i, refused_by="requests" if i >= 2 else None)
        self.assertEqual(log.dimension("requests", "rpm=2"), (2, 2, 0))
        self.assertEqual(log.dimension("requests", "rpm=2,count_refused=1"), (2, 4, 2))
        self.assertEqual(log.dimension("requests", "rpm=2", offered=True), (2, 4, 2))
        self.assertEqual(log.dimension("tokens", "tpm=30,count_refused=1"), (30, 30, 0))
        self.assertEqual(log.dimension("tokens", "tpm=30", offered=True), (30, 60, 2))
        found = log.judge("rpm=2")["pools"]["default"]
        self.assertEqual((found["refused_share"], found["refused_by"]), (0.5, {"requests": 2}))

    def test_failed_calls_count_and_are_not_refused(self):
        log = Log()
        log.call(0)
        log.call(1, refused_by="fault", asked_in=0, asked_out=0)
        log.call(2)
        self.assertEqual(log.dimension("requests", "rpm=2,count_failed=1"), (2, 3, 1))
        self.assertEqual(log.dimension("tokens", "tpm=30,count_failed=1"), (30, 30, 0))
        found = log.judge("rpm=2,concurrency=2,count_failed=1")["pools"]["default"]
        self.assertEqual((found["refused"], found["refused_by"]), (0, {}))

    def test_concurrency(self):
        log = Log()
        log.call(0, took=100)
        log.call(50, took=100)
        log.call(100, took=None)  # one has just ended, and this one never does
        log.call(120, took=5, lost=True)
        log.call(126, took=1)
        self.assertEqual(log.dimension("concurrency", "concurrency=3"), (3, 3, 0))
        self.assertEqual(log.dimension("concurrency", "concurrency=2"), (2, 3, 2))

    def test_days(self):
        log = Log()
        for at in (500, 900, 999, 1000, 1500):
            log.call(at)
        self.assertEqual(log.dimension("day_requests", "rpd=3,day_ms=1000"), (3, 3, 0))
        self.assertEqual(log.dimension("day_requests", "rpd=2,day_ms=1000"), (2, 3, 1))
        self.assertEqual(log.dimension("day_tokens", "tpd=44,day_ms=1000"), (44, 45, 1))
        for dialect, over in (("openai", 1), ("gemini", 0)):
            log = Log()
            log.call(1782889200000 - 1000, dialect=dialect)  # 2026-07-01, a second before midnight US Pacific
            log.call(1782889200000, dialect=dialect)
            self.assertEqual(log.judge("rpd=1")["over"], over, dialect)
        log = Log()
        log.call(1767254399000, dialect="gemini")  # and on 2026-01-01, in winter
        log.call(1767254400000, dialect="gemini")
        self.assertEqual(log.judge("rpd=1")["over"], 0)

    def test_ramp(self):
        log = Log()
        for i in range(10):
            log.call(i)
        for i in range(16):
            log.call(1005 + i)
        for limits, over in (("ramp=50,ramp_floor=600,ramp_ms=1000", 2), ("ramp=60,ramp_floor=600,ramp_ms=1000", 0),
                             ("ramp=60,ramp_floor=540,ramp_ms=1000", 1)):
            found = log.judge(limits)["pools"]["default"]["dimensions"]["ramp"]
            self.assertEqual(found["over"] > 0, over > 0, (limits, found))

    def test_money(self):
        log = Log()
        for i in range(3):
            log.call(i, asked_in=1000, asked_out=500, counted_out=500, output=200, cached=400)
        cost = 3 * (1000 * 2 + 400 * 0.5 + 200 * 10) / 1e6
        prices = ",usd_in=2,usd_cached=0.5,usd_out=10"
        self.assertEqual(log.judge(f"usd={cost}{prices}")["over"], 0)
        self.assertEqual(log.judge(f"usd={cost - 1e-6:.6f}{prices}")["over"], 1)

    def test_use_of_what_binds(self):
        log = Log()
        for i in range(100):
            log.call(i * 100, asked_in=10, asked_out=5)
        found = log.judge("rpm=1200,tpm=10000,window_ms=1000", start_ms=0, end_ms=10000)["pools"]["default"]
        self.assertEqual(found["binding"], "tokens")
        self.assertAlmostEqual(found["use"], 100 * 15 / (166 * 10))
        self.assertAlmostEqual(found["dimensions"]["requests"]["use"], 0.5)
        found = log.judge("rpm=1200,concurrency=1", start_ms=5000, end_ms=10000)["pools"]["default"]
        self.assertAlmostEqual(found["dimensions"]["concurrency"]["use"], 0.1)

    def test_pools_are_apart_and_must_be_known(self):
        log = Log()
        log.call(0, pool="acme/offline-a")
        log.call(1, pool="acme/offline-b")
        log.call(2, pool="default/0123")
        log.call(3, admitted=None)  # met no limit
        found = log.judge("acme:keys=env:A,rpm=1,per=model", "rpm=1,per=key")
        self.assertEqual((found["over"], found["calls"], found["calls_with_limits"]), (0, 4, 3))
        with self.assertRaises(ValueError):
            log.judge("rpm=1")

    def test_against_a_plain_recount(self):
        rng = random.Random(7)
        for _ in range(30):
            log, at = Log(), 0
            for _ in range(200):
                at += rng.choice((0, 1, 5, 40, 1200))
                log.call(at, asked_in=rng.randrange(20), asked_out=0)
            calls = [(line["mono_ns"], line["asked_in"]) for line in log.lines if line["event"] == "request"]
            sums = [sum(n for at, n in calls[:i + 1] if at > now - 10 ** 9) for i, (now, _) in enumerate(calls)]
            limit = rng.randrange(60, 200)
            self.assertEqual(log.dimension("input_tokens", f"itpm={limit * 60},window_ms=1000"),
                             (limit, max(sums), sum(s > limit for s in sums)))

    def test_exit_codes(self):
        def run(lines, *options):
            path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"vq-windows-{os.getpid()}.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
                file.write('{"event": "requ')  # in the making
            try:
                return subprocess.run([sys.executable, ROOT / "tests" / "tools" / "windows.py", path, *options],
                                      capture_output=True, text=True, check=False)
            finally:
                os.unlink(path)
        log = Log()
        log.call(0)
        log.call(1)
        self.assertEqual(run(log.lines, "--limits", "rpm=2").returncode, 0)
        over = run(log.lines, "--limits", "rpm=1", "--json")
        self.assertEqual((over.returncode, json.loads(over.stdout)["over"]), (1, 1))
        self.assertEqual(run([], "--limits", "rpm=1").returncode, 2)
        self.assertEqual(run(log.lines, "--limits", "p:rpm=1").returncode, 2)


PATHS = {"openai": "/v1/chat/completions", "azure": "/openai/deployments/offline-a/chat/completions?api-version=1",
         "anthropic": "/v1/messages", "gemini": "/v1beta/models/offline-a:generateContent"}
KEYS = {"openai": ("Authorization", "Bearer "), "azure": ("api-key", ""), "anthropic": ("x-api-key", ""), "gemini": ("x-goog-api-key", "")}


def body_of(dialect, text, max_tokens):
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": text}]}], "generationConfig": {"maxOutputTokens": max_tokens}}
    return {"model": "offline-a", "max_tokens": max_tokens, "messages": [{"role": "user", "content": text}]}


class RealServer(Case):
    LIMITS = ("two:keys=env:VQ_TEST_K1+env:VQ_TEST_K2,rpm=3000,window_ms=1000",
              "settles:keys=env:VQ_TEST_K3,models=offline-a,tpm=300000,window_ms=1000,count=settle,per=model",
              "maxes:keys=env:VQ_TEST_K4,otpm=120000,itpm=240000,window_ms=500,count=max",
              "few:keys=env:VQ_TEST_K5,concurrency=3,rpd=400,day_ms=1000,usd=0.02,usd_in=1,usd_out=2",
              "ramps:keys=env:VQ_TEST_K6,ramp=30,ramp_floor=1200,ramp_ms=500",
              "rpm=6000,tpm=300000,window_ms=1000,per=key")
    USERS = (("openai", 1), ("azure", 2), ("anthropic", 3), ("gemini", 4), ("openai", 5), ("openai", 5), ("azure", 5), ("gemini", 5),
             ("gemini", 6), ("anthropic", 7), ("openai", 8))

    def setUp(self):
        super().setUp()
        for i in range(1, 9):
            os.environ[f"VQ_TEST_K{i}"] = f"sk-canary-{i}"

    def hammer(self, server, seconds):
        """Asks as fast as it can, on several connections at a time."""
        url = urllib.parse.urlsplit(server.url)
        until = time.monotonic() + seconds
        statuses, problems = {}, []

        def work(dialect, key, seed):
            rng = random.Random(seed)
            connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
            name, prefix = KEYS[dialect]
            try:
                while time.monotonic() < until:
                    text = json.dumps(body_of(dialect, "x" * rng.randrange(1, 400), rng.randrange(1, 80)))
                    connection.request("POST", PATHS[dialect], text, {name: f"{prefix}sk-canary-{key}"})
                    answer = connection.getresponse()
                    answer.read()
                    statuses[answer.status] = statuses.get(answer.status, 0) + 1
                    if answer.status != 200 and rng.random() < 0.5:
                        time.sleep(0.002)
            except (OSError, http.client.HTTPException) as problem:
                problems.append(problem)
            finally:
                connection.close()
        threads = [threading.Thread(target=work, args=(dialect, key, i)) for i, (dialect, key) in enumerate(self.USERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])
        return statuses

    def test_what_the_server_lets_through_is_within_its_limits(self):
        server = self.offline(*(word for text in self.LIMITS for word in ("--limits", text)), "--latency", "uniform:0ms:8ms")
        statuses = self.hammer(server, 3)
        server.stop()
        self.assertLessEqual(set(statuses), {200, 400, 429})
        log = server.log()
        found = windows.judge(log, self.LIMITS)
        self.assertEqual(found["over"], 0, json.dumps(found, indent=1))
        self.assertEqual(found["calls_with_limits"], sum(statuses.values()))
        self.assertEqual({pool.split("/")[0] for pool in found["pools"]}, {"two", "settles", "maxes", "few", "ramps", "default"})
        self.assertIn("settles/offline-a", found["pools"])
        self.assertEqual(sum(pool.startswith("default/") for pool in found["pools"]), 2)
        refused_by = {kind for pool in found["pools"].values() for kind in pool["refused_by"]}
        self.assertLessEqual({"requests", "tokens", "concurrency", "ramp"}, refused_by)
        for name in ("two", "settles/offline-a"):  # a limit that is hammered at is used to the full
            self.assertGreater(found["pools"][name]["refused"], 0, name)
            dimension = found["pools"][name]["dimensions"][found["pools"][name]["binding"]]
            self.assertGreater(dimension["largest"], 0.9 * dimension["limit"], name)
        self.assertGreater(windows.judge(log, self.LIMITS, offered=True)["over"], 0)
        text = server.log_path.read_text()
        self.assertNotIn("canary", text)
        half = [text.replace("rpm=3000", "rpm=1500") for text in self.LIMITS]  # the judge does not believe the server
        self.assertGreater(windows.judge(log, half)["pools"]["two"]["over"], 0)

    def test_calls_that_are_refused_can_use_the_limit_up(self):
        limits = "rpm=3000,window_ms=1000,count_refused=1,per=all"
        server = self.offline("--limits", limits)
        self.hammer(server, 1)
        server.stop()
        found = windows.judge(server.log(), [limits])
        self.assertGreater(found["over"], 0)
        self.assertGreater(found["refused"], 0)


if __name__ == "__main__":
    unittest.main()
