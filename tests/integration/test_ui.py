# labels: slow
"""`vibeq ui`: the list of runs, active runs through it and finished ones from their files, its gate, and its pages in real Chromium.
Real processes."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
import unittest
import urllib.parse

import browser
import openapi
import vqtest
from test_ctl import AXES, Ctl
from vqtest import BIN, DONE, STOPPED, USAGE, planted

HOSTILE = "<img src=x onerror=alert(1)>"
TOKEN = "a-token-of-the-test-0123456789"
NOBODY = 65534


def own_address():
    """An address of this machine beyond the loopback, or None; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
        return None if address.startswith("127.") else address


class Ui(Ctl):
    def setUp(self):
        super().setUp()
        self.document = openapi.load()

    def serve(self, *words, user=None):
        """Starts `vibeq ui` and waits until it listens; returns the child. self.address and self.token are its."""
        out = self.dir / "ui.out"
        with open(out, "ab") as file:
            start = file.tell()
            child = subprocess.Popen([str(BIN / "vibeq"), "ui", *map(str, words)], cwd=self.dir, env=self.environment(),
                                     stdin=subprocess.DEVNULL, stdout=file, stderr=file, user=user)
        self.children.append(child)
        found = []

        def listens():
            found[:] = re.findall(r"serves .* at (http://\S+?)/(?:#(\S+))?[ \n]", out.read_text()[start:])
            return found or child.poll() is not None
        self.wait_for("vibeq ui", listens)
        self.assertTrue(found, out.read_text())
        self.address, self.token = found[0][0], urllib.parse.unquote(found[0][1])
        self.said = out.read_text()[start:]
        return child

    def free(self):
        return "--http", "127.0.0.1:0"

    def ask(self, path, method="GET", body=None, token="own", timeout=20, **headers):
        """Status, type and text of one request."""
        at = urllib.parse.urlsplit(self.address)
        connection = http.client.HTTPConnection("127.0.0.1", at.port, timeout=timeout)
        headers = {key.title(): value for key, value in headers.items()}
        if token:
            headers["Authorization"] = f"Bearer {self.token if token == 'own' else token}"
        connection.putrequest(method, path, skip_host="Host" in headers)
        for key, value in headers.items():
            connection.putheader(key, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body.encode() if body is not None else None)
        answer = connection.getresponse()
        text = answer.read().decode()
        self.headers = dict(answer.headers)
        connection.close()
        return answer.status, answer.headers.get("Content-Type"), text

    def json(self, path, code=200):
        status, _, text = self.ask(path)
        self.assertEqual(status, code, text)
        return json.loads(text)

    def run_of(self, name):
        return next(run for run in self.json("/api/v1/runs")["runs"] if run["name"] == name)

    def check(self, path, got, code, method="GET"):
        self.assertEqual(openapi.answer_faults(self.document, path, method, *got), [])
        self.assertEqual(got[0], code, got[2])
        return got[2]

    def finished(self, name="done"):
        """A run that is over, with results."""
        self.config(AXES, name="small.yaml", judges=1)
        self.vibeq("run", "small.yaml", "--name", name, "--quiet")

    def paused(self, name="r", **config):
        self.slow(**config)
        child = self.start("run", "config.yaml", "--name", name)
        self.wait_for("some answers", lambda: child.poll() is not None or len(self.server.answers()) >= 10)
        self.assertIsNone(child.poll(), self.logs())
        self.ctl("pause", run=name)
        return child


class Server(Ui):
    def test_runs_that_are_over_and_active_answer_as_the_file_says(self):
        self.finished()
        child = self.paused()
        self.serve(*self.free())
        listed = json.loads(self.check("/api/v1/runs", self.ask("/api/v1/runs"), 200))
        self.assertEqual([(run["name"], run["state"], run["active"]) for run in listed["runs"]][0], ("done", "finished", False))
        self.assertEqual(listed["folder"], str((self.dir / "runs").resolve()))
        done = json.loads(self.check("/api/v1/runs/{name}", self.ask("/api/v1/runs/done"), 200))
        self.assertRegex(done["headline"], r"^\d+ of \d+ vibes kept.*model matching [0-9.]+ %")
        self.assertEqual(done["tasks_settled"], done["tasks_total"])
        active = self.run_of("r")
        self.assertTrue(active["active"])
        for name, state in (("done", "finished"), ("r", "held")):
            got = json.loads(self.check("/api/v1/runs/{name}/status", self.ask(f"/api/v1/runs/{name}/status"), 200))
            self.assertEqual((got["run"], got["state"]), (name, state))
            self.check("/api/v1/runs/{name}/history", self.ask(f"/api/v1/runs/{name}/history"), 200)
            self.check("/api/v1/runs/{name}/incidents", self.ask(f"/api/v1/runs/{name}/incidents"), 200)
            self.check("/api/v1/runs/{name}/history", self.ask(f"/api/v1/runs/{name}/history?after=soon"), 400)
            self.assertEqual(self.json(f"/api/v1/runs/{name}/history?after={int(time.time() * 1000) + 60000}")["unix_ms"], [])
        self.assertTrue(self.json("/api/v1/runs/done/history")["unix_ms"], "the samples of a finished run are read from its file")
        results = self.check("/api/v1/runs/{name}/results", self.ask("/api/v1/runs/done/results"), 200)
        self.assertEqual(results.encode(), self.results_bytes("done"))
        report = self.check("/api/v1/runs/{name}/report", self.ask("/api/v1/runs/done/report"), 200)
        self.assertEqual(report, (self.dir / "runs/done/results/report.html").read_text())
        for name in ("done", "r"):
            values = self.check("/api/v1/runs/{name}/metrics", self.ask(f"/api/v1/runs/{name}/metrics"), 200)
            self.assertIn(f'\nvibeq_commits_total{{run="{name}"}} ', values)
        ticket = self.ask(done["report_path"], token=None)
        self.check("/reports/{name}/{ticket}", ticket, 200)
        self.assertEqual(ticket[2], report)
        self.assertIn("sandbox", self.headers["Content-Security-Policy"])
        self.check("/healthz", self.ask("/healthz", token=None), 200)
        self.check("/readyz", self.ask("/readyz", token=None), 200)
        ctl = "/api/v1/runs/{name}/ctl"
        self.check(ctl, self.ask("/api/v1/runs/r/ctl", "POST", "resume"), 200, "POST")
        self.wait_for("the run to go on", lambda: self.json("/api/v1/runs/r/status")["state"] != "held")
        self.check(ctl, self.ask("/api/v1/runs/r/ctl", "POST", "nonsense"), 400, "POST")
        self.check(ctl, self.ask("/api/v1/runs/r/ctl", "POST", "park\nnowhere"), 409, "POST")
        self.check(ctl, self.ask("/api/v1/runs/done/ctl", "POST", "pause"), 409, "POST")
        self.check(ctl, self.ask("/api/v1/runs/none/ctl", "POST", "pause"), 404, "POST")
        for path in ("", "/status", "/history", "/incidents", "/results", "/report", "/metrics"):
            self.check("/api/v1/runs/{name}" + path, self.ask("/api/v1/runs/none" + path), 404)
            self.check("/api/v1/runs/{name}" + path, self.ask("/api/v1/runs/r" + path, token=None), 401)
        self.assertEqual(self.ask("/api/v1/runs", token=None)[0], 401)
        self.wait_exit(child, DONE)
        self.wait_for("the run to be over", lambda: self.run_of("r")["state"] == "finished", 15)
        self.assertEqual(self.json("/api/v1/runs/r/status")["state"], "finished")

    def test_a_killed_run_is_stopped_and_a_frozen_one_holds_up_nothing(self):
        child = self.paused()
        self.serve(*self.free())
        child.send_signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            endless = socket.create_connection(("127.0.0.1", urllib.parse.urlsplit(self.address).port), timeout=20)
            self.addCleanup(endless.close)
            endless.sendall(f"GET /api/v1/runs/r/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
            time.sleep(0.2)
            self.assertEqual(self.run_of("r")["state"], "held", "the list is answered while a run is waited for")
            self.assertIn(b" 504 ", endless.recv(4096))
            self.assertLess(time.monotonic() - began, 15)
        finally:
            child.send_signal(signal.SIGCONT)
        self.kill_all(child)
        self.wait_for("the run to be stopped", lambda: self.run_of("r")["state"] == "stopped", 15)
        self.assertEqual(self.json("/api/v1/runs/r/status")["state"], "stopped")
        self.assertFalse(self.run_of("r")["active"])
        self.assertEqual(self.ask("/api/v1/runs/r/results")[0], 404)

    def test_not_ready_without_the_folder(self):
        self.finished()
        self.serve(*self.free())
        (self.dir / "runs").rename(self.dir / "moved")
        self.assertIn("cannot be read", self.check("/readyz", self.ask("/readyz"), 503))
        (self.dir / "moved").rename(self.dir / "runs")
        self.check("/readyz", self.ask("/readyz"), 200)

    def test_a_run_that_listens_beyond_the_loopback(self):
        """The relay goes to an address of this machine that a file of this user names, and nowhere else."""
        address = own_address()
        if address is None:
            self.skipTest("this machine has no address beyond the loopback")
        self.slow()
        child = self.start("run", "config.yaml", "--name", "r", "--http", f"{address}:0")
        endpoint = self.dir / "runs/r/endpoint.json"
        self.wait_for("the endpoint", lambda: endpoint.exists() or child.poll() is not None)
        self.assertIn(f"http://{address}:", endpoint.read_text())
        self.serve(*self.free())
        self.assertEqual(self.json("/api/v1/runs/r/status")["run"], "r")
        self.assertEqual(self.ask("/api/v1/runs/r/ctl", "POST", "pause")[0], 200)
        endpoint.chmod(0o666)
        self.assertEqual(self.ask("/api/v1/runs/r/status")[0], 502, "another user can write the file")
        endpoint.chmod(0o600)
        self.assertEqual(self.json("/api/v1/runs/r/status")["state"], "held")
        text = endpoint.read_text()
        for other in ("http://192.0.2.77:80", "http://evil.example:80", f"http://{address}", f"http://{address}:80@192.0.2.77:80"):
            endpoint.write_text(re.sub("http://[^\"]*", other, text))
            status, _, said = self.ask("/api/v1/runs/r/status")
            self.assertEqual(status, 502, other)
            self.assertIn("not of this machine", said)
        endpoint.write_text(text)
        self.ask("/api/v1/runs/r/ctl", "POST", "resume")
        self.wait_exit(child, DONE)

    def test_names_lead_nowhere_else(self):
        self.finished()
        secret = self.dir / "secret"
        secret.write_text("secret of another folder")
        self.serve(*self.free())
        for path in ("/api/v1/runs/../secret", "/api/v1/runs/..%2f..%2fsecret/status", "/api/v1/runs/%2e%2e/status", "/api/v1/runs/./status",
                     "/api/v1/runs/.ui/status", "/api/v1/runs//status", "/api/v1/runs/done/../../secret", "/api/v1/runs/done/results/..",
                     "/api/v1/runs/calls.lmdb/status", "/runs/../secret", "/runs/%2e%2e%2fsecret", "/pages/../secret", "/pages/%2e%2e/secret",
                     "/api/v1/runs/x%00/status%00", "/api/v1/runs/" + "x" * 3000, "/runs/done/../../etc/passwd", "/reports/..%2f/x"):
            status, _, text = self.ask(path)
            self.assertIn(status, (400, 404, 414), path)
            self.assertNotIn("secret of", text)
        results = self.dir / "runs/done/results"
        for file, path in ((results / "results.json", "results"), (results / "report.html", "report"), (self.dir / "runs/done/status.json", "status"),
                           (self.dir / "runs/done/history.bin", "history")):
            file.unlink()
            file.symlink_to(secret)
            got = self.ask(f"/api/v1/runs/done/{path}")
            self.assertNotIn("secret of", got[2], "a link in the folder of a run is not followed")
            file.unlink()
            os.mkfifo(file)
            self.assertIn(self.ask(f"/api/v1/runs/done/{path}", timeout=5)[0], (200, 404), "a pipe holds up nothing")
        self.wait_for("the list without a result", lambda: self.run_of("done")["headline"] is None, 10)
        (self.dir / "runs" / HOSTILE).mkdir()
        (self.dir / "runs" / HOSTILE / "lock").touch()
        self.assertEqual([run["name"] for run in self.json("/api/v1/runs")["runs"]], ["done"], "what is no run's name is no run")

    def test_who_may_ask(self):
        self.finished()
        self.finished("other")
        token = self.dir / "token"
        token.write_text(TOKEN)
        token.chmod(0o600)
        self.serve("--http", "0.0.0.0:0", "--http-token-file", token, "--http-host", "lab.example")
        self.assertNotIn(TOKEN, self.said)
        self.token = TOKEN
        port = urllib.parse.urlsplit(self.address).port
        for path in ("/api/v1/runs", "/api/v1/runs/done", "/api/v1/runs/done/status", "/healthz", "/nothing"):
            self.assertEqual(self.ask(path, token=None)[0], 401, path)
            self.assertEqual(self.ask(path, token=TOKEN + "x")[0], 401, path)
        for path in ("/", "/pages/runs.js", "/runs/done/"):
            self.assertEqual(self.ask(path, token=None)[0], 200, path)
        for host, code in (("lab.example", 200), (f"127.0.0.1:{port}", 200), ("evil.example", 403), ("lab.example.evil.example", 403)):
            self.assertEqual(self.ask("/api/v1/runs", host=host)[0], code, host)
        for origin, code in (("http://evil.example", 403), ("null", 403), (f"http://127.0.0.1:{port}", 409)):
            self.assertEqual(self.ask("/api/v1/runs/done/ctl", "POST", "pause", origin=origin)[0], code, origin)
        mine, others = (self.json(f"/api/v1/runs/{name}")["report_path"] for name in ("done", "other"))
        swapped = mine.rsplit("/", 1)[0] + "/" + others.rsplit("/", 1)[1]
        self.assertEqual(self.ask(mine, token=None)[0], 200)
        for path in (swapped, mine[:-1], mine[:-1] + ("0" if mine[-1] != "0" else "1"), mine.rsplit("/", 1)[0] + "/"):
            self.assertEqual(self.ask(path, token=None)[0], 403, path)

    def test_folders_of_others_are_shown_as_such(self):
        self.finished()
        self.finished("hidden")
        runs = self.dir / "runs"
        user = None
        if os.geteuid() == 0:
            user = NOBODY
            for folder in (self.dir, runs, *(path for path in (runs / "done").rglob("*") if path.is_dir()), runs / "done"):
                folder.chmod(0o755)
            for file in (runs / "done").rglob("*"):
                if file.is_file():
                    file.chmod(0o644)
            (self.dir / "ui.out").touch()
        else:
            (runs / "hidden").chmod(0)
            self.addCleanup((runs / "hidden").chmod, 0o700)
        try:
            self.serve(*self.free(), user=user)
        except PermissionError:
            self.skipTest("another user may not run the programs of this build")
        hidden = json.loads(self.check("/api/v1/runs/{name}", self.ask("/api/v1/runs/hidden"), 200))
        self.assertEqual(hidden["state"], "unreadable")
        self.assertEqual(hidden["problems"], ["you may not read this folder" + ("; it belongs to root" if user else "")])
        self.assertEqual(self.run_of("done")["state"], "finished")
        self.assertEqual(self.ask("/api/v1/runs/hidden/status")[0], 403)
        self.assertEqual(self.ask("/api/v1/runs/hidden/results")[0], 403)
        if user:
            self.assertIn("other commands do not learn the address", self.said)

    def test_the_usual_port_and_a_second_server(self):
        taken = socket.socket()
        try:
            taken.bind(("127.0.0.1", 7420))
            taken.listen()
        except OSError:
            pass  # somebody else has it, which is as good
        self.addCleanup(taken.close)
        self.assertIn("there is no runs folder", self.vibeq("ui", code=USAGE).stderr)
        self.finished()
        child = self.serve()
        port = urllib.parse.urlsplit(self.address).port
        self.assertTrue(7420 < port < 7440, self.address)
        self.assertIn(f"Port 7420 is taken, so vibeq ui listens on port {port}", self.said)
        self.assertIn(f"already, at {self.address}/#{self.token}", self.vibeq("ui").stdout)
        self.assertIn("stop it first", self.vibeq("ui", *self.free(), code=USAGE).stderr)
        self.assertEqual(self.vibeq("status", "done", "--url").stdout.strip(), f"{self.address}/runs/done/#{self.token}")
        self.assertEqual((self.dir / "runs/.ui/endpoint.json").stat().st_mode & 0o077, 0)
        other = self.dir / "other"
        other.mkdir()
        self.assertIn("choose another port", self.vibeq("ui", "--runs", other, "--http", f"127.0.0.1:{port}", code=USAGE).stderr)
        child.kill()
        child.wait()
        self.assertIn("vibeq ui shows it", self.vibeq("status", "done", "--url", code=USAGE).stderr, "a killed server misleads nobody")
        child = self.serve(*self.free())
        child.send_signal(signal.SIGTERM)
        self.wait_exit(child, DONE)
        self.assertFalse((self.dir / "runs/.ui/endpoint.json").exists())
        self.assertEqual(self.vibeq("list").stdout.split()[-1], "done")

    def test_a_server_beside_the_run_ends_with_it(self):
        self.slow()
        child = self.start("run", "config.yaml", "--name", "r", "--ui")
        ui = self.dir / "runs/.ui/endpoint.json"
        self.wait_for("vibeq ui", lambda: ui.exists() or child.poll() is not None)
        endpoint = json.loads(ui.read_text())
        self.address, self.token = endpoint["address"], endpoint["token"]
        self.wait_for("the run in the list", lambda: self.json("/api/v1/runs")["runs"])
        self.wait_for("the address", lambda: f"Page at {self.address}/runs/r/ (vibeq status r --url" in self.logs())
        self.assertNotIn(self.token, self.logs())
        self.wait_for("the run", lambda: self.vibeq("status", "r", "--json", code=None).returncode == 0)
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        self.assertFalse(os.path.exists(f"/proc/{endpoint['pid']}"))
        child = self.start("resume", "r", "--ui")
        self.wait_for("vibeq ui", lambda: ui.exists() or child.poll() is not None)
        pid = json.loads(ui.read_text())["pid"]
        self.kill_all(child)
        self.wait_for("vibeq ui to end with a killed run", lambda: not os.path.exists(f"/proc/{pid}"))
        self.serve(*self.free())
        child = self.start("resume", "r", "--ui")
        self.wait_for("the address of the server that is there", lambda: f"Page at {self.address}/runs/r/" in self.logs())
        self.wait_exit(child, DONE)
        self.assertEqual(self.ask("/healthz")[0], 200, "it stays")


@unittest.skipIf(browser.program() is None, "no Chromium")
class Pages(Ui):
    def setUp(self):
        super().setUp()
        self.browser = browser.Browser(self.dir)
        self.addCleanup(self.browser.close)

    def open(self, path="/", **more):
        self.browser.open("about:blank")
        self.browser.open(f"{self.address}{path}#{self.token}", **more)

    def text(self, selector):
        return self.browser.run(f"document.querySelector({selector!r})?.innerText ?? ''")

    def shown(self, selector, words, seconds=15):
        self.wait_for(f"{words} in {selector}", lambda: words in self.text(selector), seconds)

    def names(self):
        return self.browser.run("[...document.querySelectorAll('#runs tbody tr')].map(row => row.dataset.run)")

    def picture(self, name):
        folder = os.environ.get("VQ_BUILD_DIR")
        if folder:
            self.browser.picture(os.path.join(folder, f"page-{name}.png"))

    def clean(self):
        self.assertEqual(self.browser.complaints(), [])
        for address in self.browser.fetched():
            self.assertTrue(address.startswith((self.address, "data:")), address)
            self.assertNotIn(self.token, urllib.parse.unquote(address), "the token is in a header")

    def test_the_list_a_finished_run_and_its_report(self):
        self.finished("done")
        child = self.paused(judge={"concurrency": 4, "price_input_usd": 1, "price_output_usd": 2}, budget="{usd: 5}")
        self.serve(*self.free())
        self.open(width=1300, height=900)
        self.shown("#count", "2 runs, 1 active")
        self.assertNotIn("#", self.browser.run("location.href"), "the token leaves the address")
        self.assertEqual(self.names(), ["r", "done"], "active runs are first")
        self.shown("[data-run=done]", "vibes kept")
        self.shown("[data-run=r]", "of $5.00")
        self.picture("runs-1300")
        self.assertEqual(self.browser.run("document.activeElement.id"), "")
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key="/", text="/")
        self.assertEqual(self.browser.run("document.activeElement.id"), "search")
        self.browser.call("Input.insertText", text="FINISHED")
        self.wait_for("the search", lambda: self.names() == ["done"])
        self.browser.run("document.activeElement.value = ''; document.activeElement.dispatchEvent(new Event('input'))")
        self.browser.run("document.querySelector('[data-by=name] button').click()")
        self.wait_for("the order", lambda: self.names() == ["done", "r"])
        self.assertEqual(self.browser.run("document.querySelector('[data-by=name]').ariaSort"), "ascending")
        self.browser.run("document.querySelector('[data-run=r] a').focus()")
        self.ctl("budget", "7")
        self.shown("[data-run=r]", "of $7.00", 20)
        self.assertEqual(self.browser.run("document.activeElement.closest('tr')?.dataset.run"), "r", "the focus stays when a row changes")
        self.clean()
        self.browser.run("document.querySelector('[data-run=r] a').click()")
        self.shown("#state", "held")
        self.browser.run("window.confirm = () => true; document.querySelector('#resume').click()")
        self.wait_for("the resume through vibeq ui", lambda: self.status("r")["state"] != "held", 15)
        self.clean()
        self.browser.run("document.querySelector('#brand a').click()")
        self.shown("#count", "2 runs")
        self.browser.run("document.querySelector('[data-run=done] a').click()")
        self.shown("#state", "finished")
        self.shown("#outcome", "vibes kept")
        self.assertEqual(self.browser.run("document.querySelectorAll('.charts canvas').length"), 4)
        self.assertTrue(self.browser.run("document.getElementById('change').hidden"))
        self.assertEqual(self.browser.run("[...document.querySelectorAll('main button')].filter(b => b.offsetParent !== null).length"), 0)
        self.clean()
        self.browser.run("document.querySelector('#outcome a').click()")
        self.wait_for("the report", lambda: "vibes" in self.browser.run("document.body?.innerText ?? ''").lower(), 20)
        self.wait_for("the script of the report", lambda: self.browser.run("document.querySelectorAll('table').length") > 0, 20)
        stored = self.browser.run("(() => { try { return String(sessionStorage.length); } catch (error) { return error.name; } })()")
        self.assertEqual(stored, "SecurityError", "the report has no access to the token of our pages")
        self.assertEqual(self.browser.complaints(), [])
        self.open(width=390, height=900, scheme="dark")
        self.shown("#count", "2 runs")
        self.shown("[data-run=done]", "vibes kept")
        self.picture("runs-390")
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 390)
        self.clean()
        self.wait_exit(child, DONE)

    def test_names_of_others_are_text(self):
        self.config((HOSTILE, "V2", "V3"), name="hostile.yaml", judges=1, models=("alpha", "beta"))
        planted(self.dir, 40, (HOSTILE, "V2", "V3"))
        (self.dir / "hostile.yaml").write_text((self.dir / "hostile.yaml").read_text().replace(f"name: {HOSTILE}", f"name: '{HOSTILE}'")
                                               .replace(f"low on {HOSTILE}", "low on it").replace(f"high on {HOSTILE}", "high on it"))
        self.vibeq("run", "hostile.yaml", "--name", "evil", "--quiet", code=None)
        (self.dir / "runs" / HOSTILE).mkdir()
        (self.dir / "runs" / HOSTILE / "lock").touch()
        status = self.dir / "runs/evil/status.json"
        changed = json.loads(status.read_text())
        changed.update(run=HOSTILE, note=HOSTILE, stage=HOSTILE)
        status.write_text(json.dumps(changed))
        results = self.dir / "runs/evil/results/results.json"
        made = json.loads(results.read_text())
        for vibe in made["vibes"]:
            vibe.update(name=HOSTILE + "\u202e", kept=True)
        results.write_text(json.dumps(made))
        (self.dir / "runs/evil/results/report.html").write_text(
            "<script>document.title = 'ran'; fetch('/api/v1/runs').then(() => document.title = 'asked', () => document.title = 'no network');</script>")
        self.serve(*self.free())
        self.open()
        self.shown("[data-run=evil]", HOSTILE)
        self.assertIn("<U+202E>", self.text("[data-run=evil]"))
        self.assertEqual(self.browser.run("document.querySelectorAll('img').length"), 0)
        self.clean()
        self.browser.run("document.querySelector('[data-run=evil] th a').click()")
        self.shown("#name", HOSTILE)
        self.shown("#outcome", HOSTILE)
        self.assertEqual(self.browser.run("document.querySelectorAll('img').length"), 0)
        self.clean()
        self.browser.run("document.querySelector('#outcome a').click()")
        self.wait_for("the foreign report", lambda: self.browser.run("document.title") == "no network", 15)
        self.assertEqual(self.browser.run("self.origin"), "null", "a foreign report is a page of no site")

    def test_without_the_token_nothing_is_shown(self):
        self.finished()
        child = self.serve(*self.free())
        token, self.token = self.token, "wrong"
        self.open()
        self.wait_for("the question for a token", lambda: self.browser.run("!document.getElementById('door').hidden"), 15)
        self.assertEqual(self.names(), [])
        self.browser.run(f"document.getElementById('token').value = '{token}'; document.querySelector('#door button').click()")
        self.shown("#count", "1 run, 0 active")
        child.send_signal(signal.SIGTERM)
        self.wait_exit(child, DONE)
        self.shown("#alert", "vibeq ui does not answer")


if __name__ == "__main__":
    vqtest.main()
