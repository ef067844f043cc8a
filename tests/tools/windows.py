#!/usr/bin/env python3
"""Judges a log of vibeq-offline: was any limit exceeded in any window, and how far was what was allowed used?

    windows.py calls.jsonl --limits rpm=60 --limits acme:keys=env:K,rpm=600,window_ms=10000 [--from MS --to MS] [--offered] [--json]

--limits is what the server was given (docs/use/offline.md). Every call is recounted from its own line: when it came, what it asked for,
when it was answered. Nothing is taken over from the limiter but whether it admitted the call, and there is no common code. Standard
library only; `judge` is for other programs.

Exit codes: 0 no window over a limit, 1 some are, 2 nothing to judge or bad input."""
import argparse
import bisect
import datetime
import json
import sys

WINDOWED = {"rpm": "requests", "itpm": "input_tokens", "otpm": "output_tokens", "tpm": "tokens"}
NS_PER_MS = 1000000


class Limits:
    """The numbers of one --limits text."""

    def __init__(self, text):
        name, colon, rest = text.partition(":")
        if not colon or "=" in name or "," in name:
            name, rest = "default", text
        self.pool = name
        self.values = dict(pair.split("=", 1) for pair in rest.split(",") if pair)
        self.window_ns = self.whole("window_ms", 60000) * NS_PER_MS
        self.ramp_ns = self.whole("ramp_ms", self.window_ns // NS_PER_MS) * NS_PER_MS
        self.counts_refused = self.values.get("count_refused", "0") in ("1", "on")

    def whole(self, name, default=0):
        return int(self.values.get(name, default))

    def in_window(self, name, window_ns=None):
        """A limit a minute as one in a window; 0: none."""
        return self.whole(name) * ((window_ns or self.window_ns) // NS_PER_MS) // 60000

    def usd(self, name):
        return float(self.values.get(name, 0))


class Call:
    """One call that met limits."""

    def __init__(self, request):
        self.at_ns = request["mono_ns"]
        self.unix_ms = request["unix_ms"]
        self.is_pacific = request["dialect"] == "gemini"
        self.refused_by = request["refused_by"]
        self.asked = {"requests": 1, "input_tokens": request["asked_in"], "output_tokens": request["asked_out"],
                      "tokens": request["asked_in"] + request["asked_out"]}
        self.cached = request.get("cached_tokens", max(0, request["prompt_tokens"] - request["asked_in"]))
        self.uncached = max(0, request["prompt_tokens"] - self.cached)
        self.written = request.get("cache_written_tokens", 0)
        self.end_ns = None  # still running when the log ends
        self.unused = 0  # of the output tokens that were asked for
        self.output = request["asked_out"]

    def answered(self, line):
        self.end_ns = line["mono_ns"]
        if line["event"] == "answer" and self.refused_by is None:
            self.unused = self.asked["output_tokens"] - line["counted_out"]
            self.output = line["completion_tokens"]

    def is_refused(self):
        """By a limit: a call that a fault made fail may count, but no limit is to blame."""
        return self.refused_by not in (None, "fault")

    def charge(self, what, is_settled, offered):
        """What counts of it: a refused call is a request without tokens, unless all that was offered is looked at."""
        if self.refused_by == "fault" or (self.refused_by is not None and not offered):
            return 1 if what == "requests" else 0
        back = self.unused if is_settled and what in ("output_tokens", "tokens") else 0
        return self.asked[what] - back


def read_calls(lines):
    """{pool: [Call]} in the order of arrival, of the calls that met a limit; and how many came in all."""
    open_calls, pools, total = {}, {}, 0
    for line in lines:
        if line["event"] == "request":
            total += 1
            if line.get("admitted") is not None:
                call = open_calls[line["n"]] = Call(line)
                pools.setdefault(line["pool"], []).append(call)
        elif line["n"] in open_calls and open_calls[line["n"]].end_ns is None:
            open_calls[line["n"]].answered(line)
    for calls in pools.values():
        calls.sort(key=lambda call: call.at_ns)
    return pools, total


def window_sums(calls, what, window_ns, offered):
    """For each arrival the sum over the window that ends with it, its own beginning not included."""
    events = [(call.at_ns, 1, i) for i, call in enumerate(calls)]
    events += [(call.end_ns, 0, i) for i, call in enumerate(calls) if call.end_ns is not None and call.unused]
    held = [0] * len(calls)
    oldest, total, sums = 0, 0, []
    for at_ns, is_arrival, i in sorted(events):
        while oldest < len(calls) and calls[oldest].at_ns <= at_ns - window_ns:
            total -= held[oldest]
            held[oldest] = 0
            oldest += 1
        charge = calls[i].charge(what, not is_arrival, offered)
        if is_arrival or i >= oldest:
            total += charge - held[i]
            held[i] = charge
        if is_arrival:
            sums.append(total)
    return sums


def running(calls):
    """How many calls ran at each arrival, the arriving one included."""
    ends = sorted(call.end_ns for call in calls if call.end_ns is not None)
    return [i + 1 - bisect.bisect_right(ends, call.at_ns) for i, call in enumerate(calls)]


def pacific_offset_s(unix_s):
    """US Pacific time: summer time from the second Sunday of March to the first of November, at two in the morning."""
    utc = datetime.timezone.utc
    year = datetime.datetime.fromtimestamp(unix_s, utc).year

    def sunday(month, nth, hour):
        first = datetime.datetime(year, month, 1, hour, tzinfo=utc)
        return (first + datetime.timedelta(days=6 - first.weekday() + 7 * (nth - 1))).timestamp()
    return -25200 if sunday(3, 2, 10) <= unix_s < sunday(11, 1, 9) else -28800


def day_of(call, limits):
    day_ms = limits.whole("day_ms")
    if day_ms:
        return call.unix_ms // day_ms
    unix_s = call.unix_ms // 1000
    return (unix_s + (pacific_offset_s(unix_s) if call.is_pacific else 0)) // 86400


def day_sums(calls, what, limits, offered):
    """For each arrival what its day has come to. What is settled in a day counts as settled: the log cannot be over for it."""
    days, sums = {}, []
    for call in calls:
        day = day_of(call, limits)
        days[day] = days.get(day, 0) + call.charge(what, True, offered)
        sums.append(days[day])
    return sums


def verdict(limit, sums):
    return {"limit": limit, "largest": max(sums, default=0), "over": sum(used > limit for used in sums)}


def ramp_verdict(calls, limits):
    times = [call.at_ns for call in calls]
    floor = max(1, limits.whole("ramp_floor", 60) * (limits.ramp_ns // NS_PER_MS) // 60000)
    worst, over = (floor, 0), 0
    for i, at_ns in enumerate(times):
        begin = bisect.bisect_right(times, at_ns - limits.ramp_ns)
        before = begin - bisect.bisect_right(times, at_ns - 2 * limits.ramp_ns)
        allowed = max(floor, before * (100 + limits.whole("ramp")) // 100)
        recent = i + 1 - begin
        over += recent > allowed
        if recent / allowed > worst[1] / worst[0]:
            worst = (allowed, recent)
    return {"limit": worst[0], "largest": worst[1], "over": over}


def money_verdict(calls, limits):
    spent = sum((call.uncached + call.written / 4) * limits.usd("usd_in") + call.cached * limits.usd("usd_cached")
                + call.output * limits.usd("usd_out") for call in calls if call.refused_by is None) / 1e6
    return {"limit": limits.usd("usd"), "largest": round(spent, 9), "over": int(spent > limits.usd("usd") + 1e-9)}


def judge_pool(calls, limits, start_ms, end_ms, offered):
    counted = [call for call in calls if call.refused_by in (None, "fault") or limits.counts_refused or offered]
    admitted = [call for call in calls if call.refused_by is None]
    found = {}
    for name, what in WINDOWED.items():
        if limits.whole(name):
            found[what] = verdict(limits.in_window(name), window_sums(counted, what, limits.window_ns, offered))
            found[what]["window_ms"] = limits.window_ns // NS_PER_MS
    for name, what in (("rpd", "requests"), ("tpd", "tokens")):
        if limits.whole(name):
            found[f"day_{what}"] = verdict(limits.whole(name), day_sums(counted, what, limits, offered))
    if limits.whole("concurrency"):
        found["concurrency"] = verdict(limits.whole("concurrency"), running([call for call in counted if call.refused_by != "fault"] if offered else admitted))
    if limits.whole("ramp"):
        found["ramp"] = ramp_verdict(counted, limits)
    if limits.usd("usd"):
        found["money"] = money_verdict(calls, limits)
    between = [call for call in calls if start_ms <= call.unix_ms < end_ms]
    refused = {}
    for call in calls:
        if call.is_refused():
            refused[call.refused_by] = refused.get(call.refused_by, 0) + 1
    add_use(found, limits, [call for call in admitted if start_ms <= call.unix_ms < end_ms], start_ms, end_ms)
    used = {what: dimension["use"] for what, dimension in found.items() if "use" in dimension}
    binding = max(used, key=used.get, default=None)
    return {"calls": len(calls), "refused": sum(refused.values()), "refused_by": refused,
            "refused_share": sum(refused.values()) / len(calls),
            "refused_share_between": sum(map(Call.is_refused, between)) / len(between) if between else 0,
            "binding": binding, "use": used.get(binding, 0), "over": sum(d["over"] for d in found.values()), "dimensions": found}


def add_use(found, limits, admitted, start_ms, end_ms):
    """The share of each limit that was used between two times."""
    span_ms = end_ms - start_ms
    for what in WINDOWED.values():
        if what in found and span_ms > 0:
            used = sum(call.charge(what, True, False) for call in admitted)
            found[what]["use"] = used * found[what]["window_ms"] / (found[what]["limit"] * span_ms)
    if "concurrency" in found and span_ms > 0:
        busy_ms = sum(min(end_ms - call.unix_ms, (call.end_ns - call.at_ns) / NS_PER_MS)
                      for call in admitted if call.end_ns is not None)
        found["concurrency"]["use"] = busy_ms / (limits.whole("concurrency") * span_ms)


def judge(lines, limit_texts, start_ms=None, end_ms=None, offered=False):
    """`lines`: the log's objects. Times are wall times in ms: when there was work to do, not given: from the first call to the last.
    With `offered` every call counts with all that it asked for, refused or not: did the client keep to the limits by itself?"""
    texts = {limits.pool: limits for limits in map(Limits, limit_texts)}
    pools, total = read_calls(lines)
    times = [call.unix_ms for calls in pools.values() for call in calls]
    start_ms = min(times, default=0) if start_ms is None else start_ms
    end_ms = max(times, default=0) if end_ms is None else end_ms
    found = {}
    for pool, calls in sorted(pools.items()):
        limits = texts.get(pool.split("/")[0])
        if limits is None:
            raise ValueError(f"the log has calls of the pool {pool}, whose limits were not given")
        found[pool] = judge_pool(calls, limits, start_ms, end_ms, offered)
    met = sum(pool["calls"] for pool in found.values())
    refused = sum(pool["refused"] for pool in found.values())
    return {"calls": total, "calls_with_limits": met, "refused": refused, "refused_share": refused / met if met else 0,
            "over": sum(pool["over"] for pool in found.values()), "from_ms": start_ms, "to_ms": end_ms, "offered": offered,
            "pools": found}


def read_log(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]  # the last line may be in the making


def print_table(found):
    for name, pool in found["pools"].items():
        print(f"{name}: {pool['calls']} calls, {pool['refused']} refused ({100 * pool['refused_share']:.3f} %), "
              f"binding {pool['binding']} used to {100 * pool['use']:.1f} %")
        for what, d in pool["dimensions"].items():
            window = f"in {d['window_ms'] / 1000:g} s" if "window_ms" in d else ""
            use = f"{100 * d['use']:6.1f} % used" if "use" in d else ""
            print(f"  {what:14} limit {d['limit']:>10} {window:10} largest {d['largest']:>10}  over {d['over']:>6}  {use}")
    print(f"{found['calls_with_limits']} of {found['calls']} calls met limits, {found['refused']} were refused; "
          f"{found['over']} times over a limit")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--limits", action="append", required=True, metavar="TEXT")
    parser.add_argument("--from", dest="start", type=int, metavar="UNIX_MS")
    parser.add_argument("--to", dest="end", type=int, metavar="UNIX_MS")
    parser.add_argument("--offered", action="store_true", help="judge what was sent, not what was let through")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        found = judge(read_log(options.log), options.limits, options.start, options.end, options.offered)
    except (OSError, ValueError, KeyError) as problem:
        print(f"windows: {problem!r}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        print_table(found)
    if found["calls_with_limits"] == 0:
        print("windows: no call met a limit, there is nothing to judge", file=sys.stderr)
        return 2
    return 1 if found["over"] else 0


if __name__ == "__main__":
    sys.exit(main())
