"""Prompts of 100,000 tokens and answers of 8,192, by a judge's ratings and in dialogues that grow so long: every byte as it should be, by a
recorder of the test's own that stands in front of the server; a text crosses the wire once a worker, not once a task; killed, a run
goes on; what is just above a limit is named with its place, before anything is sent."""
import collections
import csv
import json
import re
import socket
import threading

import vqtest
from answering import Between
from vqtest import DONE, MISSING, USAGE, Case

PROMPT_BYTES = 420_000
ANSWER_TOKENS = 8192
ODD = "\u201cquoted\u201d {prompt} {{criterion}} \u2026 \U0001f680 </prompt> \\ \" ```\ttab\r\nline\u2028 "


def long_text(seed, size):
    """Of so many bytes in UTF-8, nowhere the same twice."""
    text, n = [], 0
    for k in range(size):
        piece = f"{seed}-{k}: " + (ODD if k % 50 == 0 else "the river carries the letter past the mill. ")
        if n + len(piece.encode()) > size - 8:
            break
        text.append(piece)
        n += len(piece.encode())
    return "".join(text) + "." * (size - n)


class Recorder(Between):
    """Keeps the messages of each request that was answered, and the text of its answer."""

    def __init__(self, url):
        self.calls = []
        super().__init__(url, self.keep)

    def keep(self, question, text):
        self.calls.append((question["messages"], text))
        return text


class Wire:
    """Passes the bytes of workers on to a coordinator, and counts them."""

    def __init__(self, port):
        self.port, self.to_worker, self.back, self.ends = port, 0, 0, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                return
            self.ends += [near, far]
            threading.Thread(target=self.pump, args=(near, far, "back"), daemon=True).start()
            threading.Thread(target=self.pump, args=(far, near, "to_worker"), daemon=True).start()

    def pump(self, source, sink, counter):
        try:
            while data := source.recv(1 << 16):
                setattr(self, counter, getattr(self, counter) + len(data))
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def stop(self):
        for end in (self.listener, *self.ends):
            end.close()


class Large(Case):
    def setUp(self):
        super().setUp()
        self.stops = []

    def tearDown(self):
        super().tearDown()
        for thing in self.stops:
            thing.stop()

    def recorder(self, *options, name="offline"):
        server = self.offline(*options, name=name)
        recorder = Recorder(server.url)
        self.stops.append(recorder)
        return recorder

    def far(self, name="one"):
        """A worker that comes in through a counter of bytes."""
        cert = self.dir / "runs/r/join.cert"
        self.wait_for("the certificate", lambda: cert.exists() and "secret-key" in cert.read_text())
        text = cert.read_text()
        wire = Wire(int(re.search(r"tcp://127.0.0.1:(\d+)", text).group(1)))
        self.stops.append(wire)
        own = self.dir / f"{name}.cert"
        own.touch(0o600)
        own.write_text(re.sub(r"(tcp://127.0.0.1:)\d+", rf"\g<1>{wire.listener.getsockname()[1]}", text))
        return self.join("--name", name, cert=own), wire

    # ---- ratings ----

    ROWS, OWN = 3, 5

    def rows(self):
        return [[long_text(f"question {i}", PROMPT_BYTES), long_text(f"output {i}", 40_000)] for i in range(self.ROWS)]

    def rubric(self, url, name="config.yaml", **more):
        """A binary criterion, and others that differ by their rubric: each a question of its own about the same texts."""
        with open(self.dir / "data.csv", "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["question", "alpha"])
            out.writerows(self.rows())
        own = ", ".join(f"{{name: Own{i}, kind: likert, rubric: How calm is it by rule {i}?}}" for i in range(self.OWN))
        lines = ["data: data.csv", "models: [alpha]", f"criteria: [refusal, {own}]", "rating: {policy: paper}", "term_ms: 2000",
                 f"judges: [{{model: offline-a, base_url: \"{url}\", identity: the-test, concurrency: 4, max_tokens: {ANSWER_TOKENS}}}]"]
        lines += [f"{key}: {value}" for key, value in more.items()]
        (self.dir / name).write_text("\n".join(lines) + "\n")

    def files(self, runs="runs"):
        return [(self.dir / runs / "r/results" / name).read_bytes() for name in ("results.json", "ratings.csv")]

    def check_ratings(self, recorder):
        """Every question holds its texts as they are, every answer is in the store as it was given."""
        asked = collections.Counter()
        rows = self.rows()
        self.assertEqual(len(recorder.asked), len(recorder.calls), "each was answered")
        for messages, content in recorder.calls:
            self.assertEqual(len(content.encode()), 4 * ANSWER_TOKENS)
            user = messages[-1]["content"]
            at = next(i for i, (question, _) in enumerate(rows) if question in user)
            self.assertIn(rows[at][1], user)
            asked[at] += 1
        self.assertEqual(asked, {i: 1 + self.OWN for i in range(self.ROWS)})
        calls = [json.loads(line) for line in self.vibeq("export", "r", "calls", "--format", "jsonl").stdout.splitlines()]
        self.assertEqual(collections.Counter(c["answer"] for c in calls), collections.Counter(content for _, content in recorder.calls))

    def test_long_questions_and_long_answers_are_rated(self):
        recorder = self.recorder("--fault", "wrong_format=1,variant=endless")
        self.rubric(recorder.url, workers=0)
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        _, wire = self.far()
        self.wait_exit(child, DONE)
        self.check_ratings(recorder)
        texts = sum(len(t.encode()) for row in self.rows() for t in row)
        answers = self.ROWS * (1 + self.OWN) * 4 * ANSWER_TOKENS
        self.assertGreater(wire.to_worker, 2 * texts)
        self.assertLess(wire.to_worker, 1.02 * (2 + 1 / self.ROWS) * texts + 50_000,
                        "a text goes out once a stage, however many tasks are about it, and once more for the first call of all")
        self.assertGreater(wire.back, answers)
        self.assertLess(wire.back, 1.05 * answers + 50_000)
        self.assertIn("verified", self.vibeq("verify", "r").stdout)
        self.assertIn("byte for byte", self.vibeq("replay", "r", "--verify").stdout)

    def test_killed_with_long_questions_it_goes_on(self):
        calm = self.recorder("--fault", "wrong_format=1,variant=endless", name="calm")
        self.rubric(calm.url, "calm.yaml")
        self.vibeq("run", "calm.yaml", "--name", "r", "--quiet", "--runs", self.dir / "calm-runs")
        recorder = self.recorder("--fault", "wrong_format=1,variant=endless", "--latency", "100ms")
        self.rubric(recorder.url)
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.wait_for("a third of the answers", lambda: child.poll() is not None or len(recorder.calls) >= 6)
        self.assertIsNone(child.poll(), self.logs())
        self.kill_all(child)
        self.vibeq("resume", "r", "--quiet")
        self.assertEqual(self.files(), self.files("calm-runs"))
        asked = collections.Counter(json.dumps(messages) for messages, _ in recorder.calls)
        self.assertEqual(len(asked), self.ROWS * (1 + self.OWN))
        self.assertLessEqual(sum(asked.values()) - len(asked), 4, "only what was in flight is asked again")

    # ---- dialogues ----

    CHAINS, TURNS, QUERY_BYTES = 1, 11, 4_000

    def chains(self):
        chains = [{"system": f"You are embodying the role of Number {i}. {long_text(i, 2000)}",
                   "queries": [long_text(f"turn {k} of {i}", self.QUERY_BYTES) + "?" for k in range(self.TURNS)]} for i in range(self.CHAINS)]
        (self.dir / "chains.jsonl").write_text("".join(json.dumps(c) + "\n" for c in chains))
        return chains

    def talker(self, *options):
        recorder = self.recorder("--subject", f"offline-subject,bytes={4 * ANSWER_TOKENS - 200}", *options)
        lines = ["data: {path: data.csv}", "models: [alpha, beta]", "method: vibes", "vibes: [{name: V1, low: low, high: high}]",
                 f"judges: [{{model: offline-subject, base_url: \"{recorder.url}\", identity: the-test, concurrency: 4, max_tokens: {ANSWER_TOKENS}}}]",
                 "term_ms: 2000", "workers: 0"]
        (self.dir / "config.yaml").write_text("\n".join(lines) + "\n")
        vqtest.planted(self.dir, 4, ("V1",))
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--workers", 1, code=MISSING)  # the dialogues stand beside it
        recorder.asked.clear()
        recorder.calls.clear()
        (self.dir / "runs/r/join.cert").unlink()
        return recorder

    def check_dialogues(self, recorder, chains):
        """What was asked is the dialogue so far, message by message; what came back is the next one."""
        talks = [json.loads(line) for line in (self.dir / "runs/r/chat/dialogues.jsonl").read_text(encoding="utf-8").splitlines()]
        answers = {json.dumps(messages): content for messages, content in recorder.calls}
        self.assertEqual(len(recorder.asked), len(recorder.calls), "each was answered")
        self.assertEqual(len(talks), self.CHAINS)
        self.assertEqual(len(answers), self.CHAINS * self.TURNS)
        for chain, talk in zip(chains, talks):
            self.assertIsNone(talk["ended"])
            said = [{"role": "system", "content": chain["system"]}]
            for query in chain["queries"]:
                said.append({"role": "user", "content": query})
                answer = answers[json.dumps(said)]
                self.assertGreaterEqual(len(answer.encode()), 4 * ANSWER_TOKENS - 200)
                said.append({"role": "assistant", "content": answer})
            self.assertEqual(talk["messages"], said[1:])
            self.assertGreater(sum(len(m["content"].encode()) for m in said), 400_000)
        return len(recorder.calls) - len(answers)

    def test_a_dialogue_grows_to_its_full_length(self):
        chains = self.chains()
        recorder = self.talker()
        child = self.start("chat", "r", "--chains", "chains.jsonl", "--quiet")
        _, wire = self.far()
        self.wait_exit(child, DONE)
        self.assertEqual(self.check_dialogues(recorder, chains), 0)
        queries = sum(len(c["system"].encode()) + sum(len(q.encode()) for q in c["queries"]) for c in chains)
        answers = sum(len(content.encode()) for _, content in recorder.calls)
        self.assertLess(wire.to_worker, 1.02 * queries + 50_000, "who gives the answers is not sent them")
        self.assertLess(wire.back, 1.05 * answers + 50_000, "an answer comes back once")

    def test_another_worker_takes_a_long_dialogue_over(self):
        chains = self.chains()
        recorder = self.talker("--latency", "50ms")
        child = self.start("chat", "r", "--chains", "chains.jsonl", "--quiet")
        worker, _ = self.far()
        self.wait_for("most of it", lambda: child.poll() is not None or len(recorder.calls) >= 8)
        self.assertIsNone(child.poll(), self.logs())
        worker.kill()
        worker.wait()
        answers = sum(len(content.encode()) for _, content in recorder.calls)
        _, wire = self.far(name="other")
        self.wait_exit(child, DONE)
        self.assertLessEqual(self.check_dialogues(recorder, chains), self.CHAINS, "only what was in flight is asked again")
        queries = sum(len(c["system"].encode()) + sum(len(q.encode()) for q in c["queries"]) for c in chains)
        self.assertLess(wire.to_worker, 1.02 * (queries + answers) + 50_000, "what was said goes out once, not once a turn")

    # ---- limits ----

    def refused(self, *words):
        """What is said, in one line."""
        got = self.vibeq(*words, code=None)
        self.assertEqual(got.returncode, USAGE, got.stdout + got.stderr)
        return " ".join(got.stderr.split())

    def test_a_row_above_the_limit_is_named(self):
        most = 4 << 20
        for over in (0, 1):
            with open(self.dir / "data.csv", "w", newline="", encoding="utf-8") as file:
                out = csv.writer(file)
                out.writerow(["question", "alpha"])
                out.writerow(["short", "short"])
                out.writerow(["q" * (most - 100 + over), "a" * 100])
            words = ("run", "data.csv", "--models", "alpha", "--criteria", "refusal", "--judge", "offline-a", "--name", f"r{over}", "--quiet")
            if over == 0:
                self.vibeq(*words)
                self.assertEqual(self.accounting("r0")["answered"], 2)
                continue
            said = self.refused(*words)
            for text in ("data.csv, line 3", str(most + 1), str(most), "Leave the row out"):
                self.assertIn(text, said)
            self.assertFalse((self.dir / "runs/r1").exists())

    def test_a_dialogue_above_the_limit_is_named(self):
        self.talker()
        (self.dir / "chains.jsonl").write_text(json.dumps({"queries": ["a?"]}) + "\n" + json.dumps({"system": "s", "queries": ["q" * (2 << 20)] * 2}) + "\n")
        said = self.refused("chat", "r", "--chains", "chains.jsonl", "--quiet")
        for text in ("chains.jsonl, line 2", str((4 << 20) + 1), str(4 << 20), "fewer or shorter queries"):
            self.assertIn(text, said)

    def test_queries_above_the_limit_are_named(self):
        (self.dir / "personas.json").write_text(json.dumps([{"name": "Ada", "description": "You sail."}]))
        (self.dir / "goals.txt").write_text("".join("q" * 250_000 + f" {i}\n" for i in range(18)))
        (self.dir / "config.yaml").write_text("method: persona\nsubjects: [offline-subject]\njudges: [offline-a]\n"
                                              "dialogues: {personas: personas.json, goal: goals.txt, rounds: 18, checkpoints: 3}\n")
        said = self.refused("run", "config.yaml", "--name", "r", "--quiet")
        for text in ("dialogues.goal", "18 rounds", str(4 << 20), "fewer rounds"):
            self.assertIn(text, said)
        self.assertFalse((self.dir / "runs/r").exists())


if __name__ == "__main__":
    vqtest.main()
