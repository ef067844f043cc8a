# labels: split
"""One judge served by several pools: real processes against a server that enforces limits and misbehaves on demand. The server's own
log is the judge of what was sent where and when."""
import json
import os
import signal
import time

import vqtest
from pooling import Pool, Pools
from vqtest import DONE, STOPPED

THREE = {"o": "openai", "a": "anthropic", "g": "gemini"}


class Served(Pools):
    def test_three_dialects_serve_one_judge(self):
        pools = {name: Pool(dialect=dialect, keys=2, concurrency=3) for name, dialect in THREE.items()}
        self.serve(pools)
        self.told(pools)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        asked = self.by_pool()
        self.assertEqual(set(asked), set(THREE), "each pool is used")
        calls = self.check_whole()
        accounted = json.loads((self.dir / "runs/r/accounting.json").read_text())["pools"]
        self.assertEqual({name: pool["calls"] for name, pool in accounted.items()}, asked)
        self.assertEqual(calls["sent"], sum(asked.values()))
        self.assertEqual({name for name, dialect in THREE.items()}, {r["pool"] for r in self.server.requests() if r["dialect"] == THREE[r["pool"]]})
        self.assertEqual(len({r["key"] for r in self.asked("o")}), 2, "each key is used")

    def test_what_one_pool_answered_another_need_not(self):
        pools = {"o": Pool(), "a": Pool(dialect="anthropic")}
        self.serve(pools)
        self.told({"o": pools["o"]})
        self.vibeq("run", "config.yaml", "--name", "first", "--quiet")
        sent = self.by_pool()
        self.told({"a": pools["a"]})
        self.vibeq("run", "config.yaml", "--name", "second", "--quiet")
        self.assertEqual(self.by_pool(), sent, "nothing was asked again")
        self.assertEqual(set(sent), {"o"})
        self.assertEqual(self.results_bytes("first"), self.results_bytes("second"))
        self.assertEqual(self.accounting("second")["sent"], 0)


class Closed(Pools):
    """Keys and money that end in the course of a run."""
    samples = 60

    def test_one_key_of_three_goes_bad(self):
        pools = {"o": Pool(keys=3, concurrency=6)}
        self.serve(pools, latency="40ms", faults=[{"fault": "bad_key", "key": "env:KEY_O_2", "after_ms": 900}])
        self.told(pools)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        self.assertEqual(len({r["key"] for r in self.server.requests()}), 3)
        bad = [a["n"] for a in self.server.answers() if a["status"] == 401]
        self.assertGreater(len(bad), 0, "the key went bad while it was used")
        after = [r for r in self.server.requests() if r["n"] > max(bad)]
        keys = {r["n"]: r["key"] for r in self.server.requests()}
        self.assertEqual({keys[n] for n in bad} & {r["key"] for r in after}, set(), "it is asked no more")
        self.assertEqual(len({r["key"] for r in after}), 2, "the other two are")
        self.check_whole()
        self.assertEqual([(i["pool"], i["what"]) for i in self.incidents()], [("o", "without a key")])
        self.assertEqual([(line["name"], line["state"]) for line in self.log_of("pool")], [("o", "without a key")])
        self.assertIn("key 2 of 3", self.incidents()[0]["text"])

    def test_all_keys_of_one_pool_go_bad(self):
        pools = {"o": Pool(keys=2, concurrency=4), "a": Pool(dialect="anthropic", concurrency=4)}
        self.serve(pools, latency="40ms", faults=[{"fault": "bad_key", "pool": "o", "after_ms": 900}])
        self.told(pools)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        self.closed_and_whole("o")

    def closed_and_whole(self, name):
        self.check_whole()
        found = [(i["pool"], i["what"]) for i in self.incidents() if i["what"] != "without a key"]
        self.assertEqual(found, [(name, "closed")])
        self.assertEqual([(line["name"], line["state"]) for line in self.log_of("pool")], [(i["pool"], i["what"]) for i in self.incidents()])
        refused = {a["n"] for a in self.server.answers() if a["status"] not in (200,)}
        self.assertGreater(len(refused), 0)
        self.assertGreater(len([r for r in self.server.requests() if r["n"] > max(refused)]), 0, "the others went on")

    def test_a_pool_out_of_money(self):
        pools = {"o": Pool(concurrency=4), "g": Pool(dialect="gemini", concurrency=4)}
        self.serve(pools, latency="40ms", faults=[{"fault": "quota", "pool": "g", "after_ms": 900}])
        self.told(pools)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        self.closed_and_whole("g")


class Days(Pools):
    """Days of a few seconds at the server."""
    samples = 20
    DAY_MS = 6000

    def days(self, pool, quota):
        """Calls let through in each of the server's days."""
        count = {}
        for r in self.asked(pool):
            if r["admitted"]:
                count[r["unix_ms"] // self.DAY_MS] = count.get(r["unix_ms"] // self.DAY_MS, 0) + 1
        self.assertTrue(all(n <= quota for n in count.values()), count)
        return count

    def test_a_days_quota_parks_the_pool_and_the_other_goes_on(self):
        pools = {"o": Pool("rpd=20,day_ms=3600000", concurrency=4), "a": Pool(dialect="anthropic", concurrency=4)}
        self.serve(pools)
        self.told(pools)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        self.check_whole()
        self.assertLessEqual(len([r for r in self.asked("o") if r["admitted"]]), 40)
        self.assertGreater(len([r for r in self.asked("o") if r["refused_by"] == "day_requests"]), 0)

    def test_a_quota_that_is_told_is_never_run_into(self):
        """How much of it is used before the other pool has done the rest depends on who is faster; that no more is, does not."""
        pools = {"o": Pool("rpd=20,day_ms=3600000", rpd=10, concurrency=4), "a": Pool(dialect="anthropic", concurrency=4)}
        self.serve(pools)
        self.told(pools)
        child = self.begin("--workers", 3)
        self.wait_exit(child, DONE)
        self.check_whole()
        self.assertLessEqual(len(self.asked("o")), 10, "no more is asked for")
        self.assertEqual({r["refused_by"] for r in self.server.requests()}, {None})
        self.assertIn([(i["pool"], i["what"]) for i in self.incidents()], ([], [("o", "parked")]))

    def test_quotas_that_are_told_are_used_in_full(self):
        """Both together are less than the run needs: neither pool can end it before the other one's last call, whichever worker holds that."""
        if 86400 - time.time() % 86400 < 60:
            self.skipTest("midnight UTC is too near")
        pools = {"o": Pool("rpd=20,day_ms=86400000", rpd=10, concurrency=4),
                 "a": Pool("rpd=120,day_ms=86400000", dialect="anthropic", rpd=61, concurrency=4)}
        self.serve(pools)
        self.told(pools)
        child = self.start("run", "config.yaml", "--name", "r", "--workers", 3)
        self.wait_for("both parks", lambda: child.poll() is not None or {line["name"] for line in self.log_of("pool")} == set(pools))
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        self.assertEqual(self.by_pool(), {"o": 10, "a": 61}, "all of each, and not one more")
        self.assertEqual({r["refused_by"] for r in self.server.requests()}, {None})
        self.assertEqual({(line["name"], line["state"]) for line in self.log_of("pool")}, {("a", "parked"), ("o", "parked")})
        self.told({"a": Pool(dialect="anthropic", concurrency=4)})
        self.vibeq("run", "config.yaml", "--name", "rest", "--quiet")
        self.assertEqual(self.check_whole("rest")["from_store"], 71)

    def test_a_quota_that_is_told_parks_the_only_pool(self):
        """Days end at midnight UTC for the run: it is not waited for here."""
        if 86400 - time.time() % 86400 < 60:
            self.skipTest("midnight UTC is too near")
        pools = {"o": Pool("rpd=30,day_ms=86400000", rpd=30, concurrency=4)}
        self.serve(pools)
        self.told(pools, alarm="{idle_s: 2}")
        child = self.start("run", "config.yaml", "--name", "r", "--workers", 3)
        self.wait_for("the park", lambda: self.pool_of("o").get("state") == "parked")
        self.wait_for("the alarm", lambda: self.log_of("alarm.idle"))
        status = json.loads(self.vibeq("status", "r", "--json", code=5).stdout)
        self.assertEqual((status["state"], status["pools"][0]["state"]), ("stalled", "parked"))
        midnight = (time.time() // 86400 + 1) * 86400 * 1000
        self.assertLess(abs(status["pools"][0]["until_unix_ms"] - midnight), 5000)
        said = self.vibeq("status", "r", code=5).stdout
        self.assertIn("no pool takes calls: pool o parked since", said)
        self.assertIn("until", said)
        self.assertIsNone(status["eta_s"], "the rate of the last minute says nothing of it")
        self.assertNotIn("spent so far", said)
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        self.assertEqual([r["refused_by"] for r in self.server.requests()], [None] * 30, "all of it, and not one more")
        child = self.start("resume", "r")
        self.wait_for("the park", lambda: self.pool_of("o").get("state") == "parked")
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        self.assertEqual(len(self.server.requests()), 30, "what was spent before is known after a restart")

    def test_the_only_pool_parks_until_its_day_ends(self):
        pools = {"o": Pool(f"rpd=60,day_ms={self.DAY_MS}", concurrency=4)}
        self.serve(pools)
        self.told(pools, alarm="{idle_s: 60}")
        child = self.start("run", "config.yaml", "--name", "r")
        pool = {}  # as it was seen parked: on a busy machine its day may have ended by the next look

        def is_parked():
            pool.update(self.pool_of("o"))
            return pool.get("state") == "parked"

        self.wait_for("the park", lambda: child.poll() is not None or is_parked(), 30)
        self.assertIsNone(child.poll(), self.logs())
        self.assertGreater(pool["since_unix_ms"], 0)
        self.assertGreater(pool["until_unix_ms"], pool["since_unix_ms"])
        said = self.vibeq("status", "r").stdout
        self.assertIn("parked", said)
        self.assertIn("until", said)
        self.wait_exit(child, DONE)
        self.check_whole(alarm="{idle_s: 60}")
        self.assertGreater(len(self.days("o", 60)), 1, "it went on in another day")
        self.assertIn("parked", (self.dir / "start.out").read_text())


class Kept(Pools):
    """Limits that are told right: nothing is over, whoever dies."""
    samples = 60

    def test_four_workers_of_which_one_dies(self):
        text = {"o": "rpm=2400,window_ms=2000", "a": "rpm=1200,itpm=400000,window_ms=2000"}
        pools = {"o": Pool(text["o"], keys=2, rpm=2400, window_s=2), "a": Pool(text["a"], dialect="anthropic", rpm=1200, itpm=400000, window_s=2)}
        self.serve(pools, latency="uniform:20ms:80ms")
        self.told(pools)
        child = self.begin("--workers", 4, "--quiet", answers=40)
        os.kill(self.processes_of(str(self.dir), "vibeq-worker")[0], signal.SIGKILL)
        self.wait_exit(child, DONE)
        found = self.over()
        self.assertEqual((found["over"], found["refused"]), (0, 0), found)
        self.assertEqual(set(found["pools"]), {"o", "a"})
        self.check_whole()


class Same(Pools):
    samples = 40

    def test_one_key_under_two_names(self):
        pools = {"o": Pool(key_names=["KEY_O_1"]), "p": Pool(key_names=["KEY_O_1"])}
        self.serve({"o": pools["o"]})
        self.told(pools)
        got = self.vibeq("run", "config.yaml", "--name", "r")
        self.assertEqual([(line["a"], line["b"]) for line in self.log_of("pool.same_account")], [("o", "p")])
        self.assertIn("Pools o and p seem to be one account", got.stderr)

    def test_one_organisation_under_two_names(self):
        pools = {"o": Pool(key_names=["KEY_O_1"]), "p": Pool(key_names=["KEY_O_2"]), "q": Pool()}
        self.serve({"o": Pool(keys=2), "q": pools["q"]}, latency="60ms")
        self.told(pools)
        self.vibeq("run", "config.yaml", "--name", "r")
        self.assertEqual([(line["a"], line["b"]) for line in self.log_of("pool.same_account")], [("o", "p")])


class Shared(Pools):
    """Two runs on one provider's key."""
    samples = 60

    def test_the_second_parks_and_goes_on_when_the_first_has_ended(self):
        pools = {"o": Pool(concurrency=4)}
        self.serve(pools, latency="40ms")
        self.told(pools)
        first = self.begin("--quiet")
        self.told(pools, judge=", seed: 7")  # so that nothing is taken from the store
        second = self.start("run", "config.yaml", "--name", "s")
        self.wait_for("the lock to be in the way", lambda: self.pool_of("o", "s").get("state") == "locked")
        self.assertIsNone(first.poll(), "the first goes on meanwhile")
        self.assertIn('run "r"', self.pool_of("o", "s")["text"])
        self.assertIn('run "r"', self.vibeq("status", "s").stdout)
        self.wait_exit(first, DONE)
        self.wait_exit(second, DONE)
        last = json.loads((self.dir / "runs/r/accounting.json").read_text())["last_call_unix_ms"]
        begun = json.loads((self.dir / "runs/s/accounting.json").read_text())["first_call_unix_ms"]
        self.assertGreaterEqual(begun, last, "no call of the second before the last of the first")
        self.assertEqual(len(self.server.requests()), self.accounting("r")["sent"] + self.accounting("s")["sent"])
        self.assertEqual([(i["pool"], i["what"], i["over_unix_ms"] is not None) for i in self.incidents("s")], [("o", "locked", True)])
        self.assertEqual(self.incidents("r"), [])
        self.assertIn('run "r"', (self.dir / "start.out").read_text())
        self.assertLessEqual(self.in_flight_most("o"), 4)


class Told(Pools):
    """vibeq ctl: what is said holds, by the server's log."""
    samples = 120

    def ctl(self, *words, code=DONE):
        return self.vibeq("ctl", "r", *words, code=code)

    def now_n(self):
        return self.server.requests()[-1]["n"]

    def comes_to_hold(self, what, measure, bound):
        """`measure` of some moment is 1 to `bound`, while there is work enough that it would be more."""
        self.wait_for(what, lambda: measure() in range(1, bound + 1))
        self.assertGreater(self.status("r")["tasks"]["open"], 50)

    def asked_in(self, pool, seconds):
        since = time.time() * 1000
        time.sleep(seconds)
        return len(self.asked(pool, since, since + seconds * 1000))

    def in_flight_in(self, pool, seconds):
        since = self.now_n()
        time.sleep(seconds)
        return self.in_flight_between(pool, since, self.now_n())

    def test_rates_parks_and_concurrency(self):
        pools = {"o": Pool(concurrency=4), "a": Pool(dialect="anthropic", concurrency=4)}
        self.serve(pools, latency="60ms")
        self.told(pools)
        child = self.begin("--quiet")
        self.assertIn("o", self.ctl("park", "o").stdout)
        sent, others = self.settle(lambda: len(self.asked("o"))), len(self.asked("a"))
        time.sleep(1.5)
        self.assertEqual(len(self.asked("o")), sent, "nothing is asked of it")
        self.assertGreater(len(self.asked("a")), others, "the other goes on")
        self.assertEqual(self.pool_of("o")["state"], "held")
        self.ctl("pool", "a", "--rpm", "120", "--concurrency", "1")
        self.comes_to_hold("one in half a second", lambda: self.asked_in("a", 3), 7)
        self.assertEqual(self.pool_of("a")["limits"]["requests_per_minute"]["by"], "hand")
        self.ctl("unpark", "o")
        self.wait_for("it to go on", lambda: len(self.asked("o")) > sent)
        self.ctl("concurrency", "2", "--pool", "o")
        self.comes_to_hold("two at a time", lambda: self.in_flight_in("o", 1), 2)
        self.ctl("pool", "a", "--rpm", "60000")
        self.assertIn("there is no pool 'x'", self.ctl("park", "x", code=vqtest.USAGE).stderr)
        self.ctl("concurrency", "8")
        self.wait_exit(child, DONE)
        self.check_whole()

    def in_flight_between(self, pool, first, last):
        of = {r["n"] for r in self.asked(pool)}
        now = most = 0
        for line in self.server.log():
            if line.get("n") in of:
                now += 1 if line["event"] == "request" else -1
                if first <= line["n"] <= last:
                    most = max(most, now)
        return most


if __name__ == "__main__":
    vqtest.main()
