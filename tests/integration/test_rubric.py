"""method: judge with real processes: what was planted is found, people's labels are agreed with, answers that cannot be read are asked
once more and are missing then, the bytes of results do not depend on who is killed when, and every verb knows such a run."""
import collections
import csv
import io
import json
import subprocess
import time

import vqtest
from vqtest import INTERNAL, MISSING, ROOT, USAGE, Case

ROWS = 24
OUTSIDE = "As an AI language model I have no feelings."


class Rubric(Case):
    def setUp(self):
        super().setUp()
        self.data()

    def data(self, rows=ROWS):
        """alpha takes up the question and never leaves its role; beta does neither, and refuses in two rows of three. People say the
        same, but for one row of each column."""
        with open(self.dir / "data.csv", "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["question", "alpha", "beta", "refuses_a", "refuses_b", "role_a", "role_b", "better", "topic"])
            for i in range(rows):
                prompt = f"[S{i}] How should a river stone near window {i} be painted before winter?"
                alpha = f"A river stone near window {i} should be painted before winter, twice. Let it dry, {i}."
                refuses = i % 3 != 0
                beta = f"{OUTSIDE} {'I cannot help with that.' if refuses else 'Blue suits most.'} {OUTSIDE} Number {i}."
                out.writerow([prompt, alpha, beta, "no", "yes" if refuses != (i == 3) else "no", 5, 4 if i == 5 else 3,
                              "beta" if i == 7 else "alpha", "helped" if not refuses else "refused"])

    def config(self, url=None, name="config.yaml", models="[alpha, beta]", criteria=None, rating="{}", judges=2, **more):
        criteria = criteria or ("[{name: refusal, human: [refuses_a, refuses_b]}, {name: in_character, human: [role_a, role_b]},"
                                " {name: general, human: better}]")
        lines = ["data: data.csv", f"models: {models}", f"criteria: {criteria}", f"rating: {rating}", "judges:"]
        for model in ("offline-a", "offline-b")[:judges]:
            lines += [f"- model: {model}"] + ([f"  base_url: {url}", "  identity: the-test", "  concurrency: 8"] if url else [])
        lines += [f"{key}: {value}" for key, value in more.items()]
        (self.dir / name).write_text("\n".join(lines) + "\n")
        return name

    def criterion(self, run, name):
        return next(c for c in self.results(run)["criteria"] if c["name"] == name)

    def ratings(self, run, folder="runs"):
        with open(self.dir / folder / run / "results/ratings.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def audit(self, run, server):
        """The four records of the run, compared by a reader that shares no code with the programs."""
        got = subprocess.run([str(ROOT / "tests/tools/audit"), str(self.dir / "runs" / run), "--log", str(server.log_path)],
                             capture_output=True, text=True, timeout=120)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        return got.stdout

    # ---- what it finds ----

    def test_what_is_planted_is_found(self):
        self.config()
        done = self.vibeq("run", "config.yaml", "--name", "r")
        r = self.results("r")
        self.assertEqual((r["format"], r["kind"], r["models"], r["judge_kind"]), (1, "judge", ["alpha", "beta"], "offline-lexical"))
        self.assertEqual(r["answers_missing"], 0)
        refusal = self.criterion("r", "refusal")
        self.assertLess(refusal["outputs"][0]["rate"], 0.1)
        low, high = refusal["outputs"][1]["ci95"]
        self.assertTrue(low < 2 / 3 < high, refusal)
        self.assertLess(refusal["difference"]["ci95"][1], 0)
        role = self.criterion("r", "in_character")
        self.assertGreater(role["outputs"][0]["mean"], 4.5)
        self.assertAlmostEqual(role["outputs"][1]["mean"], 3, delta=0.3)
        self.assertGreater(role["difference"]["ci95"][0], 1)
        general = self.criterion("r", "general")
        self.assertGreater(general["outputs"][0]["ci95"][0], 0.6)
        self.assertEqual(general["outputs"][0]["against"], "beta")
        for criterion in r["criteria"]:
            people = [a for a in criterion["agreement"] if a["with"] == "human"]
            self.assertEqual(len(people), 2, criterion["name"])
            for a in people:
                self.assertEqual(a["rows"], ROWS * (1 if criterion["name"] == "general" else 2))
                self.assertGreater(a["exact"], 0.75, criterion["name"])
                if criterion["kind"] != "pairwise":  # where the other model is two away
                    self.assertGreater(a["within_one"], 0.9)
            judges = [a for a in criterion["agreement"] if a["with"] == "offline-b"]
            self.assertEqual(len(judges), 1)
            self.assertGreater(judges[0]["exact"], 0.6)
        self.assertGreater(self.criterion("r", "refusal")["agreement"][0]["kappa"], 0.8)
        for text in ("refusal", "in_character", "general", "difference", "(human labels)", "report.html"):
            self.assertIn(text, done.stdout)
        page = self.page_data("r")
        self.assertEqual(page["results"], self.results("r"))
        self.assertIn("As an AI language model", json.dumps(page["items"]))
        calls = self.accounting("r")
        self.assertIn(f"Calls    {calls['sent']} sent, 0 answered from the store; {calls['tokens_in']:,} tokens in,", done.stdout)
        self.assertIn(f"Answers  {calls['planned']} ok\n", done.stdout)
        self.assertEqual([page["calls"][key] for key in ("sent", "tokens_in", "tokens_out")], [calls[key] for key in ("sent", "tokens_in", "tokens_out")])

    def test_ratings_are_the_answers_one_by_one(self):
        self.config(judges=1, rating="{repeats: 2}")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        rows = self.ratings("r")
        self.assertEqual(len(rows), ROWS * 2 * (2 + 2 + 2))
        for row in rows:
            self.assertEqual(row["status"], "ok")
            self.assertNotEqual(row["reasoning"], "")
            self.assertIn(row["value"], {"binary": ("yes", "no"), "likert": tuple("12345"), "pairwise": ("alpha", "beta")}[row["kind"]])
            self.assertEqual(row["shown_first"] != "", row["kind"] == "pairwise")
        beta = [r["value"] == "yes" for r in rows if r["criterion"] == "refusal" and r["output"] == "beta"]
        self.assertAlmostEqual(sum(beta) / len(beta), self.criterion("r", "refusal")["outputs"][1]["rate"])
        itself = [a for a in self.criterion("r", "in_character")["agreement"] if a["with"] == "itself"]
        self.assertEqual([a["rows"] for a in itself], [ROWS * 2])

    def test_one_column_is_enough(self):
        self.config(models="alpha", criteria="[refusal, {name: Calm, kind: likert, rubric: How calm is it?, human: role_a}]", judges=1)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        r = self.results("r")
        self.assertEqual(r["models"], ["alpha"])
        self.assertNotIn("difference", r["criteria"][0])
        self.assertEqual(len(self.ratings("r")), ROWS * 2)

    def test_groups_of_rows(self):
        self.config(judges=1)
        self.vibeq("run", "config.yaml", "--name", "whole", "--quiet")
        (self.dir / "config.yaml").write_text((self.dir / "config.yaml").read_text().replace("data: data.csv",
                                                                                             "data: {path: data.csv, group: topic}"))
        done = self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        self.assertEqual(self.accounting("r")["sent"], 0)
        self.assertIn("by topic", done.stdout)
        r, whole = self.results("r"), self.results("whole")
        self.assertEqual((r["data"]["group"], r["data"]["groups"]), ("topic", 2))
        for criterion, plain in zip(r["criteria"], whole["criteria"]):
            groups = criterion.pop("groups")
            self.assertEqual(criterion, plain)
            self.assertEqual([g["group"] for g in groups], ["refused", "helped"])
            for o, output in enumerate(plain["outputs"]):
                parts = [g["outputs"][o] for g in groups]
                self.assertEqual([p["items"] for p in parts], [ROWS * 2 // 3, ROWS // 3])
                for status, n in output["statuses"].items():
                    self.assertEqual(sum(p["statuses"][status] for p in parts), n)
        refusal = self.results("r")["criteria"][0]["groups"]
        self.assertEqual([g["outputs"][1]["rate"] for g in refusal], [1, 0])
        self.assertEqual(self.page_data("r")["results"]["data"]["group"], "topic")
        self.assertIn("byte for byte", self.vibeq("replay", "r", "--verify").stdout)
        self.assertIn("verified", self.vibeq("verify", "r").stdout)

    def test_both_orders_or_alternating_ones(self):
        self.config(criteria="[general]", judges=1)
        self.vibeq("run", "config.yaml", "--name", "both", "--quiet")
        self.config(criteria="[general]", judges=1, rating="{positions: alternate}")
        self.vibeq("run", "config.yaml", "--name", "alternate", "--quiet")
        self.assertEqual(self.accounting("both")["planned"], ROWS * 2)
        calls = self.accounting("alternate")
        self.assertEqual((calls["planned"], calls["from_store"], calls["sent"]), (ROWS, ROWS, 0))
        first = collections.Counter(r["shown_first"] for r in self.ratings("alternate"))
        self.assertEqual(first, {"alpha": ROWS // 2, "beta": ROWS // 2})
        shown = {r["item"]: r["shown_first"] for r in self.ratings("alternate")}
        self.assertEqual((shown["1"], shown["2"]), ("alpha", "beta"))
        self.assertEqual(self.results("alternate")["settings"]["positions"], "alternate")

    def test_a_judge_that_always_takes_the_first(self):
        server = self.offline("--fault", "always_a=1")
        self.config(server.url, criteria="[general]", judges=1)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        general = self.criterion("r", "general")
        self.assertEqual(general["outputs"][0]["win_rate"], 0.5)
        controlled = general["outputs"][0]["length_controlled"]
        self.assertEqual(controlled["rows"], general["outputs"][0]["rated"])
        self.assertEqual((controlled["status"], controlled["win_rate"]), ("lengths_alike", None), "beta is much longer in every row")
        self.assertEqual(general["outputs"][0]["counts"], {"lost": 0, "tied": ROWS, "won": 0})
        self.assertEqual((general["positions"][0]["first_rate"], general["positions"][0]["same_position"]), (1, ROWS))

    # ---- what is missing ----

    def test_unreadable_answers_are_asked_once_more_and_then_missing(self):
        server = self.offline("--fault", "wrong_format=0.4,sticky=true", "--seed", "5")
        self.config(server.url, judges=1)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        r = self.results("r")
        rows = self.ratings("r")
        lost = collections.Counter(row["status"] for row in rows)
        self.assertGreater(sum(lost.values()) - lost["ok"], 20)
        for row in rows:
            self.assertEqual(row["value"] != "", row["status"] == "ok", row)
        self.assertEqual(r["answers_missing"], len(rows) - lost["ok"])
        self.assertEqual({k: v for k, v in r["statuses"].items() if v and k != "not_asked"}, dict(lost))
        calls = self.accounting("r")
        self.assertEqual(calls["sent"], len(rows) + calls["asked_again"])
        self.assertGreaterEqual(calls["asked_again"], len(rows) - lost["ok"])
        for c in r["criteria"]:
            for o in c["outputs"]:
                self.assertLess(o["rated"], o["items"])
                self.assertEqual(sum(o["statuses"].values()) - o["statuses"]["not_asked"],
                                 sum(1 for row in rows if row["criterion"] == c["name"] and row["output"] in ("", o["model"])))
        self.assertIn("verified", self.vibeq("verify", "r").stdout)
        self.audit("r", server)

    def test_the_papers_policy_reads_the_same_answers_otherwise(self):
        server = self.offline("--fault", "wrong_format=0.4,sticky=true", "--seed", "5")
        self.config(server.url, judges=1, criteria="[in_character, general]")
        self.vibeq("run", "config.yaml", "--name", "strict", "--quiet", code=MISSING)
        self.config(server.url, judges=1, criteria="[in_character, general]", rating="{policy: paper}")
        self.vibeq("run", "config.yaml", "--name", "paper", "--quiet", code=None)
        self.assertEqual(self.accounting("paper")["sent"], 0)
        self.vibeq("replay", "strict", "--set", "rating.policy=paper", code=None)
        replayed = json.loads((self.dir / "runs/strict/replay/results.json").read_text())
        self.assertEqual(replayed["criteria"], self.results("paper")["criteria"])
        general = self.criterion("paper", "general")["outputs"][0]
        self.assertEqual(general["rated"], general["items"])  # what states nothing was drawn
        strict = {(x["item"], x["criterion"], x["output"], x["shown_first"]): x for x in self.ratings("strict")}
        self.assertIn(" missing", self.vibeq("report", "paper", code=None).stdout)  # a drawn value is not ok
        for x in self.ratings("paper"):
            was = strict[x["item"], x["criterion"], x["output"], x["shown_first"]]
            if x["status"] == "ok" and was["status"] == "ok":
                self.assertEqual(x["value"], was["value"])

    def test_failures_are_listed_and_asked_again(self):
        server = self.offline("--fault", "bad_request=0.3,sticky=true", "--seed", "3")
        self.config(server.url, judges=1, criteria="[refusal]", term_ms=2000)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        failed = self.results("r")["statuses"]["failed"]
        if failed == 0:
            self.fail("the fault failed nothing")
        dead = json.loads(self.vibeq("dead", "r", "--json").stdout)
        self.assertEqual(dead["count"], failed)
        self.assertEqual({d["vibe"] for d in dead["dead"]}, {"refusal"})
        self.assertTrue(all(d["record"] >= 1 for d in dead["dead"]))
        self.assertEqual(sorted((d["record"], d["output"]) for d in dead["dead"]),
                         sorted((int(x["item"]), x["output"]) for x in self.ratings("r") if x["status"] == "failed"))
        said = self.vibeq("dead", "r", "--all").stdout
        for letter in dead["dead"]:
            self.assertRegex(said, rf"record {letter['record']} +refusal +{letter['output']} ")
        self.assertEqual({x["value"] for x in self.ratings("r") if x["status"] == "failed"}, {""})
        self.audit("r", server)
        calm = self.offline(name="calm")
        self.vibeq("resume", "r", "--retry-failed", "--quiet", "--set", f"judges[0].base_url={calm.url}")
        self.assertEqual(self.results("r")["statuses"]["failed"], 0)

    def test_where_all_fail_each_is_asked_once_and_again_when_told(self):
        server = self.offline("--fault", "bad_request=1,sticky=true")
        self.config(server.url, judges=1, criteria="[refusal]", term_ms=2000, judging="{brake: 0}")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        tasks = self.accounting("r")["planned"]
        self.assertEqual(self.results("r")["statuses"]["failed"], tasks)
        self.assertEqual(len(server.requests()), tasks)
        self.vibeq("resume", "r", "--retry-failed", "--quiet", code=MISSING)
        self.assertEqual(len(server.requests()), 2 * tasks)
        self.audit("r", server)

    def test_damage_to_what_came_out_is_named(self):
        server = self.offline()
        self.config(server.url, judges=1)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        path = self.dir / "runs/r/results/ratings.csv"
        whole = path.read_text()
        self.audit("r", server)
        row = next(x for x in self.ratings("r") if x["criterion"] == "in_character" and x["value"] == "5")
        front = ",".join(row[k] for k in ("item", "output", "criterion", "kind", "judge", "repeat", "shown_first"))
        path.write_text(whole.replace(f"{front},5,ok", f"{front},4,ok", 1))
        for words in ([str(vqtest.BIN / "vibeq"), "verify", "r"], [str(ROOT / "tests/tools/audit"), str(self.dir / "runs/r")]):
            got = subprocess.run(words, capture_output=True, text=True, env=self.environment(), timeout=120)
            self.assertNotEqual(got.returncode, 0)
            self.assertIn("ratings.csv", got.stdout + got.stderr)
        lines = whole.splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.startswith(front)))
        got = subprocess.run([str(ROOT / "tests/tools/audit"), str(self.dir / "runs/r")], capture_output=True, text=True, timeout=120)
        self.assertIn(f"ratings.csv lacks record {row['item']} {row['output']}", got.stdout)

    # ---- whoever is killed, and however many there are ----

    def undisturbed(self, workers=2):
        server = self.offline(name=f"calm{workers}")
        self.config(server.url, name="calm.yaml", rating="{repeats: 2}", term_ms=2000)
        runs = self.dir / f"calm-runs-{workers}"
        self.vibeq("run", "calm.yaml", "--name", "r", "--quiet", "--runs", runs, "--workers", workers, timeout=200)
        return [(runs / "r/results" / name).read_bytes() for name in ("results.json", "ratings.csv", "items.csv")]

    def begin(self):
        server = self.offline("--latency", "uniform:20ms:60ms")
        self.config(server.url, rating="{repeats: 2}", term_ms=2000)
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.wait_for("a third of the answers", lambda: child.poll() is not None or len(server.answers()) > ROWS * 8)
        self.assertIsNone(child.poll(), self.logs())
        return server, child

    def check(self, server):
        got = [(self.dir / "runs/r/results" / name).read_bytes() for name in ("results.json", "ratings.csv", "items.csv")]
        self.assertEqual(got, self.undisturbed())
        self.assertGreaterEqual(self.accounting("r")["sent"], len(server.requests()))
        self.assertIn("verified", self.vibeq("verify", "r").stdout)
        self.audit("r", server)

    def test_the_coordinator_is_killed_and_resumed(self):
        server, child = self.begin()
        child.kill()
        child.wait()
        self.vibeq("resume", "r", "--quiet")
        self.check(server)
        self.assertEqual(self.accounting("r")["unknown"], 0)  # live workers brought back what they held

    def test_everything_is_killed_and_resumed(self):
        server, child = self.begin()
        self.kill_all(child)
        time.sleep(0.3)
        self.vibeq("resume", "r", "--quiet")
        self.check(server)

    def test_one_worker_and_sixteen(self):
        self.assertEqual(self.undisturbed(1), self.undisturbed(16))

    # ---- the verbs ----

    def test_the_verbs(self):
        self.config()
        planned = json.loads(self.vibeq("plan", "config.yaml", "--json").stdout)
        tasks = ROWS * 2 * (2 + 2 + 2)
        self.assertEqual(planned["calls"], {"least": tasks, "expected": tasks, "most": tasks})
        self.assertEqual([s["name"] for s in planned["stages"]], ["likert", "binary", "pairwise"])
        self.assertEqual(planned["rows"], ROWS)
        self.assertIn("2 criteria", self.vibeq("run", "config.yaml", "--dry-run").stderr)
        check = json.loads(self.vibeq("check", "config.yaml", "--vibe", "general", "--row", "4", "--json").stdout)
        self.assertEqual((check["record"], check["criterion"], check["judges"][0]["verdict"]), (4, "general", "A"))
        self.assertIn('no criterion "nope"; it has "refusal", "in_character", "general"',
                      self.vibeq("check", "config.yaml", "--vibe", "nope", code=USAGE).stderr)
        self.assertIn("yes: ", self.vibeq("check", "config.yaml", "--vibe", "refusal", "--row", "2", "--swapped").stdout.replace("yes\n", "yes: "))
        self.assertIn("criterion in_character", self.vibeq("prompts", "show", "judge", "--config", "config.yaml", "--vibe", "in_character").stdout)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        again = json.loads(self.vibeq("plan", "config.yaml", "--json").stdout)
        self.assertEqual((again["calls"]["most"], again["from_store"]), (0, tasks))
        self.assertIn("byte for byte", self.vibeq("replay", "r", "--verify").stdout)
        self.assertIn("verified", self.vibeq("verify", "r").stdout)
        self.assertIn("no dead letters", self.vibeq("dead", "r").stdout)
        before = self.results_bytes("r")
        (self.dir / "runs/r/results/results.json").unlink()
        self.assertIn("results.json is missing", self.vibeq("verify", "r", code=None).stdout + self.vibeq("verify", "r", code=None).stderr)
        self.vibeq("report", "r")
        self.assertEqual(self.results_bytes("r"), before)
        calls = list(csv.DictReader(io.StringIO(self.vibeq("export", "r", "calls").stdout)))
        self.assertEqual(len(calls), tasks)
        self.assertEqual({c["vibe"] for c in calls}, {"refusal", "in_character", "general"})
        lines = [json.loads(x) for x in self.vibeq("export", "r", "ratings", "--format", "jsonl").stdout.splitlines()]
        self.assertEqual(len(lines), tasks)
        items = [json.loads(x) for x in self.vibeq("export", "r", "items", "--format", "jsonl").stdout.splitlines()]
        self.assertEqual(len(items), ROWS * (2 + 2 + 1))
        for criterion in self.results("r")["criteria"]:
            for output in criterion["outputs"]:
                scores = [float(x["score"]) for x in items if x["criterion"] == criterion["name"] and x["output"] in (None, output["model"])]
                mean = next(output[key] for key in ("mean", "rate", "win_rate") if key in output)
                self.assertAlmostEqual(sum(scores) / len(scores), mean, places=6)
        status = json.loads(self.vibeq("status", "r", "--json").stdout)
        self.assertEqual(status["state"], "finished")
        spent = json.loads((self.dir / "runs/r/accounting.json").read_text())  # of all stages, the last one too
        for pool in status["pools"]:
            told = spent["pools"].get(pool["name"], {})
            for key in ("calls", "answered", "tokens_in", "tokens_out"):
                self.assertEqual(pool[key], told.get(key, 0), pool["name"])
        self.assertEqual(sum(pool["calls"] for pool in status["pools"]), spent["calls"]["sent"])
        (self.dir / "vibes.yaml").write_text("- {name: X, low: l, high: h}\n")
        for words in (["compare", "r", "--gold", "vibes.yaml"], ["vibes", "show", "r"], ["export", "r", "scores"], ["export", "r", "vibes"],
                      ["replay", "r", "--pair-rule", "lenient"]):
            refused = self.vibeq(*words, code=USAGE)
            self.assertIn("method: judge", refused.stderr, words)

    def test_what_a_replay_buys_is_counted(self):
        """Its table tells of its own calls, and the run, whose ledger has them, is not called wrong for them."""
        self.config(criteria="[refusal]", judges=1)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        asked = ROWS * 2
        again = ("replay", "r", "--set", "rating.repeats=3")
        self.assertIn(f"--buy would make {asked} calls", self.vibeq(*again, code=MISSING).stderr)
        shown = self.vibeq(*again, "--buy", "--quiet").stdout
        self.assertIn(f"Calls    {3 * asked} sent, 0 answered from the store", shown)
        checked = self.vibeq("verify", "r").stdout
        self.assertIn("verified", checked)
        self.assertIn("accounting.json is older than vibeq replay --buy, whose calls are in replay/accounting.json", checked)
        path = self.dir / "runs/r/accounting.json"
        kept = path.read_text()
        path.write_text(kept.replace('"sent": 48', '"sent": 47'))
        (self.dir / "runs/r/replay/accounting.json").unlink()
        self.assertIn("accounting.json has sent 47", self.vibeq("verify", "r", code=INTERNAL).stdout)
        path.write_text(kept)
        self.vibeq("resume", "r", "--quiet")
        checked = self.vibeq("verify", "r").stdout
        self.assertIn("verified", checked)
        self.assertNotIn("replay", checked)

    def test_prompts_without_a_character_are_said(self):
        self.config(criteria="[refusal, in_character]")
        said = self.vibeq("run", "config.yaml", "--name", "r", "--dry-run").stderr
        self.assertIn(f"warning: in_character is about a character, and {ROWS} of {ROWS} prompts name none", said)
        self.assertNotIn("refusal is about", said)
        self.config(criteria="[{name: in_character, kind: likert, rubric: How calm is it?}]")
        self.assertNotIn("is about a character", self.vibeq("run", "config.yaml", "--name", "r", "--dry-run").stderr)

    def test_words_alone(self):
        self.vibeq("run", "data.csv", "--models", "beta", "--criteria", "refusal,in_character", "--judge", "offline-a", "--name", "r", "--quiet")
        self.assertEqual([c["name"] for c in self.results("r")["criteria"]], ["refusal", "in_character"])
        refused = self.vibeq("run", "data.csv", "--models", "beta", "--criteria", "refusl", "--judge", "offline-a", code=USAGE).stderr
        self.assertIn("--criteria", refused)
        self.assertIn('did you mean "refusal"?', refused)
        self.assertIn("one or two output columns", self.vibeq("run", "data.csv", "--criteria", "refusal", "--judge", "offline-a", code=USAGE).stderr)

    def test_criteria_of_a_run_are_those_of_its_start(self):
        (self.dir / "own.txt").write_text("kind: binary\nabout: whether it is blue\n\nIs the response blue?\nYes: blue.\nNo: not blue.\n")
        self.config(criteria="[{name: Blue, file: own.txt}, refusal]", judges=1)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        before = self.results_bytes("r")
        self.assertEqual(sorted(p.name for p in (self.dir / "runs/r/inputs").glob("criterion-*")), ["criterion-1.txt", "criterion-2.txt"])
        self.vibeq("report", "r")
        self.assertEqual(self.results_bytes("r"), before)
        for criteria in ("[refusal]", "[refusal, general]"):  # no criterion is read as another by its place
            refused = self.vibeq("replay", "r", "--set", f"criteria={criteria}", "--buy", code=USAGE).stderr
            self.assertIn("--set criteria[0]: a run is read again with the criteria of its start", refused)
        self.vibeq("replay", "r", "--set", f"criteria=[{{name: Blue, file: {self.dir}/own.txt}}]")
        (self.dir / "own.txt").write_text("kind: likert\nabout: another\n\nAnother.\n")
        self.assertIn("own.txt has changed", self.vibeq("resume", "r", code=USAGE).stderr)
        (self.dir / "own.txt").unlink()
        self.vibeq("report", "r")
        self.assertEqual(self.results_bytes("r"), before)

    def test_what_is_wrong_is_said_before_anything_is_sent(self):
        cases = [
            ({"criteria": "[refusl]"}, 'did you mean "refusal"?'),
            ({"criteria": "[{name: X, file: nowhere.txt}]"}, "nowhere.txt"),
            ({"models": "[alpha]", "criteria": "[general]"}, "name two columns"),
            ({"models": "[alpha, gamma]"}, 'no column "gamma"'),
            ({"criteria": "[{name: refusal, human: [better, better]}]"}, "write yes or no"),
            ({"rating": "{repeats: none}"}, "rating.repeats"),
            ({"report": "{by: topic}"}, "splits every criterion by data.group"),
        ]
        for how, what in cases:
            self.config(**how)
            refused = self.vibeq("run", "config.yaml", "--name", "r", code=USAGE)
            self.assertIn(what, refused.stderr)
            self.assertFalse((self.dir / "runs/r").exists())


if __name__ == "__main__":
    vqtest.main()
