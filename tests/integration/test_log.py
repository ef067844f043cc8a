"""vibeq log, and a log that is renamed under a run (SIGUSR1, as logrotate does). Real processes."""
import os
import re
import signal
import subprocess

from test_ctl import Ctl
from vqtest import BIN, DONE, STOPPED, USAGE, main, whole_lines

LINE = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}  (error|warn |info |debug)  \S+"


class Log(Ctl):
    def follow(self):
        with open(self.dir / "follow.out", "wb") as out:
            child = subprocess.Popen([str(BIN / "vibeq"), "log", "r", "--follow"], cwd=self.dir, env=self.environment(), stdout=out,
                                     stderr=out)
        self.children.append(child)
        return child

    def followed(self):
        return (self.dir / "follow.out").read_text()

    def test_a_log_that_is_renamed_under_a_run(self):
        self.slow()
        child = self.begin()
        follower = self.follow()
        self.wait_for("the first lines", lambda: "worker" in self.followed())
        log, old = self.dir / "runs/r/log", self.dir / "runs/r/log.1"
        for turn in range(3):
            os.rename(log, old.with_suffix(f".{turn}"))
            child.send_signal(signal.SIGUSR1)
            self.wait_for("the new log", lambda: log.exists() and self.log_of("log.reopened"))
            self.wait_for("the follower", lambda: self.followed().count(" log.reopened") == turn + 1)
        self.assertIn("paused", self.ctl("pause").stdout)
        self.wait_for("the command in the new log", lambda: self.log_of("ctl"))
        self.assertFalse([line for turn in range(3) for line in whole_lines(old.with_suffix(f".{turn}")) if line["event"] == "ctl"])
        self.wait_for("the command at the follower", lambda: " ctl " in self.followed())
        log.rename(old)
        log.mkdir()  # it cannot be opened: the old file stays in use
        child.send_signal(signal.SIGUSR1)
        self.wait_for("the failure", lambda: [line for line in whole_lines(old) if line["event"] == "log.not_reopened"])
        log.rmdir()
        os.rename(old, log)
        self.ctl("resume")
        self.wait_exit(child, DONE)
        self.wait_exit(follower, DONE)
        for line in self.followed().splitlines():
            self.assertRegex(line, LINE)

    def test_a_log_is_printed_for_people(self):
        self.slow()
        child = self.begin()
        child.terminate()
        self.wait_exit(child, STOPPED)
        lines = self.vibeq("log", "r").stdout.splitlines()
        self.assertEqual(len(lines), len(whole_lines(self.dir / "runs/r/log")))
        for line in lines:
            self.assertRegex(line, LINE)
        with open(self.dir / "runs/r/log", "ab") as log:
            log.write(b"\xff\x1b[31mred\r\n" + b"x" * 100_000 + b"\n" + b'{"time":"2026-11-27T20:53:01.123Z","mono_ms":1,"level":"error",'
                      b'"event":"test","why":"It \\u001b[2J failed."}\n{"time":"2026-11-27T2')
        shown = self.vibeq("log", "r", "--follow", "--level", "error").stdout
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("\r", shown)
        self.assertIn("\N{REPLACEMENT CHARACTER} [31mred \n", shown)
        self.assertIn("error  test              : It  [2J failed.\n", shown)
        self.assertTrue(shown.endswith('\n{"time":"2026-11-27T2\n'))
        self.assertEqual(re.findall(r"(?m)  (warn|info|debug)", shown), [])
        self.assertIn("there is no level 'loud'", self.vibeq("log", "r", "--level", "loud", code=USAGE).stderr)
        self.assertIn("name one run", self.vibeq("log", code=USAGE).stderr)
        self.assertIn("no run nine", self.vibeq("log", "nine", code=USAGE).stderr)


if __name__ == "__main__":
    main()
