# labels: slow
"""`vibeq status --watch` on a terminal: bars in its width, a new size, wide characters, no flicker, and the terminal as it was afterwards.
A real run, a pseudo-terminal, and tmux where there is one."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unicodedata
import unittest

import vqtest
from test_ctl import AXES, Ctl
from vqtest import STOPPED

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
FRAME_BEGIN, FRAME_END = "\x1b[?2026h\x1b[H", "\x1b[?2026l"
WIDE = "工作者"


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, words, environment, folder, rows, columns):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.child = subprocess.Popen(words, cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.text = ""
        self.raw = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if select.select([self.master], [], [], max(0, until - time.monotonic()))[0]:
                try:
                    more = os.read(self.master, 1 << 16)
                except OSError:  # the other end is closed
                    return
                self.raw += more
                self.text = self.raw.decode(errors="replace")

    def frames(self):
        """The whole frames so far, each as its lines without colours."""
        frames = [part.split(FRAME_END)[0] for part in self.text.split(FRAME_BEGIN)[1:] if FRAME_END in part]
        return [[re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"\r+\n", frame)] for frame in frames]


class Watch(Ctl):
    def slow(self, **config):
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:500ms:1500ms")
        config.setdefault("judge", {"concurrency": 4})
        return self.config(AXES, url=self.server.url, **config)

    def watched(self, rows, columns):
        environment = {**self.environment(), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        terminal = Terminal([vqtest.BIN / "vibeq", "status", "r", "--watch"], environment, self.dir, rows, columns)
        self.addCleanup(terminal.child.kill)
        return terminal

    def test_a_run_on_a_terminal(self):
        self.slow(judge={"concurrency": 4, "price_input_usd": 1, "price_output_usd": 2}, budget="{usd: 5}")
        child = self.begin(10)
        self.join("--name", WIDE)
        self.wait_for("it to join", lambda: len(self.status("r")["workers"]) > 1)
        terminal = self.watched(40, 100)
        terminal.read(4)
        self.assertTrue(terminal.text.startswith(ENTER), "a screen of its own")
        frames = terminal.frames()
        self.assertGreaterEqual(len(frames), 3)
        last = "\n".join(frames[-1])
        for words in ("running", "of 480 settled", "time left", "calls:", "tokens:", "of $5.00", "pools", "offline-a", "judges", "workers", WIDE,
                      "█", "░"):
            self.assertIn(words, last)
        for line in frames[-1]:
            self.assertLessEqual(width(line), 100, line)
        ours, other = [next(line for line in frames[-1] if name in line) for name in (WIDE, "local-")]
        self.assertEqual(width(ours[:ours.index(" holds")]), width(other[:other.index(" holds")]), "columns stand below each other")
        for frame in terminal.text.split(FRAME_BEGIN)[1:]:
            self.assertNotIn("\x1b[2J", frame, "nothing is cleared before it is drawn")
            self.assertEqual(frame.split(FRAME_END)[0].count("\x1b[J"), 1)
            self.assertTrue(frame.split(FRAME_END)[0].endswith("\x1b[J"))
        seen = len(frames)
        terminal.resize(12, 50)
        terminal.read(0.7)
        frames = terminal.frames()[seen:]
        self.assertTrue(frames, "a new size is drawn before the next second")
        self.assertLessEqual(len(frames[-1]), 12)
        for line in frames[-1]:
            self.assertLessEqual(width(line), 50, line)
        os.kill(terminal.child.pid, signal.SIGINT)
        terminal.read(1)
        self.assertEqual(terminal.child.wait(10), -signal.SIGINT)
        self.assertIn(LEAVE, terminal.text[-200:])
        self.assertIn("\x1b[?25h", terminal.text, "the cursor is there again")
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)

    def test_the_end_of_the_run_is_printed(self):
        self.slow()
        child = self.begin(10)
        terminal = self.watched(40, 100)
        terminal.read(2)
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)
        terminal.read(3)
        self.assertEqual(terminal.child.wait(10), 0)
        after = terminal.text.split(LEAVE)[-1]
        self.assertIn("not running since", after, "it is there when the screen is gone")

    @unittest.skipIf(shutil.which("tmux") is None, "no tmux")
    def test_in_tmux(self):
        self.slow()
        child = self.begin(10)
        environment = {**self.environment(), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}

        def tmux(*words):
            return subprocess.run(["tmux", "-S", self.dir / "tmux", *words], cwd=self.dir, env=environment, check=True, capture_output=True,
                                  text=True, timeout=20).stdout
        self.addCleanup(subprocess.run, ["tmux", "-S", self.dir / "tmux", "kill-server"], capture_output=True)
        tmux("-f", "/dev/null", "new-session", "-d", "-x", "90", "-y", "30", f"{vqtest.BIN}/vibeq status r --watch")
        self.wait_for("the screen", lambda: "of 480 settled" in tmux("capture-pane", "-p"))
        tmux("resize-window", "-x", "60", "-y", "20")
        self.wait_for("the new size", lambda: all(width(line) <= 60 for line in tmux("capture-pane", "-p").splitlines())
                      and "settled" in tmux("capture-pane", "-p"))
        lines = tmux("capture-pane", "-p").splitlines()
        self.assertEqual(sum("time left" in line for line in lines), 1, "nothing of the old size is left")
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)


if __name__ == "__main__":
    vqtest.main()
