"""Ends that are not the usual one: what cannot be written, read or reached is said, with an exit code that is documented."""
import fcntl
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import termios
import unittest

from vqtest import BIN, DONE, MISSING, STOPPED, USAGE, Case, kept_port, planted

AXES = ["V1", "V2", "V3"]


class Output(Case):
    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_standard_output_that_takes_nothing(self):
        planted(self.dir, 10, AXES)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        for more in (["--json"], []):
            with open("/dev/full", "wb") as full:
                run = subprocess.run([str(BIN / "vibeq"), "resume", "r", "--quiet", *more], cwd=self.dir, env=self.environment(),
                                     stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(run.returncode, STOPPED, run.stderr)
            self.assertIn("standard output", run.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_no_verb_takes_what_it_could_not_print_for_printed(self):
        planted(self.dir, 10, AXES)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet")
        for words in (["version"], ["help"], ["help", "run"], ["list"], ["list", "--json"], ["status", "r"], ["status", "r", "--json"], ["dead", "r"],
                      ["dead", "r", "--json"], ["verify", "r"], ["verify", "r", "--json"], ["export", "r", "vibes"], ["export", "r", "calls"],
                      ["export", "r", "rows", "--format", "jsonl"], ["store", "stat"], ["store", "export"], ["plan", "config.yaml"],
                      ["plan", "config.yaml", "--json"], ["prompts", "show", "judge", "--config", "config.yaml"], ["prompts", "show", "criteria"],
                      ["vibes", "presets"], ["init", "data.csv", "--output", "-"]):
            with self.subTest(" ".join(words)), open("/dev/full", "wb") as full:
                run = subprocess.run([str(BIN / "vibeq"), *words], cwd=self.dir, env=self.environment(), stdin=subprocess.DEVNULL,
                                     stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(run.returncode, STOPPED, run.stderr)
                self.assertEqual(run.stderr.count("vibeq: "), 1, run.stderr)
                self.assertTrue(run.stderr.endswith("vibeq: standard output: No space left on device\n"), run.stderr)

    def test_closed_descriptors_are_no_files_of_the_run(self):
        """What is printed would go into the next file that is opened: the lock, the store."""
        planted(self.dir, 10, AXES)
        self.config()
        for i, closed in enumerate(([1], [2], [1, 2], [0, 1, 2])):
            def close():
                for fd in closed:
                    os.close(fd)
            run = subprocess.run([str(BIN / "vibeq"), "run", "config.yaml", "--name", f"r{i}"], cwd=self.dir, env=self.environment(),
                                 preexec_fn=close, timeout=60)
            self.assertEqual(run.returncode, DONE, closed)
            self.assertEqual((self.dir / f"runs/r{i}/lock").read_bytes(), b"")
            self.assertTrue((self.dir / f"runs/r{i}/results/results.json").exists())
        self.vibeq("store", "check")

    def test_a_reader_that_has_seen_enough_is_no_failure(self):
        planted(self.dir, 10, AXES)
        self.config()
        child = subprocess.Popen([str(BIN / "vibeq"), "run", "config.yaml", "--name", "r", "--quiet"], cwd=self.dir,
                                 env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.children.append(child)
        child.stdout.close()
        self.assertEqual(child.wait(60), DONE, child.stderr.read())
        child.stderr.close()
        child.stdout = child.stderr = None

    def test_a_terminal_that_closes(self):
        """With SIGHUP, as a window that is closed; and without, as to a process of another session."""
        planted(self.dir, 30, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms")
        self.config(url=server.url, judge={"concurrency": 4})
        for name, session in (("signalled", True), ("silent", False)):
            for more in ([], ["--json"]):
                run, before = f"{name}{len(more)}", len(server.answers())
                shutil.rmtree(self.dir / "runs", ignore_errors=True)
                outer, inner = pty.openpty()

                def lead():
                    os.setsid()
                    if session:
                        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
                child = subprocess.Popen([str(BIN / "vibeq"), "run", "config.yaml", "--name", run, *more], cwd=self.dir,
                                         env=self.environment(), stdin=inner, stdout=inner, stderr=inner, preexec_fn=lead)
                self.children.append(child)
                os.close(inner)
                self.wait_for("answers", lambda: child.poll() is not None or len(server.answers()) > before + 20)
                self.assertIsNone(child.poll(), self.logs())
                os.close(outer)
                self.wait_exit(child, DONE)
                self.assertEqual(self.results(run)["cells_missing"], 0)
                self.assertEqual(len(self.log_of("terminal.gone", run)), 1)
                self.assertEqual(self.status(run)["state"], "finished")
                self.assertIn("finished", self.vibeq("list").stdout)
                self.assertIn(f"{run}: finished at", self.vibeq("status", run).stdout)

    def test_nothing_answered_is_no_number(self):
        planted(self.dir, 10, AXES)
        self.config(url=self.offline("--oracle", self.dir / "truth.jsonl", "--fault", "refusal=1,sticky=true").url)
        run = self.vibeq("run", "config.yaml", "--name", "r", code=MISSING)
        self.assertNotIn("nan", run.stdout)
        self.assertIn("no answers on train", run.stdout)
        self.assertEqual(self.results("r")["cells_missing"], 10 * len(AXES) * 2)


class Store(Case):
    def test_no_room_stops_and_nothing_is_bought_twice(self):
        """A limit on the size of files stands for a disk that is full."""
        planted(self.dir, 150, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "2ms")
        self.config(url=server.url, term_ms=2000)

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_400_000, resource.RLIM_INFINITY))
        run = subprocess.run([str(BIN / "vibeq"), "run", "config.yaml", "--name", "r", "--quiet"], cwd=self.dir,
                             env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                             preexec_fn=small_files)
        self.assertEqual(run.returncode, STOPPED, run.stderr)
        self.assertIn("calls.lmdb: no room", run.stderr)
        self.assertIn("vibeq resume r", run.stderr)
        self.vibeq("resume", "r", "--quiet")
        c = self.accounting("r")
        self.assertEqual(c["planned"], c["first_sends"] + c["from_store"] + c["saved_by_lazy_swap"])
        self.assertLessEqual(len(server.requests()) - c["first_sends"], c["unknown"])

    def test_a_run_that_is_refused_for_its_store_leaves_nothing_behind_and_says_so(self):
        planted(self.dir, 4, AXES)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "one", "--quiet")
        (self.dir / "runs/calls.lmdb").chmod(0o644)
        said = self.vibeq("run", "config.yaml", "--name", "two", "--quiet", code=USAGE).stderr
        self.assertIn("chmod 600", said)
        self.assertNotIn("left behind", said)
        self.assertFalse((self.dir / "runs/two").exists())

    def test_a_run_that_was_killed_while_its_folder_was_made(self):
        """What status advises, resume answers with the way on."""
        (self.dir / "runs/early").mkdir(parents=True)
        (self.dir / "runs/early/uid").write_text("0" * 32 + "\n")
        self.assertIn("vibeq resume early starts it, or reports why it cannot", self.vibeq("status", "early", code=USAGE).stderr)
        self.assertIn("`vibeq rm early` removes it", self.vibeq("resume", "early", code=USAGE).stderr)
        self.vibeq("rm", "early")

    def test_status_counts_what_the_store_answered(self):
        planted(self.dir, 10, AXES)
        self.config()
        self.vibeq("run", "config.yaml", "--name", "one", "--quiet")
        self.vibeq("run", "config.yaml", "--name", "two", "--quiet")
        tasks = json.loads(self.vibeq("status", "two", "--json").stdout)["tasks"]
        self.assertEqual(tasks["from_store"], tasks["answered"])
        self.assertEqual(tasks["from_store"], self.accounting("two")["from_store"])
        text = self.vibeq("status", "two").stdout
        self.assertIn(f"{tasks['from_store']} of them from the store", text)
        self.assertNotIn("_", text.replace("offline", ""))
        self.vibeq("resume", "two", "--quiet")
        self.assertNotIn("no worker has a key", self.vibeq("status", "two").stdout, "of a run that is finished")


    def test_a_copy_of_a_run_that_is_removed_leaves_the_run_its_ledger(self):
        planted(self.dir, 10, AXES)
        self.config(judge={"base_url": self.offline("--oracle", self.dir / "truth.jsonl").url})
        self.vibeq("run", "config.yaml", "--name", "night", "--quiet")
        shutil.copytree(self.dir / "runs/night", self.dir / "runs/backup")
        self.vibeq("rm", "backup")
        self.assertIn("no prices set · verified", self.vibeq("verify", "night").stdout)
        calls = self.accounting("night")["sent"]
        self.assertIn(f"calls     {calls}\n", self.vibeq("store", "stat").stdout)
        self.vibeq("rm", "night")
        self.assertIn("calls     0\n", self.vibeq("store", "stat").stdout, "the last one takes them along")


class Spools(Case):
    def test_a_run_whose_spools_hold_answers_is_not_removed_unasked(self):
        planted(self.dir, 60, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "20ms")
        self.config(url=server.url, term_ms=1500, judge={"concurrency": 8})
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.wait_for("answers", lambda: len(server.answers()) > 60)
        child.kill()
        child.wait()
        self.wait_for("answers that no coordinator takes", lambda: self.vibeq("rm", "r", code=USAGE).stderr and len(server.answers()) > 90)
        self.kill_workers()
        said = self.vibeq("rm", "r", code=USAGE).stderr
        self.assertRegex(said, r"the spools of r hold \d+ answered calls .* vibeq resume r collects them")
        self.assertTrue((self.dir / "runs/r/run.yaml").exists())
        self.vibeq("resume", "r", "--quiet")
        self.vibeq("rm", "r")
        self.assertFalse((self.dir / "runs/r").exists())

    def test_a_worker_outlives_its_coordinator_and_dies_under_one_that_started_fewer(self):
        planted(self.dir, 60, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "200ms")
        self.config(url=server.url, term_ms=2000, judge={"concurrency": 20})
        first = self.start("run", "config.yaml", "--name", "r", "--quiet")
        self.wait_for("answers", lambda: len(server.answers()) > 40)
        first.kill()
        first.wait()
        second = self.start("resume", "r", "--workers", "1", "--quiet")
        spool = str(self.dir / "runs" / "r" / "spool" / "1")

        def is_back():
            status = self.vibeq("status", "r", "--json", code=None)
            return status.returncode == 0 and '"local-1"' in status.stdout
        self.wait_for("the orphan", is_back)
        self.wait_for("its tasks", lambda: re.search(r"calls, [1-9]\d* tasks? out at workers,", self.vibeq("status", "r").stdout))
        before = len(server.requests())
        self.wait_for("its calls", lambda: len(server.requests()) > before + 30)
        for pid in self.processes_of(spool, "vibeq-worker"):
            os.kill(pid, signal.SIGKILL)
        self.wait_exit(second, DONE)
        self.assertFalse((self.dir / "runs" / "r" / "spool" / "1" / "spool").exists(), "its spool was taken over")
        c = self.accounting("r")
        received = len(server.requests())  # a worker may die between noting sends and sending: those are unknown
        self.assertGreaterEqual(c["sent"], received)
        self.assertLessEqual(c["sent"] - c["unknown"], received)
        self.assertLessEqual(c["sent"] - c["first_sends"], c["unknown"])


class Reach(Case):
    def test_an_endpoint_that_is_not_there_stops_the_run_and_fails_nothing(self):
        planted(self.dir, 10, AXES)
        holder, port = kept_port()
        self.addCleanup(holder.close)
        self.config(url=f"http://127.0.0.1:{port}/v1")
        run = self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=STOPPED)
        self.assertIn("no worker can call judge", run.stderr)
        self.assertIn("connection", run.stderr)
        status = json.loads(self.vibeq("status", "r", "--json").stdout)
        self.assertEqual(status["tasks"]["failed"], 0)
        self.offline("--oracle", self.dir / "truth.jsonl", "--port", port)
        self.vibeq("resume", "r", "--quiet")
        self.assertEqual(self.results("r")["cells_missing"], 0)


class Refused(Case):
    def test_more_workers_than_a_machine_bears(self):
        planted(self.dir, 10, AXES)
        self.config()
        run = self.vibeq("run", "config.yaml", "--workers", "100000", code=USAGE)
        self.assertIn("--workers", run.stderr)
        self.assertFalse((self.dir / "runs").exists())


if __name__ == "__main__":
    unittest.main()
