"""Certificates that outlive a run: of the runs folder and of `vibeq cert new`; the address that they name; a key that is revoked cuts its
workers off in a running run, and the others go on."""
import signal
import socket

import vqtest
from vqtest import DONE, STOPPED, USAGE, Case, planted

AXES = ("V1", "V2", "V3")


class Certs(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 20, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms")
        self.config(AXES, url=self.server.url, judge={"concurrency": 4}, term_ms=2000)

    def values(self, cert):
        lines = (self.dir / cert).read_text().splitlines()
        return {k.strip(): v.strip().strip('"') for k, v in (line.split(" = ", 1) for line in lines if " = " in line)}

    def port(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return free.getsockname()[1]

    def begin(self, *words, name="r"):
        child = self.start("run", "config.yaml", "--name", name, "--quiet", "--workers", "0", *words)
        self.wait_for("the endpoint", (self.dir / f"runs/{name}/endpoint.json").exists)
        return child

    def stop(self, child):
        child.send_signal(signal.SIGTERM)
        self.wait_exit(child, STOPPED)

    def err(self):
        return (self.dir / "worker.err").read_text()

    def test_the_runs_folder_has_one_certificate_for_all_its_runs(self):
        port = self.port()
        first = self.begin("--listen", f"127.0.0.1:{port}")
        one, group = self.values("runs/r/join.cert"), self.values("runs/join.cert")
        self.assertEqual(group["endpoint"], f"tcp://127.0.0.1:{port}")
        self.assertEqual({k: v for k, v in one.items() if k not in ("run", "name")}, group)
        self.assertEqual((self.dir / "runs/join.cert").stat().st_mode & 0o777, 0o600)
        self.stop(first)
        second = self.begin("--listen", f"127.0.0.1:{port}", name="s")
        two = self.values("runs/s/join.cert")
        self.assertEqual(self.values("runs/join.cert"), group)
        self.assertNotEqual(two["run"], one["run"])
        self.assertEqual({**two, "run": "", "name": ""}, {**one, "run": "", "name": ""})
        self.assertNotEqual(self.values("runs/s/local.cert")["public-key"], one["public-key"])
        self.join("--no-spool", cert="runs/join.cert")
        self.wait_exit(second, DONE)

    def test_a_folder_made_beforehand_and_a_key_that_is_revoked(self):
        port = self.port()
        out = self.vibeq("cert", "new", "certs", "--workers", "red,blue", "--advertise", f"localhost:{port}").stdout
        self.assertEqual(out.split(), ["certs/red.cert", "certs/blue.cert"])
        self.assertIn("has a worker blue already",
                      self.vibeq("cert", "new", "certs", "--workers", "blue", "--advertise", f"localhost:{port}", code=USAGE).stderr)
        child = self.begin("--cert", "certs", "--listen", f"127.0.0.1:{port}")
        self.assertFalse((self.dir / "runs/r/join.cert").exists(), "there is no group for all")
        self.assertFalse((self.dir / "runs/join.cert").exists())
        red, blue = (self.join("--no-spool", "--name", name, cert=f"certs/{name}.cert") for name in ("red", "blue"))
        self.wait_for("both", lambda: {w["name"] for w in self.status("r").get("workers", [])} == {"red", "blue"})
        self.server.freeze()  # no run ends meanwhile
        kept = (self.dir / "certs/red.cert").read_text()
        said = self.vibeq("cert", "revoke", "red", "--cert", "certs").stderr
        self.assertIn("red is revoked", said)
        self.assertNotIn("red", self.vibeq("cert", "list", "--cert", "certs").stdout)
        self.wait_exit(red, 1, seconds=5)
        self.assertIn("the key of this worker was revoked", self.err())
        self.assertEqual([x["name"] for x in self.log_of("key.revoked")], ["red"])
        (self.dir / "red.cert").write_text(kept)
        (self.dir / "red.cert").chmod(0o600)
        again = self.join("--no-spool", "--name", "again", cert="red.cert")
        self.wait_for("the refusal", lambda: self.log_of("peers.refused"))
        self.vibeq("cert", "new", "certs", "--workers", "green", "--advertise", f"localhost:{port}")
        self.join("--no-spool", "--name", "green", cert="certs/green.cert")
        self.wait_for("one that was added later", lambda: "green" in {w["name"] for w in self.status("r").get("workers", [])})
        self.assertNotIn("again", {w["name"] for w in self.status("r").get("workers", [])})
        self.server.thaw()
        self.wait_exit(child, DONE)
        self.assertEqual(blue.wait(20), 0)
        self.assertIsNone(again.poll(), "it waits for a coordinator that lets it in")

    def test_a_revoked_key_that_still_talks_is_not_heard(self):
        """One stands still while its key is revoked: its open connection brings nothing."""
        port = self.port()
        self.vibeq("cert", "new", "certs", "--workers", "red,blue", "--advertise", f"127.0.0.1:{port}")
        child = self.begin("--cert", "certs", "--listen", f"127.0.0.1:{port}")
        red = self.join("--no-spool", "--name", "red", cert="certs/red.cert")
        self.wait_for("answers", lambda: len(self.server.answers()) > 4)
        red.send_signal(signal.SIGSTOP)
        self.vibeq("cert", "revoke", "red", "--cert", "certs")
        self.wait_for("the revocation", lambda: self.log_of("key.revoked"))
        red.send_signal(signal.SIGCONT)
        self.assertEqual(red.wait(20), 1)
        self.join("--no-spool", "--name", "blue", cert="certs/blue.cert")
        self.wait_exit(child, DONE)

    def test_local_workers_are_no_matter_of_a_list(self):
        child = self.start("run", "config.yaml", "--name", "r", "--quiet", "--workers", "1")
        self.wait_for("answers", lambda: len(self.server.answers()) > 4)
        self.vibeq("cert", "revoke", "join")
        self.wait_exit(child, DONE)
        self.assertFalse((self.dir / "runs/join.cert").exists())
        self.config(AXES, url=self.server.url, name="other.yaml", seed=3)
        self.vibeq("run", "other.yaml", "--name", "s", "--quiet")
        self.assertFalse((self.dir / "runs/s/join.cert").exists(), "a revoked group stays revoked")

    def test_an_address_for_others(self):
        port = self.port()
        child = self.begin("--listen", f"0.0.0.0:{port}", "--advertise", "localhost")
        self.assertEqual(self.values("runs/r/join.cert")["endpoint"], f"tcp://localhost:{port}")
        self.assertEqual(self.values("runs/r/local.cert")["endpoint"], f"tcp://127.0.0.1:{port}")
        self.stop(child)
        child = self.start("resume", "r", "--quiet", "--workers", "1")
        self.wait_for("a second start", lambda: len(self.log_of("worker.exited")) or len(self.server.answers()) > 4)
        self.assertEqual(self.values("runs/r/join.cert")["endpoint"], f"tcp://localhost:{port}", "a resume keeps it")
        self.join("--no-spool")
        self.wait_exit(child, DONE)

    def test_what_is_wrong_is_said(self):
        for words, says in ((("--advertise", "0.0.0.0:7"), "--advertise 0.0.0.0:7: name the host"),
                            (("--cert", "nowhere"), "--cert nowhere: coordinator.cert is missing; vibeq cert new nowhere makes it")):
            for dry in ((), ("--dry-run",)):
                run = self.vibeq("run", "config.yaml", "--name", "r", *words, *dry, code=USAGE)
                self.assertIn(says, run.stderr)
            self.assertFalse((self.dir / "runs/r").exists())
        for words, says in ((("new",), "name one folder"), (("new", "x"), "--advertise HOST:PORT"), (("revoke",), "name one worker"),
                            (("new", "x", "--advertise", "h"), "--advertise h: name the host"), (("liste",), "did you mean list?"),
                            (("new", "x", "--advertise", "h:1", "--workers", "a/b"), "'a/b' cannot be the name of a certificate"),
                            (("revoke", "x", "--cert", "nowhere"), "nowhere: No such file")):
            self.assertIn(says, self.vibeq("cert", *words, code=USAGE).stderr)


if __name__ == "__main__":
    vqtest.main()
