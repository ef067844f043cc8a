"""The checks. Each complaint begins with the rule that is broken: R1 to R6 of the reliability rules, I1 to I10 of the design.

    tasks planned (plan.py)  ->  endpoint's log  ->  call store, spools, Redis  ->  results, accounting

Sets, as Jepsen's total-queue has them: ok, lost, unexpected, duplicated, recovered, unknown."""
import collections

from auditing import records, verdict
from auditing.batches import Batches, name_of
from auditing.cascade import Cascade
from auditing.disturbed import Disturbed
from auditing.plan import (PREFERENCE, RETEST_REPEAT, Cell, Hasher, is_shared_repair, repair_request, shared_repair,
                           template_hash)
from auditing.records import CLOCKS_AGREE_MS
from auditing.store import OUTCOMES
from auditing.talks import BESIDE, Talks, sent
from auditing.tasks import CHAT, GOOD, NEVER_SEEN, NOT_NEEDED, OPEN

UNPARSEABLE = 18
SETTLES = {3, 4, 5}
VOTES = {1, 2, 3, 4, 5}
RETRIED = {"rate", "provider", "network", "lost", "bad_response", "bad_request", "too_long", "closed"}
ABSENT_ANYWAY = {"unknown", "lost", "network", "provider", "bad_response", "closed", "too_long", "cancelled"}  # without a status: may never have arrived


class Audit(Talks):
    def __init__(self, plan, endpoint, store, spools, results, redis, live, options):
        self.plan, self.endpoint, self.store, self.spools = plan, endpoint, store, spools
        self.results, self.redis, self.live, self.options = results, redis, live, options
        self.violations, self.notes = [], []
        self.lost, self.unexpected, self.repeats = set(), set(), []
        self.ok = self.open = self.in_flight = 0
        self.known, self.kinds = {}, {}  # requests: (name, key of its shard), what kind of answer they get
        self.shared = {}  # repairs: the request under which equal texts share one
        self.batches = Batches(plan.config, endpoint)
        self.disturbed = None
        if options.disturbances and endpoint:
            self.disturbed = Disturbed(options.disturbances, int(plan.config.get("term_ms", 30000)))
        self.by_request = collections.defaultdict(list)
        for row in store.calls.values():
            self.by_request[row["request"]].append(row)
        there = results.accounting is not None or results.results is not None
        self.finished = there and not live and (results.status or {}).get("state") == "finished"
        self.verdicts = {}

    def bad(self, rule, text):
        self.violations.append(f"{rule}: {text}")

    def run(self):
        self.check_store()
        self.check_inputs()
        self.check_plan()
        self.check_chats()
        self.check_endpoint()
        self.batches.check(self)
        self.check_fences()
        self.check_answers()
        self.check_repeats()
        self.check_retries()
        self.check_scores()
        self.check_results_there()
        self.check_results()
        self.chats.check_results()
        self.check_accounting()
        self.check_money()
        self.check_redis()
        self.check_bounds()

    # ---- the store by itself ----

    def check_store(self):
        for what in self.store.bad:
            self.bad("I2 store", f"{what} (a damaged record)")
        meta = self.store.meta
        if meta is None:
            self.bad("I2 store", "the store has no row of this run (its meta row is missing)")
            self.store.meta = meta = {"epoch": 0, "commit_n": 0, "generation": 0, "clean": False, "started": 0}
        if self.store.calls and meta["commit_n"] == 0:
            self.bad("I5 commits", f"{len(self.store.calls)} calls are recorded, and no commit was counted")
        if self.finished and not meta["clean"]:
            self.notes.append("the store says that the last coordinator did not stop cleanly")

    def check_inputs(self):
        """The copies of what the run began with, by the hashes that were taken then."""
        inputs = self.options.run_dir / "inputs"
        for line in (inputs / "HASHES").read_bytes().decode(errors="replace").splitlines() if (inputs / "HASHES").is_file() else ():
            was, name = [*line.split(" ", 2), ""][:2]
            path = inputs / name
            if not name or not path.is_file():
                self.bad("I2 inputs", f"inputs/{name or 'HASHES'} is {'missing' if name else 'damaged'}")
            elif Hasher("run input").bytes(path.read_bytes()).done().hex() != was:
                self.bad("I2 inputs", f"inputs/{name} is not what the run began with")

    # ---- what was planned ----

    def tasks(self):
        """Every (cell, order, repeat) of the plan, as requests: (request, name, cell, order)."""
        for cell in self.cells:
            for order in (0, 1) if self.plan.swaps else (cell.first,):
                yield cell, order

    def check_results_there(self):
        if self.finished and self.results.results is None:
            self.bad("R2 results", "results/results.json is missing")

    def check_plan(self):
        p = self.plan
        self.cells = list(p.cells)
        self.prefer_cells = []
        if p.config.get("preference") == "judge" and not p.labelled:
            self._plan_preference()
        generation = self.store.meta["generation"]
        for cell in self.cells + self.prefer_cells:
            shard = (cell.vibe == 0, cell.sample.record, cell.sample.file, cell.judge.name)
            for order in (0, 1):
                for repeat in range(generation + 1):
                    request = cell.request(order, repeat)
                    self.known[request] = (cell.name(order), shard)
                    self._know_repair(cell, order, request, shard)
                if p.retest and order == cell.first and p.swaps and cell.vibe:
                    for repeat in range(generation + 1):
                        request = cell.request(order, RETEST_REPEAT + repeat)
                        self.known[request] = (cell.name(order) + " (retest)", ("retest", *shard))
                        self._know_repair(cell, order, request, ("retest", *shard))
        wanted = [r for r in self.store.calls.values() if r["stage"] < BESIDE]
        for row in wanted if p.asked_by_data_alone else ():
            if row["request"] not in self.known and not row["foreign"]:
                self.unexpected.add(row["call"])
                self.bad("R1 plan", f"call {row['call']} asked what nobody planned (stage {row['stage']}, task {row['task']}, "
                                    f"request {row['request'].hex()[:16]})")
        self._check_numbers(wanted)
        self._check_states(generation)

    def _plan_preference(self):
        p = self.plan
        conf = p.config.get("preference_judges")
        judges = [p._judge(c, None, 0) for c in conf] if conf else p.judges
        from pathlib import Path
        template = template_hash(PREFERENCE, (Path(self.options.run_dir) / "inputs/preference.txt").read_bytes())
        kept, share = dict(p.bases), p.audit_share
        p.bases = {j.name: j.base(template) for j in judges}
        p.audit_share = 0
        self.prefer_cells = [Cell(p, s, j, ("", "", ""), 0) for s in p.samples for j in judges]
        p.bases, p.audit_share = kept, share

    def _know_repair(self, cell, order, request, shard):
        answer = self.store.answers.get(request)
        if answer is not None and cell.repair_base is not None:
            again = repair_request(cell.repair_base, request, answer["answer"])
            self.known[again] = (cell.name(order) + " (repair)", shard)
            self.shared[again] = shared_repair(cell.repair_base, answer["answer"])

    def _check_numbers(self, rows):
        """A task's number and what it asks belong together, within a stage."""
        asked, number = {}, {}
        for row in rows:
            if row["foreign"] or row["repair"]:
                continue
            a = asked.setdefault((row["stage"], row["task"], row["repeat"]), row)
            b = number.setdefault((row["stage"], row["request"]), row)
            for other in (a, b):
                if other["request"] != row["request"] or other["task"] != row["task"]:
                    self.bad("R1 plan", f"calls {other['call']} and {row['call']} disagree about which task {row['task']} of stage "
                                        f"{row['stage']} is")

    # ---- the state of a task, from answers and failure rows ----

    unknown_kind = None

    def kind_of(self, request):
        return self.kinds.get(request, self.unknown_kind)

    def outcome_of(self, request):
        """What the stored answer to a request says; None: it cannot be told here."""
        if request in self.verdicts:
            return self.verdicts[request]
        answer = self.store.answers[request]
        own = verdict.read(self.kind_of(request), answer)
        row = self.store.calls.get(answer["call"]) or self.store.others.get(answer["call"])
        said = own if own is not None else row["outcome"] or None if row else None  # 0: recorded without having been read
        if row and row["end"] == "answer" and own is not None and row["outcome"] != own and row["outcome"] in GOOD | {16, 17, 18, 19}:
            self.bad("R2 verdicts", f"call {row['call']}: the stored answer says {OUTCOMES[own]}, its ledger row {OUTCOMES[row['outcome']]}")
        self.verdicts[request] = said
        return said

    def _attempt(self, cell, request):
        failure = self.store.failures.get(request)
        if failure and failure["outcome"]:
            return failure["outcome"]
        if request not in self.store.answers:
            return OPEN
        said = self.outcome_of(request)
        if said != UNPARSEABLE or cell.repair_base is None:
            return said
        text = self.store.answers[request]["answer"]
        again = repair_request(cell.repair_base, request, text)
        if again not in self.store.answers:
            again = shared_repair(cell.repair_base, text)
        if again not in self.store.answers:
            return OPEN
        repaired = self.outcome_of(again)
        return repaired if repaired is None or repaired in GOOD else UNPARSEABLE

    def _attempts(self, cell, order, generation):
        last, failures = None, 0
        for repeat in range(generation + 1):
            request = cell.request(order, repeat)
            outcome = self._attempt(cell, request)
            if outcome == OPEN and failures > generation - self.plan.retries:
                return last  # only what cannot be read is asked again by itself
            if outcome is None or outcome == OPEN or outcome in GOOD:
                break
            failure = self.store.failures.get(request)
            last, failures = outcome, failures + bool(failure and failure["outcome"])
        return outcome

    def state(self, cell, order, generation):
        own = self._attempts(cell, order, generation)
        if order == cell.first or own is not None and own >= 48:
            return own
        if not self.plan.swaps:
            return NOT_NEEDED
        if cell.lazy and not cell.audited:
            first = self._attempts(cell, cell.first, generation)
            if first is None:
                return None
            if first in SETTLES:
                return NOT_NEEDED
        return own

    def _check_states(self, generation):
        self.states, untold = {}, 0
        if self.plan.many:
            self.notes.append("vibes_per_call is above 1: answers are not taken apart here, states are those of scores.csv")
            words = [w for row in self.results.scores or () for w in (row["verdict_a_first"], row["verdict_b_first"])]
            self.ok, self.open = sum(w != "open" for w in words), words.count("open")
            return
        never = {(int(r["record"]), int(r["file"]), int(r["vibe_id"]), r["judge"]) for r in self.results.scores or ()
                 if r["verdict_a_first"] == r["verdict_b_first"] == "not_needed"} if not self.plan.asked_by_data_alone else ()
        for cell in self.cells + self.prefer_cells:
            for order in (0, 1):
                state = self.state(cell, order, generation)
                if state == OPEN and (cell.sample.record, cell.sample.file, cell.vibe, cell.judge.name) in never:
                    state = NOT_NEEDED  # a vibe that was dropped half-way
                self.states[cell, order] = state
                untold += state is None
                if state == OPEN:
                    self._open(cell, order)
                else:
                    self.ok += 1
        if untold:
            self.notes.append(f"{untold} verdicts are not in a plain form: the ledger's reading of them was taken")

    def _open(self, cell, order):
        self.open += 1
        if not self.finished or not self.plan.asked_by_data_alone:
            return
        paid = [r["call"] for r in self.by_request[cell.request(order, 0)] if r["end"] == "answer"]
        self.lost.add((cell, order))
        self.bad("R1 tasks", f"{cell.name(order)} has no state in a finished run"
                 + (f", though call {paid[0]} answered it" if paid else ""))

    # ---- the endpoint ----

    def check_endpoint(self):
        if self.endpoint is None:
            return
        for call, seen in self.endpoint.calls.items():
            if call in self.store.others:
                continue
            row = self.store.calls.get(call) or self.spools.get(call)
            if sum(bool(s["answer"] and s["answer"].get("paid")) for s in seen) > 1:
                self.bad("R5 repeats", f"call {call} was paid {len(seen)} times under one id")
            if row is None:
                self._unrecorded(call, seen)
            elif call in self.store.calls:
                self._compare(call, row, seen)
        for call, row in self.store.calls.items():
            if call not in self.endpoint.calls and not self.batches.has(row) and (row["http_status"] or row["end"] not in ABSENT_ANYWAY):
                self.unexpected.add(call)
                self.bad("R4 ledger", f"call {call} is in the ledger as {row['end']} (HTTP {row['http_status']}), and the endpoint never saw it")
        for call, row in self.spools.items():
            if call not in self.endpoint.calls and row["end"] == "answer" and not self.batches.pools:
                self.unexpected.add(call)
                self.bad("R4 ledger", f"call {call} is in spool {row['spool']} as answered, and the endpoint never saw it")
        if self.in_flight:
            self.notes.append(f"{self.in_flight} calls at the endpoint are not recorded yet: the run goes on")

    def _unrecorded(self, call, seen):
        if self.live:
            self.in_flight += 1
            return
        paid = any(s["answer"] and s["answer"].get("paid") for s in seen)
        self.lost.add(call)
        self.bad("R4 ledger", f"call {call} ({seen[0]['request'].get('model')}) reached the endpoint{' and was paid' if paid else ''}, "
                              "and is neither in the ledger nor in a spool")

    def _compare(self, call, row, seen):
        last = seen[-1]
        answer = last["answer"]
        if row["end"] == "answer" and not (answer and answer["status"] == 200):
            self.unexpected.add(call)
            self.bad("R4 ledger", f"call {call} is recorded as answered, and the endpoint answered "
                                  f"{answer['status'] if answer else 'nothing'}")
        if row["end"] in ("rate", "bad_request", "closed") and self.endpoint.paid(call):
            self.bad("R4 ledger", f"call {call} was paid at the endpoint, and is recorded as {row['end']}")
        clean = self.endpoint.clean(call)
        if not clean or row["end"] != "answer":
            return
        told = (clean["answer"]["prompt_tokens"], clean["answer"]["completion_tokens"])
        if told != (row["tokens_in"], row["tokens_out"]) and told != (0, 0):
            self.bad("R4 ledger", f"call {call}: the endpoint counted {told[0]} + {told[1]} tokens, the ledger {row['tokens_in']} + {row['tokens_out']}")
        said = self._told(row["request"], clean)
        if said is not None and row["outcome"] and row["outcome"] != said:
            self.bad("R2 verdicts", f"call {call}: the endpoint said {OUTCOMES[said]}, the ledger has {OUTCOMES[row['outcome']]}")

    def _told(self, request, clean):
        """The verdict that the endpoint says it gave, as a number; None: none, or it garbled it."""
        said = clean["answer"].get("verdict") if clean["answer"].get("outcome") == "ok" else None
        return verdict.WORDS.get(self.kind_of(request) or "verdict", {}).get(said.lower()) if isinstance(said, str) else None

    # ---- fences ----

    def check_fences(self):
        leases = {}
        for row in self.store.calls.values():
            if row["epoch"] > self.store.meta["epoch"]:
                self.bad("R6 fence", f"call {row['call']} has epoch {row['epoch']}, and the run is at {self.store.meta['epoch']}")
            if row["n"] == 0:
                continue  # only heard of
            shard = (self.chats if row["stage"] >= BESIDE else self).shard_of(row)
            first = leases.setdefault((row["epoch"], row["n"]), (row, shard))
            if first[0]["call"][:16] != row["call"][:16]:  # a worker's process; its name is that of who brought its spool
                self.bad("R6 fence", f"fence {row['epoch']}.{row['n']}: calls of two processes, {first[0]['call']} ({first[0]['worker']}) and "
                                     f"{row['call']} ({row['worker']})")
            if None not in (shard, first[1]) and shard != first[1]:
                self.bad("R6 fence", f"fence {row['epoch']}.{row['n']}: calls of two shards, {first[0]['call']} and {row['call']}")

    def shard_of(self, row):
        """None: it is not known."""
        return self.known.get(row["request"], (None, None))[1]

    # ---- the first answer stands ----

    def check_answers(self):
        uid = self.options.uid
        for request, answer in self.store.answers.items():
            if answer["run"] != uid:
                continue
            row = self.store.calls.get(answer["call"])
            if row is None:
                self.unexpected.add(answer["call"])
                self.bad("I2 answers", f"the answer of call {answer['call']} stands in the store, and the ledger has no such call")
            elif is_shared_repair(request):
                self._check_shared(row, answer)
            elif row["request"] != request or row["end"] != "answer" or not row["used"]:
                self.bad("I2 answers", f"call {answer['call']} gave the standing answer, and its ledger row says otherwise "
                                       f"({row['end']}, {'used' if row['used'] else 'not used'}, request {row['request'].hex()[:16]})")
            elif (answer["tokens_in"], answer["tokens_out"]) != (row["tokens_in"], row["tokens_out"]):
                self.bad("I2 answers", f"call {answer['call']}: the answer and its ledger row count different tokens")
            self._said_by_endpoint(request, answer)
        for row in self.store.calls.values():
            if row["end"] != "answer":
                continue
            standing = self.store.answers.get(row["request"]) or self.store.answers.get(self.shared.get(row["request"]))
            if standing is None:
                self.lost.add(row["call"])
                self.bad("I2 answers", f"call {row['call']} was answered, and no answer to its question is stored")
            elif (standing["call"] == row["call"]) != row["used"]:
                self.bad("I2 answers", f"call {row['call']} is recorded as {'used' if row['used'] else 'unused'}, and the standing answer is "
                                       f"of call {standing['call']}")
            elif not row["used"]:
                first = self.store.calls.get(standing["call"]) or self.store.others.get(standing["call"])
                if first and first["recorded"] > row["recorded"]:
                    self.bad("I2 answers", f"call {row['call']} was recorded before {first['call']}, whose answer stands")
        self._check_failures()

    def _check_shared(self, row, answer):
        own = self.store.answers.get(row["request"])
        if not row["repair"] or own is None or (own["call"], own["answer"]) != (row["call"], answer["answer"]):
            self.bad("I2 answers", f"an answer that texts share is said to be of call {row['call']}, which is no repair, or was answered otherwise")

    def _said_by_endpoint(self, request, answer):
        clean = self.endpoint.clean(answer["call"]) if self.endpoint else None
        said = self._told(request, clean) if clean else None
        own = verdict.read(self.kind_of(request), answer)
        if said is not None and own not in (None, said):
            self.bad("R2 verdicts", f"call {answer['call']}: the endpoint said {OUTCOMES[said]}, the stored answer says {OUTCOMES[own]}")

    def _check_failures(self):
        for request, row in self.store.failures.items():
            name = self.known.get(request, (f"request {request.hex()[:16]}",))[0]
            beside = self.store.calls.get(row["call"], {}).get("stage", 0) >= BESIDE and not self.chats.staged
            if self.plan.asked_by_data_alone and request not in self.known and not beside:
                self.unexpected.add(request)
                self.bad("R1 plan", f"a failure of {name} is recorded, which nobody planned")
            if row["outcome"] and row["call"] != "0" * 32:
                call = self.store.calls.get(row["call"])
                if call is None or call["end"] in ("answer", "unknown"):
                    self.bad("I9 failures", f"{name} failed by call {row['call']}, which the ledger {'does not have' if call is None else 'has as ' + call['end']}")

    # ---- repeats ----

    def _clocks_agree(self):
        """Whether wall times of workers, coordinator and endpoint can be compared: no clock jumped."""
        if self.endpoint is None:
            return True
        for row in self.store.calls.values():
            seen = self.endpoint.calls.get(row["call"])
            if seen and row["started"] and abs(seen[0]["request"]["unix_ms"] - row["started"]) > CLOCKS_AGREE_MS + row["latency_ms"]:
                return False
            if seen and row["recorded"] + CLOCKS_AGREE_MS < seen[0]["request"]["unix_ms"]:
                return False
        return not self.endpoint.jumped

    def check_repeats(self):
        self.clocks_agree = self._clocks_agree()
        if not self.clocks_agree:
            self.notes.append("wall clocks jumped or differ: whether an answer was recorded before its question was asked again cannot be told")
        bought = collections.defaultdict(list)
        for row in [*self.store.calls.values(), *self.store.others.values()]:
            paid = self.endpoint.paid(row["call"]) if self.endpoint and not self.batches.has(row) else row["end"] == "answer"
            if paid:  # of a call that was only heard of nobody knows more than its task
                bought[row["request"] if row["request"] != NEVER_SEEN else (row["run"], row["stage"], row["task"])].append(row)
        for request, rows in bought.items():
            rows.sort(key=self._asked_at)
            for at, row in enumerate(rows[1:], 1):
                if row["run"] != self.options.uid:
                    continue
                causes = [self._explained(before, row) for before in rows[:at]]
                heard_of = row["request"] == NEVER_SEEN
                name = f"task {row['task']} of stage {row['stage']}" if heard_of else self.known.get(request, (f"request {request.hex()[:16]}",))[0]
                wrong = [c for c in causes if c.startswith("!")]
                self.repeats.append({"call": row["call"], "task": name, "cause": wrong[0] if wrong else causes[-1]})
                if wrong:
                    self.bad("R5 repeats", f"{name} was bought again by call {row['call']}: {wrong[0][1:]}")

    def _asked_at(self, row):
        """By the endpoint's own clock where there is one log; a worker's word otherwise."""
        seen = self.endpoint.calls.get(row["call"]) if self.endpoint and self.endpoint.logs == 1 else None
        return (0, seen[0]["request"]["mono_ns"], row["started"]) if seen else (1, row["started"], row["recorded"])

    def _explained(self, before, row):
        """The cause as the ledger has it, and whether what was done to the run bears it out."""
        cause = self._cause(before, row)
        if self.batches.has(before) or self.batches.has(row):
            return cause
        if self.disturbed is None or cause[0] == "!" or before["run"] != row["run"] or cause.startswith("two tasks"):
            return cause
        why_not = self.disturbed.why_not(self.endpoint, before, row)
        return f"!{why_not} (the ledger says: {cause})" if why_not else cause

    def _cause(self, before, row):
        if before["end"] != "answer":
            return "unknown" if before["end"] == "unknown" else f"retry after {before['end']}"
        if before["run"] != row["run"]:
            return "another run"
        if self.batches.has(before) or self.batches.has(row):  # a task is reserved for as long as a call of it is in a batch
            return self._two_tasks(before, row) or f"!the answer of call {before['call']} had been bought" + " in a batch" * self.batches.has(before)
        same = (before["epoch"], before["n"]) == (row["epoch"], row["n"]) and row["n"]
        if same and row["end"] in RETRIED and row["started"] <= before["started"]:
            return f"retry after {row['end']}"  # the worker had given it up already, and it reached the endpoint late
        if before["recorded"] > row["started"] or not self.clocks_agree or self._in_flight_together(before, row):
            if two := self._two_tasks(before, row):
                return two
            return f"!under one lease, while call {before['call']} was being answered" if same else "silent for a term"
        term = int(self.plan.config.get("term_ms", 30000))
        if row["started"] - before["recorded"] <= term and (before["epoch"], before["n"]) != (row["epoch"], row["n"]):
            return self._two_tasks(before, row) or "leased before the late answer came"
        return f"!the answer of call {before['call']} had been recorded {row['started'] - before['recorded']} ms before"

    def _two_tasks(self, before, row):
        """One question of two tasks of a stage. What dialogues begin with is asked in the first of them alone."""
        if (before["stage"], before["run"]) != (row["stage"], row["run"]) or before["task"] == row["task"] or before["foreign"] or row["foreign"]:
            return None
        staged = self.staged_of(row)
        chat = staged and row["stage"] in staged.stages and staged.stages[row["stage"]].kind == CHAT
        return f"!two dialogues begin with it, and call {before['call']} asked it in the other" if chat else "two tasks asked it at once"

    def _in_flight_together(self, before, row):
        """By the endpoint's own clock: the second was there before the first was answered."""
        if self.endpoint is None or self.endpoint.logs != 1:
            return False
        first, second = self.endpoint.calls.get(before["call"]), self.endpoint.calls.get(row["call"])
        return bool(first and second and first[0]["answer"] and second[0]["request"]["mono_ns"] < first[0]["answer"]["mono_ns"])

    def check_retries(self):
        """Under one lease nothing is sent again after an end that a retry cannot help."""
        for request, rows in self.by_request.items():
            rows.sort(key=lambda r: (r["tries"], r["call"]))
            for at, row in enumerate(rows):
                before = [b for b in rows[:at] if (b["epoch"], b["n"]) == (row["epoch"], row["n"]) and row["n"]]
                for b in before:
                    if b["end"] == "bad_request" or b["end"] == "too_long" and not self.plan.judging.get("truncate"):
                        name = self.known.get(request, (f"request {request.hex()[:16]}",))[0]
                        self.bad("R5 retries", f"{name} was sent again by call {row['call']} after call {b['call']} ended as {b['end']}")

    def check_bounds(self):
        unknown, again = self.unknown(), [r["call"] for r in self.repeats if r["cause"] == "unknown"]
        every = [r["call"] for r in self.repeats]
        for what, found, most in (("calls are unknown", unknown, self.options.unknown_max),
                                  ("answers were bought again after an unknown call", again, self.options.unknown_max),
                                  ("answers were bought again", every, self.options.repeats_max)):
            if most is not None and len(found) > most:
                self.bad("R5 repeats", f"{len(found)} {what}, at most {most} may be: {', '.join(found[:5])}")

    def unknown(self):
        spooled = [c for c, r in self.spools.items() if r["end"] == "unknown" and c not in self.store.calls and not self.live]
        return [r["call"] for r in self.store.calls.values() if r["end"] == "unknown"] + spooled

    def recovered(self):
        """Answers that came by another way than their lease: of an earlier epoch, or out of a spool."""
        began = {}
        for row in self.store.calls.values():
            began[row["epoch"]] = min(row["started"], began.get(row["epoch"], row["started"]))
        later = 0
        for row in self.store.calls.values():
            if row["end"] == "answer":
                later += any(epoch > row["epoch"] and at <= row["recorded"] for epoch, at in began.items()) \
                    or row["epoch"] < self.store.meta["epoch"] and row["recorded"] >= self.store.meta["started"]
        return max(later, self.results.imported)

    # ---- results ----

    def check_scores(self):
        scores = self.results.scores
        if scores is None:
            if self.finished:
                self.bad("R2 results", "results/scores.csv is missing")
            return
        by_key = {}
        for row in scores:
            key = (int(row["record"]), int(row["file"]), int(row["vibe_id"]), row["judge"])
            if key in by_key:
                self.bad("I1 counted twice", f"scores.csv has {self._key(key)} twice")
            by_key[key] = row
        for cell in self.cells:
            key = (cell.sample.record, cell.sample.file, cell.vibe, cell.judge.name)
            row = by_key.pop(key, None)
            if row is None:
                self.bad("R1 tasks", f"scores.csv lacks {self._key(key)}")
                continue
            self._check_score(cell, row)
        for key in by_key:
            self.unexpected.add(key)
            self.bad("R1 plan", f"scores.csv has {self._key(key)}, which nobody planned")

    @staticmethod
    def _key(key):
        return f"record {key[0]} (file {key[1]}) x vibe {key[2]} x {key[3]}"

    def _check_score(self, cell, row):
        words = (row["verdict_a_first"], row["verdict_b_first"])
        never = words == ("not_needed", "not_needed") and not self.plan.asked_by_data_alone
        for order in (0, 1) if self.states and not never else ():
            state = self.states[cell, order]
            if state is not None and OUTCOMES[state] != words[order]:
                self.bad("R2 results", f"{cell.name(order)}: scores.csv says {words[order]}, answers and failures make it {OUTCOMES[state]}")
        numbers = [next(n for n, w in OUTCOMES.items() if w == word) for word in words]
        score, status = score_of(self.plan.rule, *numbers)
        if (row["score"], row["status"]) != ("" if score is None else str(score), status):
            self.bad("R2 results", f"{cell.name(0)}: scores.csv has score '{row['score']}' ({row['status']}), its verdicts make "
                                   f"'{'' if score is None else score}' ({status})")

    def check_results(self):
        results, scores = self.results.results, self.results.scores
        if results is None or scores is None:
            return
        counts, missing, rows = collections.Counter(), collections.Counter(), collections.defaultdict(list)
        first = {(c.sample.record, c.sample.file, c.judge.name): c.first for c in self.cells}
        for row in scores:
            order = first.get((int(row["record"]), int(row["file"]), row["judge"]))
            words = (row["verdict_a_first"], row["verdict_b_first"])
            vibe, judge = int(row["vibe_id"]), row["judge"]
            if order is None or words == ("not_needed", "not_needed"):
                continue
            counts[vibe, judge, label_of(words[order], order)] += 1
            missing[vibe, judge] += row["score"] == ""
            if row["score"] != "":
                rows[vibe, row["split"], row["record"], row["file"]].append(int(row["score"]))
        cascade = Cascade(self) if self.plan.cascade else None
        for vibe in results["vibes"]:
            self._check_vibe(vibe, counts, missing, rows, cascade)
        if results["cells_missing"] != sum(missing.values()):
            self.bad("I9 missing", f"results.json counts {results['cells_missing']} missing cells, scores.csv has {sum(missing.values())}")

    def _check_vibe(self, vibe, counts, missing, rows, cascade=None):
        for judge, said in vibe["label_counts"].items():
            found = {word: counts[vibe["id"], judge, word] for word in said}
            if found != said:
                wrong = {w: (said[w], found[w]) for w in said if said[w] != found[w]}
                self.bad("R2 results", f"vibe {vibe['name']}, {judge}: results.json counts other labels than scores.csv has "
                         + ", ".join(f"{w} {a} / {b}" for w, (a, b) in wrong.items()))
            if vibe["missing"][judge] != missing[vibe["id"], judge]:
                self.bad("I9 missing", f"vibe {vibe['name']}, {judge}: results.json says {vibe['missing'][judge]} missing, scores.csv has "
                                       f"{missing[vibe['id'], judge]}")
        if self.plan.judging.get("invalid", "missing") != "missing":
            return
        if cascade:
            cascade.check_vibe(vibe)
            return
        for split in ("train", "test"):
            x = [sum(v) / len(v) for (v_id, s, _, _), v in rows.items() if v_id == vibe["id"] and s == split]
            said = vibe["separability"][split]
            mean = sum(x) / len(x) if x else None
            if (said is None) != (mean is None) or mean is not None and abs(said - mean) > 1e-8 * max(1, abs(mean)):
                self.bad("R2 results", f"vibe {vibe['name']}: separability on {split} is {said} in results.json, the scores give {mean}")

    # ---- accounting ----

    def own_rows(self):
        return [r for r in self.store.calls.values() if r["stage"] < BESIDE]

    def check_accounting(self):
        account = self.results.accounting
        if account is None:
            if self.finished:
                self.bad("R4 accounting", "accounting.json is missing")
            return
        if self.live or not self.finished:
            self.notes.append("accounting.json is of an earlier end: it was not compared")
            return
        more = {}
        if self.plan.asked_by_data_alone and not self.prefer_cells and not self.plan.retest:
            more = self._task_counts(self.own_rows())
        self._compare_accounting("accounting.json", account["calls"], self.own_rows(), more)

    def compare_accounting(self, path, rows, staged):
        """Of what was asked beside the run."""
        name = f"{path.parent.name}/{path.name}"
        if not path.is_file():
            self.bad("R4 accounting", f"{name} is missing")
            return
        self._compare_accounting(name, records.read_json(path)["calls"], rows, self.counts_of(staged, rows))

    def _compare_accounting(self, file, calls, rows, more):
        want = {"sent": sum(map(sent, rows)), "answered": sum(r["end"] == "answer" for r in rows), "not_sent": sum(not sent(r) for r in rows),
                "unknown": sum(r["end"] == "unknown" for r in rows), "cancelled": sum(r["end"] == "cancelled" for r in rows), "foreign": sum(r["foreign"] for r in rows),
                "paid_unused": sum(r["end"] == "answer" and not r["used"] for r in rows),
                "repairs": sum(r["repair"] and sent(r) for r in rows), **more}
        want.update({k: sum(r[k] for r in rows) for k in ("tokens_in", "tokens_cached", "tokens_written", "tokens_out")})
        want["latency_ms"] = sum(r["latency_ms"] for r in rows if r["end"] == "answer")
        for end in RETRIED:
            want[f"failed.{end}"] = sum(r["end"] == end for r in rows)
        for name, value in want.items():
            said = (calls.get("failed") or {}).get(name[7:]) if name.startswith("failed.") else calls.get(name)
            if said != value:
                self.bad("R4 accounting", f"{file} says {name} {said}, the ledger has {value}")
        if calls.get("planned") != sum(calls.get(k, 0) for k in ("first_sends", "from_store", "saved_by_lazy_swap", "not_asked")):
            self.bad("I1 accounting", f"{file}: planned is not first_sends + from_store + saved_by_lazy_swap + not_asked")
        if calls.get("sent") != sum(calls.get(k, 0) for k in ("first_sends", "asked_again", "retried", "repairs")):
            self.bad("I1 accounting", f"{file}: sent is not first_sends + asked_again + retried + repairs")

    def _task_counts(self, rows):
        asked = {(r["task"], r["repeat"]) for r in rows if sent(r) and not r["repair"] and not r["foreign"]}
        firsts = {t for t, repeat in asked if repeat == 0}
        number = {r["request"]: r["task"] for r in rows if not r["foreign"] and not r["repair"]}
        again = {t for t, repeat in asked if repeat > 0}
        counts = collections.Counter(planned=0, from_store=0, saved_by_lazy_swap=0, not_asked=0)
        for cell, order in self.tasks():
            counts["planned"] += 1
            task = next((number[q] for q in (cell.request(order, r) for r in range(self.store.meta["generation"] + 1)) if q in number), None)
            if task in firsts:
                continue
            state = self.states[cell, order]
            if state == NOT_NEEDED and task not in again:
                counts["saved_by_lazy_swap"] += 1
            elif task in again or state is None or state in GOOD | {16, 17, 18, 19}:
                counts["from_store"] += 1
            else:
                counts["not_asked"] += 1
        asked_again = sum(repeat > 0 for _, repeat in asked)
        retried = sum(sent(r) and not r["repair"] for r in rows) - len(asked)
        return {**counts, "first_sends": len(firsts), "asked_again": asked_again, "retried": retried}

    # ---- money ----

    def prices(self):
        """By the name of a pool: nano-dollars a token of input, cached input and output."""
        found = {}

        def add(name, c):
            p_in, p_out = float(c.get("price_input_usd", -1)), float(c.get("price_output_usd", -1))
            cached = float(c.get("price_cached_usd", -1))
            if p_in >= 0 and p_out >= 0:
                found[name] = (p_in * 1000, (cached if cached >= 0 else p_in) * 1000, p_out * 1000)
        for judge in self.plan.config["judges"]:
            add(judge.get("name", judge["model"]), judge)
        for pool in self.plan.config.get("pools") or ():
            for model in pool["models"]:
                add(name_of(pool, model), model)
        for name, part in self.batches.pools.items():
            found.update({name: tuple(price * part for price in found[name])} if name in found else {})
        return found

    def money(self):
        """Of all calls, also of those beside the run."""
        rows = self.store.calls.values()
        paid = sum(r["cost_nano"] for r in rows if r["end"] == "answer")
        unused = sum(r["cost_nano"] for r in rows if r["end"] == "answer" and not r["used"])
        unknown = sum(r["cost_nano"] for r in rows if r["end"] != "answer")
        return paid / 1e9, unused / 1e9, unknown / 1e9

    def check_money(self):
        prices = self.prices()
        for row in self.own_rows():
            price = prices.get(row["pool"])
            if row["end"] != "answer" or not price or row["unreported"]:
                continue
            cost = (row["tokens_in"] - row["tokens_cached"]) * price[0] + row["tokens_cached"] * price[1] + row["tokens_out"] * price[2]
            if abs(row["cost_nano"] - cost) > 1.01 and (self.batches.has(row) or not self._writes_cache(row)):
                self.bad("R4 money", f"call {row['call']} cost {row['cost_nano']} nano-dollars in the ledger, {cost:.0f} by its tokens and the price")
        account = self.results.accounting
        if account is None or account["cost_usd"] is None or not self.finished:
            return
        total = sum(r["cost_nano"] for r in self.own_rows()) / 1e9
        if abs(total - account["cost_usd"]) > 1e-8 * max(1e-9, total):
            self.bad("R4 money", f"accounting.json says {account['cost_usd']} dollars, the ledger's calls cost {total:.9f}")

    def _writes_cache(self, row):
        seen = self.endpoint.calls.get(row["call"]) if self.endpoint else None
        return seen is None or any(s["request"].get("cache_written_tokens") for s in seen)

    # ---- Redis ----

    def check_redis(self):
        redis = self.redis
        if not redis.alive or redis.n is None:
            return
        if not redis.owner.startswith(self.options.uid + ":"):
            self.bad("I5 Redis", f"another run owns it: {redis.owner}")
        if redis.n > self.store.meta["commit_n"]:
            self.bad("R6 Redis", f"it is at commit {redis.n}, the store at {self.store.meta['commit_n']}")
        found = collections.Counter()
        for (stage, _), block in redis.columns.items():
            if stage == redis.stage:
                found.update(block)
        said = collections.Counter(redis.tally)
        for counter in (found, said):
            counter.pop(0, None)
        if {k: v for k, v in found.items() if v} != {k: v for k, v in said.items() if v}:
            self.bad("I1 Redis", f"its tally {dict(said)} is not what its columns hold {dict(found)}")
        if redis.n != self.store.meta["commit_n"]:
            return
        for row in self.store.calls.values():
            if row["stage"] == redis.stage and row["end"] == "answer" and not row["foreign"]:
                block = redis.columns.get((redis.stage, row["task"] >> 20), b"")
                at = row["task"] & 0xFFFFF
                if at >= len(block) or block[at] == OPEN and row["request"] in self.verdicts and self.verdicts[row["request"]] != UNPARSEABLE:
                    self.bad("I2 Redis", f"task {row['task']} of stage {row['stage']} is open there, and call {row['call']} answered it")


def label_of(word, order):
    """The word of label_counts for what stands for the order that was asked first."""
    if word in ("A", "B"):
        return "ab"[(word == "B") ^ (order == 1)]
    named = {"equal": "equal", "N/A": "na", "unsure": "unsure", "refused": "refused", "truncated": "truncated", "unparseable": "unparseable",
             "empty": "unparseable"}
    return named.get(word, "failed")


def score_of(rule, first, second):
    """(score, status) of what stands for order 0 and order 1; score None: missing."""
    sign = {1: 1, 2: -1}
    if rule == "strict":
        if first in SETTLES or second in SETTLES:
            return 0, "settled"
        if first not in VOTES or second not in VOTES:
            return None, "missing"
        return (0, "contradicted") if first == second else (sign[first], "agreed")
    if first not in VOTES or rule == "lenient" and second not in VOTES:
        return None, "missing"
    a = sign.get(first, 0)
    if rule == "forward":
        return a, "settled" if first in SETTLES else "agreed"
    b = sign.get(second, 0)
    status = "settled" if a == b == 0 else "contradicted" if a == b else "agreed" if a == -b else "half"
    return (a > b) - (a < b), status
