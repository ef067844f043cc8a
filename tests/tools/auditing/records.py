"""The endpoint's log, the results and the private Redis, as they lie there."""
import csv
import json
import re
import socket
from pathlib import Path

from auditing.plan import reading

CLOCKS_AGREE_MS = 2000


class Endpoint:
    """What the server saw and sent, by call id (docs/use/offline.md, The log). `n` joins the lines of one log."""

    def __init__(self, paths):
        self.calls, self.nameless, self.torn, self.logs = {}, 0, 0, len(paths)
        self.batch_lines = {}  # custom_id -> the lines of batches that were done under it
        self.offset_ms, self.jumped = None, False  # wall clock against the monotonic one
        for path in paths:
            open_calls = {}
            text = Path(path).read_text(errors="replace")
            whole = text[:text.rfind("\n") + 1]
            self.torn += len(text) - len(whole)
            for number, line in enumerate(whole.splitlines(), 1):
                with reading(f"{path}, line {number}"):
                    self._take(json.loads(line), open_calls)

    def _take(self, line, open_calls):
        event = line.get("event")
        offset_ms = line["unix_ms"] - line["mono_ns"] // 1_000_000
        self.offset_ms = offset_ms if self.offset_ms is None else self.offset_ms
        self.jumped = self.jumped or abs(offset_ms - self.offset_ms) > CLOCKS_AGREE_MS
        if event == "request":
            seen = {"request": line, "answer": None, "lost": None}
            open_calls[line["n"]] = seen
            if line.get("call"):
                self.calls.setdefault(line["call"], []).append(seen)
            else:
                self.nameless += 1
        elif event == "batch_line":
            self.batch_lines.setdefault(line["custom_id"], []).append(line)
        elif event in ("answer", "lost") and line["n"] in open_calls:
            open_calls[line["n"]][event] = line

    def paid(self, call):
        return any(seen["answer"] and seen["answer"].get("paid") for seen in self.calls.get(call, ()))

    def paid_in_batches(self, custom_id):
        """How often a request was paid as a line of a batch."""
        return sum(line["paid"] for line in self.batch_lines.get(custom_id, ()))

    def clean(self, call):
        """The one answer of a call that arrived as the server meant it; None: there is none, or it was spoiled."""
        seen = self.calls.get(call, ())
        if len(seen) != 1 or not seen[0]["answer"] or seen[0]["lost"] or seen[0]["answer"].get("fault"):
            return None
        return seen[0]


def read_json(path):
    """None: there is none."""
    try:
        with open(path, encoding="utf-8") as file, reading(path):
            return json.load(file)
    except FileNotFoundError:
        return None


class Results:
    def __init__(self, run_dir):
        run_dir = Path(run_dir)
        self.results = read_json(run_dir / "results/results.json")
        self.accounting = read_json(run_dir / "accounting.json")
        self.status = read_json(run_dir / "status.json")
        method = re.search(rb"(?m)^method: *[\"']?(\w+)", (run_dir / "run.yaml").read_bytes())
        self.method = method.group(1).decode() if method else None
        self.scores = self._table(run_dir / "results/scores.csv")
        self.ratings = self._table(run_dir / "results/ratings.csv")
        if self.results is not None:
            self.results["scores"] = self.scores or []
        self.imported = 0
        for path in sorted(run_dir.glob("log*")):
            for line in path.read_text(errors="replace").splitlines():
                if '"spool.imported"' in line:
                    row = json.loads(line)
                    self.imported += int(row["results"]) - int(row["unknown"])

    @staticmethod
    def _table(path):
        if not path.exists():
            return None
        with reading(path), open(path, newline="", encoding="utf-8") as file:
            return [{k: v or "" for k, v in row.items() if k} for row in csv.DictReader(file)]


class Redis:
    """The run's private server, if one lives; a plain client of our own."""

    def __init__(self, run_dir, name, uid):
        self.alive, self.columns = False, {}
        path = Path(run_dir) / "redis/redis.conf"
        found = re.search(r'^unixsocket "(.*)"$', path.read_text(), re.M) if path.exists() else None
        if not found or not Path(found.group(1)).exists():
            return
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(5)
                s.connect(found.group(1))
                self.file, self.socket = s.makefile("rb"), s
                self._read(f"vibeq:{{{name}.{uid[:8]}}}:")
                self.alive = True
        except OSError:
            self.alive = False

    def _ask(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self._reply()

    def _reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("Redis went away")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self._reply() for _ in range(int(rest))]
        if kind == b"-":
            raise OSError(rest.decode(errors="replace"))
        return int(rest) if kind == b":" else rest

    def _read(self, prefix):
        """All of it in one MULTI, so that nothing moves meanwhile."""
        names = sorted(self._ask("SMEMBERS", prefix + "columns") or [])
        self._ask("MULTI")
        for words in (("GET", prefix + "owner"), ("GET", prefix + "commit"), ("HGETALL", prefix + "tally"), *(("GET", n) for n in names)):
            self._ask(*words)
        owner, commit, tally, *blocks = self._ask("EXEC")
        self.owner = (owner or b"").decode()
        self.stage, self.n = (int(x) for x in commit.decode().split(":")) if commit else (None, None)
        self.tally = {int(k): int(v) for k, v in zip(tally[::2], tally[1::2])}
        for name, block in zip(names, blocks):
            found = re.search(rb":(\d+):(\d+)$", name)
            if found and block is not None:
                self.columns[int(found.group(1)), int(found.group(2))] = block
