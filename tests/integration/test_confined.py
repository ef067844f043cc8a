# labels: root
"""A run as a container runtime starts it: an unprivileged user without HOME, everything but one folder read-only, memory limited; and a
worker as on another machine, the same way. Needs root; skips loudly elsewhere."""
import os
import shlex
import shutil
import subprocess
import unittest
from pathlib import Path

import vqtest
from vqtest import BIN, DONE, Case, planted

AXES = ("V1", "V2")
NOBODY = 65534
MEMORY_BYTES = 128 << 20  # coordinator, Redis, two workers and the offline judge together
MOUNTS = """set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -o remount,ro,bind /
cd "$1"
exec setpriv --reuid {0} --regid {0} --clear-groups env -i PATH=/usr/bin:/bin TMPDIR="$1" sh -c "$2"
""".format(NOBODY)


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    for program in ("unshare", "setpriv"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    probe = subprocess.run(["unshare", "-m", "sh", "-c", "mount --make-rprivate / && mount -o remount,ro,bind / && ! touch /vibeq-probe"],
                           capture_output=True, check=False)
    return None if probe.returncode == 0 else f"the root of a mount namespace cannot be made read-only: {probe.stderr.decode().strip()}"


def memory_group():
    """A new memory cgroup of this process's, of version 2 or 1; None where there is none to write to."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        first = not controllers
        base = Path("/sys/fs/cgroup" if first else "/sys/fs/cgroup/memory") / path.lstrip("/")
        limit = "memory.max" if first else "memory.limit_in_bytes"
        if not first and "memory" not in controllers.split(","):
            continue
        group = base / f"vibeq-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / limit).exists():
            return group, limit
        group.rmdir()
    return None


REASON = why_not()


@unittest.skipIf(REASON, f"SKIP: {REASON}")
class Confined(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 60, AXES)
        self.config(AXES)
        for path in (self.dir, *self.dir.iterdir()):
            os.chown(path, NOBODY, NOBODY)

    def confined(self, words, before=()):
        child = subprocess.Popen([*before, "unshare", "-m", "sh", "-c", MOUNTS, "sh", str(self.dir), words], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(child)
        return child

    def ends(self, child, code=DONE):
        text, _ = child.communicate(timeout=90)
        self.assertEqual(child.returncode, code, text)
        return text

    def test_one_writable_folder_is_enough(self):
        text = self.ends(self.confined("touch /var/x /tmp/x; id -u; echo home=$HOME."))
        self.assertEqual(text.count("Read-only file system"), 2, text)
        self.assertIn(f"{NOBODY}\nhome=.", text)
        run = shlex.join([str(BIN / "vibeq"), "run", "config.yaml", "--name", "r", "--runs", "runs"])
        self.ends(self.confined(run))
        self.assertTrue((self.dir / "runs/r/results/results.json").exists())

    def test_a_worker_needs_a_folder_for_its_spool(self):
        run = self.confined(shlex.join([str(BIN / "vibeq"), "run", "config.yaml", "--name", "r", "--runs", "runs", "--workers", "0", "--quiet"]))
        self.wait_for("the certificate", (self.dir / "runs/r/join.cert").exists, 20)
        worker = [str(BIN / "vibeq-worker"), "--join", "runs/r/join.cert"]
        self.assertIn("--spool", self.ends(self.confined(shlex.join(worker)), vqtest.USAGE))
        self.ends(self.confined(shlex.join([*worker, "--spool", "spool"])))
        self.ends(run)

    def test_memory_is_limited(self):
        made = memory_group()
        if made is None:
            self.skipTest("SKIP: there is no memory cgroup to write to")
        group, limit = made
        self.addCleanup(group.rmdir)
        (group / limit).write_text(str(MEMORY_BYTES))
        enter = ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
        run = shlex.join([str(BIN / "vibeq"), "run", "config.yaml", "--name", "r", "--runs", "runs", "--workers", "2"])
        self.ends(self.confined(run, enter))
        peak = next((group / name for name in ("memory.peak", "memory.max_usage_in_bytes") if (group / name).exists()), None)
        if peak is not None:
            print(f"memory at most: {int(peak.read_text()) >> 20} of {MEMORY_BYTES >> 20} MiB")


if __name__ == "__main__":
    vqtest.main()
