"""Runs of method: judge: what they had to ask, worked out anew from run.yaml and the copies of its inputs, and the checks that are theirs:
ratings.csv against stored answers, results.json against ratings.csv. All other checks are those of every run."""
import collections
import re

from auditing import verdict
from auditing.checks import GOOD, OPEN, Audit, sent
from auditing.draws import Draws
from auditing.plan import TEMPLATES, Plan, Sample, read_config, read_table, template_hash
from auditing.store import OUTCOMES

LIMIT_STREAM = 7  # of the seed
REPEAT = 64  # a repeat's first number, in request hashes
GENERATION_MAX = 63


class Rated:
    """One output of a row (or, pairwise, the row), judge, criterion and repeat."""
    lazy = audited = False
    repair_base = None

    def __init__(self, plan, sample, judge, criterion, repeat, output, orders):
        self.sample, self.judge, self.criterion, self.repeat, self.output, self.orders = sample, judge, criterion, repeat, output, orders
        self.first, self.vibe = orders[0], criterion["number"]
        self.base, self.axis = plan.bases[judge.name, criterion["kind"]], (criterion["name"], criterion["rubric"], "")

    def request(self, order, repeat):
        return self.sample.request(self.base, self.axis, order, self.repeat * REPEAT + repeat)

    def name(self, order):
        return f"record {self.sample.record} {self.output} x {self.judge.name} x {self.criterion['name']} x repeat {self.repeat + 1} x order {order}"

    def keys(self, models, order):
        """As ratings.csv names it."""
        pairwise = self.criterion["kind"] == "pairwise"
        return (str(self.sample.record), self.output, self.criterion["name"], self.judge.name, str(self.repeat + 1),
                models[order] if pairwise else "")


class RatingPlan(Plan):
    def __init__(self, run_dir, results):
        self.config = config = read_config(run_dir / "run.yaml")
        self.judging = config.get("judging") or {}
        self.rating = config.get("rating") or {}
        self.rule, self.swaps, self.many, self.lazy = "strict", True, False, False
        self.audit_share = self.retest = 0
        self.early_stop, self.asked_by_data_alone, self.labelled, self.cascade = False, True, True, None
        self.notes, self.models, self.repair_bases = [], config["models"], {}
        self.seed = int(config.get("seed", 42))
        self.retries = 1 if self.rating.get("policy", "strict") == "strict" else 0
        inputs = run_dir / "inputs"
        self.criteria = [self._criterion(inputs, i, c) for i, c in enumerate(config["criteria"])]
        self.judges = [self._judge(conf, results, i) for i, conf in enumerate(config["judges"])]
        self.bases = {}
        for kind in {c["kind"] for c in self.criteria}:
            number, file = TEMPLATES[kind]
            template = template_hash(number, (inputs / file).read_bytes())
            self.bases.update({(j.name, kind): j.base(template) for j in self.judges})
        self.samples = self._rows(inputs)
        self.row_numbers = {record: i for i, (record, *_) in enumerate(self.samples)}
        self.cells = [cell for c in self.criteria for row in self.samples for cell in self._cells(c, row)]

    def _criterion(self, inputs, i, given):
        if given.get("rubric") is not None:
            return {"number": i + 1, "name": given["name"], "kind": given["kind"], "rubric": given["rubric"]}
        text = (inputs / f"criterion-{i + 1}.txt").read_text().removeprefix("\ufeff").replace("\r\n", "\n")
        head, rubric = text.split("\n\n", 1)
        return {"number": i + 1, "name": given["name"], "kind": re.match(r"kind:\s*(\w+)", head).group(1), "rubric": rubric.strip()}

    def _rows(self, inputs):
        data = self.config["data"]
        rows = read_table(inputs / "data", data["path"], data.get("format", "auto"))
        columns = rows[0].keys() if rows else ()
        prompt = data.get("prompt") or ("question" if "question" in columns else "prompt")
        limit, drawn = int(data.get("limit", 0)), list(range(len(rows)))
        if 0 < limit < len(rows):
            drawn = sorted(Draws(self.seed * 1000003 + LIMIT_STREAM).shuffle(drawn)[:limit])
        return [(i + 1, rows[i][prompt].encode(), [rows[i][m].encode() for m in self.models]) for i in drawn]

    def _cells(self, criterion, row):
        record, prompt, outputs = row
        if criterion["kind"] == "pairwise":
            both = self.rating.get("positions", "both") == "both"
            shown = [("", Sample(record, 0, prompt, *outputs), (0, 1) if both else ((record + 1) % 2,))] if all(outputs) else []
        else:
            shown = [(m, Sample(record, 0, prompt, text, b""), (0,)) for m, text in zip(self.models, outputs) if text]
        for output, sample, orders in shown:
            for judge in self.judges:
                for repeat in range(int(self.rating.get("repeats", 1))):
                    yield Rated(self, sample, judge, criterion, repeat, output, orders)


class RatingAudit(Audit):
    unknown_kind = "unknown"

    def tasks(self):
        for cell in self.cells:
            for order in cell.orders:
                yield cell, order

    def check_plan(self):
        self.cells, self.prefer_cells, self.known = list(self.plan.cells), [], {}
        generation = min(self.store.meta["generation"] + self.plan.retries, GENERATION_MAX)
        for cell, order in self.tasks():
            shard = (cell.criterion["kind"], cell.repeat, cell.sample.record, cell.output, cell.judge.name)
            for repeat in range(generation + 1):
                request = cell.request(order, repeat)
                self.known[request] = (cell.name(order), shard)
                self.kinds[request] = cell.criterion["kind"]
        wanted = list(self.own_rows())
        for row in wanted:
            if row["request"] not in self.known and not row["foreign"]:
                self.unexpected.add(row["call"])
                self.bad("R1 plan", f"call {row['call']} asked what nobody planned (stage {row['stage']}, task {row['task']}, "
                                    f"request {row['request'].hex()[:16]})")
        self._check_numbers(wanted)
        self.states = {}
        for cell, order in self.tasks():
            self.states[cell, order] = state = self._attempts(cell, order, generation)
            if state == OPEN:
                self._open(cell, order)
            else:
                self.ok += 1

    # ---- ratings.csv ----

    def check_scores(self):
        if self.results.ratings is None:
            if self.finished:
                self.bad("R2 results", "results/ratings.csv is missing")
            return
        by_key = {}
        for row in self.results.ratings:
            key = tuple(row[k] for k in ("item", "output", "criterion", "judge", "repeat", "shown_first"))
            if key in by_key:
                self.bad("I1 counted twice", f"ratings.csv has {' x '.join(key)} twice")
            by_key[key] = row
        for cell, order in self.tasks():
            key = cell.keys(self.plan.models, order)
            row = by_key.pop(key, None)
            if row is None:
                self.bad("R1 tasks", f"ratings.csv lacks {cell.name(order)}")
            else:
                (self._check_rating if self.plan.retries else self._check_paper)(cell, order, row)
        for key in by_key:
            self.unexpected.add(key)
            self.bad("R1 plan", f"ratings.csv has {' x '.join(key)}, which nobody planned")

    def _check_paper(self, cell, order, row):
        """As the policy of the paper reads what stands."""
        standing = [q for q in (cell.request(order, r) for r in range(self.store.meta["generation"] + 1)) if q in self.store.answers]
        state = self.states[cell, order]
        if state in (None, OPEN) or state >= 48 or not standing:
            self._check_rating(cell, order, row)
            return
        p, kind, name = self.plan, cell.criterion["kind"], cell.criterion["name"]
        seed = p.seed
        for part in (cell.criterion["number"] - 1, p.row_numbers[cell.sample.record], p.models.index(cell.output) if cell.output else 0,
                     p.judges.index(cell.judge), cell.repeat, order if kind == "pairwise" else 0):
            seed = Draws(seed + part).u64()
        answer = self.store.answers[standing[-1]]["answer"]
        value, status = verdict.paper(kind, answer, name in ("knowledge", "style", "in_character"), seed)
        value = "" if value is None else p.models[order if value == "a" else 1 - order] if kind == "pairwise" else str(value)
        if (row["value"], row["status"]) != (value, status):
            self.bad("R2 results", f"{cell.name(order)}: ratings.csv says '{row['value']}' ({row['status']}), its answer says '{value}' ({status})")

    def _check_rating(self, cell, order, row):
        state = self.states[cell, order]
        if state in GOOD:
            value = OUTCOMES[state]
            if cell.criterion["kind"] == "pairwise":
                value = self.plan.models[order if state == 1 else 1 - order]
            right = (row["value"], row["status"]) == (value, "ok")
        else:
            word = {OPEN: "open", 16: "refused", 17: "truncated"}.get(state, "failed")
            right = row["value"] == "" and (row["status"] in verdict.UNREADABLE if state in (None, 18, 19) else row["status"] == word)
        if not right and state is not None:
            self.bad("R2 results", f"{cell.name(order)}: ratings.csv says '{row['value']}' ({row['status']}), answers and failures make it "
                                   f"{OUTCOMES[state]}")

    # ---- results.json ----

    def check_results(self):
        results, rows = self.results.results, self.results.ratings
        if results is None or rows is None:
            return
        counts, values = collections.Counter(), collections.defaultdict(list)
        for row in rows:
            counts[row["criterion"], row["output"], row["judge"], row["status"]] += 1
            if row["value"]:
                values[row["criterion"], row["output"], row["item"], row["judge"]].append(row["value"])
        for criterion in results["criteria"]:
            for output in criterion["outputs"]:
                self._check_output(criterion, output, counts, values)
        lost = sum(row["value"] == "" for row in rows)
        if results["answers_missing"] != lost:
            self.bad("I9 missing", f"results.json counts {results['answers_missing']} answers without a value, ratings.csv has {lost}")

    def _check_output(self, criterion, output, counts, values):
        name, kind = criterion["name"], criterion["kind"]
        model = "" if kind == "pairwise" else output["model"]
        for judge in output["judges"]:
            for status, said in judge["statuses"].items():
                found = counts[name, model, judge["name"], status]
                if status != "not_asked" and found != said:
                    self.bad("I9 missing", f"{name}, {output['model']}, {judge['name']}: results.json says {said} {status}, ratings.csv has {found}")
        if kind == "pairwise":
            return
        of_item = collections.defaultdict(list)
        for (criterion_name, of, item, _), said in values.items():
            if (criterion_name, of) == (name, model):
                numbers = [{"yes": 1, "no": 0}.get(v) if kind == "binary" else float(v) for v in said]
                of_item[item].append(sum(numbers) / len(numbers))
        scores = [sum(v) / len(v) for v in of_item.values()]
        mean, said = sum(scores) / len(scores) if scores else None, output["mean" if kind == "likert" else "rate"]
        if (said is None) != (mean is None) or mean is not None and abs(said - mean) > 1e-8 * max(1, abs(mean)):
            self.bad("R2 results", f"{name}, {output['model']}: results.json says {said}, the ratings give {mean}")

    # ---- accounting ----

    def _task_counts(self, rows):
        asked = {(r["stage"], r["task"], r["repeat"] % REPEAT) for r in rows if sent(r) and not r["foreign"]}
        firsts = {(stage, task) for stage, task, repeat in asked if repeat == 0}
        again = {(stage, task) for stage, task, repeat in asked if repeat > 0}
        number = {r["request"]: (r["stage"], r["task"]) for r in rows if not r["foreign"]}
        generation = min(self.store.meta["generation"] + self.plan.retries, GENERATION_MAX)
        counts = collections.Counter(planned=0, from_store=0, saved_by_lazy_swap=0, not_asked=0)
        for cell, order in self.tasks():
            counts["planned"] += 1
            task = next((number[q] for q in (cell.request(order, r) for r in range(generation + 1)) if q in number), None)
            if task in firsts:
                continue
            state = self.states[cell, order]
            counts["from_store" if task in again or state is None or state in GOOD | {16, 17, 18, 19} else "not_asked"] += 1
        retried = sum(sent(r) for r in rows) - len(asked)
        return {**counts, "first_sends": len(firsts), "asked_again": sum(r > 0 for *_, r in asked), "retried": retried}
