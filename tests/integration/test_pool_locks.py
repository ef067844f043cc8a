"""A provider's key is one run's at a time, or shared by runs that take a share. Real processes, one runs folder."""
import re
import signal

import vqtest
from vqtest import DONE, Case, planted

AXES = ("V1", "V2", "V3", "V4")


class PoolLocks(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 60, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:20ms:60ms")

    def write(self, name, axes, **judge):
        """Its questions are its own, so that nothing comes out of the store."""
        self.config(axes, url=self.server.url, name=f"{name}.yaml", judge={"concurrency": 4, **judge})

    def begin(self, name):
        child = self.start("run", f"{name}.yaml", "--name", name, "--quiet")
        self.wait_for("its log", lambda: child.poll() is not None or (self.dir / "runs" / name / "log").exists())
        return child

    def log(self, name):
        return (self.dir / "runs" / name / "log").read_text(errors="replace")

    def test_a_second_run_waits_and_says_for_whom(self):
        self.write("one", AXES[:2])
        self.write("two", AXES[2:])
        one = self.begin("one")
        self.wait_for("some answers", lambda: len(self.server.answers()) >= 20)
        two = self.begin("two")
        self.wait_for("the reason", lambda: re.search(r'"locked","text":"run ."one." .pid %d ' % one.pid, self.log("two")))
        self.assertEqual(self.settled("two"), 0)
        self.assertIsNone(one.poll(), self.logs())
        self.wait_exit(one, DONE)
        self.wait_exit(two, DONE)
        self.assertEqual(self.results("two")["cells_missing"], 0)
        for run in ("one", "two"):
            self.assertGreater(self.accounting(run)["sent"], 0)
        for path in (self.dir / "runs" / "pools").iterdir():
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            self.assertEqual(path.read_text(), "", path)  # given back

    def test_two_runs_with_shares_go_on_together(self):
        self.write("one", AXES[:2], share=0.5)
        self.write("two", AXES[2:], share=0.5)
        one, two = self.begin("one"), self.begin("two")
        self.wait_for("answers of both", lambda: all(self.settled(run) > 5 for run in ("one", "two")))
        self.wait_exit(one, DONE)
        self.wait_exit(two, DONE)
        self.assertNotIn('"locked"', self.log("one") + self.log("two"))

    def test_a_killed_run_goes_on_at_once_and_another_waits_out_its_term(self):
        self.write("one", AXES[:2])
        self.write("two", AXES[2:])
        one = self.begin("one")
        self.wait_for("some answers", lambda: len(self.server.answers()) >= 20)
        one.send_signal(signal.SIGKILL)
        one.wait()
        two = self.begin("two")
        self.wait_for("the reason", lambda: re.search(r'"locked",.*without giving it back', self.log("two")))
        self.vibeq("resume", "one", "--quiet")  # its own lock does not hold it up
        self.wait_exit(two, DONE)
        self.assertEqual(self.results("one")["cells_missing"], 0)
        self.assertEqual(self.results("two")["cells_missing"], 0)


if __name__ == "__main__":
    vqtest.main()
