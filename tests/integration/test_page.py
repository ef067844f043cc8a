# labels: slow
"""The page of an active run in real Chromium: what it shows, its buttons, its token, and texts that mean harm. Real processes."""
import csv
import json
import os
import re
import signal
import time
import unittest

import browser
import vqtest
from test_ctl import AXES, Ctl
from vqtest import DONE, STOPPED, USAGE

HOSTILE = "<img src=x onerror=alert(1)>"
FIRST_PAINT_BYTES_MAX = 100_000
FAULTY_REQUESTS = 60
NEWS_S = 2


@unittest.skipIf(browser.program() is None, "no Chromium")
class Page(Ctl):
    def setUp(self):
        super().setUp()
        self.browser = browser.Browser(self.dir)
        self.addCleanup(self.browser.close)

    def slow(self, *options, **config):
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:500ms:1500ms", *options)
        config.setdefault("judge", {"concurrency": 4})
        return self.config(AXES, url=self.server.url, **config)

    def url(self):
        return self.vibeq("status", "r", "--url").stdout.strip()

    def open(self, url, **more):
        self.browser.open("about:blank")
        self.browser.open(url, **more)

    def text(self, selector):
        return self.browser.run(f"document.querySelector({selector!r})?.innerText ?? ''")

    def shown(self, selector, words, seconds=15):
        self.wait_for(f"{words} in {selector}", lambda: words in self.text(selector), seconds)

    def press(self, selector):
        self.browser.run(f"window.confirm = () => true; document.querySelector({selector!r}).click()")

    def picture(self, name, **size):
        """A picture for people, where the build keeps its files."""
        folder = os.environ.get("VQ_BUILD_DIR")
        if folder:
            self.browser.picture(os.path.join(folder, f"page-{name}.png"))

    def settled_shown(self):
        return self.browser.run("document.querySelector('#cards progress')?.value ?? 0")

    def clean(self):
        self.assertEqual(self.browser.complaints(), [])
        origin = self.endpoint()["address"]
        for address in self.browser.fetched():
            self.assertTrue(address.startswith(origin), address)
            self.assertNotIn(self.endpoint()["token"], address, "the token is in a header")

    def test_a_run_is_watched_and_steered(self):
        self.slow(judge={"concurrency": 4, "price_input_usd": 1, "price_output_usd": 2}, budget="{usd: 5}", judging="{retest: 0.2}")
        child = self.begin(10)
        self.open(self.url(), width=1300, height=1100)
        self.shown("#state", "running")
        self.shown("#stages .next", "retest")
        self.assertRegex(self.text("#depth .u-legend"), r"waiting\s*\d", "the newest values are in the legend")
        self.shown("#cards", "of 480")
        self.assertNotIn("#", self.browser.run("location.href"), "the token leaves the address")
        first = self.settled_shown()
        self.wait_for("progress on the page", lambda: self.settled_shown() > first, 20)
        self.shown("#cards", "of a budget of $5.00")
        self.assertEqual(self.browser.run("document.querySelectorAll('.charts canvas').length"), 4)
        self.shown("#pools", "of 4 calls in flight")
        self.picture("1300")
        bytes_ = self.browser.run("performance.getEntriesByType('resource').filter(r => r.name.includes('/pages/'))"
                                  ".reduce((sum, r) => sum + r.transferSize, performance.getEntriesByType('navigation')[0].transferSize)")
        self.assertLess(bytes_, FIRST_PAINT_BYTES_MAX)
        self.press("#pause")
        self.shown("#state", "held")
        self.assertIn("paused by vibeq ctl since", self.text("#alert"))
        sent = self.settled_sends()
        self.press("#resume")
        self.shown("#state", "running")
        self.wait_for("calls after the pause", lambda: len(self.server.requests()) > sent)
        self.press("#pools button")
        self.shown("#pools", "parked by vibeq ctl")
        self.press("#pools tr:has(.held) button")
        self.wait_for("the pool to be open", lambda: "parked by vibeq ctl" not in self.text("#pools"), 15)
        self.clean()
        self.browser.run("document.querySelector('#budget input').value = 'much'; document.querySelector('#budget button').click()")
        self.wait_for("the refusal", lambda: self.text("#reply.bad"), 15)
        self.browser.complaints()
        self.browser.events = []  # Chromium logs the status 400 of the refusal
        self.browser.run("document.querySelector('#budget input').value = '7'; document.querySelector('#budget button').click()")
        self.shown("#cards", "of a budget of $7.00")
        self.browser.run("document.querySelector('#retune input').value = '3'; document.querySelector('#retune [name=limit]').value = '--concurrency';"
                         "document.querySelector('#retune button').click()")
        self.shown("#pools", "of 3 calls in flight")
        self.wait_for("small lines", lambda: self.browser.run("document.querySelectorAll('#pools polyline').length") >= 3, 20)
        remote = self.join("--name", "elsewhere")
        self.wait_for("it to join", lambda: "elsewhere" in {worker["name"] for worker in self.status("r")["workers"]})
        self.shown("#workers", "elsewhere", NEWS_S)
        self.browser.run("document.querySelector('#workers [data-key=\"drain elsewhere\"]').click()")
        self.wait_exit(remote, DONE, 20)
        self.wait_for("it to be gone", lambda: "elsewhere" not in self.text("#workers"), 15)
        spent = float(re.search(r"\$([0-9.]+)", self.text("#cards"))[1])
        self.wait_for("spend to move", lambda: float(re.search(r"\$([0-9.]+)", self.text("#cards"))[1]) > spent)
        local = self.status("r")["workers"][0]
        os.kill(local["pid"], signal.SIGKILL)
        self.wait_for("the next process of the worker", lambda: f"process {local['pid']}" not in self.text("#workers")
                      and "process" in self.text("#workers"), 30)
        self.wait_for("the page to go on", lambda: "running" in self.text("#state"))
        self.shown("#incidents", "signal 9")
        self.assertIn("started again", self.text("#incidents"))
        self.assertIn("rank", self.text("#stages"))
        self.clean()
        self.open(self.url(), width=390, height=900, scheme="dark")
        self.shown("#cards", "of 480")
        self.picture("390")
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 390)
        self.clean()
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        self.shown("#alert", "has not answered since")
        self.assertIn("is not active", self.vibeq("status", "r", "--url", code=USAGE).stderr)

    def test_without_the_token_nothing_is_shown(self):
        self.slow()
        child = self.begin(10)
        address, token = self.endpoint()["address"], self.endpoint()["token"]
        self.open(address + "/")
        self.wait_for("the question for a token", lambda: self.browser.run("!document.getElementById('door').hidden"), 15)
        self.assertEqual(self.text("#cards"), "")
        self.open(address + "/#wrong")
        self.wait_for("the question for a token", lambda: self.browser.run("!document.getElementById('door').hidden"), 15)
        self.browser.run(f"document.getElementById('token').value = '{token}'; document.querySelector('#door button').click()")
        self.shown("#cards", "of 480")
        self.assertTrue(self.browser.run("document.getElementById('door').hidden"))
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)

    def test_texts_of_others_are_text(self):
        """Names of judges, prompts and outputs, also of tasks that failed."""
        data = self.dir / "data.csv"
        data.write_text(data.read_text().replace("[S", HOSTILE + "[S"))
        (self.dir / "faults.jsonl").write_text(json.dumps({"fault": "bad_request", "p": 0.3, "to": FAULTY_REQUESTS}) + "\n")
        self.slow("--faults", self.dir / "faults.jsonl", judges=1, judge={"concurrency": 4, "name": f"'{HOSTILE}'"})
        child = self.begin(10)
        self.open(self.url())
        self.shown("#pools", HOSTILE)
        self.shown("#sample", HOSTILE)
        self.shown("#letters", "refused the request")
        self.browser.run("for (const one of document.querySelectorAll('#letters details')) one.open = true")
        self.shown("#letters .text", HOSTILE)
        self.assertEqual(self.browser.run("document.querySelectorAll('img').length"), 0)
        blocked = self.browser.run("new Promise(r => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; "
                                   "document.body.append(s); setTimeout(() => r(window.ran === undefined), 200); })")
        self.assertTrue(blocked, "the policy lets no script of the page's text run")
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)

    def test_failed_tasks_are_shown_and_asked_again(self):
        """A task that failed is shown with its prompt, its outputs and what was wrong; a button asks it again."""
        with open(self.dir / "faults.jsonl", "w") as file:
            file.write(json.dumps({"fault": "bad_request", "p": 0.3, "to": FAULTY_REQUESTS}) + "\n")
        self.slow("--faults", self.dir / "faults.jsonl", judge={"concurrency": 8})
        child = self.begin(10)
        self.open(self.url(), width=1300, height=1100)
        self.shown("#letters", "refused the request")
        self.shown("#letters details summary", "error: record", 20)
        self.wait_for("the server to be well", lambda: len(self.server.requests()) > FAULTY_REQUESTS)
        self.press("#pause")
        self.settled_sends()
        self.browser.run("document.querySelector('#letters details').open = true")
        text = self.text("#letters details")
        row = int(re.search(r"record (\d+)", text)[1])
        with open(self.dir / "data.csv", encoding="utf-8") as file:
            sample = list(csv.DictReader(file))[row - 1]
        for field in ("question", "alpha", "beta"):
            self.assertIn(" ".join(sample[field].split())[:200], " ".join(text.split()))
        self.assertIn("HTTP 400", text)
        self.assertIn("low on", text)
        failed = self.status("r")["tasks"]["failed"]
        self.shown("#letters", f"{failed} tasks of this stage")
        self.browser.run("window.asked = []; window.confirm = (words) => { window.asked.push(words); return true; };"
                         "document.querySelector('#letters tbody button').click()")
        self.wait_for("the failed tasks to be open", lambda: self.status("r")["tasks"]["failed"] == 0)
        self.assertIn("requeue --class error", self.browser.run("window.asked[0]"))
        self.assertIn("pays", self.browser.run("window.asked[0]"))
        self.shown("#reply", "retried")
        self.wait_for("the page to show none", lambda: self.browser.run("document.getElementById('dead').hidden"), 15)
        self.clean()
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)

    def test_answers_are_shown_as_they_come(self):
        self.slow()
        child = self.begin(10)
        self.open(self.url(), width=1300, height=1100)
        self.wait_for("answers", lambda: self.browser.run("document.querySelectorAll('#sample article').length") > 2, 20)
        text = self.text("#sample article")
        self.assertRegex(text, r"record \d+ · V[123] · offline-[ab]")
        for word in ("Prompt", "Output A", "Output B", "Answer", "shown first", "low on V"):
            self.assertIn(word, text)
        self.press("#hold")
        held = self.text("#sample")
        time.sleep(3)
        self.assertEqual(self.text("#sample"), held, "a person can read it")
        self.press("#hold")
        self.wait_for("more answers", lambda: self.text("#sample") != held)
        self.clean()
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)


if __name__ == "__main__":
    vqtest.main()
