"""Endpoints that will never answer as they are asked: the run finds that out with a few calls, fails no task, says which key to set, and goes on
when it is set."""
import json
import threading
import time
import unittest

from answering import Endpoint, Server
from vqtest import DONE, STOPPED, USAGE, Case, planted

AXES = ("V1", "V2")
BRAKE = 8


class Strict(Endpoint):
    """Answers by `server.answer(handler, body)`, and counts."""

    def do_POST(self):
        body = json.loads(self.body())
        with self.server.lock:
            self.server.asked.append((self.path, body))
        self.server.answer(self, body)

    def error(self, message, status=400, **more):
        self.reply(json.dumps({"error": {"message": message, "type": "invalid_request_error", **more}}).encode(), status)


class DeadEnds(Case):
    def serve(self, answer):
        server = Server(Strict)
        server.lock, server.asked, server.answer = threading.Lock(), [], answer
        self.servers.append(server)
        return server

    def prepare(self, answer, rows=100, judges=1, **more):
        planted(self.dir, rows, AXES)
        server = self.serve(answer)
        self.config(AXES, judges=judges, url=server.url, **more)
        return server


class Brake(DeadEnds):
    def test_a_request_that_is_always_refused(self):
        """400 tasks would be 400 refusals; a few are enough, no task fails, and the same run goes on when the server is put right."""
        def answer(handler, body):
            if broken:
                handler.error(f"the chat template of this model cannot be applied (request req_{len(server.asked)}x)")
            else:
                handler.say(body["model"], "Model: A")
        broken = True
        server = self.prepare(answer)
        run = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        self.assertGreaterEqual(len(server.asked), BRAKE)
        self.assertLessEqual(len(server.asked), 2 * BRAKE)
        for words in (f"The first {BRAKE} calls of judge offline-a", "all failed the same way", "HTTP status 400", "chat template", "vibeq resume r"):
            self.assertIn(words, run.stderr)
        status = self.vibeq("status", "r", "--json", code=5)
        status = json.loads(status.stdout)
        self.assertEqual(status["alarm"]["kind"], "brake")
        self.assertIn("chat template", status["alarm"]["text"])
        self.assertEqual(status["tasks"]["failed"], 0)
        broken = False
        self.vibeq("resume", "r", code=DONE)
        self.assertEqual(self.results("r")["cells_missing"], 0)

    def test_a_resume_pays_for_one_more_failure_only(self):
        """The brake counts on from the ledger: the next call tells whether the server was put right. After a crash too."""
        def answer(handler, body):
            if broken:
                handler.error(f"the chat template of this model cannot be applied (request req_{len(server.asked)}x)")
            else:
                handler.say(body["model"], "Model: A")
        broken = True
        server = self.prepare(answer, term_ms=1000)
        self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        for _ in range(3):
            before = len(server.asked)
            run = self.vibeq("resume", "r", code=STOPPED)
            self.assertEqual(len(server.asked) - before, 1)
            self.assertIn("all failed the same way", run.stderr)
        broken = False
        self.vibeq("resume", "r", code=DONE)
        self.assertEqual(self.results("r")["cells_missing"], 0)
        self.vibeq("verify", "r")

    def test_a_judge_that_answered_has_no_brake_after_a_resume(self):
        """Rows that this server always refuses fail, and a resume that asks them again ends as the run did."""
        def answer(handler, body):
            text = json.dumps(body)
            if any(f"[S{row}]" in text for row in range(6)):
                handler.error("no such field")
            else:
                handler.say(body["model"], "Model: A")
        server = self.prepare(answer, rows=30)
        self.vibeq("run", "config.yaml", "--name", "r", code=3)
        before = len(server.asked)
        run = self.vibeq("resume", "r", "--retry-failed", code=3)
        self.assertGreater(len(server.asked) - before, BRAKE)
        self.assertNotIn("all failed the same way", run.stderr)

    def test_what_is_paid_and_cannot_be_read(self):
        server = self.prepare(lambda handler, body: handler.reply(b'{"result": "this is another interface"}'))
        run = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        self.assertLessEqual(len(server.asked), 2 * BRAKE)
        self.assertIn("all failed the same way: bad_response", run.stderr)

    def test_answers_without_a_verdict(self):
        server = self.prepare(lambda handler, body: handler.say(body["model"], f"Thank you, {len(server.asked)} times."))
        run = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        self.assertLessEqual(len(server.asked), 2 * 2 * BRAKE)  # each is asked for its verdict once more
        self.assertIn("all failed the same way: unparseable", run.stderr)

    def test_another_pool_goes_on(self):
        """What the parked pool failed is asked of the other one."""
        bad = self.serve(lambda handler, body: handler.error("no such field"))
        good = self.serve(lambda handler, body: handler.say(body["model"], "Model: A"))
        planted(self.dir, 40, AXES)
        self.config(AXES, judges=1)
        text = (self.dir / "config.yaml").read_text().replace("offline: {oracle: truth.jsonl}\n", "")
        text = text.replace("  - model: offline-a\n", "  - {model: m, identity: one}\n")
        text += "pools:\n" + "".join(f"  - {{name: {name}, base_url: '{server.url}', identity: one, models: [{{model: m}}]}}\n"
                                     for name, server in (("bad", bad), ("good", good)))
        (self.dir / "config.yaml").write_text(text)
        self.vibeq("run", "config.yaml", "--name", "r", code=DONE)
        self.assertEqual(self.results("r")["cells_missing"], 0)
        # While the other pool answers, calls go out until the failures are committed: how many is a matter of the machine's speed.
        self.assertLess(len(bad.asked), 40 * len(AXES) * 2 // 2, "half of the tasks would be its share")

    def test_no_brake_after_an_answer(self):
        """A server that answers one call and refuses all others fails tasks one by one, as it always did."""
        def answer(handler, body):
            with server.lock:
                first = len(server.asked) == 1
            if first:
                handler.say(body["model"], "Model: A")
            else:
                handler.error("no such field")
        server = self.prepare(answer, rows=10)
        run = self.vibeq("run", "config.yaml", "--name", "r", code=3)
        self.assertNotIn("all failed the same way", run.stderr)

    def test_off(self):
        self.prepare(lambda handler, body: handler.error("no such field"), rows=10, judging="{brake: 0}")
        self.vibeq("run", "config.yaml", "--name", "r", code=3)


class Unanswered(DeadEnds):
    """What judges are asked may change in a run in which nothing was answered: the way out of a dead end."""
    def short(self, limit):
        def answer(handler, body):
            if body["max_tokens"] > limit:
                handler.error(f"max_tokens is too large: this model supports at most {limit} completion tokens", param="max_tokens", code="invalid_value")
            else:
                handler.say(body["model"], "Model: A")
        return answer

    def test_a_run_without_answers_goes_on_with_another_question(self):
        server = self.prepare(self.short(100), rows=20)
        self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        self.vibeq("resume", "r", "--set", "judges[0].max_tokens=100", "--set", "judging.repair=off", code=DONE)
        self.assertEqual(self.results("r")["cells_missing"], 0)
        self.assertEqual({body["max_tokens"] for _, body in server.asked[-20:]}, {100})
        self.assertIn("max_tokens: 100", (self.dir / "runs/r/run.yaml").read_text(), "the next start asks the same")
        self.vibeq("verify", "r")
        asked, before = len(server.asked), self.results_bytes("r")
        self.vibeq("resume", "r", code=DONE)
        self.assertEqual(len(server.asked), asked)
        self.assertEqual(self.results_bytes("r"), before)
        run = self.vibeq("resume", "r", "--set", "judges[0].max_tokens=90", code=USAGE)
        for words in ("--set judges[0].max_tokens", "this run has answers", "Start a new run"):
            self.assertIn(words, run.stderr)
        self.assertIn("max_tokens: 100", (self.dir / "runs/r/run.yaml").read_text())
        self.assertEqual(len(server.asked), asked)

    def test_answers_that_do_not_count_and_failures_are_left_behind(self):
        """Cut answers are stored, and tasks have failed by them; none of that is of the new question."""
        def answer(handler, body):
            if body["max_tokens"] < 50:
                handler.say(body["model"], "The first response is", finish="length")
            else:
                handler.say(body["model"], "Model: A")
        self.prepare(answer, rows=6, judge={"max_tokens": 10}, judging="{brake: 0}")
        self.vibeq("run", "config.yaml", "--name", "r", code=3)
        self.vibeq("resume", "r", "--set", "judges[0].max_tokens=50", code=DONE)
        self.assertEqual(self.results("r")["cells_missing"], 0)
        self.vibeq("verify", "r")

    def test_another_endpoint(self):
        dead = self.prepare(lambda handler, body: handler.error("no such field"), rows=10)
        good = self.serve(lambda handler, body: handler.say(body["model"], "Model: A"))
        text = (self.dir / "config.yaml").read_text().replace("    identity: the-test\n", "")
        (self.dir / "config.yaml").write_text(text)
        self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        self.vibeq("resume", "r", "--set", f"judges[0].base_url={good.url}", code=DONE)
        run = self.vibeq("resume", "r", "--set", f"judges[0].base_url={dead.url}", code=USAGE)
        self.assertIn("another endpoint is another provider", run.stderr)
        self.vibeq("verify", "r")

    def test_a_crash_may_have_left_answers_with_a_worker(self):
        server = self.prepare(self.short(100), rows=20)
        hang = threading.Event()
        inner, server.answer = server.answer, lambda handler, body: (hang.wait(20), inner(handler, body))
        child = self.start("run", "config.yaml", "--name", "r", "--set", "term_ms=500")
        self.wait_for("a call", lambda: server.asked)
        child.kill()
        child.wait()
        hang.set()
        run = self.vibeq("resume", "r", "--set", "judges[0].max_tokens=100", code=USAGE)
        self.assertIn("not stopped in order", run.stderr)


class Parameters(DeadEnds):
    @staticmethod
    def picky(*refused):
        """Refuses one parameter at a time, as OpenAI's reasoning models do."""
        def answer(handler, body):
            for name in refused:
                if name in body:
                    handler.error(f"Unsupported parameter: '{name}' is not supported with this model.", param=name, code="unsupported_parameter")
                    return
            handler.say(body["model"], "Model: A")
        return answer

    def refused(self, server, names):
        return sum(any(name in body for name in names) for _, body in server.asked)

    def test_one_refusal_teaches_all_workers_and_the_next_start(self):
        names = ("max_tokens", "temperature")
        server = self.prepare(self.picky(*names), rows=30)
        run = self.vibeq("run", "config.yaml", "--name", "r", code=DONE)
        self.assertEqual(self.results("r")["cells_missing"], 0)
        self.assertLessEqual(self.refused(server, names), 2 * len(names))
        self.assertTrue(all("max_completion_tokens" in body for _, body in server.asked[-10:]))
        self.assertEqual(" ".join(run.stderr.split()).count("refuses the parameter max_tokens"), 1, run.stderr)
        learned = json.loads((self.dir / "runs/r/learned.json").read_text())
        self.assertEqual(learned["pools"][0]["params_refused"], sorted(names))

    def test_a_value_that_is_refused_is_no_parameter(self):
        """Leaving it out would not be what was asked for: the brake stops the run instead."""
        server = self.prepare(lambda handler, body: handler.error("max_tokens is too large: this model supports at most 100 completion tokens",
                                                                  param="max_tokens", code="invalid_value"))
        run = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        self.assertLessEqual(len(server.asked), 2 * BRAKE)
        self.assertIn("max_tokens is too large", run.stderr)

    def test_a_server_that_refuses_both_names_of_the_limit(self):
        server = self.prepare(self.picky("max_tokens", "max_completion_tokens"))
        self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        self.assertLessEqual(len(server.asked), 2 * BRAKE + 2)


class Streams(DeadEnds):
    @staticmethod
    def chunks(model, *texts, usage=True, done=True):
        parts = [{"id": "x", "object": "chat.completion.chunk", "model": model, "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}
                 for text in texts]
        parts += [{"id": "x", "object": "chat.completion.chunk", "model": model, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
        if usage:
            parts += [{"id": "x", "object": "chat.completion.chunk", "model": model, "choices": [],
                       "usage": {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}}]
        return ("".join(f"data: {json.dumps(part)}\n\n" for part in parts) + ("data: [DONE]\n\n" if done else "")).encode()

    def test_a_stream_that_comes_unasked_is_the_answer(self):
        server = self.prepare(lambda handler, body: handler.reply(self.chunks(body["model"], "Mod", "el: ", "A"), kind="text/event-stream"), rows=10)
        self.vibeq("run", "config.yaml", "--name", "r", code=DONE)
        self.assertEqual(self.results("r")["cells_missing"], 0)
        calls = self.accounting("r")
        self.assertEqual(calls["tokens_in"], 30 * len(server.asked))
        self.assertEqual(calls["tokens_out"], 5 * len(server.asked))

    def test_an_error_in_a_stream_is_that_error(self):
        self.prepare(lambda handler, body: handler.reply(b'data: {"error": {"message": "no such field", "code": 400}}\n\n', kind="text/event-stream"))
        run = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        self.assertIn("no such field", run.stderr)


class Hints(DeadEnds):
    def stopped(self, answer, *words, **more):
        server = self.prepare(answer, rows=20, **more)
        run = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED, env={"TEST_KEY": "  sk-0123456789abcdef\r\n"})
        for word in words:
            self.assertIn(word, run.stderr)
        return server, run

    def test_an_address_with_the_path_twice(self):
        planted(self.dir, 20, AXES)
        server = self.serve(lambda handler, body: handler.error("Not Found", 404))
        self.config(AXES, judges=1, url=server.url + "/chat/completions")
        run = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        for word in ("/v1/chat/completions/chat/completions", "`base_url`", "without `/chat/completions`"):
            self.assertIn(word, run.stderr)

    def test_an_address_without_its_version(self):
        planted(self.dir, 20, AXES)
        server = self.serve(lambda handler, body: handler.error("Not Found", 404))
        self.config(AXES, judges=1, url=server.url.removesuffix("/v1"))
        run = self.vibeq("run", "config.yaml", "--name", "r", code=STOPPED)
        for word in (f"{server.url.removesuffix('/v1')}/chat/completions", "/v1"):
            self.assertIn(word, run.stderr)

    def test_a_model_that_does_not_exist(self):
        self.stopped(lambda handler, body: handler.error(f"The model `{body['model']}` does not exist", 404, code="model_not_found"),
                     "model offline-a", "Set `model`")

    def test_a_page_of_a_gateway_is_no_bad_key(self):
        _, run = self.stopped(lambda handler, body: handler.reply(b"<!DOCTYPE html><html><title>Attention required</title></html>", 403, "text/html"),
                              "HTML page", "the key is not the cause")
        self.assertNotIn("may not use this model", run.stderr)

    def test_a_place_that_is_not_served_is_no_bad_key(self):
        self.stopped(lambda handler, body: handler.error("Country, region, or territory not supported", 403, code="unsupported_country_region_territory"),
                     "does not serve this place", "`base_url`")

    def test_a_context_that_is_too_short(self):
        self.stopped(lambda handler, body: handler.error("This model's maximum context length is 100 tokens", code="context_length_exceeded"),
                     "all failed the same way: too_long", "`judging.truncate: true`")

    def test_a_limit_that_is_too_large(self):
        self.stopped(lambda handler, body: handler.error("max_tokens is too large: 600. This model supports at most 100 completion tokens"), "`max_tokens`")

    def test_a_first_byte_that_never_comes(self):
        def answer(handler, body):
            time.sleep(1)
            handler.close_connection = True
        self.prepare(answer, rows=10, judging="{tries_max: 1}", judge={"first_byte_timeout_ms": 200}, attempts="{max: 2, provider: 2, network: 2, lost: 2, bad_response: 2, closed: 2, unknown: 2}")
        run = self.vibeq("run", "config.yaml", "--name", "r", code=None)
        self.assertIn("first_byte_timeout_ms", run.stderr)

    def test_a_key_with_blanks_around_it(self):
        seen = []

        def answer(handler, body):
            seen.append(handler.headers["Authorization"])
            handler.say(body["model"], "Model: A")
        self.prepare(answer, rows=10, judge={"key": "env:TEST_KEY"})
        self.vibeq("run", "config.yaml", "--name", "r", code=DONE, env={"TEST_KEY": "  sk-0123456789abcdef\r\n"})
        self.assertEqual(set(seen), {"Bearer sk-0123456789abcdef"})

    def test_a_filter_is_a_refusal(self):
        server = self.prepare(lambda handler, body: handler.error("The response was filtered", code="content_filter", param="prompt"), rows=10)
        self.vibeq("run", "config.yaml", "--name", "r", code=3)
        status = json.loads((self.dir / "runs/r/status.json").read_text())
        self.assertEqual(status["tasks"]["failed"], 0)
        self.assertEqual(status["outcomes"], {"refused": len(server.asked)})

    def test_the_most_frequent_failure_is_named_at_the_end(self):
        def answer(handler, body):
            if "[S1]" in json.dumps(body):
                handler.error("no such field: temperature_of_the_day")
            else:
                handler.say(body["model"], "Model: A")
        self.prepare(answer, rows=10)
        run = self.vibeq("run", "config.yaml", "--name", "r", code=3)
        self.assertIn("The most frequent failure: ", run.stderr)
        self.assertIn("no such field", run.stderr)


if __name__ == "__main__":
    unittest.main()
