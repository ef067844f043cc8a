"""The jobs of rounds: small jobs of four kinds. The expected outcome comes from an undisturbed run (`undisturbed`), made once for all rounds
that draw the same job. Vibes: independent questions in one or two stages. Chat: dialogues of up to 102 turns beside a run. Persona: dialogues,
ratings of their turns, probes after their first turns, ratings of these, stage by stage. Batch: vibes through batches.

A job defines `files` of the run's folder that must be the same, byte for byte; the place of its sums (`account`); the models that answer
(`models`); the least number of calls that follow each other (`chain`); and its commands. Not its job: disturbances (kinds_*.py), the checks
of a round (chaos.py)."""
import fcntl
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from vqtest import BIN, DONE, MISSING, Offline, add_rates, planted  # noqa: E402

AXES = ("V1", "V2", "V3")
SAMPLES = 24
JUDGES = ("offline-a", "offline-b")
PRICE = "price_input_usd: 2, price_output_usd: 8"
TURNS = 102
TURNS_ALIKE = 12


class Undisturbed(Exception):
    """The undisturbed run failed."""


def model_lines(name, models, url, concurrency, keys):
    lines = [f"{name}:"]
    for model in models:  # a model without a URL: its pools have one
        lines += [f"  - model: {model}", "    identity: the-test", *([f"    base_url: {url}", f"    concurrency: {concurrency}"] if url else [])]
        lines += [f"    {key}: {value}" for key, value in (keys or {}).items()]
    return lines


class Work:
    """A job for `vibeq run` and `vibeq resume`."""
    account = "accounting.json"
    chain = 1

    @staticmethod
    def before(_name):
        """[(words after vibeq, exit codes)] of the commands before the disturbance."""
        return []

    @staticmethod
    def first(name, workers, *words):
        return ["run", "config.yaml", "--name", name, "--quiet", "--workers", workers, *words]

    @staticmethod
    def again(name, workers, *words):
        """`workers`: None: the value of the configuration."""
        return ["resume", name, "--quiet", *(() if workers is None else ("--workers", workers)), *words]

    def read(self, run_dir):
        return {name: (run_dir / name).read_bytes() for name in self.files}

    def undisturbed(self, base):
        """({file: its bytes}, calls sent)"""
        folder = Path(base) / "undisturbed"
        folder.mkdir(exist_ok=True)
        path, calls = folder / self.name, folder / f"{self.name}.calls"
        with open(folder / f"{self.name}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not calls.exists():
                shutil.rmtree(path, ignore_errors=True)
                path.mkdir()
                calls.write_text(str(self.run_undisturbed(path)))
            return self.read(path / "runs/r"), int(calls.read_text())

    def run_undisturbed(self, path):
        self.write_data(path)
        server = Offline(path, *self.options(path))
        env = dict(os.environ, XDG_STATE_HOME=str(path / "state"))
        (path / "config.yaml").write_text(self.config(server.url, term_ms=10000))
        asked_before = 0
        for words, codes in [*self.before("r"), (self.first("r", 2), (DONE,))]:
            asked_before = len(server.requests())
            run = subprocess.run([str(w) for w in (BIN / "vibeq", *words, "--runs", path / "runs")], cwd=path, stdin=subprocess.DEVNULL, env=env,
                                 capture_output=True, text=True, timeout=180, check=False)
            if run.returncode not in codes:
                raise Undisturbed(f"the undisturbed run ended with {run.returncode}: {run.stderr}")
        server.stop()
        account = json.loads((path / "runs/r" / self.account).read_text())["calls"]
        asked = server.requests()[asked_before:]
        different = len({x["hash"] for x in asked})
        if {account["sent"], account["first_sends"], different} != {len(asked)} or account["unknown"]:
            raise Undisturbed(f"the undisturbed run does not add up: {account}")
        return len(asked)


class Vibes(Work):
    files = ("results/results.json",)

    def __init__(self, data, stages, lazy, judges, samples=SAMPLES):
        self.data, self.stages, self.lazy, self.models, self.samples = data, stages, lazy, JUDGES[:judges], samples

    @classmethod
    def draw(cls, rng, stages=None, lazy=None, judges=None, samples=SAMPLES):
        drawn = rng.randrange(2), rng.choice((1, 1, 1, 2)), rng.random() < 0.7, rng.choice((1, 2, 2))
        return cls(drawn[0], stages or drawn[1], drawn[2] if lazy is None else lazy, judges or drawn[3], samples)

    @property
    def name(self):
        return f"{self.data}-{'two' if self.stages == 2 else 'one'}-{'lazy' if self.lazy else 'full'}-{'+'.join(self.models)}-{self.samples}"

    @staticmethod
    def options(path):
        return ("--oracle", path / "truth.jsonl")

    def write_data(self, path):
        planted(path, self.samples, AXES, seed=100 + self.data, preference=self.stages == 1)
        rng = random.Random(self.data)
        with open(path / "truth.jsonl", "a", encoding="utf-8") as file:
            for i in range(self.samples):
                file.write(json.dumps({"axis": "preference", "sample": f"S{i}", "score": rng.choice((1, -1))}) + "\n")
        add_rates(path, tie=0.2, error=0.1)

    def config(self, url, term_ms=1000, concurrency=4, judge=None, more=None):
        lines = ["data: {path: data.csv}", "models: [alpha, beta]", "method: vibes", "vibes:"]
        lines += [f"  - {{name: {axis}, low: low on {axis}, high: high on {axis}}}" for axis in AXES]
        lines += model_lines("judges", self.models, url, concurrency, judge)
        lines += [f"preference: {'judge' if self.stages == 2 else 'data'}", f"judging: {{lazy_swap: {'true' if self.lazy else 'false'}}}",
                  f"term_ms: {term_ms}"]
        lines += [f"{key}: {value}" for key, value in (more or {}).items()]
        return "\n".join(lines) + "\n"


class Batch(Vibes):
    """Through batches at the provider. `beside`: the first judge has an interactive pool too, and the second one has no other. What must come
    out is that of single calls."""

    def __init__(self, data, judges, beside=False, samples=16):
        super().__init__(data, 1, False, judges, samples)
        self.models, self.beside = ("judge-a", "judge-b")[:judges], beside

    @classmethod
    def draw(cls, rng, beside=False, judges=None, **_):
        drawn = rng.randrange(2), rng.choice((1, 2))
        return cls(drawn[0], 2 if beside else judges or drawn[1], beside)

    def options(self, path):
        return (*super().options(path), *(word for model in self.models for word in ("--model", model)),
                "--batch", "duration=400ms,reorder=on,errored=0.02,duplicate=0.02")

    def pools(self, url, concurrency):
        batch, single = "batch: {wait_s: 1, poll_s: 1, max_requests: 40}", f"concurrency: {concurrency}"
        of = [(self.models[0], batch), *((model, single if self.beside else batch) for model in self.models[1:])]
        of += [(self.models[0], single)] if self.beside else []
        return f"[{{name: p, base_url: '{url}', models: [{', '.join(f'{{model: {model}, {kind}, {PRICE}}}' for model, kind in of)}]}}]"

    def config(self, url, term_ms=1000, concurrency=4, judge=None, more=None):
        return super().config(None, term_ms, None, judge, {"pools": self.pools(url, concurrency), **(more or {})})

    def undisturbed(self, base):
        single = Vibes(self.data, 1, False, len(self.models), self.samples)
        single.models, single.options = self.models, self.options
        return Work.undisturbed(single, base)


class Chat(Work):
    """Leads the models of a run through dialogues; the run itself has a few calls, is done before, and does not change."""
    files = ("chat/dialogues.jsonl", "results/results.json")
    account = "chat/accounting.json"
    chain = TURNS

    def __init__(self, models):
        self.models, self.turns = JUDGES[:models], ((TURNS, TURNS, 40, 9), (TURNS, 60, 30))[models - 1]

    @classmethod
    def draw(cls, rng, judges=None, **_):
        drawn = rng.choice((1, 2))
        return cls(judges or drawn)

    @property
    def name(self):
        return f"chat-{len(self.models)}"

    def options(self, _):
        return [word for model in self.models for word in ("--subject", f"{model},fade=0.01,goal_fade=0.02")]

    def write_data(self, path):
        planted(path, 3, ("V1",))
        asks = ("Question {0}: what do you make of number {1}?", "Add {1} to {0}, and say how.", "Tell me of day {0} of your life.")
        with open(path / "chains.jsonl", "w", encoding="utf-8") as file:
            for i, turns in enumerate(self.turns):  # the third begins like the first
                system = {"system": f"You are embodying the role of Number {i % 2}. You are boastful. You are patient. You keep {i % 2 + 2} goats."}
                queries = [asks[k % len(asks)].format(k, k * k if k < TURNS_ALIKE or i < 2 else k) for k in range(turns)]
                file.write(json.dumps({"queries": queries, **(system if i < 3 else {})}) + "\n")

    def config(self, url, term_ms=1000, concurrency=4, judge=None, more=None):
        lines = ["data: {path: data.csv}", "models: [alpha, beta]", "method: vibes", "vibes: [{name: V1, low: low, high: high}]", "judging: {}"]
        lines += [*model_lines("judges", self.models, url, concurrency, judge), f"term_ms: {term_ms}"]
        lines += [f"{key}: {value}" for key, value in (more or {}).items()]
        return "\n".join(lines) + "\n"

    @staticmethod
    def before(name):
        return [(["run", "config.yaml", "--name", name, "--quiet"], (DONE, MISSING))]  # these models chat, and give no verdicts

    @staticmethod
    def first(name, workers, *words):
        return Chat.again(name, workers, *words)

    @staticmethod
    def again(name, workers, *words):
        return ["chat", name, "--chains", "chains.jsonl", "--quiet", *(() if workers is None else ("--set", f"workers={workers}")), *words]


class Persona(Work):
    files = ("results/dialogues.jsonl", "results/ratings.csv", "results/results.json", "results/report.html")
    models = ("offline-subject", "offline-a")
    shapes = {"long": (1, ("directed",), "original", 60, "[in_character]", "[dataset, zero, previous]"),
              "wide": (2, ("directed", "goal"), "original", 12, "[style]", "[dataset, zero, previous]"),
              "both": (1, ("goal",), "both", 20, "[knowledge]", "[dataset, zero, previous]"),
              "talks": (2, ("directed",), "both", 16, "[knowledge]", "[dataset]")}  # their first turns are equal in both orders

    def __init__(self, shape):
        self.name = f"persona-{shape}"
        self.personas, self.kinds, self.orders, self.rounds, self.criteria, self.references = self.shapes[shape]
        self.chain = self.rounds + 4

    @classmethod
    def draw(cls, rng, **_):
        return cls(rng.choice(list(cls.shapes)))

    @staticmethod
    def options(_):
        return ("--subject", "offline-subject,fade=0.01,goal_fade=0.03")

    def write_data(self, path):
        people = (ROOT / "examples/personas-two.yaml").read_text(encoding="utf-8").split("- name:")
        (path / "personas.yaml").write_text("- name:".join(people[:1 + self.personas]), encoding="utf-8")
        questions = [f"Tell me, what happened to you on day {k} of the voyage?" for k in range(self.rounds - 2)]
        lines = ['opening: "Welcome, {role}."', "questions:", *(f'- "{q}"' for q in questions), 'closing: "Thank you, {role}."']
        (path / "interview.yaml").write_text("\n".join(lines) + "\n")
        (path / "goals.txt").write_text("".join(f"Add {k} to {k * k}, and say how.\n" for k in range(self.rounds)))
        for name in ("probe-bigfive.csv", "probe-role.csv", "probe-safety.csv"):
            shutil.copy(ROOT / "examples" / name, path)
            rows = (path / name).read_text(encoding="utf-8").splitlines(keepends=True)
            (path / name).write_text("".join(rows[:5]), encoding="utf-8")

    def config(self, url, term_ms=1000, concurrency=4, judge=None, more=None):
        files = {"directed": "interview.yaml", "goal": "goals.txt"}
        lines = ["method: persona", *model_lines("subjects", self.models[:1], url, concurrency, judge),
                 *model_lines("judges", self.models[1:], url, concurrency, judge), "judging: {}",
                 "dialogues:", "  personas: personas.yaml", *(f"  {kind}: {files[kind]}" for kind in self.kinds), f"  orders: {self.orders}",
                 f"  rounds: {self.rounds}", "  checkpoints: 3", f"criteria: {self.criteria}", "probes:", "- {file: probe-bigfive.csv, name: bigfive}",
                 "- {file: probe-role.csv, name: role, criterion: role_specific, references: " + self.references + "}", f"term_ms: {term_ms}"]
        lines += [f"{key}: {value}" for key, value in (more or {}).items()]
        return "\n".join(lines) + "\n"


KINDS = {"vibes": Vibes, "chat": Chat, "persona": Persona}
