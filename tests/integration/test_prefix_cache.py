"""Long prompts that begin alike, against servers that keep prompt caches as providers do: the share of cached tokens with the calls led
and without, over two accounts that do not share their caches; the same results either way, and what it costs."""
import csv
import json
import random

import vqtest
from vqtest import Case, words

AXES = ("V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8")
ENDS = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}


class PrefixCache(Case):
    def setUp(self):
        super().setUp()
        rng = random.Random(3)
        with open(self.dir / "data.csv", "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["prompt", "alpha", "beta", "preference"])
            for i in range(16):
                out.writerow([f"question {i}: {words(rng, 700)}", words(rng, 120), words(rng, 120), rng.choice(["alpha", "beta"])])

    def run_with(self, dialect, how):
        """The accounting of a run whose one judge has two accounts with prices; and the server's answers."""
        name = f"{dialect}-{how}"
        server = self.offline("--model", "judge-1", "--latency", "60ms", name=name)
        url = server.url.removesuffix("/v1") + ENDS[dialect]
        lines = ["data: {path: data.csv}", "models: [alpha, beta]", "method: vibes", "vibes:"]
        lines += [f"  - {{name: {axis}, low: low on {axis}, high: high on {axis}}}" for axis in AXES]
        lines += [f"judges: [{{model: judge-1, identity: {name}}}]", f"judging: {{lazy_swap: false, prefix_cache: {how}}}", "pools:"]
        for pool in ("north", "south"):
            lines += [f"  - {{name: {pool}, dialect: {dialect}, base_url: '{url}', keys: ['env:KEY_{pool.upper()}'],",
                      "     models: [{model: judge-1, concurrency: 12, price_input_usd: 2, price_cached_usd: 0.2, price_output_usd: 8}]}"]
        (self.dir / f"{name}.yaml").write_text("\n".join(lines) + "\n")
        self.vibeq("run", f"{name}.yaml", "--name", name, "--quiet",
                   env={"KEY_NORTH": "key-north-012345678", "KEY_SOUTH": "key-south-012345678"})
        return self.accounting(name), server.requests(), server.answers()

    def money(self, run):
        return json.loads((self.dir / "runs" / run / "accounting.json").read_text())["cost_usd"]

    def cost(self, requests, answers):
        """By the server's own log, in dollars."""
        fresh = sum(r["prompt_tokens"] - r["cached_tokens"] for r in requests)
        written = sum(r["cache_written_tokens"] for r in requests)
        cached = sum(r["cached_tokens"] for r in requests)
        return (2 * (fresh + written / 4) + 0.2 * cached + 8 * sum(a["completion_tokens"] for a in answers)) / 1e6

    def check_accounting(self, run, requests):
        """Reads and writes, and the hit rate, over all and by pool."""
        account = json.loads((self.dir / "runs" / run / "accounting.json").read_text())
        pools = list(account["pools"].values())
        for part, of in ((account["calls"], "tokens_in"), *((pool, "tokens_in") for pool in pools)):
            self.assertAlmostEqual(part["cache_hit_rate"], part["tokens_cached"] / part[of], places=5)
        written = sum(r["cache_written_tokens"] for r in requests)
        self.assertEqual(account["calls"]["tokens_written"], written)
        self.assertEqual(sum(pool["tokens_written"] for pool in pools), written)

    def test_a_plan_prices_what_was_measured(self):
        """The same rows under one more vibe: its calls are priced with the shares of the calls before."""
        calls, requests, _ = self.run_with("anthropic", "auto")
        path = self.dir / "anthropic-auto.yaml"
        path.write_text(path.read_text().replace("judges:", "  - {name: V9, low: low on V9, high: high on V9}\njudges:", 1))
        plan = json.loads(self.vibeq("plan", "anthropic-auto.yaml", "--json").stdout)
        judge = plan["stages"][0]["judges"][0]
        written = sum(r["cache_written_tokens"] for r in requests) / calls["tokens_in"]
        self.assertAlmostEqual(judge["cached_share"], calls["tokens_cached"] / calls["tokens_in"], places=2)
        self.assertAlmostEqual(judge["cache_written_share"], written, places=2)
        self.assertGreater(written, 0.05)
        fresh, cached = 1 - judge["cached_share"] - judge["cache_written_share"], judge["cached_share"]
        usd = judge["tokens_in"]["expected"] * (2 * fresh + 0.2 * cached + 2.5 * judge["cache_written_share"]) + judge["tokens_out"]["expected"] * 8
        self.assertAlmostEqual(judge["usd"]["expected"], usd / 1e6, delta=0.01 * usd / 1e6)
        self.assertIn(f"{100 * written:.0f} % written to one, as in earlier calls", self.vibeq("plan", "anthropic-auto.yaml").stdout)

    def test_led_calls_read_the_cache(self):
        results = {}
        for dialect in ENDS:
            share = {}
            for how in ("off", "auto"):
                calls, requests, answers = self.run_with(dialect, how)
                self.assertEqual(len(requests), 16 * len(AXES) * 2)
                self.assertEqual(calls["tokens_in"], sum(r["prompt_tokens"] for r in requests))
                self.assertEqual(calls["tokens_cached"], sum(r["cached_tokens"] for r in requests))
                self.assertAlmostEqual(self.money(f"{dialect}-{how}"), self.cost(requests, answers), places=6)
                share[how] = calls["tokens_cached"] / calls["tokens_in"]
                self.check_accounting(f"{dialect}-{how}", requests)
                self.assertEqual({r["pool"] for r in requests if r["prompt_tokens"] < 1024}, set(), "a prompt that is too short")
                results[dialect, how] = (self.dir / "runs" / f"{dialect}-{how}" / "results" / "scores.csv").read_bytes()
                self.assertEqual(results[dialect, how], results[dialect, "off"])
                self.assertEqual(self.page_data(f"{dialect}-{how}")["calls"]["tokens_cached"], calls["tokens_cached"])
                status = self.vibeq("status", f"{dialect}-{how}").stdout
                self.assertEqual("from a cache" in status, calls["tokens_cached"] > 0, status)
            print(f"{dialect}: {share['off']:.3f} of the input tokens from a cache, led {share['auto']:.3f}", flush=True)
            self.assertGreater(share["auto"], 0.7, dialect)  # at most 7 of 8, but for the rest of a step of 128 tokens
            self.assertLess(share["off"], share["auto"] - 0.2, dialect)
            if dialect == "anthropic":
                self.assertEqual(share["off"], 0)  # nothing is marked


if __name__ == "__main__":
    vqtest.main()
