"""Tasks that hang on one another, against calls: what each call asked is what its task asks, in the order in which one follows from the other. And the
dialogues of `vibeq chat`, which are led beside any run."""
import collections
import json

from auditing.plan import Hasher, read_config, reading, template_hash
from auditing.store import OUTCOMES
from auditing.tasks import AS_IS, AS_IS_NUMBER, CHAT, GOOD, NEVER_SEEN, OPEN, PROBE, Stage, Staged, packed

BESIDE = 0x80000000  # stages that are not the run's own
ANSWERED = GOOD | {16, 17, 18, 19}


def sent(row):
    """Whether anything of it left the machine; as the ledger's accounting counts it."""
    return not (row["end"] in ("network", "cancelled") or row["end"] in ("too_long", "closed") and row["http_status"] == 0)


class Chats:
    """`vibeq chat`: what was asked, by the copies that it keeps beside its dialogues."""

    def __init__(self, audit):
        run_dir = audit.options.run_dir
        self.folder, self.audit, self.staged, self.chains = run_dir / "chat", audit, None, []
        self.path = self.folder / "chains.jsonl"
        self.rows = [r for r in audit.store.calls.values() if r["stage"] >= BESIDE]
        if not self.path.is_file():
            return
        kept = self.folder / "run.yaml"
        config = read_config(kept)
        with reading(kept):
            own, audit.plan.judging = audit.plan.judging, config.get("judging") or {}
            self.judges = [audit.plan._judge(c, None if c.get("base_url") else audit.results.results, i) for i, c in enumerate(config["judges"])]
            audit.plan.judging = own
        with reading(self.path):
            self._read()
        self._lead()

    def _read(self):
        self.given = []
        for i, line in enumerate(self.path.read_text(encoding="utf-8-sig").splitlines()):
            if not line.strip():
                continue
            of = json.loads(line)
            queries, system = of.get("queries"), of.get("system") or ""
            if not isinstance(queries, list) or not queries or not all(isinstance(q, str) for q in queries) or not isinstance(system, str):
                raise ValueError(f"line {i + 1} has no list of queries")
            self.given.append((system.encode(), [q.encode() for q in queries]))
        if not self.given:
            raise ValueError("it has no dialogue")

    def _lead(self):
        h = Hasher("vq.chats")
        for system, queries in self.given:
            h.field(system).field(packed(queries))
        number = BESIDE | int.from_bytes(h.done()[:8], "big") & 0xFFFFFFFF
        turns_max = max(len(q) for _, q in self.given)
        self.staged = Staged(self.audit, self.audit.store.meta["generation"])
        stage = self.staged.stages[number] = Stage(number, "chat", CHAT, len(self.judges), turns_max, len(self.given))
        template = template_hash(AS_IS_NUMBER, AS_IS)
        for i, (system, queries) in enumerate(self.given):
            for j, judge in enumerate(self.judges):
                name = f"dialogue {i} x {judge.name}"
                turns = self.staged.lead(stage, i, j, judge.base(template), system, queries, name)
                stage.unneeded += turns_max - len(queries)
                self.chains.append((i, judge.name, name, system, queries, turns))

    def shard_of(self, row):
        task = self.staged.task_of(row) if self.staged else None
        return task.shard if task else None

    @property
    def finished(self):
        return (self.folder / "dialogues.jsonl").is_file() and not self.audit.live

    def check(self):
        audit = self.audit
        others = [r for r in self.rows if not self.staged or r["stage"] not in self.staged.stages]
        if others:
            audit.notes.append(f"{len(others)} calls are of questions beside the run that are not kept: what they asked was not compared")
        if not self.staged:
            return
        stage, = self.staged.stages
        audit.check_tasks(self.staged, [r for r in self.rows if r["stage"] == stage], self.finished)

    def check_results(self):
        if not self.staged or not self.finished:
            return
        want = []
        for i, model, _, system, queries, turns in self.chains:
            first = next((t for t in turns if t.answer is None), None)
            said = turns.index(first) if first else len(turns)
            want.append({"chain": i, "model": model, "system": system.decode(), "messages": messages(queries, turns[:said]),
                         "ended": OUTCOMES[first.state] if first else None})
        compare_dialogues(self.audit, "chat/dialogues.jsonl", self.folder / "dialogues.jsonl", want, [c[2] for c in self.chains])
        stage, = self.staged.stages
        self.audit.compare_accounting(self.folder / "accounting.json", [r for r in self.rows if r["stage"] == stage], self.staged)


class Talks:
    """The part of an audit that knows such tasks."""

    def check_chats(self):
        self.chats = Chats(self)
        self.chats.check()

    staged = None

    def staged_of(self, row):
        return self.chats.staged if row["stage"] >= BESIDE else self.staged

    def planned(self):
        return sum(1 for _ in self.tasks()) + (sum(1 for _ in self.chats.staged.tasks()) if self.chats.staged else 0)

    def check_tasks(self, staged, rows, finished):
        numbered = staged.generation == 0 and not any(f["outcome"] == 0 for f in self.store.failures.values())
        if not numbered:
            self.notes.append("tasks were opened again: calls are compared by what they asked, not by their numbers")
        early, moved, wrong = [], collections.defaultdict(list), set()
        for row in rows:
            what = self._check_row(staged, row, numbered)
            if what == "early":
                early.append(row)
            elif what is not None:
                moved[row["stage"]].append((row, what))
        wrong = {r["stage"] for r in rows if r["call"] in self.unexpected} | {t.stage.no for t in staged.tasks() if finished and t.state == OPEN}
        for stage, of in moved.items():
            self._moved(stage, of, bool(wrong & {stage - 1, stage, stage + 1}))  # with its shared part
        if early:
            self.notes.append(f"{len(early)} calls went on from an answer that another one came before; they settled nothing")
        self.check_order(staged)
        self.check_bodies(staged)
        for task in staged.tasks():
            if task.state != OPEN:
                self.ok += 1
                continue
            self.open += 1
            if finished:
                self.lost.add(task)
                self.bad("R1 tasks", f"{task.name} has no state in a finished run")

    def _moved(self, stage, of, follows):
        """Calls with the numbers of other tasks. In a stage that holds something else than was asked, all that is behind it moves along."""
        if follows and len(of) > 1:
            self.bad("R1 plan", f"{len(of)} further calls of stage {stage} have other numbers than what they asked has by the stored answers, call "
                                f"{of[0][0]['call']} the first")
            return
        for row, asked in of:
            task = self.staged_of(row).task_of(row)
            self.unexpected.add(row["call"])
            self.bad("R1 plan", f"call {row['call']} has the number of {task.name if task else 'no task'} (stage {stage}, task {row['task']}), "
                                f"and asked {asked.name}")

    def _check_row(self, staged, row, numbered):
        """None: it was looked at; "early": of a branch that nobody continues; a task: that is what it asked, by another number."""
        if row["end"] == "unknown" and row["request"] == NEVER_SEEN:
            return None
        asked, task = staged.by_request.get(row["request"]), staged.task_of(row)
        if asked and not numbered:
            return None
        if asked and task in asked:
            if task.request(row["repeat"]) != row["request"]:
                self.bad("R1 plan", f"call {row['call']} is of {task.name}, asked for the {row['repeat'] + 1}. time, and its request is not that")
            return None
        if asked:
            return asked[0]
        if task and row["foreign"] and task.stage.kind == CHAT and self._strayed(row, task):
            return "early"
        self.unexpected.add(row["call"])
        if task and task.behind and task.request is None:
            self.bad("R1 plan", f"call {row['call']} asked {task.name}, and {task.behind[0].name} has no answer that stands")
        elif task:
            self.bad("R1 plan", f"call {row['call']} is of {task.name}, and asked something else than that follows from the stored answers "
                                f"(request {row['request'].hex()[:16]})")
        else:
            self.bad("R1 plan", f"call {row['call']} asked what nobody planned (stage {row['stage']}, task {row['task']}, "
                                f"request {row['request'].hex()[:16]})")
        return None

    def _strayed(self, row, task):
        """A worker whose answer to an earlier turn did not become the standing one goes on from its own."""
        first = task.number - task.number % (2 * task.stage.vibes)
        mine = [r for r in self.store.calls.values() if r["stage"] == row["stage"] and first <= r["task"] < task.number
                and (r["epoch"], r["n"]) == (row["epoch"], row["n"])]
        return any(r["end"] == "answer" and (not r["used"] or r["foreign"]) for r in mine)

    def check_order(self, staged):
        """By the endpoint's own clock: nothing was asked before that was answered which it repeats, or rates."""
        if self.endpoint is None or self.endpoint.logs != 1:
            return
        asked, answered = {}, {}
        calls = collections.defaultdict(list)
        for row in [*self.store.calls.values(), *self.store.others.values(), *self.spools.values()]:
            calls[row["request"]].append(row["call"])
        for request, of in calls.items():
            seen = [s for call in of for s in self.endpoint.calls.get(call, ())]
            if seen:
                asked[request] = min((s["request"]["mono_ns"], s["request"]["call"]) for s in seen)
            told = [s["answer"]["mono_ns"] for s in seen if s["answer"] and s["answer"]["status"] == 200]
            if told:
                answered[request] = min(told)
        for task in staged.tasks():
            for before in task.behind if task.request else ():
                for repeat in range(staged.repeats(1)):
                    at, since = asked.get(task.request(repeat)), answered.get(before.stands)
                    if at and since and at[0] < since:
                        self.bad("R1 order", f"call {at[1]} asked {task.name} {(since - at[0]) // 1000} us before {before.name} was answered")

    def check_bodies(self, staged):
        """What was sent to a model in dialogues: the same bytes for the same question, others for another."""
        body_of, question_of = {}, {}
        for row in self.store.calls.values() if self.endpoint else ():
            task = staged.task_of(row)
            if not task or task.stage.kind not in (CHAT, PROBE) or row["request"] == NEVER_SEEN or row["foreign"]:
                continue
            for seen in self.endpoint.calls.get(row["call"], ()):
                body, of = seen["request"].get("hash"), (row["judge"], row["pool"], row["repeat"])
                first = body_of.setdefault((*of, row["request"]), (body, row["call"]))
                other = question_of.setdefault((*of, body), (row["request"], row["call"]))
                if first[0] != body:
                    self.bad("R1 bodies", f"calls {first[1]} and {row['call']} both asked {task.name}, and were sent as different ones")
                elif other[0] != row["request"]:
                    self.bad("R1 bodies", f"call {row['call']} asked {task.name}, and was sent as what call {other[1]} asked, which is something else")

    @staticmethod
    def counts_of(staged, rows):
        """What accounting.json says of tasks."""
        numbers = {(task.stage.no, task.number) for task in staged.tasks()}
        known = [r for r in rows if sent(r) and not r["foreign"] and (r["stage"], r["task"]) in numbers]
        asked = {(r["stage"], r["task"], r["repeat"]) for r in known}
        firsts, again = ({(s, t) for s, t, repeat in asked if (repeat > 0) == later} for later in (False, True))
        counts = collections.Counter(planned=0, from_store=0, saved_by_lazy_swap=0, not_asked=0)
        for task in staged.tasks():
            key = task.stage.no, task.number
            counts["planned"] += 1
            if key not in firsts:
                counts["from_store" if key in again or task.state is None or task.state in ANSWERED else "not_asked"] += 1
        unneeded = sum(s.unneeded for s in staged.stages.values())
        counts["planned"] += unneeded
        counts["saved_by_lazy_swap"] += unneeded
        return {**counts, "first_sends": len(firsts), "asked_again": sum(repeat > 0 for *_, repeat in asked),
                "retried": sum(sent(r) for r in rows) - len(asked)}


def messages(queries, turns):
    return [{"role": role, "content": text.decode(errors="replace")} for query, turn in zip(queries, turns)
            for role, text in (("user", query), ("assistant", turn.answer))]


def compare_dialogues(audit, file, path, want, names):
    """Line by line; of one that differs, the first thing that does."""
    found = []
    for i, line in enumerate(path.read_bytes().splitlines()):
        try:
            found.append(json.loads(line))
        except ValueError:
            found.append(None)
        if not isinstance(found[-1], dict):
            audit.bad("R2 results", f"{file}, line {i + 1}: it is no dialogue")
            return
    if len(found) != len(want):
        audit.bad("R2 results", f"{file} has {len(found)} dialogues, {len(want)} were led")
    for got, right, name in zip(found, want, names):
        for field, value in right.items():
            said = got.get(field)
            if said == value:
                continue
            if field == "messages" and isinstance(said, list):
                at = next((i for i, (a, b) in enumerate(zip(said, value)) if a != b), min(len(said), len(value)))
                audit.bad("R2 results", f"{file}: {name}: it has {len(said)} messages and the stored answers make {len(value)}; the first that "
                                        f"differs is {at} (turn {at // 2})")
            else:
                audit.bad("R2 results", f"{file}: {name}: {field} is {said!r:.80}, the stored answers make it {value!r:.80}")
