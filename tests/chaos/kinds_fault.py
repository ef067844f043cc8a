"""A disk that fails (D2 of the test matrix): a sync or write of the call store, of a spool or of Redis' log ends with an error, once or from
then on (tests/tools/faulty.h). See chaos.py. `integration.faults` with VQ_FAULTS=all goes through every sync and write of a short run."""
import os
import time

from chaos import BIN, DONE, STOPPED
from vqtest import INTERNAL, Path

FAULTY = Path(os.environ.get("VQ_BUILD_DIR", BIN.parent)) / "tests" / "libvq-faulty.so"
WAIT_SECONDS = 60
REVIVE_SECONDS = 8
VARIABLES = ("LD_PRELOAD", "VIBEQ_FAULT", "VIBEQ_FAULT_LOG")


def preload(r, program, calls, pattern, n, error):
    """Sets the fault for all programs that start from now on, until heal()."""
    if not FAULTY.exists():
        r.skip(f"{FAULTY} is not built")
    if b"__asan_init" in (BIN / "vibeq").read_bytes() or b"__tsan_init" in (BIN / "vibeq").read_bytes():
        r.skip("a sanitizer wants to be the first library")
    r.env.update(LD_PRELOAD=str(FAULTY), VIBEQ_FAULT=f"{program}/{calls}:{pattern}:{n}:{error}", VIBEQ_FAULT_LOG=str(r.dir / "faults"))


def heal(r):
    for name in VARIABLES:
        r.env.pop(name, None)


def log(r):
    path = r.dir / "faults"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def hit(r):
    """Marks the round when something failed; the moment itself is over by then."""
    found = any(line[2] == "failed" for line in log(r))
    if found:
        r.fault()
        r.met()
    return found


def error_of(r):
    return r.rng.choice(("EIO", "ENOSPC")) + r.rng.choice(("", ":on"))


def failing_store(r, calls, most):
    """The coordinator stops, writes nothing more, and is resumed on a repaired disk; no call is unknown."""
    r.unknown_max = 0
    r.set_up()
    r.expect_codes |= {INTERNAL, STOPPED}
    n = r.rng.randint(1, most)
    preload(r, "vibeq", calls, "calls.lmdb$", n, error_of(r))
    r.start()
    r.wait_for("the coordinator to stop", r.is_over, WAIT_SECONDS)
    heal(r)
    if not hit(r):
        return
    calls_made = log(r)
    failed = [line[2] for line in calls_made].index("failed")
    after = [line for line in calls_made[failed:] if line[2] == "ok"]
    if len(after) > (0 if calls == "sync" else 1):  # LMDB may put its head back
        r.fail(f"the store was written to after a failure: {after}")
    if r.coord.returncode == DONE:  # nothing but the note of a clean end
        return
    if "calls.lmdb" not in r.said():
        r.fail("the file is not named")
    r.coord = None


def kind_store_sync(r):
    "a sync of the call store fails, once or from then on"
    failing_store(r, "sync", 30)


def kind_store_write(r):
    "a write to the call store fails or is cut short"
    failing_store(r, r.rng.choice(("write", "torn")), 80)


def kind_spool_write(r):
    "a write to a spool, or booking room for it, fails in each process of a worker, once or from then on"
    r.set_up()
    r.worker_codes.add(INTERNAL)
    calls = r.rng.choice(("write", "torn", "space"))
    error = error_of(r) if calls != "space" else "ENOSPC"
    preload(r, "vibeq-worker", calls, "/spool", r.rng.randint(8, 40) if calls != "space" else 1, error)
    r.start()
    r.wait_for("the run to end", r.is_over, WAIT_SECONDS)
    heal(r)
    hit(r)


def revived(r, since):
    """A Redis that could not create its log has ended, and one whose sync failed refuses everything until it is started again. This starts it
    again, on a repaired disk."""
    if r.redis_child.poll() is None and (time.monotonic() - since < REVIVE_SECONDS or not hit(r)):
        return False
    r.kill_shared_redis()
    r.start_redis()
    return True


def kind_redis_write(r):
    "a write or sync of the log of a Redis fails: it refuses writes for a while, or ends and is started again; the run waits"
    r.unknown_max = 0
    calls = r.rng.choice(("write", "write", "sync"))  # of syncs there is one a second
    preload(r, "redis-server", calls, "appendonly", r.rng.randint(*((1, 3) if calls == "sync" else (4, 30))), r.rng.choice(("EIO", "ENOSPC")))
    fault = {name: r.env[name] for name in VARIABLES}
    heal(r)
    os.environ.update(fault)
    url = r.shared_redis("--appendonly", "yes", "--appendfsync", "everysec")
    for name in VARIABLES:
        os.environ.pop(name)
    r.set_up(more={"redis": f"{{url: '{url}'}}"})
    r.start()
    began = time.monotonic()
    r.wait_for("the run to end", lambda: r.is_over() or revived(r, began), WAIT_SECONDS)
    r.wait_for("the run to end", r.is_over, WAIT_SECONDS)
    hit(r)
