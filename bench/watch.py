"""Shared by the benchmarks: measures the processes of a run while they live."""
import os
import re
import subprocess
import threading
from pathlib import Path

LOOK_S = 0.25
HZ = os.sysconf("SC_CLK_TCK")


class Watch(threading.Thread):
    """Peak memory (resident with its mapped files, and without), CPU time, bytes of the workers' connections."""

    def __init__(self, bench, coordinator):
        super().__init__(daemon=True)
        self.bench, self.coordinator, self.over = bench, coordinator, threading.Event()
        self.peak, self.anon, self.cpu, self.wire, self.names, self.course = {}, {}, {}, {}, {}, {}

    def run(self):
        while not self.over.wait(LOOK_S):
            self.look()

    def look(self):
        workers = self.bench.processes_of(str(self.bench.dir), "vibeq-worker")
        redis = self.bench.processes_of(str(self.bench.dir), "redis")
        for name, pids in (("coordinator", [self.coordinator]), ("worker", workers), ("redis", redis),
                           ("server", [self.bench.server.process.pid])):
            for pid in pids:
                self.process(name, pid)
        self.sockets(set(workers))

    def process(self, name, pid):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return
        found = dict(re.findall(r"(VmHWM|RssAnon):\s+(\d+)", status))
        if "VmHWM" in found:
            self.names[pid] = name
            self.peak[pid] = int(found["VmHWM"]) * 1024
            self.anon[pid] = max(self.anon.get(pid, 0), int(found["RssAnon"]) * 1024)
            self.course.setdefault(pid, []).append(int(found["RssAnon"]) * 1024)
            self.cpu[pid] = (int(stat[11]) + int(stat[12])) / HZ

    def sockets(self, workers):
        """For each worker's connection, at the coordinator's end: [bytes out, bytes in]."""
        try:
            text = subprocess.run(["ss", "-tinpHO"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return
        lines = [line.split() for line in text.splitlines()]
        lines = [(line[3].rpartition(":")[2], line[4].rpartition(":")[2], " ".join(line[5:])) for line in lines if len(line) > 5]
        theirs = {(far, near) for near, far, words in lines if any(f"pid={pid}," in words for pid in workers)}
        for near, far, words in lines:
            if (near, far) in theirs and f"pid={self.coordinator}," in words:
                numbers = {name: int(n) for name, n in re.findall(r"(bytes_sent|bytes_received):(\d+)", words)}
                self.wire[near, far] = [numbers.get("bytes_sent", 0), numbers.get("bytes_received", 0)]

    def most(self, name, anon=False):
        """The peak in MiB."""
        return max((n for pid, n in (self.anon if anon else self.peak).items() if self.names[pid] == name), default=0) / 2**20

    def quarters(self, name):
        """Memory without mapped files, in MiB, after a quarter, half, three quarters and all of the time."""
        seen = max((self.course[pid] for pid in self.course if self.names[pid] == name), key=len, default=[0])
        return ", ".join(f"{seen[(len(seen) - 1) * k // 4] / 2**20:.0f}" for k in range(1, 5))

    def seconds(self, name):
        return sum(n for pid, n in self.cpu.items() if self.names[pid] == name)
