"""A machine in trouble: disks that are full, no descriptors left, wall clocks that jump, a monotonic clock of another epoch, no time on the
processors. Disks are small file systems in a separate mount namespace of the round, so that none remains mounted; that needs root.

A full disk stops a run (exit 4) or a worker (exit 1) with a message that names it, or parks the run while its Redis cannot write. With room
again, a resume continues the run, or it continues by itself. Nothing is lost."""
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

from chaos import BIN, DONE, STOPPED, USAGE, faketime_library
from kinds_proxy import PATIENT, paid_again

CLONE_NEWNS = 0x20000
BUSY_SECONDS, BUSY_SECONDS_MAX = 4, 20  # with calls, and without
FULL_WORDS = ("make room", "No space left", "no room", "cannot be written")


# ---- small disks ----

def own_mounts(r):
    if os.geteuid() != 0:
        r.skip("mounting needs root")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        r.skip(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def disk(r, folder, kib):
    """A file system of this size at `folder`: tmpfs, or ext4 on a loop device."""
    folder.mkdir(parents=True)
    kind = r.rng.choice(("tmpfs", "ext4"))
    if kind == "ext4":
        image = r.dir / f"{folder.name}.img"
        image.write_bytes(b"")
        os.truncate(image, (kib + 1500) * 1024)
        made = subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", "-N", "256", str(image)], capture_output=True, check=False)
        if made.returncode == 0:
            made = subprocess.run(["mount", "-o", "loop", str(image), str(folder)], capture_output=True, check=False)
        if made.returncode != 0:
            kind = "tmpfs"  # no mkfs, or no loop device is free
    if kind == "tmpfs":
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k,mode=0700", "none", str(folder)], check=True)
    folder.chmod(0o700)
    r.cleanups.append(lambda: subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True))


def fill(folder, leave_bytes):
    """Fills the disk except about this much."""
    with open(folder / "filler", "wb", buffering=0) as file:
        room = os.statvfs(folder)
        left = max(0, room.f_bavail * room.f_frsize - leave_bytes)
        try:
            while left > 0:
                left -= file.write(b"\xff" * min(left, 1 << 16))
            while leave_bytes == 0:
                file.write(b"\xff" * 512)
        except OSError:
            pass


def empty(folder):
    (folder / "filler").unlink(missing_ok=True)


def kind_disk_store(r):
    "the disk of the runs folder (call store, Redis, logs, spools of local workers) is full, a few times, and has room again"
    own_mounts(r)
    disk(r, r.runs, 12000)
    r.set_up(workers=r.rng.randint(1, 3))
    r.expect_codes |= {STOPPED}
    r.worker_codes |= {1}  # the spool cannot be written
    r.allow(r.calls, "nothing could be written")
    r.start()
    for _ in range(r.rng.randint(1, 3)):
        r.some_time(0.0, 0.8)
        r.fault()
        for pid in r.workers():
            r.blame(pid)
        fill(r.runs, r.rng.choice((0, 0, 4096, 50000, 200000)))
        ended = wait_end(r, r.rng.uniform(0.3, 4))
        empty(r.runs)
        r.healed()
        if ended is None:
            continue
        half = ended == USAGE and "never fully begun" in r.said()
        if half:  # as the message advises
            r.start()
            continue
        if ended not in (DONE, STOPPED):
            r.fail(f"with a full disk the coordinator ended with {ended}: {r.said()[-600:]}")
        if ended == DONE:
            break
        if not any(word in r.said() for word in FULL_WORDS):
            r.fail(f"nothing says that the disk is full: {r.said()[-600:]}")
        r.coord = None
        r.resume()


def wait_end(r, seconds):
    try:
        return r.coord.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def join(r, k):
    return r.launch([BIN / "vibeq-worker", "--join", r.run_dir / "join.cert", "--name", f"far-{k}", "--spool", r.dir / "spool" / f"far-{k}"],
                    err=f"far-{k}.err")


def kind_disk_spool(r):
    "the disk of the spools of workers from elsewhere is full: they stop, and go on with room"
    own_mounts(r)
    disk(r, r.dir / "spool", 3000)
    r.set_up(workers=0, more={"orphan_s": 30})
    r.start()
    r.wait_for("the certificate", lambda: r.is_over() or (r.run_dir / "join.cert").exists())
    far = [join(r, k) for k in range(r.rng.randint(1, 3))]
    r.some_work(0.05, 0.6)
    r.allow(r.calls, "no spool")
    r.fault()
    for worker in far:
        r.blame(worker.pid)
    fill(r.dir / "spool", r.rng.choice((0, 0, 2000, 20000)))
    time.sleep(r.rng.uniform(0.2, 3))
    empty(r.dir / "spool")
    r.healed()
    for k, worker in enumerate(far):
        try:
            code = worker.wait(0.3)
        except subprocess.TimeoutExpired:
            continue
        if code == 0 or r.is_over():
            continue
        said = (r.dir / f"far-{k}.err").read_text(errors="replace")
        if code != 1 or not any(word in said for word in FULL_WORDS):
            r.fail(f"a worker without room for its spool ended with {code}: {said[-600:]}")
        join(r, k)


def kind_disk_redis(r):
    "the disk of a shared Redis' append-only file is full: the run is parked, and goes on by itself"
    own_mounts(r)
    folder = r.dir / "aof"
    disk(r, folder, 3000)
    url = r.shared_redis("--dir", folder, "--appendonly", "yes", "--appendfsync", r.rng.choice(("always", "everysec")))
    r.cleanups.append(lambda: (r.redis_child.kill(), r.redis_child.wait()))
    r.set_up(more={"redis": url})
    r.start()
    r.some_work(0.0, 0.6)
    r.fault()
    fill(folder, r.rng.choice((0, 0, 5000)))
    time.sleep(r.rng.uniform(0.3, 3))
    empty(folder)
    if r.redis_child.poll() is not None:  # with `always` it gives up
        r.start_redis()
    r.healed()


# ---- descriptors ----

def kind_files(r):
    "coordinator or workers can open no more files for a while: what is open goes on, the rest waits"
    if os.geteuid() != 0:
        r.skip("raising a limit again needs root")
    r.set_up(workers=r.rng.randint(1, 3), judge={"connect_timeout_ms": 2000, "first_byte_timeout_ms": 3000})
    r.unseen_ends = ("lost",)
    r.worker_codes |= {1}  # it cannot make a socket: its spool waits for the next one
    r.check_repeats = lambda: paid_again(r)
    r.check_limits = lambda: None
    r.start(*PATIENT)
    r.some_work(0.0, 0.5)
    r.allow(r.calls, "no descriptors")
    who = r.rng.choice(("coordinator", "workers", "both"))
    pids = {"coordinator": [r.coord.pid], "workers": r.workers(), "both": [r.coord.pid, *r.workers()]}
    chosen = pids[who]
    r.fault()
    before = {}
    for pid in chosen:
        try:
            before[pid] = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            count = len(os.listdir(f"/proc/{pid}/fd")) + r.rng.randint(-2, 2)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (max(count, 3), before[pid][1]))
        except (ProcessLookupError, FileNotFoundError):
            continue
    end = time.monotonic() + r.rng.uniform(0.2, 2)
    while time.monotonic() < end:
        if r.rng.random() < 0.3:  # connections must be made again
            for pid in r.redis():
                r.send(pid, signal.SIGKILL)
        time.sleep(0.2)
    for pid, limit in before.items():
        try:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
        except ProcessLookupError:
            pass
    r.healed()


def kind_files_few(r):
    "a process may open few files from its start on: it says so and refuses, or it works"
    r.set_up()
    few = r.rng.choice((8, 12, 16, 20, 24, 32, 48, 64))
    kept, r.runner = r.runner, ["prlimit", f"--nofile={few}:{few}"]
    r.start()
    code = wait_end(r, 20)
    said = r.said()
    if code is None:
        r.fail(f"with {few} files the run neither ends nor refuses")
    if code not in (DONE, 1, 2, STOPPED) or (code != DONE and "files" not in said):
        r.fail(f"with {few} files: exit {code}: {said[-600:]}")
    r.runner = kept
    r.met(code != DONE)
    if code != DONE:
        r.coord = None
        r.expect_codes |= {STOPPED}
        r.resume()


# ---- clocks ----

def kind_clock(r):
    "the wall clock of all programs jumps by hours, days, beyond 2038, back, and stands still; the monotonic one goes on"
    library = faketime_library()
    if library is None:
        r.skip("libfaketime is not installed (deploy/install-deps --ci)")
    at = r.dir / "faketime"
    at.write_text("+0\n")
    r.env.update(LD_PRELOAD=library, FAKETIME_TIMESTAMP_FILE=str(at), FAKETIME_NO_CACHE="1", FAKETIME_DONT_FAKE_MONOTONIC="1",
                 DONT_FAKE_MONOTONIC="1")
    r.set_up()
    r.start()
    for _ in range(r.rng.randint(2, 6)):
        r.some_time(0.0, 0.5)
        r.fault()
        when = r.rng.choice(("+1h", "-1h", "+1d", "-1d", "+20y", "-10y", "2030-01-01 00:00:00", "+0"))
        new = r.dir / "faketime.new"
        new.write_text(when + "\n")
        new.rename(at)
        time.sleep(r.rng.uniform(0.05, 0.4))
    at.write_text("+0\n")
    r.healed()


def kind_clock_mono(r):
    "workers and coordinator have monotonic clocks that are years apart, as on other machines"
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        r.skip("time namespaces need root")
    if subprocess.run(["unshare", "-T", "--monotonic", "1000", "-f", "true"], capture_output=True, check=False).returncode != 0:
        r.skip("time namespaces do not work here")
    r.set_up(workers=0, term_ms=2000, more={"orphan_s": 30})
    r.start()
    r.wait_for("the certificate", lambda: r.is_over() or (r.run_dir / "join.cert").exists())
    (r.dir / "spool").mkdir()
    for k in range(r.rng.randint(2, 3)):
        offset = r.rng.choice((1, 3600, 86400 * 400, 86400 * 3650))
        r.launch(["unshare", "-T", "--monotonic", offset, "--boottime", offset, "-f", "--kill-child", BIN / "vibeq-worker", "--join",
                  r.run_dir / "join.cert", "--name", f"far-{k}", "--spool", r.dir / "spool" / f"far-{k}"], err=f"far-{k}.err")
    r.wait_for("a call of such a worker", lambda: r.is_over() or r.server.requests())
    r.met(r.server.requests())
    if r.rng.random() < 0.5:
        r.some_work()
        if not r.is_over():
            r.kill_coordinator()
            r.resume()


# ---- no time ----

def kind_starved(r):
    "all of it at the lowest priority, beside busy loops on all processors"
    r.set_up(term_ms=1000)
    busy = r.launch([sys.executable, "-c", f"import os, time\nfor _ in range(os.cpu_count() * 2): os.fork()\nend = time.time() + {BUSY_SECONDS_MAX}\n"
                     "while time.time() < end: pass"], err="busy.err", start_new_session=True)
    r.fault()
    r.runner = ["nice", "-n", "19"]
    r.allow(r.calls, "starved for a term")
    r.start()
    began = time.monotonic()
    while not r.is_over() and time.monotonic() < began + (BUSY_SECONDS if r.server.requests() else BUSY_SECONDS_MAX):
        for pid in r.workers():
            r.blame(pid)
        time.sleep(0.1)
    r.met(r.server.requests())
    os.killpg(busy.pid, signal.SIGKILL)
    busy.wait()
    r.healed()
