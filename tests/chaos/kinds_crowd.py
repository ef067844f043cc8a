"""A stampede: many workers, real ones, join one coordinator at once, are let go at once, and all come back at once when it has been killed.
Nothing is lost or repeated, each of them has had work, each comes back and leaves by itself at the end, and the coordinator stays small.
See chaos.py. How many: VQ_CROWD, or by the kind."""
import json
import os
import subprocess
import time

from chaos import BIN, DONE, STOPPED

CROWD, CROWD_LARGE = 50, 500
SAMPLES_EACH = 2  # of the data, for each worker
COORDINATOR_MIB_MAX, WORKER_MIB = 100, 1  # and this much more for each worker


def mib_of(pid):
    """The peak memory of this process."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next((int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def has_joined(r):
    """The names of the connected workers, by the coordinator's status."""
    if r.is_over():
        r.fail(f"the coordinator ended with {r.coord.returncode}")
    said = subprocess.run([BIN / "vibeq", "status", r.name, "--json"], env=r.env, cwd=r.dir, capture_output=True, text=True, timeout=60, check=False)
    return {worker["name"] for worker in json.loads(said.stdout or "{}").get("workers", [])}


def ctl(r, word):
    done = subprocess.run([BIN / "vibeq", "ctl", r.name, word], env=r.env, cwd=r.dir, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != DONE:
        r.fail(f"vibeq ctl {word} ended with {done.returncode}: {done.stderr}")


def small(r, n):
    """Measures the coordinator's memory while it runs."""
    most = COORDINATOR_MIB_MAX + WORKER_MIB * n
    r.figures["coordinator_mib"] = max(r.figures.get("coordinator_mib", 0), mib_of(r.coord.pid))
    if r.figures["coordinator_mib"] > most:
        r.fail(f"the coordinator of {n} workers took {r.figures['coordinator_mib']:.0f} MiB, at most {most} may be")


def stampede(r, n, seconds):
    r.unknown_max = 0
    r.set_up(workers=0, samples=SAMPLES_EACH * n, stages=1, judges=2, concurrency=n, latency="uniform:100ms:200ms", term_ms=max(1000, 4 * n),
             more={"orphan_s": 60})
    r.start()
    r.wait_for("the certificate", lambda: r.is_over() or (r.run_dir / "join.cert").exists())
    r.wait_for("the run", lambda: r.is_over() or (r.run_dir / "endpoint.json").exists())
    ctl(r, "pause")  # so that no worker ends before the last one has joined
    names = {f"crowd-{k}" for k in range(n)}
    (r.dir / "spool").mkdir()
    far = [r.join("--name", name, "--spool", r.dir / "spool" / name) for name in sorted(names)]
    r.wait_for(f"{n} workers", lambda: has_joined(r) >= names, seconds, 0.3)
    ctl(r, "resume")
    r.some_work(0.1, 0.3)
    small(r, n)
    if r.is_over():
        r.fail("the run was over before its coordinator could be killed")
    r.kill_coordinator()
    (r.run_dir / "endpoint.json").unlink()
    if r.rng.random() < 0.5:
        time.sleep(r.rng.uniform(0, 2) * r.term_ms / 1000)
    r.resume()
    r.wait_for("the run", lambda: r.is_over() or (r.run_dir / "endpoint.json").exists())
    ctl(r, "pause")
    r.wait_for("all to be back", lambda: has_joined(r) >= names, seconds, 0.3)
    ctl(r, "resume")
    r.healed()
    small(r, n)
    collect_late = r.collect_late

    def leave_and_collect():
        """Checks that no worker hangs: all get BYE and leave."""
        for worker in far:
            try:
                code = worker.wait(max(1.0, seconds))
            except subprocess.TimeoutExpired:
                r.fail("the run is over, and a worker that had joined is still there")
            if code not in (0, STOPPED):  # stopped: the run was over, and its open results are in its spool
                r.fail(f"a worker ended with {code}")
        collect_late()
        idle = n - len({x["call"][:16] for x in r.server.requests()})
        r.figures["workers_idle"] = idle
        if idle > 0:
            r.fail(f"{idle} of {n} workers have asked nothing")
    r.collect_late = leave_and_collect


def kind_stampede(r):
    "fifty workers join at once, and all come back at once when the coordinator was killed"
    stampede(r, int(os.environ.get("VQ_CROWD", CROWD)), 60)


def kind_stampede_large(r):
    "the same with five hundred"
    stampede(r, int(os.environ.get("VQ_CROWD", CROWD_LARGE)), 240)


kind_stampede_large.apart = True  # not among all kinds: make chaos-long runs it
kind_stampede_large.seconds_max = 900
