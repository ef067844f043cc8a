"""Answers of reasoning models with a real server: unfinished thinking, unknown endings and empty answers are missing and are not repaired; marks that are only
mentioned cost nothing."""
import json
import re

import vqtest
from answering import Endpoint, Server
from vqtest import DONE, MISSING, Case, planted

AXES = ("V1",)
DRAFT = "\nDraft:\nModel: A\nbut B is warmer, so"
OPENED = ["<think>", "<thinking>", "<thought>", "<Thought >", "<reasoning>", "<reflection>", "<|begin_of_thought|>", "[THINK]", "<seed:think>",
          "<unused94>thought", "\u25c1think\u25b7", "<|channel|>analysis<|message|>", "<ant_thinking>", "<scratchpad>", "<inner_monologue>",
          "<|START_THINKING|>"]
CLOSED = {"<think>": "</think>", "<Thought >": "</ thought>", "<|begin_of_thought|>": "<|end_of_thought|>", "[THINK]": "[/THINK]",
          "<|channel|>analysis<|message|>": "<|end|><|start|>assistant<|channel|>final<|message|>", "\u25c1think\u25b7": "\u25c1/think\u25b7",
          "<unused94>thought": "<unused95>", "": "\n</think>\n\n"}
MENTIONS = ["The response shows a raw <think> tag.", "It writes `<thinking>` and stops.", "```\n<think>\n```", "- <think>, raw", "It leaves a stray </think> tag."]
ENDINGS = ["abort", "tool_calls", "max_new_tokens", "time_limit", {"type": "timeout"}, 2, True]
EMPTY = [{"content": None, "reasoning_content": DRAFT}, {"content": "", "reasoning": DRAFT}, {"content": " \n"}, {"content": []}, {},
         {"content": "<think>Model: A</think>"}, {"content": [{"type": "thinking", "thinking": DRAFT}]}]


class Thinking(Case):
    def serve(self, messages, finish="stop"):
        """A server that gives message i to sample i; `asked` counts its calls."""
        asked = self.asked = []

        class Judge(Endpoint):
            def do_POST(self):
                text = self.body().decode()
                found = re.search(r"\[S(\d+)\]", text)
                asked.append(text)
                at = int(found.group(1)) if found else 0
                ending = finish[at] if isinstance(finish, list) else finish
                message = messages[at]
                message = {"content": message} if isinstance(message, str) else message
                self.reply(json.dumps({"id": "x", "object": "chat.completion", "model": "m", "choices": [
                    {"index": 0, "finish_reason": ending, "message": {"role": "assistant", **message}}],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}}).encode())

        server = Server(Judge)
        self.addCleanup(server.stop)
        return server.url

    def judged(self, messages, finish="stop", code=MISSING, **judge):
        """Label counts of all cells, accounting, what was printed."""
        planted(self.dir, len(messages), AXES)
        self.config(AXES, judges=1, url=self.serve(messages, finish), judge={"name": "j", **judge} if judge else {}, judging="{brake: 0}")
        done = self.vibeq("run", "config.yaml", "--name", "r", code=code)
        counts = {}
        for vibe in self.results("r")["vibes"]:
            for judge_counts in vibe["label_counts"].values():
                for label, n in judge_counts.items():
                    counts[label] = counts.get(label, 0) + n
        return counts, json.loads((self.dir / "runs/r/accounting.json").read_text()), done.stdout + done.stderr

    def votes(self, counts):
        return sum(counts[label] for label in ("a", "b", "equal", "na", "unsure"))

    def test_cut_thinking_is_no_vote(self):
        texts = [mark + DRAFT for mark in OPENED] + [DRAFT.strip()]
        counts, accounting, _ = self.judged(texts, "length")
        self.assertEqual((self.votes(counts), accounting["calls"]["repairs"]), (0, 0), counts)
        self.assertEqual(counts["truncated"], len(texts))

    def test_open_thinking_with_an_ordinary_end_is_not_repaired(self):
        counts, accounting, said = self.judged([mark + DRAFT for mark in OPENED])
        self.assertEqual((self.votes(counts), accounting["calls"]["repairs"]), (0, 0), counts)
        self.assertEqual(accounting["empty_answers"], accounting["calls"]["sent"])
        self.assertIn("the answer is nothing but thinking", said)

    def test_closed_thinking_and_mentions_vote(self):
        texts = [f"{mark}{DRAFT}{close}Model: B" for mark, close in CLOSED.items()] + [f"{text}\nModel: B" for text in MENTIONS]
        counts, accounting, _ = self.judged(texts, code=DONE)
        self.assertEqual((self.votes(counts), accounting["calls"]["repairs"]), (len(texts), 0), counts)

    def test_unknown_endings_are_counted_by_name(self):
        counts, accounting, said = self.judged(["Model: A"] * len(ENDINGS), ENDINGS)
        self.assertEqual((self.votes(counts), accounting["calls"]["repairs"]), (0, 0), counts)
        words = accounting["ending_words"]
        self.assertEqual(set(words), {"abort", "tool_calls", "max_new_tokens", "time_limit", "timeout", "2", "true"})
        self.assertEqual(said.count('"abort"'), 1, said)

    def test_empty_answers_are_missing_and_not_repaired(self):
        counts, accounting, said = self.judged(EMPTY)
        self.assertEqual((self.votes(counts), accounting["calls"]["repairs"]), (0, 0), counts)
        self.assertEqual(accounting["empty_answers"], len(self.asked))
        self.assertRegex(said, r"the answer is (empty|nothing but thinking)")
        calls = self.vibeq("export", "r", "calls").stdout
        self.assertIn(f"the server put {len(DRAFT)} characters into `reasoning_content`", calls)
        self.assertIn("answer_field: reasoning_content", calls)

    def test_answer_field_reads_where_content_is_empty(self):
        texts = [{"content": None, "reasoning_content": "Model: B"}, {"content": "Model: A", "reasoning_content": "Model: B"}]
        counts, accounting, _ = self.judged(texts, code=DONE, answer_field="reasoning_content")
        self.assertEqual((self.votes(counts), accounting["calls"]["repairs"]), (2, 0), counts)


if __name__ == "__main__":
    vqtest.main()
