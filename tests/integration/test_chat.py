"""Dialogues of 102 turns as chains of tasks, with real processes killed half-way: the same dialogues, byte for byte, as undisturbed, and
nothing is bought twice but what was in flight at a killed worker."""
import collections
import json
import threading
import time

import vqtest
from answering import Endpoint, Server
from vqtest import DONE, MISSING, USAGE, Case, planted

TURNS = 102
CHAINS = 3
CONCURRENCY = 4


class Subject(Endpoint):
    """Says which turn it is, and knows of every dialogue whether it is begun and not over; its first query names it."""

    def do_POST(self):
        asked = json.loads(self.body())
        queries = [m["content"] for m in asked["messages"] if m["role"] == "user"]
        state = self.server
        with state.lock:
            state.in_flight += 1
            state.begun |= {queries[0]}
            state.most_in_flight = max(state.most_in_flight, state.in_flight)
            state.most_open = max(state.most_open, len(state.begun - state.over))
        time.sleep(0.02)
        with state.lock:
            state.in_flight -= 1
            state.over |= {queries[0]} if queries[-1] == "the last" else set()
        self.say(asked["model"], f"{len(queries)}: {queries[-1]}")


class OpenChains(Case):
    def test_calls_in_flight_cap_the_dialogues_that_are_open(self):
        chains, concurrency = 80, 3
        server = Server(Subject)
        server.lock, server.in_flight, server.most_in_flight, server.most_open = threading.Lock(), 0, 0, 0
        server.begun, server.over = set(), set()
        self.servers.append(server)
        planted(self.dir, 4, ("V1",))
        (self.dir / "config.yaml").write_text("\n".join([
            "data: {path: data.csv}", "models: [alpha, beta]", "method: vibes", "vibes: [{name: V1, low: low, high: high}]", "workers: 4",
            f"judges: [{{model: m, base_url: '{server.url}', identity: t, concurrency: {concurrency}}}]"]) + "\n")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING)
        server.begun, server.over, server.most_in_flight, server.most_open = set(), set(), 0, 0
        (self.dir / "chains.jsonl").write_text("".join(
            json.dumps({"queries": [f"chain {i}", "and", "then", "so", "the last"]}) + "\n" for i in range(chains)))
        self.vibeq("chat", "r", "--chains", "chains.jsonl", "--quiet")
        self.assertEqual((len(server.begun), server.begun - server.over), (chains, set()))
        self.assertLessEqual(server.most_in_flight, concurrency)
        self.assertLessEqual(server.most_open, 2 * concurrency + 1)


class Chat(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 4, ("V1",))
        queries = [f"Question {k}: what do you make of number {k * k}?" for k in range(TURNS)]
        chains = [{"system": f"You are embodying the role of Number {i}. You are boastful.", "queries": queries} for i in range(CHAINS)]
        chains[-1].pop("system")
        chains[0]["queries"] = queries[: TURNS // 2]
        self.write("chains.jsonl", chains)

    def write(self, name, chains):
        (self.dir / name).write_text("".join(json.dumps(c) + "\n" for c in chains))

    def begin(self, *options, runs="runs"):
        """A run whose judge is the built-in subject: it gives no verdicts, and talks."""
        self.server = self.offline(*options, name=runs)
        lines = ["data: {path: data.csv}", "models: [alpha, beta]", "method: vibes", "vibes: [{name: V1, low: low, high: high}]",
                 f"judges: [{{model: offline-subject, base_url: {self.server.url}, identity: the-test, concurrency: {CONCURRENCY}}}]",
                 "term_ms: 2000"]
        (self.dir / "config.yaml").write_text("\n".join(lines) + "\n")
        self.runs = self.dir / runs
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--runs", self.runs, code=MISSING)
        self.before = len(self.server.requests())

    def words(self, *more):
        return ["chat", "r", "--chains", "chains.jsonl", "--quiet", "--runs", self.runs, *more]

    def dialogues(self):
        return (self.runs / "r/chat/dialogues.jsonl").read_text()

    def undisturbed(self):
        if not hasattr(self, "calm"):
            kept = self.server, self.runs, self.before
            self.begin(runs="calm")
            self.vibeq(*self.words())
            self.calm = self.dialogues()
            self.server, self.runs, self.before = kept
        return self.calm

    def talk_until(self, share):
        child = self.start(*self.words())
        wanted = self.before + share * (2.5 * TURNS)
        self.wait_for("some turns", lambda: child.poll() is not None or len(self.server.answers()) > wanted)
        self.assertIsNone(child.poll(), f"it was over before it could be disturbed\n{self.logs()}")
        return child

    def workers(self):
        return self.processes_of(str(self.runs), "vibeq-worker") or self.processes_of(str(self.dir), "vibeq-worker")

    def check(self, in_flight_max):
        got = self.dialogues()
        self.assertEqual(got, self.undisturbed())
        for i, line in enumerate(got.splitlines()):
            dialogue = json.loads(line)
            turns = TURNS // 2 if i == 0 else TURNS
            self.assertEqual(len(dialogue["messages"]), 2 * turns)
            self.assertIsNone(dialogue["ended"])
            self.assertEqual([m["role"] for m in dialogue["messages"]], ["user", "assistant"] * turns)
        count = collections.Counter(x["hash"] for x in self.server.requests()[self.before:])
        self.assertEqual(len(count), TURNS * 2 + TURNS // 2, "each turn is a request of its own")
        self.assertLessEqual(sum(n - 1 for n in count.values()), in_flight_max)

    def test_undisturbed_and_once_more(self):
        self.begin()
        self.vibeq(*self.words())
        self.check(0)
        sent = len(self.server.requests())
        first = self.dialogues()
        self.vibeq(*self.words())
        self.assertEqual(self.dialogues(), first)
        self.assertEqual(len(self.server.requests()), sent, "everything is in the store")

    def test_a_worker_is_killed_three_times(self):
        self.begin("--latency", "uniform:10ms:20ms")
        child = self.talk_until(0.2)
        for share in (0.2, 0.4, 0.6):
            wanted = self.before + share * 2.5 * TURNS
            self.wait_for("more turns", lambda: child.poll() is not None or len(self.server.answers()) > wanted)
            self.assertIsNone(child.poll(), self.logs())
            self.kill_workers()
        self.wait_exit(child, DONE)
        self.check(3 * CHAINS)

    def test_the_coordinator_is_killed_and_all_is_found_again(self):
        self.begin("--latency", "uniform:10ms:20ms")
        child = self.talk_until(0.4)
        child.kill()
        child.wait()
        self.vibeq(*self.words())
        self.check(0)  # live workers brought back what they held

    def test_everything_is_killed(self):
        self.begin("--latency", "uniform:10ms:20ms")
        child = self.talk_until(0.5)
        self.kill_all(child)
        time.sleep(0.3)
        self.vibeq(*self.words())
        self.check(CHAINS)

    def test_the_same_beginning_is_bought_once(self):
        self.begin()
        self.vibeq(*self.words())
        sent = len(self.server.requests())
        chains = [json.loads(line) for line in (self.dir / "chains.jsonl").read_text().splitlines()]
        chains[1]["queries"][TURNS - 2:] = ["And now for something else?", "Farewell."]
        self.write("chains.jsonl", [chains[1]])
        self.vibeq(*self.words())
        self.assertEqual(len(self.server.requests()), sent + 2, "all but the last two turns are in the store")

    def branches(self):
        """A tree of beginnings, some dialogues twice: how many turns it has that differ."""
        chains = []
        for i in range(16):
            queries = [f"Stage {k}, path {i >> max(0, 4 - k // 2)}: what now?" for k in range(10)]
            chains += [{"system": "You are embodying the role of a Traveller. You are curious.", "queries": queries}] * (1 + i % 2)
        self.write("chains.jsonl", chains)
        return len({json.dumps(c["queries"][: k + 1]) for c in chains for k in range(10)})

    def test_what_many_begin_with_is_asked_once_though_all_are_open_at_once(self):
        turns = self.branches()
        self.begin("--latency", "uniform:5ms:15ms")
        self.vibeq(*self.words())
        count = collections.Counter(x["hash"] for x in self.server.requests()[self.before:])
        self.assertEqual(set(count.values()), {1})
        self.assertEqual(len(count), turns)
        accounting = json.loads((self.runs / "r/chat/accounting.json").read_text())["calls"]
        self.assertEqual(accounting["first_sends"], turns)
        self.assertEqual(accounting["from_store"], accounting["planned"] - turns)
        self.assertEqual(accounting["paid_unused"], 0)
        dialogues = [json.loads(line) for line in self.dialogues().splitlines()]
        self.assertEqual(len(dialogues), 24)
        self.assertTrue(all(len(d["messages"]) == 20 and d["ended"] is None for d in dialogues))

    def test_what_fails_for_one_fails_for_all_that_begin_so(self):
        self.branches()
        self.begin("--fault", "bad_request=0.05")
        self.vibeq(*self.words(), code=MISSING)
        count = collections.Counter(x["hash"] for x in self.server.requests()[self.before:])
        self.assertEqual(set(count.values()), {1})
        of = collections.defaultdict(set)
        for line in self.dialogues().splitlines():
            dialogue = json.loads(line)
            for k in range(len(dialogue["messages"]) // 2):
                said = [m["content"] for m in dialogue["messages"][: 2 * k + 2]]
                of[json.dumps(said[::2])].add(json.dumps(said[1::2]))
        self.assertTrue(all(len(answers) == 1 for answers in of.values()))

    def test_a_dialogue_that_cannot_go_on_ends_there(self):
        self.begin("--fault", "refusal=0.02", "--fault", "server_error=0.05", "--fault", "bad_request=0.01")
        self.vibeq(*self.words(), code=MISSING)
        whole = [json.loads(line) for line in self.undisturbed().splitlines()]
        ended = set()
        for chain, line in enumerate(self.dialogues().splitlines()):
            dialogue = json.loads(line)
            said = len(dialogue["messages"])
            self.assertEqual(said % 2, 0)
            self.assertEqual(dialogue["messages"], whole[chain]["messages"][:said], "as far as it came it is as undisturbed")
            self.assertEqual(said == len(whole[chain]["messages"]), dialogue["ended"] is None)
            ended.add(dialogue["ended"])
        self.assertTrue(ended & {"refused", "error"}, ended)
        self.assertLessEqual(ended, {None, "refused", "error"})
        calls = json.loads((self.runs / "r/chat/accounting.json").read_text())["calls"]
        self.assertLess(calls["sent"], calls["planned"], "what came behind was not asked")

    def test_a_pool_that_is_a_batch_leads_no_dialogue(self):
        planted(self.dir, 4, ("V1",))
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--model", "some")
        (self.dir / "config.yaml").write_text(
            "data: {path: data.csv}\nmodels: [alpha, beta]\njudges: [some]\nvibes: ['V1: High: high on V1. Low: low on V1.']\n"
            "pools: [{name: p, base_url: '%s', identity: x, models: [some]}]\n" % server.url)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        (self.dir / "chains.jsonl").write_text('{"queries": ["a"]}\n')
        asked = len(server.requests())
        got = self.vibeq("chat", "r", "--chains", "chains.jsonl", "--set", "pools[0].models[0].batch=true", code=USAGE)
        self.assertIn('judges[0]: all pools of "some" are batches', got.stderr)
        self.assertEqual(len(server.requests()), asked)

    def test_what_is_no_dialogue_is_named(self):
        self.begin()
        for text, what in (('{"system": "s"}\n', "queries"), ('{"queries": []}\n', "line 1"), ('{"queries": ["a"]}\n{"queries": [1]}\n', "line 2"),
                           ('{"queries": "a"}\n', "line 1")):
            (self.dir / "chains.jsonl").write_text(text)
            got = self.vibeq(*self.words(), code=USAGE)
            self.assertIn(what, got.stderr)


if __name__ == "__main__":
    vqtest.main()
