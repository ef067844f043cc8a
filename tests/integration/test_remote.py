# labels: split
"""Workers from elsewhere that die: with a spool nothing is lost, without one what is lost is counted, call by call, as the endpoint's own
log shows it."""
import collections
import signal

import vqtest
from answering import Endpoint, Server
from vqtest import DONE, Case, planted

AXES = ("V1", "V2", "V3")


class Remote(Case):
    def begin(self, samples, latency, **judge):
        planted(self.dir, samples, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", latency)
        self.config(AXES, judges=1, url=self.server.url, term_ms=1500, judge=judge)
        child = self.start("run", "config.yaml", "--name", "r", "--quiet", "--workers", "0")
        self.wait_for("the certificate", (self.dir / "runs/r/join.cert").exists)
        return child

    def repeats(self):
        return sum(n - 1 for n in collections.Counter(x["hash"] for x in self.server.requests()).values())

    def in_flight(self):
        return len(self.server.requests()) - len(self.server.answers())

    def test_without_a_spool_what_was_lost_is_unknown(self):
        child = self.begin(4, "2s", concurrency=4)
        worker = self.join("--no-spool")
        self.wait_for("calls in flight", lambda: len(self.server.answers()) >= 1 and self.in_flight() == 4)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        received = len(self.server.requests())
        self.join("--no-spool", "--name", "other")
        self.wait_exit(child, DONE)
        calls = self.accounting("r")
        self.assertEqual(calls["sent"], len(self.server.requests()), "every request is in the ledger")
        self.assertEqual(calls["unknown"], len(self.server.requests()) - calls["answered"])
        self.assertEqual(calls["unknown"], 4, f"in flight when it was killed, of {received}")
        self.assertEqual(self.repeats(), 4)
        self.assertFalse((self.dir / "state").exists())

    def test_the_spool_is_there_by_default(self):
        child = self.begin(30, "uniform:20ms:60ms", concurrency=6)
        home = self.dir / "state/vibeq/spool"
        for _ in range(2):
            before = len(self.server.answers())
            worker = self.join()
            self.wait_for("answers", lambda: len(self.server.answers()) > before + 40)
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            self.assertEqual([p.name for p in home.glob("*/*")], ["0"])
        worker = self.join()
        self.wait_exit(child, DONE)
        self.assertEqual(worker.wait(20), 0)
        calls = self.accounting("r")
        self.assertLessEqual(self.repeats(), calls["unknown"])
        self.assertLessEqual(calls["unknown"], 2 * 6)
        # a worker may die between noting a send and sending
        self.assertGreaterEqual(calls["sent"], len(self.server.requests()))
        self.assertGreaterEqual(calls["answered"] + calls["unknown"], len(self.server.requests()))
        self.assertEqual(list(home.iterdir()), [], "the run is over and nothing is left")

    def test_what_a_worker_elsewhere_held_at_the_end_comes_in_later(self):
        """One stands still through the end of the run, and is killed; with its spool it brings its answers beside a resume."""
        child = self.begin(12, "uniform:100ms:200ms", concurrency=6)
        frozen, other = (self.join("--name", name, "--spool", self.dir / name) for name in ("frozen", "other"))
        self.wait_for("answers", lambda: len(self.server.answers()) > 20)
        frozen.send_signal(signal.SIGSTOP)
        self.wait_exit(child, DONE)
        self.assertEqual(other.wait(20), 0)
        frozen.kill()
        frozen.wait()
        before, sent = self.results_bytes("r"), len(self.server.requests())
        self.assertGreater(sum(p.stat().st_size for p in (self.dir / "frozen").iterdir()), 0)
        back = self.join("--name", "frozen", "--spool", self.dir / "frozen")
        self.vibeq("resume", "r", "--quiet", "--workers", "0")
        self.assertEqual(back.wait(20), 0, "all of it is committed")
        self.assertEqual(self.results_bytes("r"), before)
        calls = self.accounting("r")
        self.assertEqual((len(self.server.requests()), calls["sent"]), (sent, sent), "nothing was asked, and every request is in the ledger")
        self.assertEqual(calls["answered"] + calls["unknown"], sent)
        self.assertEqual(calls["unknown"] + calls["paid_unused"], self.repeats())


class Keys(Case):
    """The coordinator names a variable of the worker's machine, and a server of its own choosing."""
    SECRET = "sk-canary-0123456789"

    def setUp(self):
        super().setUp()
        seen = self.seen = []

        class Judge(Endpoint):
            def do_POST(self):
                self.body()
                seen.append(self.headers.get("Authorization", ""))
                self.say("m", "Model: A")

        server = Server(Judge)
        self.servers.append(server)
        planted(self.dir, 4, AXES)
        names = [f"  - {{name: {pool}, base_url: '{server.url}', identity: t, keys: ['env:TEAM_KEY'], models: [{{model: m}}]}}"
                 for pool in ("team", "lab")]
        self.config(AXES, judges=0)
        text = (self.dir / "config.yaml").read_text().replace("judges:", "judges: [{model: m}]").replace("offline: {oracle: truth.jsonl}\n", "")
        (self.dir / "config.yaml").write_text("\n".join([text + "pools:", *names]) + "\n")
        self.child = self.start("run", "config.yaml", "--name", "r", "--quiet", "--workers", "0")
        self.wait_for("the certificate", (self.dir / "runs/r/join.cert").exists)

    def join_with(self, *words, **env):
        self.environment, plain = lambda **more: dict(plain(**more), **env), self.environment
        worker = self.join("--no-spool", "--name", "far", *words)
        self.environment = plain
        return worker

    def says(self, text):
        self.wait_for("the status", lambda: text in self.vibeq("status", "r", code=None).stdout, 20)
        self.wait_for("the worker's word", lambda: text.split(": ")[1] in (self.dir / "worker.err").read_text())
        self.assertEqual(self.seen, [], "nothing was sent")

    def test_a_variable_that_was_not_named_here_is_not_sent(self):
        self.join_with(TEAM_KEY=self.SECRET)
        self.says("no key for team, lab: TEAM_KEY is not allowed here; start the worker with --key or --allow-env")
        self.join_with("--allow-env", "TEAM_KEY", TEAM_KEY=self.SECRET)
        self.wait_exit(self.child, DONE)
        self.assertEqual(set(self.seen), {f"Bearer {self.SECRET}"})
        self.assertIn('"key":"env:TEAM_KEY","host":"127.0.0.1"', (self.dir / "worker.err").read_text())
        self.assertNotIn(self.SECRET, (self.dir / "worker.err").read_text())

    def test_a_worker_without_keys_says_which_variable_is_missing(self):
        self.join_with("--allow-env", "TEAM_KEY")
        self.says("no key for team, lab: TEAM_KEY is not set")
        self.assertEqual(self.status("r")["workers"][0]["keys"], "no key for team, lab: TEAM_KEY is not set")


if __name__ == "__main__":
    vqtest.main()
