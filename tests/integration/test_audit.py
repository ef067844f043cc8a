# labels: slow
"""The audit of tests/tools: it passes a run as it is, and names every damage to any of its records, with the rule and the id."""
import json
import struct
import subprocess
import sys

import vqtest
from auditrun import AUDIT, Audited
from damaging import AXES, END, EPOCH, FLAGS, N, RECORDED, REQUEST, STARTED, TASK, TOKENS_IN
from vqtest import DONE, ROOT, Case, planted

sys.path.insert(0, str(ROOT / "tests/tools"))
from auditing import plan  # noqa: E402


class Audit(Audited):
    # ---- as it is ----

    def test_as_it_is(self):
        code, out = self.audit()
        self.assertEqual(code, 0, out)
        line = out.splitlines()[-1]
        self.assertRegex(line, r"^ok 192 lost 0 unexpected 0 duplicated \d+ \(\d+ retry after lost\) recovered 0 unknown 0 · paid \$0\.\d+, "
                               r"paid but unused \$0\.000000, unknown \$0\.\d+ · audit passed$")
        rows = self.kept().calls.values()
        self.assertTrue(any(r["repair"] for r in rows) and any(r["end"] == "bad_request" for r in rows), "the run has something of each")
        code, out = self.audit("--json")
        said = json.loads(out)
        self.assertEqual((code, said["violations"], said["ok"], said["planned"]), (0, [], 192, 192))
        self.assertAlmostEqual(said["paid_usd"] + said["unknown_usd"], json.loads((self.run_dir / "accounting.json").read_text())["cost_usd"])
        self.assertEqual(self.audit(log=False)[0], 0, "also without the endpoint's log")
        self.assertEqual(subprocess.run([AUDIT, self.run_dir, "--log", "nothing"], stderr=subprocess.DEVNULL, check=False).returncode, 2)
        made = subprocess.run(["make", "-s", "audit", "RUN=r", f"LOG={self.dir}/offline.log"], cwd=ROOT, capture_output=True, text=True,
                              env=self.environment(), check=False)
        self.assertEqual((made.returncode, made.stdout.splitlines()[-1]), (0, line), made.stderr)

    # ---- the ledger ----

    def test_a_ledger_row_is_gone(self):
        call = self.answered()["call"]
        self.delete(b"ledger", self.ledger_key(call))
        out = self.names(f"R4 ledger: call {call}", "and was paid, and is neither in the ledger nor in a spool",
                         f"I2 answers: the answer of call {call} stands in the store, and the ledger has no such call")
        self.assertIn("lost 1 ", out)

    def test_a_ledger_row_of_a_call_that_nobody_made(self):
        old, forged = self.ledger_key(self.answered()["call"]), "ab" * 16
        self.rewrite(b"ledger", old, lambda rest: None, new_key=self.ledger_key(forged))
        out = self.names(f"R4 ledger: call {forged} is in the ledger as answer (HTTP 200), and the endpoint never saw it",
                         f"I2 answers: call {forged} is recorded as used")
        self.assertIn("unexpected 1 ", out)

    def test_a_call_that_nobody_planned(self):
        row = self.answered()
        self.row(row["call"], request=(REQUEST, bytes(range(32))))
        self.names(f"R1 plan: call {row['call']} asked what nobody planned", f"I2 answers: call {row['call']}")

    def test_a_damaged_row(self):
        call = self.answered()["call"]

        def spoil(rest):
            rest[-3] ^= 4
        self.rewrite(b"ledger", self.ledger_key(call), spoil, whole=False)
        self.names(f"I2 store: ledger row of call {call}: its checksum is wrong")

    def test_tokens_and_cost(self):
        row = self.answered()
        self.row(row["call"], tokens=(TOKENS_IN, struct.pack("<Q", row["tokens_in"] + 7)))
        self.names(f"R4 ledger: call {row['call']}: the endpoint counted", f"R4 money: call {row['call']} cost",
                   f"I2 answers: call {row['call']}: the answer and its ledger row count different tokens",
                   "R4 accounting: accounting.json says tokens_in")

    def test_a_fence_of_the_future(self):
        call = self.answered()["call"]
        self.row(call, epoch=(EPOCH, struct.pack("<Q", 9)))
        self.names(f"R6 fence: call {call} has epoch 9, and the run is at 1")

    def test_one_fence_for_two_shards(self):
        a, b = self.answered(), None
        for b in self.kept().calls.values():
            if b["n"] != a["n"] and b["end"] == "answer":
                break
        self.row(b["call"], n=(N, struct.pack("<Q", a["n"])))
        self.names(f"R6 fence: fence 1.{a['n']}: calls of two ")

    def test_a_task_with_another_number(self):
        row = self.answered()
        self.row(row["call"], task=(TASK, struct.pack("<Q", row["task"] ^ 1)))
        self.names("R1 plan: calls ", "disagree about which task")

    def test_an_unused_answer_that_stands(self):
        row = self.answered()
        self.row(row["call"], flags=(FLAGS, bytes([1])))
        self.names(f"I2 answers: call {row['call']} gave the standing answer, and its ledger row says otherwise",
                   "R4 accounting: accounting.json says paid_unused 0, the ledger has 1")

    def test_an_answer_that_the_ledger_calls_lost(self):
        """It was paid, so it is money of unknown use; but its answer stands."""
        row = self.answered()
        self.row(row["call"], end=(END, bytes([1])))
        self.names(f"R4 ledger: call {row['call']} was paid at the endpoint, and is recorded as rate")

    def test_the_meta_row_is_gone(self):
        self.delete(b"ledger", bytes.fromhex(self.uid) + b"M")
        self.names("I2 store: the store has no row of this run")

    # ---- answers ----

    def test_an_answer_is_gone(self):
        row = self.answered()
        self.delete(b"answers", row["request"])
        out = self.names(f"I2 answers: call {row['call']} was answered, and no answer to its question is stored", "R1 tasks: record",
                         f"though call {row['call']} answered it")
        self.assertIn("lost 2 ", out)

    def test_an_answer_is_another(self):
        row = self.call(end="answer", used=True, repair=False, outcome=1)
        self.rewrite(b"answers", row["request"], lambda rest: rest.replace(b"Model: A", b"Model: B"))
        self.names(f"R2 verdicts: call {row['call']}: the endpoint said A, the stored answer says B",
                   "scores.csv says A, answers and failures make it B")

    def test_an_answer_is_damaged(self):
        row = self.answered()

        def spoil(rest):
            rest[-1] ^= 1
        self.rewrite(b"answers", row["request"], spoil, whole=False)
        self.names(f"I2 store: answer {row['request'].hex()}: its checksum is wrong (a damaged record)")

    def test_an_answer_under_another_question(self):
        row = self.answered()
        key = bytes(reversed(row["request"]))
        self.rewrite(b"answers", row["request"], lambda rest: None, new_key=key)
        self.names(f"I2 answers: call {row['call']} gave the standing answer, and its ledger row says otherwise")

    def test_the_store_lost_its_end(self):
        with open(self.dir / "runs/calls.lmdb", "r+b") as file:
            file.truncate(40960)
        self.names("its end is missing")

    # ---- failures ----

    def test_a_failure_is_gone(self):
        request = next(r for r, f in self.kept().failures.items() if f["outcome"])
        self.delete(b"ledger", bytes.fromhex(self.uid) + b"F" + request)
        self.names("R1 tasks: record", "has no state in a finished run", "scores.csv says error, answers and failures make it open")

    def test_a_failure_that_nobody_planned(self):
        request = next(r for r, f in self.kept().failures.items() if f["outcome"])
        head = bytes.fromhex(self.uid) + b"F"
        self.rewrite(b"ledger", head + request, lambda rest: None, new_key=head + bytes(32))
        self.names("R1 plan: a failure of request 0000000000000000 is recorded, which nobody planned")

    def test_a_failure_by_a_call_that_answered(self):
        answered, request = self.answered()["call"], next(r for r, f in self.kept().failures.items() if f["outcome"])

        def body(rest):
            rest[9:25] = bytes.fromhex(answered)
        self.rewrite(b"ledger", bytes.fromhex(self.uid) + b"F" + request, body)
        self.names(f"failed by call {answered}, which the ledger has as answer")

    # ---- the endpoint's log ----

    def test_a_call_is_gone_from_the_log(self):
        call = self.answered()["call"]
        n = self.lines_of(call)[0]["n"]
        self.log(lambda line: None if line["n"] == n else line)
        self.names(f"R4 ledger: call {call} is in the ledger as answer (HTTP 200), and the endpoint never saw it")

    def test_a_paid_call_that_no_record_has(self):
        lines = self.lines_of(self.answered()["call"])
        with open(self.dir / "offline.log", "a", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(dict(line, n=99999, **({"call": "cd" * 16} if "call" in line else {}))) + "\n")
        out = self.names(f"R4 ledger: call {'cd' * 16} (offline-", "reached the endpoint and was paid, and is neither in the ledger nor in a spool")
        self.assertIn("lost 1 ", out)

    def test_the_endpoint_said_otherwise(self):
        row = self.call(end="answer", used=True, repair=False, outcome=2)
        n = self.lines_of(row["call"])[0]["n"]
        self.log(lambda line: dict(line, verdict="unsure") if line["n"] == n and line["event"] == "answer" else line)
        self.names(f"R2 verdicts: call {row['call']}: the endpoint said unsure, the ledger has B",
                   f"R2 verdicts: call {row['call']}: the endpoint said unsure, the stored answer says B")

    def test_the_endpoint_refused_what_counts_as_answered(self):
        call = self.answered()["call"]
        n = self.lines_of(call)[0]["n"]
        self.log(lambda line: dict(line, status=429, paid=False) if line["n"] == n and line["event"] == "answer" else line)
        self.names(f"R4 ledger: call {call} is recorded as answered, and the endpoint answered 429")

    # ---- bought twice ----

    def forge_repeat(self, after_ms=0, **later):
        """A second paid call for a question that has its answer: in the log and in the ledger."""
        first, second = self.answered(), "ef" * 16
        for line in self.lines_of(first["call"]):
            with open(self.dir / "offline.log", "a", encoding="utf-8") as file:
                file.write(json.dumps(dict(line, n=99999, unix_ms=line["unix_ms"] + after_ms, mono_ns=line["mono_ns"] + after_ms * 10**6,
                                           **({"call": second} if "call" in line else {}))) + "\n")

        def body(rest):
            rest[FLAGS] = 1
            for at, data in later.values():
                value = data(first) if isinstance(data(first), bytes) else struct.pack("<Q", data(first))
                rest[at:at + len(value)] = value
        self.rewrite(b"ledger", self.ledger_key(first["call"]), body, new_key=self.ledger_key(second))
        return first["call"], second

    def test_bought_again_after_it_was_recorded(self):
        first, second = self.forge_repeat(5000, started=(STARTED, lambda r: r["recorded"] + 5000), recorded=(RECORDED, lambda r: r["recorded"] + 5100))
        out = self.names(f"was bought again by call {second}: the answer of call {first} had been recorded 5000 ms before")
        self.assertIn("R5 repeats: record ", out)

    def test_bought_again_when_clocks_cannot_tell(self):
        """The workers' clocks are an hour ahead: what came before what is not known, and nobody is blamed."""
        self.forge_repeat(5000, started=(STARTED, lambda r: r["recorded"] + 3600000), recorded=(RECORDED, lambda r: r["recorded"] + 5100),
                          n=(N, lambda r: 70000))
        out = self.audit()[1]
        self.assertIn("note: wall clocks jumped or differ", out)
        self.assertNotIn("was bought again by", out)

    def test_bought_twice_under_one_lease(self):
        first, second = self.forge_repeat(started=(STARTED, lambda r: r["started"] + 1), recorded=(RECORDED, lambda r: r["recorded"] + 9))
        self.names(f"was bought again by call {second}: under one lease, while call {first} was being answered")

    def test_a_call_that_was_given_up_reached_the_endpoint_behind_its_retry(self):
        lost = {"end": (END, lambda r: bytes([4])), "recorded": (RECORDED, lambda r: r["recorded"] + 9)}
        _, second = self.forge_repeat(1, started=(STARTED, lambda r: r["started"] - 5), **lost)
        said = json.loads(self.audit("--json")[1])
        self.assertIn((second, "retry after lost"), [(r["call"], r["cause"]) for r in said["repeated"]])

    def test_a_call_that_was_lost_and_asked_after_the_answer(self):
        lost = {"end": (END, lambda r: bytes([4])), "recorded": (RECORDED, lambda r: r["recorded"] + 9)}
        first, second = self.forge_repeat(1, started=(STARTED, lambda r: r["started"] + 1), **lost)
        self.names(f"was bought again by call {second}: under one lease, while call {first} was being answered")

    def test_a_repeat_that_is_explained_is_bounded(self):
        _, second = self.forge_repeat(started=(STARTED, lambda r: r["started"] + 1), recorded=(RECORDED, lambda r: r["recorded"] + 9),
                                      n=(N, lambda r: 70000))
        self.json_file("accounting.json", lambda a: a["calls"].update(
            {k: a["calls"][k] + v for k, v in (("sent", 1), ("answered", 1), ("retried", 1), ("paid_unused", 1))}))
        out = self.audit("--json")[1]
        self.assertIn({"call": second, "cause": "silent for a term"}, [{k: r[k] for k in ("call", "cause")} for r in json.loads(out)["repeated"]])
        self.names("answers were bought again, at most 0 may be", words=["--repeats-max", "0"])

    def disturbed(self, *rows):
        """As the words of the audit."""
        path = self.dir / "disturbances.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in [{"between": True}, *rows]))
        return ["--disturbances", path]

    def test_a_repeat_that_the_ledger_explains_and_nobody_caused(self):
        """The ledger says that its worker was silent; whoever disturbed the run knows better."""
        first, second = self.forge_repeat(900, started=(STARTED, lambda r: r["started"] + 1), recorded=(RECORDED, lambda r: r["recorded"] + 9),
                                          n=(N, lambda r: 70000))
        asked, answered = (next(line["mono_ns"] for line in self.lines_of(first) if line["event"] == event) for event in ("request", "answer"))
        again = asked + 900 * 10**6
        terms_ns = int(plan.yaml.safe_load((self.run_dir / "run.yaml").read_text()).get("term_ms", 30000)) * 10**6

        def row(how, mono_ns, calls=first[:16], **more):
            return {"calls": calls, "how": how, "mono_ns": mono_ns, **more}
        self.names(f"bought again by call {second}: nothing befell the process of call {first}", words=self.disturbed())
        self.names("nothing befell the process", words=self.disturbed(row("any", 0, calls="0" * 16)))
        self.names("it was asked again 5 ms before its process was killed", words=self.disturbed(row("killed", again + 5 * 10**6)))
        self.names("it was asked long after its process was killed", words=self.disturbed(row("killed", asked - 6 * 10**9)))
        self.names("ms after its process fell silent", words=self.disturbed(row("silent", again - terms_ns // 2)))
        self.log(lambda line: dict(line, mono_ns=answered - 3 * 10**9) if line["event"] == "answer" and line["n"] == self.lines_of(first)[0]["n"]
                 else line)
        killed = row("killed", again - 10**6, collected=True)
        self.names("ms before its process was killed, whose spool was read", words=self.disturbed(killed))
        for explains in (row("any", 0), row("any", 0, calls=None), dict(killed, collected=False), row("silent", again - terms_ns),
                         row("silent", asked - terms_ns, calls=second[:16]),
                         {"lateness_ms": terms_ns // 10**6}):
            rows = [explains] if "how" in explains else [explains, row("silent", again)]
            self.assertNotIn("R5 repeats", self.audit(*self.disturbed(*rows))[1])

    def test_an_answer_that_the_ledger_calls_lost_and_nobody_lost(self):
        """A retry is borne out by what the endpoint did, or by something between."""
        code, out = self.audit("--json", *self.disturbed())
        self.assertEqual(code, 0, out)
        causes = {r["cause"] for r in json.loads(out)["repeated"]}
        self.assertEqual(causes, {"retry after lost"}, "the endpoint lost some itself")
        path = self.disturbed()[1]
        path.write_text("")
        code, out = self.audit("--disturbances", path)
        self.assertEqual(code, 0, out)
        lost = next(r["call"] for r in self.kept().calls.values() if r["end"] == "lost")
        n = self.lines_of(lost)[0]["n"]
        self.log(lambda line: None if line["n"] == n and line["event"] == "lost" else dict(line, fault=None) if line["n"] == n else line)
        self.names(f"the ledger has call {lost} as lost, and the endpoint sent its answer whole", words=["--disturbances", path])

    def test_unknown_calls_are_bounded(self):
        call = next(r["call"] for r in self.kept().calls.values() if r["end"] == "lost")
        self.row(call, end=(END, bytes([9])))
        self.names(f"R5 repeats: 1 calls are unknown, at most 0 may be: {call}", words=["--unknown-max", "0"])
        self.assertNotIn("at most", self.audit("--unknown-max", "1")[1])

    def test_sent_again_after_a_refusal_for_good(self):
        calls = self.kept().calls.values()
        first, again = next((a, b) for a in calls for b in calls if a["request"] == b["request"] and (a["tries"], b["tries"]) == (1, 2))
        self.row(first["call"], end=(END, bytes([6])))
        self.names(f"was sent again by call {again['call']} after call {first['call']} ended as bad_request")

    def test_paid_twice_under_one_id(self):
        call = self.answered()["call"]
        with open(self.dir / "offline.log", "a", encoding="utf-8") as file:
            for line in self.lines_of(call):
                file.write(json.dumps(dict(line, n=99999)) + "\n")
        self.names(f"R5 repeats: call {call} was paid 2 times under one id")

    # ---- results ----

    def test_a_score_is_changed(self):
        def change(lines):
            at = next(i for i, line in enumerate(lines) if line.endswith(",agreed"))
            lines[at] = lines[at].replace(",1,agreed", ",9,agreed").replace(",-1,agreed", ",1,agreed").replace(",9,", ",-1,")
            return lines
        self.scores(change)
        self.names("R2 results: record", "scores.csv has score '", "separability on")

    def test_a_verdict_is_changed(self):
        def change(lines):
            at = next(i for i, line in enumerate(lines) if line.endswith(",A,B,1,agreed"))
            lines[at] = lines[at].replace(",A,B,1,agreed", ",equal,B,0,settled")
            return lines
        self.scores(change)
        self.names("scores.csv says equal, answers and failures make it A", "separability on train")

    def test_a_task_counts_twice(self):
        self.scores(lambda lines: lines + [lines[5]])
        self.names("I1 counted twice: scores.csv has record ")

    def test_a_task_is_missing_from_the_scores(self):
        self.scores(lambda lines: lines[:5] + lines[6:])
        self.names("R1 tasks: scores.csv lacks record ")

    def test_a_score_that_nobody_planned(self):
        self.scores(lambda lines: lines + ["77" + lines[5][lines[5].index(","):]])
        self.names("R1 plan: scores.csv has record 77 (file 0)")

    def test_results_are_changed(self):
        def change(r):
            r["vibes"][0]["label_counts"]["offline-a"]["a"] += 1
            r["vibes"][0]["missing"]["offline-b"] += 1
            r["vibes"][1]["separability"]["train"] = 0.123
            r["cells_missing"] += 1
        self.json_file("results/results.json", change)
        self.names("R2 results: vibe", "counts other labels", "I9 missing: vibe", "separability on train is 0.123", "I9 missing: results.json counts")

    def test_accounting_is_changed(self):
        names = ("sent", "answered", "unknown", "paid_unused", "repairs", "tokens_in", "tokens_out", "first_sends", "retried", "planned",
                 "saved_by_lazy_swap", "foreign")

        def change(account):
            account["calls"].update({name: account["calls"][name] + 1 for name in names})
            account["cost_usd"] += 0.0001
        self.json_file("accounting.json", change)
        out = self.names(*(f"R4 accounting: accounting.json says {name} " for name in names))
        self.assertIn("R4 money: accounting.json says 0.", out)

    def test_results_are_gone(self):
        (self.run_dir / "results/scores.csv").unlink()
        self.names("R2 results: results/scores.csv is missing")

    # ---- the plan ----

    def test_a_row_of_the_data_is_gone(self):
        path = self.run_dir / "inputs/data"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:1] + lines[3:]))
        self.names("asked what nobody planned")

    def test_a_vibe_is_another(self):
        path = self.run_dir / "run.yaml"
        path.write_text(path.read_text().replace("high on V2", "higher on V2"))
        self.names("asked what nobody planned", "x V2 x order 0 has no state in a finished run")

    # ---- spools ----

    def test_an_answer_in_a_spool_is_not_lost(self):
        call = self.answered()["call"]
        row = self.kept().calls[call]
        self.delete(b"ledger", self.ledger_key(call))
        self.delete(b"answers", row["request"])
        self.spool((1, call, self.result(call, 9)), (2, call, self.result(call, 0)))
        out = self.audit()[1]
        self.assertNotIn(f"call {call} (offline", out)
        self.assertIn("spooled 1", out)

    def test_a_spool_with_a_call_that_nobody_saw(self):
        self.spool((2, "ee" * 16, self.result("ee" * 16, 0)))
        self.names(f"R4 ledger: call {'ee' * 16} is in spool 7 as answered, and the endpoint never saw it")

    def test_a_damaged_spool(self):
        path = self.spool((1, "ee" * 16, self.result("ee" * 16, 9)), (1, "dd" * 16, self.result("dd" * 16, 9)))
        data = bytearray(path.read_bytes())
        data[80] ^= 1
        path.write_bytes(data)
        self.names("I2 spool: spool 7: it is damaged at byte 52 of", "with whole records after it")

    def test_a_spool_that_was_cut(self):
        path = self.spool((1, "ee" * 16, self.result("ee" * 16, 9)), (1, "dd" * 16, self.result("dd" * 16, 9)))
        path.write_bytes(path.read_bytes()[:-3])
        out = self.audit()[1]
        self.assertIn("bytes at the end of spools are no whole record", out)
        self.assertIn("spooled 1", out)

    def test_a_spool_of_another_run(self):
        self.spool((1, "ee" * 16, self.result("ee" * 16, 9)), uid="0f" * 16)
        self.names(f"I2 spool: spool 7: it is of run {'0f' * 16}")


class Live(Case):
    def test_a_run_that_goes_on(self):
        """Nothing is wrong half-way, Redis included; and the end passes."""
        planted(self.dir, 30, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "30ms")
        self.config(AXES, url=server.url, judge={"concurrency": 4}, term_ms=2000)
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.wait_for("some answers", lambda: self.settled("r") > 60)
        self.vibeq("ctl", "r", "pause")
        words = [AUDIT, self.dir / "runs/r", "--log", self.dir / "offline.log", "--unknown-max", "0", "--repeats-max", "0"]
        got = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertRegex(got.stdout, r"open \d+ .*audit passed")
        self.vibeq("ctl", "r", "resume")
        self.wait_exit(child, DONE)
        got = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)
        self.assertRegex(got.stdout, r"ok 360 lost 0 unexpected 0 duplicated 0 recovered 0 unknown 0 .*audit passed")


class Selection(Case):
    def test_alike_as_documented(self):
        """2 LCS / total length, in code points, rounded."""
        for a, b, percent in (("abc", "abc", 100), ("abcd", "abxd", 75), ("aé", "é", 67), ("ab", "cd", 0)):
            self.assertTrue(plan.alike(a, b, percent), (a, b))
            self.assertFalse(plan.alike(a, b, percent + 1), (a, b))


if __name__ == "__main__":
    vqtest.main()
