"""What a run had to ask, worked out anew from run.yaml and the copies of its inputs: samples x judges x vibes x orders, each with the
hash of its request, its first order and whether it is audited (proto/PROTOCOL.md, docs/develop/store.md, docs/use/config.md)."""
import contextlib
import csv
import hashlib
import io
import json
import struct
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
RETEST_REPEAT = 64
TEMPLATES = {"likert": (16, "likert.txt"), "binary": (17, "binary.txt"), "pairwise": (18, "pairwise.txt")}  # of ratings, with their numbers in hashes
ROLES = {"developer": "developer-1", "none": "no-system-1"}
JUDGE, REPAIR, PREFERENCE = 0, 1, 2  # numbers of templates in hashes


class Unknown(Exception):
    """This kind of run cannot be planned from its inputs alone."""


class Unreadable(Exception):
    """A file is missing, or is not what it should be."""


@contextlib.contextmanager
def reading(path):
    try:
        yield
    except Unreadable:
        raise
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, csv.Error, yaml.YAMLError) as why:
        text = f"it has no {why}" if isinstance(why, KeyError) else why.strerror if isinstance(why, OSError) else f"{type(why).__name__}: {why}"
        text = " ".join(text.split())
        raise Unreadable(f"{path}: {text}") from why


def read_config(path):
    with reading(path):
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        if not isinstance(config, dict) or not config.get("judges"):
            raise ValueError("it is no configuration")
        return config


# ---- hashes ----

class Hasher:
    def __init__(self, domain):
        self.h = hashlib.blake2b(domain.encode().ljust(16, b"\0"), digest_size=32)

    def bytes(self, data):
        self.h.update(data)
        return self

    def u64(self, n):
        return self.bytes(struct.pack(">Q", n))

    def field(self, data):
        data = data.encode() if isinstance(data, str) else data
        return self.u64(len(data)).bytes(data)

    def axis(self, axis):
        return self.field(axis[0]).field(axis[1]).field(axis[2])

    def done(self):
        return self.h.digest()


def template_hash(kind, text):
    text = text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    parts, part = {b"@system": [], b"@user": []}, None
    for line in text.split(b"\n"):
        if line.rstrip(b" \t") in parts and not (part == b"@user"):
            part = line.rstrip(b" \t")
        elif part is not None:
            parts[part].append(line)
    h = Hasher("vq.template").u64(kind)
    for name in (b"@system", b"@user"):
        h.field(b"\n".join(parts[name]).strip(b" \t\n"))
    return h.done()


class Judge:
    def __init__(self, conf, identity, truncate, structured, logprobs):
        self.name, self.model, self.identity = conf.get("name", conf["model"]), conf["model"], identity
        self.conf, self.truncate, self.structured, self.logprobs = conf, truncate, structured, logprobs
        self.system_role = conf.get("system_role", "system")

    def base(self, template):
        c = self.conf
        send, seed = bool(c.get("send_temperature", True)), int(c.get("seed", -1))
        temperature = float(c.get("temperature", 0)) or 0.0
        h = Hasher("vq.asker").field(self.identity).field(c.get("dialect", "openai")).field(self.model).u64(send)
        h.bytes(struct.pack(">d", temperature) if send else bytes(8)).u64(int(c.get("max_tokens", 600)))
        h.field(c.get("max_tokens_field", "max_tokens")).u64(seed >= 0).u64(max(seed, 0)).u64(self.truncate).bytes(template)
        if self.structured:
            h.field("structured-1")
        if self.logprobs:
            h.field("logprobs-1")
        if self.system_role in ROLES:
            h.field(ROLES[self.system_role])
        if c.get("answer_field"):
            h.field("answer-field-1").field(c["answer_field"])
        return h.done()


class Sample:
    def __init__(self, record, file, prompt, a, b):
        self.record, self.file, self.prompt, self.a, self.b = record, file, prompt, a, b
        self.flipped = b < a
        low, high = (b, a) if self.flipped else (a, b)
        self.id = Hasher("vq.sample").field(prompt).field(low).field(high).done()

    def draw(self, domain, judge, axis=None):
        h = Hasher(domain).bytes(self.id).field(judge.identity).field(judge.model)
        return (h.axis(axis) if axis else h).done()

    def first_order(self, judge):
        return self.draw("vq.first-order", judge)[0] & 1 ^ self.flipped

    def drawn(self, domain, judge, axis, share):
        return (int.from_bytes(self.draw(domain, judge, axis)[:8], "big") >> 11) * 2.0 ** -53 < share

    def request(self, base, axis, order, repeat):
        h = Hasher("vq.request").bytes(base).bytes(self.id).u64(order ^ self.flipped).u64(repeat).axis(axis).done()
        return self.id[:8] + h[8:]


def repair_request(base, of, answer):
    return of[:8] + Hasher("vq.repair").bytes(base).bytes(of).field(answer).done()[8:]


NO_REQUEST = bytes(32)


def shared_repair(base, answer):
    """Equal texts are repaired once: under this key the store has the answer to the first repair of `answer`."""
    return repair_request(base, NO_REQUEST, answer)


def is_shared_repair(request):
    return request[:8] == NO_REQUEST[:8]


# ---- data ----

def read_table(path, name, form):
    data = path.read_bytes()
    if form == "jsonl" or form == "auto" and name.endswith((".jsonl", ".ndjson", ".json")):
        rows = [json.loads(line) for line in data.decode().splitlines() if line.strip()]
        return [{k: v if isinstance(v, str) else "" if v is None else json.dumps(v) for k, v in row.items()} for row in rows]
    text = data.decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def lcs(a, b):
    """Length of the longest common subsequence, a bit a code point."""
    masks = {}
    for i, point in enumerate(a):
        masks[point] = masks.get(point, 0) | 1 << i
    full = (1 << len(a)) - 1
    v = full
    for point in b:
        u = v & masks.get(point, 0)
        v = (v + u | v - u) & full
    return len(a) - bin(v).count("1")


def alike(a, b, percent):
    total = len(a) + len(b)
    return total == 0 or (400 * lcs(a, b) + total) // (2 * total) >= percent


def choose(config, tables):
    """The samples that the data's own rules leave; those that a seed draws are not drawn again here."""
    data = config["data"]
    if any(int(data.get(k, 0)) for k in ("limit", "num_train_max", "num_test_max")):
        raise Unknown("its rows were drawn by a seed (limit, num_train_max, num_test_max)")
    a, b = config["models"]
    samples, seen = [], set()
    for file, rows in enumerate(tables):
        columns = rows[0].keys() if rows else ()
        prompt = data.get("prompt") or ("question" if "question" in columns else "prompt")
        label = data.get("preference") or "preference"
        for record, row in enumerate(rows, 1):
            pair = (row[a], row[b], file)
            if pair in seen:
                continue
            seen.add(pair)
            sample = Sample(record, file, row[prompt].encode(), row[a].encode(), row[b].encode())
            sample.label = (row.get(label) or "").strip()
            sample.tie = sample.label.lower() in ("equal", "tie", "n/a")
            samples.append(sample)
    if len(tables) > 1:
        test = {s.prompt for s in samples if s.file == 1}
        train = [s for s in samples if s.file == 0]
        shared = [s for s in train if s.prompt in test]
        if len(train) - len(shared) >= 0.25 * len(train):
            samples = [s for s in samples if s.file == 1 or s.prompt not in test]
    percent = int(data.get("near_duplicate", 80))
    samples = [s for s in samples if s.a != s.b and not (percent and alike(s.a.decode(), s.b.decode(), percent))]
    if data.get("ties") == "drop_all":
        samples = [s for s in samples if not s.tie]
    return samples


# ---- the plan ----

class Cell:
    """One sample, judge and vibe: two orders, each a request for every repeat."""

    def __init__(self, plan, sample, judge, axis, vibe):
        self.sample, self.judge, self.axis, self.vibe = sample, judge, axis, vibe
        self.first = sample.first_order(judge) if plan.swaps else 0
        self.lazy = plan.lazy
        self.audited = plan.lazy and sample.drawn("vq.audit", judge, axis, plan.audit_share)
        self.base, self.repair_base = plan.bases[judge.name], plan.repair_bases.get(judge.name)

    def request(self, order, repeat):
        return self.sample.request(self.base, self.axis, order, repeat)

    def name(self, order):
        return f"record {self.sample.record} x {self.judge.name} x {self.axis[0]} x order {order}"


class Plan:
    def __init__(self, run_dir, results):
        run_dir = Path(run_dir)
        self.config = config = read_config(run_dir / "run.yaml")
        self.judging = judging = config.get("judging") or {}
        self.retries = 0
        self.rule = judging.get("pair_rule", "strict")
        self.swaps = self.rule != "forward"
        self.many = int(judging.get("vibes_per_call", 1)) > 1
        self.lazy = bool(judging.get("lazy_swap", self.rule == "strict" and not self.many)) and self.swaps
        self.audit_share = float(judging.get("audit_share", 0.1))
        self.retest = float(judging.get("retest", 0))
        self.early_stop = str(judging.get("early_stop", "off")).lower() not in ("off", "false")
        self.method = config.get("method", "preset")
        self.cascade = config.get("cascade")
        self.asked_by_data_alone = self.method in ("vibes", "preset") and not self.many and not self.early_stop and not self.cascade
        self.notes = []
        inputs = run_dir / "inputs"
        self.judges = [self._judge(conf, results, i) for i, conf in enumerate(config["judges"])]
        judge_template = template_hash(JUDGE, (inputs / "judge.txt").read_bytes())
        self.bases = {j.name: j.base(judge_template) for j in self.judges}
        self.repair_bases = {}
        if judging.get("repair", True):
            repair = template_hash(REPAIR, (inputs / "repair.txt").read_bytes())
            self.repair_bases = {j.name: j.base(repair) for j in self.judges}
        self.axes = self._axes(results)
        self.samples = self._samples(inputs, results)
        self.labelled = any(s.label for s in self.samples)
        self.cells = [Cell(self, s, j, axis, v + 1) for s in self.samples for v, axis in enumerate(self.axes) for j in self.judges]

    def _judge(self, conf, results, i):
        if conf.get("identity"):
            identity = str(conf["identity"])
        elif conf.get("base_url"):
            identity = conf["base_url"].split("://", 1)[-1].rstrip("/")
            if conf.get("api_version"):
                identity += f"?api-version={conf['api_version']}"
        elif str(conf["model"]).startswith("offline-"):
            identity = self._built_in()
        elif results:
            identity = results["judges"][i]["provider"]  # of its pools
        else:
            pools = {p.get("identity") or p["base_url"].split("://", 1)[-1].rstrip("/") for p in self.config.get("pools", [])}
            identity = pools.pop() if len(pools) == 1 else ""
        return Judge(conf, identity, bool(self.judging.get("truncate", False)), bool(self.judging.get("structured", False)),
                     bool(self.judging.get("logprobs", False)))

    def _built_in(self):
        offline = self.config.get("offline") or {}
        text = f"offline/{offline.get('seed', 1)}"
        for key in ("oracle", "faults"):
            if offline.get(key):
                text += "/" + Hasher("vq-offline-file").bytes(Path(offline[key]).read_bytes()).done()[:8].hex()
        return text + (f"/{offline['subject']}" if offline.get("subject") else "")

    def _axes(self, results):
        if self.config.get("vibes"):
            return [(v["name"], v["low"], v["high"]) for v in self.config["vibes"]]
        if self.method == "preset":
            presets = yaml.load((ROOT / "prompts/preset-vibes.yaml").read_text(), Loader=yaml.CSafeLoader)
            return [(v["name"], v["low"], v["high"]) for v in presets]
        if results is None:
            raise Unknown("its vibes are discovered, and there are no results yet that name them")
        self.notes.append("vibes as the results name them")
        return [(v["name"], v["low"], v["high"]) for v in sorted(results["vibes"], key=lambda v: v["id"])]

    def _samples(self, inputs, results):
        data = self.config["data"]
        tables = [read_table(inputs / "data", data["path"], data.get("format", "auto"))]
        if data.get("test_path"):
            tables.append(read_table(inputs / "test", data["test_path"], data.get("format", "auto")))
        try:
            return choose(self.config, tables)
        except Unknown as why:
            if results is None:
                raise
            self.notes.append(f"rows as the results name them: {why}")
            wanted = {(int(r["record"]), int(r["file"])) for r in results["scores"]}
            self.config["data"] = dict(data, limit=0, num_train_max=0, num_test_max=0)
            return [s for s in choose(self.config, tables) if (s.record, s.file) in wanted]
