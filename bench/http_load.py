#!/usr/bin/env python3
"""Measures the cost of a run's HTTP clients for the run: one run against vibeq-offline, in windows of time that are undisturbed and disturbed in
turn.

    http_load.py attacks BIN_DIR [--pairs 8] [--seconds 8] [--slow 1000] [--endless 8]
    http_load.py pages BIN_DIR [--pairs 8] [--seconds 8] [--pages 10] [--calls-per-s 500]

attacks: clients without a token that hold 1,000 connections open, and 8 that send bodies without end. They have the lowest priority, so that
the measurement does not include their own CPU; only CPU limits the run. pages: ten pages of the run in Chromium, whose processes also have the
lowest priority; the run has a fixed rate, so that each window has equal work.

Each line is a pair of windows. "calls/s" and "CPU" are disturbed / undisturbed: calls that ended per second, and CPU per call of the
coordinator (user and system, all threads). Needs no network; asserts no time."""
import argparse
import json
import os
import re
import statistics
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))
AXES = [f"V{i}" for i in range(1, 11)]
SETTLE_S = 1.5  # between windows
ASK_S = 1.0
START_S = 6
CALLS_A_SAMPLE = 2 * len(AXES)
CALLS_PER_S_MAX = 24000  # of a run without a limit
PAGES_S = 30  # ten pages open and close within this time


class Run:
    """A run that is active until the end of the measurement."""

    def __init__(self, bench, samples, rpm):
        import vqtest
        self.bench, self.waited = bench, []
        vqtest.planted(bench.dir, samples, AXES)
        server = bench.offline("--oracle", bench.dir / "truth.jsonl", "--log", "/dev/null")
        judge = {"concurrency": 128, **({"requests_per_minute": rpm} if rpm else {})}
        bench.config(AXES, judges=1, url=server.url, judge=judge, workers=1, data_near_duplicate=0)
        self.child = bench.start("run", "config.yaml", "--name", "r", "--quiet")
        endpoint = bench.dir / "runs/r/endpoint.json"
        bench.wait_for("the endpoint", lambda: endpoint.exists() or self.child.poll() is not None)
        self.address, self.token = (json.loads(endpoint.read_text())[key] for key in ("address", "token"))
        self.port = int(self.address.rpartition(":")[2])
        bench.wait_for("calls", lambda: self.calls() > 0)
        time.sleep(START_S)

    def calls(self):
        """A request with the token, like that of a person's page."""
        request = urllib.request.Request(self.address + "/metrics", headers={"Authorization": f"Bearer {self.token}"})
        began = time.monotonic()
        while True:  # a full server may close a connection before it reads the token: a page asks again, too
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    text = answer.read().decode()
                break
            except OSError as failed:
                if self.child.poll() is not None:
                    sys.exit(f"the run has ended: {self.bench.logs()}")
                if not isinstance(failed.__cause__ or getattr(failed, "reason", failed), ConnectionError) or time.monotonic() > began + 60:
                    raise
                time.sleep(0.1)
        self.waited.append(time.monotonic() - began)
        return sum(int(n) for n in re.findall(r"^vibeq_calls_total\{.*\} (\d+)$", text, re.M))

    def cpu_s(self):
        """The CPU time of all living threads, in nanoseconds, which /proc/PID/stat does not have."""
        tasks = Path(f"/proc/{self.child.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def window(self, seconds):
        """(calls per second, CPU seconds per call)"""
        self.waited = []
        calls, cpu, began = self.calls(), self.cpu_s(), time.monotonic()
        while time.monotonic() < began + seconds:
            time.sleep(min(ASK_S, max(0, began + seconds - time.monotonic())))
            if time.monotonic() < began + seconds - ASK_S:
                self.calls()
        calls, cpu, took = self.calls() - calls, self.cpu_s() - cpu, time.monotonic() - began
        if calls == 0:
            sys.exit(f"the run makes no progress: {self.bench.logs()}")
        return calls / took, cpu / calls


class Attackers:
    def __init__(self, run, options):
        self.run, self.options, self.attack, self.did = run, options, None, []

    def begin(self):
        import attacking
        self.attack, self.began = attacking.Attack(self.run.port, self.options.slow, self.options.endless), time.monotonic()

    def end(self):
        did = self.attack.stop()
        self.did.append({key: n / (time.monotonic() - self.began) for key, n in did.items()})

    def words(self):
        opened, sent, cpu = (statistics.median(did[key] for did in self.did) for key in ("opened", "bytes", "cpu_s"))
        return f"the clients opened {opened:.0f} connections per second, sent {sent / 2**20:.1f} MiB per second, and used {cpu:.2f} of a core"

    def close(self):
        pass


class Pages:
    """Windows of one Chromium, which show the page of the run or nothing."""

    def __init__(self, run, options):
        import browser
        self.run, self.browser, self.asked = run, browser.Browser(run.bench.dir, nice=19), 0
        self.windows = [self.browser.window() for _ in range(options.pages)]

    def each(self, act):
        found = []
        for self.browser.session in self.windows:
            found.append(act())
        return found

    def begin(self):
        self.each(lambda: self.browser.open(f"{self.run.address}/#{self.run.token}", width=1300, height=900))
        drawn = "!document.hidden && document.querySelectorAll('.charts canvas').length === 4"
        self.each(lambda: self.run.bench.wait_for("the page", lambda: self.browser.run(drawn)))
        self.asked = self.requests()

    def requests(self):
        count = "performance.getEntriesByType('resource').filter(one => one.name.includes('/api/')).length"
        return sum(self.each(lambda: self.browser.run(count)))

    def end(self):
        self.asked = self.requests() - self.asked
        self.each(lambda: self.browser.open("about:blank"))

    def words(self):
        return f"{len(self.windows)} pages sent {self.asked} requests in the last window"

    def close(self):
        self.browser.close()


def measure(options):
    import vqtest

    class Bench(vqtest.Case):
        def runTest(self):
            pass

    bench = Bench()
    bench.setUp()
    others = None
    pair_s = 2 * options.seconds + 2 * SETTLE_S + (PAGES_S if options.what == "pages" else 0)
    calls = (options.calls_per_s or CALLS_PER_S_MAX) * (START_S + options.pairs * pair_s)
    began = time.monotonic()
    try:
        run = Run(bench, int(calls / CALLS_A_SAMPLE) + 1, 60 * options.calls_per_s)
        others = (Attackers if options.what == "attacks" else Pages)(run, options)
        speeds, costs, more, waited = [], [], [], []
        print(f"after {time.monotonic() - began:.0f} s the run is under way")
        print("pair   calls/s   CPU per call, us   under load: calls/s   CPU per call, us   calls/s ratio   CPU ratio   more CPU, of a core")
        for pair in range(options.pairs):
            speed, cost = run.window(options.seconds)
            others.begin()
            time.sleep(SETTLE_S)
            speed2, cost2 = run.window(options.seconds)
            waited += run.waited
            others.end()
            time.sleep(SETTLE_S)
            speeds.append(speed2 / speed)
            costs.append(cost2 / cost)
            more.append((cost2 - cost) * speed2)
            print(f"{pair + 1:4} {speed:9.0f} {cost * 1e6:18.1f} {speed2:21.0f} {cost2 * 1e6:18.1f} {speeds[-1]:15.3f} {costs[-1]:11.3f}"
                  f" {more[-1]:20.4f}", flush=True)
        print(others.words())
        print(f"meanwhile a request with the token was answered after {statistics.median(waited):.2f} s (median), {max(waited):.2f} s (most)")
        print(f"ratio {statistics.median(speeds):.3f} of the calls per second, {statistics.median(costs):.3f} of the CPU per call,"
              f" {statistics.median(more):.4f} of a core more (medians)")
    finally:
        if others is not None:
            others.close()
        bench.tearDown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("attacks", "pages"))
    parser.add_argument("bin_dir")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--calls-per-s", type=int, help="a limit of the run; 0: none; for pages 500")
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--slow", type=int, default=1000)
    parser.add_argument("--endless", type=int, default=8)
    options = parser.parse_args()
    if options.calls_per_s is None:
        options.calls_per_s = 500 if options.what == "pages" else 0
    os.environ["VQ_BIN_DIR"] = str(Path(options.bin_dir).resolve())
    measure(options)


if __name__ == "__main__":
    sys.exit(main())
