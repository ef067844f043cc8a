"""What limits a pool: `vibeq status` names it, an alarm is raised for a slow pool, and a person's limit replaces what refusals taught."""
import json
import time
import urllib.request

import vqtest
from pooling import Pool, Pools
from vqtest import DONE


class Limited(Pools):
    samples = 400

    def pool(self):
        return self.pool_of("o")

    def status_text(self, code=0):
        return self.vibeq("status", "r", code=code).stdout

    def metric(self, name):
        address = json.loads((self.dir / "runs/r/endpoint.json").read_text())["address"]
        with urllib.request.urlopen(f"{address}/metrics", timeout=10) as answer:
            return [line for line in answer.read().decode().splitlines() if line.startswith(f"vibeq_{name}{{")]

    def test_status_names_the_limit_and_an_alarm_tells_of_a_slow_pool(self):
        pools = {"o": Pool("rpm=6000000", rpm=36000, concurrency=2)}
        self.serve(pools, latency="200ms")
        self.told(pools, alarm="{slow_s: 2}")
        child = self.begin("--workers", 1, answers=10)
        self.wait_for("the limit", lambda: self.pool().get("limited", {}).get("by") == "concurrency")
        # on a busy machine a worker may have too little to ask for a moment: each is looked at until it says so
        self.wait_for("its source", lambda: self.pool()["limited"].items() >= {"source": "config", "limit": 2}.items())
        self.wait_for("the status", lambda: "limited by concurrency 2 (configured); configured 36,000 a minute" in self.status_text())
        self.wait_for("the metric", lambda: 'vibeq_pool_limited{run="r",pool="o",by="concurrency"} 1' in self.metric("pool_limited"))
        alarms = []
        self.wait_for("the alarm", lambda: alarms.append(self.status("r").get("alarm")) or alarms[-1] is not None)
        alarm = alarms[-1]
        self.assertEqual((alarm["kind"], alarm["pool"]), ("slow", "o"))
        self.assertIn("limited by concurrency 2", alarm["text"])
        self.wait_for("its metric", lambda: 'vibeq_pool_slow{run="r",pool="o"} 1' in self.metric("pool_slow"))
        self.wait_for("its words", lambda: "slow since" in self.status_text())
        self.vibeq("ctl", "r", "pool", "o", "--rpm", 200)
        self.wait_for("the end of the alarm", lambda: self.status("r").get("alarm") is None)
        self.wait_for("the other limit", lambda: self.pool()["limited"]["by"] == "requests_per_minute")
        self.assertIn("limited by requests a minute: 200, set by vibeq ctl", self.status_text())
        self.vibeq("ctl", "r", "pool", "o", "--rpm", 60000, "--concurrency", 64)
        self.wait_exit(child, DONE)
        log = (self.dir / "runs/r/log").read_text()
        self.assertGreaterEqual(log.count("alarm.over"), 1, log)


class ByHand(Pools):
    samples = 3000

    def test_a_persons_rate_ends_a_learned_concurrency(self):
        """The server refuses all for a moment, so that a low concurrency is learned; then 1 % at random."""
        pools = {"o": Pool("rpm=6000000", rpm=3600)}
        self.serve(pools, "--fault", "rate_limit=0.01", latency="400ms",
                   faults=[{"fault": "rate_limit", "p": 0.9, "after_ms": 1500, "until_ms": 6000, "retry_after": "absent"}])
        self.told(pools)
        child = self.begin("--workers", 2, "--quiet", answers=40)
        began_ms = self.server.log()[0]["unix_ms"]
        self.wait_for("a learned concurrency", lambda: time.time() * 1000 > began_ms + 1500
                      and 0 < self.pool_of("o")["limits"]["concurrency"]["limit"] < 50, 30)
        self.wait_for("the refusals to be over", lambda: time.time() * 1000 > began_ms + 7000)
        self.vibeq("ctl", "r", "pool", "o", "--rpm", 3000)
        self.wait_for("the person's limit", lambda: self.pool_of("o")["limits"]["requests_per_minute"]["by"] == "hand"
                      and self.pool_of("o")["limits"]["concurrency"]["limit"] >= 50, 5)
        self.assertEqual(self.pool_of("o")["limits"]["requests_per_minute"]["limit"], 3000)
        before = self.pool_of("o")["answered"]
        time.sleep(12)
        self.assertGreater((self.pool_of("o")["answered"] - before) / 12, 0.4 * 50, "a learned concurrency of 3 gave 7 a second")
        child.kill()
        child.wait()
        child = self.start("resume", "r", "--quiet", "--workers", 2)
        self.wait_for("the person's limit after a resume", lambda: self.pool_of("o").get("limits", {}).get("requests_per_minute", {}).get("by") == "hand", 30)
        self.assertGreaterEqual(self.pool_of("o")["limits"]["concurrency"]["limit"], 50)
        child.kill()
        child.wait()


if __name__ == "__main__":
    vqtest.main()
