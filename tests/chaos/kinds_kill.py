"""Kills, stops and second coordinators. See chaos.py."""
from chaos import STOPPED  # noqa: F401


def kind_calm(r):
    "nothing happens: the control"
    r.set_up()
    r.start()


def kind_coordinator(r):
    "the coordinator is killed at random times, once to three times, and resumed at once or later"
    r.set_up()
    r.start()
    for _ in range(r.rng.choice((1, 1, 2, 3))):
        r.some_time()
        if r.is_over():
            break
        r.kill_coordinator()
        if r.rng.random() < 0.3:
            r.within_lease()
        r.resume()


def kind_worker(r):
    "one to three of four workers are killed"
    r.set_up(workers=4)
    r.start()
    for _ in range(r.rng.randint(1, 3)):
        r.some_work()
        workers = r.workers()
        if r.is_over() or not workers:
            break
        r.kill_worker(r.rng.choice(workers))
