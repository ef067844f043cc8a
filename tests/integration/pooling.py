"""What the tests of pools share: an offline server whose --limits are the pools' truth, a configuration that names them, and what the
server's log says of each. A pool is told as one keyword: NAME=Pool(...)."""
import json
import os
import sys

from vqtest import ROOT, Case, planted

sys.path.insert(0, str(ROOT / "tests" / "tools"))
import windows  # noqa: E402

AXES = ("V1", "V2", "V3")
TAILS = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
WORDS = {"rpm": "requests_per_minute", "itpm": "input_tokens_per_minute", "otpm": "output_tokens_per_minute", "tpm": "tokens_per_minute",
         "rpd": "requests_per_day", "tpd": "tokens_per_day", "concurrency": "concurrency", "window_s": "window_s", "share": "share",
         "usd_in": "price_input_usd", "usd_cached": "price_cached_usd", "usd_out": "price_output_usd"}


class Pool:
    """`server`: --limits of its own as a text; `told`: what the configuration says of them; other words go to the configuration."""

    def __init__(self, server="", dialect="openai", keys=1, key_names=None, url=None, **told):
        self.server, self.dialect, self.keys, self.key_names, self.url, self.told = server, dialect, keys, key_names, url, told

    def names(self, name):
        return self.key_names or [f"KEY_{name.upper()}_{k}" for k in range(1, self.keys + 1)]


class Pools(Case):
    samples = 30

    def setUp(self):
        super().setUp()
        self.truth = planted(self.dir, self.samples, AXES)
        self.env = {}
        self.texts = []

    def tearDown(self):
        for name in self.env:
            os.environ.pop(name, None)
        super().tearDown()

    def serve(self, pools, *options, name="offline", latency="20ms", faults=()):
        """A server that holds `pools`; keys are put into the environment."""
        texts = []
        for pool_name, pool in pools.items():
            for key in pool.names(pool_name):
                self.env[key] = os.environ[key] = f"secret-{key.lower()}"
            text = pool.server or "rpm=6000000"
            texts.append(f"{pool_name}:keys={'+'.join('env:' + key for key in pool.names(pool_name))},{text}")
        words = [word for text in texts for word in ("--limits", text)]
        if faults:
            script = self.dir / f"{name}.faults"
            script.write_text("".join(json.dumps(fault) + "\n" for fault in faults))
            words += ["--faults", script]
        self.texts = texts
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--model", "judge-1", "--latency", latency, *words, *options, name=name)
        return self.server

    def told(self, pools, name="config.yaml", judge="", **more):
        """The configuration of one judge that `pools` serve."""
        lines = ["data: {path: data.csv, near_duplicate: 0}", "models: [alpha, beta]", "method: vibes", "vibes:"]
        lines += [f"  - {{name: {axis}, low: low on {axis}, high: high on {axis}}}" for axis in AXES]
        lines += [f"judges: [{{model: judge-1, dialect: openai, identity: the-server, max_tokens: 120{judge}}}]", "pools:"]
        for pool_name, pool in pools.items():
            host = (pool.url or self.server.url).removesuffix("/v1")
            lines += [f"  - name: {pool_name}", f"    dialect: {pool.dialect}", f"    base_url: {host}{TAILS[pool.dialect]}",
                      "    identity: the-server", f"    keys: [{', '.join('env:' + key for key in pool.names(pool_name))}]",
                      "    models:", "      - model: judge-1"]
            lines += [f"        {WORDS[key]}: {value}" for key, value in pool.told.items()]
        lines += [f"{key}: {value}" for key, value in {"term_ms": 2000, **more}.items()]
        (self.dir / name).write_text("\n".join(lines) + "\n")
        return name

    def calm(self, **more):
        """results.json of a run on one pool of its own, undisturbed."""
        pools = {"calm": Pool()}
        server, texts = getattr(self, "server", None), self.texts
        self.serve(pools, name="calm", latency="0ms")
        self.told(pools, name="calm.yaml", **more)
        runs = self.dir / "calm-runs"
        self.vibeq("run", "calm.yaml", "--name", "r", "--quiet", "--runs", runs)
        self.server, self.texts = server, texts
        return (runs / "r/results/results.json").read_bytes()

    # what the server says

    def asked(self, pool=None, since_ms=0, until_ms=1 << 62):
        """Requests that met the limits of a pool, or went by its key."""
        return [r for r in self.server.requests()
                if (pool is None or (r.get("pool") or "").split("/")[0] == pool) and since_ms <= r["unix_ms"] < until_ms]

    def by_pool(self):
        count = {}
        for r in self.server.requests():
            count[r["pool"]] = count.get(r["pool"], 0) + 1
        return count

    def over(self, offered=True):
        return windows.judge(self.server.log(), self.texts, offered=offered)

    def in_flight_most(self, pool):
        """The most calls of the pool between a request's line and its answer's."""
        of = {r["n"] for r in self.asked(pool)}
        now = most = 0
        for line in self.server.log():
            if line.get("n") in of:
                now += 1 if line["event"] == "request" else -1 if line["event"] in ("answer", "lost") else 0
                most = max(most, now)
        return most

    # what the run says

    def pool_of(self, name, run="r"):
        got = self.vibeq("status", run, "--json", code=None)
        found = [p for p in json.loads(got.stdout).get("pools", []) if p["name"] == name] if got.stdout else []
        return found[0] if found else {}

    def incidents(self, run="r"):
        return json.loads((self.dir / "runs" / run / "accounting.json").read_text())["incidents"]

    def begin(self, *words, answers=20, run="r"):
        child = self.start("run", "config.yaml", "--name", run, *words)
        if answers:
            self.wait_for("some answers", lambda: child.poll() is not None or len(self.server.answers()) >= answers)
            self.assertIsNone(child.poll(), f"the run was over before it could be disturbed\n{self.logs()}")
        return child

    def check_whole(self, run="r", **more):
        """Complete, the same bytes as an undisturbed run, every request in the ledger and no task failed."""
        self.assertEqual(self.results_bytes(run), self.calm(**more))
        calls = self.accounting(run)
        self.assertEqual(calls["planned"], calls["first_sends"] + calls["from_store"] + calls["saved_by_lazy_swap"])
        self.assertEqual(self.status(run)["tasks"]["failed"], 0)
        return calls
