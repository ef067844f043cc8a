"""A cascade, checked on its own: the second judge was asked exactly where the first one's answers or the hash of the audit say so, and
each separability is the estimate that follows from the scores (docs/method/cascade.md)."""
import collections

SIDES = {"A": 1, "B": -1, "equal": 0, "N/A": 0, "unsure": 0}
NEVER = ("not_needed", "not_needed")


def words_of(row):
    return row["verdict_a_first"], row["verdict_b_first"]


def is_escalated(row, conf):
    """By the first judge's row of scores.csv; the margin is not looked at."""
    words = words_of(row)
    votes = all(w in SIDES for w in words)
    return row["score"] == "" or conf["escalate"]["disagree"] and votes and SIDES[words[0]] != -SIDES[words[1]]


def mean(values):
    return sum(values) / len(values)


def rest_estimate(labelled, unlabelled):
    """Of rows (score, label), and of scores without a label: the prediction-powered mean."""
    n, weight = len(labelled), 0
    if unlabelled and n > 1:
        scores, labels = [s for s, _ in labelled], [m for _, m in labelled]
        variance = mean([s * s for s in scores]) - mean(scores) ** 2
        covariance = mean([s * m for s, m in labelled]) - mean(scores) * mean(labels)
        weight = max(0, min(1, covariance / ((1 + n / len(unlabelled)) * variance))) if variance > 0 else 0
    other = weight * mean(unlabelled) if unlabelled else 0
    return max(-1, min(1, other + mean([m - weight * s for s, m in labelled])))


def estimate(rows):
    """`rows`: (escalated, first judge's score, second judge's score or None). None: it does not exist."""
    known = [m for escalated, _, m in rows if escalated and m is not None]
    labelled = [(s, m) for escalated, s, m in rows if not escalated and m is not None]
    unlabelled = [s for escalated, s, m in rows if not escalated and m is None]
    rest = len(labelled) + len(unlabelled)
    if not known and not rest or rest and not labelled:
        return None
    return (sum(known) + (rest * rest_estimate(labelled, unlabelled) if rest else 0)) / (len(known) + rest)


def score(row):
    return int(row["score"]) if row["score"] != "" else None


class Cascade:
    def __init__(self, audit):
        self.audit, self.conf = audit, audit.plan.cascade
        self.margin = float(self.conf["escalate"]["margin"]) > 0
        by = {(int(r["record"]), int(r["file"]), int(r["vibe_id"]), r["judge"]): r for r in audit.results.scores}
        self.rows = collections.defaultdict(list)  # by vibe and split
        for cell in audit.cells:
            if cell.judge.name != self.conf["first"] and cell.vibe:
                others = [j.name for j in audit.plan.judges if j.name == self.conf["first"]]
                key = (cell.sample.record, cell.sample.file, cell.vibe)
                self.check_cell(cell, by.get((*key, others[0])), by.get((*key, cell.judge.name)))

    def check_cell(self, cell, first, second):
        if first is None or second is None or words_of(first) == NEVER:  # scores.csv lacks it, or the vibe was not ranked here
            return
        drawn = cell.sample.drawn("vq.cascade", cell.judge, cell.axis, float(self.conf["audit"]))
        escalated, asked = is_escalated(first, self.conf), words_of(second) != NEVER
        if (drawn or escalated) and not asked or asked and not (drawn or escalated or self.margin):
            self.audit.bad("R1 plan", f"{cell.name(0)}: the second judge was {'asked' if asked else 'not asked'}, the cascade says otherwise")
        self.rows[cell.vibe, first["split"]].append((escalated, score(first), score(second)))

    def check_vibe(self, vibe):
        for split in ("train", "test"):
            if self.margin:  # which of the audited rows are escalated is not known here
                continue
            said, want = vibe["separability"][split], estimate(self.rows[vibe["id"], split])
            if (said is None) != (want is None) or want is not None and abs(said - want) > 1e-8:
                self.audit.bad("R2 results", f"vibe {vibe['name']}: separability on {split} is {said} in results.json, the cascade's estimate is {want}")
