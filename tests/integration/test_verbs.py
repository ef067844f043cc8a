# labels: split
"""Verbs around a run, and what is asked beside its scores: the retest, comparing found vibes with a reference list, vibes as YAML."""
import csv
import io
import json

from vqtest import Case, DONE, INTERNAL, STOPPED, USAGE, main, planted

AXES = ("V1", "V2", "V3")


class Retest(Case):
    """decision 14"""
    SHARE = 0.2

    def setUp(self):
        super().setUp()
        self.truth = planted(self.dir, 60, AXES, seed=5)

    def run_with(self, name, share, faults=None, **more):
        words = {"judging": f"{{retest: {share}{more.pop('judging', '')}}}"} if share is not None else {}
        if faults:
            (self.dir / "faults.jsonl").write_text("".join(json.dumps(line) + "\n" for line in faults))
            words["oracle"] = False
            words["offline"] = "{oracle: truth.jsonl, faults: faults.jsonl}"
        config = self.config(AXES, **words, **more)
        return self.vibeq("run", config, "--name", name, "--yes")

    def calls(self, run, stage):
        rows = csv.DictReader(io.StringIO(self.vibeq("export", run, "calls").stdout))
        return [row for row in rows if row["stage"] == stage]

    def stage(self, run, name):
        stages = json.loads((self.dir / "runs" / run / "accounting.json").read_text())["stages"]
        return next((stage for stage in stages if stage["name"] == name), None)

    def test_14_off_by_default_it_asks_nothing(self):
        self.run_with("plain", None)
        self.assertNotIn("retest", self.results("plain"))
        self.assertIsNone(self.stage("plain", "retest"))
        self.run_with("zero", 0)
        self.assertEqual(self.results_bytes("zero"), self.results_bytes("plain"))
        self.assertIsNone(self.stage("zero", "retest"))

    def test_14_a_judge_that_keeps_its_word_never_flips(self):
        plain = self.run_with("plain", None)
        run = self.run_with("again", self.SHARE)
        results, before = self.results("again"), self.results("plain")
        retest = results.pop("retest")
        self.assertEqual(results, before)  # never in scores
        self.assertEqual(retest["share"], self.SHARE)
        asked = self.calls("again", "retest")
        stage = self.stage("again", "retest")
        self.assertEqual(stage["planned"], len(asked))
        self.assertEqual(stage["first_sends"], len(asked))
        self.assertEqual(self.stage("again", "rank")["sent"], 0)  # bought by the first run
        cells = len(self.truth) * 2
        self.assertTrue(abs(len(asked) - cells * self.SHARE) < 6 * (cells * self.SHARE * (1 - self.SHARE)) ** 0.5, len(asked))
        for judge in retest["judges"]:
            mine = [row for row in asked if row["judge"] == judge["name"]]
            self.assertEqual((judge["cells"], judge["flips"], judge["flip_rate"], judge["missing"]), (len(mine), 0, 0, 0))
            self.assertIn(f"Asked again: {judge['name']} changed 0 of {len(mine)} answers (0.0 %)", run.stdout)
        self.assertNotIn("Asked again", plain.stdout)
        self.assertEqual(self.page_data("again")["results"]["retest"], retest)

    def test_14_flips_are_counted_exactly(self):
        """A judge that says A to each question the first time it comes, and the truth afterwards."""
        self.run_with("liar", self.SHARE, faults=[{"fault": "always_a", "p": 1, "tries": 1}])
        retest = self.results("liar")["retest"]
        asked = self.calls("liar", "retest")
        firsts = {(row["record"], row["vibe"], row["judge"], row["order"]): row["verdict"] for row in self.calls("liar", "rank")}
        for judge in retest["judges"]:
            flips = cells = 0
            for row in asked:
                if row["judge"] == judge["name"]:
                    self.assertEqual(firsts[row["record"], row["vibe"], row["judge"], row["order"]], "A")
                    self.assertGreater(int(row["repeat"]), 63)
                    shown = self.truth[int(row["record"]) - 1, row["vibe"]] * (1 if row["order"] == "0" else -1)
                    cells += 1
                    flips += shown < 0
            self.assertEqual((judge["cells"], judge["flips"], judge["missing"]), (cells, flips, 0))
            self.assertAlmostEqual(judge["flip_rate"], flips / cells, places=6)
            self.assertGreater(flips, 0)

    def test_14_the_same_again_and_replayed(self):
        self.run_with("one", self.SHARE)
        first = self.results_bytes("one")
        self.run_with("two", self.SHARE)
        self.assertEqual(self.results_bytes("two"), first)
        self.assertEqual(self.accounting("two")["sent"], 0)
        self.vibeq("replay", "one", "--verify")
        self.vibeq("resume", "one")
        self.assertEqual(self.results_bytes("one"), first)

    def test_14_with_discovery_only_what_was_ranked_is_asked_again(self):
        self.run_with("found", None)  # the data
        (self.dir / "found.yaml").write_text("data: {path: data.csv}\nmodels: [alpha, beta]\nmethod: discover\njudges: [offline-a, offline-b]\n"
                                             "vibecheck: {d: 20, iterations: 1, num_final_vibes: 2}\njudging: {retest: 0.3}\n")
        self.vibeq("run", "found.yaml", "--name", "discovered", "--yes", code=None)
        retest = self.results("discovered")["retest"]
        asked = self.calls("discovered", "retest")
        ranked = {(row["record"], row["vibe"], row["judge"], row["order"]) for name in ("rank 1", "test") for row in self.calls("discovered", name)}
        self.assertGreater(len(asked), 0)
        self.assertEqual(sum(judge["cells"] for judge in retest["judges"]), len(asked))
        for row in asked:
            self.assertIn((row["record"], row["vibe"], row["judge"], row["order"]), ranked)
        self.vibeq("replay", "discovered", "--verify")

    def test_14_a_kill_in_the_middle_of_it_changes_nothing(self):
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "20ms")
        self.config(AXES, judging=f"{{retest: {self.SHARE}}}", name="plain.yaml", url=server.url)
        self.vibeq("run", "plain.yaml", "--name", "whole", "--yes")
        whole = self.results("whole")
        again = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "20ms", name="again")
        self.config(AXES, judging=f"{{retest: {self.SHARE}}}", name="other.yaml", url=again.url)
        (self.dir / "other.yaml").write_text((self.dir / "other.yaml").read_text() + "term_ms: 2000\n")
        (self.dir / "runs" / "calls.lmdb").rename(self.dir / "calls.lmdb")  # nothing of it is in the store
        child = self.start("run", "other.yaml", "--name", "killed", "--yes")
        ranked = self.stage("whole", "rank")["sent"]
        self.wait_for("the retest to begin", lambda: len(again.requests()) > ranked + 3)
        child.kill()
        child.wait()
        self.vibeq("resume", "killed")
        killed = self.results("killed")
        self.assertEqual([judge["flips"] for judge in killed["retest"]["judges"]], [0, 0])
        self.assertEqual(killed["retest"], whole["retest"])
        self.assertEqual(killed["vibes"], whole["vibes"])
        self.assertEqual(self.stage("killed", "rank")["not_asked"] + self.stage("killed", "retest")["not_asked"], 0)

    def test_14_one_order_where_one_is_asked(self):
        self.run_with("forward", self.SHARE, judging=", pair_rule: forward")
        asked = self.calls("forward", "retest")
        self.assertGreater(len(asked), 0)
        self.assertEqual({row["order"] for row in asked}, {"0"})



GOLD = """\
- {name: Warmth, low: cold, high: warm and kind}
- {name: Length, low: long and wordy, high: short}
- {name: Zodiac, low: earthly matters, high: stars and their houses}
"""


class Export(Case):
    def test_both_forms_say_the_same(self):
        planted(self.dir, 20, AXES, seed=5)
        self.vibeq("run", self.config(AXES), "--name", "one", "--yes")
        for what in ("calls", "scores", "vibes", "rows"):
            plain = self.vibeq("export", "one", what).stdout
            self.assertEqual(self.vibeq("export", "one", what, "--format", "csv").stdout, plain)
            rows = list(csv.DictReader(io.StringIO(plain)))
            objects = [json.loads(line) for line in self.vibeq("export", "one", what, "--format", "jsonl").stdout.splitlines()]
            self.assertGreaterEqual(len(rows), len(AXES))
            for row, one in zip(rows, objects, strict=True):
                self.assertEqual(list(row), list(one))
                self.assertEqual({key: value for key, value in row.items() if isinstance(one[key], str)}, {key: value for key, value in one.items() if isinstance(value, str)})
        self.assertIn("csv, jsonl, latex or md", self.vibeq("export", "one", "vibes", "--format", "xml", code=USAGE).stderr)
        self.assertIn("twice", self.vibeq("export", "one", "vibes", "--format", "csv", "--format", "csv", code=USAGE).stderr)


class Compare(Case):
    VIBES = """\
  - {name: Warmth, low: cold, high: warm and kind}
  - {name: Length, low: short, high: long and wordy}
  - {name: Coin, low: heads, high: tails}
"""

    def setUp(self):
        super().setUp()
        planted(self.dir, 40, ("Warmth", "Length", "Coin"), seed=3, p=[0.9, 0.1, 0.5])
        (self.dir / "gold.yaml").write_text(GOLD)
        self.write_config()
        self.vibeq("run", "config.yaml", "--name", "one", "--yes")

    def write_config(self, url=None, name="config.yaml", more=""):
        judge = "  - model: offline-a\n" + (f"    base_url: {url}\n    identity: the-test\n" if url else "")
        roles = "".join(f"{role}: {{model: {model}, base_url: {url}, identity: the-test}}\n"
                        for role, model in (("reducer", "offline-a"), ("embedder", "offline-embed"))) if url else ""
        (self.dir / name).write_text("data: {path: data.csv}\nmodels: [alpha, beta]\nvibes:\n" + self.VIBES + "judges:\n" + judge + roles
                                     + ("" if url else "offline: {oracle: truth.jsonl}\n") + more)

    def files(self, run="one"):
        """Everything of a run but logs and what comparing writes."""
        root = self.dir / "runs" / run
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*")
                if path.is_file() and path.relative_to(root).parts[0] in ("results", "run.yaml", "status.json", "accounting.json", "uid")}

    def compared(self, run="one", name="compare.json"):
        return json.loads((self.dir / "runs" / run / "compare" / name).read_text())

    def test_by_embedding_it_finds_what_is_there_and_its_mirror_image(self):
        before = self.files()
        out = self.vibeq("compare", "one", "--gold", "gold.yaml").stdout
        found = self.compared()
        kept = {match["reference"]: match["kept"] for match in found["matches"]}
        self.assertEqual((kept["Warmth"]["vibe"], kept["Warmth"]["matches"], kept["Warmth"]["mirrored"]), ("Warmth", True, False))
        self.assertEqual((kept["Length"]["vibe"], kept["Length"]["matches"], kept["Length"]["mirrored"]), ("Length", True, True))
        self.assertAlmostEqual(kept["Warmth"]["similarity"], 1, places=6)
        self.assertFalse(kept["Zodiac"]["matches"])
        self.assertEqual((found["references"], found["ranked"]["matched"], found["by"], found["threshold"]), (3, 2, "embedding", 0.6))
        self.assertAlmostEqual(found["kept"]["recall"], 2 / 3, places=6)
        self.assertIn("2 of 3 references found", out)
        self.assertIn("(mirrored)", out)
        self.assertIn("runs/one/compare/compare.json", out)
        self.assertEqual(self.files(), before)
        exact = self.vibeq("compare", "one", "--gold", "gold.yaml", "--threshold", "1", "--json", "--quiet")
        self.assertEqual(json.loads(exact.stdout)["threshold"], 1)
        self.assertEqual(self.compared("one", "accounting.json")["calls"]["planned"], 1)

    def test_by_judge(self):
        self.vibeq("compare", "one", "--gold", "gold.yaml", "--by", "judge")
        found = self.compared()
        kept = {match["reference"]: match["kept"] for match in found["matches"]}
        self.assertEqual(kept["Warmth"]["vibe"], "Warmth")
        self.assertIsNone(kept["Zodiac"])
        self.assertEqual((found["by"], found["model"], found["threshold"], found["unread"]), ("judge", "offline-a", None, 0))
        self.assertEqual(self.compared("one", "accounting.json")["calls"]["sent"], 3)

    def test_nothing_is_bought_twice_and_the_run_goes_on(self):
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        self.write_config(url=server.url, name="remote.yaml")
        self.vibeq("run", "remote.yaml", "--name", "two", "--yes")
        accounting, sent = self.accounting("two"), len(server.requests())
        before = self.files("two")
        for by, calls in (("judge", 3), ("embedding", 1)):
            first = self.vibeq("compare", "two", "--gold", "gold.yaml", "--by", by).stdout
            self.assertEqual(len(server.requests()), sent + calls)
            self.assertEqual(self.vibeq("compare", "two", "--gold", "gold.yaml", "--by", by).stdout, first)
            self.assertEqual(len(server.requests()), sent + calls)
            sent += calls
        self.assertEqual(self.files("two"), before)
        self.assertEqual(self.status("two")["state"], "finished")
        self.vibeq("resume", "two")
        self.assertEqual(len(server.requests()), sent)
        self.assertEqual(self.accounting("two"), accounting)
        self.assertEqual(self.files("two")["results/results.json"], before["results/results.json"])
        self.vibeq("replay", "two", "--verify")
        self.assertEqual(self.vibeq("compare", "two", "--gold", "gold.yaml").returncode, DONE)
        self.assertEqual(len(server.requests()), sent)

    def test_a_comparison_that_is_killed_goes_on_and_the_run_too(self):
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        slow = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "700ms", name="slow")
        self.write_config(url=server.url, name="remote.yaml", more="term_ms: 2000\n")
        self.vibeq("run", "remote.yaml", "--name", "two", "--yes")
        before = self.files("two")
        words = ("compare", "two", "--gold", "gold.yaml", "--by", "judge", "--set", f"reducer.base_url={slow.url}",
                 "--set", "reducer.concurrency=1", "--set", "workers=1")
        child = self.start(*words)
        self.wait_for("the second call", lambda: len(slow.requests()) >= 2)
        child.kill()
        child.wait()
        self.assertEqual(self.files("two"), before)
        self.vibeq("resume", "two")
        self.assertEqual(self.files("two")["results/results.json"], before["results/results.json"])
        self.vibeq(*words)
        self.assertEqual(self.compared("two")["unread"], 0)
        bodies = len(slow.requests())
        self.assertLessEqual(bodies, 4)  # three, and at most one that was in flight
        self.assertGreaterEqual(bodies, 3)
        rows = list(csv.DictReader(io.StringIO(self.vibeq("export", "two", "calls").stdout)))
        self.assertEqual(sum(row["stage"] == "beside the run" for row in rows), bodies)

    def test_another_list_asks_only_what_is_new(self):
        self.vibeq("compare", "one", "--gold", "gold.yaml", "--by", "judge")
        self.vibeq("compare", "one", "--gold", "hc3", "--by", "judge")
        found = self.compared()
        self.assertEqual((found["gold"], found["references"]), ("hc3", 9))
        calls = self.compared("one", "accounting.json")["calls"]
        self.assertEqual((calls["sent"], calls["planned"], calls["retried"]), (3, 3, 0))

    def test_answers_that_do_not_come_are_said(self):
        (self.dir / "faults.jsonl").write_text('{"fault": "refusal", "p": 1, "contains": "<wanted>match</wanted>"}\n'
                                               '{"fault": "bad_request", "p": 1, "contains": "offline-embed"}\n')
        self.write_config(name="faulty.yaml")
        text = (self.dir / "faulty.yaml").read_text().replace("truth.jsonl}", "truth.jsonl, faults: faults.jsonl}")
        (self.dir / "faulty.yaml").write_text(text)
        self.vibeq("run", "faulty.yaml", "--name", "bad", "--yes")
        before = self.files("bad")
        for by in ("judge", "embedding"):
            refused = self.vibeq("compare", "bad", "--gold", "gold.yaml", "--by", by, code=None)
            self.assertNotIn(refused.returncode, (DONE, INTERNAL))
            self.assertFalse((self.dir / "runs" / "bad" / "compare" / "compare.json").exists())
        self.assertEqual(self.files("bad"), before)
        self.vibeq("resume", "bad")

    def test_what_is_asked_wrongly_is_refused_before_anything_is_sent(self):
        for words, says in (((), "name one run"), (("one",), "--gold FILE"), (("one", "--gold", "hc3", "--by", "hand"), "embedding or judge"),
                            (("one", "--gold", "hc3", "--threshold", "2"), "a cosine from 0 to 1"),
                            (("one", "--gold", "hc3", "--by", "judge", "--threshold", "0.5"), "a judge has none"),
                            (("one", "--gold", "no.yaml"), "no.yaml"), (("two", "--gold", "hc3"), "two"),
                            (("one", "--gold", "hc3", "--set", "embedder=none"), "use --by judge")):
            self.assertIn(says, self.vibeq("compare", *words, code=USAGE).stderr)
        (self.dir / "bad.yaml").write_text("- {name: A, low: b}\n")
        self.assertIn("bad.yaml, line 1", self.vibeq("compare", "one", "--gold", "bad.yaml", code=USAGE).stderr)
        self.assertFalse((self.dir / "runs" / "one" / "compare").exists())


class Vibes(Case):
    def names(self, yaml):
        return [line.split('"')[1] for line in yaml.splitlines() if line.startswith("- name:")]

    def test_presets_are_a_configuration_and_a_reference_list(self):
        planted(self.dir, 20, ("Formality",), seed=3)
        presets = self.vibeq("vibes", "presets").stdout
        self.assertEqual(len(self.names(presets)), 10)
        (self.dir / "own.yaml").write_text("data: {path: data.csv}\nmodels: [alpha, beta]\njudges: [offline-a]\n" + presets)
        self.vibeq("run", "own.yaml", "--name", "own", "--yes")
        ranked = self.vibeq("vibes", "show", "own", "--all").stdout
        self.assertEqual(sorted(self.names(ranked)), sorted(self.names(presets)))
        (self.dir / "presets.yaml").write_text(presets)
        found = json.loads(self.vibeq("compare", "own", "--gold", "presets.yaml", "--json", "--quiet").stdout)
        self.assertEqual(found["ranked"], {"vibes": 10, "matched": 10, "recall": 1})

    def test_a_runs_kept_vibes_can_be_ranked_on_other_data(self):
        planted(self.dir, 40, AXES, seed=3, p=[0.9, 0.1, 0.5])
        self.vibeq("run", self.config(AXES), "--name", "one", "--yes")
        kept = [vibe for vibe in self.results("one")["vibes"] if vibe["kept"]]
        shown = self.vibeq("vibes", "show", "one", "--out", "kept.yaml").stdout
        self.assertEqual(shown, "")
        text = (self.dir / "kept.yaml").read_text()
        self.assertEqual(self.names(text), [vibe["name"] for vibe in kept])
        (self.dir / "again.yaml").write_text("data: {path: data.csv}\nmodels: [beta, alpha]\njudges: [offline-a]\noffline: {oracle: truth.jsonl}\n" + text)
        self.vibeq("run", "again.yaml", "--name", "again", "--yes")
        self.assertEqual({vibe["name"]: vibe["low"] for vibe in self.results("again")["vibes"]}, {vibe["name"]: vibe["low"] for vibe in kept})
        self.assertIn("is there already", self.vibeq("vibes", "show", "one", "--out", "kept.yaml", code=USAGE).stderr)
        self.assertIn("nobody", self.vibeq("vibes", "show", "nobody", code=USAGE).stderr)

    def test_generate_needs_no_endpoint_offline(self):
        text = self.vibeq("vibes", "generate", "--model", "offline-a", "--count", "5").stdout
        names = self.names(text)
        self.assertEqual(len(names), 5)
        self.assertEqual(len(set(names)), 5)
        planted(self.dir, 20, AXES, seed=3)
        (self.dir / "own.yaml").write_text("data: {path: data.csv}\nmodels: [alpha, beta]\njudges: [offline-a]\n" + text)
        self.vibeq("run", "own.yaml", "--name", "own", "--yes")
        self.assertEqual(sorted(vibe["name"] for vibe in self.results("own")["vibes"]), sorted(names))
        by_config = self.vibeq("vibes", "generate", "--config", "own.yaml", "--out", "new.yaml")
        self.assertEqual(by_config.stdout, "")
        self.assertEqual(len(self.names((self.dir / "new.yaml").read_text())), 10)

    def test_generate_asks_an_endpoint_once_with_its_key(self):
        server = self.offline()
        env = {"THE_KEY": "sk-test-abcdef"}
        text = self.vibeq("vibes", "generate", "--model", "offline-b", "--base-url", server.url, "--key", "env:THE_KEY", env=env)
        self.assertEqual(len(self.names(text.stdout)), 10)
        self.assertEqual(len(server.requests()), 1)
        self.assertNotIn("sk-test", text.stdout + text.stderr)
        self.assertFalse((self.dir / "runs").exists())

    def test_what_goes_wrong_is_said(self):
        for words, says in (((), "generate"), (("sho",), "show"), (("generate",), "--model MODEL, or --config FILE"), (("show",), "name one run"),
                            (("generate", "--model", "offline-a", "--count", "0"), "1 to 100"),
                            (("generate", "--config", "none.yaml"), "none.yaml"), (("generate", "--config", "c.yaml", "--key", "env:K"), "--key"),
                            (("generate", "--model", "m", "--base-url", "ftp://x"), "--base-url")):
            self.assertIn(says, self.vibeq("vibes", *words, code=USAGE).stderr)
        away = self.vibeq("vibes", "generate", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", code=STOPPED)
        self.assertIn("m gave no list: network", away.stderr)
        for fault, says in (("unparseable", "no vibe can be read"), ("refusal", "it refused"), ("bad_key", "gave no list")):
            server = self.offline("--fault", f"{fault}=1", name=fault)
            refused = self.vibeq("vibes", "generate", "--model", "offline-a", "--base-url", server.url, code=STOPPED)
            self.assertIn(says, refused.stderr)
            self.assertEqual(refused.stdout, "")


if __name__ == "__main__":
    main()
