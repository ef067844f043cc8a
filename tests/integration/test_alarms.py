# labels: slow
"""alarm.command and alarm.webhook: told once at the begin and once at the end; receivers that hang or fail change nothing of the run;
the URL is a secret. Real processes."""
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import vqtest
from test_ctl import Ctl
from vqtest import DONE, STOPPED, USAGE

TOKEN = "token-of-the-webhook-4711"


class Hook:
    """A receiver of webhooks, which may hold every answer back."""

    def __init__(self, hangs=False, status=204):
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.told.append((self.path, self.headers["Content-Type"], json.loads(body)))
                if hangs:
                    hook.end.wait(60)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *words):
                pass

        self.told, self.end = [], threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?token={TOKEN}"

    def close(self):
        self.end.set()
        self.server.shutdown()
        self.server.server_close()

    def events(self):
        return [(body["event"], body["kind"]) for _, _, body in self.told]


class Alarms(Ctl):
    def hook(self, **options):
        hook = Hook(**options)
        self.addCleanup(hook.close)
        return hook

    def command(self, script):
        (self.dir / "tell.sh").write_text(script)

    def told(self):
        """What the command wrote: one dict a call."""
        path = self.dir / "told"
        texts = path.read_text().split("--\n")[:-1] if path.exists() else []
        return [dict(line.split("=", 1) for line in text.splitlines()) for text in texts]

    def begin_with(self, env=None, alarm="{idle_s: 1, command: sh tell.sh, webhook: 'env:HOOK'}", **config):
        self.slow(alarm=alarm, **config)
        child = self.start("run", "config.yaml", "--name", "r", env=env)
        self.wait_for("some answers", lambda: child.poll() is not None or len(self.server.answers()) >= 30)
        self.assertIsNone(child.poll(), self.logs())
        return child

    def stall(self):
        self.server.freeze()
        try:
            self.wait_for("the alarm", lambda: self.log_of("alarm.idle"), 20)
            time.sleep(1)
        finally:
            self.server.thaw()
        self.wait_for("its end", lambda: self.log_of("alarm.over"), 20)

    def assert_no_secret(self):
        for path in [self.dir / "start.out", *(self.dir / "runs").rglob("*")]:
            if path.is_file():
                self.assertNotIn(TOKEN.encode(), path.read_bytes(), path)

    def test_told_once_at_the_begin_and_once_at_the_end(self):
        hook = self.hook()
        self.command("env | grep -v -e '^PWD=' -e '^SHLVL=' -e '^_=' >> told; echo -- >> told\n")
        child = self.begin_with(env={"HOOK": hook.url, "A_KEY": "not for the command"})
        self.stall()
        self.assertNotIn(TOKEN, self.vibeq("status", "r", "--json").stdout)
        self.wait_exit(child, DONE)
        self.assertEqual(hook.events(), [("begin", "idle"), ("end", "idle")])
        path, kind, body = hook.told[0]
        self.assertEqual((path, kind), (f"/hook?token={TOKEN}", "application/json"))
        self.assertEqual((body["run"], body["what"]), ("r", None))
        self.assertIn("vibeq status r", body["action"])
        self.assertEqual(hook.told[1][2]["since_unix_ms"], body["since_unix_ms"])
        begin, end = self.told()
        self.assertEqual((begin["VIBEQ_ALARM_EVENT"], begin["VIBEQ_ALARM_KIND"], begin["VIBEQ_RUN"]), ("begin", "idle", "r"))
        self.assertEqual(begin["VIBEQ_ALARM_TEXT"], body["text"])
        self.assertEqual(begin["VIBEQ_ALARM_ACTION"], body["action"])
        self.assertEqual((end["VIBEQ_ALARM_EVENT"], end["VIBEQ_ALARM_ACTION"]), ("end", ""))
        self.assertNotIn("A_KEY", begin)
        self.assertNotIn("HOOK", begin)
        self.assertEqual(self.log_of("alarm.untold"), [])
        self.assert_no_secret()

    def test_receivers_that_hang_change_nothing(self):
        hook = self.hook(hangs=True)
        self.command("echo $$ >> pids; sleep 600 & sleep 600\n")
        child = self.begin_with(env={"HOOK": hook.url})
        self.stall()
        answers = len(self.server.answers())
        self.wait_for("answers while both hang", lambda: len(self.server.answers()) > answers + 20)
        self.assertEqual(hook.events(), [("begin", "idle")], "one request at a time")
        self.assertEqual(len((self.dir / "pids").read_text().split()), 1, "one process at a time")
        self.wait_for("the results", (self.dir / "runs/r/results/results.json").exists)
        since = time.monotonic()
        self.wait_exit(child, DONE)
        self.assertLess(time.monotonic() - since, 15, "the end waits for them for a bounded time")
        self.assertEqual(self.results("r")["cells_missing"], 0)
        self.assertTrue(self.log_of("alarm.untold"))
        group = int((self.dir / "pids").read_text().split()[0])
        self.wait_for("the end of the command and its children", lambda: not self.group(group), 10)
        self.assert_no_secret()

    @staticmethod
    def group(leader):
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    stat = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(stat[2]) == leader and stat[0] != "Z":
                    found.append(int(entry))
        return found

    def test_receivers_that_fail_are_logged(self):
        hook = self.hook(status=500)
        self.command("exit 3\n")
        child = self.begin_with(env={"HOOK": hook.url})
        self.stall()
        self.wait_exit(child, DONE)
        untold = self.log_of("alarm.untold")
        self.assertEqual({(line["by"], line.get("code"), line.get("status")) for line in untold},
                         {("alarm.command", 3, None), ("alarm.webhook", None, 500)})
        self.assertEqual(len(untold), 4)
        self.assert_no_secret()

    def test_a_pool_and_a_run_that_stops(self):
        hook = self.hook()
        (self.dir / "hook").write_text(hook.url + "\n")
        (self.dir / "hook").chmod(0o600)
        self.slow(alarm="{webhook: 'file:hook'}", budget="{usd: 0.002}", judge={
            "concurrency": 4, "price_input_usd": 1, "price_output_usd": 1})
        child = self.start("run", "config.yaml", "--name", "r", "--yes")
        self.wait_exit(child, STOPPED)
        event, kind = hook.events()[-1]
        self.assertEqual((event, kind), ("begin", "stopped"))
        self.assertIn("vibeq resume r", hook.told[-1][2]["action"])
        self.assertIn("budget", hook.told[-1][2]["text"])
        self.assert_no_secret()

    def test_a_webhook_that_cannot_be_used_is_refused_at_the_start(self):
        for webhook in ("ftp://example.org/" + TOKEN, "http://example.org/" + TOKEN, "env:NOT_SET_HERE", "file:none"):
            self.slow(alarm=f"{{webhook: '{webhook}'}}")
            said = self.vibeq("run", "config.yaml", "--name", "n", code=None)
            self.assertIn(said.returncode, (USAGE, vqtest.INTERNAL, STOPPED), said.stderr)
            self.assertNotEqual(said.returncode, DONE)
            self.assertRegex(said.stderr, "alarm.webhook|NOT_SET_HERE|none")
            self.assertNotIn(TOKEN, said.stderr + said.stdout)
            self.assertEqual(self.server.requests(), [])
            self.server.stop()


if __name__ == "__main__":
    vqtest.main()
