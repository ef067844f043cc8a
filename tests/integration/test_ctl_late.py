# labels: slow
"""Commands of `vibeq ctl` that the run reads too late, twice or never. Real processes."""
import json
import os
import signal
import socket
import time

import vqtest
from test_ctl import Ctl
from vqtest import DONE


class Late(Ctl):
    """A command that the run reads too late is dropped, and is never called failed when it may be carried out."""
    ID = "0123456789abcdef0123456789abcdef"

    def test_a_coordinator_that_was_stopped_drops_it(self):
        self.slow("--latency", "uniform:100ms:200ms")
        child = self.begin(10)
        os.kill(child.pid, signal.SIGSTOP)
        try:
            got = self.ctl("pause", code=1)
            self.assertIn("unknown: look at `vibeq status`", got.stderr)
            self.assertNotIn("not carried out", got.stderr)
        finally:
            os.kill(child.pid, signal.SIGCONT)
        self.wait_for("the command", lambda: self.log_of("ctl.late"), 20)
        self.assertEqual(self.log_of("ctl.late")[0]["command"], "pause")
        self.assertEqual(self.log_of("ctl"), [])
        self.assertNotEqual(self.status("r")["state"], "held")
        self.assertIn("paused", self.ctl("pause").stdout)
        self.ctl("resume")
        self.wait_exit(child, DONE)

    def test_a_coordinator_that_is_flooded_drops_it(self):
        self.slow("--latency", "uniform:100ms:200ms")
        child = self.begin(10)
        host, port = self.endpoint()["address"].split("//")[1].split(":")
        flood = [socket.create_connection((host, int(port))) for _ in range(64)]
        try:
            time.sleep(0.3)
            got = self.ctl("pause", code=None)
        finally:
            for held in flood:
                held.close()
        time.sleep(1)
        if got.returncode == DONE:
            self.assertEqual(self.status("r")["state"], "held")
            self.ctl("resume")
        else:
            self.assertIn("unknown: look at", got.stderr)
            self.assertEqual(self.log_of("ctl"), [])
        self.wait_exit(child, DONE)

    def test_nothing_that_listens_means_not_carried_out(self):
        self.slow("--latency", "uniform:100ms:200ms")
        child = self.begin(10)
        path = self.dir / "runs/r/endpoint.json"
        holder, port = vqtest.kept_port()
        good = self.endpoint()
        path.write_text(json.dumps(dict(good, address=f"http://127.0.0.1:{port}")))
        got = self.ctl("pause", code=None)
        self.assertNotEqual(got.returncode, DONE)
        self.assertIn("r: not carried out: ", got.stderr)
        holder.close()
        self.wait_exit(child, DONE)

    def test_an_id_is_carried_out_once_and_a_deadline_holds(self):
        self.slow("--latency", "uniform:100ms:200ms")
        child = self.begin(10)
        token = self.endpoint()["token"]
        soon, past = int(time.time() * 1000) + 20000, int(time.time() * 1000) - 1
        first = self.post(f"@{self.ID} {soon}\npause\n".encode(), token)
        self.assertEqual(self.post(f"@{self.ID} {soon}\npause\n".encode(), token), first)
        self.post(b"resume\n", token)
        self.assertEqual(self.post(f"@{self.ID} {past}\npause\n".encode(), token), first, "known, and not done again")
        self.assertEqual(self.status("r")["state"], "running")
        self.assertEqual([line["command"] for line in self.log_of("ctl")], ["pause", "resume"])
        self.assertEqual(self.refusal(f"@{self.ID[::-1]} {past}\npause\n".encode(), token), 409)
        self.assertEqual(self.refusal(f"@{self.ID}\npause\n".encode(), token), 400)
        self.assertEqual(self.status("r")["state"], "running")
        self.wait_exit(child, DONE)


if __name__ == "__main__":
    vqtest.main()
