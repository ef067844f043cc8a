"""What a run of method: persona had to ask, as far as it can be known beforehand: who talks with whom about what, the questions behind the beginnings of
dialogues, by what all of it is rated, from run.yaml and the copies of its inputs (docs/use/persona.md, docs/use/config.md)."""
import yaml

from auditing import texts
from auditing.draws import Draws
from auditing.plan import TEMPLATES, Plan, Unreadable, read_config, reading, template_hash
from auditing.tasks import AS_IS, AS_IS_NUMBER

TRAITS = ("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism")
REFERENCES = ("dataset", "zero", "previous")
KINDS = ("directed", "goal")
ORDERS = ("original", "shuffled")
ROLE = "{role}"
PIECE_COLUMNS, PIECE_BYTES = 1024, 4 << 20  # a long list of questions is several stages
USUAL = {"text": ("text", "question", "prompt", "item", "instruction", "input", "rewritten_en"), "persona": ("persona", "role"),
         "trait": ("trait", "dimension"), "label": ("label",), "reference": ("reference", "generated")}


class Persona:
    def __init__(self, number, name, description, labels):
        self.number, self.name, self.description, self.labels = number, name, description, labels


class Item:
    def __init__(self, number, persona, given):
        self.number, self.persona = number, persona  # None: everybody is asked it
        self.text, self.trait, self.label, self.reference = given["text"], given["trait"], given["label"], given["reference"]
        self.bare = bare(self.text, persona.name) if persona else self.text


class Probe:
    def __init__(self, name, items, criterion, rubrics, references, both):
        self.name, self.items, self.criterion, self.rubrics, self.references, self.both = name, items, criterion, rubrics, references, both
        self.questions = []
        for item in items:
            if item.persona and item.bare not in self.questions:
                self.questions.append(item.bare)
        at = {q: i for i, q in enumerate(self.questions)}
        for item in items:
            item.question = at.get(item.bare) if item.persona else None
        self.kind = rubrics[0].kind if rubrics else None
        self.pairwise = self.kind == "pairwise"

    @property
    def columns(self):
        return len(self.items) + len(self.questions)

    def asked(self, persona):
        """Texts by column, in their order: of a persona (or, None, of the baseline) everybody's and its own."""
        texts_by = {self.column(item, persona is None): item.text if persona else item.bare for item in self.items
                    if persona is None or item.persona in (None, persona)}
        return dict(sorted(texts_by.items()))

    def pieces(self):
        """Ranges of columns: what one stage asks."""
        every = [item.text for item in self.items] + self.questions
        begin = 0
        while begin < len(every):
            end, size = begin, 0
            while end < len(every) and end - begin < PIECE_COLUMNS and size < PIECE_BYTES:
                size += len(every[end].encode())
                end += 1
            yield begin, end
            begin = end

    def column(self, item, baseline):
        return len(self.items) + item.question if baseline and item.persona else item.number


class Rubric:
    def __init__(self, name, shown, kind, text):
        self.name, self.shown, self.kind, self.text = name, shown, kind, text  # `name`: in results
        self.axis = (shown, text, "")


def bare(text, name):
    """A persona's question as the baseline is asked it."""
    text = text.lstrip(texts.BLANK)
    if not text.startswith(name + ","):
        return text
    text = text[len(name) + 1:].lstrip(texts.BLANK)
    return text[:1].upper() + text[1:] if text[:1].isascii() and text[:1].islower() else text


def read_personas(path):
    root = texts.tree(path)
    if isinstance(root, dict) and list(root) == ["personas"] and isinstance(root["personas"], (dict, list)):
        root = root["personas"]
    found = []
    for name, of in root.items() if isinstance(root, dict) else [(None, of) for of in root]:
        of = of if isinstance(of, dict) else {"description": of}
        if (of.get("description") or "").strip(texts.BLANK):
            found.append(Persona(len(found), name if name is not None else of["name"], of["description"], of.get("big_five")))
    return found


def label(personas, root, chosen):
    """What a file of its own says of them, in one of its sets."""
    for persona in personas:
        of = root.get(persona.name)
        if of and isinstance(next(iter(of.values())), dict):
            of = of[chosen] if chosen else next(iter(of.values()))
        persona.labels = of or persona.labels


def read_queries(path, name):
    """(questions, opening, closing); the remarks may be None."""
    low = name.lower()
    if texts.is_table(low):
        rows = texts.table(path, low)
        columns = list(rows[0])
        column = next((c for c in ("question", "query", "prompt", "text") if c in columns), columns[0])
        return [row[column] for row in rows], None, None
    if low.endswith((".json", ".yaml", ".yml")):
        root = texts.tree(path)
        if isinstance(root, list):
            return root, None, None
        return (root.get("questions") or root.get("queries") or [], root.get("opening") or root.get("introductory_remark"),
                root.get("closing") or root.get("concluding_remark"))
    lines = path.read_bytes().decode("utf-8-sig").split("\n")
    return [line.rstrip(" \t\r") for line in lines if line.strip(texts.BLANK)], None, None


def read_items(path, conf, personas):
    """Those of this run's personas, in the order of the file."""
    name, by_name = conf["file"].lower(), {p.name: p for p in personas}
    if name.endswith((".json", ".yaml", ".yml")):
        root = texts.tree(path)
        rows = root.get("questions") or root.get("items") if isinstance(root, dict) else root
    else:
        rows = texts.table(path, name)
    columns = set().union(*(row.keys() for row in rows))
    wanted = {f: conf.get(f) or next((c for c in usual if c in columns), None) for f, usual in USUAL.items()}
    items = []
    for row in rows:
        given = {f: row.get(c) if c else None for f, c in wanted.items()}
        reference = given["reference"]
        if isinstance(reference, str) and reference.startswith("[") and name.endswith((".jsonl", ".ndjson")):
            reference = yaml.load(reference, Loader=yaml.CBaseLoader)
        given["reference"] = reference[0] if isinstance(reference, list) else reference
        for field in ("text", "persona", "trait", "label"):
            given[field] = (given[field] or "").strip(texts.BLANK) or None
        given["trait"], given["label"] = (given[f].lower() if given[f] else None for f in ("trait", "label"))
        if given["persona"] is None or given["persona"] in by_name:
            items.append(Item(len(items), by_name.get(given["persona"]), given))
    return items


class PersonaPlan(Plan):
    labelled, prefer_cells, retest, many, swaps, lazy = True, (), 0, False, True, False
    early_stop, asked_by_data_alone, cascade = False, True, None

    def __init__(self, run_dir, results):
        self.inputs, self.notes = run_dir / "inputs", []
        self.config = config = read_config(run_dir / "run.yaml")
        with reading(run_dir / "run.yaml"):
            self.judging, self.rating, self.talks = config.get("judging") or {}, config.get("rating") or {}, config["dialogues"]
            self._models(config, results)
        self._talks()
        self.probes, self.turn_rubrics = [], []
        self._rubrics()
        self.bases = {}
        for kind, (number, file) in TEMPLATES.items():
            with reading(self.inputs / file):
                shown = template_hash(number, (self.inputs / file).read_bytes())
            self.bases[kind] = [j.base(shown) for j in self.judges]

    def _models(self, config, results):
        self.strict = self.rating.get("policy", "strict") == "strict"
        self.retries = 1 if self.strict else 0
        self.seed = int(config.get("seed", 42))
        self.judges = [self._judge(c, results, i) for i, c in enumerate(config["judges"])]
        self.subjects = [self._judge(c, None, i) for i, c in enumerate(config["subjects"])]
        for subject in self.subjects:
            subject.truncate = subject.structured = subject.logprobs = False
            subject.system_role = subject.conf.get("role", "system")
        template = template_hash(AS_IS_NUMBER, AS_IS)
        self.subject_bases = [s.base(template) for s in self.subjects]

    # ---- dialogues ----

    def _talks(self):
        d = self.talks
        with reading(self.inputs / "personas"):
            self.personas = read_personas(self.inputs / "personas")
            if not self.personas:
                raise ValueError("it has no persona")
        if d.get("labels"):
            with reading(self.inputs / "labels"):
                label(self.personas, texts.tree(self.inputs / "labels"), d.get("label_set"))
        self.askers = [*self.personas, *([None] if d.get("baseline", True) else [])]
        with reading(self.inputs / "persona.txt"):
            template = texts.template_part((self.inputs / "persona.txt").read_bytes(), b"@system").decode()
        self.systems = [[self._system(s.conf, p, template) for p in self.askers] for s in self.subjects]
        lists = []
        for kind in KINDS:
            if d.get(kind):
                with reading(self.inputs / f"queries-{kind}"):
                    lists.append((kind, *read_queries(self.inputs / f"queries-{kind}", d[kind])))
        self.scripts = []
        for kind, questions, opening, closing in lists:
            if kind == "directed":
                if opening is None and len(questions) > 1 and ROLE in questions[0]:
                    opening, questions = questions[0], questions[1:]
                if closing is None and len(questions) > 1 and ROLE in questions[-1]:
                    closing, questions = questions[-1], questions[:-1]
                opening = opening if d.get("opening") is None else d["opening"]
                closing = closing if d.get("closing") is None else d["closing"]
            else:
                opening = closing = None
            self.scripts.append((kind, questions, opening, closing))
        least = min(len(q) + (o is not None) + (c is not None) for _, q, o, c in self.scripts)
        self.rounds = int(d.get("rounds", 0)) or least
        if self.rounds > least:
            raise Unreadable(f"{self.inputs}/queries-*: the shorter list comes to {least} rounds, and {self.rounds} were held")
        self.orders = 2 if d.get("orders", "both") == "both" else 1
        count = int(d.get("checkpoints", 10)) if self.config.get("probes") or d.get("measured") else 0
        self.checkpoints = [i * self.rounds // (count - 1) for i in range(count)] if count > 1 else [0] * count

    @staticmethod
    def _system(conf, persona, template):
        line = [conf["line"]] if conf.get("line") is not None else []
        if persona is None:
            return "".join(line).encode()
        # what is put in is not looked into again
        parts = template.replace("{{name}}", "\0n\0").replace("{{description}}", "\0d\0").split("\0")
        text = "".join({"n": persona.name, "d": persona.description}.get(p, p) if i % 2 else p for i, p in enumerate(parts))
        return "\n\n".join([*line, text]).encode()

    def queries(self, model, persona, script, order):
        """The texts of a dialogue, in the order in which they are asked."""
        kind, questions, opening, closing = self.scripts[script]
        role = persona.name if persona else self.subjects[model].conf.get("called") or self.subjects[model].name
        inner = list(range(self.rounds - (opening is not None) - (closing is not None)))
        if order:
            Draws(self.seed * 1000003 + KINDS.index(kind)).shuffle(inner)
        said = [questions[i] for i in inner]
        said = ([opening.replace(ROLE, role)] if opening is not None else []) + said
        return [q.encode() for q in said + ([closing.replace(ROLE, role)] if closing is not None else [])]

    # ---- what is rated, and by what ----

    def _rubrics(self):
        given = self.config.get("criteria") or []
        listed = [c["name"] for c in given]
        probes = self.config.get("probes") or []
        items = []
        for i, c in enumerate(probes):
            with reading(self.inputs / f"probe-{i + 1}"):
                items.append(read_items(self.inputs / f"probe-{i + 1}", c, self.personas))
                if not items[-1]:
                    raise ValueError("it has no items of this run's personas")
        by = [self._criterion_of(c, of) for c, of in zip(probes, items)]

        def use(name, shown):
            if shown not in listed:
                listed.append(shown)
            i = listed.index(shown)
            if i < len(given) and given[i].get("rubric") is not None:
                return Rubric(name, shown, given[i]["kind"], given[i]["rubric"])
            with reading(self.inputs / f"criterion-{i + 1}.txt"):
                return Rubric(name, shown, *texts.criterion(self.inputs / f"criterion-{i + 1}.txt"))
        self.turn_rubrics = [use(n, n) for n in ([c["name"] for c in given if c["name"] not in by] if given else ["knowledge", "style", "in_character"])]
        for conf, of, criterion in zip(probes, items, by):
            shown = TRAITS if criterion == "trait" else [criterion] if criterion else []
            rubrics = [use(n if criterion == "trait" else conf["name"], n) for n in shown]
            references = [r for r in REFERENCES if r in (conf.get("references") or ["dataset"])]
            self.probes.append(Probe(conf["name"], of, criterion, rubrics, references, self.rating.get("positions", "both") == "both"))

    @staticmethod
    def _criterion_of(conf, items):
        if conf.get("criterion"):
            return conf["criterion"]
        return "trait" if items[0].trait else "refusal" if items[0].label else None
