"""The files under deploy/ that can be checked in seconds. `make deploy-test` builds the packages and runs everything else."""
import re
import shutil
import subprocess
import unittest

import vqtest
from vqtest import BIN, Case

ROOT = vqtest.ROOT


class Deploy(Case):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "SKIP: there is no systemd-analyze")
    def test_the_units_are_valid_and_hardened(self):
        run = subprocess.run([ROOT / "tests/deploy/units", BIN], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(len(re.findall(r"exposure level for .*: [01]\.\d", run.stdout)), 2)

    def test_the_units_use_options_that_exist(self):
        for unit, *command in (("vibeq-run@", BIN / "vibeq", "run"), ("vibeq-worker@", BIN / "vibeq-worker")):
            start = re.search(r"(?m)^ExecStart=(.*)$", (ROOT / f"deploy/systemd/{unit}.service").read_text()).group(1)
            usage = subprocess.run([*command, "--help"], capture_output=True, text=True).stdout
            options = re.findall(r"--[a-z-]+", start)
            self.assertTrue(options)
            for option in options:
                self.assertRegex(usage, rf"{option}\b")

    def test_the_packages_build_with_what_install_deps_installs(self):
        """Every -dev package of the one list is in the other; Debian 13 has another name for one."""
        control = (ROOT / "deploy/debian/control").read_text()
        needs = set(re.findall(r"[a-z0-9.+-]+-dev\b", control.split("Build-Depends:")[1].split("Standards-Version")[0]))
        listed = subprocess.run([ROOT / "deploy/install-deps", "--list"], capture_output=True, text=True).stdout.split()
        self.assertEqual(needs - {"libmsgpack-c-dev"}, {p for p in listed if p.endswith("-dev")} - {"libc6-dev", "libcmocka-dev"})


if __name__ == "__main__":
    vqtest.main()
