#!/usr/bin/env python3
"""Measures the time until a run that is half done continues. A run of 200,000 tasks on a real store is stopped half-way, once cleanly and
once with SIGKILL while its workers continue, and resumed. The time is that from the start of `vibeq resume` to its first LEASE. It is
compared with the promise: 2 s after a clean stop, one term and 2 s after a crash. (A term must pass, because the coordinator does not know
before which tasks the workers hold.)

    resume.py BIN_DIR [--samples 5000] [--axes 20] [--term-ms 5000] [--rounds 3]

It also shows the calls of live workers meanwhile, and that no call was made twice. Needs no network; asserts no time."""
import argparse
import json
import os
import signal
import statistics
import sys
import time
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))
CLEAN_S = CRASH_S = 2.0


def events(path, name):
    """The coordinator's log lines of one event."""
    return [line for line in map(json.loads, path.read_text().splitlines()) if line.get("event") == name]


class Measure:
    def __init__(self, bench, options):
        self.bench, self.options = bench, options
        self.log = bench.dir / "runs/r/log"

    def done(self):
        """(settled tasks, all tasks)"""
        status = self.bench.vibeq("status", "r", "--json", code=None)
        if status.returncode != 0:
            return 0, 1
        status = json.loads(status.stdout)
        if "tasks" not in status:
            return 0, 1
        return sum(status["tasks"].get(s, 0) for s in ("answered", "not_needed", "failed")), status["tasks_total"]

    def until(self, child, share):
        while child.poll() is None:
            now, whole = self.done()
            if now >= share * whole:
                return now, whole
            time.sleep(0.2)
        sys.exit(f"the run ended before it was {share:.0%} done\n{self.bench.logs()}")

    def go_on(self):
        """(the process, seconds to its first lease by its own clock and by ours)"""
        before = len(events(self.log, "lease.first"))
        began, began_ms = time.monotonic(), time.time() * 1000
        child = self.bench.start("resume", "r", "--quiet", "--workers", str(self.options.workers))
        while len(events(self.log, "lease.first")) == before:
            if child.poll() is not None or time.monotonic() - began > 300:
                sys.exit(f"no lease\n{self.bench.logs()}")
            time.sleep(0.02)
        line = events(self.log, "lease.first")[-1]
        return child, (parse_ms(line["time"]) - began_ms) / 1000

    def requests(self):
        return self.bench.server.log_path.read_bytes().count(b'"event":"request"')


def parse_ms(text):
    """2026-11-22T08:10:04.123Z"""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000


def measure(options):
    import vqtest

    class Bench(vqtest.Case):
        def runTest(self):
            pass

    bench = Bench()
    bench.setUp()
    clean, crash, live = [], [], []
    try:
        axes = [f"V{i}" for i in range(options.axes)]
        vqtest.planted(bench.dir, options.samples, axes)
        bench.server = bench.offline("--oracle", bench.dir / "truth.jsonl", "--latency", "30ms")
        bench.config(axes, judges=1, url=bench.server.url, term_ms=options.term_ms, judge={"concurrency": 128})
        m = Measure(bench, options)
        child = bench.start("run", "config.yaml", "--name", "r", "--quiet", "--workers", str(options.workers))
        now, whole = m.until(child, 0.5)
        for _ in range(options.rounds):
            child.send_signal(signal.SIGINT)
            child.wait()
            child, seconds = m.go_on()
            clean.append(seconds)
            now, whole = m.until(child, now / whole + 0.02)
            child.send_signal(signal.SIGKILL)
            child.wait()
            before = m.requests()
            child, seconds = m.go_on()
            crash.append(seconds)
            live.append(m.requests() - before)
            now, whole = m.until(child, now / whole + 0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        return now, whole, clean, crash, live
    finally:
        bench.tearDown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir")
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--axes", type=int, default=20)
    parser.add_argument("--term-ms", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ["VQ_BIN_DIR"] = str(Path(options.bin_dir).resolve())
    now, whole, clean, crash, live = measure(options)
    term = options.term_ms / 1000
    print(f"{now} of {whole} tasks settled, term {term:g} s, {options.workers} workers")
    print("after           first lease, s: median   most   bound   calls of live workers meanwhile")
    print(f"a clean stop            {statistics.median(clean):15.2f} {max(clean):6.2f} {CLEAN_S:7.2f}")
    print(f"a crash                 {statistics.median(crash):15.2f} {max(crash):6.2f} {term + CRASH_S:7.2f}   {min(live)} to {max(live)}")
    print(f"ratio {max(clean) / CLEAN_S:.2f} of the bound after a clean stop, {max(crash) / (term + CRASH_S):.2f} after a crash (1 or less is kept)")


if __name__ == "__main__":
    sys.exit(main())
