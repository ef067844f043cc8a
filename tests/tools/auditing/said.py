"""Runs of method: persona: every stage laid out again from the stored answers of those before it, and then each record held against that:
numbers and requests of calls, dialogues.jsonl, ratings.csv, results.json. All other checks are those of every run."""
from auditing import texts, verdict
from auditing.checks import GOOD, Audit
from auditing.measures import Measures
from auditing.persona import ORDERS, TRAITS
from auditing.plan import Sample, reading
from auditing.store import OUTCOMES
from auditing.talks import compare_dialogues, messages
from auditing.tasks import CHAT, OPEN, PROBE, Stage, Staged, packed

RATINGS = ("criterion", "model", "persona", "as", "kind", "order", "round", "item", "label", "reference", "position", "judge")
NAMED = {OPEN: "failed", 16: "refused", 17: "truncated"}


class Row:
    """What is shown to judges, by some rubrics; `text` None: there is nothing to show."""

    def __init__(self, rubrics, key, name, sample, orders, behind):
        self.rubrics, self.key, self.name, self.sample, self.orders, self.behind = rubrics, key, name, sample, orders, behind


class Thing:
    """A line of ratings.csv: a task, or None where nothing was to be rated."""

    def __init__(self, rubric, key, task, order):
        self.rubric, self.key, self.task, self.order = rubric, key, task, order


class PersonaAudit(Audit):
    unknown_kind = "unknown"  # a verdict on two models is never asked for

    def tasks(self):
        yield from self.staged.tasks()

    def shard_of(self, row):
        task = self.staged.task_of(row)
        return task.shard if task else None

    def check_plan(self):
        self.cells = self.prefer_cells = ()
        self.staged = Staged(self, self.store.meta["generation"])
        self.things, self.numbers = [], 0
        self.laid = self._lay()
        rows = [r for r in self.own_rows() if self.laid or not self.finished or r["stage"] < self.numbers]
        self.check_tasks(self.staged, rows, self.finished)
        if len(rows) < len(self.own_rows()):
            self.notes.append(f"{len(self.own_rows()) - len(rows)} calls are of stages behind those that have open tasks: what they asked cannot be told")

    def _stage(self, name, kind, judges, vibes, items):
        stage = Stage(self.numbers, name, kind, judges, vibes, items)
        self.staged.stages[stage.no] = stage
        self.numbers += 1
        return stage

    def _lay(self):
        """Stage by stage, in the order of the method; False: one is open on whose answers the next depends."""
        p = self.plan
        if not self._lay_dialogues():
            return False
        for kind in ("likert", "binary"):
            rubrics = [r for r in p.turn_rubrics if r.kind == kind]
            if rubrics:
                self._lay_ratings("turns rated" + (", yes or no" if kind == "binary" else ""), kind, rubrics, list(self._turns(rubrics)))
        for probe in p.probes:
            said = self._lay_probe(probe)
            if said is None:
                return False
            for reference in (probe.references if probe.pairwise else ["dataset"]) if probe.rubrics else ():
                rows = list(self._answers(probe, said, reference))
                self._lay_ratings(f"{probe.name} rated" + (f": {reference}" if probe.pairwise else ""), probe.kind, probe.rubrics, rows)
        return True

    # ---- dialogues, and questions behind them ----

    def _lay_dialogues(self):
        p = self.plan
        self.chains, self.by_chain = [], {}
        stage = self._stage("dialogues", CHAT, len(p.subjects), p.rounds,
                            len(p.subjects) * len(p.askers) * len(p.scripts) * p.orders)
        for model, subject in enumerate(p.subjects):
            for a, persona in enumerate(p.askers):
                for script, (kind, *_) in enumerate(p.scripts):
                    for order in range(p.orders):
                        name = f"{subject.name} x {persona.name if persona else 'the baseline'} x {kind} x {ORDERS[order]}"
                        queries = p.queries(model, persona, script, order)
                        turns = self.staged.lead(stage, len(self.chains), model, p.subject_bases[model], p.systems[model][a], queries, name)
                        chain = {"model": model, "asker": a, "persona": persona, "script": script, "order": order, "name": name,
                                 "queries": queries, "turns": turns, "said": next((i for i, t in enumerate(turns) if t.answer is None), len(turns))}
                        self.by_chain[model, a, script, order] = chain
                        self.chains.append(chain)
        return not self.staged.is_open(stage)

    def _prefixes(self):
        p = self.plan
        for model in range(len(p.subjects)):
            for a in range(len(p.askers)):
                for script in range(len(p.scripts)):
                    for point, rounds in enumerate(p.checkpoints):
                        yield self.by_chain[model, a, script, 0], point, rounds

    def _lay_probe(self, probe):
        """The tasks by (chain, checkpoint, column); None: some are open."""
        said = {}
        for number, (begin, end) in enumerate(probe.pieces()):
            name = probe.name + (f", part {number + 1}" if number else "")
            for twins in (False, True):
                wanted = [(c, point, rounds) for c, point, rounds in self._prefixes() if (rounds == 0 and c["script"] > 0) == twins
                          and rounds <= c["said"] and any(begin <= k < end for k in probe.asked(c["persona"]))]
                if not wanted:
                    continue
                stage = self._stage(name + (", shared" if twins else ""), PROBE, len(self.plan.subjects), end - begin, len(wanted))
                for item, (chain, point, rounds) in enumerate(wanted):
                    self._ask_behind(probe, stage, item, begin, end, chain, point, rounds, said)
                if self.staged.is_open(stage):
                    return None
        return said

    def _ask_behind(self, probe, stage, item, begin, end, chain, point, rounds, said):
        model = chain["model"]
        messages = [text for k in range(rounds) for text in (chain["queries"][k], chain["turns"][k].answer)]
        sample = Sample(0, 0, packed(messages), self.plan.systems[model][chain["asker"]], b"")
        behind = (chain["turns"][rounds - 1],) if rounds else ()
        for column, text in probe.asked(chain["persona"]).items():
            if begin <= column < end:
                name = f"{probe.name} question {column + 1} behind round {rounds} of {chain['name']}"
                request = self._request(sample, self.plan.subject_bases[model], ("question", text, ""), 0)
                task = said[id(chain), point, column] = stage.add(item, model, column - begin, 0, name, request, behind)
                self.staged.settle(task, 0)

    @staticmethod
    def _request(sample, base, axis, order):
        return lambda repeat: sample.request(base, axis, order, repeat)

    # ---- what is rated ----

    def _asked(self, persona, query):
        if persona is None:
            return query
        return b"".join((b"<role>\n", persona.name.encode(), b"\n</role>\n<role_description>\n", persona.description.encode(),
                         b"\n</role_description>\n<user_query>\n", query, b"\n</user_query>"))

    def _key(self, chain, as_, place, **more):
        return {"model": self.plan.subjects[chain["model"]].name, "persona": chain["persona"].name if chain["persona"] else "",
                "as": as_.name if as_ else "", "kind": self.plan.scripts[chain["script"]][0], "order": ORDERS[0], "round": str(place),
                "item": "", "label": "", "reference": "", "position": "", **more}

    def _turns(self, rubrics):
        for chain in self.chains:
            for k, task in enumerate(chain["turns"]):
                for as_ in [chain["persona"]] if chain["persona"] else self.plan.personas:
                    shown = texts.said(task.answer) if k < chain["said"] else b""
                    sample = Sample(0, 0, self._asked(as_, chain["queries"][k]), shown, b"") if shown else None
                    yield Row(rubrics, self._key(chain, as_, k, order=ORDERS[chain["order"]]),
                              f"{task.name}" + ("" if chain["persona"] else f" as {as_.name}"), sample, (0,), (task,))

    def _answers(self, probe, said, reference):
        own = probe.pairwise and reference != "dataset"
        for chain, point, rounds in self._prefixes():
            if own and point == 0:
                continue
            numbers = dict.fromkeys(self.plan.personas, 0)
            other = None if not own else 0 if reference == "zero" else point - 1
            for item in probe.items:
                for as_ in self._judged_as(probe, chain, item, numbers):
                    yield self._answer(probe, said, reference, chain, point, rounds, other, item, *as_)

    def _judged_as(self, probe, chain, item, numbers):
        """(persona, whether its number is even) for each line that the answer to an item has; counts along."""
        for as_ in [item.persona] if item.persona else self.plan.personas:
            even = numbers[as_] % 2 == 0
            numbers[as_] += 1
            if chain["persona"] is as_ or chain["persona"] is None and probe.pairwise:
                yield as_, even
        if chain["persona"] is None and not probe.pairwise:
            yield None, True

    def _answer(self, probe, said, reference, chain, point, rounds, other, item, as_, even):
        column = probe.column(item, chain["persona"] is None)
        behind = [said.get((id(chain), point, column))] + ([said.get((id(chain), other, column))] if other is not None else [])
        shown = [texts.said(t.answer) if t and t.answer is not None else None for t in behind]
        if probe.pairwise and other is None:
            shown.append(texts.said(item.reference.encode()))
        text = item.bare if as_ is None else item.text  # as the judge reads it
        sample = None
        if all(shown):
            prompt = self._asked(as_, text.encode())
            sample = Sample(0, 0, prompt, shown[1], shown[0]) if probe.pairwise else Sample(0, 0, prompt, shown[0], b"")
        key = self._key(chain, as_, rounds, item=str(item.number + 1), label=item.label or "", reference=reference if probe.pairwise else "")
        orders = ((0, 1) if probe.both else (0,) if even else (1,)) if probe.pairwise else (0,)
        rubrics = probe.rubrics if len(probe.rubrics) == 1 else [probe.rubrics[TRAITS.index(item.trait)]]
        return Row(rubrics, key, f"the answer to {probe.name} item {item.number + 1} behind round {rounds} of {chain['name']}"
                   + (f" against {reference}" if probe.pairwise else ""), sample, orders, tuple(t for t in behind if t))

    # ---- ratings as stages ----

    def _lay_ratings(self, name, kind, rubrics, rows):
        """What is the same as one before it is asked in a stage of its own behind the first."""
        seen, twin = set(), []
        for row in rows:
            what = (row.sample.id, row.sample.flipped) if row.sample else None
            twin.append(what in seen if what else None)
            seen.add(what)
        counts, judges = [twin.count(False), twin.count(True)], self.plan.judges
        stages = [self._stage(name + (", shared" if i else ""), kind, len(judges), len(rubrics), counts[i]) if counts[i] else None for i in (0, 1)]
        at = [0, 0]
        for row, is_twin in zip(rows, twin):
            stage, item = (None, 0) if is_twin is None else (stages[is_twin], at[is_twin])
            if stage:
                at[is_twin] += 1
            for rubric in row.rubrics:
                for order in row.orders:
                    for j, judge in enumerate(judges):
                        self._rate(row, rubric, order, stage, item, rubrics.index(rubric), j, judge)

    def _rate(self, row, rubric, order, stage, item, axis, j, judge):
        task = None
        if stage:
            name = f"the rating of {row.name} by {judge.name} x {rubric.name}" + (f" x order {order}" if stage.kind == "pairwise" else "")
            task = stage.add(item, j, axis, order, name, self._request(row.sample, self.plan.bases[stage.kind][j], rubric.axis, order), row.behind)
            self.staged.settle(task, self.plan.retries)
        key = dict(row.key, criterion=rubric.name, judge=judge.name, position=str(order + 1) if rubric.kind == "pairwise" else "")
        self.things.append(Thing(rubric, tuple(key[k] for k in RATINGS), task, order))

    # ---- dialogues.jsonl and ratings.csv ----

    def check_scores(self):
        if not self.laid:
            return
        self._check_dialogues()
        rows = self.results.ratings
        if rows is None:
            if self.finished:
                self.bad("R2 results", "results/ratings.csv is missing")
            return
        by_key = {}
        for row in rows:
            key = tuple(row.get(k) or "" for k in RATINGS)
            if key in by_key:
                self.bad("I1 counted twice", f"ratings.csv has {self._line(key)} twice")
            by_key[key] = row
        for number, thing in enumerate(self.things):
            row = by_key.pop(thing.key, None)
            if row is None:
                self.bad("R1 tasks", f"ratings.csv lacks {self._line(thing.key)}")
            elif self.plan.strict or thing.task is None or thing.task.stands is None:
                self._check_rating(thing, row)
            else:
                self._check_paper(thing, row, self.plan.seed + number)
        for key in by_key:
            self.unexpected.add(key)
            self.bad("R1 plan", f"ratings.csv has {self._line(key)}, which nobody planned")

    @staticmethod
    def _line(key):
        return " x ".join(word for word in key if word)

    def _check_rating(self, thing, row):
        state = thing.task.state if thing.task else None
        value, status = row["value"], row["status"]
        if thing.task is None:
            right, want = (value, status) == ("", "blocked"), "nothing was to be rated"
        elif state is None:
            return
        elif state in GOOD:
            want = OUTCOMES[state]
            right = (value, status) == (want, "ok")
        else:
            want = OUTCOMES[state]
            right = value == "" and (status in verdict.UNREADABLE if state in (18, 19) else status == NAMED.get(state, "failed"))
        if not right:
            self.bad("R2 results", f"ratings.csv says '{value}' ({status}) of {self._line(thing.key)}, answers and failures make it: {want}")

    def _check_paper(self, thing, row, seed):
        """As the policy of the paper reads what stands."""
        answer = self.store.answers[thing.task.stands]["answer"]
        value, status = verdict.paper(thing.rubric.kind, answer, thing.rubric in self.plan.turn_rubrics, seed)
        value = "" if value is None else value.upper() if value in ("a", "b") else str(value)
        if (row["value"], row["status"]) != (value, status):
            self.bad("R2 results", f"ratings.csv says '{row['value']}' ({row['status']}) of {self._line(thing.key)}, its answer says '{value}' ({status})")

    def _check_dialogues(self):
        path = self.options.run_dir / "results/dialogues.jsonl"
        if not path.exists():
            if self.finished:
                self.bad("R2 results", "results/dialogues.jsonl is missing")
            return
        want = []
        for chain in self.chains:
            first = next((t for t in chain["turns"] if t.answer is None), None)
            system = self.plan.systems[chain["model"]][chain["asker"]].decode()
            want.append({"model": self.plan.subjects[chain["model"]].name, "persona": chain["persona"].name if chain["persona"] else None,
                         "kind": self.plan.scripts[chain["script"]][0], "order": ORDERS[chain["order"]], "rounds": chain["said"],
                         "ended": OUTCOMES[first.state] if first else None, "system": system or None,
                         "messages": messages(chain["queries"], chain["turns"][:chain["said"]])})
        compare_dialogues(self, "results/dialogues.jsonl", path, want, [c["name"] for c in self.chains])

    # ---- accounting ----

    def _task_counts(self, rows):
        return self.counts_of(self.staged, rows) if self.laid else {}

    # ---- results.json ----

    def check_results(self):
        results, rows = self.results.results, self.results.ratings
        if results is None or rows is None or not self.laid:
            return
        with reading(self.options.run_dir / "results/results.json"):
            Measures(self.plan, rows).check(self, results)
            self._check_calls(results["calls"])

    def _check_calls(self, calls):
        p = self.plan
        turns = len(self.chains) * p.rounds
        views = sum(len(p.personas) if c["persona"] is None else 1 for c in self.chains) * p.rounds
        items = [len(probe.items) for probe in p.probes]
        for what, said, found in (("dialogues", calls["dialogues"], len(self.chains)), ("turns", calls["turns"]["planned"], turns),
                                  ("ratings of turns", calls["turns_rated"]["planned"], views * len(p.turn_rubrics)),
                                  ("ratings", calls["rated"]["planned"] * len(p.judges), len(self.things)),
                                  ("items", [s["items"] for s in calls["sets"]], items)):
            if said != found:
                self.bad("R2 results", f"results.json plans {said} {what}, run.yaml and the inputs {found}")
