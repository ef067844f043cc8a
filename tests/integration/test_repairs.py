"""A repair's prompt is the text of an answer. Equal texts have equal prompts: vibeq pays for one of them, and takes the others from the store, also
after a kill and a resume."""
import re
import threading
import time

import vqtest
from answering import Endpoint, Server
from vqtest import Case, DONE, planted

AXES = ("alpha", "beta")
TEXTS = ("I cannot make up my mind.", "This depends on taste.")


class Mumbling(Endpoint):
    """Answers every question with one of two texts that hold no verdict; a repair is answered with A, and counted by its body."""

    def do_POST(self):
        body = self.body()
        text = body.decode()
        server = self.server
        with server.lock:
            repair = re.search("<answer>", text) is not None
            if repair:
                server.repairs.append(body)
            else:
                server.asks.append(body)
        if repair:
            time.sleep(0.2)
        self.say("m", "Model: A" if repair else TEXTS[sum(body) % 2])


class Repairs(Case):
    rows = 40

    def serve(self):
        server = Server(Mumbling)
        server.lock = threading.Lock()
        server.repairs, server.asks = [], []
        self.servers.append(server)
        planted(self.dir, self.rows, AXES)
        self.config(AXES, judges=1)
        text = (self.dir / "config.yaml").read_text().replace("offline: {oracle: truth.jsonl}\n", "")
        text = text.replace("  - model: offline-a\n", f"  - {{model: m, base_url: '{server.url}'}}\n")
        (self.dir / "config.yaml").write_text(text)
        return server

    def unique(self, server):
        self.assertEqual(len(server.repairs), len(set(server.repairs)), "a repair was paid for twice")
        self.assertEqual(len(server.asks), len(set(server.asks)))

    def test_each_text_is_repaired_once(self):
        server = self.serve()
        self.vibeq("run", "config.yaml", "--name", "r", "--workers", 2, code=DONE)
        self.unique(server)
        self.assertEqual(len(server.repairs), 2)
        self.assertEqual(len(server.asks), self.rows * len(AXES) * 2)
        self.assertEqual(self.results("r")["cells_missing"], 0)
        sent = self.accounting("r")
        self.assertEqual((sent["repairs"], sent["sent"]), (2, 2 + self.rows * len(AXES) * 2))
        self.vibeq("verify", "r", code=DONE)

    def test_after_a_kill_too(self):
        server = self.serve()
        child = self.start("run", "config.yaml", "--name", "r", "--workers", 1, "--quiet", "--set", "judges[0].concurrency=2")
        self.wait_for("both repairs and some answers", lambda: len(server.repairs) == 2 and len(server.asks) > 30)
        time.sleep(0.5)
        self.kill_all(child)
        self.vibeq("resume", "r", "--workers", 2, code=DONE)
        self.assertEqual(len(server.repairs), 2)
        self.assertEqual(self.results("r")["cells_missing"], 0)
        # Another run on the same store asks other questions, and finds the repairs of their answers.
        config = self.dir / "config.yaml"
        config.write_text(config.read_text().replace("low on beta", "hardly any beta"))
        asked = len(server.asks)
        self.vibeq("run", "config.yaml", "--name", "s", code=DONE)
        self.assertEqual(self.results("s")["cells_missing"], 0)
        self.assertEqual((len(server.asks) - asked, len(server.repairs)), (self.rows * 2, 2))

    def test_a_constant_answer_without_a_verdict_still_pulls_the_brake(self):
        class Polite(Mumbling):
            def do_POST(self):
                self.server.asks.append(self.body())
                self.say("m", "Thank you.")
        server = self.serve()
        server.RequestHandlerClass = Polite
        run = self.vibeq("run", "config.yaml", "--name", "r", code=vqtest.STOPPED)
        self.assertLess(len(server.asks), 40)
        self.assertIn("all failed the same way: unparseable", run.stderr)


if __name__ == "__main__":
    vqtest.main()
