"""Dialogues under the disturbances of other runs: kinds of the other files with `vibeq chat` (chat_NAME) and with method persona
(persona_NAME) as their job (work.py). All dialogues, ratings and results are, byte for byte, those of an undisturbed run. Also dialogues with
an endpoint that never gives the same answer twice: each stored dialogue really took place, even if several workers made its turns. See
chaos.py."""
import json
import signal
import time

import kinds_endpoint
import kinds_fault
import kinds_kill
import kinds_net
import kinds_proxy
import sick
import work

KILLS = [getattr(kinds_kill, f"kind_{name}") for name in
         ("calm", "worker", "coordinator", "redis", "several", "everything", "stopped_worker", "stopped_coordinator", "crash_loop", "graceful",
          "no_spool", "same_spool", "remote")]
DISKS = [kinds_fault.kind_store_sync, kinds_fault.kind_spool_write]
FAULTS = [kinds_endpoint.kind_c11_lost, kinds_net.kind_net_one, kinds_net.kind_net_flap, kinds_proxy.kind_link_stall, kinds_proxy.kind_link_cut]

AGAIN_SECONDS = 0.4


def with_work(asked, kind):
    def round_of(r):
        r.work = asked
        kind(r)
    round_of.__doc__ = f"{asked.__name__.lower()}: {kind.__doc__}"
    round_of.control = getattr(kind, "control", False)
    return round_of


for asked_by, those in ((work.Chat, KILLS + DISKS), (work.Persona, KILLS + DISKS + FAULTS)):
    globals().update({f"kind_{asked_by.__name__.lower()}_{kind.__name__[5:]}": with_work(asked_by, kind) for kind in those})


class Fickle(sick.Sick):
    """Each answer has a different number. A repeated question waits for its answer, so that the first answer may arrive in between. `held`:
    {earlier turns: their answers}, `again`: the number of repeated questions."""

    def __init__(self, behind):
        super().__init__(behind)
        self.held, self.number, self.again = {}, 0, 0

    def ask(self, request):
        reply = super().ask(request)
        if request.tries > 1:
            with self.lock:
                self.again += 1
            time.sleep(AGAIN_SECONDS)
        if reply.status == 200:
            whole = json.loads(reply.body)
            with self.lock:
                self.number += 1
                said = whole["choices"][0]["message"]["content"] = f"{whole['choices'][0]['message']['content']} [{self.number}]"
                asked = json.loads(request.body)
                self.held.setdefault(key_of(asked["model"], asked["messages"]), set()).add(said)
            reply.body = json.dumps(whole).encode()
        return reply


def key_of(model, messages):
    return json.dumps([model, [(m["role"], m["content"]) for m in messages]])


def check_held(r, fickle):
    """Checks that every answer in a dialogue was given to exactly the turns before it, and that no answer is missing."""
    on = set()
    chains = [json.loads(line)["queries"] for line in (r.dir / "chains.jsonl").read_text().splitlines()]
    for line in (r.run_dir / "chat/dialogues.jsonl").read_text(encoding="utf-8").splitlines():
        talk = json.loads(line)
        name, messages = f"dialogue {talk['chain']} of {talk['model']}", talk["messages"]
        if talk["ended"] or [m["content"] for m in messages[::2]] != chains[talk["chain"]]:
            r.fail(f"{name} is not whole: {talk['ended']}")
        head = [{"role": "system", "content": talk["system"]}] if talk["system"] else []
        for k in range(1, len(messages), 2):
            if messages[k]["content"] not in fickle.held.get(key_of(talk["model"], head + messages[:k]), ()):
                r.fail(f"{name}: answer {k // 2 + 1} was not given to what stands before it")
            on.add(key_of(talk["model"], head + messages[:k]))
    r.figures.update(twice=sum(len(said) > 1 for said in fickle.held.values()), branched=sum(chains[0][0] in key for key in set(fickle.held) - on))


def stand_still(r, pid):
    r.send(pid, signal.SIGSTOP)
    r.blame(pid, "silent")
    r.allow(r.slots + r.unreturned(pid), "worker stood still")


def answer_twice(r, fickle, first):
    """Another worker makes the suspended worker's turn again. Then that worker, or the coordinator, is suspended while both answers arrive. One of
    the answers is in force; the worker with the other one is informed after it continues, or earlier."""
    r.fault()
    stand_still(r, first)
    before, deadline = fickle.again, time.monotonic() + 4 * r.term_ms / 1000
    while fickle.again == before and time.monotonic() < deadline and not r.is_over():
        time.sleep(0.005)
    still = [r.coord.pid] if r.rng.random() < 0.6 else [pid for pid in r.workers() if pid != first]
    for pid in still:
        if pid == r.coord.pid:
            r.send(pid, signal.SIGSTOP)
        else:
            stand_still(r, pid)
    r.send(first, signal.SIGCONT)
    time.sleep(AGAIN_SECONDS * r.rng.choice((0.5, 1.2, 1.5, 2)))
    for pid in still:
        r.send(pid, signal.SIGCONT)
    r.healed()


def kind_chat_fickle(r):
    "chat: the endpoint never says the same twice, workers stand still for terms or are killed, the coordinator too: no dialogue is two in one"
    r.work = work.Chat
    r.set_up(workers=r.rng.randint(2, 3), term_ms=r.rng.choice((600, 1200)))
    fickle = Fickle(r.server.url)
    r.cleanups.append(fickle.stop)
    kinds_endpoint.aim(r, fickle.url())
    r.check_results = lambda: check_held(r, fickle)
    r.start()
    for _ in range(r.rng.randint(1, 3)):
        r.some_work(0.05, 0.7)
        found = kinds_kill.pick(r)
        if r.is_over() or not found:
            return
        what = r.rng.choice(("silent", "silent", "silent", "killed", "coordinator"))
        if what == "killed":
            r.kill_worker(found[0])
        elif what == "coordinator":
            r.kill_coordinator()
            r.resume()
        else:
            answer_twice(r, fickle, found[0])
