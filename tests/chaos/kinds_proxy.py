"""A proxy (proxy.py) that spoils connections: between workers and the coordinator, between workers and the endpoint, between the coordinator
and a shared Redis. No root needed.

Between a worker and the endpoint a cut, late or broken answer was paid for, and its call is made again by the rules. It ends in the ledger
as lost, bad response or similar, and such repeats are compared with the ledger's own count instead of the workers'."""
import os
import time

from chaos import BIN, REDIS
from proxy import Proxy
from vqtest import kept_port

PASSWORD = "sesame-sesame-9"
PATIENT = ("--set", "judging.tries_max=50", "--set", "attempts.max=0", "--set", "attempts.lost=0", "--set", "attempts.network=0",
           "--set", "attempts.bad_response=0", "--set", "attempts.provider=0")


def proxy_to(r, target=("127.0.0.1", 0), **faults):
    made = Proxy(target, seed=r.rng.randrange(1 << 30), **faults)
    r.cleanups.append(made.stop)
    return made


# ---- workers and the coordinator ----

def linked(r, workers=None, **more):
    """Workers that reach the coordinator through one proxy each: r.proxies, r.far."""
    r.set_up(workers=0, more={"orphan_s": 30}, **more)
    r.start()
    cert = r.run_dir / "join.cert"
    r.wait_for("the certificate", lambda: r.is_over() or cert.exists())
    text = cert.read_text()
    port = int(text.split('endpoint = "tcp://127.0.0.1:')[1].split('"')[0])
    (r.dir / "spool").mkdir()
    r.proxies, r.far = [], []
    for k in range(workers or r.rng.randint(2, 4)):
        r.proxies.append(proxy_to(r, ("127.0.0.1", port)))
        own = r.dir / f"join-{k}.cert"
        own.write_text(text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{r.proxies[k].port}"))
        own.chmod(0o600)
        r.far.append(r.launch([BIN / "vibeq-worker", "--join", own, "--name", f"far-{k}", "--spool", r.dir / "spool" / f"far-{k}"],
                              err=f"far-{k}.err"))


def heal(r):
    for each in r.proxies:
        each.heal()
    r.healed()


def out_of_reach(r):
    """A worker that is unreachable for a term loses its leases: its calls may be repeated."""
    for worker in r.far:
        r.blame(worker.pid, "silent")
    r.allow(r.calls, "out of reach")


def kind_link_delay(r):
    "messages between workers and coordinator are late, by another delay on each connection: they come in another order"
    linked(r)
    r.some_work(0.0, 0.2)
    r.fault()
    for each in r.proxies:
        each.set(delay_ms=r.rng.uniform(0, 60), jitter_ms=r.rng.uniform(0, 60))
    r.some_work(0.6, 0.9)
    heal(r)


def kind_link_far(r):
    "workers are 60 to 90 ms away, a fair part of a short term, and lose their connections"
    linked(r, workers=2, term_ms=600)
    r.some_work(0.0, 0.2)
    out_of_reach(r)
    r.fault()
    for each in r.proxies:
        each.set(delay_ms=r.rng.uniform(60, 90))
    time.sleep(r.rng.uniform(0.1, 1))
    for each in r.proxies:
        each.cut()
    r.some_work(0.6, 0.8)
    out_of_reach(r)
    heal(r)


def kind_link_bytes(r):
    "messages between workers and coordinator come in pieces of 1 to 9 bytes"
    linked(r, workers=2)
    out_of_reach(r)
    r.some_work(0.0, 0.3)
    r.fault()
    for each in r.proxies:
        each.set(chunk=r.rng.randint(1, 9))
    time.sleep(r.rng.uniform(0.5, 1.5))
    out_of_reach(r)
    heal(r)


def kind_link_stall(r):
    "nothing comes through for 0.1 to 5 terms, one way or both, and then all of it"
    linked(r)
    r.some_work(0.0, 0.6)
    out_of_reach(r)
    r.fault()
    for each in r.proxies:
        each.set(stall=r.rng.choice(("up", "down", "both", "")))
    time.sleep(r.term_ms / 1000 * r.rng.uniform(0.1, r.rng.choice((1, 5))))
    out_of_reach(r)
    heal(r)


def kind_link_cut(r):
    "connections of workers are cut in the middle of messages, half closed, refused, and their bytes vanish"
    linked(r)
    r.some_work(0.0, 0.3)
    out_of_reach(r)
    r.fault()
    for _ in range(r.rng.randint(3, 10)):
        each = r.rng.choice(r.proxies)
        each.heal()
        each.set(**r.rng.choice(({"cut_after": 3000}, {"cut_after": 30000}, {"half_close_after": 5000}, {"refuse": True}, {"swallow": "up"},
                                 {"swallow": "down"}, {})))
        each.cut(r.rng.choice((0, 1)))
        time.sleep(r.rng.uniform(0.05, 0.5))
    out_of_reach(r)
    for each in r.proxies:  # connections with swallowed bytes cannot be used any more
        each.heal()
        each.cut()
    r.healed()


# ---- workers and the endpoint ----

def paid_again(r):
    """Calls whose answer was lost on the way are made again: their number is that in the ledger."""
    asked = {}
    for x in r.server.requests():
        asked.setdefault(x["hash"], []).append(x["call"])
    repeats = sum(len(calls) - 1 for calls in asked.values())
    calls = r.accounting()
    r.figures["repeats"] = repeats
    listed = sum(calls["failed"][end] for end in ("lost", "bad_response", "network", "provider"))
    if repeats > listed + calls["unknown"] + calls["paid_unused"]:
        r.fail(f"{repeats} calls were made again, and the ledger has {listed} that were lost: {calls}")


def called(r, **judge):
    """Local workers that reach their judges through a proxy: r.proxy."""
    r.proxy = proxy_to(r)
    r.set_up(url=f"http://127.0.0.1:{r.proxy.port}/v1", judge=judge)
    host, port = r.server.url.split("//")[1].split("/")[0].rsplit(":", 1)
    r.proxy.target = (host, int(port))
    r.check_repeats = lambda: paid_again(r)
    r.unseen_ends = ("lost",)  # the proxy took the request, and did not pass it on
    r.check_limits = lambda: None  # the endpoint continues calls for a moment after their connection was cut
    r.start(*PATIENT)
    r.proxies = [r.proxy]


def kind_call_delay(r):
    "answers are late by a delay and jitter, in pieces of 1 to 50 bytes, and so come in another order"
    called(r)
    r.some_work(0.0, 0.2)
    r.fault()
    r.proxy.set(delay_ms=r.rng.uniform(0, 40), jitter_ms=r.rng.uniform(0, 150), chunk=r.rng.choice((0, 1, 7, 50)))
    r.some_work(0.5, 0.8)
    heal(r)


def kind_call_cut(r):
    "connections to the endpoint are cut after some bytes, half closed, refused"
    called(r)
    r.some_work(0.0, 0.3)
    r.allow(r.calls, "answers lost on the way")
    r.fault()
    for _ in range(r.rng.randint(3, 8)):
        r.proxy.heal()
        r.proxy.set(**r.rng.choice(({"cut_after": 2000}, {"cut_after": 10000}, {"half_close_after": 1500}, {"refuse": True}, {})))
        if r.rng.random() < 0.5:
            r.proxy.cut(r.rng.choice((0.3, 1)))
        time.sleep(r.rng.uniform(0.05, 0.4))
    heal(r)


def kind_call_stall(r):
    "requests or answers stand still for longer than a call may wait, and then come all the same"
    called(r, connect_timeout_ms=500, first_byte_timeout_ms=700, total_timeout_ms=1500)
    r.some_work(0.0, 0.6)
    r.allow(r.calls, "answers came too late")
    r.fault()
    r.proxy.set(stall=r.rng.choice(("up", "down", "both")))
    time.sleep(r.rng.choice((0.2, 0.6, 1, 2)))
    heal(r)


# ---- the coordinator and a shared Redis ----

def kind_redis_proxy(r):
    "the connection to a shared Redis is late, cut, stalled, comes in single bytes"
    if REDIS is None:
        r.skip("there is no redis-server")
    holder, port = kept_port()
    r.cleanups.append(holder.close)
    (r.dir / "shared").mkdir()
    os.symlink(REDIS, r.dir / "redis-server")
    r.launch([r.dir / "redis-server", "--port", port, "--bind", "127.0.0.1", "--requirepass", PASSWORD, "--dir", r.dir / "shared", "--save", ""],
             err="redis.err")
    r.proxies = [proxy_to(r, ("127.0.0.1", port))]
    r.set_up(more={"redis": f'"redis://:{PASSWORD}@127.0.0.1:{r.proxies[0].port}/3"'})
    r.start()
    r.some_work(0.0, 0.4)
    r.fault()
    for _ in range(r.rng.randint(2, 8)):
        r.proxies[0].heal()
        r.proxies[0].set(**r.rng.choice(({"cut_after": 2000}, {"chunk": 3}, {"stall": "down"}, {"stall": "up"}, {"refuse": True}, {"delay_ms": 30.0},
                                         {"half_close_after": 500}, {"swallow": "up"}, {})))
        if r.rng.random() < 0.5:
            r.proxies[0].cut()
        time.sleep(r.rng.uniform(0.05, 0.5))
    heal(r)
    r.proxies[0].cut()
