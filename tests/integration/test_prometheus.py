# labels: slow
"""Metrics of real runs: counters over a kill and a resume, the last values in a file; a real Prometheus that scrapes a run, evaluates
the board of deploy/grafana and fires an alert of deploy/prometheus; promtool on the metrics and on the rules."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
import urllib.parse
import urllib.request

import vqtest
from test_ctl import Ctl
from vqtest import DONE, ROOT, STOPPED

HERE = ROOT / "deploy"
MISSING = "NOT TESTED: prometheus and promtool are not installed; deploy/install-deps --ci installs them"


def series(text):
    """{'name{labels}': value}"""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line and not line.startswith("#")}


class Metrics(Ctl):
    def scrape(self):
        with urllib.request.urlopen(f"{self.endpoint()['address']}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def last(self):
        return (self.dir / "runs/r/metrics.prom").read_text()

    @staticmethod
    def total(values, name):
        return sum(value for key, value in values.items() if re.match(rf"{name}(_count)?{{", key))


class Counters(Metrics):
    def test_no_counter_falls_when_a_killed_run_is_resumed(self):
        self.slow()
        child = self.begin()
        self.kill_workers()
        self.wait_for("a lost lease", lambda: self.total(series(self.scrape()), "vibeq_leases_lost_total") > 0)
        text = self.scrape()
        before = series(text)
        self.kill_all(child)
        counters = re.findall(r"(?m)^# TYPE (vibeq_\S+) (?:counter|histogram)$", text)
        self.assertIn("vibeq_calls_total", counters)
        child = self.start("resume", "r", "--workers", 0)
        self.wait_for("the endpoint", lambda: (self.dir / "runs/r/endpoint.json").exists() and self.endpoint()["pid"] == child.pid)
        after = series(self.scrape())
        for name in counters:
            self.assertGreaterEqual(self.total(after, name), self.total(before, name), name)
        self.assertGreater(self.total(after, "vibeq_call_duration_seconds"), 0)
        self.assertEqual(self.total(after, "vibeq_workers"), 0)
        self.assertEqual(self.total(after, "vibeq_workers_wanted"), 1, "from nothing, one worker shows what a worker carries")
        child.terminate()
        self.wait_exit(child, STOPPED)

    def test_the_last_values_agree_with_the_ledger(self):
        self.slow()
        child = self.start("run", "config.yaml", "--name", "r")
        self.wait_exit(child, DONE)
        values, accounting = series(self.last()), self.accounting("r")
        self.assertEqual(values['vibeq_state{run="r",state="finished"}'], 1)
        answered = sum(value for key, value in values.items() if key.startswith("vibeq_calls_total") and 'end="answer"' in key)
        self.assertEqual(answered, accounting["answered"])
        self.assertEqual(self.total(values, "vibeq_calls_total"), accounting["sent"])
        self.assertEqual(self.total(values, "vibeq_call_duration_seconds"), accounting["sent"])
        self.assertEqual(self.total(values, "vibeq_input_tokens_total"), accounting["tokens_in"])
        self.assertEqual(self.total(values, "vibeq_output_tokens_total"), accounting["tokens_out"])
        self.assertEqual(values['vibeq_workers_wanted{run="r"}'], 0)
        self.assertNotIn("\nprocess_", self.last())
        saved = json.loads((self.dir / "runs/r/counters.json").read_text())
        self.assertEqual(saved["commits_total"], values['vibeq_commits_total{run="r"}'])

    def test_a_full_pool_wants_no_more_workers_and_a_parked_one_none(self):
        self.slow()
        child = self.start("run", "config.yaml", "--name", "r", "--workers", 2)
        wanted = lambda: series(self.scrape()).get('vibeq_workers_wanted{run="r"}')
        self.wait_for("answers", lambda: len(self.server.answers()) > 20)
        self.wait_for("the pool's four calls in flight, of two workers", lambda: wanted() in (1, 2))
        pools = re.findall(r'vibeq_pool_state{run="r",pool="([^"]+)"', self.scrape())
        for pool in pools:
            self.ctl("park", pool)
        self.wait_for("no worker wanted", lambda: wanted() == 0)
        self.ctl("unpark", pools[0])
        self.wait_for("workers wanted", lambda: wanted() > 0)
        self.ctl("pause")
        self.wait_for("no worker wanted while paused", lambda: wanted() == 0)
        child.terminate()
        self.wait_exit(child, STOPPED)


@unittest.skipUnless(shutil.which("prometheus") and shutil.which("promtool"), MISSING)
class Prometheus(Metrics):
    def promtool(self, *words, stdin=None, cwd=None):
        ran = subprocess.run(["promtool", *words], input=stdin, capture_output=True, text=True, timeout=60, cwd=cwd)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout + ran.stderr

    def prometheus(self, target):
        """With the rules of deploy/prometheus; minutes are seconds here."""
        folder = self.dir / "prometheus"
        folder.mkdir()
        rules = (HERE / "prometheus/vibeq-alerts.yml").read_text()
        rules = re.sub(r"\[\d+m\]", "[4s]", re.sub(r"for: \d+m", "for: 2s", rules))
        (folder / "vibeq-alerts.yml").write_text(rules)
        config = (HERE / "prometheus/prometheus.yml").read_text().replace("127.0.0.1:7420", target).replace("15s", "500ms")
        (folder / "prometheus.yml").write_text(config)
        holder, port = vqtest.kept_port()
        holder.close()
        with open(folder / "err", "ab") as err:
            child = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                      f"--web.listen-address=127.0.0.1:{port}"], cwd=folder, stdout=err, stderr=err)
        self.children.append(child)
        self.base = f"http://127.0.0.1:{port}"
        self.wait_for("Prometheus", lambda: self.is_up(child, folder), 30)

    def is_up(self, child, folder):
        self.assertIsNone(child.poll(), (folder / "err").read_text()[-2000:])
        try:
            return urllib.request.urlopen(f"{self.base}/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def api(self, path, **query):
        with urllib.request.urlopen(f"{self.base}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def firing(self):
        return {alert["labels"]["alertname"]: alert for alert in self.api("alerts")["alerts"] if alert["state"] == "firing"}

    def test_the_rules_pass_their_own_tests(self):
        self.promtool("check", "config", "prometheus.yml", cwd=HERE / "prometheus")
        self.promtool("test", "rules", "vibeq-alerts-test.yml", cwd=HERE / "prometheus")
        rules = re.findall(r"alert: (\w+)", (HERE / "prometheus/vibeq-alerts.yml").read_text())
        tests = (HERE / "prometheus/vibeq-alerts-test.yml").read_text()
        page = (ROOT / "docs/use/metrics.md").read_text()
        for rule in rules:
            self.assertIn(f"alertname: {rule}\n        exp_alerts", tests, "fires in a test")
            self.assertIn(f"| {rule} |", page)

    def test_a_real_prometheus_scrapes_a_run_and_fires_an_alert(self):
        vqtest.planted(self.dir, 1000, ("V1", "V2", "V3"))
        self.slow(budget="{usd: 100}", deadline='"2100-01-01T00:00Z"', judge={
            "concurrency": 4, "requests_per_minute": 60000, "price_input_usd": 1, "price_output_usd": 1})
        child = self.begin(10)
        self.assertEqual(self.promtool("check", "metrics", stdin=self.scrape()), "", "no word of promtool about the metrics")
        self.prometheus(self.endpoint()["address"].removeprefix("http://"))
        self.wait_for("two scrapes with answers", lambda: self.answered_of(self.api("query", query="rate(vibeq_calls_total[4s])")), 20)
        board = json.loads((HERE / "grafana/vibeq.json").read_text())
        expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
        self.assertGreater(len(expressions), 25)
        for expression in expressions:
            asked = expression.replace("$run", "r").replace("$__rate_interval", "4s").replace("[5m]", "[4s]")
            self.assertTrue(self.api("query", query=asked)["result"], f"no answer: {asked}")
        known = set(self.api("label/__name__/values"))
        for name in set(re.findall(r"\b(?:vibeq|process)_[a-z_]+", " ".join(expressions))):
            self.assertIn(name, known)
        self.assertNotIn("VibeqNoProgress", self.firing())
        self.server.freeze()
        try:
            self.wait_for("the alert", lambda: "VibeqNoProgress" in self.firing(), 30)
            alert = self.firing()["VibeqNoProgress"]
            self.assertEqual(alert["labels"]["run"], "r")
            self.assertIn("vibeq status r", alert["annotations"]["action"])
        finally:
            self.server.thaw()
        self.wait_for("its end", lambda: "VibeqNoProgress" not in self.firing(), 20)
        child.terminate()
        self.wait_exit(child, STOPPED)

    @staticmethod
    def answered_of(data):
        return any(one["metric"]["end"] == "answer" and float(one["value"][1]) > 0 for one in data["result"])


if __name__ == "__main__":
    vqtest.main()
