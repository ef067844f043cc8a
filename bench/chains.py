#!/usr/bin/env python3
"""How close do dialogues come to their critical path? So many chains of so many turns are led at a fixed latency of the endpoint; the lower
bound is turns x latency, since a turn waits for the one before it. Printed is the ratio of the time from the first send to the last
answer, by the endpoint's own log, to that bound. 1.1 is aimed at for 200 ms.

    chains.py BIN_DIR [--chains 252] [--turns 102] [--bytes 100] [--latency-ms 200] [--workers 2]

Needs no network; asserts no time."""
import argparse
import json
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--chains", type=int, default=252)
    parser.add_argument("--turns", type=int, default=102)
    parser.add_argument("--bytes", type=int, default=100)
    parser.add_argument("--latency-ms", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    os.environ["VQ_BIN_DIR"] = str(options.bin.resolve())
    import vqtest

    class Bench(vqtest.Case):
        def runTest(self):
            pass

    bench = Bench()
    bench.setUp()
    try:
        ms = options.latency_ms
        server = bench.offline("--latency", f"{ms}ms")
        vqtest.planted(bench.dir, 2, ("V1",))
        (bench.dir / "config.yaml").write_text(
            "data: {path: data.csv}\nmodels: [alpha, beta]\nmethod: vibes\nvibes: [{name: V1, low: low, high: high}]\n"
            f"judges: [{{model: offline-subject, base_url: {server.url}, identity: bench, concurrency: {options.chains}}}]\n"
            f"workers: {options.workers}\n")
        with open(bench.dir / "chains.jsonl", "w", encoding="utf-8") as file:
            for i in range(options.chains):
                queries = [f"Chain {i}, question {k}: ".ljust(options.bytes, "x") for k in range(options.turns)]
                file.write(json.dumps({"system": f"You are embodying the role of Number {i}.", "queries": queries}) + "\n")
        bench.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=None)
        before = len(server.requests())
        began = time.monotonic()
        bench.vibeq("chat", "r", "--chains", "chains.jsonl", "--quiet", timeout=3600)
        whole = time.monotonic() - began
        log = server.requests()[before:]
        first = min(x["unix_ms"] for x in log)
        last = max(x["unix_ms"] for x in server.answers())
        bound = options.turns * ms / 1000
        took = (last - first) / 1000
        print(json.dumps({"chains": options.chains, "turns": options.turns, "latency_ms": ms, "calls": len(log), "bound_s": bound,
                          "took_s": round(took, 2), "ratio": round(took / bound, 3), "with_start_and_end_s": round(whole, 2)}))
        print(f"ratio {took / bound:.3f} to the critical path")
    finally:
        bench.tearDown()


main()
