"""What whoever disturbed the run wrote down while doing so: which worker's process was killed, stood still or was out of reach, and when. A
record that the product has no part in; with the endpoint's log, on the same monotonic clock, it says which calls may have been bought again.

Lines of JSON:
    {"calls": "0123456789abcdef", "how": "killed", "mono_ns": N, "collected": true}
        `calls`: how ids of this process' calls begin; null: none was known. `how`: "killed"; "silent" (stood still, or out of the coordinator's
        reach, from N on at the earliest); "any" (in a way that has no such moment). `collected`: somebody reads the spool that it left.
    {"between": true}     something between workers and endpoint loses and spoils answers
    {"lateness_ms": N}    processes had to wait for the machine for so long, at most"""
import json
from pathlib import Path

HEARTBEATS = 6  # in a term: so much of it may be over when a worker falls silent
SPOOLED_MS = 2000  # an answer that was sent for so long is in a spool
LATE_TIMES = 10
ARRIVES_MS = 5000  # what a killed process had sent arrives within
NS_PER_MS = 1_000_000


class Disturbed:
    def __init__(self, path, term_ms):
        self.by, self.nameless, self.taken = {}, [], set()
        self.between, self.late_ms, self.term_ms = False, 0, term_ms
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if "how" in row and row["calls"]:
                self.by.setdefault(row["calls"], []).append(row)
            elif "how" in row:
                self.nameless.append(row)
            self.between = self.between or row.get("between", False)
            self.late_ms = max(self.late_ms, row.get("lateness_ms", 0))

    def why_not(self, endpoint, before, row):
        """None: what was done explains that `row` was bought although `before` was; else why it does not."""
        if before["end"] not in ("answer", "unknown"):
            if self.between or not endpoint.clean(before["call"]) or before["call"][:16] in self.by:
                return None
            return f"the ledger has call {before['call']} as {before['end']}, and the endpoint sent its answer whole"
        whys = []
        ways = [(before, row), (row, before)]  # what a process that stood still was about to send comes behind what was asked in its stead
        for first, again in ways:
            for one in self.by.get(first["call"][:16], ()):
                whys.append(self._why_not_by(one, endpoint.calls[first["call"]][0], endpoint.calls[again["call"]][0]))
        for first, again in ways:
            if None not in whys and self.nameless and first["call"][:16] not in self.by:
                whys.append(self._why_not_nameless(endpoint, first, again))
        if None in whys:
            return None
        return whys[0] if whys else f"nothing befell the process of call {before['call']}"

    def _why_not_nameless(self, endpoint, first, again):
        """As many processes as there were without a name may be it."""
        process = first["call"][:16]
        if process not in self.taken and len(self.taken) == len(self.nameless):
            return f"nothing befell the process of call {first['call']}"
        whys = [self._why_not_by(one, endpoint.calls[first["call"]][0], endpoint.calls[again["call"]][0]) for one in self.nameless]
        if None in whys:
            self.taken.add(process)
            return None
        return whys[0]

    def _why_not_by(self, one, before, row):
        asked, again = before["request"]["mono_ns"], row["request"]["mono_ns"]
        began, answered = one["mono_ns"], before["answer"]["mono_ns"] if before["answer"] else None
        if one["how"] == "killed":
            if again < began:
                return f"it was asked again {(began - again) // NS_PER_MS} ms before its process was killed"
            if asked > began + (ARRIVES_MS + LATE_TIMES * self.late_ms) * NS_PER_MS:
                return "it was asked long after its process was killed"
            if one.get("collected") and answered is not None and answered + (SPOOLED_MS + LATE_TIMES * self.late_ms) * NS_PER_MS < began:
                return f"it had been answered {(began - answered) // NS_PER_MS} ms before its process was killed, whose spool was read"
        elif one["how"] == "silent":
            least_ms = self.term_ms - 1.5 * self.term_ms / HEARTBEATS - self.late_ms
            if again - began < least_ms * NS_PER_MS:
                return f"it was asked again {(again - began) // NS_PER_MS} ms after its process fell silent, and a term is {self.term_ms} ms"
        return None
