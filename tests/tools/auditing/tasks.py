"""Stages of tasks that hang on answers before them: dialogues as chains, questions behind their beginnings, ratings of what was said. Each task knows
its number, how its request comes about, and which tasks had to be answered before it could be asked (docs/develop/chains.md)."""
import struct

from auditing.plan import Hasher

CHAT, PROBE = "chat", "probe"
OPEN, TEXT, NOT_NEEDED, BLOCKED = 0, 8, 32, 33
AS_IS = b"@system\n{{output_a}}\n@user\n{{prompt}}\n"  # what is sent as it stands; its number in hashes is 14
AS_IS_NUMBER = 14
GOOD = {1, 2, 3, 4, 5, 8, *range(9, 16)}
NEVER_SEEN = bytes(32)  # the request of a call that was only heard of


def packed(texts):
    return b"".join(struct.pack("<I", len(t)) + t for t in texts)


class Task:
    """`request(repeat)` gives a hash; None: what it asks is not known, as what it comes behind has no answer."""
    __slots__ = ("stage", "number", "name", "request", "behind", "state", "answer", "stands")

    def __init__(self, stage, number, name, request, behind=()):
        self.stage, self.number, self.name, self.request, self.behind = stage, number, name, request, behind
        self.state, self.answer, self.stands = OPEN, None, None

    @property
    def shard(self):
        return self.stage.no, self.number // (2 * self.stage.vibes)


class Stage:
    def __init__(self, no, name, kind, judges, vibes, items):
        self.no, self.name, self.kind, self.judges, self.vibes = no, name, kind, judges, vibes
        self.size = items * judges * vibes * 2
        self.tasks, self.unneeded = {}, 0  # what it asks; how much of the grid it does not need though it counts as planned

    def add(self, item, judge, vibe, order, name, request, behind=()):
        number = ((item * self.judges + judge) * self.vibes + vibe) * 2 + order
        self.tasks[number] = task = Task(self, number, name, request, behind)
        return task


class Dialogue:
    """A chain's states, one step a turn."""

    def __init__(self, base, system, query):
        self.base, self.first = base, Hasher("vq.chain").field(system).field(query).done()
        self.at = self.first

    def go_on(self, answer, query):
        self.at = Hasher("vq.turn").bytes(self.at).field(answer).field(query).done()

    def request(self):
        base, at, first = self.base, self.at, self.first
        return lambda repeat: first[:8] + Hasher("vq.chat").bytes(base).bytes(at).u64(repeat).done()[8:]


class Staged:
    """The stages of one script, as far as the stored answers let it come. `audit` reads answers; `generation` + `retries` askings at most."""

    def __init__(self, audit, generation):
        self.audit, self.generation, self.stages, self.by_request = audit, generation, {}, {}

    def tasks(self):
        for stage in self.stages.values():
            yield from stage.tasks.values()

    def task_of(self, row):
        stage = self.stages.get(row["stage"])
        return stage.tasks.get(row["task"]) if stage else None

    def repeats(self, retries):
        return min(self.generation + retries, 63) + 1

    def settle(self, task, retries):
        """Its state from answers and failures, and with it everything that its requests are known by."""
        audit = self.audit
        for repeat in range(self.repeats(retries)):
            request = task.request(repeat)
            self.by_request.setdefault(request, []).append(task)
            audit.known.setdefault(request, (task.name + (f", asked again {repeat}" if repeat else ""), None))
            audit.kinds[request] = "text" if task.stage.kind in (CHAT, PROBE) else task.stage.kind
        failures = 0
        for repeat in range(self.repeats(retries)):
            request = task.request(repeat)
            failure, task.stands = audit.store.failures.get(request), None
            if failure and failure["outcome"]:
                task.state, failures = failure["outcome"], failures + 1
            elif request not in audit.store.answers and failures > self.generation:
                break  # only what cannot be read is asked again by itself
            elif request in audit.store.answers:
                task.state, task.stands = audit.outcome_of(request), request
            else:
                task.state = OPEN
            if task.state is None or task.state == OPEN or task.state in GOOD:
                break
        if task.state == TEXT and task.stage.kind in (CHAT, PROBE):
            task.answer = audit.store.answers[task.stands]["answer"]
        return task.state

    def lead(self, stage, item, judge, base, system, queries, name):
        """One chain: its turns, as far as answers go; behind the first without one they are blocked, or open."""
        dialogue, turns = Dialogue(base, system, queries[0]), []
        for k, query in enumerate(queries):
            before = turns[-1] if turns else None
            if before is not None and before.answer is not None:
                dialogue.go_on(before.answer, query)
            known = before is None or before.answer is not None
            task = stage.add(item, judge, k, 0, f"turn {k} of {name}", dialogue.request() if known else None, (before,) if before else ())
            if known:
                self.settle(task, 0)
            else:
                task.state = OPEN if before.state == OPEN else BLOCKED
            turns.append(task)
        return turns

    def is_open(self, stage):
        return any(task.state == OPEN for task in stage.tasks.values())
