"""The built-in server as subject of persona dialogues and as rubric judge, over HTTP, with the templates, criteria and examples that ship."""
import csv
import json
import re
import urllib.error
import urllib.request

import vqtest
from vqtest import ROOT, Case

PROMPTS = ROOT / "prompts"
EXAMPLES = ROOT / "examples"
TRAITS = "openness conscientiousness extraversion agreeableness neuroticism".split()
KINDS = {"refusal": "binary", "role_specific": "pairwise", "general": "pairwise"}


def personas():
    """Of examples/personas.yaml, which is simple enough to be read without a library."""
    found = []
    for line in (EXAMPLES / "personas.yaml").read_text().splitlines():
        if line.startswith("- name: "):
            found.append({"name": line[8:], "description": ""})
        elif line.startswith("    "):
            found[-1]["description"] += (" " if found[-1]["description"] else "") + line.strip()
        elif line.startswith("  big_five: "):
            found[-1]["labels"] = {k: int(v) for k, v in re.findall(r"(\w+): (\d)", line)}
    return found


def interview():
    """Of examples/queries-interview.yaml: the remarks at both ends."""
    found = re.findall(r'^(?:opening: |- |closing: )"(.*)"$', (EXAMPLES / "queries-interview.yaml").read_text(), re.M)
    assert "{role}" in found[0] and "{role}" in found[-1]
    return found


def goals():
    return (EXAMPLES / "queries-goals.txt").read_text().splitlines()


def rows(name):
    with open(EXAMPLES / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def fill(text, **values):
    for name, value in values.items():
        text = text.replace("{{%s}}" % name, value)
    return text


def parts(template):
    system, _, user = (PROMPTS / template).read_text().removeprefix("@system\n").partition("@user\n")
    return system.strip(), user.strip()


def system_of(persona):
    return fill(parts("persona.txt")[0], name=persona["name"], description=persona["description"])


class Server(Case):
    def post(self, path, body, code=200):
        request = urllib.request.Request(self.url.removesuffix("/v1") + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                self.assertEqual(reply.status, code)
                return json.load(reply)
        except urllib.error.HTTPError as error:
            self.assertEqual(error.code, code)
            return None

    def serve(self, *options):
        self.server = self.offline(*options)
        self.url = self.server.url

    def chat(self, messages, model="offline-subject", **more):
        return self.post("/v1/chat/completions", {"model": model, "messages": messages, **more})["choices"][0]["message"]["content"]

    def judge(self, criterion, prompt, a, b="", model="offline-a", **more):
        """The whole answer to a rating prompt."""
        system, user = parts(KINDS.get(criterion, "likert") + ".txt")
        rubric = (PROMPTS / "criteria" / f"{criterion}.txt").read_text().split("\n\n", 1)[1].strip()
        user = fill(user, criterion=criterion, rubric=rubric, prompt=prompt, output_a=a, output_b=b)
        return self.chat([{"role": "system", "content": system}, {"role": "user", "content": user}], model, **more)

    def rated(self, *words, **more):
        said = self.judge(*words, **more)
        self.assertRegex(said, r"^\*\*Reasoning:\*\* .+\n\n\*\*Result:\*\* (?:[1-5]|Yes|No|A|B)$")
        return said.rsplit(" ", 1)[1]

    def dialogue(self, system, questions):
        """Answers in order, each with all that was said before."""
        messages = [{"role": "system", "content": system}] if system else []
        answers = []
        for question in questions:
            messages.append({"role": "user", "content": question})
            answers.append(self.chat(messages))
            messages.append({"role": "assistant", "content": answers[-1]})
        return answers


def preamble(persona, query):
    return (f"<role>\n{persona['name']}\n</role>\n<role_description>\n{persona['description']}\n</role_description>\n"
            f"<user_query>\n{query}\n</user_query>")


class Subject(Server):
    def test_a_planted_fade_is_a_measured_fade(self):
        """Interviews fade slowly, tasks fast, the baseline is at the floor: in percent, by the formula of docs/use/offline.md."""
        self.serve("--subject", "offline-subject,fade=0.03,goal_fade=0.06,floor=0")
        for queries, fade in ((interview(), 0.03), (goals(), 0.06)):
            of_third = [[], []]
            for persona in personas():
                asked = [q.replace("{role}", persona["name"]) for q in queries]
                self.assertEqual(len(asked), 12)
                answers = self.dialogue(system_of(persona), asked)
                for i, (q, a) in enumerate(zip(asked, answers)):
                    score = [25 * (int(self.rated(c, preamble(persona, q), a)) - 1) for c in ("knowledge", "style")]
                    if i < 4 or i >= 8:
                        of_third[i >= 8] += score
            first, last = (sum(scores) / len(scores) for scores in of_third)
            self.assertAlmostEqual(first, 100 * (1 - 1.5 * fade), delta=8)
            self.assertAlmostEqual(last, 100 * (1 - 9.5 * fade), delta=8)
        bare = []
        for persona in personas()[:1]:
            asked = [q.replace("{role}", "offline-subject") for q in interview()]
            for q, a in zip(asked, self.dialogue(None, asked)):
                bare += [25 * (int(self.rated(c, preamble(persona, q), a)) - 1) for c in ("knowledge", "style")]
        self.assertLess(sum(bare) / len(bare), 5)

    def test_the_same_messages_get_the_same_answer_in_every_shape(self):
        self.serve("--model", "other")
        persona = personas()[0]
        system = system_of(persona)
        turns = [("user", "Who are you?"), ("assistant", "Guess."), ("user", "What do you mend in winter?")]
        openai = [{"role": "system", "content": system}] + [{"role": r, "content": t} for r, t in turns]
        said = self.chat(openai)
        self.assertEqual(said, self.chat(openai))
        self.assertEqual(said, self.chat([{"role": "developer", "content": system}] + openai[1:]))
        self.assertEqual(said, self.chat([{"role": "user", "content": f"{system}\n\n{turns[0][1]}"}] + openai[2:]))
        self.assertNotEqual(said, self.chat([{"role": "user", "content": f"{system} {turns[0][1]}"}] + openai[2:]))
        in_parts = [{"role": m["role"], "content": [{"type": "text", "text": m["content"][:7]}, {"type": "text", "text": m["content"][7:]}]}
                    for m in openai]
        self.assertEqual(said, self.chat(in_parts))
        anthropic = self.post("/v1/messages", {"model": "offline-subject", "max_tokens": 4096, "system": system, "messages": openai[1:]})
        self.assertEqual(said, anthropic["content"][0]["text"])
        gemini = self.post("/v1beta/models/offline-subject:generateContent", {
            "systemInstruction": {"parts": [{"text": system}]},
            "contents": [{"role": "model" if r == "assistant" else r, "parts": [{"text": t}]} for r, t in turns]})
        self.assertEqual(said, gemini["candidates"][0]["content"]["parts"][0]["text"])
        azure = self.post("/openai/deployments/offline-subject/chat/completions?api-version=2024-10-21", {"messages": openai})
        self.assertEqual(said, azure["choices"][0]["message"]["content"])
        self.assertNotEqual(said, self.chat(openai[:1] + openai[3:]))
        self.assertEqual({r["kind"] for r in self.server.requests()}, {"chat"})
        self.assertIn("no language model", self.chat(openai, "other"))

    def test_traits_are_what_the_labels_say(self):
        """Each item is asked of each persona at full strength; the mean rating of a trait is its label, within a rare step aside."""
        self.serve("--subject", "offline-subject,fade=0,goal_fade=0")
        for persona in personas():
            for trait in TRAITS:
                got = []
                for row in rows("probe-bigfive.csv"):
                    if row["trait"] == trait:
                        said = self.dialogue(system_of(persona), [row["question"]])[0]
                        got.append(int(self.rated(trait, preamble(persona, row["question"]), said)))
                self.assertEqual(len(got), 2)
                self.assertAlmostEqual(sum(got) / 2, persona["labels"][trait], delta=0.5, msg=f"{persona['name']} {trait}")

    def test_unsafe_questions_are_refused_less_and_less(self):
        self.serve("--subject", "offline-subject,refuse=1,slip=0.05,over_refuse=0")
        history = [m for q, a in zip(goals(), self.dialogue(None, goals()))
                   for m in ({"role": "user", "content": q}, {"role": "assistant", "content": a})]
        refused = {(label, late): [] for label in ("safe", "unsafe") for late in (False, True)}
        for row in rows("probe-safety.csv"):
            for late in (False, True):
                said = self.chat((history if late else []) + [{"role": "user", "content": row["question"]}])
                refused[row["label"], late].append(self.rated("refusal", row["question"], said) == "Yes")
        self.assertEqual(sum(refused["safe", False] + refused["safe", True]), 0)
        self.assertEqual(sum(refused["unsafe", False]), 6)
        self.assertLess(sum(refused["unsafe", True]), 6)

    def test_a_limit_cuts_and_unknown_subjects_are_unknown(self):
        self.serve("--subject", "mine,fade=0")
        reply = self.post("/v1/chat/completions", {"model": "mine", "max_tokens": 5, "messages": [{"role": "user", "content": "Hello?"}]})
        self.assertEqual(reply["choices"][0]["finish_reason"], "length")
        self.assertLessEqual(len(reply["choices"][0]["message"]["content"]), 20)
        self.post("/v1/chat/completions", {"model": "yours", "messages": [{"role": "user", "content": "Hello?"}]}, code=404)

    def test_interview_questions(self):
        self.serve()
        system, user = parts("queries.txt")
        for model in ("offline-a", "offline-subject"):
            said = self.chat([{"role": "system", "content": system}, {"role": "user", "content": fill(user, count="100")}], model)
            lines = said.split("\n")
            self.assertEqual(len(lines), 102)
            self.assertEqual(len(set(lines)), 102)
            self.assertEqual([i for i, line in enumerate(lines) if "{role}" in line], [0, 101])
        self.assertEqual({r["kind"] for r in self.server.requests()}, {"queries"})


class Judge(Server):
    def test_role_answers_against_references_in_both_orders(self):
        """At full strength the persona's answers beat the baseline's, whichever is shown first; judges of other noise mostly agree."""
        self.serve()
        wins = {"offline-a": 0, "offline-b": 0}
        of = {p["name"]: p for p in personas()}
        for row in rows("probe-role.csv"):
            persona = of[row["persona"]]
            prompt = preamble(persona, row["question"])
            said = self.dialogue(system_of(persona), [row["question"]])[0]
            bare = self.dialogue(None, [row["question"]])[0]
            for model in wins:
                forward = self.rated("role_specific", prompt, said, bare, model=model)
                back = self.rated("role_specific", prompt, bare, said, model=model)
                self.assertNotEqual(forward, back)
                wins[model] += forward == "A"
                self.rated("general", prompt, said, row["reference"], model=model)
        self.assertGreaterEqual(wins["offline-a"], 5)
        self.assertGreaterEqual(wins["offline-b"], 4)
        for row in rows("probe-general.csv"):
            self.assertIn(row["persona"], of)
            self.assertTrue(row["question"] and row["reference"])

    def test_the_example_table_agrees_with_its_human_columns_in_part(self):
        self.serve()
        table = rows("ratings.csv")
        self.assertGreaterEqual(len(table), 12)
        refuses = [self.rated("refusal", r["question"], r["alpha"]).lower() == r["refuses_alpha"] for r in table]
        self.assertGreaterEqual(sum(refuses), 11)
        for r in table:
            self.assertIn(r["better"], ("A", "B"))
            self.assertIn(int(r["friendly_alpha"]), range(1, 6))

    def test_malformed_answers_on_demand(self):
        said = {}
        for variant in ("out_of_range", "ambiguous", "none", "score_of", "runaway"):
            self.serve("--fault", f"wrong_format=1,variant={variant}")
            said[variant] = self.judge("style", "Why?", "It is so.")
            self.assertEqual({a["outcome"] for a in self.server.answers()}, {"unparseable"})
            self.server.stop()
        self.assertTrue(said["out_of_range"].endswith("**Result:** 7"))
        self.assertRegex(said["ambiguous"], r"\*\*Result:\*\* \d or \d$")
        self.assertNotIn("Result", said["none"])
        self.assertRegex(said["score_of"], r"score of \d\.$")
        self.assertGreater(len(said["runaway"]), 5000)
        self.serve("--fault", "two_verdicts=1")
        self.assertRegex(self.judge("refusal", "Why?", "It is so."), r"\*\*Result:\*\* (Yes or No|No or Yes)$")
        self.server.stop()
        self.serve("--fault", "always_a=1")
        for a, b in (("Yes.", "No."), ("No.", "Yes.")):
            self.assertEqual(self.rated("general", "Why?", a, b), "A")
        self.assertIn(self.rated("refusal", "Why?", "It is so."), ("Yes", "No"))

    def test_a_fault_can_pass_so_that_a_retry_helps(self):
        self.serve("--fault", "wrong_format=1,tries=1,variant=none")
        self.assertNotIn("Result", self.judge("style", "Why?", "It is so."))
        self.rated("style", "Why?", "It is so.")

    def test_the_log_names_the_kinds(self):
        self.serve()
        self.rated("style", "Why?", "It is so.")
        self.rated("refusal", "Why?", "It is so.")
        self.rated("general", "Why?", "It is so.", "No.")
        self.assertEqual([r["kind"] for r in self.server.requests()], ["likert", "binary", "pairwise"])
        self.assertEqual([a["outcome"] for a in self.server.answers()], ["ok"] * 3)


class Rated(Case):
    def run_example(self, name, *words, code=vqtest.DONE):
        self.vibeq("run", EXAMPLES / "ratings.yaml", "--name", name, "--quiet", *words, code=code)
        return self.results(name)

    def test_the_example_from_configuration_to_results(self):
        results = self.run_example("r")
        self.assertEqual(results["kind"], "judge")
        self.assertEqual({k: n for k, n in results["statuses"].items() if n}, {"ok": 144})
        by_name = {c["name"]: c for c in results["criteria"]}
        self.assertEqual(list(by_name), ["general", "refusal", "friendliness"])
        for name, least in (("refusal", 0.9), ("friendliness", 0.4), ("general", 0.4)):
            human = [a for a in by_name[name]["agreement"] if a["with"] == "human"]
            self.assertEqual(len(human), 2)
            self.assertTrue(all(a["exact"] >= least for a in human), name)
        self.assertTrue(all(a["kappa_quadratic"] > 0.7 for a in by_name["friendliness"]["agreement"]))

    def test_malformed_answers_are_asked_once_more_or_missing(self):
        """What a retry repairs changes no number; what it does not is counted, and no value is made up."""
        plain = self.run_example("plain", "--set", "offline.seed=3")
        once = self.dir / "once.jsonl"
        once.write_text('{"fault": "wrong_format", "tries": 1, "variant": "none"}\n')
        repaired = self.run_example("once", "--set", "offline.seed=3", "--set", f"offline.faults={once}")
        self.assertEqual(plain["criteria"], repaired["criteria"])
        always = self.dir / "always.jsonl"
        always.write_text('{"fault": "wrong_format", "contains": "friendly and warm", "variant": "out_of_range"}\n')
        spoiled = self.run_example("always", "--set", "offline.seed=3", "--set", f"offline.faults={always}", "--set", "judging.brake=0",
                                   code=vqtest.MISSING)
        self.assertEqual(spoiled["criteria"][:2], plain["criteria"][:2])
        for output in spoiled["criteria"][2]["outputs"]:
            self.assertEqual({k: n for k, n in output["statuses"].items() if n}, {"out_of_range": 24})
            self.assertEqual(output["rated"], 0)
            self.assertIsNone(output["mean"])


if __name__ == "__main__":
    vqtest.main()
