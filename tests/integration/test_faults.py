# labels: slow
"""A disk that fails under a run: each sync and write of the call store fails in turn, and some of the spool and of Redis' log. A failed sync stops
the run with a clear message, nothing is written after it and nothing of it is ACKed; `vibeq resume` ends in the same bytes as a
calm run, with nothing bought twice."""
import collections
import json
import os
import signal
import unittest

import vqtest
from vqtest import BIN, DONE, INTERNAL, STOPPED, Case, planted

FAULTY = vqtest.Path(os.environ.get("VQ_BUILD_DIR", BIN.parent)) / "tests" / "libvq-faulty.so"
AXES = ("V1", "V2")
ALL = os.environ.get("VQ_FAULTS") == "all"  # each of them, not some


def sanitized():
    return b"__asan_init" in (BIN / "vibeq").read_bytes() or b"__tsan_init" in (BIN / "vibeq").read_bytes()


@unittest.skipIf(sanitized(), "a sanitizer wants to be the first library")
class Faults(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 10, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "5ms")
        self.config(AXES, judges=1, url=self.server.url, term_ms=500, judge={"concurrency": 4})

    def run_with(self, fault, name, code):
        """A run whose PROGRAM/CALLS:PATTERN:N:ERROR fails (tests/tools/faulty.h); what it said, and the calls on such files."""
        log = self.dir / f"{name}.faults"
        env = {"LD_PRELOAD": str(FAULTY), "VIBEQ_FAULT": fault, "VIBEQ_FAULT_LOG": str(log)}
        run = self.vibeq("run", "config.yaml", "--name", name, "--quiet", "--workers", "1", "--runs", self.dir / name, code=code, env=env)
        return run, [line.split() for line in log.read_text().splitlines()] if log.exists() else []

    def resume(self, name):
        self.vibeq("resume", name, "--quiet", "--workers", "1", "--runs", self.dir / name)
        return (self.dir / name / name / "results/results.json").read_bytes()

    def calm(self, kind, pattern):
        """(results, how many calls of that kind an undisturbed run makes)"""
        _, log = self.run_with(f"vibeq/{kind}:{pattern}:0:EIO", "calm", DONE)
        words = {"sync": ("fsync", "fdatasync"), "write": ("write", "pwrite", "writev")}[kind]
        return (self.dir / "calm/calm/results/results.json").read_bytes(), sum(line[1] in words for line in log)

    def asked_once(self, before, name):
        asked = collections.Counter(x["hash"] for x in self.server.requests()[before:])
        calls = json.loads((self.dir / name / name / "accounting.json").read_text())["calls"]
        self.assertEqual(sum(asked.values()) - len(asked), calls["unknown"], f"{name}: bought again only what is unknown")
        self.assertEqual(calls["unknown"], 0)

    def every(self, kind, pattern, errors, every):
        results, count = self.calm(kind, pattern)
        self.assertGreater(count, 5)
        for n in range(1, count + 1, every):
            error = errors[n // every % len(errors)]
            name, before = f"{kind}-{n}", len(self.server.requests())
            run, log = self.run_with(f"vibeq/{kind}:{pattern}:{n}:{error}", name, None)
            failed = [i for i, line in enumerate(log) if line[2] == "failed"]
            if not failed:  # fewer commits than the calm run had
                self.assertEqual(run.returncode, DONE)
                continue
            if run.returncode == DONE:  # only the note of a clean end could not be made
                self.assertIn("run.not_clean", (self.dir / name / name / "log").read_text())
            else:
                self.assertIn(run.returncode, (INTERNAL, STOPPED), f"{name}: {run.stderr}")
                self.assertIn("calls.lmdb", run.stderr)
                self.assertIn("resume", run.stderr)
            after = [line for line in log[failed[0]:] if line[2] == "ok" and line[0] == log[failed[0]][0]]
            self.assertLessEqual(len(after), 1 if kind == "write" else 0, f"{name}: LMDB may put its head back, nothing else: {after}")
            self.assertEqual(self.resume(name), results, name)
            self.asked_once(before, name)

    def test_each_sync_of_the_store_fails(self):
        self.every("sync", "calls.lmdb$", ("EIO", "EIO:on", "ENOSPC", "ENOSPC:on"), 1 if ALL else 3)

    def test_each_write_of_the_store_fails(self):
        self.every("write", "calls.lmdb$", ("EIO:on", "ENOSPC", "EIO", "ENOSPC:on"), 1 if ALL else 13)

    def test_a_worker_whose_spool_cannot_be_written(self):
        results, _ = self.calm("sync", "calls.lmdb$")
        for fault in ("write:spool/0/spool:20:ENOSPC:on", "torn:spool/0/spool:12:EIO", "space:spool/0/spool:1:ENOSPC"):
            name, before = fault.split(":")[0], len(self.server.requests())
            self.run_with(f"vibeq-worker/{fault}", name, DONE)  # each new worker gets so far
            self.assertEqual((self.dir / name / name / "results/results.json").read_bytes(), results)
            self.asked_once(before, name)
            if name == "write":  # half of a write is mended by the next one, and a smaller booking may do
                self.assertIn("spool.failed", (self.dir / name / name / "workers.log").read_text())


class Spools(Case):
    """What a killed worker's spool may look like afterwards."""

    def setUp(self):
        super().setUp()
        planted(self.dir, 60, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms")
        self.config(AXES, judges=1, url=self.server.url, term_ms=500, judge={"concurrency": 8})

    def killed(self):
        """A run of which nothing lives any more, with calls in the spool of its worker."""
        child = self.start("run", "config.yaml", "--name", "r", "--quiet", "--workers", "1")
        self.wait_for("answers", lambda: len(self.server.answers()) >= 20)
        self.server.freeze()
        self.wait_for("a call on each slot", lambda: self.status("r")["pools"][0]["in_flight"] == 8)
        before = len(self.server.answers())
        os.kill(child.pid, signal.SIGSTOP)  # nothing is ACKed from here on
        self.server.thaw()
        self.wait_for("answers that have no ACK", lambda: len(self.server.answers()) >= before + 8)
        self.settle(lambda: (self.dir / "runs/r/spool/0/spool").stat().st_size, 0.5)
        for pid in self.processes_of(str(self.dir / "runs"), "vibeq-worker"):
            os.kill(pid, signal.SIGKILL)
        child.kill()
        child.wait()
        return self.dir / "runs/r/spool/0/spool"

    def test_damage_in_the_middle_is_named_and_not_used(self):
        spool = self.killed()
        whole = spool.read_bytes()
        self.assertGreater(len(whole), 1000)
        spool.write_bytes(whole[:70] + bytes([whole[70] ^ 1]) + whole[71:])
        run = self.vibeq("resume", "r", "--quiet", "--workers", "1", code=INTERNAL)
        self.assertIn(f"{spool} is damaged at byte 52 of {len(whole)}", run.stderr)
        self.assertIn(f"mv '{spool}'", run.stderr)
        self.assertEqual(self.server.requests()[-1]["unix_ms"], max(x["unix_ms"] for x in self.server.requests()))
        sent = len(self.server.requests())
        self.vibeq("resume", "r", "--quiet", code=INTERNAL)
        self.assertEqual(len(self.server.requests()), sent, "nothing was asked")
        spool.write_bytes(whole)  # a copy was put back
        self.vibeq("resume", "r", "--quiet", "--workers", "1")
        with_it = self.results_bytes("r"), self.accounting("r")
        self.assertEqual(with_it[1]["sent"], len(self.server.requests()))

    def test_without_a_damaged_spool_the_run_goes_on(self):
        spool = self.killed()
        whole = spool.read_bytes()
        spool.write_bytes(whole[:70] + bytes([whole[70] ^ 1]) + whole[71:])
        self.vibeq("resume", "r", "--quiet", "--workers", "1", code=INTERNAL)
        spool.rename(str(spool) + ".damaged")
        self.vibeq("resume", "r", "--quiet", "--workers", "1")
        self.assertEqual(self.results("r")["cells_missing"], 0)
        self.assertLess(self.accounting("r")["sent"], len(self.server.requests()), "what it alone knew of is missing, as was said")

    def test_a_torn_tail_is_named_and_counted(self):
        spool = self.killed()
        os.truncate(spool, spool.stat().st_size - 5)
        run = self.vibeq("resume", "r", "--workers", "1")
        self.assertRegex(run.stderr, r"spool of local worker 0 ends with \d+ bytes of an incomplete record")
        status = json.loads((self.dir / "runs/r/status.json").read_text())
        self.assertEqual(status["recovered"]["spools_torn"], 1)
        self.assertEqual(self.results("r")["cells_missing"], 0)


if __name__ == "__main__":
    vqtest.main()
