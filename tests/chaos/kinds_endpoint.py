"""The endpoint misbehaves in all ways, C1 to C12 of the test matrix. chaos.py describes a round, sick.py the server between workers and
endpoint. Here calls of living workers are repeated on purpose, each because the call before it failed: `end` checks this instead."""
import collections
import json
import os
import shutil
import subprocess
import time

import sick
from chaos import BIN, DONE, MISSING, STOPPED

DEADLINES = {"connect_timeout_ms": 1000, "first_byte_timeout_ms": 800, "total_timeout_ms": 1600}
WORKER_MIB_MAX = 160  # of which 64 are bodies of 16 calls; a sanitizer needs more


def mib_max():
    return WORKER_MIB_MAX if b"__asan_init" not in (BIN / "vibeq-worker").read_bytes() else 1000


def more_tries(r, n=20):
    config = r.dir / "config.yaml"
    config.write_text(config.read_text().replace("judging: {", f"judging: {{tries_max: {n}, ", 1))


def through(r, names, share, tries=1, behind=(), **more):
    """A sick server between the workers and the endpoint; the run is started."""
    r.set_up(workers=more.pop("workers", None), lazy=True, stages=1, offline=behind, judge={**DEADLINES, **more.pop("judge", {})})
    server = sick.Sick(r.server.url, sick.now_and_then(names, share, r.seed, tries), **more)
    r.cleanups.append(server.stop)
    aim(r, server.url())
    more_tries(r)
    r.peaks = sick.Peaks(r.workers)
    r.fault()
    r.start()
    return server


def aim(r, url):
    config = r.dir / "config.yaml"
    config.write_text(config.read_text().replace(r.server.url, url))


def end(r, codes=(), verify=True):
    """Resumes until the run is done, then checks it: the misbehaviour shows only in the ledger, and there completely."""
    r.finished = r.between = True
    for _ in range(12):
        if r.coord is None:
            r.resume()
        code = r.coord.wait(90)
        r.coord = None
        if code == DONE:
            break
        if code not in codes:
            r.fail(f"the coordinator ended with {code}")
        if code == MISSING:
            r.resume("--retry-failed")
    else:
        r.fail("resumed twelve times, and not done")
    r.healed()
    if hasattr(r, "peaks") and r.peaks.stop() > mib_max():
        r.fail(f"a worker took {r.peaks.most:.0f} MiB")
    if not verify:
        return
    r.collect_late()
    r.check_results()
    check_calls(r)
    r.check_ends()
    r.audit()


def check_calls(r):
    calls, requests = r.accounting(), r.server.requests()
    if len({x["call"] for x in requests}) != len(requests):
        r.fail("two requests with one call id")
    never_sent = calls["failed"]["network"]
    may_be = calls["failed"]["lost"] + calls["unknown"]  # broken on the way to the endpoint
    if not calls["sent"] - never_sent - may_be <= len(requests) <= calls["sent"]:
        r.fail(f"{len(requests)} requests, and the ledger says {calls}")
    asked = collections.Counter(x["hash"] for x in requests)
    repeats = sum(asked.values()) - len(asked)
    if repeats > calls["retried"] + calls["repairs"] + calls["asked_again"] + calls["unknown"]:
        r.fail(f"{repeats} calls repeated, and the ledger says {calls}")
    r.figures.update(calls=len(requests), repeats=repeats, unknown=calls["unknown"], unused=calls["paid_unused"], unlisted=0)


def met(r, server, names):
    if not {x.sick for x in server.requests} & set(names):
        r.fail("no request met any sickness")
    r.met()


def after_some(r):
    """The beginning and the number of faults, counted in requests: by the clock, they would be over before a slow machine has started."""
    return f"from={r.rng.randint(5, 100)},count={r.rng.randint(2, 12)}"


def kind_c01_storm(r):
    "C1: for a while every call is refused, with a Retry-After of every kind; none comes before its time"
    says = r.rng.choice(("1", "date:2", "ms:600", "absent", "-5", "soon", "right"))
    r.set_up(workers=1, offline=("--fault", f"rate_limit=1,{after_some(r)},retry_after={says}"))
    r.fault()
    r.start()
    end(r)
    stated_ms = {"1": 1000, "date:2": 900, "ms:600": 600}.get(says, 0)
    answers, model = {a["n"]: a for a in r.server.answers()}, {x["n"]: x["model"] for x in r.server.requests()}
    for n, answer in answers.items():
        if answer["status"] == 429 and stated_ms:
            at = answer["unix_ms"]
            early = [x["unix_ms"] - at for x in r.server.requests() if x["model"] == model[n] and at + 250 < x["unix_ms"] < at + stated_ms]
            if early:
                r.fail(f"asked {early} ms after a refusal that stated {stated_ms} ms")
    refused = sum(a["status"] == 429 for a in answers.values())
    r.met(refused)
    if refused > 12 * r.slots or refused != r.accounting()["failed"]["rate"]:
        r.fail(f"{refused} refusals, and the ledger says {r.accounting()['failed']}")


def kind_c02_refused(r):
    "C2: no money, a refused key, a forbidden model: the run stops with a message, fails no task and goes on when it is mended"
    fault = r.rng.choice(("bad_key", "no_money", "forbidden", "quota", "spend_limit", "no_model"))
    r.set_up(offline=("--fault", f"{fault}=1,{after_some(r)}"))
    r.fault()
    r.start()
    end(r, codes=(STOPPED,))
    refused = sum(a["status"] != 200 for a in r.server.answers())
    r.met(refused)
    if refused > 6 * r.slots * r.workers_n:
        r.fail(f"{refused} calls although nothing could come of them")


def kind_c03_errors(r):
    "C3: errors 500 to 529 in all mixtures"
    p = r.rng.uniform(0.02, 0.12)
    faults = ("server_error", "bad_gateway", "unavailable", "gateway_timeout", "overloaded")
    r.set_up(stages=1, offline=[word for fault in faults for word in ("--fault", f"{fault}={p:.3f}")])
    more_tries(r)
    r.fault()
    r.start()
    end(r)
    failed = sum(a["status"] != 200 for a in r.server.answers())
    r.met(failed)
    if r.accounting()["retried"] != failed:
        r.fail(f"{failed} failures, and {r.accounting()['retried']} retries")


def kind_c04_hang(r):
    "C4: answers that stop before, in and behind headers and body"
    names = sick.ways("C4")
    server = through(r, names, 0.2)
    end(r)
    met(r, server, names)
    for x in server.requests:
        least = 0.4 if x.sick in ("hang_before_headers", "hang_mid_headers") else 0.8  # a busy machine gets a request late
        if x.waited_s is not None and not least < x.waited_s:
            r.fail(f"{x.sick} was left after {x.waited_s:.2f} s")


def kind_c05_bytes(r):
    "C5: cut, mislabelled, packed, endless: what is no HTTP, or too much of it"
    names = sick.ways("C5")
    server = through(r, names, 0.4)
    end(r)
    met(r, server, names)


def kind_c06_json(r):
    "C6: HTTP that is well and JSON that is not, cut at every byte, deep, wide, huge, with keys twice"
    names = sick.ways("C6", "mended") + ["json_cut"] * 20
    server = through(r, names, 0.6)
    end(r)
    met(r, server, names)


def kind_c07_verdicts(r):
    "C7: refusals, empty answers, two verdicts, none: missing, and no vote; asked again on request"
    faults = ("refusal", "empty", "null_content", "two_verdicts", "unparseable", "open_thought", "truncated")
    r.set_up(lazy=False, stages=1, offline=[w for f in faults for w in ("--fault", f"{f}=0.04,tries=1,contains=<output_a>")], workers=2)
    r.fault()
    r.start()
    end(r, codes=(MISSING,), verify=False)
    spoiled = {a["fault"] for a in r.server.answers()} - {None}
    if not spoiled:
        r.fail("no answer was spoiled")
    r.met()
    r.collect_late()
    got, expected = json.loads((r.run_dir / "results/results.json").read_text()), json.loads(r.expected["results/results.json"])
    if got["cells_missing"] != 0 or [v["separability"] for v in got["vibes"]] != [v["separability"] for v in expected["vibes"]]:
        r.fail("asked again, it does not say the same")
    check_calls(r)
    r.check_ends()
    r.audit()


def kind_c08_tls(r):
    "C8: now and then the server's certificate is expired, of another host or nobody's, the handshake breaks, or it is no TLS"
    certs = sick.certificates(r.dir / "certs")
    contexts = {name: sick.tls_of(certs, name) for name in ("good", "expired", "wronghost", "selfsigned")}
    bad, draw = [], r.rng

    def choose():
        name = draw.choice(("good", "good", "good", "expired", "wronghost", "selfsigned", "none"))
        if name == "none":
            raise sick.Gone
        if name != "good":
            bad.append(name)
        return contexts[name]
    r.env["SSL_CERT_FILE"] = str(certs / "ca.pem")
    server = through(r, ["closed_without_answer"], 0.1, tls=choose, judge={"connect_timeout_ms": 1500}, workers=2)
    end(r, codes=(STOPPED,))
    if not bad or not server.requests:
        r.fail("it met no bad certificate")
    r.met()
    others = [x for x in server.requests if x.context is not contexts["good"]]
    if others:
        r.fail(f"{len(others)} requests were sent to who was not to be trusted")


def kind_c09_redirect(r):
    "C9: a redirect elsewhere is not followed; the run stops and says so, and goes on when it is mended"
    target = sick.Sick(plan=lambda _: "nothing")
    r.cleanups.append(target.stop)
    where = r.rng.choice((f"http://127.0.0.1:{target.port}/v1/chat/completions", f"https://elsewhere.example:{target.port}/", "file:///etc/passwd"))
    r.set_up(offline=("--fault", f"redirect=1,variant={where},{after_some(r)}"))
    r.fault()
    r.start()
    end(r, codes=(STOPPED,))
    if target.knocks:
        r.fail("the redirect was followed")
    if "redirect" not in r.said():
        r.fail("nothing was said of the redirect")
    r.met()


def kind_c10_slow(r):
    "C10: some answers drip, and after a while all take long"
    names = sick.ways("C10")
    server = through(r, names, 0.08, behind=("--fault", f"slow=0.3,after_ms={r.rng.randint(300, 1500)},delay_ms=500"))
    end(r)
    met(r, server, names)


def kind_c11_lost(r):
    "C11: paid, and the answer is lost on the way; workers are killed besides"
    r.set_up(workers=3, offline=("--fault", "lost_answer=0.2"), lazy=True, stages=1)
    more_tries(r)
    r.start()
    r.some_work()
    if not r.is_over() and r.workers():
        r.kill_worker(r.rng.choice(r.workers()))
    end(r)
    calls, lost = r.accounting(), sum(x["event"] == "lost" and x["why"] == "fault" for x in r.server.log())
    r.met(lost)
    if not lost - calls["unknown"] <= calls["failed"]["lost"] <= lost + r.slots:
        r.fail(f"{lost} answers were lost, and the ledger says {calls}")


def kind_c12_names(r):
    "C12: the endpoint's name cannot be looked up for a while, or leads where nobody is"
    if os.geteuid() != 0 or shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        r.skip("a name server of its own needs root and mount namespaces")
    certs = sick.certificates(r.dir / "certs", "judge.vibeq.test")
    address = f"127.{r.rng.randint(1, 254)}.{r.rng.randint(1, 254)}.{r.rng.randint(1, 254)}"
    mode = r.rng.choice(("none", "broken", "silent", "127.88.88.88", "127.88.88.88"))
    names = sick.Names(address, mode)
    r.cleanups.append(names.stop)
    r.env["SSL_CERT_FILE"] = str(certs / "ca.pem")
    (r.dir / "resolv.conf").write_text(f"nameserver {address}\noptions timeout:1 attempts:1\n")
    inner = f'mount --bind "{r.dir}/resolv.conf" /etc/resolv.conf && exec "$@"'
    r.set_up(workers=2, lazy=True, stages=1, judge={**DEADLINES, "first_byte_timeout_ms": 1600},
             runner=("unshare", "-m", "--propagation", "private", "sh", "-c", inner, "sh"))
    server = sick.Sick(r.server.url, tls=sick.tls_of(certs, "good"))
    r.cleanups.append(server.stop)
    aim(r, server.url("judge.vibeq.test"))
    r.fault()
    r.start()
    r.wait_for("the name server to be asked", lambda: names.asked)
    time.sleep(r.rng.uniform(0.2, 0.8) if mode[0] == "1" else r.rng.uniform(0.5, 3.0))
    if server.requests or not names.asked:
        r.fail("the name server was not asked" if not names.asked else "a call went out without an address")
    r.met()
    names.mode = "127.0.0.1"
    end(r, codes=(STOPPED,) if mode[0] != "1" else ())  # a host that has moved is found again, in the same run
    if not server.requests:
        r.fail("no call came by its name")
