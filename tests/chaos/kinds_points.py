"""Named crash points (common/base/crash_points.def): a process kills itself at one of them. See chaos.py, and tests/chaos/points, which builds
what this needs and runs them all."""
import re
import signal
import socket
import subprocess

import work
from chaos import BIN, ROOT, USAGE

POINT = re.compile(r'^VQ_CRASH\((\w+), (COORDINATOR|WORKER), (ONCE|TWICE|MANY), "([^"]*)"\)', re.M)
BATCHES = "worker_batch_"  # only a run with a batch pool reaches these: tests/integration/test_batch.py
LATER = {"ONCE": (1,), "TWICE": (1, 2), "MANY": (1, 2, 10)}
MARK = b"VIBEQ_CRASH_AT"


def points():
    """{name: (process, hits)} of the table."""
    text = (ROOT / "common/base/crash_points.def").read_text(encoding="utf-8")
    found = {name: (process, hits) for name, process, hits, _ in POINT.findall(text)}
    if len(found) != text.count("\nVQ_CRASH("):
        raise ValueError("crash_points.def: a line is not understood")
    return found


def cases():
    """Every point at its first hit, and at later hits if a run reaches it more often."""
    return [(name, hit) for name, (_, hits) in points().items() if not name.startswith(BATCHES) for hit in LATER[hits]]


def scene(r, name, hit):
    """A run that reaches this point."""
    more = {"judges": 2, "stages": 1, "term_ms": 600, "workers": 4 if hit == 2 else 2, "latency": "uniform:5ms:20ms"}
    if name.startswith("stage_"):
        more["stages"] = 2
    if name == "spool_cut" or name.startswith("import_"):
        more.update(workers=1, concurrency=8, latency="uniform:20ms:60ms")  # the worker must die before the run is over
    if name == "worker_got_BYE":
        more["workers"] = 0  # a local worker may leave at its signal before it reads BYE: disturb() joins two workers on other machines
    r.set_up(**more)


def disturb(r, name):
    """The additional disturbance by which the run reaches this point."""
    if name.startswith("import_"):
        r.some_work(0.2, 0.6)
        for pid in r.workers()[:1]:
            r.kill_worker(pid)
    elif name == "worker_got_BYE":
        r.wait_for("the certificate", lambda: all((r.run_dir / file).exists() for file in ("join.cert", "endpoint.json")))
        for k in range(2):
            r.join("--name", f"far-{k}", "--spool", r.dir / f"far-spool-{k}")
    elif name == "redis_fill_before":
        r.some_work(0.2, 0.6)
        forget(r)


def forget(r):
    """Redis loses all its data."""
    conf = (r.run_dir / "redis/redis.conf").read_text(encoding="utf-8")
    with socket.socket(socket.AF_UNIX) as redis:
        redis.connect(re.search(r'^unixsocket "?([^"\n]+)', conf, re.M).group(1))
        redis.sendall(b"FLUSHALL\r\n")
        if not redis.recv(64).startswith(b"+OK"):
            r.fail("Redis would not forget")


def arm(r, name, hit, log):
    """The first process that reaches the point, of those that start from now on, kills itself."""
    r.env.update(VIBEQ_CRASH_AT=f"{name}:{hit}", VIBEQ_CRASH_LOG=str(r.dir / log))


def take_death(r, name, log):
    """True: the process of this point has killed itself. False: the run ended without that."""
    died = r.dir / f"{log}.died"
    r.wait_for(f"a crash at {name}, or the end", lambda: died.exists() or r.is_over(), seconds=60)
    if not died.exists():
        return False
    r.fault()
    r.met()
    if points()[name][0] == "WORKER":
        r.unmapped += 1  # the process is not known in advance: the calls of one process may be repeated
        r.disturbances.append({"calls": None, "how": "any", "mono_ns": 0})
        r.allow(r.slots, f"a worker died at {name}")
        return True
    r.coord.wait(10)
    if r.coord.returncode != -signal.SIGKILL:
        r.fail(f"the coordinator was to kill itself at {name}, and ended with {r.coord.returncode}")
    r.coord = None
    if r.run_dir.exists() and not (r.run_dir / "run.yaml").exists():
        not_begun(r)
    return True


def not_begun(r):
    """Without run.yaml, resume reports that and what to do; `vibeq run` starts the run (Round.finish)."""
    said = subprocess.run([BIN / "vibeq", "resume", r.name], env=r.env, cwd=r.dir, capture_output=True, text=True, timeout=30, check=False)
    if said.returncode != USAGE or not re.search("never fully begun.*vibeq rm.*vibeq run", said.stderr):
        r.fail(f"resume of a run that was never fully begun: exit {said.returncode}: {said.stderr}")


def kind_points(r):
    "a process kills itself at a named point; by seed every point, then pairs: one in the run, one after it, also with dialogues"
    if MARK not in (BIN / "vibeq").read_bytes():
        r.skip("these programs have no crash points; tests/chaos/points builds some that have")
    known = cases()
    listed = r.seed <= len(known)
    name, hit = known[r.seed - 1] if listed else r.rng.choice(known)
    if not listed:
        r.work = r.rng.choice(list(work.KINDS.values()))
    scene(r, name, hit)
    arm(r, name, hit, "crash.log")
    r.start()
    disturb(r, name)
    if not take_death(r, name, "crash.log") and listed:
        r.finish()
        r.fail(f"never came to {name} for the {hit}. time; came to {(r.dir / 'crash.log').read_text().split()}")
    if listed:
        return
    if r.coord is not None and not r.is_over():
        r.kill_coordinator()
    name = r.rng.choice(list(points()))
    arm(r, name, r.rng.choice((1, 2, 5)), "again.log")
    if r.coord is None:
        r.resume()
        take_death(r, name, "again.log")
        del r.env["VIBEQ_CRASH_AT"]  # processes that the end of the round starts must not crash


kind_points.apart = True  # not among all kinds: it needs special builds
