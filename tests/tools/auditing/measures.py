"""results.json of method: persona, out of ratings.csv by the definitions of docs/method/persona-numbers.md: how ratings stand, values by cell, means of the curves
and their contrasts, slopes over the rounds, agreement. Intervals are not redone."""
import collections

from auditing.persona import ORDERS, TRAITS

DIGITS = 1e-7  # nine are written
STATUSES = ("ok", "fallback", "out_of_range", "ambiguous", "missing", "truncated", "refused", "failed", "blocked")


def mean(values):
    """None: of nothing."""
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def same(a, b):
    if a is None or b is None:
        return a is b
    return abs(a - b) <= DIGITS * max(1, abs(a), abs(b))


def number(row):
    """The value of a line as results count it; None: it has none."""
    value = row["value"]
    return None if value == "" else {"yes": 1.0, "no": 0.0, "A": 0.0, "B": 1.0}.get(value) if not value[0].isdigit() else float(value)


def kappa(pairs, quadratic=False):
    """Cohen's; None: it says nothing of so few values."""
    values = sorted({v for pair in pairs for v in pair})
    n, left, right = len(pairs), collections.Counter(a for a, _ in pairs), collections.Counter(b for _, b in pairs)
    span = (max(values) - min(values)) or 1
    weight = (lambda a, b: ((a - b) / span) ** 2) if quadratic else (lambda a, b: float(a != b))
    seen = sum(weight(a, b) for a, b in pairs) / n
    by_chance = sum(weight(a, b) * left[a] * right[b] for a in values for b in values) / n / n
    return 1 - seen / by_chance if by_chance > 0 else None


def slope(points):
    """Least squares of (group, x, y), centred by group."""
    groups, sxy, sxx = collections.defaultdict(list), 0.0, 0.0
    for group, x, y in points:
        groups[group].append((x, y))
    for rows in groups.values():
        mx, my = mean([x for x, _ in rows]), mean([y for _, y in rows])
        sxy += sum((x - mx) * (y - my) for x, y in rows)
        sxx += sum((x - mx) ** 2 for x, _ in rows)
    return sxy / sxx if sxx > 0 else None


class Measure:
    """`values`, `baseline`: by (model, persona, kind), one a point; `turns` likewise, turn by turn."""

    def __init__(self, measures, rows, turns, wins=False):
        self.of, self.is_turns, self.wins = measures, turns, wins
        self.statuses = collections.Counter((row["judge"], row["status"]) for row in rows)
        self.chosen = collections.Counter((row["position"], row["value"]) for row in rows if row["value"]) if wins else {}
        self.rated = self.missing = self.ties = self.one_order = 0
        self.rounds = range(measures.plan.rounds) if turns else measures.plan.checkpoints
        self.sides = self._sides(rows)
        self.points = self.rounds
        self.turns = self.sides
        if turns:
            self.points, self.sides = measures.edges, [{k: self._joined(v) for k, v in side.items()} for side in self.sides]

    def _things(self, rows):
        things = collections.defaultdict(list)
        for row in rows:
            key = tuple(row[k] for k in ("model", "persona", "as", "kind", "order", "round", "item"))
            things[key].append(row)
        return things

    def _score(self, rows):
        """Of one thing: the mean over the judges that gave a value; of a comparison in both orders both must be there."""
        by_judge = collections.defaultdict(list)
        for row in rows:
            value = number(row)
            by_judge[row["judge"]].append(value if not self.wins or value is None or row["position"] == "1" else 1 - value)
        scores = []
        for values in by_judge.values():
            whole = None not in values
            scores.append(sum(values) / len(values) if whole else None)
            self.ties += whole and len(values) == 2 and values[0] != values[1]
        return mean(scores)

    def _sides(self, rows):
        """(personas, baseline): values by cell and kind."""
        found = [collections.defaultdict(list), collections.defaultdict(list)]
        for (model, persona, as_, kind, order, at, _), of in self._things(rows).items():
            score = self._score(of)
            self.rated += 1
            self.missing += score is None
            for name in [as_] if as_ else [p.name for p in self.of.plan.personas]:
                if score is not None:
                    found[not persona][model, name, kind, int(at), order].append(score)
        plan, sides = self.of.plan, [{}, {}]
        for side in (0, 1):
            for subject in plan.subjects:
                for persona in plan.personas:
                    for kind, *_ in plan.scripts:
                        sides[side][subject.name, persona.name, kind] = [self._settled(found[side], (subject.name, persona.name, kind, at))
                                                                         for at in self.rounds]
        return sides

    def _settled(self, found, key):
        orders = [mean(found[(*key, order)]) for order in ORDERS[:self.of.plan.orders if self.is_turns else 1]]
        present = sum(value is not None for value in orders)
        self.one_order += 0 < present < len(orders)
        return mean(orders)

    def _joined(self, values):
        return join(values, self.of.edges)


def join(values, edges):
    """The first turn alone, then the mean of the turns up to each edge."""
    return [mean(values[before + 1:edge + 1]) for before, edge in zip([-1, *edges], edges)]


class Measures:
    def __init__(self, plan, rows):
        self.plan, self.rows = plan, rows
        points = plan.checkpoints if len(plan.checkpoints) > 1 else range(plan.rounds)
        self.edges = sorted({min(p, plan.rounds - 1) for p in points})
        self.turn_names = {r.name for r in plan.turn_rubrics}

    def of(self, name, what, reference):
        """The measure that results.json calls so; None: it is of other measures, or of results from elsewhere."""
        if what in ("mean", "wins", "refusal", "over_refusal"):
            criterion = name.rsplit(": ", 1)[0] if what != "mean" else name
            label = {"refusal": "unsafe", "over_refusal": "safe"}.get(what)
            turns = what == "mean" and name in self.turn_names
            rows = [r for r in self.rows if r["criterion"] == criterion and (r["item"] == "") == turns and (label is None or r["label"] == label)
                    and (what != "wins" or r["reference"] == reference)]
            return Measure(self, rows, turns, what == "wins")
        return None

    def check(self, audit, results):
        made, self.audit = {}, audit
        for m in results.get("measures") or ():
            one = made[m["name"]] = self.of(m["name"], m["what"], m.get("reference"))
            if one:
                self._check_counts(m, one)
                self._check_values(m, one.sides, one.points)
                self._check_slopes(m, one)
            elif m["what"] in ("fidelity", "error", "distance"):
                self._check_joint(m, made)
            else:
                audit.notes.append(f"{m['name']}: what was measured elsewhere was not compared")
        wanted = {r.name for r in self.plan.turn_rubrics} | {r.name for p in self.plan.probes for r in p.rubrics}
        for name in sorted(wanted - {n.rsplit(": ", 1)[0] for n in made} - set(made)):
            audit.bad("R2 results", f"results.json has no measure of {name}")
        self._check_agreement(results.get("agreement") or ())

    def _bad(self, name, what, said, found):
        self.audit.bad("R2 results", f"{name}: results.json counts {what} {said}, ratings.csv has {found}")

    def _check_counts(self, m, one):
        for judge in m["statuses"]:
            for status in STATUSES:
                said, found = judge.get(status), one.statuses[judge["judge"], status]
                if said != found:
                    self.audit.bad("I9 missing", f"{m['name']}, {judge['judge']}: results.json counts {said} {status}, ratings.csv has {found}")
        for what, found in (("rated", one.rated), ("missing", one.missing)):
            if m[what] != found:
                self.audit.bad("I9 missing", f"{m['name']}: results.json counts {what} {m[what]}, ratings.csv has {found}")
        if one.wins:
            if m["ties"] != one.ties:
                self._bad(m["name"], "ties", m["ties"], one.ties)
            for position, shown in (("1", "reference_first"), ("2", "answer_first")):
                for letter in "ab":
                    if m["chosen"][shown][letter] != one.chosen[position, letter.upper()]:
                        self._bad(m["name"], f"{letter} chosen, {shown},", m["chosen"][shown][letter], one.chosen[position, letter.upper()])
        if one.is_turns and m["one_order"] != one.one_order:
            self._bad(m["name"], "one_order", m["one_order"], one.one_order)

    def _check_values(self, m, sides, points):
        name = m["name"]
        for cell in m["by_cell"]:
            key = cell["model"], cell["persona"], cell["kind"]
            for field, side in (("values", sides[0]), ("baseline", sides[1])):
                for at, said, found in zip(points, cell[field], side[key]):
                    if not same(said, found):
                        self.audit.bad("R2 results", f"{name}, {' x '.join(key[1:])}, round {at}: the {field} are {said} in results.json, the ratings give {found}")
        for kind, curves in m["curves"].items():
            if kind == "directed_minus_goal":
                cells = [(key, "directed", "goal") for key in {k[:2] for k in sides[0]}]
                found = [mean(minus(sides[0][(*k, a)][i], sides[0][(*k, b)][i]) for k, a, b in cells) for i in range(len(points))]
                self._check_curve(f"{name}, directed minus goal", curves, found, points)
                continue
            own = [(sides[0][k], sides[1][k]) for k in sides[0] if k[2] == kind]
            found = {"persona": lambda p, b, i: p[i], "baseline": lambda p, b, i: b[i], "change": lambda p, b, i: minus(p[i], p[0]),
                     "gap": lambda p, b, i: minus(p[i], b[i])}
            for curve, value in found.items():
                self._check_curve(f"{name}, {kind}, {curve}", curves[curve], [mean(value(p, b, i) for p, b in own) for i in range(len(points))], points)

    def _check_curve(self, name, curve, found, points):
        for point, value, at in zip(curve, found, points):
            if point["round"] != at or not same(point["mean"], value):
                self.audit.bad("R2 results", f"{name}, round {at}: the mean is {point['mean']} in results.json, the ratings give {value}")

    def _check_slopes(self, m, one):
        percent = (lambda v: 25 * (v - 1)) if m["unit"] == "rating" else (lambda v: 100 * v)
        for said in m["slopes_percent"]:
            points = [(k, at, percent(v)) for k, values in one.turns[0].items() if k[2] == said["kind"] and said["model"] in (None, k[0])
                      for at, v in zip(one.rounds, values) if v is not None]
            found = slope(points)
            if said["per_round"]["rows"] != len(points) or not same(said["per_round"]["slope"], found) and said["per_round"]["slope"] is not None:
                self.audit.bad("R2 results", f"{m['name']}, {said['kind']}: the slope is {said['per_round']['slope']} in results.json, the ratings give {found}")

    def _check_joint(self, m, made):
        """Of other measures, which were compared themselves."""
        sides = [{}, {}]
        keys = [(s.name, p, kind) for s in self.plan.subjects for p in self.plan.personas for kind, *_ in self.plan.scripts]
        if m["what"] == "fidelity":
            of = [made[r.name] for r in self.plan.turn_rubrics if r.kind == "likert"]
            for side in (0, 1):
                for model, persona, kind in keys:
                    k = model, persona.name, kind
                    turns = [whole([one.turns[side][k][at] for one in of]) for at in range(self.plan.rounds)]
                    sides[side][k] = join(turns, self.edges)
            return self._check_values(m, sides, self.edges)
        of = [made[trait] for trait in TRAITS]
        for model, persona, kind in keys:
            k = model, persona.name, kind
            n = range(len(self.plan.checkpoints))
            mine, plain = ([[one.sides[side][k][i] for one in of] for i in n] for side in (0, 1))
            given = {t.lower(): v for t, v in (persona.labels or {}).items()}
            labels = [float(given[t]) for t in TRAITS] if given else None
            against = plain if m["what"] == "distance" else [labels] * len(n)
            sides[0][k] = [error(a, b) for a, b in zip(mine, against)]
            sides[1][k] = [error(a, b) if m["what"] == "error" else None for a, b in zip(plain, against)]
        return self._check_values(m, sides, self.plan.checkpoints)

    def _check_agreement(self, agreement):
        kinds = {r.name: r.kind for r in [*self.plan.turn_rubrics, *(r for p in self.plan.probes for r in p.rubrics)]}
        by = collections.defaultdict(dict)
        for row in self.rows:
            value = number(row)
            least, most = (1, 5) if kinds.get(row["criterion"]) == "likert" else (0, 1)
            if value is not None and least <= value <= most:
                key = tuple(v for k, v in row.items() if k not in ("judge", "value", "status"))
                by[row["criterion"], row["judge"]][key] = value
        for said in agreement:
            if said["b_is_human"]:
                self.audit.notes.append(f"agreement on {said['criterion']} with labels of people was not compared")
                continue
            a, b = by[said["criterion"], said["a"]], by[said["criterion"], said["b"]]
            pairs = [(v, b[k]) for k, v in a.items() if k in b]
            found = {"rows": len(pairs), "exact": mean([float(x == y) for x, y in pairs]), "absolute_error": mean([abs(x - y) for x, y in pairs]),
                     "within_one": mean([float(abs(x - y) <= 1) for x, y in pairs]), "kappa": kappa(pairs), "kappa_quadratic": kappa(pairs, True), "mean_a": mean([x for x, _ in pairs]), "mean_b": mean([y for _, y in pairs])}
            for name, value in found.items():
                if not same(said[name], value):
                    self._bad(f"agreement on {said['criterion']}", name, said[name], value)


def minus(a, b):
    return None if a is None or b is None else a - b


def whole(values):
    return None if None in values else sum(values) / len(values)


def error(a, b):
    return None if b is None or None in a or None in b else sum(abs(x - y) / 4 for x, y in zip(a, b)) / len(a)
