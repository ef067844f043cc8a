"""Workers that outlive runs (--stay): a fleet serves one run after the other without being touched, also when the coordinator of
one is killed; certificates of a watched folder come and go; a drain that takes too long is cut."""
import os
import shutil
import signal
import socket
import subprocess
import unittest

import vqtest
from vqtest import BIN, DONE, STOPPED, Case, planted

AXES = ("V1", "V2")


class Fleet(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 15, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:10ms:30ms")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    def configure(self, seed):
        """Other questions for each run: the data are drawn anew, so nothing comes from the store."""
        planted(self.dir, 15, AXES, seed=seed)
        self.config(AXES, url=self.server.url, judge={"concurrency": 4}, term_ms=2000)

    def run_at(self, name, *words):
        return self.start("run", "config.yaml", "--name", name, "--quiet", "--workers", "0", "--listen", self.address, "--or-resume", "--yes",
                          *words)

    def names(self, run):
        return [w["name"] for w in self.status(run).get("workers", [])]

    def begin(self, *words):
        child = self.run_at("r", *words)
        self.wait_for("the run", lambda: self.vibeq("status", "r", "--json", code=None).returncode == 0)
        return child

    def test_three_workers_serve_three_runs_without_being_touched(self):
        self.configure(1)
        first = self.run_at("r1")
        self.wait_for("the certificate", (self.dir / "runs/join.cert").exists)
        fleet = [self.join("--stay", "--name", f"w{k}", cert="runs/join.cert") for k in range(3)]
        self.wait_exit(first, DONE)
        self.configure(2)
        second = self.run_at("r2")
        before = len(self.server.answers())
        self.wait_for("answers", lambda: len(self.server.answers()) > before + 10)
        second.kill()
        second.wait()
        self.wait_exit(self.run_at("r2"), DONE)
        self.configure(3)
        third = self.run_at("r3")
        self.wait_exit(third, DONE)
        for name in ("r1", "r2", "r3"):
            calls = self.accounting(name)
            self.assertEqual(calls["answered"], calls["sent"], name)
            self.assertGreater(calls["sent"], 0, name)
        self.assertEqual(sum(self.accounting(name)["sent"] for name in ("r1", "r2", "r3")), len(self.server.requests()))
        self.assertEqual(len({x["hash"] for x in self.server.requests()}), len(self.server.requests()), "nothing was bought twice")
        self.assertEqual([w.poll() for w in fleet], [None] * 3)
        self.assertEqual(list((self.dir / "state/vibeq/spool").iterdir()), [], "each run's spool is gone with it")
        for worker in fleet:
            worker.send_signal(signal.SIGTERM)
        for worker in fleet:
            self.assertEqual(worker.wait(20), DONE)

    def test_certificates_of_a_folder_come_and_go(self):
        """A new key without a stop: the new certificate is put in, the old one is taken out and revoked."""
        self.configure(1)
        new = lambda name: self.vibeq("cert", "new", "certs", "--workers", name, "--advertise", self.address)
        new("old")
        watched = self.dir / "watched"
        watched.mkdir()
        shutil.copy(self.dir / "certs/coordinator.cert", watched)  # not one of a worker
        worker = self.join("--stay", "--name", "w", cert="watched")
        self.server.freeze()
        child = self.begin("--cert", "certs")
        shutil.copy(self.dir / "certs/old.cert", watched)
        self.wait_for("a worker with the old key", lambda: len(self.workers()) == 2 and self.names("r") == ["old:w"])
        new("fresh")
        shutil.copy(self.dir / "certs/fresh.cert", watched)
        self.wait_for("one with the new key", lambda: sorted(self.names("r")) == ["fresh:w", "old:w"])
        (watched / "old.cert").unlink()
        self.server.thaw()
        self.wait_for("the old one to leave", lambda: "leaving as asked" in str(self.log_of("core")) or child.poll() is not None)
        self.vibeq("cert", "revoke", "old", "--cert", "certs")
        self.wait_exit(child, DONE)
        self.assertEqual(self.accounting("r")["answered"], len(self.server.requests()))
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(20), DONE)
        self.assertNotIn("coordinator.cert code", (self.dir / "worker.err").read_text())

    def test_a_certificate_in_the_environment(self):
        self.configure(1)
        child = self.run_at("r")
        cert = self.dir / "runs/join.cert"
        self.wait_for("the address in the certificate", lambda: cert.exists() and "tcp://" in cert.read_text())
        text = cert.read_text()

        def join(value, *words):
            return subprocess.Popen([str(BIN / "vibeq-worker"), "--join", "env:THE_CERT", *words], cwd=self.dir, stdin=subprocess.DEVNULL,
                                    env=self.environment(THE_CERT=value), stderr=subprocess.PIPE, text=True)
        for value, says in (("", "the environment variable THE_CERT is not set"), ("x" * 9000, "the variable THE_CERT is too long"),
                            (text.split("curve")[0], "env:THE_CERT is not a complete join certificate")):
            refused = join(value)
            self.assertIn(says, refused.communicate(timeout=20)[1])
            self.assertEqual(refused.returncode, 2)
        worker = join(text, "--stay", "--name", "w")
        self.children.append(worker)
        self.wait_exit(child, DONE)
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(20), DONE)
        secret = text.split('secret-key = "')[1].split('"')[0]
        self.assertNotIn(secret, worker.stderr.read())

    def test_a_drain_has_a_limit(self):
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "60s", name="slow")
        self.configure(1)
        child = self.begin()
        worker = self.join("--stay", "--drain-s", "1", cert="runs/join.cert")
        self.wait_for("calls in flight", lambda: self.server.requests())
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(30), STOPPED, "its spool has calls")
        self.assertIn("the time of --drain-s is over", (self.dir / "worker.err").read_text())
        self.kill_all(child)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv") and shutil.which("unshare"), "SKIP: this needs root and util-linux")
class Unprivileged(Fleet):
    """As containers start it: another user, no HOME, a read-only root and one writable folder, secrets of root for a group."""
    test_three_workers_serve_three_runs_without_being_touched = None
    test_certificates_of_a_folder_come_and_go = None
    test_a_drain_has_a_limit = None

    def test_no_home_a_read_only_root_and_a_certificate_of_root(self):
        self.configure(1)
        child = self.begin()
        self.dir.chmod(0o755)
        state, cert = self.dir / "writable", self.dir / "mounted.cert"
        state.mkdir()
        os.chown(state, 12345, 12345)
        shutil.copy(self.dir / "runs/join.cert", cert)
        os.chown(cert, 0, 23456)
        cert.chmod(0o440)
        script = ("mount --make-rprivate / && mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro / && "
                  "exec env -i XDG_STATE_HOME=\"$1\" setpriv --reuid 12345 --regid 12345 --groups 23456 --no-new-privs --bounding-set -all "
                  "\"$2\" --stay --drain-s 20 --join \"$3\" --name far")
        with open(self.dir / "worker.err", "ab") as err:
            worker = subprocess.Popen(["unshare", "--mount", "sh", "-euc", script, "sh", state, BIN / "vibeq-worker", cert],
                                      stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        self.children.append(worker)
        self.wait_for("the end", lambda: child.poll() is not None or worker.poll() is not None)
        self.assertIsNone(worker.poll(), (self.dir / "worker.err").read_text())
        self.wait_exit(child, DONE)
        self.assertEqual(self.accounting("r")["answered"], len(self.server.requests()))
        self.assertTrue((state / "vibeq/spool").is_dir(), (self.dir / "worker.err").read_text())
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(20), DONE)


if __name__ == "__main__":
    vqtest.main()
