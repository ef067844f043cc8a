# labels: slow
"""The audit, and vibeq verify, on runs of method: persona and on the dialogues of `vibeq chat`: they pass such runs as they are, also after kills, and
name every damage to any record of them."""
import csv
import json
import re
import shutil
import struct
import subprocess

import vqtest
from auditrun import AUDIT, Audited
from damaging import END, FLAGS, N, RECORDED, REQUEST, STARTED, TASK
from vqtest import DONE, INTERNAL, MISSING, ROOT

ROUNDS = 6
MODEL = "{{model: {0}, base_url: \"{1}\", identity: the-test, concurrency: 8, price_input_usd: 1, price_output_usd: 2}}"


class Talking(Audited):
    def verify(self, *texts):
        """`vibeq verify` says each of them; none: that nothing is wrong."""
        got = self.vibeq("verify", "r", code=INTERNAL if texts else DONE)
        for text in texts or ("verified",):
            self.assertIn(text, got.stdout)

    def turns(self, chain, stage=0):
        """The calls whose answers stand, turn by turn; None: no answer, or one that another dialogue got."""
        rows = {r["task"]: r for r in self.kept().calls.values() if r["stage"] == stage and r["used"] and r["end"] == "answer"}
        return [rows.get(2 * (chain * self.length + k)) for k in range(self.length)]

    def again(self, row, **later):
        """A second paid call for the question of this one, right behind it: in the log and in the ledger."""
        call = row["call"]
        later.update(started=(STARTED, struct.pack("<Q", row["started"] + 1)), recorded=(RECORDED, struct.pack("<Q", row["recorded"] + 9)))
        second = "ef" * 16
        for line in self.lines_of(call):
            with open(self.dir / "offline.log", "a", encoding="utf-8") as file:
                file.write(json.dumps(dict(line, n=99999, **({"call": second} if "call" in line else {}))) + "\n")

        def body(rest):
            rest[FLAGS] = 1
            for at, data in later.values():
                rest[at:at + len(data)] = data
        self.rewrite(b"ledger", self.ledger_key(call), body, new_key=self.ledger_key(second))
        return second

    def at(self, call, event):
        return next(line["mono_ns"] for line in self.lines_of(call) if line["event"] == event)

    def asked_as(self, call, **fields):
        """What the endpoint's log says of its request."""
        n = self.lines_of(call)[0]["n"]
        self.log(lambda line: dict(line, **fields) if line["n"] == n and line["event"] == "request" else line)

    def answer_is(self, row, new):
        def change(rest):
            at = len(rest) - 4  # the answer is the last of its texts, with its length before it
            while struct.unpack_from("<I", rest, at)[0] != len(rest) - at - 4:
                at -= 1
            return rest[:at] + struct.pack("<I", len(new)) + new
        self.rewrite(b"answers", row["request"], change)

    def text_of(self, row):
        return self.kept().answers[row["request"]]["answer"]


class Persona(Talking):
    length = ROUNDS

    def make(self):
        """Answers are lost, some are refusals, and one query of one list is refused for good: that dialogue has a hole."""
        for path in (ROOT / "examples").iterdir():
            if re.match(r"persona|queries-|probe-", path.name):
                shutil.copy(path, self.dir)
        query = (self.dir / "queries-goals.txt").read_text(encoding="utf-8").splitlines()[4]
        (self.dir / "faults.jsonl").write_text(json.dumps({"fault": "bad_request", "model": "offline-subject", "contains": query}) + "\n")
        server = self.offline("--faults", self.dir / "faults.jsonl", "--fault", "lost_answer=0.02", "--fault", "server_error=0.02")
        (self.dir / "config.yaml").write_text("\n".join((
            f"subjects: [{MODEL.format('offline-subject', server.url)}]",
            f"judges: [{', '.join(MODEL.format(j, server.url) for j in ('offline-a', 'offline-b'))}]",
            "criteria: [knowledge, {name: short, kind: binary, rubric: 'Is it short? Yes: a sentence. No: more.'}, role_specific]", "dialogues:",
            "  personas: personas-two.yaml", "  directed: queries-interview.yaml", "  goal: queries-goals.txt", f"  rounds: {ROUNDS}",
            "  checkpoints: 3", "probes:", "- {file: probe-bigfive.csv, name: bigfive}", "- {file: probe-safety.csv, name: safety}",
            "- {file: probe-role.csv, name: role, criterion: role_specific, references: [dataset, zero, previous]}", "term_ms: 1000")) + "\n")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING, timeout=200)
        server.stop()

    def rated(self, **wanted):
        """Lines of ratings.csv, by number."""
        with open(self.run_dir / "results/ratings.csv", newline="", encoding="utf-8") as file:
            return [(i, row) for i, row in enumerate(csv.DictReader(file), 1) if all(row[k] == v for k, v in wanted.items())]

    def dialogues(self, change):
        path = self.run_dir / "results/dialogues.jsonl"
        talks = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        change(talks)
        path.write_text("".join(json.dumps(t) + "\n" for t in talks if t is not None))

    # ---- as it is ----

    def test_as_it_is(self):
        code, out = self.audit()
        self.assertEqual(code, 0, out)
        line = out.splitlines()[-1]
        self.assertRegex(line, r"^ok (\d+) lost 0 unexpected 0 duplicated \d+ \(.*\) recovered 0 unknown 0 · paid \$0\.\d+, "
                               r"paid but unused \$0\.\d+, unknown \$0\.\d+ · audit passed$")
        said = json.loads(self.audit("--json")[1])
        account = json.loads((self.run_dir / "accounting.json").read_text())
        self.assertEqual((said["ok"], said["planned"], said["violations"]), (account["calls"]["planned"],) * 2 + ([],))
        self.assertAlmostEqual(said["paid_usd"] + said["unknown_usd"], account["cost_usd"])
        self.assertLessEqual(set(said["repeats"]), {"retry after lost"})
        self.assertTrue(self.rated(status="blocked") and self.rated(status="ok", criterion="short"), "the run has something of each")
        self.assertEqual(self.audit(log=False)[0], 0, "also without the endpoint's log")
        self.verify()
        made = subprocess.run(["make", "-s", "audit", "RUN=r", f"LOG={self.dir}/offline.log"], cwd=ROOT, capture_output=True, text=True,
                              env=self.environment(), check=False)
        self.assertEqual((made.returncode, made.stdout.splitlines()[-1]), (0, line), made.stderr)

    # ---- dialogues ----

    def test_a_turn_is_missing_from_a_dialogue(self):
        def drop(talks):
            del talks[0]["messages"][4:6]
        self.dialogues(drop)
        self.names("R2 results: results/dialogues.jsonl: offline-subject x Ada Quill x directed x original: it has 10 messages and the stored answers "
                   "make 12; the first that differs is 4 (turn 2)")
        self.verify("results: dialogues.jsonl is another than the answers make it, from line 1 on")

    def test_a_dialogue_is_changed_or_missing(self):
        def change(talks):
            talks[1]["messages"][3]["content"] += " "
            talks[0]["ended"] = "error"
            talks[3]["order"] = "original"
        self.dialogues(change)
        self.names("x directed x shuffled: it has 12 messages and the stored answers make 12; the first that differs is 3 (turn 1)", "ended is 'error'",
                   "order is 'original', the stored answers make it 'shuffled'")
        self.dialogues(lambda talks: talks.pop())
        self.names("results/dialogues.jsonl has 11 dialogues, 12 were led")
        (self.run_dir / "results/dialogues.jsonl").unlink()
        self.names("R2 results: results/dialogues.jsonl is missing")
        self.verify("results: dialogues.jsonl is missing")

    def test_an_answer_in_a_dialogue_is_another(self):
        """The turns behind it were asked after what was there before."""
        row, after = self.turns(0)[2:4]
        self.answer_is(row, b"Something that was never said.")
        out = self.names(f"R1 plan: call {after['call']} is of turn 3 of offline-subject x Ada Quill x directed x original, and asked something else than "
                         "that follows from the stored answers", "R1 tasks: turn 3 of offline-subject x Ada Quill x directed x original has no state",
                         "are of stages behind those that have open tasks")
        self.assertGreaterEqual(self.figures(out.splitlines()[-1])["lost"], 3)
        self.verify("tasks: ", "have no state, and the run is finished")

    def test_the_last_answer_in_a_dialogue_is_another(self):
        """Nothing was asked behind it, but it was rated, and stands in a dialogue."""
        row = self.turns(1)[-1]  # in shuffled order: no checkpoint is behind it
        self.answer_is(row, b"Farewell, then, whoever you are.")
        self.names("x directed x shuffled: it has 12 messages and the stored answers make 12; the first that differs is 11 (turn 5)",
                   "is of the rating of turn 5 of offline-subject x Ada Quill x directed x shuffled by offline-a x knowledge, and asked something else",
                   "the rating of turn 5 of offline-subject x Ada Quill x directed x shuffled by offline-b x short has no state in a finished run")

    def test_a_turn_was_asked_out_of_order(self):
        first, second = self.turns(0)[1:3]
        early = self.at(first["call"], "answer") - 5_000_000
        self.asked_as(second["call"], mono_ns=early)
        self.names(f"R1 order: call {second['call']} asked turn 2 of offline-subject x Ada Quill x directed x original 5000 us before turn 1 of "
                   "offline-subject x Ada Quill x directed x original was answered")

    def test_a_turn_was_sent_as_another(self):
        """The ledger has it as one question, and other bytes reached the endpoint."""
        first, second = self.turns(0)[1:3]
        self.asked_as(second["call"], hash=self.lines_of(first["call"])[0]["hash"])
        out = self.names("R1 bodies: call ", "asked turn ", "which is something else")
        self.assertTrue(first["call"] in out and second["call"] in out, out)

    def test_a_rating_was_asked_before_there_was_anything(self):
        turn = self.turns(0)[1]
        row = self.call(stage=1, task=4, used=True)  # two judges: of turn 1 by the first of them
        early = self.at(turn["call"], "request")
        self.asked_as(row["call"], mono_ns=early)
        self.names(f"R1 order: call {row['call']} asked the rating of turn 1 of offline-subject x Ada Quill x directed x original by offline-a x knowledge")

    def test_a_turn_with_another_number(self):
        row = self.turns(0)[2]
        self.row(row["call"], task=(TASK, struct.pack("<Q", 2 * (ROUNDS * 3 + 2))))
        self.names(f"R1 plan: call {row['call']} has the number of turn 2 of offline-subject x Ada Quill x goal x shuffled", "and asked turn 2 of "
                   "offline-subject x Ada Quill x directed x original")

    def test_a_turn_behind_a_hole(self):
        """What is behind a turn that failed is blocked, and nobody may have asked it."""
        held = next(c for c in range(2, 12) if self.turns(c)[ROUNDS - 1] is None)
        done = self.turns(held).index(None, 1)
        row = self.turns(0)[3]
        self.row(row["call"], task=(TASK, struct.pack("<Q", 2 * (ROUNDS * held + done + 1))), request=(REQUEST, bytes(range(32))))
        self.names(f"R1 plan: call {row['call']} asked turn {done + 1} of", f"and turn {done} of", "has no answer that stands")

    def test_an_answer_to_a_turn_is_gone(self):
        row = self.turns(0)[2]
        self.delete(b"answers", row["request"])
        self.names(f"I2 answers: call {row['call']} was answered, and no answer to its question is stored",
                   "turn 2 of offline-subject x Ada Quill x directed x original has no state in a finished run")

    # ---- bought twice ----

    def test_a_turn_was_bought_twice_under_one_lease(self):
        row = self.turns(0)[2]
        second = self.again(row)
        self.names(f"R5 repeats: turn 2 of offline-subject x Ada Quill x directed x original was bought again by call {second}: under one lease")

    def test_a_turn_was_bought_twice_by_two(self):
        row = self.turns(0)[2]
        second = self.again(row, n=(N, struct.pack("<Q", 70000)))
        said = json.loads(self.audit("--json")[1])
        self.assertIn((second, "silent for a term"), [(r["call"], r["cause"]) for r in said["repeated"]])
        self.assertTrue(any("accounting.json says paid_unused" in v for v in said["violations"]))
        path = self.dir / "disturbances.jsonl"
        path.write_text('{"between": true}\n')
        self.names(f"was bought again by call {second}: nothing befell the process of call {row['call']}", words=["--disturbances", path])

    def test_a_turn_that_two_dialogues_begin_with_was_bought_in_both(self):
        row = self.turns(0)[0]
        second = self.again(row, n=(N, struct.pack("<Q", 70000)), task=(TASK, struct.pack("<Q", 2 * ROUNDS)))
        out = self.names(f"R5 repeats: turn 0 of offline-subject x Ada Quill x directed x original was bought again by call {second}: two dialogues begin "
                         f"with it, and call {row['call']} asked it in the other")
        self.assertNotRegex(out, "paid but unused \\$0.000000")

    # ---- probes and ratings ----

    def test_an_answer_behind_a_dialogue_is_another(self):
        stages = [s["name"] for s in json.loads((self.run_dir / "accounting.json").read_text())["stages"]]
        row = self.call(stage=stages.index("bigfive"), end="answer", used=True)
        self.answer_is(row, b"No.")
        self.names("R1 tasks: the rating of the answer to bigfive item ", "has no state in a finished run", "answers and failures make it: open")

    def test_a_rating_is_another(self):
        """In the store: the endpoint gave another one."""
        row = next(r for r in self.kept().calls.values() if r["stage"] == 1 and r["used"] and r["outcome"] == 13)
        self.answer_is(row, self.text_of(row).replace(b"**Result:** 5", b"**Result:** 2"))
        self.names(f"R2 verdicts: call {row['call']}: the stored answer says 2, its ledger row 5",
                   f"R2 verdicts: call {row['call']}: the endpoint said 5, the stored answer says 2",
                   "answers and failures make it: 2")
        self.verify("results: ratings.csv is another than the answers make it")

    def test_an_answer_of_a_judge_is_gone(self):
        row = self.call(stage=1, used=True)
        self.delete(b"answers", row["request"])
        self.names(f"I2 answers: call {row['call']} was answered, and no answer to its question is stored", "R1 tasks: the rating of turn ",
                   "has no state in a finished run", "answers and failures make it: open")
        self.verify("tasks: 1 tasks have no state, and the run is finished")

    def test_a_rating_is_flipped_in_the_table(self):
        at, row = self.rated(criterion="short", status="ok")[0]
        other = "no" if row["value"] == "yes" else "yes"

        def flip(lines):
            lines[at] = re.sub(f",{row['value']},ok$", f",{other},ok", lines[at])
            return lines
        self.scores(flip, "results/ratings.csv")
        self.names(f"R2 results: ratings.csv says '{other}' (ok) of short x offline-subject", f"answers and failures make it: {row['value']}")
        self.verify(f"results: ratings.csv is another than the answers make it, from line {at + 1} on")

    def test_lines_of_the_table_are_gone_twice_and_made_up(self):
        at, _ = self.rated(criterion="role", reference="previous", status="ok")[0]
        self.scores(lambda lines: lines[:at] + lines[at + 1:] + [lines[1], lines[1].replace("offline-a", "offline-c")], "results/ratings.csv")
        self.names("R1 tasks: ratings.csv lacks role x offline-subject", "I1 counted twice: ratings.csv has knowledge x offline-subject",
                   "x offline-c, which nobody planned")

    def test_a_blocked_rating_has_a_value(self):
        at, _ = self.rated(status="blocked", criterion="knowledge")[0]

        def fill(lines):
            lines[at] = lines[at].replace(",,blocked", ",3,ok")
            return lines
        self.scores(fill, "results/ratings.csv")
        self.names("R2 results: ratings.csv says '3' (ok) of knowledge", "answers and failures make it: nothing was to be rated")

    def test_results_are_changed(self):
        def change(r):
            m = {m["name"]: m for m in r["measures"]}
            m["knowledge"]["statuses"][0]["ok"] += 1
            m["knowledge"]["by_cell"][0]["values"][1] += 0.5
            m["short"]["missing"] += 1
            m["role: zero"]["ties"] += 1
            m["openness"]["curves"]["directed"]["persona"][1]["mean"] -= 1
            r["calls"]["turns"]["planned"] += 1
            next(a for a in r["agreement"] if a["kappa_quadratic"] is not None)["kappa_quadratic"] -= 0.01
        self.json_file("results/results.json", change)
        self.names("I9 missing: knowledge, offline-a: results.json counts", "R2 results: knowledge, Ada Quill", "I9 missing: short: results.json counts",
                   "R2 results: role: zero: results.json counts", "R2 results: openness", "R2 results: results.json plans", "R2 results: agreement on ",
                   "results.json counts kappa_quadratic ")
        self.verify("results: results.json is another")

    # ---- inputs, calls that nobody planned, accounting ----

    def test_inputs_are_changed(self):
        path = self.run_dir / "inputs/queries-goal"
        path.write_text(path.read_text().replace("weekend", "week"))
        self.names("I2 inputs: inputs/queries-goal is not what the run began with", "R1 plan: call ")
        path.unlink()
        code, out = self.audit()
        self.assertEqual((code, "Traceback" in out), (1, False))
        self.assertIn("inputs/queries-goal: No such file", out)

    def test_a_call_that_nobody_planned(self):
        row = self.turns(0)[5]
        self.row(row["call"], request=(REQUEST, bytes(range(32))))
        self.names(f"R1 plan: call {row['call']} is of turn 5 of offline-subject x Ada Quill x directed x original, and asked something else")

    def test_a_failure_is_gone(self):
        request = next(r for r, f in self.kept().failures.items() if f["outcome"])
        self.delete(b"ledger", bytes.fromhex(self.uid) + b"F" + request)
        self.names("R1 tasks: turn ", "has no state in a finished run")

    def test_accounting_is_changed(self):
        names = ("sent", "planned", "from_store", "first_sends", "not_asked", "paid_unused")
        self.json_file("accounting.json", lambda a: a["calls"].update({k: a["calls"][k] + 1 for k in names}))
        self.names(*(f"R4 accounting: accounting.json says {name} " for name in names))


class Rates(Talking):
    """method: judge over drawn rows, read as the paper's code did."""

    def make(self):
        shutil.copy(ROOT / "examples/ratings.csv", self.dir)
        server = self.offline("--fault", "unparseable=0.15", "--fault", "wrong_format=0.1", "--fault", "refusal=0.05", "--fault", "lost_answer=0.03")
        (self.dir / "config.yaml").write_text("\n".join((
            "method: judge", "seed: 5", "data: {path: ratings.csv, limit: 9}", "models: [alpha, beta]", "criteria: [general, refusal, knowledge]",
            f"judges: [{', '.join(MODEL.format(j, server.url) for j in ('offline-a', 'offline-b'))}]",
            "rating: {repeats: 2, positions: both, policy: paper}")) + "\n")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=None)
        server.stop()

    def test_as_it_is(self):
        code, out = self.audit()
        self.assertEqual(code, 0, out)
        self.assertTrue(out.startswith("ok "), f"rows are drawn again: {out}")
        self.verify()

    def test_values_are_changed(self):
        """Also one that was drawn, since its answer has none."""
        lines = (self.run_dir / "results/ratings.csv").read_text(encoding="utf-8").splitlines()
        drawn = next(i for i, line in enumerate(lines) if ",pairwise," in line and re.search(r",(alpha|beta),missing,", line))
        said = next(i for i, line in enumerate(lines) if ",binary," in line and ",no,ok," in line)

        def change(lines):
            a, b = re.search(r",(alpha|beta),missing,", lines[drawn]).group(1), lines[said]
            lines[drawn] = lines[drawn].replace(f",{a},missing,", f",{'beta' if a == 'alpha' else 'alpha'},missing,")
            lines[said] = b.replace(",no,ok,", ",yes,ok,")
            return lines
        self.scores(change, "results/ratings.csv")
        self.names("(missing), its answer says '", "ratings.csv says 'yes' (ok), its answer says 'no' (ok)")

    def test_the_seed_is_another(self):
        path = self.run_dir / "run.yaml"
        path.write_text(path.read_text().replace("seed: 5\n", "seed: 6\n", 1))
        self.names("asked what nobody planned")


class Chat(Talking):
    length = 12

    def make(self):
        vqtest.planted(self.dir, 4, ("V1",))
        queries = [f"Question {k}: what do you make of number {k * k}?" for k in range(self.length)]
        chains = [{"system": f"You are embodying the role of Number {i}. You are boastful.", "queries": queries} for i in range(3)]
        chains[2].pop("system")
        chains[1]["queries"] = queries[:5]
        (self.dir / "chains.jsonl").write_text("".join(json.dumps(c) + "\n" for c in chains))
        server = self.offline("--latency", "uniform:5ms:15ms")
        lines = ["data: {path: data.csv}", "models: [alpha, beta]", "method: vibes", "vibes: [{name: V1, low: low, high: high}]",
                 f"judges: [{MODEL.format('offline-subject', server.url)}]", "term_ms: 1500"]
        (self.dir / "config.yaml").write_text("\n".join(lines) + "\n")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        child = self.start("chat", "r", "--chains", "chains.jsonl", "--quiet")
        self.wait_for("some turns", lambda: len(server.answers()) > 16)
        self.kill_all(child)
        got = subprocess.run([AUDIT, self.dir / "runs/r", "--log", self.dir / "offline.log"], capture_output=True, text=True, check=False)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertRegex(got.stdout, r" open \d+ .*audit passed")
        self.assertIn("the dialogues of vibeq chat are not finished", self.vibeq("verify", "r").stdout)
        self.vibeq("chat", "r", "--chains", "chains.jsonl", "--quiet")
        server.stop()

    def stage(self):
        return max(r["stage"] for r in self.kept().calls.values())

    def test_as_it_is(self):
        code, out = self.audit()
        self.assertEqual(code, 0, out)
        self.assertRegex(out.splitlines()[-1], r"^ok 37 lost 0 unexpected 0 ")  # 8 of the run, 29 turns
        self.verify()
        self.vibeq("chat", "r", "--chains", "chains.jsonl", "--quiet")
        self.assertEqual(self.audit()[0], 0, "led once more, out of the store")

    def test_a_turn_is_missing_from_a_dialogue(self):
        path = self.run_dir / "chat/dialogues.jsonl"
        talks = [json.loads(line) for line in path.read_text().splitlines()]
        del talks[0]["messages"][6:8]
        path.write_text("".join(json.dumps(t) + "\n" for t in talks))
        self.names("R2 results: chat/dialogues.jsonl: dialogue 0 x offline-subject: it has 22 messages and the stored answers make 24; the first that "
                   "differs is 6 (turn 3)")
        self.verify("chat: chat/dialogues.jsonl is another than the answers make it, from line 1 on")

    def test_an_answer_is_another(self):
        row, after = self.turns(0, self.stage())[4:6]
        self.answer_is(row, b"Something that was never said.")
        self.names(f"R1 plan: call {after['call']} is of turn 5 of dialogue 0 x offline-subject, and asked something else",
                   "R1 tasks: turn 5 of dialogue 0 x offline-subject has no state in a finished run")
        self.verify("chat: 7 turns have no state, and the dialogues were led to their end")

    def test_turns_were_asked_out_of_order(self):
        first, second = self.turns(2, self.stage())[8:10]
        early = self.at(first["call"], "answer") - 1_000_000
        self.asked_as(second["call"], mono_ns=early)
        self.names(f"R1 order: call {second['call']} asked turn 9 of dialogue 2 x offline-subject 1000 us before turn 8")

    def test_a_turn_was_bought_twice(self):
        row = self.turns(0, self.stage())[3]
        second = self.again(row)
        self.names(f"R5 repeats: turn 3 of dialogue 0 x offline-subject was bought again by call {second}: under one lease",
                   "R4 accounting: chat/accounting.json says paid_unused 0, the ledger has 1")

    def test_a_call_is_gone_from_the_ledger(self):
        row = self.turns(0, self.stage())[3]
        self.delete(b"ledger", self.ledger_key(row["call"]))
        self.names(f"R4 ledger: call {row['call']}", "is neither in the ledger nor in a spool", "R4 accounting: chat/accounting.json says sent")
        self.verify("accounting: chat/accounting.json has sent")

    def test_an_end_is_another(self):
        row = self.turns(0, self.stage())[3]
        self.row(row["call"], end=(END, bytes([1])))
        self.names(f"R4 ledger: call {row['call']} was paid at the endpoint, and is recorded as rate")

    def test_what_is_kept_is_damaged(self):
        path = self.run_dir / "chat/chains.jsonl"
        path.write_text(path.read_text()[:100])
        code, out = self.audit()
        self.assertEqual((code, "Traceback" in out), (1, False))
        self.assertIn("chat/chains.jsonl: ", out)
        self.verify("chat: the stored dialogues cannot be read: chat/chains.jsonl, line 1")
        path.unlink()
        self.assertIn("beside the run that are not kept", self.audit()[1])


if __name__ == "__main__":
    vqtest.main()
