"""A worker one protocol version behind the coordinator or ahead of it: each side says so in a line that names both versions, the worker
(with --stay) waits, and it works when a coordinator of its version appears at the address. The programs of the next version are real
ones, built with another number (tests/tools/CMakeLists.txt)."""
import os
import re
import signal
import socket
import subprocess

import vqtest
from vqtest import BIN, DONE, STOPPED, Case, planted

AXES = ("V1", "V2")
NEXT = vqtest.Path(os.environ.get("VQ_BUILD_DIR", BIN.parent)) / "tests/next"
HERE = {"old": BIN, "new": NEXT}
OLD = int(re.search(r"VQ_PROTOCOL_VERSION \((\d+)", (vqtest.ROOT / "proto/messages.h").read_text()).group(1))
SPEAKS = {"old": OLD, "new": OLD + 1}


class Versions(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 15, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:10ms:30ms")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.config(AXES, url=self.server.url, judge={"concurrency": 4}, term_ms=2000)

    def coordinator(self, version):
        with open(self.dir / "start.out", "ab") as out:
            child = subprocess.Popen([str(HERE[version] / "vibeq"), "run", "config.yaml", "--name", "r", "--or-resume", "--quiet", "--workers", "0",
                                      "--listen", self.address], cwd=self.dir, env=self.environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.children.append(child)
        self.wait_for("the endpoint", (self.dir / "runs/r/endpoint.json").exists)
        return child

    def worker(self, version, *words):
        with open(self.dir / f"{version}.err", "ab") as err:
            child = subprocess.Popen([str(HERE[version] / "vibeq-worker"), "--join", str(self.dir / "runs/join.cert"), "--name", version, *words],
                                     cwd=self.dir, env=self.environment(), stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        self.children.append(child)
        return child

    def said(self, version):
        return (self.dir / f"{version}.err").read_text()

    def apart(self, coordinator, worker):
        """Both speak, wait for each other, and then a coordinator of the worker's version takes the run over."""
        other = self.coordinator(coordinator)
        stays = self.worker(worker, "--stay")
        line = "the peer speaks protocol version {}, this program version {}: use the same release on both sides"
        self.wait_for("the worker's line", lambda: line.format(SPEAKS[coordinator], SPEAKS[worker]) in self.said(worker))
        self.assertIn("link.version", self.said(worker))
        self.wait_for("the coordinator's line", lambda: self.log_of("message.refused"))
        self.assertIn(line.format(SPEAKS[worker], SPEAKS[coordinator]), self.log_of("message.refused")[0]["why"])
        alone = self.worker(worker)
        self.assertEqual(alone.wait(20), 2, "without --stay the worker ends, with the code of a usage error")
        self.assertEqual((stays.poll(), other.poll()), (None, None))
        self.assertEqual(self.server.requests(), [])
        other.send_signal(signal.SIGTERM)
        self.wait_exit(other, STOPPED)
        right = self.coordinator(worker)
        self.wait_exit(right, DONE)
        self.assertEqual(self.accounting("r")["sent"], len(self.server.requests()))
        self.assertIsNone(stays.poll(), "it waits for the next run")
        stays.send_signal(signal.SIGTERM)
        self.assertEqual(stays.wait(20), DONE)

    def test_a_worker_ahead(self):
        self.apart("old", "new")

    def test_a_worker_behind(self):
        self.apart("new", "old")


if __name__ == "__main__":
    vqtest.main()
