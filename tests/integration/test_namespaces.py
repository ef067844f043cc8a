# labels: root
"""Two hosts, as network namespaces: a worker in the second joins over CURVE, works, is killed, joins again; one without the right
certificate gets nothing. Needs root; skips loudly elsewhere."""
import os
import shutil
import signal
import socket
import subprocess
import time
import unittest

import vqtest
from vqtest import BIN, DONE, Case, planted

AXES = ("V1", "V2")


def can():
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    made = subprocess.run(["ip", "netns", "add", "vqprobe"], capture_output=True)
    subprocess.run(["ip", "netns", "del", "vqprobe"], capture_output=True)
    return made.returncode == 0


@unittest.skipUnless(can(), "SKIP: network namespaces need root and iproute2")
class Namespaces(Case):
    def setUp(self):
        super().setUp()
        tag = f"{os.getpid() % 10000}"
        self.space = f"vqns{tag}"
        self.inner, self.outer = f"vqi{tag}", f"vqo{tag}"
        self.ip("netns", "add", self.space)
        self.ip("link", "add", self.outer, "type", "veth", "peer", "name", self.inner)
        self.ip("link", "set", self.inner, "netns", self.space)
        self.ip("addr", "add", "10.231.7.1/24", "dev", self.outer)
        self.ip("link", "set", self.outer, "up")
        self.ip("-n", self.space, "addr", "add", "10.231.7.2/24", "dev", self.inner)
        self.ip("-n", self.space, "link", "set", self.inner, "up")
        self.ip("-n", self.space, "link", "set", "lo", "up")
        planted(self.dir, 30, AXES)
        # the judge lives on the second host's loopback: only a worker over there can reach it
        self.judge = subprocess.Popen(
            ["ip", "netns", "exec", self.space, str(BIN / "vibeq-offline"), "--port", "8801", "--log", str(self.dir / "judge.log"),
             "--oracle", str(self.dir / "truth.jsonl"), "--latency", "30ms", "--parent-death"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.children.append(self.judge)
        self.judge.stdout.readline()
        self.config(AXES, url="http://127.0.0.1:8801/v1", term_ms=2000)

    def tearDown(self):
        super().tearDown()
        subprocess.run(["ip", "link", "del", self.outer], capture_output=True)
        subprocess.run(["ip", "netns", "del", self.space], capture_output=True)

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def remote(self, cert, name):
        err = open(self.dir / f"{name}.err", "ab")
        child = subprocess.Popen(
            ["ip", "netns", "exec", self.space, str(BIN / "vibeq-worker"), "--join", str(cert), "--name", name, "--spool", str(self.dir / f"spool-{name}")],
            stdout=err, stderr=err, stdin=subprocess.DEVNULL, env=self.environment())
        err.close()
        self.children.append(child)
        return child

    def answers(self):
        path = self.dir / "judge.log"
        return path.read_text().count('"event":"answer"') if path.exists() else 0

    def test_a_worker_on_another_host(self):
        run = self.start("run", "config.yaml", "--name", "r", "--quiet", "--workers", "0", "--listen", "10.231.7.1")
        cert = self.dir / "runs/r/join.cert"
        self.wait_for("the certificate", cert.exists, 20)
        self.assertEqual(cert.stat().st_mode & 0o777, 0o600)

        first = self.remote(cert, "first")
        self.wait_for("some answers", lambda: self.answers() > 30)
        first.send_signal(signal.SIGKILL)
        first.wait()
        self.wait_for("the worker's silence to be noticed", lambda: not self.status("r").get("workers"), 20)

        text = cert.read_text()
        self.wrong_certificate(text)

        before = self.answers()
        second = self.remote(cert, "first")
        self.wait_for("the second to go on", lambda: self.answers() > before or run.poll() is not None)
        self.wait_exit(run, DONE)
        self.wait_exit(second, 0)
        calls = self.accounting("r")
        self.assertEqual(calls["planned"], calls["first_sends"] + calls["from_store"] + calls["saved_by_lazy_swap"])

    def wrong_certificate(self, text):
        """A certificate of the right run and address with a client key of its own making is not let in, and plain TCP neither."""
        other = self.dir / "other.yaml"
        shutil.copy(self.dir / "config.yaml", other)
        made = self.start("run", "other.yaml", "--name", "other", "--quiet", "--workers", "0", "--runs", self.dir / "other")
        foreign = self.dir / "other/other/join.cert"
        self.wait_for("another run's certificate", foreign.exists, 20)
        made.kill()
        made.wait()
        lines = dict(line.split(" = ", 1) for line in map(str.strip, text.splitlines()) if " = " in line)
        forged = []
        for line in foreign.read_text().splitlines():
            key = line.strip().split(" = ", 1)[0]
            keep = key in ("public-key", "secret-key") or " = " not in line
            forged.append(line if keep else line.split(" = ", 1)[0] + " = " + lines[key])
        path = self.dir / "forged.cert"
        path.write_text("\n".join(forged) + "\n")
        path.chmod(0o600)
        before = self.answers()
        intruder = self.remote(path, "intruder")
        time.sleep(3)
        self.assertEqual(self.answers(), before, "a worker without the certificate gets nothing")
        self.assertEqual(self.status("r").get("workers"), [])
        intruder.kill()
        intruder.wait()
        port = int(lines["endpoint"].strip('"').rsplit(":", 1)[1])
        with socket.create_connection(("10.231.7.1", port), 2) as plain:
            plain.sendall(b"GET / HTTP/1.0\r\n\r\n" * 10)
            time.sleep(0.3)


if __name__ == "__main__":
    vqtest.main()
