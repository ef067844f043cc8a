"""What a person types: verbs, help, mistakes. Every mistake is refused before any call with exit code 2, says what to do, and leaves
nothing behind."""
import csv
import json
import os
import pty
import re
import socket
import resource
import subprocess
import threading
from pathlib import Path

import vqtest
from test_redis_faults import Redis
from vqtest import BIN, ROOT, STOPPED, USAGE, Case, kept_port, planted

AXES = ("V1", "V2")
WORDS = ("--models", "alpha,beta", "--judge", "offline-a")
SECRET = "sk-canary-0123456789"
VERBS = "init import check plan run resume status ui ctl log dead verify cert list rm report replay export plot label compare chat store vibes personas prompts help version".split()


def write_csv(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


class CliCase(Case):
    HEAD = ["question", "alpha", "beta", "preference", "topic"]

    def setUp(self):
        super().setUp()
        self.rows = [[f"q{i}", f"a text {i}, first", f"another text {i}: second", ["alpha", "beta", "tie", ""][i % 4], f"t{i % 3}"]
                     for i in range(12)]
        write_csv(self.dir / "data.csv", [self.HEAD] + self.rows)

    def write(self, name, rows):
        write_csv(self.dir / name, rows)
        return name

    def refused(self, *words, says=(), env=None, code=USAGE, **more):
        run = self.vibeq(*words, code=code, env=env, **more)
        for word in says:
            self.assertIn(word, run.stderr)
        self.assertIn("vibeq: ", run.stderr)
        self.assertNotIn(SECRET, run.stdout + run.stderr)
        self.assertEqual(run.stdout, "")
        self.assert_no_run()
        return run

    def assert_no_run(self):
        runs = self.dir / "runs"
        left = [p.name for p in runs.iterdir() if p.is_dir()] if runs.exists() else []
        self.assertEqual(left, [])
        ours = {server.process.pid for server in self.servers}
        self.assertEqual(set(self.processes_of(str(self.dir))) - ours, set())


class Help(CliCase):
    def test_every_verb_explains_itself_in_both_ways(self):
        for verb in VERBS:
            one, two = self.vibeq("help", verb), self.vibeq(verb, "--help")
            self.assertEqual(one.stdout, two.stdout)
            self.assertIn(f"Usage: vibeq {verb}", one.stdout)
            self.assertEqual(one.stderr, "")

    def test_the_overview_names_every_verb_and_every_exit_code(self):
        text = self.vibeq("help").stdout
        self.assertEqual(text, self.vibeq("--help").stdout)
        for verb in VERBS:
            self.assertRegex(text, rf"(?m)^  {verb} ")
        for code in "01234":
            self.assertIn(f"{code} ", text)
        self.assertEqual(self.vibeq(code=USAGE).stderr, text)

    def test_the_version(self):
        self.assertRegex(self.vibeq("--version").stdout, r"^vibeq \d+\.\d+\.\d+\n$")
        self.assertEqual(self.vibeq("version").stdout, self.vibeq("--version").stdout)

    def test_typos_of_verbs_options_and_words_name_the_nearest(self):
        self.refused("rnu", says=["did you mean run?"])
        self.refused("help", "statsu", says=["did you mean status?"])
        self.refused("run", "data.csv", "--lmit", "3", says=["--lmit", "did you mean --limit?"])
        self.refused("store", "stats", says=["did you mean stat?"])
        self.refused("prompts", "shwo", says=["did you mean show?"])
        self.refused("prompts", "show", "jduge", says=["did you mean judge?"])
        self.refused("prompts", "show", "criterai", says=["did you mean criteria?"])
        self.refused("data.csv", says=["vibeq run data.csv"])
        self.refused("zzz", says=["there is no verb 'zzz'"])

    def test_options_are_never_guessed(self):
        self.refused("run", "data.csv", "--limit", "many", says=["--limit takes a whole number"])
        self.refused("run", "data.csv", "--limit", says=["--limit needs a value"])
        self.refused("run", "data.csv", "--quiet=yes", says=["--quiet takes no value"])
        self.refused("run", "data.csv", "--name", "a", "--name", "b", says=["--name is given twice"])
        self.refused("run", "data.csv", "-q", says=["two dashes"])
        self.refused("run", "data.csv", "data.csv", says=["one configuration or data file at a time"])
        self.refused("run", says=["name a configuration or a data file"])
        self.refused("resume", says=["name one run"])
        self.refused("rm", says=["name the runs to remove"])

    def test_what_may_be_a_key_is_not_repeated(self):
        self.refused("run", "data.csv", f"--kye={SECRET}")
        self.refused("run", "data.csv", *WORDS, "--key", SECRET, "--base-url", "https://api.invalid/v1", says=["--key", "env:NAME"])
        self.refused("run", "data.csv", "--models", "alpha,beta", "--judge", "m", "--set", f"judges[0].key={SECRET}", says=["env:NAME"])
        self.refused("run", "data.csv", "--models", "alpha,beta", "--judge", "m", "--base-url", f"https://user:{SECRET}@api.invalid/v1",
                     says=["--base-url", "user or password"])


class Documents(CliCase):
    BUILD = Path(os.environ.get("VQ_BUILD_DIR", BIN.parent))

    def options_of(self, verb):
        return re.findall(r"(?m)^  (--[a-z-]+)", self.vibeq("help", verb).stdout)

    def plain(self, name):
        page = self.BUILD / "deploy" / name
        page = page if page.exists() else vqtest.ROOT / "deploy" / "man" / name
        return re.sub(r"\\f[BIRP]", "", page.read_text(encoding="utf-8")).replace("\\-", "-")

    def test_every_option_stands_in_the_page_of_vibeq(self):
        page = self.plain("vibeq.1")
        self.assertNotIn("@", page.replace("user@", ""))
        for verb in VERBS:
            section = page.split(f".SS vibeq {verb}", 1)[1].split(".SS ", 1)[0].split(".SH ", 1)[0]
            for option in self.options_of(verb):
                self.assertIn(f".B {option}", section, f"{verb} {option}")

    def test_every_option_and_fault_stands_in_the_pages_of_the_other_programs(self):
        for program in ("vibeq-offline", "vibeq-worker"):
            page = self.plain(f"{program}.1")
            text = subprocess.run([BIN / program, "--help"], capture_output=True, text=True, check=True).stdout
            for option in re.findall(r"(?m)^ {2,}(--[a-z-]+)", text):
                self.assertIn(option, page, program)
            for fault in re.findall(r"(?m)^  ([a-z_0-9]+)  ", text.split("Faults:")[-1]):
                self.assertIn(f".B {fault}", page)

    def test_the_pages_are_good_roff(self):
        for name in ("vibeq.1", "vibeq-offline.1", "vibeq-worker.1"):
            page = self.BUILD / "deploy" / name
            page = page if page.exists() else vqtest.ROOT / "deploy" / "man" / name
            try:
                run = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", page], capture_output=True, text=True)
            except FileNotFoundError:
                self.skipTest("SKIP: no groff here")
            self.assertEqual((run.returncode, run.stderr), (0, ""), name)

    def complete(self, *words):
        script = self.BUILD / "deploy" / "completion" / "vibeq"
        line = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _vibeq; printf "%s\\n" "${COMPREPLY[@]}"'
        run = subprocess.run(["bash", "-c", line, "_", script, "vibeq", *words], capture_output=True, text=True, cwd=self.dir,
                             env=self.environment(), check=True)
        self.assertEqual(run.stderr, "")
        return run.stdout.split("\n")[:-1]

    def test_completion_offers_verbs_options_files_and_runs(self):
        self.assertEqual(self.complete(""), VERBS)
        for verb in VERBS:
            self.assertEqual(set(self.complete(verb, "--")), {"--help", *self.options_of(verb)}, verb)
        (self.dir / "runs" / "night").mkdir(parents=True)
        (self.dir / "runs" / "night" / "run.yaml").write_text("")
        self.assertEqual(self.complete("resume", ""), ["night"])
        self.assertEqual(self.complete("run", "da"), ["data.csv"])
        self.assertEqual(self.complete("ctl", "ni"), ["night"])
        self.assertEqual(self.complete("ctl", "night", "pau"), ["pause"])
        self.assertEqual(self.complete("run", "data.csv", "--limit", ""), [""])

    def test_the_metrics_page_is_true(self):
        page = (vqtest.ROOT / "docs" / "use" / "metrics.md").read_text(encoding="utf-8")
        told = dict(re.findall(r"(?m)^\| `(vibeq_[a-z_]+)` \| (gauge|counter|histogram) \|", page))
        planted(self.dir, 30, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "100ms")
        self.config(AXES, url=server.url, budget="{usd: 100}", deadline='"2100-01-01T00:00Z"',
                    judge={"concurrency": 4, "requests_per_minute": 6000, "tokens_per_minute": 6000000, "price_input_usd": 1,
                           "price_output_usd": 1})
        child = self.start("run", "config.yaml", "--name", "r", "--quiet")
        endpoint = self.dir / "runs/r/endpoint.json"
        self.wait_for("workers", endpoint.exists)
        self.wait_for("answers", lambda: self.settled("r") > 0)
        import urllib.request
        address = json.loads(endpoint.read_text())["address"]
        text = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address + "/metrics", timeout=10).read().decode()
        child.terminate()
        self.wait_exit(child, STOPPED)
        self.assertEqual(dict(re.findall(r"(?m)^# TYPE (vibeq_\S+) (\S+)$", text)), told)
        for name in told:
            self.assertRegex(text, rf"(?m)^{name}(_count)?{{")
            labels = set(re.findall(r"(\w+)=", "".join(re.findall(rf"(?m)^{name}(?:_count)?{{(.*)}}", text)))) - {"run"}
            row = re.search(rf"(?m)^\| `{name}` \|.*$", page).group(0)
            self.assertEqual(set(re.findall(r"`(\w+)`", row.split("|")[3])), labels, name)


class Data(CliCase):
    """Mistakes in the data file, each with its place."""

    def test_a_file_that_is_not_there(self):
        self.refused("run", "dta.csv", *WORDS, says=["dta.csv", "No such file"])
        self.refused("run", ".", *WORDS, says=["is a folder"])

    def test_a_file_with_nothing_in_it(self):
        (self.dir / "empty.csv").write_bytes(b"")
        self.refused("run", "empty.csv", *WORDS, says=["is empty"])
        self.write("head.csv", [self.HEAD])
        self.refused("run", "head.csv", *WORDS, says=["no records"])
        self.write("one.csv", [self.HEAD, self.rows[0]])
        self.refused("run", "one.csv", *WORDS, says=["only one record"])

    def test_bad_bytes_are_named_by_line_and_column(self):
        (self.dir / "latin.csv").write_bytes("question,alpha,beta\nq1,a,b\nq2,caf\xe9,b\n".encode("latin-1"))
        self.refused("run", "latin.csv", *WORDS, says=["line 3, column 7", "0xe9", "UTF-8"])
        (self.dir / "wide.csv").write_bytes("question,alpha,beta\nq1,a,b\n".encode("utf-16"))
        self.refused("run", "wide.csv", *WORDS, says=["UTF-16"])
        (self.dir / "nul.csv").write_bytes(b"question,alpha,beta\nq1,a\0,b\n")
        self.refused("run", "nul.csv", *WORDS, says=["line 2", "NUL"])

    def test_broken_records(self):
        self.write("short.csv", [self.HEAD, self.rows[0], ["q", "a"], self.rows[1]])
        self.refused("run", "short.csv", *WORDS, says=["line 3", "2 fields", "has 5"])
        (self.dir / "quote.csv").write_bytes(b'question,alpha,beta\nq1,"open,b\nq2,a,b\n')
        self.refused("run", "quote.csv", *WORDS, says=["line 2", "never closed"])
        (self.dir / "cut.jsonl").write_text('{"question":"q","alpha":"a","beta":"b"}\n{"question":\n')
        self.refused("run", "cut.jsonl", *WORDS, says=["line 2"])
        (self.dir / "list.json").write_text('[{"question":"q","alpha":"a","beta":"b"}]')
        self.refused("run", "list.json", *WORDS, says=["one object a line"])

    def test_columns(self):
        self.refused("run", "data.csv", "--models", "alpha,bta", "--judge", "offline-a", says=['"bta"', 'did you mean "beta"?', '"topic"'])
        self.refused("run", "data.csv", *WORDS, "--prompt", "questoin", says=['did you mean "question"?'])
        self.refused("run", "data.csv", *WORDS, "--preference", "winner", says=['no column "winner"', "its columns are"])
        self.write("noprompt.csv", [["text", "alpha", "beta"]] + [r[:3] for r in self.rows])
        self.refused("run", "noprompt.csv", *WORDS, says=['"question"', '"prompt"', "data.prompt"])
        self.write("twins.csv", [["question", "alpha", "alpha"]] + [r[:3] for r in self.rows])
        self.refused("run", "twins.csv", *WORDS, says=['the same name "alpha"'])

    def test_one_column_in_two_roles(self):
        self.refused("run", "data.csv", "--models", "alpha,alpha", "--judge", "offline-a", says=["--models", 'both models are "alpha"'])
        self.refused("run", "data.csv", *WORDS, "--prompt", "alpha", says=["--prompt", "also a model"])
        self.refused("run", "data.csv", "--models", "question,beta", "--judge", "offline-a", says=["the prompts", "different columns"])
        self.refused("run", "data.csv", *WORDS, "--preference", "beta", says=["--preference", "also a model"])

    def test_preferences_that_mean_nothing_are_counted(self):
        bad = [r[:3] + [{"alpha": "alhpa", "tie": "both bad"}.get(r[3], r[3])] + r[4:] for r in self.rows]
        self.write("typo.csv", [self.HEAD] + bad)
        self.refused("run", "typo.csv", *WORDS, says=['6 of the labels in column "preference"', '"alhpa" in 3 records from line 2',
                                                      'did you mean "alpha"?', '"both bad" in 3 records'])

    def test_nothing_left_after_the_rules(self):
        self.write("same.csv", [self.HEAD] + [[r[0], f"same {i}", f"same {i}"] + r[3:] for i, r in enumerate(self.rows)])
        self.refused("run", "same.csv", *WORDS, says=["no training rows remain of 12 records", "12 identical_outputs"])
        self.refused("run", "data.csv", *WORDS, "--limit", "1", says=["rows remain"])
        self.write("ties.csv", [self.HEAD] + [r[:3] + ["tie"] + r[4:] for r in self.rows])
        self.refused("run", "ties.csv", *WORDS, "--set", "data.ties=drop_all", says=["12 tie"])


class Configuration(CliCase):
    def config_of(self, text):
        (self.dir / "c.yaml").write_text(text)
        return "c.yaml"

    def test_unknown_keys_and_values_by_line(self):
        self.refused("run", self.config_of("data: {path: data.csv, promt: question}\nmodels: [alpha, beta]\njudges: [offline-a]\n"),
                     says=["c.yaml, line 1", 'unknown key "promt"', 'did you mean "prompt"?'])
        self.refused("run", self.config_of("data: data.csv\nmodels: [alpha, beta]\njudgs: [offline-a]\n"),
                     says=["c.yaml, line 3", 'did you mean "judges"?'])
        self.refused("run", self.config_of("data: data.csv\nmodels: [alpha, beta]\njudges: [offline-a]\njudging: {pair_rule: strickt}\n"),
                     says=["c.yaml, line 4", "judging.pair_rule", "did you mean strict?"])
        self.refused("run", self.config_of("data: data.csv\nmodels: [alpha, beta\n"), says=["c.yaml", "line"])
        self.refused("run", "nowhere.yaml", says=["nowhere.yaml", "No such file"])

    def test_settings_of_the_command_line(self):
        self.refused("run", "data.csv", *WORDS, "--set", "judgin.pair_rule=strict", says=['did you mean "judging"?'])
        self.refused("run", "data.csv", *WORDS, "--set", "nonsense", says=["key=value"])
        self.refused("run", "data.csv", *WORDS, "--workers", "1000", says=["--workers", "0 to 256"])
        self.refused("run", "data.csv", *WORDS, "--set", "data.test_share=2", says=["data.test_share", "0 to 0.9"])

    def test_options_that_contradict(self):
        self.config(AXES)
        self.refused("run", "config.yaml", "--models", "alpha,beta", says=["go with a data file", "--set"])
        self.refused("run", "data.csv", *WORDS, "--set", "judging.pair_rule=forward", "--set", "judging.lazy_swap=true",
                     says=["lazy_swap", "forward"])
        self.refused("run", "data.csv", "--models", "alpha", "--judge", "offline-a", says=["output columns, not 1"])
        self.refused("run", "data.csv", "--models", "alpha,beta,gamma", "--judge", "offline-a", says=['no column "gamma"'])
        self.refused("run", "data.csv", "--models", "alpha,beta", says=["--judge"])
        self.refused("run", "data.csv", "--judge", "offline-a", says=["--models"])
        self.refused("run", "data.csv", *WORDS, "--judge", "offline-a", says=["--judge", "already"])

    def test_judges_without_an_endpoint(self):
        self.refused("run", self.config_of("data: data.csv\nmodels: [alpha, beta]\njudges: [gpt-x]\n"), says=['"gpt-x" needs base_url'])

    def test_names_with_commas_are_given_one_by_one(self):
        self.write("comma.csv", [["question", "a, b", "c"]] + [r[:3] for r in self.rows])
        run = self.vibeq("run", "comma.csv", "--model", "a, b", "--model", "c", "--judge", "m,1", "--judge", "m,2", "--base-url",
                         "https://api.invalid/v1", "--dry-run")
        self.assertIn("2 judges", run.stderr)
        run = self.vibeq("run", "comma.csv", "--model", "a, b", "--model", "c", "--judge", "m,n,o", "--base-url", "https://api.invalid/v1",
                         "--dry-run")
        self.assertIn("3 judges", run.stderr)

    def test_endpoints_that_would_leak(self):
        for url in ("http://api.example.com/v1", "http://192.0.2.1/v1", "http://localhost.example.com/v1"):
            self.refused("run", "data.csv", "--models", "alpha,beta", "--judge", "m", "--base-url", url, says=["--base-url", "https://"])
            self.refused("run", "data.csv", "--models", "alpha,beta", "--judge", "m", env={"OPENAI_BASE_URL": url}, says=["https://"])
        self.refused("run", "data.csv", "--models", "alpha,beta", "--judge", "m", "--base-url", "ftp://x", says=["https://"])

    def test_keys_that_are_keys(self):
        text = "data: data.csv\nmodels: [alpha, beta]\njudges:\n- model: m\n  base_url: https://api.invalid/v1\n"
        self.refused("run", self.config_of(text + f"  key: {SECRET}\n"), says=["c.yaml, line 6", "env:NAME", "disclosed"])
        self.refused("run", self.config_of(text + f"  api_key: {SECRET}\n"), says=['unknown key "api_key"'])
        self.refused("run", self.config_of(text + f"  key: env:{SECRET}\n"), says=["env:NAME"])
        self.refused("run", self.config_of(text + f"redis: {SECRET}\n"), says=["redis"])

    def test_templates(self):
        self.refused("run", "data.csv", *WORDS, "--set", "prompts.dir=nowhere", says=["nowhere", "prompts export"])
        self.vibeq("prompts", "export", "mine")
        judge = self.dir / "mine" / "judge.txt"
        text = judge.read_text()
        judge.write_text(text.replace("{{vibe_low}}", "{{vibe_lwo}}"))
        line = next(i for i, s in enumerate(judge.read_text().splitlines(), 1) if "vibe_lwo" in s)
        self.refused("run", "data.csv", *WORDS, "--set", "prompts.dir=mine", says=[f"judge.txt:{line}:", "placeholder"])
        judge.write_text(text.replace("{{output_b}}", "-"))
        self.refused("run", "data.csv", *WORDS, "--set", "prompts.dir=mine", says=["judge.txt", "output_b"])

    def test_criteria(self):
        listed = self.vibeq("prompts", "show", "criteria").stdout.splitlines()
        self.vibeq("prompts", "export", "mine")
        files = {path.stem: path.read_text() for path in (self.dir / "mine" / "criteria").iterdir()}
        self.assertEqual([line.split()[0] for line in listed if line.split()[0] in files], [line.split()[0] for line in listed])
        self.assertEqual(len(listed), len(files))
        for name, text in files.items():
            self.assertEqual(self.vibeq("prompts", "show", name).stdout, text)
            self.assertEqual(text, (vqtest.ROOT / "prompts" / "criteria" / f"{name}.txt").read_text())

    def test_names_and_folders(self):
        self.refused("run", "data.csv", *WORDS, "--name", "../x", says=["cannot be a run's name"])
        self.refused("run", "data.csv", *WORDS, "--name", "calls.lmdb", says=["used by the runs folder"])
        self.refused("run", "data.csv", *WORDS, "--runs", "data.csv", says=["not a folder"])
        self.refused("run", "data.csv", *WORDS, "--runs", "/proc/nowhere", says=["--runs"])
        self.refused("run", "data.csv", *WORDS, "--listen", "no-such-host.invalid", says=["no-such-host.invalid", "an address of this machine"])
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.vibeq("run", "data.csv", *WORDS, "--runs", "fresh", "--listen", address, code=None)
        self.assertFalse((self.dir / "fresh" / "calls.lmdb").exists(), "nothing was begun")


class Before(CliCase):
    """What is asked of the person, and of the machine, before anything is sent."""

    REMOTE = ("--models", "alpha,beta", "--judge", "m,n,o", "--base-url", "https://api.invalid/v1", "--key", "env:NO_KEY")

    def test_a_dry_run_refuses_what_the_run_refuses(self):
        dry = ("run", "data.csv", *self.REMOTE, "--dry-run")
        for words, says in ((("--listen", "nowhere.invalid:x"), ["nowhere.invalid:x"]), (("--set", "redis.url=http://x"), ["redis"]),
                            (("--name", "../x"), ["name"]), (("--runs", "data.csv/x"), ["data.csv/x"])):
            run = self.vibeq(*dry, *words, code=None)
            self.assertNotEqual(run.returncode, 0, words)
            self.assertNotIn("Dry run", run.stderr)
            self.assertNotIn(SECRET, run.stderr)
            for word in says:
                self.assertIn(word, run.stderr)
        self.vibeq("run", "data.csv", *WORDS, "--name", "taken", "--quiet")
        run = self.vibeq("run", "data.csv", *WORDS, "--name", "taken", "--dry-run", code=None)
        self.assertIn("run taken exists", run.stderr)
        key = {"NO_KEY": "a key"}
        self.vibeq(*dry, env=key)
        self.assertFalse((self.dir / "none").exists())
        self.vibeq(*dry, "--runs", "none", env=key)
        self.assertFalse((self.dir / "none").exists(), "nothing is made")

    def same_end(self, *words, says, env=None):
        """The dry run ends as the run does: same code, and the sentence of the run is part of its own."""
        dry = self.vibeq("run", "data.csv", *words, "--dry-run", code=None, env=env)
        run = self.vibeq("run", "data.csv", *words, "--yes", "--quiet", code=None, env=env)
        self.assertNotEqual(dry.returncode, 0, words)
        self.assertEqual(dry.returncode, run.returncode, (dry.stderr, run.stderr))
        for said in (dry.stderr, run.stderr):
            for word in [says] if isinstance(says, str) else says:
                self.assertIn(word, said)
            self.assertNotIn(SECRET, said)
        self.assertNotIn("Dry run: nothing was sent", dry.stderr)

    def test_a_dry_run_says_what_the_run_says_of_keys(self):
        key = self.dir / "open.key"
        key.write_text(SECRET + "\n")
        key.chmod(0o644)
        for ref, says in (("env:NOT_THERE", "NOT_THERE"), (f"file:{key}", "open.key")):
            words = (*self.REMOTE, "--limit", "4", "--set", f"judges[0].key={ref}")
            dry = self.vibeq("run", "data.csv", *words, "--dry-run", code=STOPPED)
            sentence = re.search(r"the run would stop: (no worker can call judge m: .*)\. Put it right", dry.stderr).group(1)
            self.assertIn(says, sentence)
            self.same_end(*words, says=["no worker can call judge m: ", says])
            far = self.vibeq("run", "data.csv", *words, "--listen", "127.0.0.1:0", "--dry-run")
            self.assertIn("warning: on this machine " + sentence, far.stderr)

    def test_stored_answers_need_no_key(self):
        server = self.offline()
        words = ("--models", "alpha,beta", "--judge", "offline-a", "--base-url", server.url, "--key", "env:NO_KEY", "--limit", "4")
        self.vibeq("run", "data.csv", *words, "--dry-run", code=STOPPED)
        self.vibeq("run", "data.csv", *words, "--quiet", env={"NO_KEY": "a key"})
        self.assertIn("warning: on this machine no worker", self.vibeq("run", "data.csv", *words, "--dry-run").stderr)
        self.vibeq("run", "data.csv", *words, "--quiet")

    def test_a_dry_run_binds_the_address(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.same_end(*WORDS, "--listen", address, says=f"cannot listen on tcp://{address}: the port is taken by another program")
        self.same_end(*WORDS, "--listen", "192.0.2.1:7", says="cannot listen on tcp://192.0.2.1:7: ")
        self.vibeq("run", "data.csv", *WORDS, "--listen", address, "--dry-run")

    def test_a_dry_run_asks_redis(self):
        before = set(Path("/tmp").glob("vibeq-dry-*"))
        holder, port = kept_port()
        self.addCleanup(holder.close)
        self.same_end(*WORDS, "--set", f"redis.url=redis://127.0.0.1:{port}", says="Redis does not answer at the address in redis.url: ")
        path = self.dir / "redis.sock"
        Redis(self, path, "--requirepass", "right")
        self.same_end(*WORDS, "--set", f"redis.url=unix://{path}", says="Redis does not let us in with the user and password in redis.url: ")
        Redis(self, self.dir / "open.sock", folder="open")
        self.vibeq("run", "data.csv", *WORDS, "--set", f"redis.url=unix://{self.dir / 'open.sock'}", "--dry-run")
        broken = self.dir / "broken"
        broken.mkdir()
        (broken / "redis-server").write_text("#!/bin/sh\necho no such option\nexit 1\n")
        (broken / "redis-server").chmod(0o755)
        env = {"PATH": f"{broken}:{os.environ['PATH']}"}
        dry = self.vibeq("run", "data.csv", *WORDS, "--dry-run", code=STOPPED, env=env)
        self.assertIn("the private Redis server: the server exited with 1: no such option", dry.stderr)
        ours = set(Path("/tmp").glob("vibeq-dry-*")) - before  # or of a test that runs beside this one
        self.wait_for("the folder to be removed", lambda: not any(folder.exists() for folder in ours))

    def test_many_calls_elsewhere_need_a_yes(self):
        self.refused("run", "data.csv", *self.REMOTE, says=["720 calls", "--yes", "--dry-run"])

    def test_few_calls_elsewhere_do_not(self):
        self.vibeq("run", "data.csv", *self.REMOTE, "--limit", "4", "--quiet", code=STOPPED)

    def test_a_no_on_the_terminal_sends_nothing(self):
        for answer, said in ((b"n\n", "nothing was sent"), (b"\n", "nothing was sent"), (b"\x04", "nothing was sent")):
            ours, theirs = pty.openpty()
            threading.Timer(0.2, os.write, (ours, answer)).start()
            run = self.refused("run", "data.csv", *self.REMOTE, "--quiet", says=["Send them? [y/N]", said], stdin=theirs)
            self.assertIn("720 calls", run.stderr)
            os.close(ours)
            os.close(theirs)

    def test_prices_are_told(self):
        run = self.vibeq("run", "data.csv", *self.REMOTE, "--dry-run", "--set", "judges[0].price_input_usd=1", "--set",
                         "judges[0].price_output_usd=2", env={"NO_KEY": "a key"})
        self.assertRegex(run.stderr, r"about \$\d+\.\d+ for the models with a price")
        self.assertIn("nothing was sent", run.stderr)
        self.assert_no_run()

    def test_more_calls_in_flight_than_files(self):
        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

        for extra in ([], ["--base-url", "https://api.invalid/v1", "--yes"]):
            run = subprocess.run([BIN / "vibeq", "run", "data.csv", *WORDS, *extra, "--set", "judges[0].concurrency=2000"], cwd=self.dir,
                                 env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, preexec_fn=few_files)
            self.assertEqual(run.returncode, USAGE, run.stderr)
            self.assertIn("256 files", run.stderr)
            self.assertIn("concurrency", run.stderr)
            self.assert_no_run()


class Runs(CliCase):
    def test_unknown_runs_name_the_nearest(self):
        self.vibeq("run", "data.csv", *WORDS, "--name", "night", "--quiet", "--limit", "4")
        for verb in ("resume", "status", "rm"):
            run = self.vibeq(verb, "nihgt", code=USAGE)
            self.assertIn("night", run.stderr, verb)
        self.assertIn("vibeq resume night", self.vibeq("run", "data.csv", *WORDS, "--name", "night", code=USAGE).stderr)
        self.assertEqual([p.name for p in (self.dir / "runs").iterdir() if p.is_dir()], ["night"])

    def test_a_name_that_is_too_long_is_no_other_run(self):
        longest = "n" * 100
        self.vibeq("run", "data.csv", *WORDS, "--name", longest, "--quiet", "--limit", "4")
        self.vibeq("status", longest)
        for verb in ("resume", "status", "rm"):
            self.assertIn("1 to 100 letters", self.vibeq(verb, longest + "n", code=USAGE).stderr, verb)

    def test_without_any_run(self):
        for words in (["status"], ["resume", "x"], ["rm", "x"], ["store", "stat"], ["list", "--runs", "runs"]):
            self.refused(*words, says=["no runs folder", "--runs"])
        self.assertEqual(self.vibeq("list").stdout, "")
        self.assertEqual(json.loads(self.vibeq("list", "--json").stdout), [])
        self.assertFalse((self.dir / "runs").exists())
        (self.dir / "runs").mkdir()
        self.refused("status", says=["there is no run"])
        self.refused("resume", "x", says=["x"])


class Init(CliCase):
    def test_it_writes_what_runs(self):
        run = self.vibeq("init", "data.csv")
        text = (self.dir / "vibeq.yaml").read_text()
        self.assertIn("alpha", run.stderr)
        self.assertIn("#", text)
        self.vibeq("run", "vibeq.yaml", "--name", "r", "--quiet", "--limit", "6")
        r = self.results("r")
        self.assertEqual((r["models"], r["data"]["used"]), (["alpha", "beta"], 6))

    def test_it_never_overwrites(self):
        (self.dir / "vibeq.yaml").write_text("mine\n")
        self.refused("init", "data.csv", says=["vibeq.yaml", "--force"])
        self.assertEqual((self.dir / "vibeq.yaml").read_text(), "mine\n")
        self.vibeq("init", "data.csv", "--force")
        self.assertIn("alpha", (self.dir / "vibeq.yaml").read_text())

    def test_other_places(self):
        (self.dir / "sub").mkdir()
        self.vibeq("init", "data.csv", "--output", "sub/c.yaml")
        self.vibeq("run", "sub/c.yaml", "--dry-run")
        shown = self.vibeq("init", "data.csv", "--output", "-").stdout
        self.assertIn("models:", shown)
        self.refused("init", "data.csv", "--output", "c.txt", says=[".yaml"])
        self.refused("init", "data.csv", "--output", "nowhere/c.yaml", says=["nowhere/c.yaml"])
        self.refused("init", "missing.csv", says=["missing.csv"])
        self.refused("init", says=["name a data file"])

    def test_outputs_that_are_rated(self):
        for name in ("rated.csv", "rated.jsonl"):
            rows = [["question", "answer", "source"]] + [[f"How do I paint stone {i}?", f"Dry stone {i}, then paint it twice.", "ab"[i % 2]] for i in range(8)]
            if name.endswith("l"):
                (self.dir / name).write_text("".join(json.dumps(dict(zip(rows[0], row))) + "\n" for row in rows[1:]))
            else:
                self.write(name, rows)
            said = self.vibeq("init", name, "--method", "judge", "--force").stderr
            self.assertRegex(said, "output +answer")
            self.assertRegex(said, "group +source")
            plan = json.loads(self.vibeq("plan", "vibeq.yaml", "--json", code=None).stdout)
            self.assertEqual(plan["calls"]["most"], 8 * 2 * 2 if name.endswith("csv") else 0)
            self.vibeq("run", "vibeq.yaml", "--quiet")
        self.vibeq("init", "data.csv", "--method", "judge", "--output", "two.yaml")
        self.assertRegex((self.dir / "two.yaml").read_text(), r'models:\n- "alpha"\n- "beta"')
        self.vibeq("plan", "two.yaml", code=None)
        self.vibeq("run", "two.yaml", "--name", "two", "--limit", "6", "--quiet")
        self.assertEqual([c["name"] for c in self.results("two")["criteria"]], ["refusal", "general", "helpfulness"])

    def test_the_files_of_a_persona_evaluation(self):
        for path in [*ROOT.glob("examples/queries-*"), *ROOT.glob("examples/probe-*"), ROOT / "examples/personas-two.yaml"]:
            (self.dir / path.name).write_text(path.read_text())
        self.refused("init", "queries-goals.txt", "--method", "persona", says=["no file has personas"])
        self.refused("init", "personas-two.yaml", "--method", "persona", says=["no file has queries", "vibeq personas queries"])
        self.write("odd.csv", [["x", "y"], ["1", "2"]])
        self.refused("init", "personas-two.yaml", "odd.csv", "--method", "persona", says=["odd.csv is no file of a persona evaluation"])
        (self.dir / "more.csv").write_text((self.dir / "probe-bigfive.csv").read_text())
        self.refused("init", "personas-two.yaml", "queries-goals.txt", "probe-bigfive.csv", "more.csv", "--method", "persona",
                     says=["probe-bigfive.csv and more.csv both have items with traits"])
        for name in ("knowledge.csv", "Openness.csv"):  # as results call something else
            (self.dir / name).write_text((self.dir / "probe-safety.csv").read_text())
        self.vibeq("init", "personas-two.yaml", "queries-goals.txt", "knowledge.csv", "Openness.csv", "--method", "persona", "--output", "o.yaml")
        self.assertIn("Dry run", self.vibeq("run", "o.yaml", "--dry-run").stderr)
        files = ["personas-two.yaml", "queries-goals.txt", "queries-interview.yaml", "probe-safety.csv", "probe-bigfive.csv", "probe-role.csv"]
        said = self.vibeq("init", *files, "--method", "persona").stderr
        for words in ("directed +queries-interview.yaml, 10 queries and remarks", "goal +queries-goals.txt, 12 queries", "probe +probe-role.csv, 6 items"):
            self.assertRegex(said, words)
        plan = json.loads(self.vibeq("plan", "vibeq.yaml", "--json", code=None).stdout)
        self.assertGreater(plan["calls"]["most"], 500)
        (self.dir / "vibeq.yaml").write_text((self.dir / "vibeq.yaml").read_text().replace("  # rounds: 12 ", "  rounds: 4 "))
        self.vibeq("run", "vibeq.yaml", "--name", "p", "--quiet")

    def test_methods_that_it_does_not_write(self):
        self.refused("init", "data.csv", "--method", "jugde", says=["vibes, judge or persona"])
        self.refused("init", "data.csv", "data.csv", says=["--method persona"])
        self.refused("init", "--method", "persona", says=["personas", "queries"])

    def test_columns_that_cannot_be_guessed_are_said(self):
        self.write("odd.csv", [["x", "y"], ["1", "2"], ["1", "2"]])
        run = self.vibeq("init", "odd.csv")
        self.assertIn("not found", run.stderr)
        self.refused("run", "vibeq.yaml", says=["no column"])


class Check(CliCase):
    def served(self, *faults, key=None):
        planted(self.dir, 8, AXES)
        server = self.offline("--oracle", self.dir / "truth.jsonl", *faults)
        self.config(AXES, url=server.url, judge={"key": key} if key else {})
        return server

    def test_every_judge_is_asked_once_and_shown_whole(self):
        server = self.served()
        run = self.vibeq("check", "config.yaml", "--row", "3", "--vibe", "v2")
        self.assertEqual(sorted(r["model"] for r in server.requests()), ["offline-a", "offline-b"])
        for text in ("record 3, vibe V2", "--- user", "[S2]", "low on V2", "judge offline-a", "judge offline-b", "answer   ", "verdict  ",
                     "tokens   ", "latency  ", "HTTP status 200"):
            self.assertIn(text, run.stdout)
        self.assertEqual(self.processes_of(str(self.dir), "vibeq-worker"), [])
        self.assertFalse((self.dir / "runs").exists())

    def test_the_prompt_is_the_one_of_prompts_show(self):
        self.served()
        words = ("--row", "5", "--vibe", "V1", "--judge", "offline-b", "--swapped")
        shown = self.vibeq("prompts", "show", "judge", "--config", "config.yaml", *words).stdout
        checked = self.vibeq("check", "config.yaml", *words).stdout
        body = shown.split("\n", 1)[1]
        self.assertIn("[B]", body.split("[A]")[0])
        self.assertIn(body, checked)
        self.assertNotIn("judge offline-a", checked)

    def test_as_json(self):
        self.served()
        got = json.loads(self.vibeq("check", "config.yaml", "--row", "1", "--json").stdout)
        self.assertEqual((got["record"], got["vibe"], got["shown_first"]), (1, "V1", "alpha"))
        self.assertEqual([j["judge"] for j in got["judges"]], ["offline-a", "offline-b"])
        for judge in got["judges"]:
            self.assertIn(judge["verdict"], ("A", "B"))
            self.assertEqual((judge["end"], judge["http_status"], judge["error"]), ("answer", 200, None))
            self.assertGreater(judge["tokens_in"], 0)

    def test_the_built_in_server_is_started_and_stopped(self):
        self.vibeq("init", "data.csv")
        run = self.vibeq("check")
        self.assertIn("the built-in server", run.stdout)
        self.assert_no_run()

    def test_a_key_is_used_and_never_shown(self):
        server = self.served("--require-key", key="env:THE_KEY")
        run = self.vibeq("check", "config.yaml", env={"THE_KEY": SECRET})
        self.assertNotIn(SECRET, run.stdout + run.stderr)
        self.assertTrue(all(r["key"] for r in server.requests()))
        key = self.dir / "key"
        key.write_text(SECRET + "\n")
        key.chmod(0o600)
        self.vibeq("check", "config.yaml", "--set", f"judges[0].key=file:{key}", "--set", f"judges[1].key=file:{key}")
        key.chmod(0o644)
        run = self.vibeq("check", "config.yaml", "--set", f"judges[0].key=file:{key}", code=STOPPED, env={"THE_KEY": SECRET})
        self.assertIn(str(key), run.stdout)

    def test_what_goes_wrong_is_said_and_exits_4(self):
        server = self.served("--require-key", key="env:THE_KEY")
        run = self.vibeq("check", "config.yaml", code=STOPPED)
        self.assertIn("no_key: ", run.stdout)
        self.assertIn("THE_KEY", run.stdout)
        self.assertEqual(server.requests(), [])
        for fault, words in (("bad_key", "bad_key"), ("no_model", "no_model"), ("quota", "no_money"), ("server_error", "provider"),
                             ("rate_limit", "rate"), ("reset", "lost"), ("garbage", "failed"), ("refusal", "refused"),
                             ("truncated", "truncated"), ("unparseable", "unparseable")):
            other = self.offline("--fault", f"{fault}=1", name=fault)
            run = self.vibeq("check", "config.yaml", "--judge", "offline-a", "--set", f"judges[0].base_url={other.url}", code=STOPPED,
                             env={"THE_KEY": SECRET})
            self.assertIn(words, run.stdout, fault)
            self.assertEqual(len(other.requests()), 1, fault)
            other.stop()

    def test_an_endpoint_that_is_not_there(self):
        self.served()
        run = self.vibeq("check", "config.yaml", "--judge", "offline-a", "--set", "judges[0].base_url=http://127.0.0.1:9/v1", code=STOPPED)
        self.assertIn("network: ", run.stdout)

    def test_what_is_not_there_is_named(self):
        self.served()
        self.refused("check", "config.yaml", "--vibe", "V11", says=["did you mean", '"V1"'])
        self.refused("check", "config.yaml", "--judge", "offline-c", says=["did you mean", "offline-"])
        self.refused("check", "config.yaml", "--row", "99", says=["records 1 to 8"])
        self.refused("check", "none.yaml", says=["none.yaml"])
        self.refused("check", says=["vibeq.yaml"])


class Worker(CliCase):
    def test_a_check_file_of_somebody_else_is_refused(self):
        for name, content in (("empty", b""), ("text", b"hello, world\n"), ("long", b"\xff\xff\xff\xff" + b"x" * 100),
                              ("frame", b"\0\0\0\2\x92\x01")):
            (self.dir / name).write_bytes(content)
            run = subprocess.run([BIN / "vibeq-worker", "--check", self.dir / name], capture_output=True, text=True, timeout=20)
            self.assertEqual((run.returncode, run.stdout), (USAGE, ""), name)
            self.assertTrue(run.stderr.startswith("vibeq-worker: "), run.stderr)


if __name__ == "__main__":
    vqtest.main()
