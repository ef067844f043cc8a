"""Calls in batches at the provider: the coordinator, a worker, both, or the machine of a worker for good are killed. See chaos.py. By the server's
purchase log no question is bought twice and none is lost: the audit compares it, line by line."""
import os
import signal
import time
from pathlib import Path

import batching
import work


def gone_for_good(r, pid):
    """A worker and what its machine had on its disk."""
    spools = {path for path in map(os.path.realpath, Path(f"/proc/{pid}/fd").glob("*")) if path.endswith("/spool")}
    r.fault()
    r.blame(pid)
    r.allow(r.slots + r.unreturned(pid), "a worker and its spool are gone")
    r.unlisted_max += r.slots
    r.send(pid, signal.SIGKILL)
    for path in spools:
        Path(path).unlink(missing_ok=True)


def kill(r):
    """One disturbance, at a random moment of a batch's life."""
    time.sleep(r.rng.uniform(0.2, 3))
    what, workers = r.rng.choice(("coordinator", "worker", "both", "machine")), r.workers()
    if r.is_over():
        return
    if what == "machine" and workers:
        gone_for_good(r, r.rng.choice(workers))
    elif what != "coordinator" and workers:
        r.kill_worker(r.rng.choice(workers))
    if what in ("coordinator", "both"):
        r.kill_coordinator()
        r.resume()


def through_batches(r, **job):
    r.work = work.Batch
    r.env["VIBEQ_BATCH_SETTLE_MS"] = "2000"  # the server's list does not lag
    r.set_up(workers=2, term_ms=1000, **job)
    r.start()
    for _ in range(r.rng.randint(1, 2)):
        kill(r)
    r.finish()
    twice = batching.bought_twice(r.server.log())
    if twice:
        r.fail(f"questions were bought twice in batches: {twice[:3]}")


def kind_batch(r):
    "every call goes into batches; coordinator, a worker, both, or a worker's machine with its spool are killed"
    through_batches(r)


def kind_batch_beside(r):
    "the same where one judge has an interactive pool beside its batches, and another one has no other"
    through_batches(r, beside=True)
