"""judging.vibes_per_call and judging.invalid with real processes: joint calls say what single ones say, cost what the formula says,
and what cannot be read in them is asked one by one."""
import csv
import json

import vqtest
from answering import Between, Endpoint, Server
from vqtest import MISSING, USAGE, Case, planted

AXES = tuple(f"V{i}" for i in range(1, 8))  # groups of 5 and 2
ROWS = 24
SINGLE = ROWS * len(AXES) * 2 * 2
JOINT = ROWS * 2 * 2 * 2
N5 = ("--set", "judging.vibes_per_call=5")


class Joint(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, ROWS, AXES)

    def scores(self, run):
        with open(self.dir / "runs" / run / "results" / "scores.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def kinds(self, server):
        count = {}
        for line in server.requests():
            count[line["kind"]] = count.get(line["kind"], 0) + 1
        return count

    def same_numbers(self, one, other):
        """All but what says how it was asked."""
        a, b = self.results(one), self.results(other)
        for r in (a, b):
            for key in ("audit", "run", "settings"):
                r.pop(key, None)
        self.assertEqual(json.dumps(a), json.dumps(b))
        self.assertEqual(self.scores(one), self.scores(other))

    def test_the_form_says_what_judges_are_asked(self):
        for form, here, there in (("choose", "If you had to choose", "clearly further"), ("clear", "clearly further", "If you had to choose")):
            for n in ("1", "5"):
                proxy = Between(self.offline("--oracle", self.dir / "truth.jsonl", name=f"{form}{n}").url)
                self.servers.append(proxy)
                self.config(AXES[:2], url=proxy.url)
                run = f"{form}-{n}"
                self.vibeq("run", "config.yaml", "--name", run, "--runs", f"runs-{run}", "--set", f"judging.form={form}", "--set", f"judging.vibes_per_call={n}")
                self.assertTrue(proxy.asked)
                self.assertTrue(all(here in body and there not in body for body in proxy.asked), run)
                results = json.loads((self.dir / f"runs-{run}/{run}/results/results.json").read_text())
                self.assertEqual(results["settings"]["form"], form)

    def test_five_a_call_say_what_one_a_call_says(self):
        server = self.offline("--oracle", self.dir / "truth.jsonl")
        self.config(AXES, url=server.url)
        self.vibeq("run", "config.yaml", "--name", "joint", "--quiet", *N5)
        self.assertEqual(self.kinds(server), {"judge-many": JOINT})
        c = self.accounting("joint")
        self.assertEqual((c["planned"], c["first_sends"], c["answered"]), (JOINT, JOINT, JOINT))
        self.assertEqual([j["returned_models"] for j in self.results("joint")["judges"]], [["offline-a"], ["offline-b"]])
        self.assertIn("Property 5: ", (self.dir / "runs/joint/results/report.html").read_text())
        self.vibeq("run", "config.yaml", "--name", "single", "--quiet", "--set", "judging.lazy_swap=false")
        self.assertEqual(self.accounting("single")["first_sends"], SINGLE)
        self.same_numbers("joint", "single")

    def test_the_lexical_judge_too(self):
        self.config(("Length", "Warmth", "Lists"), oracle=False)
        text = (self.dir / "config.yaml").read_text()
        self.assertIn("high on Warmth", text)
        self.vibeq("run", "config.yaml", "--name", "joint", "--quiet", "--set", "judging.vibes_per_call=2")
        self.vibeq("run", "config.yaml", "--name", "single", "--quiet", "--set", "judging.lazy_swap=false")
        self.same_numbers("joint", "single")

    def test_the_estimate_is_the_formula(self):
        self.config(AXES)
        said = self.vibeq("run", "config.yaml", "--dry-run", *N5).stderr
        self.assertIn(f"at most {JOINT} calls", said.lower())

    def test_forward_asks_one_order(self):
        self.config(AXES)
        self.vibeq("run", "config.yaml", "--name", "joint", "--quiet", *N5, "--set", "judging.pair_rule=forward")
        self.assertEqual(self.accounting("joint")["answered"], JOINT // 2)
        self.vibeq("run", "config.yaml", "--name", "single", "--quiet", "--set", "judging.pair_rule=forward")
        self.same_numbers("joint", "single")

    def sloppy(self, variant, *options):
        """A server whose joint answers are written otherwise; its single ones are in order."""
        return self.offline("--oracle", self.dir / "truth.jsonl", "--fault",
                            f"wrong_format=1,variant={variant},contains=verdicts by number", *options, name=variant)

    def test_missing_numbers_are_asked_one_by_one_and_only_those(self):
        server = self.sloppy("missing")
        self.config(AXES, url=server.url)
        self.vibeq("run", "config.yaml", "--name", "joint", "--quiet", *N5)
        lost = ROWS * 2 * 2 * 3  # numbers 2 and 4 of five, 2 of two
        self.assertEqual(self.kinds(server), {"judge-many": JOINT, "judge": lost})
        self.assertEqual(self.accounting("joint")["planned"], JOINT + lost)
        calm = self.offline("--oracle", self.dir / "truth.jsonl", name="calm")
        self.config(AXES, url=calm.url, name="calm.yaml")
        self.vibeq("run", "calm.yaml", "--name", "single", "--quiet", "--set", "judging.lazy_swap=false")
        self.same_numbers("joint", "single")

    def test_other_forms_are_read(self):
        for form in ("json", "numbers", "markdown"):
            server = self.sloppy(form)
            self.config(AXES, url=server.url)
            runs = self.dir / f"runs-{form}"
            self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--runs", runs, *N5)
            self.assertEqual(self.kinds(server), {"judge-many": JOINT}, form)

    def test_without_repair_what_is_missing_is_missing(self):
        server = self.sloppy("missing")
        self.config(AXES, url=server.url)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", *N5, "--set", "judging.repair=off", code=MISSING)
        self.assertEqual(self.kinds(server), {"judge-many": JOINT})
        unread = {(s["vibe_id"], s["judge"], s["verdict_a_first"], s["verdict_b_first"]) for s in self.scores("r") if s["score"] == ""}
        self.assertEqual(unread, {(v, j, "unparseable", "unparseable") for v in "247" for j in ("offline-a", "offline-b")})

    def test_drop_row_leaves_rows_out_and_says_so(self):
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--fault", "unparseable=1,contains=[S7]")
        self.config(AXES, url=server.url)
        self.vibeq("run", "config.yaml", "--name", "missing", "--quiet", code=MISSING)
        r = self.results("missing")
        self.assertNotIn("rows_dropped", r)
        rows = r["mm"]["rows_train"] + r["mm"]["rows_test"]
        run = self.vibeq("run", "config.yaml", "--name", "dropped", "--set", "judging.invalid=drop_row", code=MISSING)
        self.assertIn("ows left out of all numbers for it (judging.invalid): 1", " ".join(run.stdout.split()))
        d = self.results("dropped")
        self.assertEqual(d["rows_dropped"]["train"] + d["rows_dropped"]["test"], 1)
        self.assertEqual(d["mm"]["rows_train"] + d["mm"]["rows_test"], rows - 1)
        self.assertEqual(d["mm"]["cells_imputed"], 0)
        self.assertIn("Rows left out of all numbers", (self.dir / "runs/dropped/results/report.html").read_text())

    def test_a_killed_run_is_resumed_to_the_same_bytes(self):
        calm = self.sloppy("missing")
        self.config(AXES, url=calm.url, name="calm.yaml")
        self.vibeq("run", "calm.yaml", "--name", "r", "--quiet", "--runs", self.dir / "calm-runs", *N5)
        server = self.sloppy("missing", "--latency", "uniform:20ms:40ms")
        for at, share in (("joint", 0.5), ("single", 1.5)):
            self.config(AXES, url=server.url, judge={"concurrency": 8}, term_ms=2000)
            runs = ("--runs", self.dir / f"runs-{at}")
            before = len(server.answers())
            child = self.start("run", "config.yaml", "--name", "r", "--quiet", *runs, *N5)
            self.wait_for("a good part", lambda: child.poll() is not None or len(server.answers()) - before > share * JOINT)
            self.assertIsNone(child.poll(), self.logs())
            self.kill_all(child)
            self.vibeq("resume", "r", "--quiet", *runs)
            self.assertEqual((self.dir / f"runs-{at}/r/results/results.json").read_bytes(),
                             (self.dir / "calm-runs/r/results/results.json").read_bytes())

    def test_replay_walks_joint_stages(self):
        self.config(AXES)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", *N5)
        self.vibeq("replay", "r", "--pair-rule", "lenient")

    def test_a_cut_joint_answer_counts_as_far_as_it_goes(self):
        """The server cuts after the second of five verdicts, in the middle of the third; a single question it answers."""
        class Cutting(Endpoint):
            def do_POST(self):
                body = json.loads(self.body())
                joint = "verdicts by number" in body["messages"][-1]["content"]
                text = "Property 1: A\nProperty 2: A\nAnalysis 3: both\nProperty 3: A or" if joint else "Model: A"
                self.say(body["model"], text, word[0] if joint else "stop")
        server = Server(Cutting)
        self.servers.append(server)
        word = ["length"]
        self.config(AXES[:5], url=server.url, judges=1)
        self.vibeq("run", "config.yaml", "--name", "kept", "--quiet", *N5, "--set", "judging.repair=off", code=MISSING)
        self.assertEqual(self.results("kept")["cells_missing"], 3 * ROWS)
        self.vibeq("run", "config.yaml", "--name", "asked", "--quiet", *N5)
        self.assertEqual(self.results("asked")["cells_missing"], 0)
        self.assertEqual(self.accounting("asked")["first_sends"], 3 * 2 * ROWS, "joint answers come from the store")
        word[0] = "abrupt"
        self.vibeq("run", "config.yaml", "--name", "other", "--quiet", *N5, "--set", "judging.repair=off", "--set", "judges[0].max_tokens=77", code=MISSING)
        self.assertEqual(self.results("other")["cells_missing"], 5 * ROWS)
        words = json.loads((self.dir / "runs/other/accounting.json").read_text())["ending_words"]
        self.assertIn("abrupt", json.dumps(words))

    def test_what_joint_calls_cannot_do_is_refused(self):
        self.config(AXES)
        for key, value in (("lazy_swap", "on"), ("truncate", "on"), ("retest", "0.1")):
            run = self.vibeq("run", "config.yaml", "--name", "r", *N5, "--set", f"judging.{key}={value}", code=USAGE)
            self.assertIn(f"judging.{key}", run.stderr)
            self.assertIn("vibes_per_call", run.stderr)
        self.vibeq("run", "config.yaml", "--name", "r", "--set", "judging.vibes_per_call=21", code=USAGE)


if __name__ == "__main__":
    vqtest.main()
