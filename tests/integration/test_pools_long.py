# labels: long
"""More of what test_pools.py looks at, for whoever has the time."""
import os
import signal
import time

import vqtest
from pooling import Pool, Pools
from vqtest import DONE, STOPPED


class Closed(Pools):
    samples = 60

    def test_the_only_pool_goes_bad_and_the_run_is_resumed(self):
        pools = {"o": Pool(keys=2, concurrency=6)}
        self.serve(pools, latency="40ms", faults=[{"fault": "bad_key", "pool": "o", "after_ms": 900, "until_ms": 6000}])
        self.told(pools)
        got = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        self.assertIn("vibeq resume r", got.stderr)
        self.assertIn("key", got.stderr)
        self.assertEqual(self.status("r")["tasks"]["failed"], 0)
        first = self.server.log()[0]
        self.wait_for("the keys to be good again", lambda: time.time() * 1000 - first["unix_ms"] > 7000, 20)
        answered = {r["hash"] for r, a in self.pairs() if a["status"] == 200}
        self.vibeq("resume", "r", "--quiet")
        again = [r for r in self.server.requests() if r["hash"] in answered]
        self.assertEqual(len(again), len(answered), "nothing that was answered is bought again")
        self.check_whole()

    def pairs(self):
        answers = {a["n"]: a for a in self.server.answers()}
        return [(r, answers[r["n"]]) for r in self.server.requests() if r["n"] in answers]


class Storms(Pools):
    samples = 80

    def test_a_storm_of_529_on_one_pool(self):
        pools = {"o": Pool(concurrency=2), "a": Pool(dialect="anthropic", concurrency=2)}
        self.serve(pools, latency="60ms", faults=[{"fault": "overloaded", "pool": "a", "after_ms": 500, "until_ms": 8500}])
        self.told(pools)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        self.check_whole()
        self.assertGreater(len([a for a in self.server.answers() if a["status"] == 529]), 4)
        self.assertEqual([(i["pool"], i["what"]) for i in self.incidents()], [("a", "failing")])
        self.assertEqual([line["name"] for line in self.log_of("pool") if line.get("over") is None], ["a"])

    def test_a_pool_that_slows_starves_no_slots(self):
        pools = {"o": Pool(concurrency=4), "a": Pool(dialect="anthropic", concurrency=4)}
        self.serve(pools, latency="40ms", faults=[{"fault": "slow", "pool": "a", "after_ms": 700, "delay_ms": 6000}])
        self.told(pools)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--workers", 1)
        self.check_whole()
        slow = [r["n"] for r, a in self.pairs_of("a") if a["took_us"] > 5e6]
        self.assertGreater(len(slow), 0, "some were slow")
        asked = [r["n"] for r in self.asked("o")]
        meanwhile = [n for n in asked if n > slow[0]]
        self.assertGreater(len(meanwhile), 10 * len(slow), "the other pool goes on meanwhile")
        self.assertGreaterEqual(self.in_flight_most("o"), 4)

    def pairs_of(self, pool):
        answers = {a["n"]: a for a in self.server.answers()}
        return [(r, answers[r["n"]]) for r in self.asked(pool) if r["n"] in answers]


class Kept(Pools):
    samples = 60

    def test_concurrency_of_four_workers(self):
        pools = {"o": Pool("concurrency=6", concurrency=6)}
        self.serve(pools, latency="uniform:20ms:80ms")
        self.told(pools)
        child = self.begin("--workers", 4, "--quiet", answers=40)
        os.kill(self.processes_of(str(self.dir), "vibeq-worker")[0], signal.SIGKILL)
        self.wait_exit(child, DONE)
        self.assertEqual(self.over()["over"], 0)
        self.assertLessEqual(self.in_flight_most("o"), 6)
        self.assertGreaterEqual(self.in_flight_most("o"), 4, "and they are used")
        self.check_whole()

    def test_the_coordinator_dies(self):
        pools = {"o": Pool("rpm=3000,window_ms=1000,concurrency=8", rpm=3000, window_s=1, concurrency=8)}
        self.serve(pools, latency="uniform:20ms:80ms")
        self.told(pools)
        child = self.begin("--workers", 3, "--quiet", answers=40)
        child.kill()
        child.wait()
        self.vibeq("resume", "r", "--quiet", "--workers", 3)
        found = self.over()
        self.assertEqual((found["over"], found["refused"]), (0, 0), found)
        self.assertLessEqual(self.in_flight_most("o"), 8)
        self.check_whole()


class Waiting(Pools):
    samples = 14

    def test_waiting_burns_no_attempt(self):
        pools = {"o": Pool("rpm=600,window_ms=1000", rpm=600, window_s=1)}
        self.serve(pools, latency="0ms")
        self.told(pools, judging="{tries_max: 1}")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--workers", 3)
        self.assertEqual({r["try"] for r in self.server.requests()}, {1})
        self.assertEqual(self.over()["over"], 0)
        self.check_whole(judging="{tries_max: 1}")


class Learned(Pools):
    samples = 60

    def test_limits_that_headers_tell(self):
        pools = {"o": Pool("rpm=1800,window_ms=2000", window_s=2), "a": Pool("rpm=1800,window_ms=2000", dialect="anthropic", window_s=2)}
        self.serve(pools)
        self.told(pools)
        child = self.begin("--workers", 2, "--quiet", answers=40)
        self.wait_for("the limits", lambda: child.poll() is not None or all(
            self.pool_of(name).get("limits", {}).get("requests_per_minute", {}).get("by") == "headers" for name in pools))
        self.assertIsNone(child.poll(), self.logs())
        self.assertEqual(self.pool_of("o")["limits"]["requests_per_minute"]["limit"], 1800)
        self.wait_exit(child, DONE)
        self.check_whole()

    def test_a_refusal_that_names_the_most_in_flight(self):
        pools = {"o": Pool("concurrency=3")}
        self.serve(pools, latency="60ms")
        self.told(pools)
        child = self.begin("--workers", 2, "--quiet", answers=40)
        self.wait_for("the refusal", lambda: child.poll() is not None or 0 < (
            self.pool_of("o").get("limits", {}).get("concurrency", {}).get("limit") or 0) <= 3)
        self.assertIsNone(child.poll(), self.logs())
        self.assertEqual(self.pool_of("o")["limits"]["concurrency"]["by"], "learned")
        learned = self.server.requests()[-1]["n"]
        self.wait_exit(child, DONE)
        late = [r for r in self.server.requests() if r["n"] > learned + 10 and r["refused_by"]]
        self.assertEqual(late, [], "it is asked for no more than that from then on")
        self.check_whole()


class Shared(Pools):
    """Two runs on one provider's key."""
    samples = 60

    def test_the_holder_is_killed(self):
        pools = {"o": Pool(concurrency=4)}
        self.serve(pools, latency="40ms")
        self.told(pools)
        first = self.begin("--quiet")
        self.told(pools, judge=", seed: 7")
        second = self.start("run", "config.yaml", "--name", "s", "--quiet")
        self.wait_for("the lock to be in the way", lambda: self.pool_of("o", "s").get("state") == "locked")
        first.kill()
        first.wait()
        self.wait_exit(second, DONE)
        self.assertEqual(self.status("s")["tasks"]["failed"], 0)
        self.assertLessEqual(self.in_flight_most("o"), 4, "not before the first one's workers have stopped")

    def test_with_shares_both_run_at_once(self):
        text = "rpm=3000,window_ms=2000,concurrency=8"
        pools = {"o": Pool(text, rpm=3000, window_s=2, concurrency=8, share=0.5)}
        self.serve(pools, latency="uniform:20ms:60ms")
        self.told(pools)
        first = self.begin("--quiet", "--workers", 2)
        self.told(pools, judge=", seed: 7")
        second = self.start("run", "config.yaml", "--name", "s", "--quiet", "--workers", 2)
        self.wait_for("an answer of the second", lambda: self.pool_of("o", "s").get("answered", 0) > 10)
        self.assertIsNone(first.poll(), "both at once")
        self.wait_exit(first, DONE)
        self.wait_exit(second, DONE)
        found = self.over()
        self.assertEqual((found["over"], found["refused"]), (0, 0), found)
        self.assertLessEqual(self.in_flight_most("o"), 8)
        self.assertEqual(self.incidents("s"), [])


if __name__ == "__main__":
    vqtest.main()
