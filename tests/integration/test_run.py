# labels: split
"""The main job end to end with real processes: results that depend on nothing but data, configuration, seed and answers."""
import json
import re

import vqtest
from answering import Endpoint, Server
from vqtest import DONE, MISSING, STOPPED, USAGE, Case, add_rates, planted

AXES = ("V1", "V2", "V3")


class Properties(Case):
    def test_calls_equal_the_formula_without_lazy_swap(self):
        planted(self.dir, 20, AXES)
        self.config(judging="{lazy_swap: false}")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        calls = self.accounting("r")
        self.assertEqual(calls["planned"], 2 * 2 * 3 * 20)
        self.assertEqual(calls["first_sends"], calls["planned"])
        self.assertEqual(calls["answered"], calls["planned"])
        log = [json.loads(x) for x in (self.dir / "runs/r/offline.log").read_text().splitlines()]
        self.assertEqual(sum(x["event"] == "request" for x in log), calls["planned"])

    def test_planned_is_sent_plus_stored_plus_saved(self):
        planted(self.dir, 30, AXES)
        add_rates(self.dir, tie=0.4)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        c = self.accounting("r")
        self.assertGreater(c["saved_by_lazy_swap"], 0)
        self.assertGreater(c["audit"], 0)
        self.assertEqual(c["planned"], c["first_sends"] + c["from_store"] + c["saved_by_lazy_swap"])

    def test_lazy_swap_gives_the_same_results_but_for_the_audit(self):
        planted(self.dir, 40, AXES)
        add_rates(self.dir, tie=0.3, error=0.1)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "lazy", "--quiet")
        self.vibeq("run", "config.yaml", "--name", "full", "--quiet", "--set", "judging.lazy_swap=false")
        lazy, full = self.results("lazy"), self.results("full")
        self.assertTrue(lazy.pop("audit")["lazy_swap"])
        self.assertFalse(full.pop("audit")["lazy_swap"])
        self.assertEqual(json.dumps(lazy), json.dumps(full))

    def test_any_number_of_workers_gives_the_same_bytes(self):
        planted(self.dir, 40, AXES)
        add_rates(self.dir, tie=0.2, error=0.1)
        self.config(judge={"concurrency": 32})
        seen = set()
        for workers in (1, 2, 8):
            runs = self.dir / f"runs-{workers}"
            self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--runs", runs, "--workers", workers)
            seen.add((runs / "r/results/results.json").read_bytes())
        self.assertEqual(len(seen), 1)

    def test_a_second_run_sends_nothing_and_says_the_same(self):
        planted(self.dir, 25, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        self.config(url=server.url)
        self.vibeq("run", "config.yaml", "--name", "one", "--quiet")
        sent = len(server.requests())
        self.vibeq("run", "config.yaml", "--name", "two", "--quiet")
        self.assertEqual(len(server.requests()), sent)
        self.assertEqual(self.results_bytes("one"), self.results_bytes("two"))
        c = self.accounting("two")
        self.assertEqual((c["sent"], c["first_sends"]), (0, 0))
        self.assertEqual(c["planned"], c["from_store"] + c["saved_by_lazy_swap"])

    def test_swapping_the_models_negates_and_asks_nothing_new(self):
        planted(self.dir, 40, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        self.config(url=server.url)
        self.config(url=server.url, name="swapped.yaml", models=("beta", "alpha"))
        self.vibeq("run", "config.yaml", "--name", "one", "--quiet")
        sent = len(server.requests())
        self.vibeq("run", "swapped.yaml", "--name", "two", "--quiet")
        self.assertEqual(len(server.requests()), sent)
        one, two = self.results("one"), self.results("two")
        two_by_id = {v["id"]: v for v in two["vibes"]}
        for v in one["vibes"]:
            w = two_by_id[v["id"]]
            self.assertEqual(v["kept"], w["kept"])
            self.assertAlmostEqual(v["separability"]["test"], -w["separability"]["test"], 8)
            self.assertEqual(v["kappa"], w["kappa"])
            self.assertAlmostEqual(v["pref_separability"]["test"], w["pref_separability"]["test"], 8)
            if v["mm_coefficient"]:
                self.assertAlmostEqual(v["mm_coefficient"]["value"], -w["mm_coefficient"]["value"], 6)
                self.assertAlmostEqual(v["pp_coefficient"]["value"], w["pp_coefficient"]["value"], 6)
        for fit in ("mm", "pp"):
            self.assertEqual(one[fit]["accuracy_test"], two[fit]["accuracy_test"])

    def test_a_judge_that_always_says_a(self):
        planted(self.dir, 20, AXES)
        add_rates(self.dir, position_bias=1.0)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        r = self.results("r")
        for v in r["vibes"]:
            self.assertEqual(v["separability"]["train"], 0)
            self.assertEqual(set(v["position_bias_rate"].values()), {1})
        self.assertEqual((r["mm"]["status"], r["mm"]["accuracy_test"]), ("no_vibes", 0.5))

    def test_a_perfect_oracle(self):
        planted(self.dir, 20, AXES, p=[1.0, 0.0, 0.5])
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        r = {v["name"]: v for v in self.results("r")["vibes"]}
        self.assertEqual(r["V1"]["separability"]["test"], 1)
        self.assertEqual(r["V2"]["separability"]["test"], -1)
        self.assertTrue(r["V1"]["kept"] and r["V2"]["kept"])
        self.assertEqual(self.results("r")["mm"]["accuracy_test"], 1)

    def test_random_judges_are_rejected(self):
        planted(self.dir, 120, AXES, p=[0.5])
        add_rates(self.dir, error=0.5)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        for v in self.results("r")["vibes"]:
            self.assertLess(abs(v["separability"]["train"]), 0.3)
            self.assertLess(abs(v["kappa"]["train"]), 0.3)

    def test_the_result_says_that_the_judge_is_offline(self):
        planted(self.dir, 10, AXES)
        self.config()
        run = self.vibeq("run", "config.yaml", "--name", "r")
        self.assertIn("plumbing", run.stdout)
        self.assertEqual(self.results("r")["judge_kind"], "offline-oracle")
        self.assertIn("plumbing", self.results("r")["judge_note"])


class Failures(Case):
    """A failed call is missing, never a vote."""

    def run_with(self, faults, code, samples=12, **more):
        planted(self.dir, samples, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", *faults)
        self.config(url=self.server.url, **more)
        return self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=code)

    def test_rate_limits_burn_no_try_and_lose_nothing(self):
        self.run_with(["--fault", "rate_limit=0.3,retry_after=0"], DONE, judging="{tries_max: 1}")
        c = self.accounting("r")
        self.assertGreater(c["failed"]["rate"], 0)
        self.assertEqual(self.results("r")["cells_missing"], 0)

    def test_server_errors_are_retried(self):
        self.run_with(["--fault", "server_error=0.2"], DONE)
        c = self.accounting("r")
        self.assertGreater(c["failed"]["provider"], 0)
        self.assertGreater(c["retried"], 0)
        self.assertEqual(self.results("r")["cells_missing"], 0)

    def test_resets_are_told_apart_and_retried(self):
        self.run_with(["--fault", "reset=0.15"], DONE)
        self.assertGreater(self.accounting("r")["failed"]["lost"], 0)
        self.assertEqual(self.results("r")["cells_missing"], 0)

    def test_refusals_are_missing_and_bought_again_only_on_request(self):
        self.run_with(["--fault", "refusal=0.3,sticky=true"], MISSING)
        r = self.results("r")
        self.assertGreater(r["cells_missing"], 0)
        refused = sum(c["refused"] for v in r["vibes"] for c in v["label_counts"].values())
        self.assertGreater(refused, 0)
        sent = len(self.server.requests())
        self.vibeq("resume", "r", "--quiet", code=MISSING)
        self.assertEqual(len(self.server.requests()), sent)
        before = self.results_bytes("r")
        self.vibeq("run", "config.yaml", "--name", "again", "--quiet", code=MISSING)
        self.assertEqual(len(self.server.requests()), sent)
        self.assertEqual(self.results_bytes("again"), before)

    def test_retry_failed_asks_again_what_gave_no_verdict(self):
        self.run_with(["--fault", "refusal=0.4,tries=1"], MISSING)
        missing = self.results("r")["cells_missing"]
        self.assertGreater(missing, 0)
        sent = len(self.server.requests())
        self.server.stop()
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", name="healed")
        self.vibeq("resume", "r", "--retry-failed", "--quiet", "--set", f"judges[0].base_url={self.server.url}",
                   "--set", f"judges[1].base_url={self.server.url}")
        self.assertEqual(self.results("r")["cells_missing"], 0)
        self.assertGreater(len(self.server.requests()), 0)
        self.assertLess(len(self.server.requests()), sent)

    def test_unreadable_answers_are_repaired(self):
        self.run_with(["--fault", "wrong_format=0.3,sticky=true,contains=<output_a>"], DONE)
        c = self.accounting("r")
        self.assertGreater(c["repairs"], 0)
        self.assertEqual(self.results("r")["cells_missing"], 0)

    def test_answers_cut_short_never_vote(self):
        self.run_with(["--fault", "truncated=0.3,sticky=true"], MISSING)
        r = self.results("r")
        self.assertGreater(sum(c["truncated"] for v in r["vibes"] for c in v["label_counts"].values()), 0)
        self.assertGreater(r["cells_missing"], 0)

    def test_a_call_that_always_fails_ends_after_its_tries(self):
        self.run_with(["--fault", "unavailable=0.1,sticky=true"], MISSING, judging="{tries_max: 2}")
        r = self.results("r")
        self.assertGreater(sum(c["failed"] for v in r["vibes"] for c in v["label_counts"].values()), 0)

    def test_a_wrong_key_stops_the_run_after_one_call_a_judge(self):
        planted(self.dir, 12, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--fault", "bad_key=1")
        self.config(url=server.url, judge={"key": "env:THE_KEY"})
        run = self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=STOPPED, env={"THE_KEY": "sk-canary-123456"})
        self.assertIn("vibeq resume r", run.stderr)
        self.assertLessEqual(len(server.requests()), 2 * 2)
        self.assert_no_canary("sk-canary-123456")

    def test_a_key_that_the_provider_repeats_is_nowhere(self):
        class Repeats(Endpoint):
            def do_POST(self):
                key = self.headers["Authorization"].split()[1]
                self.reply(json.dumps({"error": {"message": f"Incorrect API key provided: {key}.", "code": key, "type": "x"}}).encode(), 401)

        planted(self.dir, 5, AXES)
        server = Server(Repeats)
        self.servers.append(server)
        self.config(url=server.url, judges=1, judge={"key": "env:THE_KEY"})
        run = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED, env={"THE_KEY": "sk-canary-repeated-1"})
        self.assertIn("Incorrect API key provided", run.stderr)
        self.assertNotIn("sk-canary", run.stderr + run.stdout)
        self.assert_no_canary("sk-canary-repeated-1")

    def test_a_missing_key_is_named(self):
        planted(self.dir, 5, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        self.config(url=server.url, judge={"key": "env:NO_SUCH_KEY"})
        run = self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=STOPPED)
        self.assertIn("NO_SUCH_KEY", run.stderr)
        self.assertEqual(server.requests(), [])

    def assert_no_canary(self, canary):
        for path in self.dir.rglob("*"):
            if path.is_file():
                self.assertNotIn(canary.encode(), path.read_bytes(), f"the key stands in {path}")

    def test_the_key_reaches_the_endpoint_and_nothing_else(self):
        planted(self.dir, 10, AXES)
        key = "sk-canary-abcdef0123"
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--require-key")
        self.config(url=server.url, judge={"key": "env:THE_KEY"})
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", env={"THE_KEY": key})
        self.assert_no_canary(key)
        prints = {x.get("key") for x in server.requests()}
        self.assertEqual(len(prints), 1)
        self.assertNotIn(None, prints)


class Bytes(Case):
    def test_shape_of_the_result_files(self):
        planted(self.dir, 20, AXES)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        import csv
        folder = self.dir / "runs/r/results"
        scores = list(csv.DictReader(open(folder / "scores.csv", newline="", encoding="utf-8")))
        self.assertEqual(len(scores), 20 * 3 * 2)
        self.assertEqual({s["score"] for s in scores} - {"1", "-1", "0", ""}, set())
        rows = list(csv.DictReader(open(folder / "rows.csv", newline="", encoding="utf-8")))
        self.assertEqual(len(rows), 20)
        self.assertEqual({r["topic"] for r in rows}, {"topic 0", "topic 1", "topic 2"})
        vibes = list(csv.DictReader(open(folder / "vibes.csv", newline="", encoding="utf-8")))
        by_id = {v["vibe_id"]: v for v in vibes}
        for vibe in ("1", "2", "3"):
            x = [float(r[f"x_{vibe}"]) for r in rows if r["split"] == "train"]
            self.assertAlmostEqual(sum(x) / len(x), float(by_id[vibe]["sep_train"]), 8)
        r = self.results("r")
        self.assertEqual(r["format"], 1)
        self.assertEqual(r["data"]["rows"], 20)
        self.assertEqual(len(r["data"]["sha256"]), 64)
        self.assertTrue(re.fullmatch(r"[0-9a-f]{64}", r["settings"]["judge_template"]))
        self.assertTrue(r["judges"][0]["returned_models"])

    def test_json_on_standard_output_is_the_file(self):
        planted(self.dir, 10, AXES)
        self.config()
        run = self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--json")
        self.assertEqual(run.stdout.encode(), self.results_bytes("r"))

    def test_dry_run_sends_nothing(self):
        planted(self.dir, 10, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        self.config(url=server.url)
        run = self.vibeq("run", "config.yaml", "--dry-run")
        self.assertIn("120 calls", run.stderr)
        self.assertEqual(server.requests(), [])
        self.assertFalse((self.dir / "runs").exists())

    def test_words_instead_of_a_configuration(self):
        planted(self.dir, 10, AXES)
        self.vibeq("run", "data.csv", "--models", "alpha,beta", "--judge", "offline-a,offline-b", "--limit", "8", "--name", "r", "--quiet")
        r = self.results("r")
        self.assertEqual(len(r["vibes"]), 10)
        self.assertEqual(r["data"]["used"], 8)
        self.assertEqual(r["judge_kind"], "offline-lexical")

    def test_a_name_that_is_taken_names_resume(self):
        planted(self.dir, 6, AXES)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        run = self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=USAGE)
        self.assertIn("vibeq resume r", run.stderr)

    def test_resume_refuses_changed_data(self):
        planted(self.dir, 6, AXES)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        with open(self.dir / "data.csv", "a", encoding="utf-8") as file:
            file.write("[S99] more,[A] x,[B] y,topic,alpha\n")
        run = self.vibeq("resume", "r", "--quiet", code=USAGE)
        self.assertIn("data.csv", run.stderr)

    def test_list_status_rm_store(self):
        planted(self.dir, 6, AXES)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        self.assertIn("finished", self.vibeq("list").stdout)
        self.assertIn("finished", self.vibeq("status").stdout)
        self.assertEqual(self.status("r")["state"], "finished")
        self.assertIn("answers", self.vibeq("store", "stat").stdout)
        self.vibeq("store", "check")
        lines = self.vibeq("store", "export").stdout.splitlines()
        self.assertEqual(len(lines), self.accounting("r")["answered"])
        json.loads(lines[0])
        self.vibeq("rm", "r")
        self.assertEqual(self.vibeq("list").stdout, "")


if __name__ == "__main__":
    vqtest.main()
