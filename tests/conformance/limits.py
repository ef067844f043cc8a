#!/usr/bin/env python3
"""Does a cluster of workers keep to the limits of its pools, and use them? A real run against vibeq-offline, which enforces the limits
of eight pools in three dialects; workers are killed and come back all the time. The server's own log is recounted by
tests/tools/windows.py, which shares no code with either.

    limits.py [--mode right|half|double|unknown|blind|noisy|shared|all] [--window-ms 10000] [--units 500] [--seconds 60|180] [--workers 16]

right: the configuration names the true limits. half, double: it names half or twice of them. unknown: it names none, headers do.
blind: nobody names any, refusals carry no hint. noisy: the true limits are named, and the server refuses 1 % of all calls at random, stating
no wait; these refusals meet no limit and are not counted here. shared: the true limits are named, and another client of the same account takes
30 % of three pools for 20 s, then nothing for 20 s, and so on; what it takes counts as used. Where limits have to be found (unknown, blind)
a mode takes 180 s, and what is judged begins after the first minute; what that minute cost is printed beside it. Exit code 1 when a figure misses what is promised. Not part of `make test`: a mode
takes --seconds and a little more."""
import argparse
import http.client
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
sys.path.insert(0, str(HERE.parent / "tools"))
import vqtest  # noqa: E402
import windows  # noqa: E402

AXES = ["V1", "V2", "V3", "V4"]
BINDS = {  # pool: (dialect, path of its endpoint, keys, what binds)
    "o1": ("openai", "/v1", 3, "rpm"), "o2": ("openai", "/v1", 1, "tpm"), "o3": ("openai", "/v1", 1, "rpm"),
    "a1": ("anthropic", "/v1", 1, "rpm"), "a2": ("anthropic", "/v1", 1, "itpm"), "a3": ("anthropic", "/v1", 1, "otpm"),
    "g1": ("gemini", "/v1beta", 1, "rpm"), "g2": ("gemini", "/v1beta", 1, "tpm"),
}
KEYS = {"rpm": "requests_per_minute", "itpm": "input_tokens_per_minute", "otpm": "output_tokens_per_minute", "tpm": "tokens_per_minute"}
MANY_UNITS, MANY_LEAST = 2000, 0.99 - 0.01  # 99 %, less the jitter that the authority holds back: 1 % of a window
FINDS, FIND_MS = ("unknown", "blind"), 60000  # modes in which limits are found, and how long that may take
PROMISE = {  # mode: (windows may be over, least use, most refused)
    "right": (False, 0.95, 0.001), "half": (False, 0.0, 0.001), "double": (True, 0.0, 0.02), "unknown": (True, 0.85, 0.02),
    "blind": (True, 0.85, 0.02), "noisy": (False, 0.93, 0.01), "shared": (True, 0.93, 0.03),
}
OTHERS_THREADS = 8  # of each pool
OTHERS, OTHERS_PART, OTHERS_S = ("o1", "o3", "a1"), 0.3, 20  # pools of the other client, its part of each, its seconds on and off


class Bench(vqtest.Case):
    def runTest(self):
        pass


def key_names(pool):
    return [f"KEY_{pool.upper()}_{k}" for k in range(BINDS[pool][2])]


def environment():
    return {name: f"secret-{name.lower()}" for pool in BINDS for name in key_names(pool)}


def true_limits(options, mean_in, mean_out):
    """{pool: {limit: a minute}} with --units calls a window."""
    calls = options.units * 60000 / options.window_ms
    size = {"rpm": 1, "itpm": mean_in, "otpm": mean_out, "tpm": mean_in + mean_out}
    limits = {}
    for pool, (_, _, _, binds) in BINDS.items():
        limits[pool] = {binds: int(calls * size[binds])}
        if binds != "rpm":
            limits[pool]["rpm"] = int(calls * 3)
    return limits


def server_texts(options, limits, blind):
    texts = []
    for pool, own in limits.items():
        keys = "+".join(f"env:{name}" for name in key_names(pool))
        numbers = ",".join(f"{name}={value}" for name, value in own.items())
        hide = ",headers=off,hint=absent" if blind else ""
        texts.append(f"{pool}:keys={keys},{numbers},window_ms={options.window_ms}{hide}")
    return texts


def write_config(path, url, limits, factor, window_ms, rows):
    lines = ["data: {path: data.csv, test_share: 0.5, near_duplicate: 0}", "models: [alpha, beta]", "method: vibes", "term_ms: 3000", "vibes:"]
    lines += [f"  - {{name: {axis}, low: low on {axis}, high: high on {axis}}}" for axis in AXES]
    lines += ["judges: [{model: judge-1, dialect: openai, identity: the-server, max_tokens: 120}]", "pools:"]
    host = url[:url.index("/v1")] if "/v1" in url else url
    for pool, own in limits.items():
        dialect, tail, _, _ = BINDS[pool]
        lines += [f"  - name: {pool}", f"    dialect: {dialect}", f"    base_url: {host}{tail}", "    identity: the-server",
                  f"    keys: [{', '.join('env:' + name for name in key_names(pool))}]", "    models:", "      - model: judge-1",
                  f"        window_s: {max(1, window_ms // 1000)}"]
        if factor:
            lines += [f"        {KEYS[name]}: {value * factor:g}" for name, value in own.items()]
    (path / "config.yaml").write_text("\n".join(lines) + "\n")


def calibrate(bench):
    """Mean tokens of a call, from a small run without limits."""
    vqtest.planted(bench.dir, 40, AXES)
    server = bench.offline("--oracle", bench.dir / "truth.jsonl", "--model", "judge-1", name="small")
    (bench.dir / "small.yaml").write_text(
        "data: {path: data.csv}\nmodels: [alpha, beta]\nmethod: vibes\nvibes:\n"
        + "".join(f"  - {{name: {a}, low: low on {a}, high: high on {a}}}\n" for a in AXES)
        + f"judges: [{{model: judge-1, base_url: {server.url}, max_tokens: 120}}]\n")
    bench.vibeq("run", "small.yaml", "--name", "small", "--quiet")
    answers = server.answers()
    server.stop()
    return (sum(a["prompt_tokens"] for a in answers) / len(answers), sum(a["completion_tokens"] for a in answers) / len(answers))


def kill_some(bench, child, options, rng):
    """Kills a worker now and then until the run has ended. How many."""
    killed = 0
    while child.poll() is None:
        time.sleep(options.kill_every)
        workers = bench.processes_of(str(bench.dir), "vibeq-worker")
        if child.poll() is None and workers and options.kill_every < 3600:
            try:
                os.kill(rng.choice(workers), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
    return killed


class Others:
    """Another client of the account: a thread for each pool asks at its own pace and does not look at the answers."""

    def __init__(self, url, calls_per_s):
        self.host, self.gap_s, self.ends = url.split("://", 1)[1].split("/", 1)[0], 1 / calls_per_s, False
        self.began = time.monotonic()
        self.threads = [threading.Thread(target=self.ask, args=(pool, i), daemon=True) for pool in OTHERS for i in range(OTHERS_THREADS)]
        for thread in self.threads:
            thread.start()

    def ask(self, pool, place):
        dialect, tail, _, _ = BINDS[pool]
        key = f"secret-{key_names(pool)[0].lower()}"
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}", "x-api-key": key, "anthropic-version": "2023-06-01"}
        body = json.dumps({"model": "judge-1", "max_tokens": 20, "messages": [{"role": "user", "content": "Hello"}]})
        path = tail + ("/messages" if dialect == "anthropic" else "/chat/completions")
        connection = http.client.HTTPConnection(self.host, timeout=10)
        due = self.began + place * self.gap_s
        while not self.ends:
            wait_s = due - time.monotonic()
            time.sleep(max(wait_s, 0))
            due = max(due, time.monotonic() - 1) + OTHERS_THREADS * self.gap_s
            if int((time.monotonic() - self.began) / OTHERS_S) % 2 == 0:
                continue
            try:
                connection.request("POST", path, body, headers)
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                connection.close()

    def stop(self):
        self.ends = True
        for thread in self.threads:
            thread.join()


def backlog_end_ms(requests, calls_in_a_window):
    """When no more than one window of work was left."""
    sent = [r["unix_ms"] for r in requests if r["admitted"]]
    return sent[-calls_in_a_window] if len(sent) > calls_in_a_window else sent[-1]


def measure(mode, options):
    bench = Bench()
    bench.setUp()
    try:
        env = environment()
        os.environ.update(env)
        mean_in, mean_out = calibrate(bench)
        limits = true_limits(options, mean_in, mean_out)
        rate = len(BINDS) * options.units * 1000 / options.window_ms
        factor = {"right": 1, "half": 0.5, "double": 2, "unknown": 0, "blind": 0, "noisy": 1, "shared": 1}[mode]
        seconds = options.seconds or (180 if mode in FINDS else 60)
        rows = int(rate * seconds * (0.5 if mode == "half" else 1) / (len(AXES) * 2) / 0.95)
        vqtest.planted(bench.dir, rows, AXES)
        texts = server_texts(options, limits, mode == "blind")
        server = bench.offline("--oracle", bench.dir / "truth.jsonl", "--model", "judge-1", "--latency", options.latency,
                               *[word for text in texts for word in ("--limits", text)],
                               *(["--fault", "rate_limit=0.01,retry_after=absent"] if mode == "noisy" else []))
        write_config(bench.dir, server.url, limits, factor, options.window_ms, rows)
        began = time.monotonic()
        child = bench.start("run", "config.yaml", "--name", "r", "--workers", options.workers, "--quiet", env=env)
        others = Others(server.url, OTHERS_PART * options.units * 1000 / options.window_ms) if mode == "shared" else None
        killed = kill_some(bench, child, options, random.Random(options.seed))
        took = time.monotonic() - began
        if others:
            others.stop()
        if child.returncode != 0:
            print(bench.logs(), file=sys.stderr)
            raise SystemExit(f"{mode}: the run ended with {child.returncode}")
        log = server.log()
        requests = [line for line in log if line["event"] == "request" and line.get("admitted") is not None]
        first = requests[0]["unix_ms"]
        learnt = first + (FIND_MS if mode in FINDS and seconds > 90 else 0)
        end = backlog_end_ms(requests, len(BINDS) * options.units)
        found = windows.judge(log, texts, learnt, end, offered=mode in ("right", "half", "noisy"))
        calls = json.loads((bench.dir / "runs" / "r" / "accounting.json").read_text())["calls"]
        if options.keep:
            Path(options.keep).mkdir(parents=True, exist_ok=True)
            (Path(options.keep) / f"{mode}.log").write_bytes(server.log_path.read_bytes())
        if learnt > first:
            early = [line for line in requests if line["unix_ms"] < learnt]
            refused = sum(line["refused_by"] is not None for line in early)
            print(f"{mode}, the first minute: {refused} of {len(early)} calls refused ({100 * refused / len(early):.1f} %)")
        return report(mode, options.units, found, took, killed, calls, rows)
    finally:
        bench.tearDown()


def report(mode, units, found, took, killed, calls, rows):
    may_be_over, least, most_refused = PROMISE[mode]
    if mode == "right" and units >= MANY_UNITS:
        least = MANY_LEAST
    uses = {name: pool["use"] for name, pool in found["pools"].items()}
    shares = [pool["refused_share_between"] for pool in found["pools"].values()]
    total = sum(pool["calls"] for pool in found["pools"].values())
    refused = sum(share * pool["calls"] for share, pool in zip(shares, found["pools"].values())) / total
    good = (may_be_over or found["over"] == 0) and min(uses.values()) >= least and refused <= most_refused
    print(f"{mode}: {total} calls for {rows} rows in {took:.0f} s, {killed} workers killed; {found['over']} times over a limit, "
          f"{100 * refused:.3f} % refused, used {100 * min(uses.values()):.1f} to {100 * max(uses.values()):.1f} % "
          f"(unknown calls {calls['unknown']}, paid and unused {calls['paid_unused']}): {'as promised' if good else 'NOT as promised'}")
    for name, pool in found["pools"].items():
        print(f"    {name} ({BINDS[name][0]}): {pool['calls']} calls, {pool['binding']} used to {100 * pool['use']:.1f} %, "
              f"{pool['refused']} refused {pool['refused_by'] or ''}, {pool['over']} over")
    sys.stdout.flush()
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", default="all", choices=[*PROMISE, "all"])
    parser.add_argument("--window-ms", type=int, default=10000)
    parser.add_argument("--units", type=int, default=500, help="calls that a window of each pool has room for")
    parser.add_argument("--seconds", type=float, help="60; 180 where limits have to be found")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--kill-every", type=float, default=3, help="seconds between two kills")
    parser.add_argument("--latency", default="uniform:50ms:200ms")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="a folder for the server's logs")
    options = parser.parse_args()
    if not (vqtest.BIN / "vibeq").exists():
        sys.exit(f"no programs in {vqtest.BIN}: build first, or set VQ_BIN_DIR")
    modes = list(PROMISE) if options.mode == "all" else [options.mode]
    return 0 if all([measure(mode, options) for mode in modes]) else 1


if __name__ == "__main__":
    sys.exit(main())
