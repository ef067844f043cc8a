"""One round of chaos: a small run of real programs that is disturbed, continued until it is done, and then checked.

A kind is a function `kind_NAME(r)` in a file `kinds_*.py` of this folder, with a docstring of one line. It gets a fresh Round:

    def kind_worker(r):
        "a worker is killed"
        r.work = work.Chat                # the job (work.py); not set: vibes
        r.set_up(workers=4)               # data, endpoint, configuration; values that are not given are drawn from r.rng
        r.start()                         # `vibeq run`; r.coord is its Popen
        r.some_time()                     # waits for a random moment of the run
        r.kill_worker(r.rng.choice(r.workers()))

When it returns, the round is finished (or the kind calls r.finish() itself): the run is resumed until it is done, then checked. A kind that
leaves the run without a coordinator sets r.coord = None (kill_coordinator does). A kind reports its disturbances with these calls:

    r.allow(repeats=N, why="...")         # calls that may have been sent twice, besides those of killed workers
    r.blame(pid)                          # calls of this worker may be repeated (done by kill_worker, stop_worker)
    r.fault() / r.healed()                # mark the beginning and the end of a fault, for the recovery time (done by all helpers)
    r.met(condition)                      # the disturbance affected something, if r.fault() cannot know: it counts while the run is active
    r.unknown_max = 0                     # the most calls that may count as unknown; None: the bound of the repeats
    r.fail("...")                         # a violation; every exception is one, too
    r.expect_codes.add(STOPPED)           # exits of the coordinator after which it is resumed

More: r.dir, r.run_dir, r.rng, r.server (Endpoint: url, requests(), answers()), r.env (of all programs), r.launch(words, **popen) for any
child, r.workers() / r.redis() / r.processes(name) for living pids, r.join(...) for workers on other machines, r.resume(*words),
r.shared_redis(), r.wait_for(what, condition), r.progress() (0 to 1), r.cleanups (functions called at the end), r.skip("why") (the round
is not possible on this machine; this is reported). `set_up(url=...)` gives the judges another URL than r.server.url, `runner=[...]` puts
words before `vibeq` (ip netns exec ...).

A kind whose rounds all affected nothing proves nothing and is a failure ("missed"); `kind_NAME.control = True` marks a kind without a
disturbance.

Every round must pass these checks, after any disturbance:
 - its output (results.json; dialogues, ratings, the page) is, byte for byte, that of an undisturbed run of the same job (work.py);
 - every request in the endpoint's own log is in the ledger; the sums of the accounting are right; no call is still open;
 - of the calls of one question all except one belong to workers that were killed or suspended (calls of living workers are not repeated);
   repeats are at most the slots of these workers, and each is listed as unknown or as paid but unused;
 - no judge ever had more calls in flight than its limit, by the endpoint's log;
 - no program ended by a signal that was not sent, with an assertion, or with a sanitizer's report;
 - the audit passes;
 - after the disturbance, work continues within a term and RECOVERY_SECONDS_MAX (a limit of liveness, not of speed; longer on a crowded
   machine), until the end.
The round's process is a subreaper: all processes that it started, directly or indirectly, are its descendants and known by pid."""
import collections
import contextlib
import ctypes
import importlib.machinery
import importlib.util
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "tests" / "tools")]
from vqtest import BIN, DONE, MISSING, STOPPED, USAGE, Offline  # noqa: E402,F401 pylint: disable=unused-import
from auditing import spool  # noqa: E402
import work  # noqa: E402
import lmdb  # noqa: E402

ROUND_SECONDS_MAX = 120
EXIT_SECONDS_MAX = 60
RECOVERY_SECONDS_MAX = 15  # after the term: processes and connections start again, each after a pause of at most a few seconds
LATENESS_TIMES = 10  # the number of times during the recovery that a process waits for a slow machine
HARMFUL = ("LD_PRELOAD", "VIBEQ_FAULT", "VIBEQ_FAULT_LOG", "VIBEQ_CRASH_AT", "VIBEQ_CRASH_LOG")  # variables
AUDIT = ROOT / "tests" / "tools" / "audit"
PR_SET_CHILD_SUBREAPER = 36


def load_audit():
    loader = importlib.machinery.SourceFileLoader("audit_tool", str(AUDIT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("audit_tool", loader))
    loader.exec_module(module)
    return module


audit_tool = load_audit()
REDIS = shutil.which("redis-server") or shutil.which("redis-check-rdb")  # one binary, whose name selects the program
FAKETIME = "/usr/lib/{}-linux-gnu/faketime/libfaketimeMT.so.1"


def faketime_library():
    """None where it is not installed."""
    return next((path for path in map(FAKETIME.format, ("x86_64", "aarch64")) if os.path.exists(path)), None)


class Violation(Exception):
    """A check of the round failed."""


class Skip(Exception):
    """This round is not possible on this machine."""


class Endpoint(Offline):
    """The offline server; each reading of its log continues after the last one."""

    def __init__(self, *words, **more):
        super().__init__(*words, **more)
        self._at, self._lines = 0, []

    def forget(self):
        """The calls so far do not belong to the disturbed part; the log has them."""
        self.log()
        self._lines = []

    def batch_lines(self):
        """The calls that were carried out as lines of a batch."""
        return [line for line in self.log() if line["event"] == "batch_line"]

    def log(self):
        with open(self.log_path, "rb") as file:
            file.seek(self._at)
            data = file.read()
        data = data[:data.rfind(b"\n") + 1]
        self._at += len(data)
        self._lines += [json.loads(line) for line in data.splitlines()]
        return self._lines


def become_subreaper():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in map(int, file.read().split()):
                    found += [child, *descendants(child)]
    except OSError:
        pass
    return found


def argv_of(pid):
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def is_zombie(pid):
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class Lateness:
    """The longest delay of this process after short sleeps; the programs of the round have it, too."""

    def __init__(self):
        self.most_ms = 0
        threading.Thread(target=self.measure, daemon=True).start()

    def measure(self):
        while True:
            began = time.monotonic()
            time.sleep(0.02)
            self.most_ms = max(self.most_ms, (time.monotonic() - began) * 1000 - 20)


def crowded():
    """The factor for terms and deadlines on this machine, because processes wait for the processor."""
    return min(4.0, max(1.0, os.getloadavg()[0] / (4 * os.cpu_count())))


class Round:
    def __init__(self, kind, seed, base):
        self.kind, self.seed, self.base = kind, seed, Path(base)
        self.rng = random.Random(f"{kind} {seed}")
        self.dir = Path(tempfile.mkdtemp(prefix=f"{kind}-{seed}-", dir=base))
        self.runs = self.dir / "runs"
        self.name = "r"
        self.server = self.coord = self.job = None
        self.work = work.Vibes
        self.children, self.cleanups = [], []
        self.expect_codes = {DONE}
        self.runner = []
        self.allowed, self.whys, self.unknown_max, self.unlisted_max = 0, [], None, 0
        self.worker_codes = {0, 4}  # of local workers
        self.unseen_ends = ()  # ways a call may end that the endpoint never saw
        self.blamed, self.unmapped = set(), 0  # call id prefixes of processes that were killed or suspended
        self.disturbances, self.between = [], False  # for the audit: tests/tools/auditing/disturbed.py
        self.fault_ns = self.healed_ns = self.done_ns = 0
        self.begun = self.hit = False
        self.lateness = Lateness()
        self.others = []  # folders of the run that this one is a copy of
        self.finished = False
        self.figures = {}
        self.env = dict(os.environ, VIBEQ_RUNS=str(self.runs), XDG_STATE_HOME=str(self.dir / "state"))
        self.env.pop("OPENAI_API_KEY", None)
        self.env.pop("OPENAI_BASE_URL", None)

    # ---- setting up ----

    def set_up(self, workers=None, term_ms=None, concurrency=None, latency=None, offline=(), url=None, judge=None, more=None, runner=(), **job):
        """`offline`: more options of the endpoint; `judge`: more keys of each model; `more`: more keys of the configuration; `job`: of what is
        asked (work.py), where it has that."""
        draw = self.rng
        self.job = self.work.draw(draw, **job)
        drawn = (draw.randint(1, 4), draw.choice((600, 800, 1000)), draw.randint(3, 8), draw.choice(("uniform:5ms:20ms", "uniform:10ms:30ms")))
        self.workers_n = drawn[0] if workers is None else workers
        self.term_ms, self.concurrency, self.latency = int((term_ms or drawn[1]) * crowded()), concurrency or drawn[2], latency or drawn[3]
        self.expected, self.calls = self.job.undisturbed(self.base)
        self.job.write_data(self.dir)
        self.server = Endpoint(self.dir, *self.job.options(self.dir), "--latency", self.latency, *offline)
        (self.dir / "config.yaml").write_text(self.job.config(url or self.server.url, self.term_ms, self.concurrency, judge, more))
        self.runner = list(runner)

    @property
    def run_dir(self):
        return self.runs / self.name

    @property
    def slots(self):
        """Calls in flight at most, over all workers."""
        return self.concurrency * len(self.job.models)

    @property
    def seconds(self):
        """The approximate time of the calls without a disturbance."""
        low, high = (int(x.rstrip("ms")) for x in self.latency.split(":")[1:])
        return max(self.calls / self.slots, self.job.chain) * (low + high) / 2000

    # ---- processes ----

    def launch(self, words, err="start.out", **more):
        with open(self.dir / err, "ab") as out:
            child = subprocess.Popen([str(w) for w in words], cwd=self.dir, env=more.pop("env", self.env), stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=out, **more)
        self.children.append(child)
        return child

    def vibeq(self, *words):
        return [*self.runner, BIN / "vibeq", *words]

    def start(self, *words):
        for before, codes in self.job.before(self.name) if not self.run_dir.exists() else ():
            calm = {name: value for name, value in self.env.items() if name not in HARMFUL}
            code = self.launch(self.vibeq(*before), env=calm).wait(EXIT_SECONDS_MAX * crowded())
            if code not in codes:
                self.fail(f"what comes before anything is disturbed ended with {code}")
            self.server.forget()
        self.coord = self.launch(self.vibeq(*self.job.first(self.name, self.workers_n, *words)))
        self.begun = True
        return self.coord

    def resume(self, *words):
        """Acts like a person: resumes the run, or starts it if it does not exist."""
        self.healed()
        if not self.run_dir.exists():
            return self.start(*words)
        self.coord = self.launch(self.vibeq(*self.job.again(self.name, self.workers_n, *words)))
        return self.coord

    def copy_of(self, runs):
        """Continues with the run in this copy of the runs folder; the calls of the other run and its workers count as foreign."""
        self.others.append(self.run_dir)
        self.runs = runs
        self.env["VIBEQ_RUNS"] = str(runs)

    def join(self, *words, err="worker.err", **more):
        """A worker on another machine."""
        return self.launch([BIN / "vibeq-worker", "--join", self.run_dir / "join.cert", *words], err=err, **more)

    def processes(self, name):
        """Living descendants by the name of their program."""
        return [pid for pid in descendants(os.getpid()) if os.path.basename((argv_of(pid) or [""])[0].split(" ")[0]) == name
                and not is_zombie(pid)]

    def workers(self):
        return sorted(self.processes("vibeq-worker"))

    def redis(self):
        return [pid for pid in descendants(os.getpid()) if (argv_of(pid) or [""])[0].startswith("redis-server") and not is_zombie(pid)]

    def send(self, pid, signum):
        try:
            os.kill(pid, signum)
        except ProcessLookupError:
            return False
        return True

    def prefixes_of(self, pid):
        """The prefix of its call ids, by its open spool (ids of one process begin alike)."""
        data = b""
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                path = os.readlink(f"/proc/{pid}/fd/{fd}")
                if "/spool/" in path:
                    data += Path(path).read_bytes()
        except OSError:
            pass
        known = {x["call"][:16] for x in self.server.requests() if x["call"]}
        return {p for p in known if bytes.fromhex(p) in data}

    def unreturned(self, pid):
        """The number of answers in its open spool that are not committed."""
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                path = os.readlink(f"/proc/{pid}/fd/{fd}")
                if path.endswith("/spool"):
                    return len(spool.read(path, (self.run_dir / "uid").read_text().strip())[0])
        except (OSError, spool.Damaged):  # it is being written
            pass
        return 0

    def blame(self, pid, how="any"):
        """Calls of this worker may be repeated: it will be killed ("killed"), suspended or unreachable for longer than a term ("silent"; the fault
        has just begun, or is about to), or it is disturbed in a way without such a moment ("any")."""
        began = time.monotonic_ns()
        if how == "silent" and self.fault_ns:
            began = min(began, self.fault_ns)
        words = argv_of(pid)
        found = self.prefixes_of(pid)
        self.blamed |= found
        self.unmapped += 0 if found else 1  # no call of it is noted, but one may be starting
        self.disturbances += [{"calls": prefix, "how": how, "mono_ns": began, "collected": "--local" in words} for prefix in found or (None,)]
        return found

    def kill_worker(self, pid, signum=signal.SIGKILL):
        """At most three in a round: a task whose worker is lost a fourth time fails, by the rules."""
        self.fault()
        self.blame(pid, "killed")
        far = "--local" not in argv_of(pid)  # no process reads its spool: after a term all its tasks are leased again
        self.allow(self.slots + (self.unreturned(pid) if far else 0), "worker killed")
        return self.send(pid, signum)

    def kill_coordinator(self):
        self.fault()
        self.coord.kill()
        self.coord.wait()
        self.coord = None

    def kill_redis(self):
        found = self.redis()
        self.fault(bool(found))
        return [pid for pid in found if self.send(pid, signal.SIGKILL)]

    # ---- time ----

    def wait_for(self, what, condition, seconds=60, pause=0.01):
        deadline = time.monotonic() + seconds * crowded()
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(pause)
        self.fail(f"waited {seconds} s for {what}")

    def progress(self):
        return min(1.0, len(self.server.requests()) / self.calls)

    def is_over(self):
        return self.coord is not None and self.coord.poll() is not None

    def some_time(self, least=0.0, most=0.95):
        """Waits for a random moment: a time after the start, or until a random share of the calls was sent, or until all were sent."""
        how = self.rng.random()
        if how < 0.12 and most > 0.9:
            self.wait_for("the end of the calls", lambda: self.is_over() or self.progress() >= 1, pause=0.004)
            time.sleep(self.rng.uniform(0, 0.25))
        elif how < 0.45:
            time.sleep(self.rng.uniform(least, most) * (0.35 + self.seconds))
        else:
            share = self.rng.uniform(least, most)
            self.wait_for("progress", lambda: self.is_over() or self.progress() >= share, pause=0.004)

    def some_work(self, least=0.05, most=0.9):
        """The same, after the first call."""
        share = self.rng.uniform(least, most)
        self.wait_for("progress", lambda: self.is_over() or self.progress() >= share, pause=0.004)

    def within_lease(self):
        time.sleep(self.rng.uniform(0, self.term_ms / 1000))

    def fault(self, meets=True):
        """A disturbance starts now. If that is before the first call, or its effect can be seen, met() reports whether it affected anything."""
        self.met(meets and self.begun and not self.is_over())
        self.fault_ns = self.healed_ns = time.monotonic_ns()

    def met(self, condition=True):
        self.hit = self.hit or bool(condition)

    def healed(self):
        self.healed_ns = time.monotonic_ns()

    def allow(self, repeats, why):
        self.allowed += repeats
        self.whys.append(why)

    # ---- the end ----

    def fail(self, text):
        raise Violation(text)

    def skip(self, why):
        raise Skip(why)

    def said(self):
        path = self.dir / "start.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def finish(self):
        """Continues until the run is done, and checks it."""
        self.finished = True
        refused = 0
        for _ in range(10):
            if self.coord is None:
                self.resume()
            try:
                code = self.coord.wait(EXIT_SECONDS_MAX * crowded())
            except subprocess.TimeoutExpired:
                self.fail(f"the run is not over after {EXIT_SECONDS_MAX} s")
            self.coord, self.done_ns = None, time.monotonic_ns()
            if code == DONE:
                break
            if code == USAGE and refused == 0 and self.hit:  # killed before there was a run that could be resumed
                refused += 1
                self.start()
            elif code not in self.expect_codes:
                self.fail(f"the coordinator ended with {code}")
        else:
            self.fail("resumed ten times, and not done")
        self.collect_late()
        self.check()
        if self.rng.random() < 0.15:
            self.verify()

    def verify(self):
        """The user's own check must agree."""
        run = subprocess.run([str(BIN / "vibeq"), "verify", self.name], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=60, check=False)
        if run.returncode != DONE:
            self.fail(f"vibeq verify ended with {run.returncode}: {run.stdout[-1000:]}{run.stderr[-500:]}")

    def accounting(self):
        return json.loads((self.run_dir / self.job.account).read_text())["calls"]

    def collect_late(self):
        """One more resume collects late results, and makes no call. A worker that outlived a coordinator and had not reconnected when the run
        ended waits for its orphan time: it is ended first."""
        deadline = time.monotonic() + 1
        while self.workers() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.wait_for("workers to end", lambda: not [self.send(pid, signal.SIGKILL) for pid in self.workers()])
        far, _ = self.far_spools()
        if far and self.rng.random() < 0.5:  # a person starts these workers again beside the finished run
            for folder in far:
                self.join("--spool", folder)
            self.resume_finished(workers=0)
            left, _ = self.far_spools()
            if left:
                self.fail(f"workers were started again beside the finished run, and {len(left)} spools are left")
        left = [p for p in self.run_dir.glob("spool/*/*") if p.name != "lock" and p.is_file() and p.stat().st_size > 0]
        if left or self.accounting()["still_out"] or self.rng.random() < 0.1:
            self.resume_finished()

    def resume_finished(self, workers=None):
        before = len(self.server.requests())
        child = self.launch(self.vibeq(*self.job.again(self.name, workers)))
        if child.wait(EXIT_SECONDS_MAX * crowded()) != DONE:
            self.fail(f"resume of the finished run ended with {child.returncode}")
        if len(self.server.requests()) != before:
            self.fail("resume of the finished run asked something")

    def in_ledger(self, folder):
        """The ids of the run's calls in the ledger of its runs folder."""
        uid = bytes.fromhex((folder / "uid").read_text().strip())
        env = lmdb.open(str(folder.parent / "calls.lmdb"), subdir=False, readonly=True, lock=False, max_dbs=8, create=False)
        with env.begin() as txn:
            rows = txn.cursor(env.open_db(b"ledger", txn=txn, create=False)).iternext(values=False)
            found = {key[17:].hex() for key in rows if key[:17] == uid + b"C"}
        env.close()
        return found

    def far_spools(self):
        """(folders outside of the run's that are not empty, the ids of the calls in all spools)"""
        uid, folders, calls = (self.run_dir / "uid").read_text().strip(), [], set()
        for path in self.dir.rglob("spool"):
            if path.is_file():
                found, _ = spool.read(path, uid)
                calls |= set(found)
                if found and not {self.runs, *(other.parent for other in self.others)} & set(path.parents):
                    folders.append(path.parent)
        return folders, calls

    def check(self):
        self.check_results()
        self.check_sums()
        self.check_repeats()
        self.check_limits()
        self.check_ends()
        self.audit()
        self.check_recovery()

    def check_results(self):
        found = self.job.read(self.run_dir)
        for name, expected in self.expected.items():
            if found[name] != expected:
                self.fail(f"{name} is not that of an undisturbed run")

    def check_recovery(self):
        """Checks that work continued after the disturbance in time: within a term and the time to start again."""
        most = self.term_ms / 1000 + RECOVERY_SECONDS_MAX * crowded() + LATENESS_TIMES * self.lateness.most_ms / 1000
        if self.recovery_s() > most:
            self.fail(f"nothing went on for {self.recovery_s():.1f} s after the disturbance was over, with a term of {self.term_ms} ms: at most "
                      f"{most:.1f} s")

    def check_sums(self):
        calls, requests = self.accounting(), self.server.requests()
        ids = [x["call"] for x in requests]
        if len(set(ids)) != len(ids):
            self.fail("two requests with one call id")
        own = self.in_ledger(self.run_dir)
        missing = set(ids).difference(own, self.far_spools()[1], *[self.in_ledger(folder) for folder in self.others])
        if len(missing) > self.unlisted_max:
            self.fail(f"{len(missing)} requests are in no ledger and in no spool: {sorted(missing)[:3]}")
        requests = [x for x in requests if x["call"] in own]
        if calls["planned"] != calls["first_sends"] + calls["from_store"] + calls["saved_by_lazy_swap"] + calls["not_asked"]:
            self.fail(f"planned does not add up: {calls}")
        if calls["sent"] != calls["first_sends"] + calls["asked_again"] + calls["retried"] + calls["repairs"]:
            self.fail(f"sent does not add up: {calls}")
        if calls["still_out"] or calls["not_asked"]:
            self.fail(f"the run is done, and something is still out or was not asked: {calls}")
        unseen = calls["unknown"] + sum(calls["failed"][end] for end in self.unseen_ends)
        carried_out = len(requests) + sum(line["status"] != 0 for line in self.server.batch_lines())
        if not calls["sent"] - unseen <= carried_out <= calls["sent"]:
            self.fail(f"{carried_out} requests, and the ledger says {calls}")
        if calls["unknown"] > (self.allowed if self.unknown_max is None else self.unknown_max):
            self.fail(f"{calls['unknown']} calls of unknown end, at most {self.allowed} are explained: {self.whys}")
        self.figures.update(calls=len(ids) + len(self.server.batch_lines()), unlisted=len(missing), unknown=calls["unknown"], unused=calls["paid_unused"])

    def starved(self):
        """Whether processes waited so long for the processor that living ones may have been silent for a term of six heartbeats."""
        return self.lateness.most_ms > self.term_ms / 6

    def check_repeats(self):
        """Checks that of the calls of one question all except one belong to workers that were killed or suspended."""
        asked = collections.defaultdict(list)
        for x in self.server.requests():
            asked[x["hash"]].append(x["call"][:16])
        repeats = sum(len(calls) - 1 for calls in asked.values())
        self.figures["repeats"] = repeats
        strangers = collections.Counter()
        for calls in asked.values():
            living = [p for p in calls if p not in self.blamed]
            strangers.update(living[:-1])
        if len(strangers) > self.unmapped or repeats > self.allowed:
            self.figures["starved"] = self.starved()
        if self.figures.get("starved"):
            return  # the table says so: it proves nothing about repeats; everything else is looked at
        if len(strangers) > self.unmapped:
            self.fail(f"calls of living workers were repeated: {dict(strangers)} of {repeats} repeats; blamed {sorted(self.blamed)}")
        if repeats > self.allowed:
            self.fail(f"{repeats} calls repeated, at most {self.allowed} are explained: {self.whys}")
        listed = self.figures["unknown"] + self.figures["unused"] + self.figures["unlisted"] + len(self.far_spools()[1])
        if repeats > listed and not self.others:
            self.fail(f"{repeats} calls repeated, and {self.figures} listed")

    def check_limits(self):
        now, most, model = collections.Counter(), collections.Counter(), {}
        for line in self.server.log():
            if line["event"] == "request":
                model[line["n"]] = line["model"]
                now[line["model"]] += 1
                most[line["model"]] = max(most[line["model"]], now[line["model"]])
            elif line["event"] in ("answer", "lost") and line["n"] in model:
                now[model.pop(line["n"])] -= 1
        if most and max(most.values()) > self.concurrency:
            self.fail(f"more than {self.concurrency} calls in flight: {dict(most)}")

    def check_ends(self):
        for path in [self.dir / "start.out", *self.dir.glob("*.err"), *self.run_dir.glob("*.log"), self.run_dir / "log"]:
            text = path.read_text(errors="replace") if path.exists() else ""
            found = re.search(r".*(Sanitizer|runtime error:|assertion|Assertion).*", text)
            if found:
                self.fail(f"{path.name}: {found.group(0)[:300]}")
            codes = {-1, *self.worker_codes}
            if (self.run_dir / "workers.log").exists() and "is in use by another worker" in (self.run_dir / "workers.log").read_text(errors="replace"):
                codes.add(USAGE)  # from a command that a killed coordinator had just started
            for end in re.finditer(r'"event":"worker.exited","k":(\d+),"code":(-?\d+),"signal":(\d+)', text):
                if int(end.group(3)) not in (0, signal.SIGKILL, signal.SIGTERM) or int(end.group(2)) not in codes:
                    self.fail(f"a worker ended badly: {end.group(0)}")
        for child in self.children:
            if child.poll() is not None and child.returncode < 0 and -child.returncode not in (signal.SIGKILL, signal.SIGTERM):
                self.fail(f"a program ended by signal {-child.returncode}")

    def audit(self):
        code, said = self.run_audit(bounded=not self.figures.get("starved"))
        if code != 0 and not self.figures.get("starved") and self.starved():
            self.figures["starved"] = True  # the table says so: it proves nothing about repeats; everything else is looked at
            code, said = self.run_audit(bounded=False)
        if code != 0:
            self.fail(f"the audit (term {self.term_ms} ms, processes waited up to {self.lateness.most_ms:.0f} ms): {said[-2000:]}")
        found = re.search(r"recovered (\d+)", said)
        self.figures["recovered"] = int(found.group(1)) if found else 0

    def run_audit(self, bounded):
        """`bounded`: a disturbance of this round must explain every repeat."""
        log = [] if self.others else ["--log", self.server.log_path]  # it also has the calls of the other run
        most = self.allowed if self.unknown_max is None else max(self.allowed, self.unknown_max)
        if self.figures["unlisted"]:
            log = []  # it cannot know of such calls
        spools = [word for path in self.far_spools()[0] for word in ("--spool", path)]
        bound = ["--unknown-max", most] if bounded else []
        if log and bound:
            bound += ["--disturbances", self.write_disturbances()]
        sys.argv = [str(w) for w in (AUDIT, self.run_dir, *log, *spools, *bound)]
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = audit_tool.main()
        return code, said.getvalue()

    def write_disturbances(self):
        """The disturbances that this round noted. A kind that judges repeats in another way has one that loses answers."""
        path = self.dir / "disturbances.jsonl"
        between = self.between or "check_repeats" in self.__dict__
        rows = [*self.disturbances, {"between": between}, {"lateness_ms": self.lateness.most_ms}]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    def recovery_s(self):
        """The longest time without a new request between the end of the last fault and the end of the run."""
        if not self.healed_ns or not self.server:
            return 0.0
        asked = (*self.server.requests(), *self.server.batch_lines())
        times = [self.healed_ns] + sorted(x["mono_ns"] for x in asked if x["mono_ns"] > self.healed_ns)
        if self.done_ns > times[-1]:
            times.append(self.done_ns)
        return max((b - a for a, b in zip(times, times[1:])), default=0) / 1e9

    def shared_redis(self, *words):
        """Starts a separate Redis for the round, which outlives coordinators; returns its URL. start_redis() starts it again on the same folder."""
        if REDIS is None:
            self.skip("no Redis server")
        self.redis_words = words
        self.start_redis()
        return f"unix://{self.dir}/s.sock"

    def start_redis(self):
        path = self.dir / "s.sock"
        path.unlink(missing_ok=True)
        with open(self.dir / "redis.out", "ab") as out:
            self.redis_child = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(self.dir),
                                                 *self.redis_words], executable=REDIS, stdout=out, stderr=out)
        self.wait_for("the shared Redis", path.exists)

    def kill_shared_redis(self):
        self.fault()
        self.redis_child.kill()
        self.redis_child.wait()

    def logs(self):
        text = ""
        for path in [self.dir / "start.out", self.run_dir / "log", self.run_dir / "workers.log"]:
            if path.exists():
                text += f"--- {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-12:]) + "\n"
        return text

    def close(self):
        """Ends all processes of the round, by pid."""
        for cleanup in reversed(self.cleanups):
            try:
                cleanup()
            except Exception as error:  # pylint: disable=broad-except
                print(f"cleanup: {error!r}", file=sys.stderr)
        for _ in range(50):
            left = [pid for pid in descendants(os.getpid()) if not is_zombie(pid)]
            if not left:
                break
            for pid in left:
                self.send(pid, signal.SIGKILL)
            time.sleep(0.01)


def run_round(kind, function, seed, base):
    """Runs in a separate process. Returns the values for the table, as a dict for JSON."""
    become_subreaper()
    r = Round(kind, seed, base)
    out = {"kind": kind, "seed": seed, "ok": True, "skipped": None}
    began = time.monotonic()
    try:
        function(r)
        if not r.finished:
            r.finish()
    except Skip as why:
        out["skipped"] = str(why)
    except Exception as error:  # pylint: disable=broad-except
        where = "" if isinstance(error, Violation) else f" ({type(error).__name__} at line {error.__traceback__.tb_next and error.__traceback__.tb_next.tb_lineno})"
        out.update(ok=False, why=f"{error}{where}", logs=r.logs())
    out.update(r.figures, hit=r.hit, recovery_s=r.recovery_s(), seconds=time.monotonic() - began, folder=str(r.dir))
    r.close()
    if out["ok"] or not os.environ.get("VQ_KEEP"):
        shutil.rmtree(r.dir, ignore_errors=True)
    return out
