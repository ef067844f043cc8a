# labels: slow
"""vibeq verify: a sound run is verified, stopped and going on too; what is wrong with any of its own records is named."""
import json
import re
import shutil
import signal
import socket
import struct
import time

import vqtest
from damaging import AXES, EPOCH, FLAGS, Damaging
from vqtest import INTERNAL, STOPPED, USAGE, Case, planted


class Verify(Damaging):
    def names(self, *texts):
        got = self.vibeq("verify", "r", code=INTERNAL)
        for text in texts:
            self.assertIn(text, got.stdout)
        self.assertRegex(got.stdout.splitlines()[-1], r"^r: .* · \d+ wrong$")
        return got.stdout

    def test_as_it_is(self):
        before = {p: p.stat().st_mtime_ns for p in self.run_dir.rglob("*") if p.is_file()}
        out = self.vibeq("verify", "r").stdout
        calls = self.accounting("r")
        self.assertRegex(out, r"^r: 192 tasks: \d+ answered, \d+ not needed, [1-9]\d* failed, 0 open · "
                              rf"{calls['sent']} calls: {calls['answered']} answered, 0 paid but unused, 0 unknown · "
                              r"paid \$0\.\d\d, paid but unused \$0\.00, unknown \$0\.\d\d · verified\n$")
        said = json.loads(self.vibeq("verify", "r", "--json").stdout)
        self.assertEqual((said["verified"], said["finished"], said["running"], said["wrong"], said["notes"]), (True, True, False, [], []))
        self.assertEqual(said["planned"], said["answered"] + said["not_needed"] + said["failed"])
        self.assertAlmostEqual(said["paid_usd"] + said["unknown_usd"], json.loads((self.run_dir / "accounting.json").read_text())["cost_usd"])
        self.assertEqual(before, {p: p.stat().st_mtime_ns for p in self.run_dir.rglob("*") if p.is_file()}, "nothing was changed")
        self.vibeq("verify", code=USAGE)
        self.vibeq("verify", "r", "r", code=USAGE)
        self.vibeq("verify", "nobody", code=USAGE)

    def test_ledger(self):
        row = self.answered()
        self.delete(b"ledger", self.ledger_key(row["call"]))
        self.names(f"ledger: the answer of call {row['call']} is in force, and the ledger does not have the call",
                   "accounting: accounting.json has answered", "accounting: accounting.json has tokens_in", "dollars")

    def test_rows_that_say_otherwise(self):
        a, b = [r["call"] for r in self.kept().calls.values() if r["end"] == "answer"][:2]
        self.row(a, flags=(FLAGS, bytes([1])))
        self.row(b, epoch=(EPOCH, struct.pack("<Q", 7)))
        self.names(f"answers: call {a} is recorded as paid but unused, and the answer in force is of call {a}",
                   f"ledger: call {b} is of epoch 7, and the run is at 1", "accounting: accounting.json has paid_unused 0, the ledger gives 1")

    def test_a_damaged_row_and_a_damaged_answer(self):
        """A file of this size is looked over before anything in it is used, so that the first damage is all that is said."""
        a, b = [r for r in self.kept().calls.values() if r["end"] == "answer"][:2]

        def spoil(rest):
            rest[-2] ^= 1
        self.rewrite(b"ledger", self.ledger_key(a["call"]), spoil, whole=False)
        self.assertIn(a["call"], self.vibeq("verify", "r", code=INTERNAL).stderr)
        self.rewrite(b"ledger", self.ledger_key(a["call"]), spoil, whole=False)
        self.vibeq("verify", "r")
        self.rewrite(b"answers", b["request"], spoil, whole=False)
        self.assertIn(b["request"].hex(), self.vibeq("verify", "r", code=INTERNAL).stderr)

    def test_an_answer_is_gone(self):
        row = self.answered()
        self.delete(b"answers", row["request"])
        self.names(f"answers: call {row['call']} was answered, and no answer to its question is stored",
                   "tasks: record ", "has no state, and the run is finished", "results: results.json is another than the answers make it",
                   "results: scores.csv is another")

    def test_an_answer_is_another(self):
        row = self.call(end="answer", used=True, repair=False, outcome=1)
        self.rewrite(b"answers", row["request"], lambda rest: rest.replace(b"Model: A", b"Model: B"))
        self.names("results: scores.csv is another than the answers make it, from line ")

    def test_a_failure_is_gone(self):
        request = next(r for r, f in self.kept().failures.items() if f["outcome"])
        self.delete(b"ledger", bytes.fromhex(self.uid) + b"F" + request)
        self.names("tasks: record ", "has no state, and the run is finished")

    def test_the_runs_own_row_is_gone(self):
        self.delete(b"ledger", bytes.fromhex(self.uid) + b"M")
        got = self.vibeq("verify", "r", code=USAGE)
        self.assertIn("has sent no call yet", got.stderr)

    def test_the_store_lost_its_end(self):
        with open(self.dir / "runs/calls.lmdb", "r+b") as file:
            file.truncate(40960)
        self.assertIn("calls.lmdb", self.vibeq("verify", "r", code=INTERNAL).stderr)

    def test_results(self):
        def change(lines):
            lines[7] = lines[7].replace("offline-", "online-")
            return lines
        self.scores(change)
        (self.run_dir / "results/vibes.csv").unlink()
        with open(self.run_dir / "results/rows.csv", "a", encoding="utf-8") as file:
            file.write("more\n")
        rows = len((self.run_dir / "results/rows.csv").read_text().splitlines())
        self.names("results: scores.csv is another than the answers make it, from line 8 on", "results: vibes.csv is missing",
                   f"results: rows.csv is another than the answers make it, from line {rows} on")
        self.json_file("results/results.json", lambda r: r.__setitem__("cells_missing", 99))
        self.names("results: results.json is another")

    def test_without_the_status_it_is_finished_all_the_same(self):
        """status.json may be lost: docs/develop/store.md. What the run is held to may not depend on it."""
        status, scores = self.run_dir / "status.json", self.run_dir / "results/scores.csv"
        sound = scores.read_bytes()
        for text in (None, "", "{", '{"state": "running"}'):
            status.unlink() if text is None else status.write_text(text)
            scores.write_bytes(sound)
            said = json.loads(self.vibeq("verify", "r", "--json").stdout)
            self.assertEqual((said["verified"], said["finished"], said["wrong"]), (True, True, []), text)
            self.assertIn("the store has the mark of a clean end", said["notes"][0])
            scores.write_bytes(sound + b"more\n")
            self.names("results: scores.csv is another than the answers make it")
        status.unlink()
        shutil.rmtree(self.run_dir / "results")
        self.names("results: scores.csv is missing", "results: results.json is missing")

    def test_without_the_status_an_answer_is_gone(self):
        (self.run_dir / "status.json").unlink()
        self.delete(b"answers", self.answered()["request"])
        self.names("tasks: record ", "has no state, and the run is finished")

    def test_accounting(self):
        def change(account):
            account["calls"]["sent"] += 1
            account["calls"]["failed"]["lost"] += 1
            account["cost_usd"] += 0.001
        self.json_file("accounting.json", change)
        self.names("accounting: accounting.json has sent", "accounting: accounting.json has lost", "dollars, the ledger gives")
        (self.run_dir / "accounting.json").unlink()
        self.names("accounting: accounting.json is missing; vibeq resume r writes it again")

    def test_spools(self):
        call = "ee" * 16
        path = self.spool((1, call, self.result(call, 9)), (1, "dd" * 16, self.result("dd" * 16, 9)), (2, call, self.result(call, 0)))
        out = self.vibeq("verify", "r").stdout
        self.assertIn("holds 2 calls that were not committed, 1 of them without an answer; vibeq resume r collects them", out)
        self.assertIn(", 2 in spools", out)
        self.assertTrue(path.exists())
        data = bytearray(path.read_bytes())
        path.write_bytes(data[:-3])
        self.assertIn("bytes of a record that its worker was killed over", self.vibeq("verify", "r").stdout)
        data[80] ^= 1
        path.write_bytes(data)
        self.names("spool: the spool ", "is damaged at byte 52")
        self.spool((1, call, self.result(call, 9)), uid="0f" * 16)
        self.names("spool: the spool ", "holds answers of run 0f0f")


class GoingOn(Case):
    """Stopped, killed, and while it runs."""

    def begin(self, latency="15ms"):
        planted(self.dir, 40, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", latency)
        self.config(AXES, url=self.server.url, judge={"concurrency": 4}, term_ms=1000)
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.wait_for("some answers", lambda: self.settled("r") > 60)
        return child

    def redis(self, *words):
        conf = (self.dir / "runs/r/redis/redis.conf").read_text()
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(re.search(r'^unixsocket "(.*)"$', conf, re.M).group(1))
            words = [str(w).encode() for w in words]
            s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
            return s.recv(65536)

    def test_stopped_and_resumed(self):
        child = self.begin()
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        said = json.loads(self.vibeq("verify", "r", "--json").stdout)
        self.assertTrue(said["verified"] and not said["finished"] and not said["running"] and said["open"] > 0)
        self.assertIn("the run is not finished; vibeq resume r continues it", said["notes"])
        (self.dir / "runs/r/status.json").unlink()
        self.assertEqual(json.loads(self.vibeq("verify", "r", "--json").stdout), said, "a clean stop is no end")
        self.vibeq("resume", "r", "--quiet")
        self.assertRegex(self.vibeq("verify", "r").stdout, r"^r: 480 tasks: .* 0 open .* verified\n$")

    def test_killed(self):
        child = self.begin()
        self.kill_all(child)
        time.sleep(0.1)
        out = self.vibeq("verify", "r").stdout
        self.assertRegex(out, r"spool/\d holds \d+ calls that were not committed")
        self.vibeq("resume", "r", "--quiet")
        out = self.vibeq("verify", "r").stdout
        self.assertRegex(out, r" 0 open · .* verified\n$")
        self.assertNotIn("note", out)

    def test_while_it_runs(self):
        child = self.begin()
        self.vibeq("ctl", "r", "pause")
        said = json.loads(self.vibeq("verify", "r", "--json").stdout)
        self.assertTrue(said["verified"] and said["running"] and said["redis_compared"] and said["open"] > 0, said)
        self.assertIn("the run is active: verify checked its committed part", said["notes"])
        uid = (self.dir / "runs/r/uid").read_text()[:8]
        prefix = f"vibeq:{{r.{uid}}}:"
        column = self.redis("GET", prefix + "0:0")
        at = next(i for i, byte in enumerate(column[column.index(b"\r\n") + 2:]) if byte in (1, 2))
        self.redis("SETRANGE", prefix + "0:0", at, "\x04")
        out = self.vibeq("verify", "r", code=INTERNAL).stdout
        self.assertIn(f"redis: task {at} of stage 0 is N/A there, the store makes it ", out)
        self.assertIn("redis: its tally has 0 tasks that are N/A, its columns have 1", out)
        child.kill()


if __name__ == "__main__":
    vqtest.main()
