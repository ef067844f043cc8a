"""Batches at providers: the server's log of each line that it carried out, against the ledger. A line has no call id, so lines and answers
of the ledger are compared as sets, by model and tokens; a question is known by the hash of its request.

Not its job: calls that were sent by themselves (checks.py)."""
import collections

HALF = 0.5  # the price of a batch, where the configuration has none
WHOLE = (None, "duplicate", "foreign")  # what may befall a result that can still be read


class Batches:
    def __init__(self, config, endpoint):
        self.endpoint, self.pools = endpoint, {}  # names of pools: the price as a multiple
        for pool in config.get("pools") or ():
            for model in filter(is_batch, pool["models"]):
                given = float(model["batch"].get("price", -1)) if isinstance(model["batch"], dict) else -1
                self.pools[name_of(pool, model)] = given if given >= 0 else HALF

    def has(self, row):
        """Whether the call was, or is, part of a batch."""
        return row.get("pool") in self.pools

    @property
    def lines(self):
        return [line for lines in self.endpoint.batch_lines.values() for line in lines] if self.endpoint else []

    def check(self, audit):
        rows = [row for row in audit.store.calls.values() if self.has(row)]
        waiting = {row["call"] for row in rows if row["end"] == "batched"}
        for call in sorted(waiting ^ audit.store.waiting):
            audit.bad("I2 batches", f"call {call} is {'part of a batch' if call in waiting else 'not part of a batch any more'} in the ledger, and "
                                    f"{'no record' if call in waiting else 'a record'} of it waits for its result")
        for call in sorted(waiting) if audit.finished else ():
            audit.lost.add(call)
            audit.bad("R1 batches", f"the run is finished, and call {call} waits in a batch")
        if self.lines:
            self.check_twice(audit, rows)
            self.check_lost(audit, rows, len(waiting))

    def check_twice(self, audit, rows):
        for custom_id, lines in sorted(self.endpoint.batch_lines.items()):
            batches = {line["batch"] for line in lines}
            if len(batches) > 1:
                audit.bad("R5 batches", f"line {custom_id} was part of {len(batches)} batches at the server: its batch was created twice")
        answered = [row for row in rows if row["end"] == "answer"]
        asked = {audit.shared.get(row["request"], row["request"]) for row in answered if row["repeat"] == 0}
        allowed = len(answered) - len(asked)  # equal questions at once, and those asked again
        bought = collections.defaultdict(list)
        for line in self.lines:
            if line["paid"] and line["fault"] in WHOLE:
                bought[line["hash"]].append(line)
        again = [lines for lines in bought.values() if len(lines) > 1]
        if sum(len(lines) - 1 for lines in again) > allowed:
            for lines in again:
                audit.bad("R5 batches", f"one question was bought {len(lines)} times in batches, as {', '.join(line['custom_id'] for line in lines)}")

    def check_lost(self, audit, rows, waiting):
        """`waiting`: so many results may not have been collected yet; and what spools hold may not be committed."""
        def key(model, tokens_in, tokens_out):
            return model, tokens_in, tokens_out
        sold = collections.Counter(key(x["model"], x["prompt_tokens"], x["completion_tokens"]) for x in self.lines if x["paid"] and x["fault"] in WHOLE)
        had = collections.Counter(key(r["model"], r["tokens_in"], r["tokens_out"]) for r in rows if r["end"] == "answer" and not r["unreported"])
        lost, unexpected = sold - had, had - sold
        uncommitted = waiting + sum(row["end"] == "answer" for row in audit.spools.values())
        if sum(lost.values()) > uncommitted:
            audit.lost.update(("batch line", *one) for one in lost)
            audit.bad("R4 batches", f"{sum(lost.values())} lines of batches were carried out and paid, and the ledger does not have their answers "
                                    f"({uncommitted} wait): {self.some(lost)}")
        if unexpected:
            audit.unexpected.update(("batch line", *one) for one in unexpected)
            audit.bad("R4 batches", f"the ledger has {sum(unexpected.values())} answers of batches that the server never gave: {self.some(unexpected)}")

    @staticmethod
    def some(counter):
        return ", ".join(f"{model} with {a} + {b} tokens" for model, a, b in sorted(counter)[:5])


def is_batch(model):
    batch = model.get("batch")
    return batch is True or isinstance(batch, dict) and batch.get("enabled", True) is not False


def name_of(pool, model):
    """As accounting and ledger name the pool of this model."""
    return pool["name"] if len(pool["models"]) == 1 else f"{pool['name']}/{model['model']}{'/batch' if is_batch(model) else ''}"
