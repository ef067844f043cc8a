"""Bytes of the store of a finished run are changed, one to ten at a time, in its pages that hold something: every program that reads it says which file
and page is damaged, or gives what it gave before. Never a crash, never other numbers without a word."""
import random
import shutil

from vqtest import DONE, INTERNAL, Case, main, planted

PAGE = 4096
SEEDS = 10


class DamagedStore(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 30, ("V1", "V2"))
        self.config(("V1", "V2"), judges=1)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        shutil.copytree(self.dir / "runs", self.dir / "whole")
        self.store = self.dir / "runs/calls.lmdb"
        whole = self.store.read_bytes()
        self.used = [p for p in range(len(whole) // PAGE) if any(whole[p * PAGE:(p + 1) * PAGE])]
        self.said = 0

    def damage(self, seed):
        rng = random.Random(seed)
        shutil.rmtree(self.dir / "runs")
        shutil.copytree(self.dir / "whole", self.dir / "runs")
        with open(self.store, "r+b") as file:
            for _ in range(rng.choice((1, 3, 10))):
                at = rng.choice(self.used) * PAGE + rng.randrange(PAGE)
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ (1 << rng.randrange(8))]))

    def test_it_is_said_or_harmless(self):
        results = self.results_bytes("r")
        for seed in range(SEEDS):
            self.damage(seed)
            for words in (("verify", "r"), ("report", "r"), ("store", "check"), ("resume", "r", "--quiet")):
                with self.subTest(seed=seed, words=words):
                    run = self.vibeq(*words, code=None)
                    self.assertIn(run.returncode, (DONE, INTERNAL), run.stderr)
                    if run.returncode == INTERNAL:
                        self.assertIn("calls.lmdb", run.stderr + run.stdout)
                        self.assertNotIn("internal error", run.stderr)
                        self.said += 1
                    self.assertEqual(self.results_bytes("r"), results)
        self.assertGreater(self.said, SEEDS, "most of the damage is seen")


if __name__ == "__main__":
    main()
