# labels: long
"""Everybody is killed everywhere in a discovery: in the middle of every stage and between any two. Some minutes:
ctest --test-dir build -L long -R discover, or VQ_BIN_DIR=build/bin python3 tests/integration/test_discover_kills_long.py"""

import vqtest
from test_discover_kills import CONCURRENCY, JUDGES, Disturbed


class Everybody(Disturbed):
    def everything(self, child):
        return [child.pid, *self.workers(), *self.redis()]

    def test_everything_is_killed_at_every_boundary(self):
        n = self.everywhere(self.boundary, self.everything, True)
        self.check(n * CONCURRENCY * JUDGES)

    def test_everything_is_killed_in_the_middle_of_every_stage(self):
        n = self.everywhere(self.middle, self.everything, True)
        self.check(n * CONCURRENCY * JUDGES)

    def test_the_coordinator_is_killed_at_every_boundary(self):
        self.everywhere(self.boundary, lambda child: [child.pid], True)
        self.check(0)

    def test_the_coordinator_and_a_worker_are_killed_in_the_middle_of_every_stage(self):
        n = self.everywhere(self.middle, lambda child: [child.pid, *self.workers()[:1]], True)
        self.check(n * CONCURRENCY * JUDGES)

    def test_a_worker_is_killed_in_the_middle_of_every_stage(self):
        n = self.everywhere(self.middle, lambda child: self.workers()[:1], False)
        self.check(n * CONCURRENCY * JUDGES)

    def test_every_worker_is_killed_in_the_middle_of_every_stage(self):
        n = self.everywhere(self.middle, lambda child: self.workers(), False)
        self.check(n * CONCURRENCY * JUDGES)

    def test_redis_is_killed_in_the_middle_of_every_stage(self):
        self.everywhere(self.middle, lambda child: self.redis(), False, every=2)
        self.check(0)
        self.assertEqual(self.accounting("r")["unknown"], 0)


if __name__ == "__main__":
    vqtest.main()
