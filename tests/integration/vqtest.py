"""What the integration tests share: a scratch folder, real programs from the build, the offline server and its log, data with a
planted truth. Standard library only. Nothing here is a mock."""
import csv
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(os.environ.get("VQ_BIN_DIR", ROOT / "build" / "bin")).resolve()
DONE, INTERNAL, USAGE, MISSING, STOPPED = 0, 1, 2, 3, 4


def words(rng, n):
    kinds = "river stone lamp window garden letter clock bridge paper market song winter table road glass".split()
    return " ".join(rng.choice(kinds) for _ in range(n))


def planted(path, samples, axes, seed=1, preference=True, p=None, repeat_questions=False):
    """Writes data.csv and truth.jsonl for the oracle: sample i is [Si], outputs are marked [A] and [B]. p[v] is the chance that A is
    higher on axis v (default .8, .3, .5 and so on). Returns {(i, axis): +1|-1}."""
    rng = random.Random(seed)
    p = p or [0.8, 0.3, 0.6, 0.5, 0.7, 0.4, 0.55, 0.45, 0.65, 0.35]
    truth = {}
    with open(path / "data.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["question", "alpha", "beta", "topic"] + (["preference"] if preference else []))
        for i in range(samples):
            for v, axis in enumerate(axes):
                truth[i, axis] = 1 if rng.random() < p[v % len(p)] else -1
            prefers = truth[i, axes[0]] if rng.random() < 0.85 else -truth[i, axes[0]]
            prompt = f"[S{i // 2 * 2 if repeat_questions else i}] {words(rng, 8)}?" if not repeat_questions else f"[S{i}] q{i // 2}"
            row = [prompt, f"[A] {words(rng, 25)}, {i}", f"[B] {words(rng, 25)}\n{i}", f"topic {i % 3}"]
            out.writerow(row + (["alpha" if prefers > 0 else "beta"] if preference else []))
    with open(path / "truth.jsonl", "w", encoding="utf-8") as file:
        for (i, axis), score in truth.items():
            file.write(json.dumps({"axis": axis, "sample": f"S{i}", "score": score}) + "\n")
    return truth


def add_rates(path, **rates):
    with open(path / "truth.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps({"rates": rates}) + "\n")


def kept_port():
    """A port that refuses connections until a server of ours takes it, and that nobody else gets meanwhile: bound and not listened at,
    as long as what is returned is open. The server must bind with SO_REUSEADDR (vibeq-offline and Redis do)."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder, holder.getsockname()[1]


def whole_lines(path):
    """The JSON lines of a log so far: who writes it may be in the middle of one, or have none yet."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


class Offline:
    """A vibeq-offline of the test's own, which outlives coordinators and keeps one log."""

    def __init__(self, path, *options, name="offline"):
        self.log_path = path / f"{name}.log"
        with open(path / f"{name}.err", "ab") as err:
            self.process = subprocess.Popen(
                [str(BIN / "vibeq-offline"), "--port", "0", "--log", str(self.log_path), "--parent-death", *map(str, options)],
                stdout=subprocess.PIPE, stderr=err, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"(http://\S+)", line)
        if not found:
            raise RuntimeError(f"vibeq-offline did not start: {line!r} {(path / f'{name}.err').read_text()}")
        self.url = found.group(1)

    def log(self):
        return whole_lines(self.log_path)

    def requests(self):
        return [line for line in self.log() if line.get("event") == "request"]

    def answers(self):
        return [line for line in self.log() if line.get("event") == "answer"]

    def freeze(self):
        """It answers nothing until it thaws: meanwhile no run can come to its end."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def stop(self):
        if self.process.poll() is None:
            self.thaw()
            self.process.terminate()
            self.process.wait(10)
        self.process.stdout.close()


class Case(unittest.TestCase):
    """A test with a scratch folder, kept when it fails and VQ_KEEP is set."""
    maxDiff = 4000

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="vq-test-"))
        self.servers = []
        self.children = []

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
            for pipe in (child.stdout, child.stderr):
                if pipe:
                    pipe.close()
        for server in self.servers:
            server.stop()
        self.kill_strays()
        if os.environ.get("VQ_KEEP"):
            print(f"kept {self.dir}", file=sys.stderr)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def kill_strays(self):
        """Workers outlive a killed coordinator on purpose; not this test."""
        for pid in self.processes_of(str(self.dir)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    @staticmethod
    def processes_of(text, name=None):
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if text in line and (name is None or name in line.split(" ")[0]):
                    found.append(int(entry.name))
        return found

    def workers(self):
        return self.processes_of(str(self.dir), "vibeq-worker")

    def kill_workers(self):
        """How many there were."""
        found = self.workers()
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        return len(found)

    def kill_all(self, child):
        """The coordinator, and its workers, which outlive it."""
        child.kill()
        child.wait()
        self.kill_workers()

    def offline(self, *options, name="offline"):
        server = Offline(self.dir, *options, name=name)
        self.servers.append(server)
        return server

    def environment(self, **more):
        env = dict(os.environ, VIBEQ_RUNS=str(self.dir / "runs"), XDG_STATE_HOME=str(self.dir / "state"), **more)
        env.pop("OPENAI_API_KEY", None)
        env.pop("OPENAI_BASE_URL", None)
        env.update(more)
        return env

    def vibeq(self, *words, code=DONE, timeout=90, env=None, stdin=subprocess.DEVNULL):
        run = subprocess.run([str(BIN / "vibeq"), *map(str, words)], cwd=self.dir, env=self.environment(**(env or {})),
                             stdin=stdin, capture_output=True, text=True, timeout=timeout)
        if code is not None and run.returncode != code:
            self.fail(f"vibeq {' '.join(map(str, words))}: exit {run.returncode}, not {code}\n{run.stdout}\n{run.stderr}\n{self.logs()}")
        return run

    def start(self, *words, env=None):
        out = open(self.dir / "start.out", "ab")
        child = subprocess.Popen([str(BIN / "vibeq"), *map(str, words)], cwd=self.dir, env=self.environment(**(env or {})),
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        out.close()
        self.children.append(child)
        return child

    def join(self, *words, cert="runs/r/join.cert"):
        """A worker as from elsewhere."""
        with open(self.dir / "worker.err", "ab") as err:
            child = subprocess.Popen([str(BIN / "vibeq-worker"), "--join", str(self.dir / cert), *map(str, words)], cwd=self.dir,
                                     env=self.environment(), stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        self.children.append(child)
        return child

    def logs(self):
        text = ""
        for path in sorted(self.dir.glob("runs/*/log")) + sorted(self.dir.glob("runs/*/workers.log")):
            text += f"--- {path}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:]) + "\n"
        out = self.dir / "start.out"
        return text + (out.read_text(errors="replace")[-3000:] if out.exists() else "")

    def log_of(self, event, run="r"):
        """What the run's log says so far."""
        return [line for line in whole_lines(self.dir / "runs" / run / "log") if line.get("event") == event]

    def wait_for(self, what, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.02)
        self.fail(f"waited {seconds} s for {what}\n{self.logs()}")

    def settle(self, count, seconds=1.0):
        """What count() is once it has not changed for so long: what was told takes its time on a busy machine."""
        since, last = time.monotonic(), count()
        while time.monotonic() < since + seconds:
            time.sleep(0.05)
            if (now := count()) != last:
                since, last = time.monotonic(), now
        return last

    def wait_exit(self, child, code, seconds=90):
        try:
            got = child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"still running after {seconds} s\n{self.logs()}")
        if got != code:
            self.fail(f"exit {got}, not {code}\n{self.logs()}")

    def results(self, run):
        return json.loads(self.results_bytes(run))

    def results_bytes(self, run):
        return (self.dir / "runs" / run / "results" / "results.json").read_bytes()

    def page_data(self, run):
        """The JSON that report.html renders: results.json, and beside it what only the page shows."""
        page = (self.dir / "runs" / run / "results" / "report.html").read_text(encoding="utf-8")
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1))

    def accounting(self, run):
        return json.loads((self.dir / "runs" / run / "accounting.json").read_text())["calls"]

    def config(self, axes=("V1", "V2", "V3"), judges=2, url=None, name="config.yaml", models=("alpha", "beta"), **more):
        """A configuration over data.csv; judges are offline-a and offline-b, at `url` under one identity when it is given."""
        lines = ["data: {path: data.csv%s}" % "".join(f", {k[5:]}: {v}" for k, v in more.items() if k.startswith("data_")),
                 f"models: [{', '.join(models)}]", "method: vibes", "vibes:"]
        for axis in axes:
            lines += [f"  - {{name: {axis}, low: low on {axis}, high: high on {axis}}}"]
        lines += ["judges:"]
        for model in ("offline-a", "offline-b")[:judges]:
            lines += [f"  - model: {model}"]
            for key, value in more.get("judge", {}).items():
                lines += [f"    {key}: {value}"]
            if url:
                lines += [f"    base_url: {url}", "    identity: the-test"]
            elif "truth" not in more:
                pass
        if not url and more.get("oracle", True):
            lines += ["offline: {oracle: truth.jsonl}"]
        for key, value in more.items():
            if key not in ("judge", "oracle") and not key.startswith("data_"):
                lines += [f"{key}: {value}"]
        (self.dir / name).write_text("\n".join(lines) + "\n")
        return name

    def status(self, run):
        return json.loads(self.vibeq("status", run, "--json").stdout)

    def settled(self, run):
        got = self.vibeq("status", run, "--json", code=None)
        if got.returncode != 0:
            return 0
        tasks = json.loads(got.stdout).get("tasks", {})
        return sum(n for state, n in tasks.items() if state in ("answered", "not_needed", "failed"))


def main():
    if not (BIN / "vibeq").exists():
        sys.exit(f"no programs in {BIN}: build first, or set VQ_BIN_DIR")
    unittest.main(verbosity=2)
