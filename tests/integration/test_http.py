# labels: slow
"""The HTTP server of a run: a fixed address, its token and names, /healthz and /readyz, and clients that mean harm. Real processes."""
import csv
import http.client
import json
import os
import signal
import socket
import time

import attacking
import openapi
import vqtest
from test_ctl import Ctl
from vqtest import DONE, STOPPED, USAGE

TOKEN = "a-token-of-the-test-0123456789"


class Surface(Ctl):
    def setUp(self):
        super().setUp()
        holder, self.port = vqtest.kept_port()
        self.addCleanup(holder.close)
        self.token_file = self.dir / "token"
        self.token_file.write_text(TOKEN + "\n")
        self.token_file.chmod(0o600)

    def begin_at(self, address, *words, verb=("run", "config.yaml", "--name", "r")):
        child = self.start(*verb, "--http", address, "--http-token-file", self.token_file, *words)
        self.wait_for("the endpoint", lambda: child.poll() is not None or (self.dir / "runs/r/endpoint.json").exists())
        self.assertIsNone(child.poll(), self.logs())
        return child

    def ask(self, path, method="GET", token=None, host=None, origin=None, body=None):
        """Status and text of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {"Host": host or f"127.0.0.1:{self.port}"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if origin:
            headers["Origin"] = origin
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def rows(self):
        with open(self.dir / "data.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def history(self):
        return json.loads(self.ask("/api/v1/history", token=TOKEN)[1])

    def test_a_fixed_port_with_a_token_of_ones_own(self):
        self.slow()
        child = self.begin_at(f"127.0.0.1:{self.port}")
        self.assertEqual(self.endpoint()["address"], f"http://127.0.0.1:{self.port}")
        self.assertEqual(self.endpoint()["token"], TOKEN)
        self.assertEqual((self.dir / "runs/r/endpoint.json").stat().st_mode & 0o077, 0)
        self.wait_for("readiness", lambda: self.ask("/readyz") == (200, "ok\n"))
        self.assertEqual(self.ask("/healthz"), (200, "ok\n"))
        self.assertEqual(self.ask("/metrics")[0], 200)
        self.assertEqual(self.ask("/api/v1/status")[0], 401)
        self.assertEqual(json.loads(self.ask("/api/v1/status", token=TOKEN)[1])["run"], "r")
        self.assertEqual(self.status("r")["run"], "r")
        self.assertEqual(self.ask("/api/v1/history")[0], 401)
        self.assertEqual(self.ask("/api/v1/history?after=soon", token=TOKEN)[0], 400)
        self.wait_for("a sample", lambda: self.history()["unix_ms"])
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        self.assertIn(f"Page at http://127.0.0.1:{self.port} ", self.logs())
        self.assertNotIn(TOKEN, self.logs())
        child = self.begin_at(f"127.0.0.1:{self.port}", verb=("resume", "r"))
        self.wait_for("a sample after the resume", lambda: len(self.history()["unix_ms"]) >= 2)
        samples = self.history()
        self.assertEqual(samples["unix_ms"], sorted(samples["unix_ms"]), "those from before the resume come first")
        self.assertEqual({sum(at) for at in zip(*samples["tasks"].values())}, {480})
        self.assertLess((self.dir / "runs/r/history.bin").stat().st_size, 1_100_000)
        self.assertIn("paused", self.ctl("pause").stdout)
        self.assertEqual(self.ask("/readyz"), (200, "ok\n"), "a run that is paused by hand is ready")
        self.ctl("resume")
        self.wait_exit(child, DONE)

    def test_answers_and_dead_letters_are_read(self):
        (self.dir / "faults.jsonl").write_text(json.dumps({"fault": "bad_request", "p": 0.3}) + "\n")
        self.slow("--faults", self.dir / "faults.jsonl", judging="{tries_max: 1}")
        child = self.begin_at(f"127.0.0.1:{self.port}")
        for path in ("sample", "dead-letters"):
            self.assertEqual(self.ask(f"/api/v1/{path}")[0], 401)

        def read(path):
            return json.loads(self.ask(f"/api/v1/{path}", token=TOKEN)[1])

        self.wait_for("answers", lambda: read("sample")["last"] >= 4)
        got = read("sample")
        self.assertEqual([answer["no"] for answer in got["answers"]], list(range(1, got["last"] + 1)))
        later = read(f"sample?after={got['last'] - 1}")["answers"]
        self.assertEqual(later[0], got["answers"][-1])
        self.assertEqual(self.ask("/api/v1/sample?after=x", token=TOKEN)[0], 400)
        answer = got["answers"][0]
        rows = self.rows()
        self.assertEqual((answer["prompt"], answer["a"]), (rows[answer["record"] - 1]["question"], rows[answer["record"] - 1]["alpha"]))
        self.wait_for("failures", lambda: read("status")["tasks"]["failed"] > 3)
        dead = read("dead-letters")
        self.assertEqual([one["class"] for one in dead["classes"]], ["error"])
        self.assertEqual(sum(judge["count"] for judge in dead["classes"][0]["judges"]), dead["classes"][0]["count"])
        self.assertEqual(len(dead["examples"]), 3)
        for example in dead["examples"]:
            self.assertEqual((example["class"], example["http_status"], example["end"]), ("error", 400, "bad_request"))
            self.assertEqual(example["b"], rows[example["record"] - 1]["beta"])
        child.send_signal(signal.SIGKILL)
        child.wait()
        (self.dir / "runs/r/endpoint.json").unlink()
        child = self.begin_at(f"127.0.0.1:{self.port}", verb=("resume", "r"))
        self.wait_for("those that failed before the restart", lambda: len(read("dead-letters").get("examples", [])) == 3)
        for example in read("dead-letters")["examples"]:
            self.assertEqual((example["class"], example["http_status"], example["end"]), ("error", 400, "bad_request"))
            self.assertTrue(example["error"], "the error of a call of the process before")
        child.send_signal(signal.SIGINT)
        child.wait()

    def test_dead_letters_of_an_earlier_stage(self):
        (self.dir / "faults.jsonl").write_text(json.dumps({"fault": "bad_request", "p": 0.2, "to": 300}) + "\n")
        self.slow("--faults", self.dir / "faults.jsonl", judging="{tries_max: 1, retest: 1, brake: 0}", judge={"concurrency": 8})

        def dead_letters():
            text = self.ask("/api/v1/dead-letters", token=TOKEN)[1]
            self.assertEqual(openapi.answer_faults(openapi.load(), "/api/v1/dead-letters", "GET", 200, "application/json", text), [])
            return json.loads(text)

        def at_retest():
            status = json.loads(self.ask("/api/v1/status", token=TOKEN)[1])
            self.assertEqual(status.get("stages_after", []), ["retest"] if status.get("stage") == "rank" and "tasks" in status else [])
            return status.get("stage") == "retest" and "tasks" in status

        child = self.begin_at(f"127.0.0.1:{self.port}")
        self.wait_for("the retest", at_retest)
        self.ctl("pause")
        before = dead_letters()
        stage, = before["earlier"]
        self.assertEqual((stage["stage"], [one["class"] for one in stage["classes"]]), ("rank", ["error"]))
        self.assertGreater(stage["classes"][0]["count"], 10)
        child.send_signal(signal.SIGKILL)
        child.wait()
        (self.dir / "runs/r/endpoint.json").unlink()
        child = self.begin_at(f"127.0.0.1:{self.port}", verb=("resume", "r"))
        self.wait_for("the retest", at_retest)
        after = dead_letters()
        self.assertEqual(after["earlier"], before["earlier"])
        self.assertEqual({(one["stage"], one["http_status"]) for one in after["examples"]}, {("rank", 400)})
        self.assertTrue(all(one["error"] for one in after["examples"]))
        self.kill_all(child)

    def test_beyond_the_loopback_nothing_without_the_token(self):
        self.slow()
        child = self.begin_at(f"0.0.0.0:{self.port}", "--http-host", "queue.example.org", "--http-host", "lab")
        for path in ("/metrics", "/healthz", "/readyz", "/api/v1/status", "/api/v1/history", "/api/v1/ctl", "/nothing"):
            self.assertEqual(self.ask(path)[0], 401, path)
            self.assertEqual(self.ask(path, token=TOKEN + "x")[0], 401, path)
        for path in ("/", "/pages/run.js"):
            self.assertEqual(self.ask(path)[0], 200, "a browser gets the files of the page first, which are the same for every run")
        self.assertEqual(self.ask("/pages/../status.json", token=TOKEN)[0], 404)
        for host in (None, "queue.example.org", "lab:80", "192.0.2.7"):
            self.assertEqual(self.ask("/metrics", token=TOKEN, host=host)[0], 200, host)
        for host in ("evil.example", "lab.evil.example", "queue.example.org.evil.example"):
            self.assertEqual(self.ask("/metrics", token=TOKEN, host=host)[0], 403, host)
        self.assertEqual(self.status("r")["run"], "r", "vibeq reaches it over the loopback")
        self.assertIn("paused", self.ctl("pause").stdout)
        self.ctl("resume")
        self.wait_exit(child, DONE)

    def test_pages_of_other_sites_change_nothing(self):
        self.slow()
        child = self.begin_at(f"127.0.0.1:{self.port}")
        body = json.dumps({"command": "pause"})
        for origin in ("http://evil.example", "null", f"http://127.0.0.1:{self.port + 1}", f"http://localhost:{self.port}"):
            self.assertEqual(self.ask("/api/v1/ctl", "POST", TOKEN, origin=origin, body=body)[0], 403, origin)
        self.assertEqual(self.ask("/api/v1/ctl", "POST", None, origin=f"http://127.0.0.1:{self.port}", body=body)[0], 401)
        self.assertEqual(self.log_of("ctl"), [])
        self.assertNotEqual(self.status("r")["state"], "held")
        self.assertNotIn(self.ask("/api/v1/ctl", "POST", TOKEN, origin=f"http://127.0.0.1:{self.port}", body=body)[0], (401, 403))
        self.wait_exit(child, DONE)

    def test_readiness_says_what_is_wrong(self):
        self.slow(alarm="{idle_s: 1}")
        child = self.begin_at(f"127.0.0.1:{self.port}")
        self.wait_for("readiness", lambda: self.ask("/readyz")[0] == 200)
        self.server.freeze()
        self.wait_for("the alarm", lambda: self.ask("/readyz")[0] == 503)
        self.assertRegex(self.ask("/readyz")[1], r"^stalled: no answer arrived since ")
        self.assertEqual(self.ask("/healthz"), (200, "ok\n"), "the process turns")
        self.server.thaw()
        self.wait_for("readiness", lambda: self.ask("/readyz")[0] == 200)
        redis = int((self.dir / "runs/r/redis/pid").read_text())
        os.kill(redis, signal.SIGSTOP)
        try:
            self.wait_for("Redis to be missed", lambda: "Redis is away" in self.ask("/readyz")[1])
            self.assertEqual(self.ask("/readyz")[0], 503)
        finally:
            os.kill(redis, signal.SIGCONT)
        self.wait_for("readiness", lambda: child.poll() is not None or self.ask("/readyz")[0] == 200)
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        child = self.begin_at(f"127.0.0.1:{self.port}", verb=("resume", "r"))
        kept = json.loads(self.ask("/api/v1/incidents", token=TOKEN)[1])["incidents"]
        self.assertIn("idle", {one["kind"] for one in kept}, "incidents of the process before")
        self.assertTrue(all(one["over_unix_ms"] for one in kept))
        self.wait_exit(child, DONE)

    def test_what_is_refused_leaves_no_folder(self):
        self.slow()
        taken = socket.socket()
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        loose, short, odd = self.dir / "loose", self.dir / "short", self.dir / "odd"
        for path, text, mode in ((loose, TOKEN, 0o644), (short, "secret", 0o600), (odd, "token with blanks 0123", 0o600)):
            path.write_text(text)
            path.chmod(mode)
        for words, said in (
            (["--http", "127.0.0.1"], "--http 127.0.0.1: name ADDRESS:PORT"),
            (["--http", "localhost:80"], "the address is in numbers"),
            (["--http", f"127.0.0.1:{taken.getsockname()[1]}"], "another program listens there; choose another port"),
            (["--http-token-file", "missing"], "cannot open the key file missing"),
            (["--http-token-file", loose], "can be read by others"),
            (["--http-token-file", short], "16 to 256 visible ASCII characters"),
            (["--http-token-file", odd], "16 to 256 visible ASCII characters"),
            (["--http-host", "http://lab"], "give the name alone"),
        ):
            for dry in ([], ["--dry-run"]):
                got = self.vibeq("run", "config.yaml", "--name", "r", *words, *dry, code=USAGE)
                self.assertIn(said, got.stderr)
                self.assertNotIn("secret", got.stderr)
                self.assertFalse((self.dir / "runs/r").exists())
        self.assertEqual(self.server.requests(), [])
        taken.close()

    def test_clients_that_mean_harm(self):
        """A thousand connections that drip, bodies without end: a person with the token is answered, and the run goes on."""
        self.slow()
        child = self.begin_at(f"127.0.0.1:{self.port}")
        attack = attacking.Attack(self.port)
        self.addCleanup(attack.stop)
        for _ in range(10):
            self.assertEqual(self.ask("/api/v1/status", token=TOKEN)[0], 200)
        self.assertEqual(self.ask("/", token=TOKEN)[0], 200)
        before = len(self.server.answers())
        self.wait_for("more answers", lambda: child.poll() is not None or len(self.server.answers()) > before)
        self.wait_exit(child, DONE)
        did = attack.stop()
        self.assertGreater(did["opened"], 1000)
        self.assertGreater(did["closed"], 100)
        self.assertEqual(self.log_of("ctl"), [])

    def test_a_body_without_end_is_cut_off(self):
        """Also with the token."""
        self.slow()
        child = self.begin_at(f"127.0.0.1:{self.port}")
        for words in ("", f"Authorization: Bearer {TOKEN}\r\n"):
            endless = socket.create_connection(("127.0.0.1", self.port), timeout=20)
            self.addCleanup(endless.close)
            endless.sendall(f"POST /api/v1/ctl HTTP/1.1\r\nHost: 127.0.0.1\r\n{words}Transfer-Encoding: chunked\r\n\r\n".encode())
            sent = 0
            try:
                while sent < 64 << 20:
                    endless.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                    sent += 0x10000
            except OSError:
                pass
            self.assertLess(sent, 64 << 20)
        self.assertEqual(self.ask("/api/v1/status", token=TOKEN)[0], 200)
        self.wait_exit(child, DONE)
        self.assertEqual(self.log_of("ctl"), [])


if __name__ == "__main__":
    vqtest.main()
