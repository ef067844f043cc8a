"""Bills, against servers that report usage in the shapes in which providers and gateways are known to report it: the cost, the budget and the sentences
that follow; prompts that a server cuts; servers that answer with several models; plain http."""
import ipaddress
import json
import socket
import unittest

from answering import Endpoint, Server
from vqtest import MISSING, STOPPED, USAGE, Case, main

ROWS = 6
CALLS = 2 * ROWS * 2  # two vibes, both orders


class Says(Endpoint):
    """Answers a verdict with `usage(self, prompt)`; a server's own class has it, and may have headers and models."""
    headers_more = {}
    models = ["m-1"]

    def do_POST(self):
        asked = json.loads(self.body())
        prompt = "".join(m["content"] for m in asked["messages"])
        self.server.prompts.append(prompt)
        model = self.models[len(self.server.prompts) % len(self.models)]
        answer = {"id": "x", "object": "chat.completion", "model": model, "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Analysis: so.\nModel: A"}}]}
        usage = self.usage(prompt)
        if usage is not ...:
            answer["usage"] = usage
        body = json.dumps(answer).encode()
        self.send_response(200)
        for name, value in self.headers_more.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Bills(Case):
    def serve(self, usage, **more):
        handler = type("Handler", (Says,), {"usage": lambda self, prompt: usage(prompt) if callable(usage) else usage, **more})
        server = Server(handler)
        server.prompts = []
        self.addCleanup(server.stop)
        return server

    def data(self, words=10, rows=ROWS):
        lines = ["question,alpha,beta"]
        for i in range(rows):
            lines.append(f"question {i}?,{'warm word ' * words}{i},{'cold word ' * (words * (1 + i % 3))}{i}")
        (self.dir / "data.csv").write_text("\n".join(lines) + "\n")

    def run_at(self, server, *words, code=0, name="r", **more):
        (self.dir / "runs" / "calls.lmdb").unlink(missing_ok=True)  # else the answers of before are taken
        judge = {"price_input_usd": 2, "price_cached_usd": 0.5, "price_output_usd": 10, "temperature": 0, "max_tokens": 600, **more.pop("judge", {})}
        judging = more.pop("judging", "lazy_swap: false, prefix_cache: off")
        self.config(axes=("V1", "V2"), judges=1, url=server.url, judge=judge, judging=f"{{{judging}}}", workers=1, seed=1, **more)
        return self.vibeq("run", "config.yaml", "--name", name, "--yes", *words, code=code)

    def account(self, name="r"):
        return json.loads((self.dir / "runs" / name / "accounting.json").read_text())

    def check_cost(self, usage, usd_a_call, name="r", **more):
        server = self.serve(usage, **more)
        done = self.run_at(server, name=name)
        account = self.account(name)
        self.assertEqual(account["calls"]["answered"], CALLS)
        self.assertAlmostEqual(account["cost_usd"], CALLS * usd_a_call, places=9)
        return done, account

    def test_shapes_of_usage(self):
        self.data()
        shapes = {
            "xai": ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 2110, "completion_tokens_details": {"reasoning_tokens": 2000}},
                    100 * 2 + 2010 * 10),
            "total": ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 2110}, 100 * 2 + 2010 * 10),
            "details": ({"prompt_tokens": 100, "completion_tokens": 10, "completion_tokens_details": {"reasoning_tokens": 90}}, 100 * 2 + 100 * 10),
            "openai": ({"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010, "prompt_tokens_details": {"cached_tokens": 800}},
                       200 * 2 + 800 * .5 + 10 * 10),
            "deepseek": ({"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010, "prompt_cache_hit_tokens": 800,
                          "prompt_cache_miss_tokens": 200}, 200 * 2 + 800 * .5 + 10 * 10),
            "moonshot": ({"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010, "cached_tokens": 800}, 200 * 2 + 800 * .5 + 10 * 10),
            "litellm": ({"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010, "cache_read_input_tokens": 800,
                         "cache_creation_input_tokens": 0}, 200 * 2 + 800 * .5 + 10 * 10),
            "beside": ({"input_tokens": 200, "output_tokens": 10, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 100},
                       300 * 2 + 800 * .5 + 10 * 10),
            "strings": ({"prompt_tokens": "1000", "completion_tokens": "10", "total_tokens": "1010"}, 1000 * 2 + 10 * 10),
        }
        for name, (usage, micro_usd) in shapes.items():
            with self.subTest(name):
                done, account = self.check_cost(usage, micro_usd / 1e6, name=name)
                self.assertEqual(account["notes"], [])
                self.assertNotIn("warning: offline-a:", done.stdout)

    def test_a_price_of_cache_writes(self):
        self.data()
        server = self.serve({"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cache_write_tokens": 400}})
        self.run_at(server, judge={"price_cache_write_usd": 4})
        self.assertAlmostEqual(self.account()["cost_usd"], CALLS * (600 * 2 + 400 * 4 + 10 * 10) / 1e6, places=9)

    def test_a_budget_sees_hidden_reasoning(self):
        self.data(rows=60)
        server = self.serve({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 2110})
        self.run_at(server, code=STOPPED, budget="{usd: 0.2}", judge={"concurrency": 1})
        account = self.account()
        self.assertLessEqual(account["cost_usd"], 0.2)
        self.assertGreater(account["cost_usd"], 0.15)
        self.assertLess(len(server.prompts), 11)

    def test_no_usage(self):
        self.data()
        for name, usage in {"missing": ..., "null": None, "zero": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, "empty": {}}.items():
            with self.subTest(name):
                server = self.serve(usage)
                done = self.run_at(server, name=name)
                account = self.account(name)
                self.assertEqual(account["pools"]["offline-a"]["usage_missing"], CALLS)
                self.assertGreaterEqual(account["cost_usd"], CALLS * 600 * 10 / 1e6)  # max_tokens were reserved
                sentence = f"offline-a: the provider reports no usage ({CALLS} of {CALLS} answers)"
                self.assertEqual(done.stdout.count(sentence), 1, done.stdout)
                self.assertEqual(done.stderr.count("offline-a: the provider reports no usage"), 1, done.stderr)
                self.vibeq("verify", name)

    def test_output_of_zero_for_an_answer(self):
        self.data()
        _, account = self.check_cost({"prompt_tokens": 100, "completion_tokens": 0, "total_tokens": 100}, (100 * 2 + 600 * 10) / 1e6)
        self.assertEqual(account["pools"]["offline-a"]["usage_missing"], CALLS)

    def test_dollars_of_a_gateway(self):
        self.data()
        plain = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
        own = (1000 * 2 + 10 * 10) / 1e6
        done, account = self.check_cost({**plain, "cost": 3 * own}, own, name="body")
        self.assertEqual(account["pools"]["offline-a"]["provider_cost"]["calls"], CALLS)
        self.assertAlmostEqual(account["pools"]["offline-a"]["provider_cost"]["provider_usd"], 3 * own * CALLS, places=7)
        self.assertIn(f"warning: offline-a: the provider charges $0.15 for {CALLS} calls; by its prices vibeq makes it $0.05", done.stdout)
        done, account = self.check_cost({**plain, "cost": 1.02 * own}, own, name="near")
        self.assertNotIn("the provider charges", done.stdout)
        done, account = self.check_cost(plain, own, name="header", headers_more={"x-litellm-response-cost": str(2 * own)})
        self.assertAlmostEqual(account["pools"]["offline-a"]["provider_cost"]["provider_usd"], 2 * own * CALLS, places=7)
        self.assertIn("the provider charges $0.10", done.stdout)

    def test_a_context_that_is_too_short(self):
        self.data(words=3000)
        cut = {"prompt_tokens": 2048, "completion_tokens": 10, "total_tokens": 2058}
        sentence = "the server read about a tenth of the prompt; its context is too short"
        done = self.run_at(self.serve(cut), name="warn")
        self.assertEqual(self.account("warn")["pools"]["offline-a"]["prompt_cut"], CALLS)
        self.assertIn(f"{sentence} ({CALLS} of {CALLS} answers; on average 2,048 tokens of ", done.stdout)
        self.assertEqual(done.stderr.count(sentence), 1, done.stderr)
        done = self.run_at(self.serve(cut), name="off", judging="lazy_swap: false, context_check: off")
        self.assertNotIn("its context is too short", done.stdout + done.stderr)
        server = self.serve(cut)
        done = self.run_at(server, name="strict", code=MISSING, judging="lazy_swap: false, context_check: strict, truncate: true, brake: 0")
        self.assertEqual(len(server.prompts), CALLS)  # none is asked again
        account = self.account("strict")
        self.assertEqual(account["calls"]["failed"]["too_long"], CALLS)
        self.assertAlmostEqual(account["cost_usd"], CALLS * (2048 * 2 + 10 * 10) / 1e6, places=9)  # paid all the same
        self.assertIn("the server read 2048 tokens, about a tenth of a prompt of", self.vibeq("dead", "strict").stdout)
        self.assertIn("these answers count as missing", done.stdout)

    def test_whole_prompts_are_not_suspected(self):
        self.data(words=3000)
        for name, usage in {"plain": lambda p: {"prompt_tokens": len(p) // 5, "completion_tokens": 10},
                            "cached apart": lambda p: {"prompt_tokens": 100, "completion_tokens": 10, "cache_read_input_tokens": len(p) // 5}}.items():
            with self.subTest(name):
                done = self.run_at(self.serve(usage), name=name.replace(" ", "-"))
                self.assertNotIn("context", done.stdout + done.stderr)

    def test_several_models(self):
        self.data()
        server = self.serve({"prompt_tokens": 100, "completion_tokens": 10}, models=["m-1", "m-1", "m-2"])
        done = self.run_at(server)
        self.assertIn("warning: offline-a: the provider answered with 2 different models: m-1 (16), m-2 (8).", done.stdout)
        self.assertEqual(self.account()["pools"]["offline-a"]["returned_models"], {"m-1": 16, "m-2": 8})

    def test_plain_http(self):
        self.data()
        server = self.serve({"prompt_tokens": 100, "completion_tokens": 10})
        for url in ("http://192.168.7.7:9/v1", "http://gpu-1:9/v1"):
            server.url = url
            refused = self.run_at(server, code=USAGE)
            self.assertIn("allow_http: true", refused.stderr)
        server.url = "http://8.8.8.8/v1"
        refused = self.run_at(server, code=USAGE, judge={"allow_http": "true"})
        self.assertIn("over the internet", refused.stderr)
        address = own_address()
        if address is None:
            self.skipTest("this machine has no address in a private network")
        open_server = Server(server.RequestHandlerClass, address)
        open_server.prompts = []
        self.addCleanup(open_server.stop)
        open_server.url = f"http://{address}:{open_server.server_port}/v1"
        self.run_at(open_server, judge={"allow_http": "true"})
        self.assertEqual(len(open_server.prompts), CALLS)


def own_address():
    """Of this machine, in a private network; nothing is sent. None: there is none."""
    for far in ("10.255.255.255", "192.0.2.254", "8.8.8.8"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((far, 9))
                address = ipaddress.ip_address(probe.getsockname()[0])
            except OSError:
                continue
        if address.is_private and not address.is_loopback:
            return str(address)
    return None


if __name__ == "__main__":
    main()
