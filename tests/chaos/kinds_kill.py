"""Kills, stops, second coordinators: A1 to A3, A5, A6, A8 and A9 of the test matrix, and workers with and without a spool. See chaos.py."""
import shutil
import signal
import time

from chaos import DONE, STOPPED, USAGE


def pick(r, count=1):
    found = r.workers()
    return r.rng.sample(found, min(count, len(found)))


def kind_calm(r):
    "nothing happens: the control"
    r.unknown_max = 0
    r.set_up()
    r.start()


kind_calm.control = True


def kind_coordinator(r):
    "the coordinator is killed, up to three times, and resumed at once or later, also with another number of workers"
    r.unknown_max = 0
    r.set_up()
    r.start()
    for _ in range(r.rng.choice((1, 1, 2, 3))):
        r.some_time()
        if r.is_over():
            break
        r.kill_coordinator()
        if r.rng.random() < 0.3:
            r.within_lease()
        if r.rng.random() < 0.3:
            r.workers_n = r.rng.randint(1, 4)
        r.resume()


def kind_crash_loop(r):
    "the coordinator is killed four to eight times in a row, each time soon after it was started"
    r.unknown_max = 0
    r.set_up()
    r.start()
    r.some_time()
    for _ in range(r.rng.randint(4, 8)):
        if r.is_over():
            break
        r.kill_coordinator()
        r.resume()
        time.sleep(r.rng.uniform(0, 0.6) ** 2 * 2)


def kind_worker(r):
    "one to three of four workers are killed"
    r.set_up(workers=4)
    r.start()
    kills = r.rng.randint(1, 3)
    together = r.rng.random() < 0.3
    while kills > 0:
        r.some_work()
        found = pick(r, kills if together else 1)
        if r.is_over() or not found:
            break
        for pid in found:
            r.kill_worker(pid)
        kills -= len(found)


def kind_redis(r):
    "the run's own Redis is killed, up to three times"
    r.unknown_max = 0
    r.set_up()
    r.start()
    for _ in range(r.rng.randint(1, 3)):
        r.some_time()
        if r.is_over():
            break
        r.kill_redis()


def kind_redis_shared(r):
    "a Redis of elsewhere (always, everysec or nothing kept) is killed and started again on what it kept"
    r.unknown_max = 0
    keeps = r.rng.choice((("--appendonly", "yes", "--appendfsync", "always"), ("--appendonly", "yes", "--appendfsync", "everysec"), ()))
    r.set_up(more={"redis": f"{{url: '{r.shared_redis(*keeps)}'}}"})
    r.start()
    for _ in range(r.rng.randint(1, 2)):
        r.some_time()
        if r.is_over():
            break
        r.kill_shared_redis()
        time.sleep(r.rng.uniform(0, 0.5))
        r.start_redis()
        r.healed()
        if r.rng.random() < 0.3 and not r.is_over():
            r.kill_coordinator()
            r.resume()


def kind_several(r):
    "two or three of coordinator, workers and Redis are killed within one lease"
    r.set_up(workers=r.rng.randint(2, 4))
    r.start()
    r.some_time()
    if r.is_over():
        return
    for what in r.rng.sample(("coordinator", "worker", "worker", "redis"), r.rng.choice((2, 3, 3))):
        if what == "coordinator" and r.coord is not None:
            r.kill_coordinator()
            if r.rng.random() < 0.5:
                r.resume()
        elif what == "worker":
            for pid in pick(r):
                r.kill_worker(pid)
        elif what == "redis":
            r.kill_redis()
        time.sleep(r.rng.uniform(0, 0.4) * r.term_ms / 1000)


def kind_everything(r):
    "the machine goes off: coordinator, workers and Redis at once; resumed now or after more than a term"
    r.set_up()
    r.start()
    for _ in range(r.rng.choice((1, 1, 2))):
        r.some_time()
        if r.is_over():
            break
        workers, redis = r.workers(), r.redis()
        for pid in workers:
            r.blame(pid, "killed")
        r.fault()
        for pid in [r.coord.pid, *workers, *redis]:
            r.send(pid, signal.SIGKILL)
        r.coord.wait()
        r.coord = None
        r.allow(r.slots, "all workers killed at once")
        if r.rng.random() < 0.3:
            time.sleep(r.rng.uniform(0, 1.5) * r.term_ms / 1000)
        r.resume()


def kind_stopped_worker(r):
    "a worker stands still for longer than a term, and goes on or is killed"
    r.set_up(workers=r.rng.randint(2, 4), term_ms=600)
    r.start()
    r.some_work()
    for pid in pick(r):
        r.fault()
        r.send(pid, signal.SIGSTOP)
        r.blame(pid, "silent")
        r.allow(r.slots + r.unreturned(pid), "worker stood still")
        time.sleep(r.rng.uniform(1.1, 5) * r.term_ms / 1000)
        r.send(pid, signal.SIGKILL if r.rng.random() < 0.2 else signal.SIGCONT)
        r.healed()


def kind_stopped_coordinator(r):
    "the coordinator stands still for longer than a term, and goes on or is killed"
    r.unknown_max = 0
    r.set_up(term_ms=600)
    r.start()
    r.some_time()
    if r.is_over():
        return
    r.fault()
    r.coord.send_signal(signal.SIGSTOP)
    time.sleep(r.rng.uniform(1.1, 5) * r.term_ms / 1000)
    if r.rng.random() < 0.2:
        r.kill_coordinator()
    else:
        r.coord.send_signal(signal.SIGCONT)
        r.healed()


def kind_second_start(r):
    "the run is started again while it goes on, or twice at once after a kill: one of them has it"
    r.unknown_max = 0
    r.set_up()
    r.start()
    r.wait_for("the run", lambda: r.is_over() or (r.run_dir / "endpoint.json").exists())
    r.some_time()
    if r.is_over():
        return
    again = ["resume", r.name] if r.rng.random() < 0.7 else ["run", "config.yaml", "--name", r.name]
    command = [*r.vibeq(again[0]), *again[1:], "--quiet"]
    if r.rng.random() < 0.5:
        r.fault()
        r.kill_coordinator()
        first, second = r.resume(), r.launch([*r.vibeq("resume"), r.name, "--quiet"], err="second.out")
        r.wait_for("one of them to be refused", lambda: first.poll() is not None or second.poll() is not None, 60)
        loser, r.coord = (first, second) if first.poll() is not None else (second, first)
        if loser.returncode not in (USAGE, DONE):  # done: it ended before the other process checked
            r.fail(f"the second start ended with {loser.returncode}")
        return
    stopped = r.rng.random() < 0.3
    r.fault()
    if stopped:
        r.coord.send_signal(signal.SIGSTOP)
    second = r.launch(command, err="second.out")
    code = second.wait(30)
    if stopped:
        r.coord.send_signal(signal.SIGCONT)
    r.healed()
    if code != USAGE and not (code == DONE and again[0] == "resume" and r.is_over()):
        r.fail(f"the second start ended with {code}")


def kind_second_copy(r):
    "a copy of the run's folder is resumed on the same Redis while the first coordinator stands still; that one is woken sooner or later"
    r.set_up(term_ms=600, stages=1, more={"redis": f"{{url: '{r.shared_redis()}'}}"})
    r.start()
    r.some_work(0.1, 0.7)
    r.wait_for("the run", lambda: r.is_over() or (r.run_dir / "endpoint.json").exists())
    if r.is_over():
        return
    first = r.coord
    r.fault()
    first.send_signal(signal.SIGSTOP)
    for pid in r.workers():  # they continue for the rest of their term, and report to the first
        r.blame(pid)
    r.allow(r.calls, "asked by workers of the first coordinator after the copy was made")
    shutil.copytree(r.runs, r.dir / "copied", ignore=lambda _, names: [n for n in names if n in ("spool", "endpoint.json", "pools")])
    r.copy_of(r.dir / "copied")
    copied = len((r.run_dir / "log").read_text())
    taken = False
    if r.rng.random() < 0.3:
        first.send_signal(signal.SIGCONT)
        r.resume()
    else:
        r.resume()
        if r.rng.random() < 0.5:
            time.sleep(r.rng.uniform(0, 3) * r.term_ms / 1000)
        else:
            r.wait_for("the second to be done", r.is_over, 60)
        taken = " joined (session " in (r.run_dir / "log").read_text()[copied:]
        first.send_signal(signal.SIGCONT)
    r.wait_for("the first to end", lambda: first.poll() is not None, 60)
    if first.returncode == DONE and not taken:
        return  # it was done before the second had the run
    if first.returncode != STOPPED:
        r.fail(f"the coordinator that was taken over ended with {first.returncode}")
    if "another coordinator" not in r.said():
        r.fail("it does not say that another coordinator has the run")


def kind_graceful(r):
    "SIGTERM or Ctrl-C of the coordinator under load, or SIGTERM of workers: all calls in flight come to their end"
    r.unknown_max = 0
    r.set_up()
    r.start()
    r.wait_for("the run", lambda: r.is_over() or (r.run_dir / "endpoint.json").exists())
    started = time.monotonic()
    for _ in range(r.rng.randint(1, 3)):
        r.some_time()
        if r.is_over():
            break
        r.fault()
        if r.rng.random() < 0.4:
            for pid in pick(r, r.rng.randint(1, 2)):
                r.send(pid, signal.SIGTERM)
            continue
        r.coord.send_signal(r.rng.choice((signal.SIGTERM, signal.SIGINT)))
        began = time.monotonic()
        code = r.coord.wait(20)
        if code == -signal.SIGTERM and time.monotonic() - started < 1:
            r.resume()  # it had just started
            started = time.monotonic()
            continue
        if code not in (STOPPED, DONE):
            r.fail(f"told to stop, it ended with {code}")
        if time.monotonic() - began > 8 + r.lateness.most_ms / 50:
            r.fail(f"it took {time.monotonic() - began:.1f} s to stop")
        if code == DONE:
            break
        if r.workers():
            r.fail("workers are left")
        r.resume()
        started = time.monotonic()


def far_workers(r, words, n=2):
    """A run without local workers; n workers on other machines join."""
    r.set_up(workers=0)
    r.start()
    r.wait_for("the certificate", lambda: r.is_over() or all((r.run_dir / name).exists() for name in ("join.cert", "endpoint.json")))
    return [r.join(*words(i), "--name", f"far-{i}") for i in range(n)]


def replace(r, far, words, times):
    for _ in range(times):
        r.some_work()
        if r.is_over():
            return
        i = r.rng.randrange(len(far))
        r.kill_worker(far[i].pid)
        far[i].wait()
        if r.rng.random() < 0.3:
            r.within_lease()
        far[i] = r.join(*words(i), "--name", f"far-{i}")
        r.healed()


def kind_no_spool(r):
    "workers of elsewhere without a spool are killed and replaced: what was in flight is unknown, and asked again"
    def words(_):
        return ("--no-spool",)
    far = far_workers(r, words)
    r.allow(r.slots, "answers without a spool that were not returned yet")
    r.unlisted_max = r.slots  # no process may know of calls that were sent just before the kill
    replace(r, far, words, r.rng.randint(1, 3))


def kind_same_spool(r):
    "workers of elsewhere are killed, and started again with the same spool"
    def words(i):
        return ("--spool", r.dir / f"far-spool-{i}")
    replace(r, far_workers(r, words), words, r.rng.randint(1, 3))


def kind_remote(r):
    "coordinator and workers of elsewhere are killed in turn; the workers find what an earlier one left by themselves"
    def words(_):
        return ()
    far = far_workers(r, words)
    for _ in range(r.rng.randint(1, 3)):
        if r.rng.random() < 0.5:
            r.some_work()
            if r.is_over():
                return
            r.kill_coordinator()
            r.resume()
        else:
            replace(r, far, words, 1)
