#!/usr/bin/env python3
"""Measures the share of its pools' limits that a run uses: whole runs of 1, 4 and 16 workers against vibeq-offline, which enforces the limits
of four pools, and a longer run, each compared with the limits. The server's log is the evidence (tests/tools/windows.py).

    limits.py BIN_DIR [--calls 6000] [--long 20000] [--per-s 100] [--window-ms 10000]

useful: answered calls divided by limit x time, from the first call until at most one window of work remains. makespan: the time from the
first call to the last answer, compared with calls / limit, the lower bound of a run without bursts. Needs no network; asserts no time."""
import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "tests" / "tools")]
AXES = ["V1", "V2", "V3", "V4"]
POOLS = ["p1", "p2", "p3", "p4"]
CALLS_A_SAMPLE = 2 * len(AXES)


def write_config(path, url, options):
    lines = ["data: {path: data.csv, test_share: 0.5, near_duplicate: 0}", "models: [alpha, beta]", "method: vibes", "vibes:"]
    lines += [f"  - {{name: {axis}, low: low on {axis}, high: high on {axis}}}" for axis in AXES]
    lines += ["judges: [{model: judge-1, dialect: openai, identity: the-server, max_tokens: 120}]", "pools:"]
    for pool in POOLS:
        lines += [f"  - name: {pool}", f"    base_url: {url}", "    identity: the-server", f"    keys: [env:KEY_{pool.upper()}]", "    models:",
                  "      - model: judge-1", f"        window_s: {max(1, options.window_ms // 1000)}",
                  f"        requests_per_minute: {60 * options.per_s}"]
    (path / "config.yaml").write_text("\n".join(lines) + "\n")


def measure(options, workers, calls):
    """(useful, makespan, refused, over) of one run."""
    import vqtest
    import windows

    class Bench(vqtest.Case):
        def runTest(self):
            pass

    bench = Bench()
    bench.setUp()
    try:
        vqtest.planted(bench.dir, -(-calls // CALLS_A_SAMPLE), AXES)
        texts = [f"{pool}:keys=env:KEY_{pool.upper()},rpm={60 * options.per_s},window_ms={options.window_ms}" for pool in POOLS]
        server = bench.offline("--oracle", bench.dir / "truth.jsonl", "--model", "judge-1", "--latency", options.latency,
                               *[word for text in texts for word in ("--limits", text)])
        write_config(bench.dir, server.url, options)
        bench.vibeq("run", "config.yaml", "--name", "r", "--workers", workers, "--quiet", timeout=900)
        log = server.log()
        sent = [line["unix_ms"] for line in log if line["event"] == "request" and line.get("admitted")]
        last = max(line["unix_ms"] for line in log if line["event"] == "answer")
        window_calls = len(POOLS) * options.per_s * options.window_ms // 1000
        end = sent[-window_calls] if len(sent) > 2 * window_calls else sent[-1]
        found = windows.judge(log, texts, sent[0], end, offered=True)
        per_ms = len(POOLS) * options.per_s / 1000
        useful = sum(at < end for at in sent) / (per_ms * (end - sent[0]))
        return useful, (last - sent[0]) * per_ms / len(sent), found["refused"], found["over"]
    finally:
        bench.tearDown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir")
    parser.add_argument("--calls", type=int, default=6000, help="of each run")
    parser.add_argument("--long", type=int, default=20000, help="calls of the longer run, with 4 workers; 0: none")
    parser.add_argument("--per-s", type=int, default=100, help="requests a second that each of the four pools allows")
    parser.add_argument("--window-ms", type=int, default=10000)
    parser.add_argument("--latency", default="uniform:50ms:200ms")
    options = parser.parse_args()
    os.environ["VQ_BIN_DIR"] = str(Path(options.bin_dir).resolve())
    os.environ.update({f"KEY_{pool.upper()}": f"secret-{pool}" for pool in POOLS})
    runs = [(workers, options.calls) for workers in (1, 4, 16)] + ([(4, options.long)] if options.long else [])
    print(f"{len(POOLS)} pools of {options.per_s} requests a second each, over windows of {options.window_ms / 1000:g} s")
    print("workers   calls  useful / ideal  makespan / bound  refused  windows over")
    ratios = []
    for workers, calls in runs:
        useful, makespan, refused, over = measure(options, workers, calls)
        print(f"{workers:7} {calls:7} {useful:15.3f} {makespan:17.3f} {refused:8} {over:13}", flush=True)
        ratios.append(f"{useful:.3f} useful, {makespan:.3f} makespan with {workers} workers and {calls} calls")
    print("ratio " + "; ".join(ratios))


if __name__ == "__main__":
    sys.exit(main())
