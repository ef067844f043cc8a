"""results/report.html in headless Chromium, opened from disk: it renders without a complaint and without fetching anything, sorts, searches,
shows what the judges wrote, keeps hostile text as text, and fits dark, a phone and paper. Skips loudly without Chromium; fails where
CI is set."""
import base64
import csv
import io
import json
import os
import re
import struct
import zlib
from xml.etree import ElementTree

import browser
import vqtest
from answering import Endpoint, Server
from vqtest import DONE, ROOT, Case

EXAMPLE = ROOT / "examples" / "friendly-vs-terse.yaml"
HOSTILE = '</script><script>document.title="owned"</script><img src=x onerror=\'document.title="owned"\'>'


def pixels(png):
    """Width, height and the set of colours of an 8-bit RGB or RGBA picture that is not interlaced."""
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and color in (2, 6) and interlace == 0
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    size = 3 if color == 2 else 4
    raw, stride = zlib.decompress(data), width * size + 1
    row, colors = bytearray(stride - 1), set()
    for y in range(height):
        line = raw[y * stride:(y + 1) * stride]
        before, row = row, bytearray(line[1:])
        for x in range(stride - 1):
            left = row[x - size] if x >= size else 0
            up, corner = before[x], before[x - size] if x >= size else 0
            if line[0] == 1:
                row[x] = row[x] + left & 255
            elif line[0] == 2:
                row[x] = row[x] + up & 255
            elif line[0] == 3:
                row[x] = row[x] + (left + up) // 2 & 255
            elif line[0] == 4:
                guess = left + up - corner
                near = min((left, up, corner), key=lambda v: abs(guess - v))
                row[x] = row[x] + near & 255
        colors.update(bytes(row[i:i + 3]) for i in range(0, len(row), size * 7))
    return width, height, colors


def coefficient(of):
    """A degenerate fit shows Firth's estimate."""
    return of.get("firth", of)["value"]


class HostileJudge(Endpoint):
    """Votes by a mark in the outputs and wraps each verdict in markup."""

    def do_POST(self):
        asked = json.loads(self.body())
        text = asked["messages"][-1]["content"]
        first = text.find("[alpha]") < text.find("[beta]")
        self.say(asked["model"], f"Analysis: {HOSTILE} because of the mark.\nModel: {'A' if first else 'B'}")


class Report(Case):
    def setUp(self):
        if browser.program() is None:
            message = "there is no chromium: the report is not looked at (deploy/install-deps --ci installs it)"
            if os.environ.get("CI"):
                self.fail(message)
            self.skipTest(message)
        super().setUp()
        self.browser = browser.Browser(self.dir)

    def tearDown(self):
        if hasattr(self, "browser"):
            self.browser.close()
            super().tearDown()

    def url(self, run):
        path = self.dir / "runs" / run / "results" / "report.html"
        self.assertTrue(path.exists())
        return path.as_uri()

    def demo(self):
        self.vibeq("run", EXAMPLE, "--name", "demo", code=DONE)
        return self.url("demo")

    def quiet(self, url):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual(self.browser.fetched(), [url.split("#")[0]])

    def column(self, number):
        return self.browser.run(f"[...document.querySelectorAll('#table tbody tr')].map(r => Number(r.cells[{number}].dataset.value))")

    def click(self, selector):
        self.browser.run(f"document.querySelector({json.dumps(selector)}).click()")

    def settle(self, condition):
        """Waits for the page itself: the search waits for the typing to pause."""
        self.assertTrue(self.browser.run(
            "new Promise(done => { let n = 0; const look = () => (%s) ? done(true) : n++ > 200 ? done(false) : setTimeout(look, 20); look(); })" % condition))

    def type(self, words):
        self.browser.run(f"{{ const s = document.getElementById('search'); s.value = {json.dumps(words)}; s.dispatchEvent(new Event('input')); }}")

    def choose(self, select, value):
        self.browser.run(f"{{ const s = document.getElementById('{select}'); s.value = '{value}'; s.dispatchEvent(new Event('change')); }}")

    def found(self):
        return int(self.browser.run("document.getElementById('found').textContent").split()[0].replace(",", ""))

    def test_it_renders_sorts_and_searches(self):
        url = self.demo()
        results = self.results("demo")
        kept = [v for v in results["vibes"] if v["kept"]]
        self.browser.open(url)
        self.quiet(url)
        self.assertEqual(self.browser.run("document.querySelectorAll('#table tbody tr').length"), len(kept))
        links = self.browser.run("[...document.querySelectorAll('#contents a')].map(a => a.getAttribute('href'))")
        self.assertEqual([link for link in links if not self.browser.run(f"document.querySelector('{link}') !== null")], [])
        self.assertTrue({"#vibes", "#details", "#rows", "#judges", "#overlap", "#methods"} <= set(links))
        self.assertIn("plumbing", self.browser.run("document.querySelector('.banner').innerText"))
        shown = self.browser.run("document.getElementById('headline').innerText")
        self.assertIn(f"{results['mm']['accuracy_test'] * 100:.1f}", shown)
        self.assertIn(f"{results['pp']['accuracy_test'] * 100:.1f}", shown)
        for number, key in ((1, lambda v: v["separability"]["test"]), (2, lambda v: coefficient(v["mm_coefficient"])),
                            (3, lambda v: coefficient(v["pp_coefficient"])), (4, lambda v: v["kappa"]["test"])):
            self.click(f"#table thead th:nth-child({number + 1}) button")
            down = self.column(number)
            for got, wanted in zip(down, sorted(map(key, kept), reverse=True), strict=True):
                self.assertAlmostEqual(got, wanted, places=7)
            self.click(f"#table thead th:nth-child({number + 1}) button")
            self.assertEqual(self.column(number), down[::-1])
            self.assertEqual(self.browser.run(f"document.querySelector('#table thead th:nth-child({number + 1})').ariaSort"), "ascending")

        everything = self.found()
        self.assertGreater(everything, 100)
        self.type("GRAINS UNTIL")
        self.settle("document.querySelectorAll('#list mark').length > 0")
        self.assertLess(self.found(), everything)
        for text in self.browser.run("[...document.querySelectorAll('#list mark')].map(m => m.textContent.toLowerCase())"):
            self.assertEqual(text, "grains until")
        self.type("nowhere to be found at all")
        self.settle("document.querySelectorAll('#list article').length === 0")
        self.assertEqual(self.found(), 0)
        self.type("")
        self.settle("document.querySelectorAll('#list article').length > 0")
        self.quiet(url)

    def test_examples_lead_to_what_the_judges_wrote(self):
        url = self.demo()
        self.browser.open(url + "#v1")
        self.assertTrue(self.browser.run("document.getElementById('v1').open"))
        self.click("#v1 .look button")
        self.assertEqual(self.browser.run("document.getElementById('kind').value"), "a")
        panels = self.browser.run("[...document.querySelectorAll('#list article')].map(a => a.querySelectorAll('.panel .answer').length)")
        self.assertEqual(panels, [4] * 10)  # two judges, two orders
        answers = self.browser.run("[...document.querySelectorAll('#list .answer .text')].map(p => p.textContent)")
        self.assertTrue(all("Analysis:" in text for text in answers))
        self.assertGreater(len(answers), 20)
        with open(self.dir / "runs/demo/results/rows.csv", newline="", encoding="utf-8") as file:
            rows = [r for r in csv.DictReader(file) if r["split"] == "test"]
        wrong = sum(float(r["mm_margin"]) <= 1e-9 for r in rows)
        self.choose("vibe", "-1")
        self.choose("kind", "wrong")
        self.assertGreaterEqual(self.found(), wrong)
        self.assertGreater(wrong, 0)
        marks = self.browser.run("[...document.querySelectorAll('#list article')].every(a => a.querySelector('.wrong'))")
        self.assertTrue(marks)
        before = self.browser.run("document.querySelectorAll('#list article').length")
        self.choose("kind", "all")
        self.click("#more")
        self.assertEqual(self.browser.run("document.querySelectorAll('#list article').length"), 2 * before)
        self.quiet(url + "#v1")

    def test_it_fits_dark_a_phone_and_paper(self):
        url = self.demo()
        looks = {}
        for name, width, scheme in (("wide", 1200, "light"), ("dark", 1200, "dark"), ("phone", 360, "light"), ("phone dark", 360, "dark")):
            self.browser.open(url, width=width, height=700, scheme=scheme)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width, name)
            looks[name] = self.browser.run("getComputedStyle(document.body).backgroundColor"), pixels(self.browser.picture(clip={"x": 0, "y": 0, "width": 360, "height": 400}))
            self.quiet(url)
        for name, (_, (width, height, colors)) in looks.items():
            self.assertGreater(len(colors), 30, name)
            self.assertEqual((width, height), (360, 400))
        self.assertNotEqual(looks["wide"][0], looks["dark"][0])
        self.assertEqual(looks["dark"][0], looks["phone dark"][0])
        self.click("#theme")  # dark by the system, now light by hand
        self.assertEqual(self.browser.run("getComputedStyle(document.body).backgroundColor"), looks["wide"][0])
        self.click("#theme")
        self.assertEqual(self.browser.run("getComputedStyle(document.body).backgroundColor"), looks["dark"][0])

        for width in (320, 500, 740, 800, 1000):
            self.browser.open(url, width=width)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
        self.browser.open(url, width=718, scheme="dark", media="print")  # A4 within its margins
        self.assertLessEqual(self.browser.run("document.getElementById('table').scrollWidth"), 718)
        self.assertEqual(self.browser.run("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        for hidden in ("#theme", "#controls", "#more"):
            self.assertEqual(self.browser.run(f"getComputedStyle(document.querySelector('{hidden}')).display"), "none")
        self.assertNotEqual(self.browser.run("getComputedStyle(document.querySelector('#table')).display"), "none")
        pdf = self.browser.pdf()
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertGreater(len(re.findall(rb"/Type */Page\b", pdf)), 1)
        self.assertFalse(self.browser.run("document.getElementById('dropped').open"))
        self.browser.run("dispatchEvent(new Event('beforeprint'))")
        self.assertTrue(self.browser.run("document.getElementById('dropped').open"))
        self.browser.run("dispatchEvent(new Event('afterprint'))")
        self.assertFalse(self.browser.run("document.getElementById('dropped').open"))

    def hostile_run(self):
        with open(self.dir / "data.csv", "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["question", "alpha", "beta", "topic", "preference"])
            for i in range(40):
                out.writerow([f"{i} {HOSTILE}?", f"[alpha] {i} {HOSTILE}", f"[beta] {i} {HOSTILE} \u2028 \U0001f642 other", f"<b>topic {i % 2}</b>",
                              "alpha" if i % 3 else "beta"])
        server = Server(HostileJudge)
        self.servers.append(server)
        (self.dir / "config.yaml").write_text("\n".join([
            "data: {path: data.csv, near_duplicate: 0}", "models: [alpha, beta]", "method: vibes", "vibes:",
            "  - {name: Marked <i>up</i>, low: '</bdi><script>1</script>', high: high <img src=x>}",
            "judges:", "  - {name: a <u>judge</u>, model: m, base_url: 'http://127.0.0.1:%d/v1', identity: t}" % server.server_port,
            "report: {by: topic}"]) + "\n")
        self.vibeq("run", "config.yaml", "--name", "hostile", code=DONE)
        return self.url("hostile")

    def test_hostile_text_stays_text(self):
        url = self.hostile_run()
        self.browser.open(url)
        self.quiet(url)
        self.choose("vibe", "0")
        self.choose("kind", "a")
        self.settle("document.querySelectorAll('#list .answer .text').length > 0")
        answers = self.browser.run("[...document.querySelectorAll('#list .answer .text')].map(p => p.textContent)")
        self.assertTrue(all(HOSTILE in text for text in answers))
        prompts = self.browser.run("[...document.querySelectorAll('#list article > .text')].map(p => p.textContent)")
        self.assertTrue(all(HOSTILE in text for text in prompts))
        self.type("onerror")
        self.settle("document.querySelectorAll('#list mark').length > 0")
        self.assertEqual(self.browser.run("document.title"), "alpha and beta: vibes")
        self.assertEqual(self.browser.run("document.querySelectorAll('img').length"), 0)
        self.assertEqual(self.browser.run("document.scripts.length"), 2)
        self.assertEqual(self.browser.run("[...document.querySelectorAll('b, i, u')].filter(e => /topic|up|judge$/.test(e.textContent)).map(e => e.outerHTML)"), [])
        self.assertIn("<b>topic 0</b>", self.browser.run("document.getElementById('groups').innerText"))
        self.assertIn("Marked <i>up</i>", self.browser.run("document.getElementById('table').innerText"))
        self.quiet(url)

    def rated_run(self):
        """By two judges that agree on all but some items; the texts and names try to be markup."""
        rows = 60
        with open(self.dir / "data.csv", "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["question", "alpha", "beta", "topic"])
            for i in range(rows):
                beta = "I cannot help with that." if i % 3 == 0 else f"Blue suits river stone {i} most. {HOSTILE}"
                out.writerow([f"What of river stone {i} {HOSTILE}?", f"River stone {i} is painted twice. {HOSTILE}", beta, f"<b>topic {i % 2}</b>"])
        (self.dir / "config.yaml").write_text("\n".join([
            "data: {path: data.csv, group: topic}", "models: [alpha, beta]", "judges: [offline-a, offline-b]", "criteria:",
            "- refusal", "- general", "- {name: Nice <i>one</i>, kind: likert, rubric: 'How friendly is it? 1: cold, 5: warm <img src=x>'}"]) + "\n")
        self.vibeq("run", "config.yaml", "--name", "rated", code=DONE)
        with open(self.dir / "runs/rated/results/ratings.csv", newline="", encoding="utf-8") as file:
            return self.url("rated"), rows, list(csv.DictReader(file))

    def items_shown(self):
        return self.browser.run("[...document.querySelectorAll('#list > :not([hidden]) > summary')].map(s => Number(s.textContent.match(/Item (\\d+)/)[1]))")

    def test_ratings_are_found(self):
        url, rows, ratings = self.rated_run()
        self.browser.open(url)
        self.quiet(url)
        self.assertEqual((self.found(), len(self.items_shown())), (rows, 25))
        self.click("#more")
        self.assertEqual(len(self.items_shown()), 50)
        said = {}
        for r in ratings:
            said.setdefault((r["criterion"], r["item"], r["output"]), set()).add(r["value"])
        def items(*conditions):
            return {int(item) for (name, item, output), values in said.items() if all(c(name, output, values) for c in conditions)}
        self.choose("show", "differ")
        differ = items(lambda name, output, values: len(values) > 1)
        self.assertEqual(self.found(), len(differ))
        self.assertEqual(set(self.items_shown()) - differ, set())
        for number, name in enumerate(("refusal", "general", "Nice <i>one</i>")):
            self.choose("criterion", str(number))
            self.assertEqual(self.found(), len(items(lambda of, output, values: of == name and len(values) > 1)), name)
        self.choose("show", "missing")
        self.assertEqual(self.found(), 0)
        self.choose("show", "all")
        self.choose("criterion", "0")
        self.choose("rating", "Byes")
        refused = items(lambda of, output, values: of == "refusal" and output == "beta" and "yes" in values)
        self.assertEqual((self.found(), set(self.items_shown()) <= refused), (len(refused), True))
        self.assertGreater(len(refused), 10)
        self.choose("criterion", "1")  # another kind, other values
        self.assertEqual(self.browser.run("document.getElementById('rating').value"), "")
        self.choose("rating", "AA")
        self.assertEqual(self.found(), len(items(lambda of, output, values: of == "general" and "alpha" in values)))
        self.choose("criterion", "-1")
        self.assertTrue(self.browser.run("document.getElementById('rating').disabled"))
        self.type("river STONE 17")
        self.settle("document.querySelectorAll('#list mark').length > 0")
        self.assertEqual(self.items_shown(), [18])
        self.assertEqual(set(self.browser.run("[...document.querySelectorAll('#list > :not([hidden]) mark')].map(m => m.textContent.toLowerCase())")),
                         {"river stone 17"})
        self.type("onerror")
        self.settle(f"document.getElementById('found').textContent.startsWith('{rows} ')")
        self.type("")
        self.settle("document.querySelectorAll('#list > :not([hidden]) mark').length === 0")
        self.assertEqual(self.browser.run("document.title"), "alpha and beta: ratings")
        self.assertEqual(self.browser.run("[document.querySelectorAll('img').length, document.scripts.length]"), [0, 2])
        self.assertEqual(self.browser.run("[...document.querySelectorAll('b, i')].filter(e => /topic|one/.test(e.textContent)).length"), 0)
        self.assertIn("<b>topic 0</b>", self.browser.run("document.getElementById('c1').textContent"))
        self.assertEqual(self.browser.run("[...document.querySelectorAll('#criterion option')].map(o => o.textContent)"),
                         ["any", "refusal", "general", "Nice <i>one</i>"])
        self.quiet(url)
        for scheme, width in (("dark", 390), ("light", 1200)):
            self.browser.open(url, width=width, scheme=scheme)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)

    def test_how_vibes_were_found_is_told(self):
        for end in ("csv", "yaml"):
            (self.dir / f"friendly-vs-terse.{end}").write_text(EXAMPLE.with_suffix(f".{end}").read_text())
        method = {"method": "discover", "vibecheck.d": 10, "vibecheck.min_misclassified": 3, "vibecheck.iterations": 2,
                  "vibecheck.compare_presets": "true", "report.by": "category"}
        self.vibeq("run", "friendly-vs-terse.yaml", "--name", "found", *[word for key, value in method.items() for word in ("--set", f"{key}={value}")], code=DONE)
        url = self.url("found")
        self.browser.open(url)
        self.quiet(url)
        kept = [v["name"] for v in self.results("found")["vibes"] if v["kept"]]
        story = self.browser.run("document.getElementById('story').innerText")
        for name in kept:
            self.assertIn(name, story)
        self.assertIn("It stopped:", story)
        self.assertGreaterEqual(self.browser.run("document.querySelectorAll('#story tbody tr').length"), 1)
        self.assertEqual(self.browser.run("document.querySelectorAll('#presets details tbody tr').length"), 10)
        self.assertEqual(self.browser.run("document.querySelectorAll('#groups tbody tr').length"), 9)
        methods = self.browser.run("document.getElementById('methods').innerText")
        for words in ("Discovered in at most 2 iterations", "Proposer: offline-a, reducer: offline-a, embedder: offline-embed", "more than 3 rows were misclassified"):
            self.assertIn(words, methods)

    def saved(self, selector):
        """What a button saves, instead of saving it: the name of the file, and its bytes in base64."""
        name, data = self.browser.run("""new Promise(done => {
            let held = null;
            const make = URL.createObjectURL, press = HTMLAnchorElement.prototype.click;
            URL.createObjectURL = blob => { held = blob; return 'blob:none'; };
            HTMLAnchorElement.prototype.click = function () {
                URL.createObjectURL = make;
                HTMLAnchorElement.prototype.click = press;
                const reader = new FileReader();
                reader.onload = () => done([this.download, reader.result.split(',')[1]]);
                reader.readAsDataURL(held);
            };
            (%s).click();
        })""" % selector)
        return name, base64.b64decode(data)

    def save_button(self, section, label, number=0):
        return f"[...document.querySelectorAll('#{section} .save button')].filter(b => b.textContent === '{label}')[{number}]"

    def test_tables_and_charts_are_saved(self):
        url = self.hostile_run()
        self.browser.open(url)
        vibe = self.results("hostile")["vibes"][0]
        name, data = self.saved(self.save_button("vibes", "CSV"))
        self.assertRegex(name, r"^[\w.-]+\.csv$")
        row, = csv.DictReader(io.StringIO(data.decode(), newline=""))
        self.assertEqual((row["vibe"], row["low"], row["high"]), (vibe["name"], vibe["low"], vibe["high"]))
        self.assertEqual([float(row["separability" + end]) for end in ("", "_low", "_high")], [vibe["separability"]["test"], *vibe["separability"]["ci95"]])
        self.assertEqual(float(row["mm"]), coefficient(vibe["mm_coefficient"]))
        name, data = self.saved(self.save_button("groups", "CSV"))
        self.assertEqual({row["value"] for row in csv.DictReader(io.StringIO(data.decode(), newline=""))}, {"<b>topic 0</b>", "<b>topic 1</b>"})
        for number in range(self.browser.run("document.querySelectorAll('.save').length")):
            name, data = self.saved(f"document.querySelectorAll('.save')[{number}].querySelector('button')")
            rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, name)

        name, data = self.saved(self.save_button("vibes", "SVG"))
        picture = ElementTree.fromstring(data)
        self.assertTrue(name.endswith(".svg"))
        self.assertTrue(any(text.text and "Marked <i>up</i>" in text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")))
        self.assertEqual({e.tag.split("}")[1] for e in picture.iter()} - {"svg", "g", "rect", "line", "path", "text"}, set())
        for part in ("judges", "groups"):
            name, data = self.saved(self.save_button(part, "SVG"))
            texts = [text.text for text in ElementTree.fromstring(data).iter("{http://www.w3.org/2000/svg}text")]
            self.assertTrue(any(re.fullmatch(r"[+\u2212-][0-9.]+", text or "") for text in texts), texts)
        self.quiet(url)
        name, data = self.saved(self.save_button("vibes", "PNG"))  # the browser draws it from a data: address
        width, _, colors = pixels(data)
        self.assertGreaterEqual(width, 1200)
        self.assertGreater(len(colors), 4)

        self.browser.run(self.save_button("vibes", "Copy as LaTeX") + ".click()")
        latex = self.browser.run("document.getElementById('latex').value")
        self.assertIn("\\begin{tabular}{lrrrr}", latex)
        self.assertIn("Marked \\textless{}i\\textgreater{}up\\textless{}/i\\textgreater{}", latex)
        self.assertNotIn("<", latex)
        self.assertEqual(self.browser.complaints(), [])

    def test_it_reads_without_a_script(self):
        url = self.hostile_run()
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        self.browser.open(url, width=390)
        shown = self.browser.run("document.body.innerText")
        results = self.results("hostile")
        for words in ("Marked <i>up</i>", "</bdi><script>1</script>", f"{results['vibes'][0]['separability']['test']:+.2f}", f"{results['mm']['accuracy_test']:.2f}",
                      "runs no script", "95 % intervals", "[{:+.2f}, {:+.2f}]".format(*results["vibes"][0]["separability"]["ci95"])):
            self.assertIn(words, shown)
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 390)
        self.assertEqual(self.browser.run("document.querySelectorAll('img').length"), 0)
        self.browser.call("Emulation.setScriptExecutionDisabled", value=False)
        self.browser.open(url)
        self.assertIsNone(self.browser.run("document.getElementById('plain')"))

    def test_ten_thousand_rows_open(self):
        self.demo()
        path = self.dir / "runs/demo/results/report.html"
        page, data = path.read_text(encoding="utf-8"), self.page_data("demo")
        few = data["rows"]
        data["rows"] = few + [{**few[i % len(few)], "n": i + 1} for i in range(10000 - len(few))]
        data["samples"] = 10000
        text = re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(data))
        before, rest = page.split('<script type="application/json" id="data">')
        large = self.dir / "large.html"
        large.write_text(before + '<script type="application/json" id="data">' + text + rest[rest.index("</script>"):], encoding="utf-8")
        self.browser.open(large.as_uri())
        self.assertEqual(self.found(), 10000)
        took = self.browser.run("performance.getEntriesByType('navigation')[0].loadEventEnd")
        self.type("grains until")
        self.settle("document.querySelectorAll('#list mark').length > 0")
        print(f"a page of 10,000 rows, {large.stat().st_size / 1e6:.1f} MB: open after {took:.0f} ms", flush=True)
        self.quiet(large.as_uri())

    def test_the_policy_refuses_what_is_not_ours(self):
        url = self.demo()
        self.browser.open(url)
        self.browser.run("{ const s = document.createElement('script'); s.textContent = 'window.owned = 1'; document.body.append(s); }")
        self.assertIsNone(self.browser.run("window.owned"))
        self.assertEqual(self.browser.run("fetch('http://127.0.0.1:9/').then(() => 'went', () => 'refused')"), "refused")
        self.assertTrue(any("Content Security Policy" in json.dumps(said) for said in self.browser.complaints()))


if __name__ == "__main__":
    vqtest.main()
