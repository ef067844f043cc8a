"""An operator's night: three pools, 1 % of the calls refused at random, two workers that join with keys of their own, a worker and the
coordinator killed, a resume. Everything that the operator reads is right; a whole night ends about when `vibeq plan` said.

VQ_NIGHT_TASKS=22000 is the whole night (make night); CI runs a small one."""
import collections
import json
import os
import signal
import threading
import time

import vqtest
from pooling import AXES, Pool, Pools
from vqtest import DONE

TASKS = int(os.environ.get("VQ_NIGHT_TASKS", "1800"))
RPM = {"a": 600, "b": 720, "c": 480}
USD = {"a": (1.0, 0.25, 4.0), "b": (2.0, 0.5, 8.0), "c": (3.0, 0.75, 12.0)}  # of a million tokens: input, cached input, output
WHOLE = "VQ_NIGHT_TASKS" in os.environ  # else its time is printed only: what starts and kills cost is as long in a short night


class Night(Pools):
    samples = TASKS // (2 * len(AXES))

    def watch(self):
        """What `vibeq status` says, as (epoch, done, status)."""
        written = 0
        while not self.over_now:
            got = self.vibeq("status", "r", "--json", code=None)
            try:
                status = json.loads(got.stdout)
                tasks = status["tasks"]
            except (ValueError, KeyError):
                status = None
            # of a coordinator that is killed or just over, status.json is shown, which may be 5 s old
            if status is not None and status["written_unix_ms"] >= written:
                written = status["written_unix_ms"]
                self.seen.append((status.get("epoch"), sum(tasks[s] for s in ("answered", "not_needed", "failed")), status))
            time.sleep(0.5)

    def worker(self, name):
        keys = [word for pool in self.pools for key in self.pools[pool].names(pool) for word in ("--key", f"{pool}=env:{key}")]
        return self.join("--name", name, "--spool", self.dir / name, *keys)

    def settled_at(self, share):
        return lambda: self.seen and self.seen[-1][1] >= share * self.samples * 2 * len(AXES)

    def test_a_night(self):
        self.pools = {name: Pool(f"rpm={rpm}", rpm=rpm, **dict(zip(("usd_in", "usd_cached", "usd_out"), USD[name]))) for name, rpm in RPM.items()}
        self.serve(self.pools, "--fault", "rate_limit=0.01", latency="400ms")
        self.told(self.pools)
        plan = json.loads(self.vibeq("plan", "config.yaml", "--json").stdout)
        self.seen, self.over_now = [], False
        watcher = threading.Thread(target=self.watch)
        limit = 300 + 3 * plan["seconds"]["most"]
        began = time.monotonic()
        child = self.start("run", "config.yaml", "--name", "r", "--workers", 0, "--listen", "127.0.0.1:0", "--quiet")
        self.wait_for("the certificate", lambda: (self.dir / "runs/r/join.cert").exists())
        workers = [self.worker("one"), self.worker("two")]
        watcher.start()
        try:
            self.wait_for("a quarter", self.settled_at(0.25), limit)
            workers[0].send_signal(signal.SIGKILL)
            workers[0].wait()
            workers[0] = self.worker("one")
            self.wait_for("half of it", self.settled_at(0.5), limit)
            child.kill()
            child.wait()
            child = self.start("resume", "r", "--workers", 0, "--listen", "127.0.0.1", "--quiet")
            self.wait_exit(child, DONE, limit)
            took = time.monotonic() - began
        finally:
            self.over_now = True
            watcher.join()
        self.look(plan, took)

    def bill(self, calls, asked):
        """Each call is billed as the server billed it: pool, tokens and dollars. Only what a kill lost is not known."""
        billed = {}
        for line in self.server.answers():
            if line.get("paid"):
                request = asked[line["n"]]
                pool, cached, tokens_in = request["pool"].split("/")[0], request["cached_tokens"], line["prompt_tokens"]
                usd_in, usd_cached, usd_out = USD[pool]
                usd = ((tokens_in - cached) * usd_in + cached * usd_cached + line["completion_tokens"] * usd_out) / 1e6
                billed[request["call"]] = (pool, tokens_in, cached, line["completion_tokens"], round(usd, 9))
        ledger = [json.loads(line) for line in self.vibeq("export", "r", "calls", "--format", "jsonl").stdout.splitlines()]
        charged = {row["call"]: (row["pool"], row["tokens_in"], row["tokens_cached"], row["tokens_out"], round(row["cost_usd"], 9))
                   for row in ledger if row["end"] == "answer"}
        unknown = {row["call"] for row in ledger if row["end"] == "unknown"}
        self.assertEqual(len(charged), calls["answered"])
        self.assertEqual({call: billed.get(call) for call in charged}, charged)
        self.assertEqual(set(billed) - set(charged) - unknown, set(), "what the server billed and no row knows")
        self.assertEqual(sum(row["cost_usd"] for row in ledger if row["end"] not in ("answer", "unknown")), 0, "refused calls cost nothing")
        sums = [sum(row[i] for row in charged.values()) for i in range(1, 5)]
        self.assertEqual(sums[:3], [calls["tokens_in"], calls["tokens_cached"], calls["tokens_out"]])
        self.assertAlmostEqual(sums[3] + sum(row["cost_usd"] for row in ledger if row["end"] == "unknown"),
                               json.loads((self.dir / "runs/r/accounting.json").read_text())["cost_usd"], places=6)
        return {"usd": round(sums[3], 6), "billed_usd": round(sum(bill[4] for call, bill in billed.items() if call in charged), 6)}

    def look(self, plan, took):
        calls = self.accounting("r")
        answers = [line for line in self.server.answers() if line.get("status", 200) == 200]
        asked = {line["n"]: line for line in self.server.requests()}
        bought = collections.Counter(asked[line["n"]]["hash"] for line in answers if line["n"] in asked)
        twice = sum(count - 1 for count in bought.values())
        result = json.loads(self.results_bytes("r"))
        planned, seconds = plan["calls"]["expected"] + plan["repairs"]["expected"], plan["seconds"]["expected"]
        figures = {"tasks": calls["planned"], "requests_planned": round(planned), "requests": len(asked), "answers": len(answers), "twice": twice,
                   "unknown": calls["unknown"], "planned_s": round(seconds, 1), "took_s": round(took, 1), "ratio": round(took / seconds, 3)}
        figures.update(self.bill(calls, asked))
        print(json.dumps(figures), flush=True)
        # what the run asks is planned; refused calls, and what a kill lost, are asked again
        self.assertAlmostEqual(calls["first_sends"] + calls["repairs"], planned, delta=0.05 * planned, msg=figures)
        self.assertAlmostEqual(planned / seconds, sum(RPM.values()) / 60, delta=0.1, msg="the limits of the pools make the time")
        # every task is settled once, and only what a kill can lose was bought twice
        self.assertEqual(result["cells_missing"], 0)
        self.assertEqual(calls["planned"], calls["first_sends"] + calls["from_store"] + calls["saved_by_lazy_swap"])
        self.assertLessEqual(twice, calls["unknown"])
        self.assertLessEqual(calls["answered"], len(answers))
        self.assertLessEqual(len(answers), calls["answered"] + calls["unknown"])
        self.assertEqual(calls["failed"]["rate"] + calls["unknown"] + calls["answered"], calls["sent"], calls)
        # progress never goes back
        done = [one[1] for one in self.seen]
        self.assertEqual(done, sorted(done))
        # no limit was learned down, and each pool was used
        for name, rpm in RPM.items():
            last = [p for one in self.seen for p in one[2].get("pools", []) if p["name"] == name and "limits" in p][-1]
            self.assertEqual(last["limits"]["requests_per_minute"]["limit"], rpm, last)
            self.assertGreater(last["answered"], 0)
        self.vibeq("verify", "r", timeout=300)
        if WHOLE:
            self.assertLessEqual(took, 1.15 * seconds, figures)


if __name__ == "__main__":
    vqtest.main()
