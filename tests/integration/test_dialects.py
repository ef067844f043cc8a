"""One run in each dialect against one kind of server: the same scores to the byte, and what the requests looked like on the way."""
import json
import shutil

import vqtest
from vqtest import ROOT, STOPPED, Case

KEY = "test-key-0123456789"
# dialect: (what follows the server's root in base_url, paths that are asked, more keys)
DIALECTS = {
    "openai": ("/v1", "/v1/chat/completions", {}),
    "azure": ("", "/openai/deployments/{model}/chat/completions", {"api_version": "2024-10-21"}),
    "anthropic": ("/v1", "/v1/messages", {}),
    "gemini": ("/v1beta", "/v1beta/models/{model}:generateContent", {}),
}
FAULTS = ("--fault", "overloaded=0.1", "--fault", "rate_limit=0.05,retry_after=ms:20", "--fault", "server_error=0.05")


class Dialects(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "examples" / "friendly-vs-terse.csv", self.dir / "data.csv")

    def run_in(self, dialect, name, *options, code=0, judging=""):
        """A run of the preset vibes over a few rows; the server that answered it."""
        end, _, more = DIALECTS[dialect]
        server = self.offline("--require-key", *options, name=name)
        root = server.url.removesuffix("/v1")
        judges = "".join(
            f"  - {{model: {model}, dialect: {dialect}, base_url: '{root}{end}', identity: the-test, key: 'env:TEST_KEY'"
            + "".join(f", {key}: '{value}'" for key, value in more.items()) + "}\n" for model in ("offline-a", "offline-b"))
        (self.dir / f"{name}.yaml").write_text(
            "data: {path: data.csv, prompt: question, preference: preference, limit: 12}\nmodels: [friendly, terse]\n"
            f"method: preset\njudges:\n{judges}{judging}")
        self.vibeq("run", f"{name}.yaml", "--name", name, "--quiet", code=code, env={"TEST_KEY": KEY})
        return server

    def test_the_same_scores_in_every_dialect(self):
        wanted = None
        for dialect, (_, path, _) in DIALECTS.items():
            server = self.run_in(dialect, dialect)
            requests = server.requests()
            paths = {path.format(model=model) for model in ("offline-a", "offline-b")}
            self.assertEqual({line["path"] for line in requests}, paths)
            self.assertTrue(all(line["call"] and line["key"] for line in requests), "a call without its id or key")
            results = self.results(dialect)
            self.assertEqual([judge["returned_models"] for judge in results["judges"]], [["offline-a"], ["offline-b"]])
            got = (len(requests), self.results_bytes(dialect), (self.dir / "runs" / dialect / "results" / "scores.csv").read_bytes())
            wanted = wanted or got
            self.assertEqual(got[0], wanted[0], dialect)
            self.assertEqual(json.loads(got[1]), json.loads(wanted[1]), dialect)
            self.assertEqual(got, wanted, dialect)
            calls = self.accounting(dialect)
            answers = server.answers()
            self.assertEqual(calls["tokens_in"], sum(line["prompt_tokens"] for line in answers), dialect)
            self.assertEqual(calls["tokens_out"], sum(line["completion_tokens"] for line in answers), dialect)
            cached = calls["tokens_cached"] / calls["tokens_in"]  # all but the last line of a prompt, in all calls of a sample but one
            if dialect == "anthropic":
                self.assertGreater(cached, 0.7)
            else:
                self.assertEqual(cached, 0, dialect)

    def test_embeddings_in_every_dialect_that_has_them(self):
        """Vibes that say the same are found by what an embedder makes of them."""
        wanted = None
        for dialect, path in (("openai", "/v1/embeddings"), ("azure", "/openai/deployments/offline-embed/embeddings"),
                              ("gemini", "/v1beta/models/offline-embed:batchEmbedContents")):
            end, _, more = DIALECTS[dialect]
            server = self.offline("--require-key", name=dialect)
            root = server.url.removesuffix("/v1")
            keys = "".join(f", {key}: '{value}'" for key, value in more.items())
            (self.dir / f"{dialect}.yaml").write_text(
                "data: {path: data.csv, prompt: question, preference: preference, limit: 40}\nmodels: [friendly, terse]\n"
                "method: discover\nvibecheck: {d: 10, iterations: 1, clustering: always}\njudges: [offline-a]\nproposer: {model: offline-a}\n"
                f"embedder: {{model: offline-embed, dialect: {dialect}, base_url: '{root}{end}', identity: {dialect}, key: 'env:TEST_KEY'{keys}}}\n")
            self.vibeq("run", f"{dialect}.yaml", "--name", dialect, "--quiet", env={"TEST_KEY": KEY})
            self.assertEqual({line["path"] for line in server.requests()}, {path})
            results = self.results(dialect)["vibes"]
            wanted = wanted or results
            self.assertEqual(results, wanted, dialect)

    def test_verdicts_by_a_schema_and_their_probabilities(self):
        wanted = None
        plain = self.run_in("openai", "plain")
        for dialect in DIALECTS:
            has = dialect != "anthropic"
            server = self.run_in(dialect, dialect, judging=f"judging: {{structured: true, logprobs: {str(has).lower()}}}\n")
            self.assertEqual(self.results(dialect)["settings"].get("logprobs", False), has)
            self.assertTrue(self.results(dialect)["settings"]["structured"])
            self.assertGreaterEqual(len(server.requests()), len(plain.requests()) // 2)  # none of the plain answers was taken for one
            out = self.vibeq("export", dialect, "calls", "--format", "jsonl").stdout
            calls = [json.loads(line) for line in out.splitlines()]
            for call in calls:
                answer = json.loads(call["answer"])
                self.assertEqual(list(answer), ["analysis", "model"])
                self.assertEqual(call["verdict"], answer["model"])
                if has and call["verdict"] in "AB":
                    said = dict(part.split("=") for part in call["label_logprobs"].split())
                    self.assertEqual({name: float(value) for name, value in said.items()},
                                     {call["verdict"]: -0.25, "AB".replace(call["verdict"], ""): -2.5, "equal": -2.5})
                elif not has:
                    self.assertFalse(call["label_logprobs"])
            scores = (self.dir / "runs" / dialect / "results" / "scores.csv").read_bytes()
            wanted = wanted or scores
            self.assertEqual(scores, wanted, dialect)

    def test_errors_of_every_dialect_are_retried(self):
        for dialect in DIALECTS:
            server = self.run_in(dialect, dialect, *FAULTS)
            self.assertTrue(any(line["status"] != 200 for line in server.answers()), "no fault came up")
            self.assertEqual(self.results(dialect)["cells_missing"], 0)
            self.assertEqual(self.results(dialect), self.results("openai"), dialect)

    def test_no_money_and_a_refused_key_stop_the_run(self):
        for fault, says in (("quota=1", ("no_money", "money", "credit")), ("bad_key=1", ("bad_key", "key"))):
            for dialect in DIALECTS:
                name = f"{dialect}-{fault.split('=')[0]}"
                server = self.run_in(dialect, name, "--fault", fault, code=STOPPED)
                self.assertLess(len(server.requests()), 200, "it went on asking")
                log = (self.dir / "runs" / name / "log").read_text()
                self.assertTrue(any(word in log for word in says), log)


if __name__ == "__main__":
    vqtest.main()
