"""Images beside the texts: what each dialect receives, what a question is then, what a run keeps, and what is refused."""
import base64
import csv
import json
import re
import shutil

import vqtest
from answering import Endpoint, Server
from vqtest import USAGE, Case

ROWS = 8
GIF = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00"


def picture(i):
    return GIF + bytes([i]) + b"\x3b"


def seen(path, asked):
    """(text, the image's bytes or URL) of the user's message, in whichever dialect."""
    if path.endswith("/chat/completions"):
        parts = asked["messages"][-1]["content"]
        if isinstance(parts, str):
            return parts, None
        url = parts[0]["image_url"]["url"]
        head, _, data = url.partition(";base64,")
        return parts[1]["text"], base64.b64decode(data) if head == "data:image/gif" else url
    if path.endswith("/messages"):
        source = asked["messages"][-1]["content"][0]["source"]
        text = "".join(p["text"] for p in asked["messages"][-1]["content"][1:])
        return text, base64.b64decode(source["data"]) if source["type"] == "base64" else source["url"]
    parts = asked["contents"][-1]["parts"]
    return parts[1]["text"], base64.b64decode(parts[0]["inlineData"]["data"])


class Judge(Endpoint):
    def do_POST(self):
        asked = json.loads(self.body())
        self.server.seen.append(seen(self.path, asked))
        shown = self.server.seen[-1][0]
        text = "1: A\n2: A" if "1. Name" in shown else "Result: A" if "<rubric>" in shown else "Model: A"
        if self.path.endswith("/messages"):
            self.reply(json.dumps({"type": "message", "model": "m", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                                   "usage": {"input_tokens": 900, "output_tokens": 9}}).encode())
        elif ":generateContent" in self.path:
            self.reply(json.dumps({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}],
                                   "usageMetadata": {"promptTokenCount": 900, "candidatesTokenCount": 9}}).encode())
        else:
            self.say("m", text)


class Images(Case):
    def setUp(self):
        super().setUp()
        self.server = Server(Judge)
        self.server.seen = []
        self.addCleanup(self.server.stop)
        (self.dir / "pics").mkdir()
        for i in range(ROWS):
            (self.dir / f"pics/{i}.gif").write_bytes(picture(i))
        self.data([f"pics/{i}.gif" for i in range(ROWS)])

    def data(self, cells):
        with open(self.dir / "data.csv", "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["prompt", "picture", "alpha", "beta"])
            for i, cell in enumerate(cells):
                rows.writerow(["What is in the image?", cell, f"row {i}: a warm and lovely sight", f"row {i}: a thing, a wall, a lamp"])

    def settings(self, dialect="openai", more=(), judging="lazy_swap: false"):
        (self.dir / "config.yaml").write_text("\n".join([
            "data: {path: data.csv, image: picture}", "models: [alpha, beta]", "seed: 1", f"judging: {{{judging}}}",
            "judges:", f"  - {{model: m, dialect: {dialect}, base_url: '{self.server.url}', max_tokens: 100}}",
            *(more or ["method: vibes", "vibes:", "  - {name: Warmth, low: cold, high: warm}", "  - {name: Detail, low: bare, high: detailed}"])]) + "\n")

    def check_seen(self, calls):
        self.assertEqual(len(self.server.seen), calls)
        for text, image in self.server.seen:
            self.assertEqual(image, picture(int(re.search(r"row (\d+):", text).group(1))))

    def test_each_dialect_gets_the_image_of_its_row(self):
        for dialect in ("openai", "anthropic", "gemini"):
            with self.subTest(dialect):
                self.server.seen.clear()
                self.settings(dialect)
                self.vibeq("run", "config.yaml", "--name", dialect, "--quiet", "--yes")
                self.check_seen(ROWS * 2 * 2)
        results = self.results("gemini")
        self.assertEqual(results["data"]["questions"], ROWS, "the same prompt about another picture is another question")
        page = (self.dir / "runs/gemini/results/report.html").read_text()
        self.assertEqual(page.count("data:image/gif;base64,"), ROWS)
        self.assertIn("img-src data:", page)

    def test_joint_calls_and_ratings_have_it_too(self):
        self.settings(judging="vibes_per_call: 2, lazy_swap: false")
        self.vibeq("run", "config.yaml", "--name", "joint", "--quiet", "--yes")
        self.check_seen(ROWS * 2)
        self.assertEqual(len(self.vibeq("verify", "joint").stdout.splitlines()) > 0, True)
        self.server.seen.clear()
        self.settings(more=["method: judge", "criteria:", "  - {name: Better, kind: pairwise, rubric: Which one describes the image better?}"])
        self.vibeq("run", "config.yaml", "--name", "rated", "--quiet", "--yes")
        self.check_seen(ROWS * 2)
        self.assertEqual(sum(item["image"].startswith("data:image/") for item in self.page_data("rated")["items"]), ROWS)

    def test_a_run_goes_on_with_the_images_it_began_with(self):
        self.settings()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--yes", "--set", "data.limit=4")
        asked = len(self.server.seen)
        shutil.rmtree(self.dir / "pics")
        self.vibeq("resume", "r", "--quiet")
        self.vibeq("verify", "r")
        self.assertEqual(len(self.server.seen), asked, "each answer is found in the store")

    def test_urls_go_as_they_are(self):
        self.data([f"https://pictures.example/{i}.png" for i in range(ROWS)])
        for dialect in ("openai", "anthropic"):
            self.server.seen.clear()
            self.settings(dialect)
            self.vibeq("run", "config.yaml", "--name", dialect, "--quiet", "--yes")
            self.assertEqual({image for _, image in self.server.seen}, {f"https://pictures.example/{i}.png" for i in range(ROWS)})
        self.settings("gemini")
        refused = self.vibeq("run", "config.yaml", "--name", "g", "--quiet", "--yes", code=USAGE)
        self.assertIn("takes no images by URL", refused.stderr)
        self.assertIn("picture", refused.stderr)

    def test_what_is_no_image_is_refused_with_its_line(self):
        def refused(cell, *words):
            self.data(["pics/0.gif", cell, "pics/2.gif", "pics/3.gif"])
            self.settings()
            said = self.vibeq("run", "config.yaml", "--name", "x", "--quiet", "--yes", code=USAGE).stderr
            for word in ("data.csv, line 3", *words):
                self.assertIn(word, said)
        refused("pics/none.gif", "pics/none.gif", "cannot be read")
        (self.dir / "text.png").write_text("not an image")
        refused("text.png", "is neither PNG, JPEG, GIF nor WebP")
        (self.dir / "large.gif").write_bytes(GIF + bytes(5 << 20))
        refused("large.gif", "cannot be read")
        refused("data:text/plain,hello", "not of the form data:image/TYPE;base64,...")
        self.assertEqual(self.server.seen, [])

    def test_a_row_without_an_image_is_judged_without_one(self):
        self.data(["pics/0.gif", "", "pics/2.gif", "pics/3.gif"])
        self.settings()
        run = self.vibeq("run", "config.yaml", "--name", "r", "--yes")
        self.assertIn("1 record has no image", run.stdout + run.stderr)
        self.assertEqual(sum(image is None for _, image in self.server.seen), 4)

    def test_a_template_names_the_image_and_needs_the_column(self):
        (self.dir / "prompts").mkdir()
        (self.dir / "prompts/judge.txt").write_text(
            "@user\nLook at {{image}}.\n{{prompt}}\n{{output_a}}\n{{output_b}}\n{{vibe_name}} {{vibe_low}} {{vibe_high}}\nModel: ?\n")
        self.settings()
        with open(self.dir / "config.yaml", "a") as file:
            file.write("prompts: prompts\n")
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--yes")
        self.assertTrue(all("Look at (the image at the beginning of this message)." in text for text, _ in self.server.seen))
        refused = self.vibeq("run", "config.yaml", "--name", "s", "--quiet", "--yes", "--set", "data.image=", code=USAGE)
        self.assertIn("judge.txt: {{image}} is used, and no column has images", refused.stderr)


if __name__ == "__main__":
    vqtest.main()
