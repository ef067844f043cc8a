"""Service tiers against a server that plays them: refusals for lack of capacity, the ordinary tier and other pools, the tier that the provider
reports, what is paid, planned and asked again, and the request hash."""
import json
import shutil

import vqtest
from vqtest import ROOT, USAGE, Case

ENDS = {"openai": "/v1", "azure": "/openai/v1", "anthropic": "/v1", "gemini": "/v1beta"}
PRICES = "price_input_usd: 2, price_output_usd: 8"


class Tiers(Case):
    known = None

    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "examples" / "friendly-vs-terse.csv", self.dir / "data.csv")

    def write(self, name, pools, more=""):
        lines = ["data: {path: data.csv, prompt: question, preference: preference, limit: 8}", "models: [friendly, terse]", "method: preset",
                 "judges: [{model: judge-1, identity: one}]", "judging: {lazy_swap: false, prefix_cache: off}", "pools:"]
        for pool, (server, dialect, keys) in pools.items():
            url = server.url.removesuffix("/v1") + ENDS[dialect]
            lines.append(f"  - {{name: {pool}, dialect: {dialect}, base_url: '{url}', models: [{{model: judge-1, concurrency: 8, {PRICES}, {keys}}}]}}")
        (self.dir / f"{name}.yaml").write_text("\n".join(lines) + "\n" + more)

    def run_with(self, name, pools, code=0):
        self.write(name, pools)
        done = self.vibeq("run", f"{name}.yaml", "--name", name, "--quiet", "--yes", code=code)
        return done

    def account(self, run):
        return json.loads((self.dir / "runs" / run / "accounting.json").read_text())

    def serve(self, name, *options):
        return self.offline("--model", "judge-1", *options, name=name)

    def dollars(self, server, flex):
        """By the server's log: what was served in the tier flex costs the share `flex` of the price."""
        served = {line["n"]: line for line in server.answers()}
        cost = 0
        for line in server.requests():
            answer = served[line["n"]]
            price = (2 * line["prompt_tokens"] + 8 * answer["completion_tokens"]) / 1e6 if answer["status"] == 200 else 0
            cost += price * (flex if answer["service_tier"] == "flex" else 1)
        return cost

    def plain(self):
        """The calls and the scores of the same run without a tier, made once, on a store of its own."""
        if Tiers.known is None:
            server = self.serve("plain")
            self.run_with("plain", {"p": (server, "openai", "window_s: 60")})
            Tiers.known = len(server.requests()), (self.dir / "runs" / "plain" / "results" / "scores.csv").read_bytes()
            (self.dir / "runs" / "calls.lmdb").unlink()
        return Tiers.known

    def test_a_refused_call_waits_alone_and_half_the_price_is_paid(self):
        calls, scores = self.plain()
        for dialect, fault in (("openai", "no_flex=0.3"), ("azure", "capacity=0.3")):
            with self.subTest(dialect):
                server = self.serve(dialect, "--fault", fault)
                self.run_with(dialect, {"p": (server, dialect, "service_tier: flex, service_tier_tries: 50")})
                account, requests = self.account(dialect), server.requests()
                self.assertEqual({line["service_tier"] for line in requests}, {"flex"})
                refused = len(requests) - calls
                self.assertGreater(refused, calls // 8)
                pool = account["pools"]["p"]
                self.assertEqual((pool["no_capacity"], pool["answered"], pool["service_tiers"]), (refused, calls, {"flex": calls}))
                self.assertAlmostEqual(account["cost_usd"], self.dollars(server, 0.5), places=7)
                self.assertEqual(account["calls"]["failed"]["rate"], refused)
                self.assertEqual(account["incidents"], [])
                self.assertEqual((self.dir / "runs" / dialect / "results" / "scores.csv").read_bytes(), scores)
                self.vibeq("verify", dialect)
                (self.dir / "runs" / "calls.lmdb").unlink()

    def test_without_capacity_every_call_goes_to_the_ordinary_tier(self):
        calls, scores = self.plain()
        server = self.serve("flex", "--fault", "no_flex=1")
        self.run_with("flex", {"p": (server, "openai", "service_tier: flex, service_tier_tries: 2")})
        named = [line["service_tier"] for line in server.requests()]
        self.assertEqual((named.count("flex"), named.count(None)), (2 * calls, calls))
        account = self.account("flex")
        self.assertEqual(account["pools"]["p"]["service_tiers"], {"default": calls})
        self.assertEqual(account["pools"]["p"]["no_capacity"], 2 * calls)
        self.assertAlmostEqual(account["cost_usd"], self.dollars(server, 0.5), places=7)
        self.assertEqual(account["incidents"], [])
        self.assertEqual((self.dir / "runs" / "flex" / "results" / "scores.csv").read_bytes(), scores)
        server = self.serve("again")  # the hash is the judge's: nothing is bought again, in whatever tier
        self.run_with("again", {"p": (server, "openai", "window_s: 60")})
        self.assertEqual(server.requests(), [])

    def test_an_overloaded_gemini_is_a_tier_without_capacity(self):
        calls, _ = self.plain()
        script = self.dir / "faults.jsonl"
        script.write_text(json.dumps({"fault": "unavailable", "contains": '"serviceTier":"flex"', "retry_after": "absent"}) + "\n")
        server = self.serve("gemini", "--faults", str(script))
        self.run_with("gemini", {"p": (server, "gemini", "service_tier: flex, service_tier_tries: 1")})
        named = [line["service_tier"] for line in server.requests()]
        self.assertEqual((named.count("flex"), named.count(None)), (calls, calls))
        self.assertEqual(self.account("gemini")["pools"]["p"]["service_tiers"], {"standard": calls})

    def test_another_pool_goes_before_the_ordinary_tier(self):
        calls, _ = self.plain()
        flex, other = self.serve("flex", "--fault", "no_flex=1"), self.serve("other")
        self.run_with("two", {"flex": (flex, "openai", "service_tier: flex, service_tier_tries: 1"), "other": (other, "openai", "window_s: 60")})
        pools = self.account("two")["pools"]
        self.assertEqual(pools["other"]["answered"] + pools["flex"]["answered"], calls)
        self.assertGreater(pools["flex"]["no_capacity"], 0)
        self.assertGreater(pools["other"]["answered"], calls // 2)

    def test_the_reported_tier_is_paid(self):
        calls, _ = self.plain()
        for dialect, tier in (("openai", "default"), ("gemini", "standard")):
            with self.subTest(dialect):
                server = self.serve(dialect, "--fault", "other_tier=0.5")
                self.run_with(dialect, {"p": (server, dialect, "service_tier: priority, service_tier_price: 2")})
                tiers = self.account(dialect)["pools"]["p"]["service_tiers"]
                self.assertEqual(set(tiers), {"priority", tier})
                cost = 0
                served = {line["n"]: line for line in server.answers()}
                for line in server.requests():
                    answer = served[line["n"]]
                    cost += (2 * line["prompt_tokens"] + 8 * answer["completion_tokens"]) / 1e6 * (2 if answer["service_tier"] == "priority" else 1)
                self.assertAlmostEqual(self.account(dialect)["cost_usd"], cost, places=7)
                (self.dir / "runs" / "calls.lmdb").unlink()

    def test_anthropic_names_its_tier(self):
        server = self.serve("anthropic")
        self.run_with("anthropic", {"p": (server, "anthropic", "service_tier: standard_only")})
        self.assertEqual({line["service_tier"] for line in server.requests()}, {"standard_only"})
        self.assertEqual(set(self.account("anthropic")["pools"]["p"]["service_tiers"]), {"standard"})

    def test_a_plan_prices_the_tier(self):
        server = self.serve("any")
        price = {}
        for name, keys in {"plain": "window_s: 60", "flex": "service_tier: flex", "priority": "service_tier: priority, service_tier_price: 2"}.items():
            self.write(name, {"p": (server, "openai", keys)})
            price[name] = json.loads(self.vibeq("plan", f"{name}.yaml", "--json").stdout)["usd"]
        self.assertAlmostEqual(price["flex"]["expected"], price["plain"]["expected"] / 2, places=6)
        self.assertAlmostEqual(price["flex"]["most"], price["plain"]["most"], places=6)
        self.assertAlmostEqual(price["priority"]["expected"], price["plain"]["expected"] * 2, places=6)
        self.assertIn("tier flex at 0.5 of the price (assumed: service_tier_price)", self.vibeq("plan", "flex.yaml").stdout)
        self.assertEqual(server.requests(), [])
        self.vibeq("check", "flex.yaml")
        self.assertEqual([line["service_tier"] for line in server.requests()], ["flex"])

    def test_wrong_settings(self):
        server = self.serve("any")
        for dialect, keys, sentence in (("anthropic", "service_tier: flex", "the dialect anthropic has the tiers auto, standard_only"),
                                        ("openai", "service_tier: priority", "priority costs more than the ordinary tier"),
                                        ("openai", "service_tier_price: 0.5", "only with a service_tier")):
            done = self.run_with("wrong", {"p": (server, dialect, keys)}, code=USAGE)
            self.assertIn(sentence, done.stderr)
        self.assertEqual(server.requests(), [])


if __name__ == "__main__":
    vqtest.main()
