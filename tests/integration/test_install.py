"""`make install`: what lands where, under a prefix and under DESTDIR, and that it works from there without the tree."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import vqtest
from vqtest import BIN, Case, planted

BUILD = Path(os.environ.get("VQ_BUILD_DIR", BIN.parent))
EXPECTED = {"bin/vibeq-fleet", "share/man/man1/vibeq-fleet.1", "share/vibeq/slurm/workers.sbatch", "share/vibeq/slurm/run.sbatch",
            "bin/vibeq", "bin/vibeq-worker", "bin/vibeq-offline", "share/man/man1/vibeq.1", "share/man/man1/vibeq-worker.1",
            "share/man/man1/vibeq-offline.1", "share/bash-completion/completions/vibeq", "share/zsh/site-functions/_vibeq",
            "share/vibeq/examples/read_results.py", "share/vibeq/examples/read_results.R", "share/doc/vibeq/README.md",
            "share/doc/vibeq/LICENSE", "share/doc/vibeq/CHANGELOG.md"}
EXPECTED |= {f"share/vibeq/examples/{path.name}" for path in (vqtest.ROOT / "examples").iterdir() if path.suffix in (".csv", ".yaml", ".txt")}
EXPECTED |= {f"share/vibeq/prompts/{path.relative_to(vqtest.ROOT / 'prompts')}" for path in (vqtest.ROOT / "prompts").rglob("*")
             if path.suffix in (".txt", ".yaml")}
EXPECTED |= {f"share/doc/vibeq/{path.relative_to(vqtest.ROOT)}" for path in (vqtest.ROOT / "docs").rglob("*")
             if path.suffix in (".md", ".png") or path.name == "openapi.json"}


class Install(Case):
    def setUp(self):
        super().setUp()
        before = {path: path.read_bytes() for path in BUILD.glob("install_manifest*.txt")}  # `make uninstall` goes by these
        self.addCleanup(self.restore, before)

    def restore(self, manifests):
        for path in set(BUILD.glob("install_manifest*.txt")) - set(manifests):
            path.unlink()
        for path, text in manifests.items():
            path.write_bytes(text)

    def install(self, prefix, *words, destdir=None):
        env = dict(os.environ, **({"DESTDIR": str(destdir)} if destdir else {}))
        run = subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, *words], capture_output=True, text=True, env=env)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def files(self, folder):
        return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}

    def test_under_a_prefix(self):
        self.install(self.dir / "usr")
        self.assertEqual(self.files(self.dir / "usr"), EXPECTED)
        for program in ("vibeq", "vibeq-worker", "vibeq-offline"):
            self.assertTrue(os.access(self.dir / "usr/bin" / program, os.X_OK))

    def test_under_destdir(self):
        self.install("/opt/vibeq", destdir=self.dir / "root")
        self.assertEqual(self.files(self.dir / "root/opt/vibeq"), EXPECTED)

    def test_components_share_no_file_and_are_the_whole(self):
        whole = []
        for component in ("vibeq", "worker", "offline", "docs"):
            self.install(self.dir / component, "--component", component)
            whole += self.files(self.dir / component)
        self.assertEqual(sorted(whole), sorted(EXPECTED))
        self.assertEqual(self.files(self.dir / "worker"), {"bin/vibeq-worker", "share/man/man1/vibeq-worker.1"})

    def test_completion_of_bash_names_the_verbs(self):
        self.install(self.dir / "usr", "--component", "vibeq")
        script = 'source "$1"; COMP_WORDS=(vibeq stat); COMP_CWORD=1; _vibeq; echo "${COMPREPLY[*]}"'
        run = subprocess.run(["bash", "-c", script, "bash", self.dir / "usr/share/bash-completion/completions/vibeq"],
                             capture_output=True, text=True)
        self.assertIn("status", run.stdout.split(), run.stderr)

    def make(self, *words):
        run = subprocess.run(["make", "-s", "-C", vqtest.ROOT, f"BUILD={BUILD}", *words], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout

    def test_uninstall_takes_away_that_and_nothing_else(self):
        (self.dir / "a").write_text("mine")
        self.install(self.dir / "a folder")
        self.make("uninstall")
        self.assertEqual(self.files(self.dir / "a folder"), set())
        self.assertEqual((self.dir / "a").read_text(), "mine")

    def test_make_help_names_what_can_be_made(self):
        said = self.make("help")
        targets = re.search(r"(?m)^\.PHONY: (.*)$", (vqtest.ROOT / "Makefile").read_text()).group(1).split()
        self.assertGreater(len(targets), 10)
        for target in set(targets) - {"help", "all", "deps", "configure", "build"}:
            self.assertIn(f"make {target}", said)

    def test_it_runs_from_there(self):
        """The programs find each other beside themselves, and need nothing of the tree."""
        self.install(self.dir / "usr")
        shutil.copytree(self.dir / "usr/share/vibeq/examples", self.dir / "mine")
        run = subprocess.run([self.dir / "usr/bin/vibeq", "run", "mine/friendly-vs-terse.yaml", "--limit", "10", "--name", "r", "--quiet"],
                             cwd=self.dir, env=self.environment(PATH="/usr/bin:/bin"), capture_output=True, text=True, timeout=90)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.results("r")["data"]["used"], 10)

    def test_installed_prompts_are_the_built_in_ones(self):
        planted(self.dir, 4, ("V1",))
        self.install(self.dir / "usr")
        self.config(("V1",))
        own = ("--set", f"prompts.dir={self.dir / 'usr/share/vibeq/prompts'}")
        show = ("prompts", "show", "judge", "--config", "config.yaml")
        self.assertEqual(self.vibeq(*show).stdout, self.vibeq(*show, *own).stdout)


if __name__ == "__main__":
    vqtest.main()
