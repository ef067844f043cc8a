"""A killed run is resumed: what was answered counts as done at once and in no rate, and the time left fits what is left to ask."""
import json
import time

import vqtest
from vqtest import Case, DONE, planted

AXES = ("alpha", "beta")
ROWS = 300


class Progress(Case):
    def sample(self):
        got = self.vibeq("status", "r", "--json", code=None)
        if got.returncode != 0:
            return None
        status = json.loads(got.stdout)
        if not status.get("tasks", {}).get("open") and not status.get("tasks", {}).get("answered"):
            return None
        tasks = status["tasks"]
        done = sum(tasks[state] for state in ("answered", "not_needed", "failed"))
        return done, sum(tasks[state] for state in ("open", "leased")), status

    def test_a_resume_goes_on_from_where_it_was(self):
        server = self.offline("--latency", "60ms")
        planted(self.dir, ROWS, AXES)
        self.config(AXES, judges=1, url=server.url, term_ms=2000)
        child = self.start("run", "config.yaml", "--name", "r", "--workers", 1, "--quiet", "--set", "judges[0].concurrency=4")
        self.wait_for("a good part of the answers", lambda: self.settled("r") > 400)
        before = self.settled("r")
        self.kill_all(child)
        child = self.start("resume", "r", "--workers", 1, "--quiet", "--set", "judges[0].concurrency=4")
        seen = []
        while child.poll() is None:
            got = self.sample()
            if got is not None and got[2]["epoch"] > 1:
                seen.append((time.monotonic(), *got))
            time.sleep(0.1)
        self.assertEqual(child.returncode, DONE)
        self.assertGreater(len(seen), 5)
        done = [s[1] for s in seen]
        self.assertGreaterEqual(done[0], before, "progress went back")
        self.assertEqual(done, sorted(done))
        self.assertGreaterEqual(seen[0][3]["tasks"]["from_store"], before // 2)
        rated = [s for s in seen if s[3]["eta_s"] is not None and s[2] > 60]
        for at, _, left, status in rated:
            self.assertLess(status["settled_per_s"], 4 / 0.06 * 2.5, "stored answers are in the rate")
            self.assertGreaterEqual(status["eta_s"] + 0.01, status["eta_low_s"])
            self.assertGreater(status["eta_s"] * 4 / 0.06 * 2.5, left, f"{status['eta_s']} s for {left} tasks")
        self.assertTrue(rated and rated[len(rated) // 2][3]["eta_high_s"] is not None)
        # what was seen until then, and not what came later: how fast this machine is may change in between
        first, middle = rated[0], rated[len(rated) // 2]
        asked = [s[1] - s[3]["tasks"]["from_store"] for s in (first, middle)]
        self.assertLess(middle[3]["eta_low_s"], middle[2] * (middle[0] - first[0]) / (asked[1] - asked[0]) * 1.3 + 1)


if __name__ == "__main__":
    vqtest.main()
