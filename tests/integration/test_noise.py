# labels: slow
"""Hostile neighbours of a run that goes on (E5, E8): noise at the port of the workers and at that of the status. The run does not notice."""
import json
import os
import random
import re
import socket
import threading
import time
import urllib.parse
import urllib.request

import vqtest
from vqtest import DONE, Case, planted

AXES = ("V1", "V2", "V3")
ZMTP3 = b"\xff" + b"\0" * 8 + b"\x7f\x03\x01"  # signature and version of ZMTP 3


class Noise:
    """Threads that open connections to a port, say something wrong and mostly stay; never more than `most` open."""

    def __init__(self, address, said, most=300, threads=4):
        self.address, self.said, self.most, self.stopped, self.knocks, self.held = address, said, most, False, 0, []
        self.threads = [threading.Thread(target=self.make, args=(i,), daemon=True) for i in range(threads)]
        for thread in self.threads:
            thread.start()

    def make(self, seed):
        rng, held = random.Random(seed), []
        while not self.stopped:
            try:
                conn = socket.create_connection(self.address, 1)
                conn.settimeout(0.2)
                held.append(conn)
                self.knocks += 1
                conn.sendall(self.said(rng))
                if rng.random() < 0.3:
                    conn.close()
            except OSError:
                pass
            if len(held) > self.most // len(self.threads):
                held.pop(rng.randrange(len(held))).close()
            time.sleep(0.02)
        for conn in held:
            conn.close()

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()


def to_workers_port(rng):
    mechanism = rng.choice((b"NULL", b"PLAIN", b"CURVE")).ljust(20, b"\0")
    greeting = ZMTP3 + mechanism + b"\0" * 32
    return rng.choice((
        lambda: b"", lambda: rng.randbytes(rng.randrange(1, 3000)), lambda: ZMTP3[:rng.randrange(1, 12)], lambda: greeting,
        lambda: greeting + rng.randbytes(200), lambda: greeting + b"\x04\xc8\x05HELLO\x01\0" + rng.randbytes(192),
        lambda: greeting + b"\x06" + b"\xff" * 8, lambda: b"\xff\0\0\0\0\0\0\0\x01\x7f\0", lambda: b"\x01\0", lambda: b"GET / HTTP/1.1\r\n\r\n"))()


def to_status_port(rng):
    return rng.choice((
        lambda: b"", lambda: b"GET /api/v1/status HTTP/1.1\r\nHo", lambda: b"G", lambda: rng.randbytes(2000),
        lambda: b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", lambda: b"GET /api/v1/status HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        lambda: b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + rng.randbytes(12).hex().encode() + b"\r\n\r\n",
        lambda: b"GET / HTTP/1.1\r\n" + b"X-A: " + b"a" * 60000, lambda: b"POST /api/v1/ctl HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
        lambda: b"POST /api/v1/ctl HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"))()


class Hostile(Case):
    def test_noise_at_both_ports(self):
        planted(self.dir, 40, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:100ms:300ms")
        self.config(AXES, url=server.url, judge={"concurrency": 8}, term_ms=3000)
        child = self.start("run", "config.yaml", "--name", "r", "--quiet", "--listen", "127.0.0.1", "--workers", "1")
        self.wait_for("answers", lambda: len(server.answers()) > 10)
        port = int(re.search(r'endpoint = "tcp://127.0.0.1:(\d+)"', (self.dir / "runs/r/join.cert").read_text()).group(1))
        endpoint = json.loads((self.dir / "runs/r/endpoint.json").read_text())
        status = urllib.parse.urlsplit(endpoint["address"])
        files = self.files(child.pid)
        noise = [Noise(("127.0.0.1", port), to_workers_port), Noise((status.hostname, status.port), to_status_port, most=40)]
        joined = self.join("--name", '<script>alert("1")</script>\\n"} 1\x1b[2J')
        answered, most = len(server.answers()), 0
        for _ in range(8):
            self.assertEqual(self.state(endpoint), "running")
            most = max(most, self.files(child.pid))
            time.sleep(0.1)
        self.assertLess(most, files + 900, "descriptors are bounded")
        self.assertGreater(len(server.answers()), answered, "work goes on")
        metrics = self.metrics(endpoint)
        shown = self.vibeq("status", "r", code=None).stdout
        self.assertIn("worker <script>", shown)
        self.assertNotIn("\x1b", shown, "a terminal would act on it")
        for one in noise:
            one.stop()
        self.wait_exit(child, DONE)
        joined.wait(20)
        self.assertTrue(all(one.knocks > 20 for one in noise), [one.knocks for one in noise])
        for line in metrics.splitlines():
            if line and not line.startswith("#"):
                self.assertRegex(line, r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-z_]+="([^"\\\n]|\\[\\n"])*",?)*\})? [0-9.eE+-]+$')
        calls = self.accounting("r")
        self.assertEqual((calls["unknown"], calls["sent"], self.results("r")["cells_missing"]), (0, len(server.requests()), 0))
        lost = [line for line in (self.dir / "runs/r/log").read_text().splitlines() if "silent" in line or "worker.lost" in line]
        self.assertEqual(lost, [], "no worker was missed")

    @staticmethod
    def files(pid):
        return len(os.listdir(f"/proc/{pid}/fd"))

    def state(self, endpoint):
        request = urllib.request.Request(f"{endpoint['address']}/api/v1/status", headers={"Authorization": f"Bearer {endpoint['token']}"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)["state"]

    def metrics(self, endpoint):
        with urllib.request.urlopen(f"{endpoint['address']}/metrics", timeout=10) as answer:
            return answer.read().decode()


if __name__ == "__main__":
    vqtest.main()
