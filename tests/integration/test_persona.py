"""method: persona with real processes: the planted fade is found, planned and sent calls are those of the plan, the bytes of results depend
neither on how many workers there are nor on who is killed in the middle of a dialogue, a turn that fails leaves a hole, and every verb
knows such a run."""
import collections
import csv
import json
import os
import random
import re
import shutil
import subprocess
import time

import browser
import vqtest
from answering import Between
from vqtest import MISSING, ROOT, USAGE, Case

FILES = ("results.json", "ratings.csv", "dialogues.jsonl", "report.html")
TRAITS = ("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism")


class Persona(Case):
    def setUp(self):
        super().setUp()
        for path in (ROOT / "examples").iterdir():
            if re.match(r"persona|queries-|probe-", path.name):
                shutil.copy(path, self.dir)

    def config(self, url=None, name="config.yaml", probes="[{file: probe-bigfive.csv, name: bigfive}]", orders="original", rounds=12,
               judges=("offline-a",), **more):
        def model(name):
            return f"{{model: {name}, base_url: \"{url}\", identity: the-test, concurrency: 8}}" if url else name
        lines = [f"subjects: [{model('offline-subject')}]", f"judges: [{', '.join(model(j) for j in judges)}]", "dialogues:",
                 "  personas: personas-two.yaml", "  directed: queries-interview.yaml", "  goal: queries-goals.txt",
                 f"  orders: {orders}", f"  rounds: {rounds}", "  checkpoints: 3", f"probes: {probes}"]
        lines += [f"{key}: {value}" for key, value in more.items()]
        (self.dir / name).write_text("\n".join(lines) + "\n")
        return name

    def ratings(self, run):
        with open(self.dir / "runs" / run / "results/ratings.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def dialogues(self, run):
        text = (self.dir / "runs" / run / "results/dialogues.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @staticmethod
    def slope(points):
        """Least squares within groups of (group, x, y), by hand."""
        groups = collections.defaultdict(list)
        for group, x, y in points:
            groups[group].append((x, y))
        sxy = sxx = 0
        for rows in groups.values():
            mx, my = (sum(r[k] for r in rows) / len(rows) for k in (0, 1))
            sxy += sum((x - mx) * (y - my) for x, y in rows)
            sxx += sum((x - mx) ** 2 for x, _ in rows)
        return sxy / sxx

    # ---- what it finds ----

    def test_the_planted_fade_is_found(self):
        done = self.vibeq("run", "persona.yaml", "--name", "r", timeout=200)
        self.assertIn("offline judge", done.stdout)
        self.assertRegex(done.stdout, r"knowledge +directed")
        rows = self.ratings("r")
        self.assertTrue(all(row["status"] == "ok" for row in rows))
        for criterion, share in (("knowledge", 1), ("style", 1), ("in_character", 0.5)):
            for kind, fade in (("directed", 4), ("goal", 8)):
                points = [((r["persona"]), int(r["round"]), 25 * (float(r["value"]) - 1)) for r in rows
                          if r["criterion"] == criterion and r["kind"] == kind and r["persona"]]
                self.assertEqual(len(points), 2 * 2 * 12)
                self.assertAlmostEqual(self.slope(points), -fade * share, delta=0.8, msg=f"{criterion} {kind}")
            flat = [((r["as"]), int(r["round"]), 25 * (float(r["value"]) - 1)) for r in rows
                    if r["criterion"] == criterion and not r["persona"]]
            self.assertEqual(len(flat), 2 * 2 * 2 * 12)
            self.assertAlmostEqual(self.slope(flat), 0, delta=0.8)
        result = self.results("r")
        measures = {m["name"]: m for m in result["measures"]}
        self.assertLessEqual({"knowledge", "style", "in_character", "fidelity", "safety: unsafe", "safety: safe", "role: dataset",
                              "role: zero", "general: dataset", *TRAITS}, set(measures))
        planned = result["calls"]
        self.assertEqual((planned["turns"]["planned"], planned["turns_rated"]["planned"]), (144, 576))
        self.assertEqual(self.accounting("r")["planned"], planned["generated"]["planned"] + planned["rated"]["planned"])
        for talk in self.dialogues("r"):
            self.assertEqual((len(talk["messages"]), talk["ended"]), (24, None))
            self.assertEqual(talk.get("system") is None, not talk["persona"])
        self.page(result)
        self.slopes_over_tokens(result)
        self.assertIn("byte for byte", self.vibeq("replay", "r", "--verify").stdout)
        self.assertIn("verified", self.vibeq("verify", "r").stdout)

    def slopes_over_tokens(self, result):
        """The built-in server counts a token for 4 bytes."""
        told = {(d["persona"], d["kind"]): d["before_round"] for d in result["dialogue_tokens"]}
        self.assertEqual(len(told), 3 * 2)
        talks = collections.defaultdict(list)
        for talk in self.dialogues("r"):
            talks[(talk["persona"], talk["kind"])].append([len(m["content"].encode()) for m in talk["messages"]])
        for who, orders in talks.items():
            for r in range(13):
                counted = sum(sum(said[:2 * r + 1]) - said[0] for said in orders) / len(orders) / 4
                self.assertAlmostEqual(told[who][r], counted, delta=2 + 0.02 * counted, msg=f"{who} {r}")
        rows = [r for r in self.ratings("r") if r["criterion"] == "knowledge" and r["persona"]]
        for slope in next(m for m in result["measures"] if m["name"] == "knowledge")["slopes_percent"]:
            points = [(r["persona"], told[(r["persona"], r["kind"])][int(r["round"])] / 1000, 25 * (float(r["value"]) - 1))
                      for r in rows if r["kind"] == slope["kind"]]
            self.assertAlmostEqual(slope["per_1000_tokens"]["slope"], self.slope(points), places=5)
        self.assertGreater(sum(of["persona"] is not None for m in self.page_data("r")["measures"] for of in m["tokens"].values()), 2 * 10)

    def test_the_page(self):
        """Text of others stays text; every measure has a curve a kind of dialogue, every dialogue its turns with ratings."""
        self.config(subjects="[{model: offline-subject, name: \"<script>alert(1)</script>\"}]")
        lines = (self.dir / "config.yaml").read_text().splitlines()
        (self.dir / "config.yaml").write_text("\n".join(lines[1:]) + "\n")  # subjects as given last
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", timeout=200)
        page = self.opened("r")
        if page is None:
            return
        try:
            count = lambda selector: page.run(f"document.querySelectorAll({json.dumps(selector)}).length")
            text = page.run("document.querySelector('main').textContent")
            self.assertIn("<script>alert(1)</script>", text)
            self.assertEqual(page.run("document.scripts.length"), 2)
            self.assertGreaterEqual(count("figure svg"), 2 * len(self.results("r")["measures"]))
            self.assertEqual(count(".turn"), 6 * 12)
            heads = page.run("[...document.querySelectorAll('.turn h4 bdi:first-child')].map(e => e.textContent)")
            self.assertEqual(heads.count("knowledge"), 8 * 12)  # a baseline's as both personas
            self.assertIn(self.dialogues("r")[0]["messages"][0]["content"].split(",")[0], text)
            self.assertNotIn("NaN", text)
            self.assertNotIn("undefined", text)
            self.assertEqual(page.complaints(), [])
            self.assertEqual(len(page.fetched()), 1)
            for width in (390, 1200):
                page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
                self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
            page.open((self.dir / "runs/r/results/report.html").as_uri())
            self.assertEqual(count(".turn"), 0)
            page.run("dispatchEvent(new Event('beforeprint'))")
            self.assertEqual((count(".turn"), count("details:not([open])")), (6 * 12, 0), "paper has all dialogues")
        finally:
            page.close()

    def page(self, result):
        """The page has a chart where the numbers have a curve, and its line falls as they do."""
        data = self.page_data("r")
        self.assertEqual(data["results"], result)
        talks = data["talks"]
        turns = [turn for talk in talks for turn in talk["turns"]]
        questions = [q for part in [*turns, *talks] for asked in part.get("probes", []) for q in asked["questions"]]
        self.assertEqual(len(turns), sum(len(t["messages"]) // 2 for t in self.dialogues("r")))
        self.assertEqual(len(questions), result["calls"]["generated"]["planned"] - result["calls"]["turns"]["planned"])
        self.assertEqual(sum(len(part["ratings"]) for part in turns + questions), len(self.ratings("r")))
        asked = [c for c in csv.DictReader(self.vibeq("export", "r", "calls").stdout.splitlines()) if c["stage"] in ("bigfive", "safety", "role")]
        self.assertLessEqual({c["answer"] for c in asked}, {q["answer"] for q in questions})
        page = self.opened("r")
        if page is None:
            return
        try:
            for number, measure in enumerate(result["measures"], 1):
                self.assertIn(measure["name"], page.run(f"document.querySelector('#m{number} h3').textContent"))
                if measure["name"] not in ("knowledge", "style", "in_character"):
                    continue
                paths = page.run(f"""[...document.querySelectorAll('#m{number} figure')].filter(f => f.textContent.startsWith('Persona and baseline'))
                    .map(f => f.querySelector('.line.persona:not(.faint)').getAttribute('d'))""")
                self.assertEqual(len(paths), 2)
                for path, kind in zip(paths, ("directed", "goal")):
                    points = [p["mean"] for p in measure["curves"][kind]["persona"]]
                    heights = [float(point.split()[1]) for point in path[1:].split("L")]
                    self.assertEqual(len(heights), len(points))
                    for height, mean in zip(heights, points):
                        self.assertAlmostEqual(height, 152 - (mean - 1) / 4 * 146, delta=0.06)
                    self.assertGreater(heights[-1], heights[0])
            self.assertEqual(page.complaints(), [])
        finally:
            page.close()

    def opened(self, run):
        """report.html in Chromium with every fold open; None without Chromium."""
        if browser.program() is None:
            self.assertFalse(os.environ.get("CI"), "there is no chromium")
            return None
        page = browser.Browser(self.dir)
        page.open((self.dir / "runs" / run / "results/report.html").as_uri())
        page.run("for (const fold of document.querySelectorAll('details')) fold.open = true; new Promise(done => setTimeout(done, 500))")
        page.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
        return page

    # ---- how many calls ----

    def test_calls_planned_and_sent(self):
        """One model, two personas and the baseline, both kinds, one order, 12 rounds, 3 points, 44 questions on traits."""
        with open(self.dir / "five.csv", "w", encoding="utf-8") as file:
            file.write("question,trait\n")
            for i in range(44):
                file.write(f"What do you make of number {i} and of its neighbours?,{TRAITS[i % 5]}\n")
        server = self.offline()
        self.config(server.url, probes="[five.csv]")
        dry = self.vibeq("run", "config.yaml", "--dry-run").stderr
        self.assertIn("72 calls: 6 dialogues of 12 turns", dry)
        self.assertIn("792 calls: after the recorded first turns", dry)
        plan = json.loads(self.vibeq("plan", "config.yaml", "--json").stdout)
        self.assertEqual((plan["calls"]["least"], plan["calls"]["most"]), (72, 72 + 288 + 660 + 660))
        self.assertEqual([s["name"] for s in plan["stages"]], ["dialogues", "turns rated", "five", "five rated"])
        said = self.vibeq("run", "config.yaml", "--name", "r", "--quiet", timeout=200).stdout
        calls = self.results("r")["calls"]
        self.assertEqual(calls["turns"], {"planned": 72, "shared": 0})
        self.assertEqual(calls["turns_rated"], {"planned": 288, "shared": 0})
        self.assertEqual(calls["sets"][0]["asked"], {"planned": 792, "shared": 132})
        self.assertEqual(calls["sets"][0]["rated"], {"planned": 792, "shared": 132})
        kinds = collections.Counter(request["kind"] for request in server.requests())
        self.assertEqual(kinds["chat"], 72 + 660)
        accounting = self.accounting("r")
        self.assertEqual(accounting["planned"], 72 + 288 + 792 + 792)
        self.assertEqual(accounting["sent"], sum(kinds.values()))
        self.assertEqual(accounting["planned"], accounting["sent"] + accounting["from_store"])
        self.assertEqual(accounting["paid_unused"], 0)
        self.assertIn(f"Calls    {accounting['sent']:,} sent, {accounting['from_store']:,} answered from the store; ", said)
        # answers that are alike are rated once: no more than the plan says, and each different one
        rated = {(r["as"], r["kind"], r["round"], r["item"], r["criterion"], r["persona"]) for r in self.ratings("r")}
        self.assertEqual(len(rated), 288 + 792)
        self.assertLessEqual(kinds["likert"], 288 + 660)
        self.assertGreater(kinds["likert"], 288 + 440)

    def test_tokens_planned_and_counted(self):
        """Each turn is sent with all that was said before. A short run of the same personas tells how long answers are."""
        server = self.offline()
        probes = "[{file: probe-bigfive.csv, name: bigfive}, {file: probe-role.csv, name: role, criterion: role_specific, references: [zero]}]"
        name = self.config(server.url, name="small.yaml", rounds=4, probes="[]", criteria="[knowledge]")
        self.vibeq("run", name, "--name", "small", "--quiet", timeout=200)
        self.config(server.url, orders="both", probes=probes, criteria="[knowledge, role_specific]")
        plan = json.loads(self.vibeq("plan", "config.yaml", "--json").stdout)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", timeout=200)
        stages = {s["name"]: s for s in json.loads((self.dir / "runs/r/accounting.json").read_text())["stages"]}
        off = {}
        for stage in plan["stages"]:
            counted = stages[stage["name"]]
            each = counted["tokens_in"] / counted["sent"]
            off[stage["name"]] = stage["tokens_in"]["expected"] / stage["calls"]["expected"] / each - 1
        self.assertEqual(list(off), ["dialogues", "turns rated", "bigfive", "bigfive rated", "role", "role rated: zero"])
        for stage, share in off.items():
            self.assertLess(abs(share), 0.03 if stage == "dialogues" else 0.1, off)
        total = self.accounting("r")["tokens_in"]
        self.assertLess(abs(plan["tokens_in"]["expected"] / total - 1), 0.1, off)
        self.inside(total, plan["tokens_in"])

    @staticmethod
    def inside(value, interval):
        assert interval["least"] <= value <= interval["most"], (value, interval)

    # ---- whoever is killed, and however many there are ----

    def files(self, runs="runs"):
        return [(self.dir / runs / "r/results" / name).read_bytes() for name in FILES]

    def undisturbed(self, workers=2):
        server = self.offline(name=f"calm{workers}")
        self.config(server.url, name="calm.yaml", orders="both", term_ms=2000)
        runs = self.dir / f"calm-runs-{workers}"
        self.vibeq("run", "calm.yaml", "--name", "r", "--quiet", "--runs", runs, "--workers", workers, timeout=200)
        return self.files(runs)

    def test_one_worker_and_sixteen(self):
        self.assertEqual(self.undisturbed(1), self.undisturbed(16))

    def begin(self, turns):
        server = self.offline("--latency", "uniform:20ms:60ms")
        self.config(server.url, orders="both", term_ms=2000)
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.wait_for("some answers", lambda: child.poll() is not None or len(server.answers()) >= turns)
        self.assertIsNone(child.poll(), self.logs())
        return server, child

    def check(self, server):
        self.assertEqual(self.files(), self.undisturbed())
        self.assertGreaterEqual(self.accounting("r")["sent"], len(server.requests()))
        self.assertIn("verified", self.vibeq("verify", "r").stdout)

    def test_the_coordinator_is_killed_in_the_middle_of_dialogues(self):
        server, child = self.begin(60)
        child.kill()
        child.wait()
        self.vibeq("resume", "r", "--quiet", timeout=200)
        self.check(server)
        self.assertEqual(self.accounting("r")["unknown"], 0)

    def test_everything_is_killed_in_the_middle_of_dialogues(self):
        server, child = self.begin(60)
        self.kill_all(child)
        time.sleep(0.3)
        self.vibeq("resume", "r", "--quiet", timeout=200)
        self.check(server)

    def test_workers_are_killed_while_probes_are_asked(self):
        server, child = self.begin(160)
        self.kill_workers()
        self.wait_exit(child, 0, 200)
        self.check(server)

    def test_two_models_and_two_judges(self):
        """Each chain and probe is its own model's; 6 cells have intervals."""
        lines = (self.dir / "persona.yaml").read_text()
        lines = re.sub(r"(?m)^subjects:.*", "subjects: [offline-subject, {model: offline-a, role: developer, line: 'think: off'}]", lines)
        lines = re.sub(r"(?m)^judges:.*", "judges: [offline-a, offline-b]", lines).replace("personas-two", "personas")
        (self.dir / "config.yaml").write_text(lines)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", timeout=200)
        calls = self.results("r")["calls"]
        self.assertEqual(calls["turns"]["planned"], 2 * 4 * 2 * 2 * 12)
        self.assertEqual(len(self.ratings("r")), calls["rated"]["planned"] * 2)
        self.assertEqual(self.accounting("r")["planned"], calls["generated"]["planned"] + calls["rated"]["planned"] * 2)
        for talk in self.dialogues("r"):
            self.assertEqual((talk.get("system") or "").startswith("think: off"), talk["model"] == "offline-a")
            fades = any("lighthouse" in m["content"] for m in talk["messages"] if m["role"] == "assistant")
            self.assertLessEqual(fades, talk["model"] == "offline-subject")
        self.assertNotIn("No intervals", self.vibeq("report", "r").stdout)
        self.assertIn("byte for byte", self.vibeq("replay", "r", "--verify").stdout)

    def test_a_model_without_system_messages(self):
        """Its persona begins the first message of the user, in a dialogue and before one; a baseline is sent the query alone."""
        between = Between(self.offline().url)
        self.servers.append(between)
        self.config(between.url, rounds=4)
        text = (self.dir / "config.yaml").read_text()
        (self.dir / "config.yaml").write_text(text.replace("subjects: [{", "subjects: [{role: none, "))
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", timeout=200)
        bare, shown = self.files(), self.dialogues("r")
        systems = {talk["system"] for talk in shown if talk["persona"]}
        self.assertEqual(len(systems), 2)
        firsts = collections.Counter()
        for body in map(json.loads, between.asked):
            if body["model"] == "offline-subject":
                self.assertEqual([m["role"] for m in body["messages"]], (["user", "assistant"] * 9)[:len(body["messages"])])
                first = body["messages"][0]["content"]
                firsts[next((s for s in systems if first.startswith(s + "\n\n")), None)] += 1
        self.assertEqual(len(firsts), 3)
        self.assertEqual(len(set(firsts.values())), 1)  # each is sent as often
        # the built-in subject reads its persona either way, and judges see the same; yet no answer of one stands for the other's
        between.asked.clear()
        (self.dir / "config.yaml").write_text(text)
        self.vibeq("run", "config.yaml", "--name", "s", "--quiet", timeout=200)
        self.assertEqual(shown, self.dialogues("s"))
        subject = [body for body in map(json.loads, between.asked) if body["model"] == "offline-subject"]
        self.assertEqual(len(subject), sum(firsts.values()))
        self.assertEqual(sum(body["messages"][0]["role"] == "system" for body in subject), len(subject) * 2 // 3)
        self.assertEqual(bare[1], (self.dir / "runs/s/results/ratings.csv").read_bytes())

    # ---- beside what people say ----

    @staticmethod
    def agreed(pairs, values):
        """Exact agreement, plain and quadratic kappa, mean absolute error and within 1, by hand."""
        n, at = len(pairs), {v: i for i, v in enumerate(values)}
        a, b = collections.Counter(x for x, _ in pairs), collections.Counter(y for _, y in pairs)

        def kappa(weight):
            seen = sum(weight(at[x], at[y]) for x, y in pairs) / n
            by_chance = sum(weight(at[x], at[y]) * a[x] * b[y] for x in values for y in values) / n / n
            return 1 - seen / by_chance
        return {"rows": n, "exact": sum(x == y for x, y in pairs) / n, "kappa": kappa(lambda x, y: x != y),
                "kappa_quadratic": kappa(lambda x, y: (x - y) ** 2), "absolute_error": sum(abs(at[x] - at[y]) for x, y in pairs) / n,
                "within_one": sum(abs(at[x] - at[y]) <= 1 for x, y in pairs) / n}

    def test_what_people_say(self):
        """A sample of the ratings with labels of people, in the columns of ratings.csv."""
        probes = "[{file: probe-safety.csv, name: safety}, {file: probe-role.csv, name: role, criterion: role_specific}]"
        self.config(probes=probes, orders="both", judges=("offline-a", "offline-b"))
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", timeout=200)
        rows, draw = self.ratings("r"), random.Random(7)
        others = {"yes": "no", "no": "yes", "A": "B", "B": "A"}
        labels, expected = [], collections.defaultdict(list)
        for criterion in ("style", "safety", "role"):
            first = [r for r in rows if r["criterion"] == criterion and r["judge"] == "offline-a"]
            for row in draw.sample(first, 50):
                said = row["value"]
                if draw.random() < 0.4:
                    said = others.get(said) or str(min(5, max(1, int(said) + draw.choice((-2, -1, 1)))))
                labels.append({**row, "human": said})
                key = {k: v for k, v in row.items() if k not in ("judge", "value", "status")}
                for other in rows:
                    if all(other[k] == v for k, v in key.items()):
                        expected[(criterion, other["judge"])].append((other["value"], said))
        labels.append({**labels[0], "round": 3, "item": 99, "human": 2})  # of nothing
        with open(self.dir / "labels.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=labels[0])
            writer.writeheader()
            writer.writerows(labels)
        text = (self.dir / "config.yaml").read_text()
        (self.dir / "config.yaml").write_text(text.replace("dialogues:\n", "dialogues:\n  human: labels.csv\n"))
        self.vibeq("run", "config.yaml", "--name", "s", "--quiet", timeout=200)
        self.assertEqual(self.accounting("s")["sent"], 0)
        result = self.results("s")
        self.assertEqual(result["human"], {"labels": 151, "of_nothing_rated": 1})
        found = {(a["criterion"], a["a"]): a for a in result["agreement"] if a["b_is_human"]}
        self.assertEqual(set(found), set(expected))
        for key, pairs in expected.items():
            self.assertEqual(len(pairs), 50)
            values = {"style": "12345", "safety": ("no", "yes"), "role": "AB"}[key[0]]
            for name, value in self.agreed(pairs, list(values)).items():
                self.assertAlmostEqual(found[key][name], value, places=6, msg=f"{key} {name}")
        page = self.page_data("s")
        self.assertEqual(sum(pair["b_is_human"] for pair in page["results"]["agreement"]), 6)
        self.assertTrue(any("human" in rating for talk in page["talks"] for turn in talk["turns"] for rating in turn["ratings"]))
        self.assertIn("byte for byte", self.vibeq("replay", "s", "--verify").stdout)
        (self.dir / "labels.csv").write_text("criterion,model,persona,kind,round,human\nstyle,offline-subject,Ada Quill,goal,1,9\n")
        self.assertIn("labels.csv, line 2, human", self.vibeq("run", "config.yaml", "--quiet", code=USAGE).stderr)

    # ---- what goes wrong ----

    def test_a_turn_that_fails_leaves_a_hole(self):
        query = (self.dir / "queries-goals.txt").read_text(encoding="utf-8").splitlines()[8]
        (self.dir / "faults.jsonl").write_text(json.dumps({"fault": "bad_request", "model": "offline-subject", "contains": query}) + "\n")
        self.config(offline="{faults: faults.jsonl}")
        shown = self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=MISSING, timeout=200).stdout
        self.assertIn("blocked", shown)
        talks = self.dialogues("r")
        for talk in talks:
            whole = talk["kind"] == "directed"
            self.assertEqual((len(talk["messages"]), talk["ended"] is None), (24, True) if whole else (2 * 8, False))
        statuses = collections.Counter((r["kind"], r["status"]) for r in self.ratings("r"))
        self.assertEqual(set(statuses), {("directed", "ok"), ("goal", "ok"), ("goal", "blocked")})
        blocked = [r for r in self.ratings("r") if r["status"] == "blocked"]
        self.assertTrue(all(r["value"] == "" and int(r["round"]) >= 8 for r in blocked))
        self.assertIn("verified", self.vibeq("verify", "r").stdout)
        self.assertIn("byte for byte", self.vibeq("replay", "r", "--verify").stdout)

    def test_holes_are_filled_and_the_accounts_still_add_up(self):
        """A stage that is made of answers has other tasks once there are more of them: the sums hold all the same."""
        server = self.offline("--fault", "bad_request=0.06,model=offline-subject,sticky=true", "--fault", "refusal=0.06,model=offline-subject,sticky=true")
        more = {"probes": "[{file: probe-bigfive.csv, name: bigfive}, {file: probe-role.csv, name: role, criterion: role_specific}]"}
        self.vibeq("run", self.config(server.url, orders="both", **more), "--name", "r", "--quiet", code=MISSING, timeout=200)
        self.assertIn("verified", self.vibeq("verify", "r").stdout)
        server.stop()
        server = self.offline()
        moved = [word for role in ("subjects", "judges") for word in ("--set", f"{role}[0].base_url={server.url}")]
        self.vibeq("resume", "r", "--retry-failed", *moved, "--quiet", timeout=200)
        self.assertEqual({r["status"] for r in self.ratings("r")}, {"ok"})
        self.assertIn("verified", self.vibeq("verify", "r").stdout)
        got = subprocess.run([str(ROOT / "tests/tools/audit"), str(self.dir / "runs/r")], capture_output=True, text=True, timeout=120)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)

    def test_kind_refusals(self):
        def refused(what, **config):
            name = self.config(**config)
            got = self.vibeq("run", name, "--quiet", code=USAGE).stderr
            self.assertIn(what, got)
        refused("12 with its remarks; ask for fewer rounds", rounds=13)
        refused("probe-role.csv, line 2: the item has no trait", probes="[{file: probe-role.csv, criterion: trait}]")
        refused("probe-bigfive.csv, line 2: the item has no reference", probes="[{file: probe-bigfive.csv, criterion: general}]")
        refused("is not pairwise, and compares with nothing", probes="[{file: probe-safety.csv, references: zero}]")
        refused("turns are rated one by one", criteria="[general]")
        for rows, lacking in (("hello,\nyo,safe\n", 2), ("hello,unsafe\nyo,\n", 3)):
            (self.dir / "half.csv").write_text("question,label\n" + rows)
            refused(f"half.csv, line {lacking}: the item has no label", probes="[half.csv]")
        (self.dir / "half.csv").write_text("question,trait\nDo you talk?,\nDo you plan?,openness\n")
        refused("half.csv, line 2: the item has no trait", probes="[half.csv]")

    def test_results_call_no_two_things_alike(self):
        def refused(whose, name, **config):
            got = self.vibeq("run", self.config(**config), "--quiet", code=USAGE).stderr
            self.assertIn(f'{whose}: results would have two measures called "{name}"', got)
        refused("probes[0]", "knowledge", probes="[{file: probe-safety.csv, name: knowledge}]")
        refused("probes[0]", "fidelity", probes="[{file: probe-safety.csv, name: fidelity}]")
        refused("probes[1]", "openness", probes="[probe-bigfive.csv, {file: probe-safety.csv, name: openness}]")
        refused("probes[1]", "openness", probes="[probe-bigfive.csv, {file: probe-bigfive.csv, name: again}]")
        refused("criteria", "fidelity", criteria="[{name: fidelity, kind: likert, rubric: How true is it?}]")

    # ---- the verbs ----

    def test_an_interview_is_written_and_held(self):
        self.vibeq("personas", "queries", "--count", 10, "--model", "offline-a", "--out", "queries-interview.yaml", code=USAGE)
        (self.dir / "queries-interview.yaml").unlink()
        self.vibeq("personas", "queries", "--count", 10, "--model", "offline-a", "--out", "queries-interview.yaml")
        self.config(name="config.yaml", probes="[]", rounds=12)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", timeout=200)
        talk = next(t for t in self.dialogues("r") if t["kind"] == "directed" and t["persona"])
        self.assertIn(talk["persona"], talk["messages"][0]["content"])
        self.assertIn(talk["persona"], talk["messages"][22]["content"])
        self.assertNotIn("{role}", json.dumps(talk))
        asked = self.offline()
        words = ("personas", "queries", "--count", 3, "--model", "offline-a", "--base-url", asked.url, "--out")
        self.assertIn("cannot create not/there.yaml", self.vibeq(*words, "not/there.yaml", code=USAGE).stderr)
        self.assertIn("end it with .yaml", self.vibeq(*words, "interview.txt", code=USAGE).stderr)  # it would be read line by line
        self.assertEqual(asked.requests(), [], "nothing is paid for a list that cannot be kept")
        self.vibeq(*words, "few.yaml")
        self.assertEqual(len(asked.requests()), 1)
        self.vibeq("personas", "queries", "--count", 0, "--model", "offline-a", code=USAGE)
        self.assertIn("name the model", self.vibeq("personas", "queries", code=USAGE).stderr)
        self.assertIn("queries", self.vibeq("personas", "list", code=USAGE).stderr)

    def test_the_verbs(self):
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", timeout=200)
        before = self.files()
        plan = json.loads(self.vibeq("plan", "config.yaml", "--json").stdout)
        self.assertEqual((plan["dialogues"], plan["calls"]["most"]), (6, 0))
        self.assertEqual(self.status("r")["state"], "finished")
        self.vibeq("report", "r")
        self.vibeq("resume", "r", "--quiet")
        self.assertEqual(self.files(), before)
        self.assertEqual(self.vibeq("export", "r", "ratings").stdout.encode(), before[1])
        calls = list(csv.DictReader(self.vibeq("export", "r", "calls").stdout.splitlines()))
        self.assertTrue(calls)
        self.assertIn("no dead letters", self.vibeq("dead", "r").stdout)
        for words in (("export", "r", "vibes"), ("check", "config.yaml"), ("prompts", "show", "judge", "--config", "config.yaml")):
            self.assertIn("makes its own data", self.vibeq(*words, code=USAGE).stderr)
        (self.dir / "personas-two.yaml").write_text("- {name: X, description: You are another.}\n")
        self.assertIn("has changed since run r began", self.vibeq("replay", "r", "--verify", code=USAGE).stderr)


if __name__ == "__main__":
    vqtest.main()
