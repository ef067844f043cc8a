"""Networks that fail, between the coordinator and workers of another host, and between the coordinator and a shared Redis: network
namespaces and nftables (netlab.py). Root only. A partition that lasts for a term ends a worker's leases, by the rules: its calls in flight
and its undelivered results may then be called again. They are never lost: they arrive late, from the worker's memory or its spool.

The hub is the coordinator's host. Workers are on another host, with the endpoint on its loopback, each over a separate link."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import netlab
from chaos import BIN, DONE, REDIS, faketime_library

PORT = 7001
ORPHAN_S = 30
PASSWORD = "sesame-sesame-9"
COLLECT_TRIES = 2
CROWD, LINKS = 500, 20  # of net_hosts_large; VQ_CROWD


# ---- workers of another host ----

def far(r, workers=None, redis=False, links=None, paused=False, **more):
    """`links`: fewer than workers, which share them. Sets up, starts the coordinator on the hub and the workers on their host; r.lab, r.links, r.redis_link, r.far_pids."""
    why = netlab.why_not()
    if why:
        r.skip(why)
    netlab.sweep()
    r.lab = netlab.Lab(*(("workers", "redis") if redis else ("workers",)))
    r.cleanups.append(r.lab.close)
    workers = workers or r.rng.randint(2, 4)
    r.links = [r.lab.link("workers") for _ in range(links or workers)]
    keys = {"orphan_s": ORPHAN_S}
    if redis:
        r.redis_link = r.lab.link("redis")
        keys["redis"] = f'"redis://:{PASSWORD}@{r.redis_link.far}:6379/0"'
        far_redis(r)
    r.lab.enter("workers")
    r.set_up(workers=0, runner=r.lab.words("hub"), more=keys, **more)
    r.start("--listen", f"0.0.0.0:{PORT}")
    r.wait_for("the certificate", lambda: r.is_over() or (r.run_dir / "join.cert").exists())
    if paused:  # so that no worker ends before the last one has joined
        r.wait_for("the run", lambda: r.is_over() or (r.run_dir / "endpoint.json").exists())
        if vibeq(r, "ctl", r.name, "pause").returncode != DONE:
            r.fail("vibeq ctl pause was refused")
    (r.dir / "spool").mkdir()
    r.far = {}
    for k in range(workers):
        join(r, k)
    r.collect_late = lambda: collect(r)


def far_redis(r):
    server = r.dir / "redis-server"
    if not server.exists():
        if REDIS is None:
            r.skip("there is no redis-server")
        os.symlink(REDIS, server)
        (r.dir / "far-redis").mkdir()
    r.redis_server = r.launch([*r.lab.words("redis"), server, "--port", "6379", "--bind", "0.0.0.0", "--requirepass", PASSWORD, "--appendonly", "yes",
                               "--dir", r.dir / "far-redis", "--save", ""], err="redis.err")


def join(r, k, env=None):
    cert = r.dir / f"join-{k}.cert"
    text = (r.run_dir / "join.cert").read_text()  # it names the first link; each worker has a different one
    cert.write_text(re.sub(r"tcp://[0-9.]+:", f"tcp://{r.links[k % len(r.links)].near}:", text))
    cert.chmod(0o600)
    r.far[k] = r.launch([BIN / "vibeq-worker", "--join", cert, "--name", f"far-{k}", "--spool", r.dir / "spool" / f"far-{k}"], err=f"far-{k}.err",
                        env={**r.env, **(env or {})})


def spooled(r):
    """The workers with remaining results."""
    return [k for k in r.far if any(p.name != "lock" and p.is_file() and p.stat().st_size > 0 for p in (r.dir / "spool" / f"far-{k}").glob("*"))]


def collect(r):
    """The run is over. Workers that could not be informed leave; a resume collects the results in their spools."""
    deadline = time.monotonic() + 3 + len(r.far) / 20
    while any(w.poll() is None for w in r.far.values()) and time.monotonic() < deadline:
        time.sleep(0.02)
    for worker in r.far.values():
        worker.kill()
        worker.wait()
    asked = len(r.server.requests())
    for _ in range(COLLECT_TRIES):
        left = spooled(r)
        if not left:
            break
        for k in left:
            join(r, k)
        resume = r.launch([*r.runner, BIN / "vibeq", "resume", r.name, "--quiet", "--workers", "0", "--listen", f"0.0.0.0:{PORT}"])
        if resume.wait(30) != DONE:
            r.fail(f"resume of the finished run ended with {resume.returncode}")
        for k in left:
            try:
                r.far[k].wait(3 + len(left) / 20)
            finally:
                r.far[k].kill()
                r.far[k].wait()
    if spooled(r):
        r.fail(f"answers are left in the spools of workers {spooled(r)}")
    if len(r.server.requests()) != asked:
        r.fail("resume of the finished run asked something")


def may_repeat(r, workers):
    """These workers will be unreachable for about a term."""
    for k in workers:
        r.blame(r.far[k].pid, "silent")
    r.allow(r.calls, "out of reach")


def blame_again(r, workers):
    """The calls that they started since."""
    for k in workers:
        r.blame(r.far[k].pid, "silent")


def terms(r, least, most):
    """Workers that hear nothing for longer than ORPHAN_S leave, by the rules, and terms are longer on a crowded machine."""
    return min(ORPHAN_S / 2, r.term_ms / 1000 * r.rng.uniform(least, most))


def cut(r, links, way, seconds, workers=None):
    which = workers or [r.links.index(link) for link in links]
    may_repeat(r, which)
    r.fault()
    for link in links:
        link.drop(way)
    time.sleep(seconds)
    blame_again(r, which)
    for link in links:
        link.heal()
    r.healed()
    time.sleep(0.2)
    blame_again(r, which)


def kind_net_drop(r):
    "nothing passes between the coordinator and all workers for 0.1 to 10 terms"
    far(r)
    r.some_work(0.02, 0.6)
    cut(r, r.links, "both", terms(r, 0.1, r.rng.choice((1, 3, 10))))


def kind_net_one(r):
    "one worker of several is out of reach for 0.1 to 10 terms; the others go on"
    far(r)
    r.some_work(0.02, 0.6)
    cut(r, [r.rng.choice(r.links)], r.rng.choice(("both", "in", "out")), terms(r, 0.1, r.rng.choice((1, 3, 10))))


def kind_net_deaf(r):
    "the coordinator hears no worker, and they hear it: a one-way drop"
    far(r)
    r.some_work(0.02, 0.6)
    cut(r, r.links, "in", terms(r, 0.1, r.rng.choice((1, 3))))


def kind_net_mute(r):
    "workers do not hear the coordinator, and it hears them: a one-way drop"
    far(r)
    r.some_work(0.02, 0.6)
    cut(r, r.links, "out", terms(r, 0.1, r.rng.choice((1, 3))))


def storm(r, links, seconds):
    end = time.monotonic() + seconds
    r.fault()
    while time.monotonic() < end and not r.is_over():
        for link in links:
            link.reset()
        time.sleep(0.02)
        for link in links:
            link.heal()
        time.sleep(r.rng.uniform(0.05, 0.5))
    r.healed()


def kind_net_reset(r):
    "every connection is reset, each 50 to 500 ms"
    far(r)
    r.some_work(0.0, 0.3)
    may_repeat(r, r.far)
    storm(r, r.links, r.rng.uniform(0.5, 3))
    blame_again(r, r.far)


def kind_net_loss(r):
    "1, 5 or 30 % of the packets are lost, both ways"
    far(r)
    may_repeat(r, r.far)
    r.some_work(0.0, 0.2)
    r.fault()
    percent = r.rng.choice((1, 5, 30))
    for link in r.links:
        link.loss(percent)
    r.some_work(0.8, 0.95)
    blame_again(r, r.far)
    for link in r.links:
        link.heal()
    r.healed()


def kind_net_slow(r):
    "64 kbit/s between the coordinator and the workers, for two to four seconds"
    far(r, workers=2)
    may_repeat(r, r.far)
    r.some_work(0.0, 0.2)
    r.fault()
    for link in r.links:
        link.slow("64kbit")
    time.sleep(r.rng.uniform(2, 4))
    blame_again(r, r.far)
    for link in r.links:
        link.fast()
    r.healed()


def kind_net_swizzle(r):
    "links are cut one after the other, and heal in another order"
    far(r, workers=5)
    r.some_work(0.0, 0.3)
    may_repeat(r, r.far)
    r.fault()
    for heal in (False, True):
        links = list(r.links)
        r.rng.shuffle(links)
        for link in links:
            if heal:
                link.heal()
            else:
                link.drop(r.rng.choice(("both", "in", "out")))
            time.sleep(terms(r, 0, 0.7))
            blame_again(r, r.far)
    r.healed()


def kind_net_flap(r):
    "links fail in every way by turns, and the coordinator or a worker is killed meanwhile"
    far(r)
    r.some_work(0.0, 0.3)
    may_repeat(r, r.far)
    r.fault()
    victim = r.rng.choice(("nobody", "coordinator", "worker"))
    for turn in range(r.rng.randint(3, 12)):
        link = r.rng.choice(r.links)
        r.rng.choice((link.heal, link.reset, link.drop, lambda: link.drop("in"), lambda: link.drop("out"), lambda: link.loss(30)))()
        time.sleep(r.rng.choice((0.02, 0.1, 0.3, 0.8)))
        blame_again(r, r.far)
        if turn == 1 and victim == "coordinator" and not r.is_over():
            r.kill_coordinator()
            r.resume("--listen", f"0.0.0.0:{PORT}")
        if turn == 1 and victim == "worker":
            k = r.rng.choice(list(r.far))
            r.kill_worker(r.far[k].pid)
            r.far[k].wait()
            join(r, k)
    blame_again(r, r.far)
    for link in r.links:
        link.heal()
    r.healed()


def hosts(r):
    """The workers are there, in four groups by their links: one host is cut off, one is slow, one vanishes and comes back with an old clock."""
    clock = faketime_library()
    groups = [[k for k in r.far if k % len(r.links) % 4 == host] for host in range(4)]
    links = [[link for i, link in enumerate(r.links) if i % 4 == host] for host in range(4)]
    cut_off, slow, vanishes = range(3)
    many = len(groups[vanishes]) > 10  # their links are cut; killing them one by one takes longer than a term
    may_repeat(r, groups[cut_off] + groups[slow] + (groups[vanishes] if many else []))
    r.fault()
    for link in links[slow]:
        link.slow("256kbit" if len(r.links) == len(r.far) else "4mbit")
    for link in links[vanishes]:  # the host vanishes with all its processes
        link.drop()
    for k in groups[vanishes]:
        r.kill_worker(r.far[k].pid)
    cut(r, links[cut_off], "both", terms(r, 0.5, 2), groups[cut_off])
    for k in groups[vanishes]:
        r.far[k].wait()
    for link in links[vanishes]:
        link.heal()
    for k in groups[vanishes]:
        join(r, k, {"LD_PRELOAD": clock, "FAKETIME": "-365d", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"})
    time.sleep(terms(r, 0, 1))
    blame_again(r, groups[slow])
    for link in links[slow]:
        link.fast()
    r.healed()


def kind_net_hosts(r):
    """16 workers on four hosts: one host is cut off for a term, one has a slow link, one vanishes and comes back with a clock of last year"""
    if faketime_library() is None:
        r.skip("libfaketime is not installed (deploy/install-deps --ci)")
    far(r, workers=16)
    r.some_work(0.0, 0.2)
    hosts(r)


def vibeq(r, *words):
    return subprocess.run(list(map(str, r.vibeq(*words))), env=r.env, cwd=r.dir, capture_output=True, text=True, timeout=60, check=False)


def kind_net_hosts_large(r):
    "the same with 500 workers of one call at a time, on twenty links"
    if faketime_library() is None:
        r.skip("libfaketime is not installed (deploy/install-deps --ci)")
    n = int(os.environ.get("VQ_CROWD", CROWD))
    far(r, workers=n, links=LINKS, samples=2 * n, stages=1, judges=2, concurrency=n, latency="uniform:200ms:500ms", term_ms=max(1000, 4 * n),
        paused=True)
    r.wait_for(f"{n} workers", lambda: len(json.loads(vibeq(r, "status", r.name, "--json").stdout or "{}").get("workers", [])) == n, 240, 0.5)
    r.figures["workers"] = n
    if vibeq(r, "ctl", r.name, "resume").returncode != DONE:
        r.fail("vibeq ctl resume was refused")
    r.some_work(0.05, 0.2)
    hosts(r)


kind_net_hosts_large.apart = True  # not among all kinds: tests/chaos/run net_hosts_large has it
kind_net_hosts_large.seconds_max = 900


# ---- a shared Redis ----

def kind_redis_drop(r):
    "nothing passes to the shared Redis, or nothing comes from it, for 0.1 to 10 terms"
    far(r, redis=True)
    r.some_work(0.0, 0.7)
    r.fault()
    r.redis_link.drop(r.rng.choice(("both", "in", "out")))
    time.sleep(terms(r, 0.1, r.rng.choice((1, 3, 10))))
    r.redis_link.heal()
    r.healed()


def kind_redis_reset(r):
    "connections to the shared Redis are reset, each 50 to 500 ms"
    far(r, redis=True)
    r.some_work(0.0, 0.4)
    storm(r, [r.redis_link], r.rng.uniform(0.5, 3))


def kind_redis_stall(r):
    "the shared Redis stands still for 0.1 to 7 s, longer than a command's deadline"
    far(r, redis=True)
    r.some_work(0.0, 0.7)
    r.fault()
    r.send(r.redis_server.pid, signal.SIGSTOP)
    time.sleep(r.rng.choice((0.1, 1, 3, 7)))
    r.send(r.redis_server.pid, signal.SIGCONT)
    r.healed()


def kind_redis_gone(r):
    "the shared Redis is killed behind a cut link, loses its data or not, and comes back"
    far(r, redis=True)
    r.some_work(0.0, 0.7)
    r.fault()
    r.redis_link.drop()
    r.redis_server.kill()
    r.redis_server.wait()
    if r.rng.random() < 0.5:
        shutil.rmtree(r.dir / "far-redis", ignore_errors=True)
        (r.dir / "far-redis").mkdir()
    far_redis(r)
    time.sleep(terms(r, 0, 2))
    r.redis_link.heal()
    r.healed()
