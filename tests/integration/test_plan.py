# labels: slow split
"""What `vibeq plan` says against what the run then does, by its accounting and by the endpoint: calls exact where no answer decides them,
else inside the interval; tokens and dollars within 5 percent once a first part is stored. On planted data, and on the real data sets
where they are (VQ_SHARED names their folder; missing, those tests skip, or fail with VQ_REQUIRE_SHARED=1)."""
import hashlib
import json

import vqtest
from test_datasets import FOLDER, LIMIT, REQUIRED
from vqtest import DONE, MISSING, ROOT, STOPPED, USAGE, Case, add_rates, planted

NO = 3
AXES = ("V1", "V2", "V3", "V4")
PRICES = {"price_input_usd": 2.5, "price_output_usd": 10}
PRICED = [w for j in (0, 1) for k, v in PRICES.items() for w in ("--set", f"judges[{j}].{k}={v + j}")]
EXAMPLE = ROOT / "examples" / "friendly-vs-terse.yaml"


class PlanCase(Case):
    def plan(self, *words, code=DONE):
        return json.loads(self.vibeq("plan", *words, "--json", code=code).stdout)

    def whole_accounting(self, run):
        return json.loads((self.dir / "runs" / run / "accounting.json").read_text())

    def inside(self, value, interval, what):
        self.assertLessEqual(interval["least"] - 0.5, value, what)
        self.assertLessEqual(value, interval["most"] + 0.5, what)

    def near(self, value, interval, what, share=0.05):
        self.inside(value, interval, what)
        self.assertLessEqual(abs(interval["expected"] - value), share * value, f"{what}: {interval} and {value}")

    def adds_up(self, plan):
        """What is planned is asked, stored or saved, in every line; stages are the sum of their judges, the plan that of its stages."""
        for part in [plan, *plan["stages"], *(j for s in plan["stages"] for j in s["judges"])]:
            sums = part["calls"]["expected"] + part["from_store"] + part["saved_by_lazy_swap"]["expected"]
            self.assertAlmostEqual(part["planned"]["expected"], sums, delta=1e-4 * (1 + sums))
            for interval in (v for v in part.values() if isinstance(v, dict) and "least" in v):
                self.assertLessEqual(interval["least"], interval["expected"] + 1e-6, part)
                self.assertLessEqual(interval["expected"], interval["most"] + 1e-6, part)
        power = plan.get("power")
        if power is not None and power["with_half_the_rows"] is not None:
            self.assertGreater(power["with_half_the_rows"], power["smallest_separability"])
            self.assertLess(power["with_twice_the_rows"], power["smallest_separability"])
        for key in ("calls", "tokens_in", "tokens_out"):
            for end in ("least", "expected", "most"):
                self.assertAlmostEqual(plan[key][end], sum(s[key][end] for s in plan["stages"]), delta=1 + 1e-6 * plan[key][end])

    def against(self, plan, run, exact):
        """The plan of a run that is over by now."""
        self.adds_up(plan)
        account = self.whole_accounting(run)
        calls = account["calls"]
        self.assertEqual({s["name"]: s["planned"]["expected"] for s in plan["stages"]}, {s["name"]: s["planned"] for s in account["stages"]})
        self.assertEqual(plan["from_store"], calls["from_store"])
        if exact:
            self.assertEqual(plan["calls"], dict.fromkeys(("least", "expected", "most"), calls["first_sends"]))
            self.assertTrue(all(s["exact"] and s["known"] for s in plan["stages"]))
        else:
            self.near(calls["first_sends"], plan["calls"], "calls")
        self.inside(calls["repairs"], plan["repairs"], "repairs")
        self.near(calls["tokens_in"], plan["tokens_in"], "tokens in")
        self.near(calls["tokens_out"], plan["tokens_out"], "tokens out")
        self.near(account["cost_usd"], plan["usd"], "dollars")

    def stages_inside(self, plan, account):
        most = {}
        for s in plan["stages"]:
            for key in ("planned", "calls", "repairs"):
                most[s["name"], key] = most.get((s["name"], key), 0) + s[key]["most"]
        for s in account["stages"]:
            again = s["name"].endswith("one by one")  # repairs of joint answers
            self.assertLessEqual(s["first_sends"], most[s["name"], "repairs" if again else "calls"] + 0.5, s["name"])
            self.assertLessEqual(s["planned"], most[s["name"], "repairs" if again else "planned"] + 0.5, s["name"])
        again = sum(s["first_sends"] for s in account["stages"] if s["name"].endswith("one by one"))
        self.inside(account["calls"]["first_sends"] - again, plan["calls"], "calls")
        self.inside(account["calls"]["repairs"] + again, plan["repairs"], "repairs")
        self.inside(account["calls"]["tokens_in"], plan["tokens_in"], "tokens in")
        self.inside(account["calls"]["tokens_out"], plan["tokens_out"], "tokens out")

    def prepare(self, rows, tie=0.3, **more):
        planted(self.dir, rows, AXES, preference=more.pop("preference", True))
        add_rates(self.dir, tie=tie)
        self.config(AXES, judge=PRICES, **more)

    def both(self, *words, first="60", exact):
        """A first part is run, then the whole is planned and run."""
        self.vibeq("run", "config.yaml", "--name", "first", "--limit", first, "--quiet", *words)
        plan = self.plan("config.yaml", *words)
        self.assertGreater(plan["from_store"], 0)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", *words)
        self.against(plan, "r", exact)
        after = self.plan("config.yaml", *words)
        self.assertEqual((after["calls"]["most"], after["usd"]["most"], after["assumed"]), (0, 0, []))
        return plan

    def files(self):
        return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted((self.dir / "runs").rglob("*"))
                if p.is_file() and not p.name.endswith("-lock")}


class Calls(PlanCase):
    def test_without_lazy_swap_calls_are_exact(self):
        self.prepare(150)
        plan = self.both("--set", "judging.lazy_swap=false", exact=True)
        self.assertEqual(plan["planned"]["expected"], 150 * 2 * len(AXES) * 2)
        self.assertEqual(plan["from_store"], 60 * 2 * len(AXES) * 2)

    def test_forward_is_exact(self):
        self.prepare(100)
        self.both("--set", "judging.pair_rule=forward", exact=True)

    def test_joint_calls_are_exact(self):
        self.prepare(100)
        self.vibeq("run", "config.yaml", "--name", "first", "--limit", "40", "--quiet", "--set", "judging.vibes_per_call=3")
        plan = self.plan("config.yaml", "--set", "judging.vibes_per_call=3")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--set", "judging.vibes_per_call=3")
        calls = self.accounting("r")
        self.assertEqual((plan["calls"]["least"], plan["calls"]["most"]), (calls["first_sends"], calls["first_sends"]))
        self.near(calls["tokens_in"], plan["tokens_in"], "tokens in")
        self.near(calls["tokens_out"], plan["tokens_out"], "tokens out")

    def test_with_lazy_swap_the_first_part_tells(self):
        self.prepare(300)
        plan = self.both(first="100", exact=False)
        self.assertLess(plan["calls"]["least"], plan["calls"]["expected"])
        self.assertLess(plan["calls"]["expected"], plan["calls"]["most"])


class Settings(PlanCase):
    def test_labels_and_vibes(self):
        self.prepare(120, tie=0.2, preference=False)
        text = (self.dir / "config.yaml").read_text() + "preference: judge\n"
        (self.dir / "config.yaml").write_text(text)
        for sample in range(120):
            with open(self.dir / "truth.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps({"axis": "preference", "sample": f"S{sample}", "score": 1 if sample % 3 else -1}) + "\n")
        plan = self.plan("config.yaml", "--set", "judging.lazy_swap=false")
        self.assertEqual([(s["name"], s["role"], s["known"], s["calls"]["least"], s["calls"]["most"]) for s in plan["stages"]],
                         [("prefer", "preference_judge", True, 480, 480), ("rank", "judge", True, 1920, 1920)])

    def test_every_setting_stays_inside(self):
        """Whatever the settings: each stage of the run is one of the plan, and no larger than it may be."""
        planted(self.dir, 80, AXES, preference=False, p=[0.8, 0.5, 0.7, 0.5])
        add_rates(self.dir, tie=0.2)
        with open(self.dir / "truth.jsonl", "a", encoding="utf-8") as file:
            for sample in range(80):
                file.write(json.dumps({"axis": "preference", "sample": f"S{sample}", "score": 1 if sample % 3 else -1}) + "\n")
        self.config(AXES)
        for i, settings in enumerate((["judging.early_stop.alpha=0.1", "judging.early_stop_rows=20"], ["judging.early_stop=final"], ["judging.pair_rule=lenient"],
                                      ["judging.retest=0.1"], ["preference=judge", "data.ties=drop_all"],
                                      ["judging.vibes_per_call=3", "judging.early_stop_alpha=0.1", "judging.early_stop_rows=10"],
                                      ["judging.audit_share=0.5", "vibecheck.question_types=true", "judging.repair=false"])):
            # a seed of its own is a provider of its own, which has nothing in the store
            words = [w for s in [*settings, f"offline.seed={100 + i}"] for w in ("--set", s)]
            with self.subTest(settings=settings):
                plan = self.plan("config.yaml", *words)
                self.adds_up(plan)
                self.vibeq("run", "config.yaml", "--name", f"r{i}", "--quiet", *words)
                self.stages_inside(plan, self.whole_accounting(f"r{i}"))
                after = self.plan("config.yaml", *words)
                self.assertEqual((after["calls"]["most"], after["repairs"]["most"]), (0, 0))

    def test_presets_beside_given_vibes_are_known_too(self):
        planted(self.dir, 60, AXES)
        self.config(("Length", "Warmth", "Lists"), oracle=False, vibecheck="{compare_presets: true}")
        words = ("config.yaml", "--set", "judging.lazy_swap=false")
        plan = self.plan(*words)
        self.assertEqual([(s["name"], s["known"], s["exact"], s["calls"]["most"]) for s in plan["stages"]],
                         [("rank", True, True, 60 * 2 * 2 * 3), ("presets", True, True, 60 * 2 * 2 * 10)])
        self.vibeq("run", *words, "--name", "r", "--quiet")
        self.assertEqual([s["first_sends"] for s in self.whole_accounting("r")["stages"]], [s["calls"]["most"] for s in plan["stages"]])
        self.near(self.accounting("r")["tokens_in"], plan["tokens_in"], "tokens in")

    def test_repairs_are_learned(self):
        self.prepare(150)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--fault", "wrong_format=0.15")
        self.config(AXES, url=server.url, judge=PRICES)
        self.vibeq("run", "config.yaml", "--name", "first", "--limit", "50", "--quiet", code=MISSING)
        plan = self.plan("config.yaml")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        calls = self.accounting("r")
        # The texts that this server cannot shape are all alike: one repair of each judge answers all of them, and the plan has learned it.
        self.assertLess(plan["repairs"]["expected"], 20)
        self.assertGreater(plan["repairs"]["most"], 50)
        self.inside(calls["repairs"], plan["repairs"], "repairs")
        self.inside(calls["tokens_in"], plan["tokens_in"], "tokens in")
        self.inside(self.whole_accounting("r")["cost_usd"], plan["usd"], "dollars")

    def test_equal_texts_that_wait_for_their_repair_are_repaired_once(self):
        self.prepare(60)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--fault", "wrong_format=0.3")
        self.config(AXES, url=server.url)
        self.vibeq("run", "config.yaml", "--name", "first", "--quiet", "--set", "judging.repair=off", code=MISSING)
        plan = self.plan("config.yaml")
        self.assertGreater(plan["repairs"]["most"], 50)
        self.assertLess(plan["repairs"]["expected"], 5)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        self.inside(self.accounting("r")["repairs"], plan["repairs"], "repairs")


class Store(PlanCase):
    def test_a_store_knows_what_a_configuration_does_not(self):
        """Without any answer output is anything up to max_tokens, and the plan says what it assumes."""
        self.prepare(40)
        plan = self.plan("config.yaml")
        self.assertTrue(any("one first answer in twenty" in text for text in plan["assumed"]), plan["assumed"])
        self.assertTrue(any("one token for 4 bytes" in text for text in plan["assumed"]), plan["assumed"])
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        account = self.whole_accounting("r")
        self.inside(account["calls"]["first_sends"], plan["calls"], "calls")
        self.inside(account["calls"]["tokens_out"], plan["tokens_out"], "tokens out")
        self.inside(account["cost_usd"], plan["usd"], "dollars")
        self.near(account["calls"]["tokens_in"] / account["calls"]["first_sends"],
                  {k: v / plan["calls"][k] for k, v in plan["tokens_in"].items()}, "tokens in, each")
        # other data with the same models: nothing of it is stored, but how long answers are is known
        planted(self.dir, 60, AXES, seed=9)
        other = self.plan("config.yaml")
        self.assertEqual(other["from_store"], 0)
        self.assertLess(other["tokens_out"]["most"] / other["calls"]["most"], 1.2 * account["calls"]["tokens_out"] / account["calls"]["answered"])

    def test_it_sends_and_writes_nothing(self):
        self.prepare(20)
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        self.config(AXES, url=server.url)
        self.plan("config.yaml")
        self.assertEqual(server.requests(), [])
        self.assertFalse((self.dir / "runs").exists())
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        asked = len(server.requests())
        before = self.files()
        self.plan("config.yaml", "--set", "judges[0].temperature=1")
        self.vibeq("plan", "config.yaml")
        self.assertEqual(self.files(), before)
        self.assertEqual(len(server.requests()), asked)

    def test_a_data_file_with_the_options_of_vibeq_run(self):
        self.prepare(20)
        server = self.offline()
        words = ("--model", "alpha", "--model", "beta", "--prompt", "question", "--preference", "preference", "--judge", "m",
                 "--base-url", server.url, "--key", "env:NOT_SET_HERE", "--limit", "10")
        run = self.vibeq("run", "data.csv", *words, "--dry-run", code=STOPPED).stderr  # no worker could call: it says so, and what it would ask
        plan = self.plan("data.csv", *words)
        self.assertIn(f"At most {plan['calls']['most']} calls", run)
        self.assertEqual(server.requests(), [])

    def test_a_run_that_goes_on_meanwhile(self):
        self.prepare(60)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "30")
        self.config(AXES, url=server.url)
        child = self.start("run", "config.yaml", "--name", "r", "--quiet", "--set", "judges[0].concurrency=1", "--set",
                           "judges[1].concurrency=1")
        self.wait_for("some answers", lambda: len(server.answers()) > 60)
        self.assertGreater(self.plan("config.yaml")["from_store"], 0)
        child.terminate()
        child.wait(30)


class Limits(PlanCase):
    """Limits, budget, deadline."""

    def test_the_limit_that_binds(self):
        self.prepare(30)
        words = ("--set", "judging.lazy_swap=false", "--set", "judges[0].requests_per_minute=12", "--set", "judges[1].tokens_per_minute=600")
        plan = self.plan("config.yaml", *words)
        by = {entry["name"]: entry for entry in plan["limits"]}
        self.assertEqual([by[n]["limited_by"] for n in ("offline-a", "offline-b")], ["requests_per_minute", "tokens_per_minute"])
        self.assertAlmostEqual(by["offline-a"]["seconds"]["least"], 240 / 12 * 60, delta=1)
        self.assertEqual(plan["seconds"]["expected"], max(e["seconds"]["expected"] for e in plan["limits"]))

    def test_batches(self):
        """Both prices and both times; a run is refused, before it has a folder."""
        self.prepare(30)
        text = (self.dir / "config.yaml").read_text()
        text = "\n".join([text[:text.index("judges:")], "judges: [m]", "pools:",
                          "- {name: p, base_url: 'https://api.example.com/v1', models: [{model: m, price_input_usd: 1, price_output_usd: 4,"
                          " requests_per_minute: 600}, {model: m, batch: true, price_input_usd: 1, price_output_usd: 4}]}", ""])
        (self.dir / "config.yaml").write_text(text)
        plan = self.plan("config.yaml")
        batches = plan["as_batches"]
        self.assertTrue(batches["configured"] and batches["price_assumed"])
        self.assertEqual(batches["calls"]["expected"], plan["calls"]["most"])
        self.assertLess(batches["usd"]["most"], 0.51 * plan["usd"]["most"])
        self.assertEqual(batches["seconds"]["most"], batches["in_sequence"] * 86400)
        self.assertEqual([limit["name"] for limit in plan["limits"]], ["p/m", "p/m/batch"])
        table = self.vibeq("plan", "config.yaml").stdout
        self.assertIn("batch price: half of the interactive price, assumed", table)
        self.assertRegex(table, r"p/m/batch +batch: up to 24 h each, at 0.5 of the price \(assumed\)")
        self.assertIn("; 1 h per batch, assumed", table)
        self.assertEqual((batches["time_assumed"], batches["seconds"]["expected"]), (True, 3600 * batches["in_sequence"]))
        self.recorded_batches(batches["in_sequence"])
        far = ("--deadline", "2100-01-01T00:00Z")
        deadline = self.plan("config.yaml", *far)["deadline"]
        self.assertLess(deadline["batches_until_unix_s"], deadline["unix_s"] - 300)
        self.assertIn("batches have until", self.vibeq("plan", "config.yaml", *far).stdout)
        (self.dir / "config.yaml").write_text(text.replace("{model: m, batch: true, price_input_usd: 1, price_output_usd: 4}", "n"))
        self.assertFalse(self.plan("config.yaml")["as_batches"]["configured"])
        self.assertIn("As a batch: $", self.vibeq("plan", "config.yaml").stdout)

    def recorded_batches(self, in_sequence):
        """Those of the pool's dialect and model count; one that was cancelled early shows nothing, one that expired took longer."""
        runs = self.dir / "runs"
        runs.mkdir(exist_ok=True)
        (runs / "batches.csv").write_text("".join(f"1,{of},50,{seconds},{end}\n" for of, seconds, end in (
            ("openai,m", 60, "ended"), ("openai,m", 420, "ended"), ("openai,m", 500, "ended"), ("openai,m", 86400, "expired"),
            ("openai,m", 30, "cancelled"), ("openai,other", 7, "ended"), ("anthropic,m", 8, "ended"))))
        plan = self.plan("config.yaml")
        batches = plan["as_batches"]
        self.assertEqual((batches["time_assumed"], batches["seconds"]["expected"]), (False, 420 * in_sequence))
        self.assertEqual([limit["recorded_batches"] for limit in plan["limits"] if limit["batch"]], [5])
        self.assertFalse(any("a batch is taken" in sentence for sentence in plan["assumed"]))
        table = self.vibeq("plan", "config.yaml").stdout
        self.assertIn("batches of p/m/batch: half of 5 recorded within 7 min 00 s", table)
        self.assertRegex(table, r"p/m/batch +batch: half of 5 recorded within 7 min 00 s, up to 24 h each")
        self.assertNotIn("1 h per batch", table)

    def test_every_limit_that_binds_has_its_name(self):
        self.prepare(30)
        for key, word in (("input_tokens_per_minute", None), ("output_tokens_per_minute", None), ("requests_per_day", "day_quota"),
                          ("tokens_per_day", "day_quota")):
            words = ("--set", f"judges[0].{key}=100")
            self.assertEqual(self.plan("config.yaml", *words)["limits"][0]["limited_by"], word or key)
            self.assertIn(f"{word or key}: 100", self.vibeq("plan", "config.yaml", *words).stdout)

    def test_pools_share_the_calls(self):
        """Two accounts answer for one model, one of them calls it otherwise; a stored answer is theirs, whoever gave it."""
        self.prepare(40)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--model", "deployed")
        text = (self.dir / "config.yaml").read_text()
        pool = "- {name: %s, base_url: '%s', identity: x, models: [{model: some, as: %s, requests_per_minute: %d, concurrency: 1000, price_input_usd: %d, price_output_usd: %d}]}"
        text = "\n".join([text[:text.index("judges:")], "judging: {lazy_swap: false}", "budget: {usd: 100}", "judges: [some]", "pools:",
                          pool % ("one", server.url, "offline-a", 15000, 1, 1), pool % ("two", server.url, "deployed", 5000, 3, 3), ""])
        (self.dir / "config.yaml").write_text(text)
        plan = self.plan("config.yaml")
        self.adds_up(plan)
        calls = 40 * len(AXES) * 2
        self.assertEqual([(e["name"], e["limited_by"]) for e in plan["limits"]], [("one", "requests_per_minute"), ("two", "requests_per_minute")])
        for entry, share in zip(plan["limits"], (0.75, 0.25)):
            self.assertAlmostEqual(entry["calls"]["least"], calls * share, delta=0.1)
        self.assertAlmostEqual(plan["seconds"]["least"], calls / 20000 * 60, delta=0.05)
        tokens = plan["tokens_in"]["expected"] + plan["tokens_out"]["expected"]
        self.assertAlmostEqual(plan["usd"]["expected"], tokens * 1.5 / 1e6, delta=1e-5)
        self.assertEqual((plan["budget"]["usd"], plan["budget"]["holds"]), (100, "yes"))
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        self.assertEqual(self.accounting("r")["first_sends"], calls)
        after = self.plan("config.yaml", "--set", "judging.retest=1")
        self.assertEqual((after["from_store"], after["stages"][0]["calls"]["most"]), (calls, 0))
        self.assertFalse(any("last 1 s" in text for text in after["assumed"]), after["assumed"])

    def test_the_time_is_the_time_of_a_run(self):
        """Against a server with a latency of half a second: by a limit of requests alone, and by a concurrency, once answers have shown the latency."""
        planted(self.dir, 50, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "500ms")
        calls = 50 * len(AXES) * 2
        for name, judge, by in (("rate", {"requests_per_minute": 900}, "requests_per_minute"), ("flight", {"concurrency": 8}, "concurrency")):
            seed = 1 if name == "rate" else 2  # else the answers of the first are taken
            more = {"judging": "{lazy_swap: false, prefix_cache: off}", "workers": 1}
            self.config(AXES, 1, server.url, judge={**judge, "seed": seed}, data_limit=4, **more)
            self.vibeq("run", "config.yaml", "--name", name + "-before", "--quiet")
            self.config(AXES, 1, server.url, judge={**judge, "seed": seed}, **more)
            plan = self.plan("config.yaml")
            self.assertEqual([entry["limited_by"] for entry in plan["limits"]], [by])
            self.vibeq("run", "config.yaml", "--name", name, "--quiet")
            account = json.loads((self.dir / "runs" / name / "accounting.json").read_text())
            self.assertGreater(account["calls"]["first_sends"], calls * 0.9)
            took = (account["last_call_unix_ms"] - account["first_call_unix_ms"]) / 1000
            self.assertAlmostEqual(plan["seconds"]["expected"], took, delta=took * 0.2, msg=name)

    def test_what_is_assumed_is_said(self):
        self.prepare(20)
        said = self.vibeq("plan", "config.yaml").stdout
        self.assertIn("concurrency: 16 (assumed: not set)", said)
        self.assertIn("Assumed: 16 calls are taken to be in flight", said)
        self.assertEqual({entry["assumed_concurrency"] for entry in self.plan("config.yaml")["limits"]}, {16})
        said = self.vibeq("plan", "config.yaml", "--set", "judges[0].concurrency=3").stdout
        self.assertIn("concurrency: 3\n", said)

    def test_budget_and_deadline_by_exit_code(self):
        self.prepare(30)
        most = self.plan("config.yaml")["usd"]["most"]
        plan = self.plan("config.yaml", "--budget", most * 1.01)
        self.assertEqual(plan["budget"]["holds"], "yes")
        plan = self.plan("config.yaml", "--budget", plan["usd"]["expected"] / 2, code=NO)
        self.assertEqual((plan["budget"]["holds"], plan["budget"]["ends_in"]), ("no", "rank"))
        self.assertAlmostEqual(plan["budget"]["share_of_calls"], 0.5, delta=0.001)
        slow = ("--set", "judges[0].requests_per_minute=0.1")
        for at in ("00:00", "12:00"):
            plan = self.plan("config.yaml", "--deadline", at, *slow, code=NO)
            self.assertEqual(plan["deadline"]["holds"], "no")
            self.assertGreater(plan["deadline"]["needed_factor"], 1)
            self.assertTrue(0 < plan["deadline"]["seconds_left"] <= 25 * 3600)
        said = self.vibeq("plan", "config.yaml", "--deadline", "00:00", *slow, code=NO).stdout
        self.assertRegex(said, r"Deadline \d{4}-\d\d-\d\d 00:00 does not hold: about \d+ % of the calls")
        self.assertRegex(said, r"offline-a: requests_per_minute [\d.]+ instead of 0\.1")

    def test_an_unknown_price_is_not_zero(self):
        self.prepare(10)
        self.config(AXES, judge={})
        plan = self.plan("config.yaml", "--budget", "100", code=NO)
        self.assertEqual((plan["usd"], plan["budget"]["holds"]), (None, "unknown"))
        self.assertIsNone(plan["stages"][0]["judges"][0]["usd"])
        self.assertIn("unknown", self.vibeq("plan", "config.yaml").stdout)

    def test_words_that_mean_nothing(self):
        self.prepare(10)
        for words in (("--deadline", "7:00"), ("--deadline", "24:00"), ("--deadline", "2020-01-01T07:00"), ("--budget", "ten"),
                      ("--budget", "-1"), ("--budget", "nan"), ("more.yaml",)):
            said = self.vibeq("plan", "config.yaml", *words, code=USAGE).stderr
            self.assertIn("vibeq help plan", said, words)
        self.vibeq("plan", "none.yaml", code=USAGE)
        for words, what in ((("--deadline", "7:00"), "--deadline: '7:00' is not a time"), (("--deadline", "2020-01-01T07:00"), "is in the past")):
            self.assertIn(what, self.vibeq("run", "config.yaml", "--name", "late", "--quiet", *words, code=USAGE).stderr)
        self.assertFalse((self.dir / "runs" / "late").exists())

    def test_the_plan_says_what_the_rows_can_tell(self):
        planted(self.dir, 80, AXES)
        self.config(AXES)
        plan = json.loads(self.vibeq("plan", "config.yaml", "--json").stdout)
        self.assertEqual(plan["power"]["vibes"], len(AXES))
        self.assertIn(f"can show a separability of {plan['power']['smallest_separability']:.2f} or more", self.vibeq("plan", "config.yaml").stdout)
        self.vibeq("run", "config.yaml", "--name", "power")
        reached = self.results("power")["power"]
        self.assertEqual(reached["prompts"], plan["power"]["prompts"])
        self.assertLessEqual(reached["smallest_separability"], plan["power"]["smallest_separability"])

    def test_the_table_fits(self):
        self.prepare(20)
        said = self.vibeq("plan", "config.yaml", "--budget", "5", "--deadline", "07:00", code=None).stdout
        for line in said.splitlines():
            if not line.startswith("Assumed"):
                self.assertLessEqual(len(line), 80, line)
        self.assertIn("Nothing was sent.", said)


class Discovered(PlanCase):
    """The example's discovery: every stage inside its interval, and what a stopped run leaves to do."""

    def test_before_and_after(self):
        words = (EXAMPLE, "--set", "vibecheck.question_types=true", "--set", "judging.retest=0.05")
        plan = self.plan(*words)
        self.adds_up(plan)
        self.assertEqual([s["name"] for s in plan["stages"] if s["known"]], ["discover 1"])
        self.vibeq("run", *words, "--name", "r", "--quiet", timeout=200)
        account = self.whole_accounting("r")
        self.stages_inside(plan, account)
        self.assertEqual(plan["stages"][0]["calls"]["expected"], account["stages"][0]["first_sends"])
        for key, of in (("calls", "first_sends"), ("tokens_in", "tokens_in"), ("tokens_out", "tokens_out")):
            self.inside(account["calls"][of], plan[key], key)
        after = self.plan(*words)
        self.assertEqual(after["calls"], {"least": 0, "expected": 0, "most": 0})
        self.assertEqual({s["name"] for s in after["stages"]}, {s["name"] for s in account["stages"]})
        self.assertEqual(after["from_store"], account["calls"]["first_sends"])

    def test_as_far_as_it_is_known(self):
        """One iteration is in the store: two of them are known so far that the second one's first batches are."""
        self.vibeq("run", EXAMPLE, "--set", "vibecheck.iterations=1", "--name", "one", "--quiet", timeout=200)
        plan = self.plan(EXAMPLE)
        known = [s["name"] for s in plan["stages"] if s["known"]]
        self.assertEqual(known[-1], "discover 2")
        self.assertIn("rank 1", known)
        self.assertEqual([s["calls"]["most"] for s in plan["stages"] if s["name"] in known[:-1]], [0] * (len(known) - 1))
        self.vibeq("run", EXAMPLE, "--name", "two", "--quiet", timeout=200)
        account = self.whole_accounting("two")
        self.inside(account["calls"]["first_sends"], plan["calls"], "calls")
        self.inside(account["calls"]["tokens_in"], plan["tokens_in"], "tokens")


class Real(PlanCase):
    def setUp(self):
        super().setUp()
        if not FOLDER.is_dir():
            if REQUIRED:
                self.fail(f"the data sets are required, and {FOLDER} is not there")
            self.skipTest(f"SKIP: the real data sets are not in {FOLDER}; name their folder with VQ_SHARED")

    def check(self, name, models, first=80):
        """The first part is large enough for its share of settled answers to be near that of the rest."""
        words = (FOLDER / name, "--models", ",".join(models), "--judge", "offline-a,offline-b", *PRICED)
        rows = 240 if LIMIT > 0 else 10000
        for lazy, exact in (("true", False), ("false", True)):
            with self.subTest(lazy_swap=lazy):
                # another seed of the built-in server is another provider: nothing is shared between the two
                more = ("--set", f"judging.lazy_swap={lazy}", "--set", f"offline.seed={7 + exact}")
                self.vibeq("run", *words, *more, "--limit", first, "--name", f"first-{lazy}", "--quiet", timeout=280)
                plan = self.plan(*words, *more, "--limit", rows)
                self.vibeq("run", *words, *more, "--limit", rows, "--name", f"r-{lazy}", "--quiet", timeout=280)
                self.against(plan, f"r-{lazy}", exact)

    def test_friendly_and_cold(self):
        self.check("friendly_and_cold_sample.csv", ("friendly", "cold"), first=25)

    def test_human_and_chatgpt(self):
        self.check("hc3_multisource_train.csv", ("human_answers", "chatgpt_answers"))

    def test_arena(self):
        self.check("arena_llama_vs_not_llama_soft_questions.csv", ("llama-3-70b-instruct", "not_llama"))

    def test_summaries(self):
        self.check("cnndm_test_with_pref.csv", ("command_xlarge_beta", "TNLGv2"))

    def test_the_whole_method(self):
        words = (FOLDER / "friendly_and_cold_sample.csv", "--models", "friendly,cold", "--judge", "offline-a,offline-b", "--discover")
        plan = self.plan(*words)
        self.adds_up(plan)
        self.vibeq("run", *words, "--name", "r", "--quiet", timeout=280)
        calls = self.accounting("r")
        for key, of in (("calls", "first_sends"), ("tokens_in", "tokens_in"), ("tokens_out", "tokens_out")):
            self.inside(calls[of], plan[key], key)
        self.assertEqual(self.plan(*words)["calls"]["most"], 0)


if __name__ == "__main__":
    vqtest.main()
