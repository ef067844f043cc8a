# labels: split
"""A budget is a hard cap: what calls cost is counted from the server's own log, with the configuration's prices, whatever was killed
when; and what stopped for want of money goes on with more, to the same bytes."""
import json
import os
import signal

import vqtest
from pooling import Pool, Pools
from vqtest import DONE, STOPPED, USAGE

IN, OUT = 2.0, 8.0  # dollars a million tokens
MAX_TOKENS = 120


class Budget(Pools):
    samples = 60
    faults = ()

    def setUp(self):
        super().setUp()
        self.pools = {"o": Pool(concurrency=4, usd_in=IN, usd_out=OUT), "a": Pool(dialect="anthropic", concurrency=4, usd_in=IN, usd_out=OUT)}
        self.serve(self.pools, latency="40ms", faults=self.faults)

    def usd(self, lines):
        return sum(line["prompt_tokens"] * IN + line["completion_tokens"] * OUT for line in lines) / 1e6

    def paid(self):
        """By the server: what it has billed."""
        return self.usd([a for a in self.server.answers() if a["paid"]])

    def largest(self):
        """The largest reservation that a call can need: its input at three bytes a token, all of it written to a cache, and max_tokens."""
        return max((r["bytes"] / 3 + 16) * 1.25 * IN + MAX_TOKENS * OUT for r in self.server.requests()) / 1e6

    def whole_usd(self):
        """Of an undisturbed run of its own, and its results."""
        if not hasattr(self, "whole"):
            server = self.server
            pools = {"calm": Pool(usd_in=IN, usd_out=OUT)}
            self.serve(pools, name="calm", latency="0ms")
            self.told(pools, name="calm.yaml")
            runs = self.dir / "calm-runs"
            self.vibeq("run", "calm.yaml", "--name", "r", "--quiet", "--runs", runs)
            accounting = json.loads((runs / "r/accounting.json").read_text())
            self.assertAlmostEqual(accounting["cost_usd"], self.usd(self.server.answers()), 9)
            self.whole = accounting["cost_usd"], (runs / "r/results/results.json").read_bytes()
            self.server = server
        return self.whole

    def capped(self, share=0.5):
        cap = round(self.whole_usd()[0] * share, 6)
        self.told(self.pools, budget=f"{{usd: {cap:.6f}}}")
        return cap

    def check_stopped(self, cap, text):
        accounting = json.loads((self.dir / "runs/r/accounting.json").read_text())
        spent = accounting["cost_usd"]
        self.assertLessEqual(self.paid(), cap + 1e-9, "by the server's log")
        self.assertLessEqual(spent, cap + 1e-9)
        self.assertGreaterEqual(spent, self.paid() - 1e-9, "what the server billed is accounted for")
        for words in ("budget", f"${cap:.4f}", f"${spent:.4f}", "vibeq resume r --set budget.usd="):
            self.assertIn(words, text)
        self.assertEqual(self.status("r")["tasks"]["failed"], 0)
        return spent

    def check_resumed(self, cap):
        answered = len({r["hash"] for r in self.server.requests()})
        self.vibeq("resume", "r", "--quiet", "--set", f"budget.usd={2.2 * cap:.6f}")
        self.assertGreater(len({r["hash"] for r in self.server.requests()}), answered)
        self.assertEqual(self.results_bytes("r"), self.whole_usd()[1])
        self.assertLessEqual(self.paid(), 2.2 * cap)


class Stops(Budget):
    def test_half_the_price_with_four_workers_and_then_the_rest(self):
        cap = self.capped()
        got = self.vibeq("run", "config.yaml", "--name", "r", "--workers", 4, code=STOPPED)
        spent = self.check_stopped(cap, got.stderr)
        self.assertLessEqual(cap - spent, self.largest(), "nothing more would have fitted")
        self.check_resumed(cap)

    def test_a_worker_dies(self):
        cap = self.capped()
        child = self.begin("--workers", 4, answers=40)
        os.kill(self.processes_of(str(self.dir), "vibeq-worker")[0], signal.SIGKILL)
        self.wait_exit(child, STOPPED)
        spent = self.check_stopped(cap, (self.dir / "start.out").read_text())
        self.assertLessEqual(cap - spent, self.largest())
        self.check_resumed(cap)

    def test_the_coordinator_dies(self):
        cap = self.capped()
        child = self.begin("--workers", 2, "--quiet", answers=40)
        child.kill()
        child.wait()
        got = self.vibeq("resume", "r", code=STOPPED)
        spent = self.check_stopped(cap, got.stderr)
        self.assertLessEqual(cap - spent, self.largest())
        self.check_resumed(cap)

    def test_a_run_that_is_over_has_nothing_under_way(self):
        self.told(self.pools, budget="{usd: 50}")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        money = self.status("r")["money"]
        self.assertEqual((money["budget_usd"], money["reserved_usd"]), (50, 0))
        self.assertNotIn("under way", self.vibeq("status", "r").stdout)

    def test_raised_while_it_goes_on(self):
        cap = self.capped(0.4)
        child = self.begin(answers=20)
        said = self.vibeq("ctl", "r", "budget", f"{4 * cap:.6f}").stdout
        self.assertIn("dollars", said)
        self.wait_exit(child, DONE)
        self.assertGreater(self.paid(), cap, "the old one would not have done")
        self.assertLessEqual(self.paid(), 4 * cap)
        self.assertEqual(self.results_bytes("r"), self.whole_usd()[1])
        self.assertEqual(self.status("r")["money"]["budget_usd"], round(4 * cap, 6))

    def test_lowered_below_what_was_spent(self):
        self.told(self.pools, budget="{usd: 100}")
        child = self.begin(answers=40)
        self.server.freeze()
        self.vibeq("ctl", "r", "budget", "0.000001")
        in_flight = 4 + 4  # of both pools
        self.wait_for("what was handed out to come back", lambda: self.status("r")["money"]["reserved_usd"] <= in_flight * self.largest())
        money = self.status("r")["money"]
        self.server.thaw()
        self.wait_exit(child, STOPPED)
        self.assertGreater(self.paid(), money["spent_usd"], "what was in flight is answered")
        self.assertLessEqual(self.paid(), money["spent_usd"] + money["reserved_usd"] + 1e-9, "and that is all that is spent")
        self.assertIn("budget", (self.dir / "start.out").read_text())
        self.vibeq("resume", "r", "--quiet", code=STOPPED)  # the lowered budget is still in force
        self.vibeq("resume", "r", "--quiet", "--set", "budget.usd=100")
        self.assertEqual(self.results_bytes("r"), self.whole_usd()[1])


class Elsewhere(Budget):
    """What a worker on another machine spent when the coordinator died, and nobody has heard of."""

    def advances(self):
        return json.loads((self.dir / "runs/r/advances.json").read_text())["advances"]

    def far(self):
        keys = [word for name, pool in self.pools.items() for key in pool.names(name) for word in ("--allow-env", key)]
        return self.join("--spool", self.dir / "far", *keys)

    def left(self):
        """Coordinator and worker have died, with answers in the worker's spool."""
        child = self.start("run", "config.yaml", "--name", "r", "--workers", 0)
        self.wait_for("the certificate", (self.dir / "runs/r/join.cert").exists)
        worker = self.far()
        self.wait_for("answers", lambda: len(self.server.answers()) > 20)
        child.kill()
        child.wait()
        answered = len(self.server.answers())
        self.wait_for("more of them", lambda: len(self.server.answers()) >= answered + 4)
        worker.kill()
        worker.wait()

    def test_it_is_within_the_budget_and_known_when_it_is_back(self):
        cap = self.capped()
        self.left()
        self.assertEqual(len(self.advances()), 1)
        got = self.vibeq("resume", "r", "--workers", 2, code=STOPPED)
        self.assertLessEqual(self.paid(), cap + 1e-9, "with what the ledger does not know of")
        self.assertIn("have not connected since the last stop (1 of them)", got.stderr)
        ledger = json.loads((self.dir / "runs/r/accounting.json").read_text())["calls"]["answered"]
        self.assertLess(ledger, sum(a["paid"] for a in self.server.answers()), "the answers in the spool elsewhere are not known yet")
        self.assertEqual(len(self.advances()), 1)
        back = self.far()
        self.vibeq("resume", "r", "--workers", 2, "--quiet", "--set", "budget.usd=100")
        self.assertEqual(back.wait(20), 0)
        self.assertEqual(self.advances(), [], "it said what it had spent, and left in order")
        self.assertEqual(self.results_bytes("r"), self.whole_usd()[1])
        self.assertGreaterEqual(json.loads((self.dir / "runs/r/accounting.json").read_text())["cost_usd"], self.paid() - 1e-9)

    def test_what_is_kept_of_it_is_damaged(self):
        self.capped()
        self.left()
        path = self.dir / "runs/r/advances.json"
        path.write_text(path.read_text().replace("nano_usd", "nano"))
        asked = len(self.server.requests())
        got = self.vibeq("resume", "r", "--workers", 2, code=None)
        self.assertIn("advances.json is damaged: entry 1", got.stderr)
        self.assertEqual(len(self.server.requests()), asked)
        path.unlink()
        self.vibeq("resume", "r", "--workers", 2, "--quiet", "--set", "budget.usd=100")
        self.assertEqual(self.results_bytes("r"), self.whole_usd()[1])


class Lost(Budget):
    """Answers that were billed and never came."""
    faults = [{"fault": "lost_answer", "p": 0.1}, {"fault": "reset", "p": 0.05}, {"fault": "bad_json", "p": 0.05}, {"fault": "no_usage", "p": 0.1},
              {"fault": "server_error", "p": 0.1}]

    def test_what_is_unknown_counts_as_spent(self):
        cap = self.capped()
        got = self.vibeq("run", "config.yaml", "--name", "r", "--workers", 4, code=STOPPED)
        self.check_stopped(cap, got.stderr)
        self.assertGreater(len([a for a in self.server.log() if a["event"] == "lost"]), 3)
        self.assertGreater(self.paid(), cap / 2, "and it is used")


class Refused(Pools):
    samples = 4

    def test_a_budget_without_prices(self):
        pools = {"o": Pool(usd_in=IN, usd_out=OUT), "a": Pool(dialect="anthropic")}
        self.serve(pools)
        self.told(pools, budget="{usd: 1}")
        got = self.vibeq("run", "config.yaml", "--name", "r", code=USAGE)
        self.assertIn("price", got.stderr)
        self.assertIn("budget", got.stderr)
        self.assertEqual(self.server.requests(), [])


if __name__ == "__main__":
    vqtest.main()
