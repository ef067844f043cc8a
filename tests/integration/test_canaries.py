# labels: slow
"""F1: keys, a password and prompts of this test's own making go through a run that meets refusals, errors that repeat the key, broken
connections, a killed worker and a killed coordinator. Then everything that it left, said or showed is searched for them, plain and encoded."""
import base64
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import vqtest
from pooling import Pool, Pools
from vqtest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "chaos"))
import sick  # noqa: E402


def encodings(secret):
    """What to search for: the bytes, in hex, in a URL, and in base64 wherever they begin in it."""
    raw = secret.encode()
    found = {raw, raw.hex().encode(), raw.hex().upper().encode(), urllib.parse.quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode()}
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + raw)
        inner = whole[4 if shift else 0:-4]  # without what its neighbours have a part in
        found |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    return found


def repeats_the_key(status):
    """A server that shows whom it has refused, as some do."""
    def answer(peer):
        key = peer.request.headers["authorization"].removeprefix("Bearer ")
        body = json.dumps({"error": {"message": f"Incorrect API key provided: {key}.", "type": key, "code": key}})
        peer.whole(body, f"X-Request-Id: {key}", f"Retry-After: {key}", status=f"{status} {key}")
    return answer


def answers_with_the_key(peer):
    key = peer.request.headers["authorization"].removeprefix("Bearer ")
    peer.reply = sick.Reply(200, [], b'{"choices":[{"message":{"content":""}}]}')
    peer.whole(peer.said(json.dumps(f"Your key is {key}. I will not say more.").encode()))


class Canaries(Pools):
    samples = 40

    def setUp(self):
        super().setUp()
        self.keys = {name: f"sk-canary-{secrets.token_hex(12)}/+={name}" for name in ("env", "file", "bad", "spare")}
        self.password = f"redis-canary-{secrets.token_hex(12)}"
        self.prompt = f"prompt-canary-{secrets.token_hex(12)}"
        text = (self.dir / "data.csv").read_text()
        (self.dir / "data.csv").write_text(text.replace("[A] ", f"[A] {self.prompt} ").replace("[B] ", f"[B] {self.prompt} "))
        (self.dir / "said").mkdir()

    def redis(self):
        """Its password is in a file, not in its arguments."""
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        folder = self.dir / "shared-redis"
        folder.mkdir()
        holder, port = vqtest.kept_port()
        self.addCleanup(holder.close)
        conf = self.dir / "declared-redis.conf"
        conf.write_text(f"port {port}\nbind 127.0.0.1\nrequirepass {self.password}\nappendonly yes\nappendfsync always\ndir {folder}\n")
        self.children.append(subprocess.Popen(["redis-server", conf], executable=program, stdout=subprocess.DEVNULL))
        return f"{{url: 'redis://:{self.password}@127.0.0.1:{port}'}}"

    def configure(self):
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--model", "judge-1", "--latency", "uniform:10ms:30ms")
        turn, lock = [0], threading.Lock()
        ways = [repeats_the_key(500), repeats_the_key(429), repeats_the_key(400), answers_with_the_key, "lost_answer", "cut_body", "garbage"]

        def plan(request):
            if self.keys["bad"] in request.headers["authorization"]:
                return repeats_the_key(401)
            if request.tries > 1 or request.share() >= 0.4:
                return None
            with lock:
                turn[0] += 1
                return ways[turn[0] % len(ways)]
        front = sick.Sick(self.server.url, plan)
        self.servers.append(front)
        (self.dir / "declared.key").write_text(self.keys["file"] + "\n")
        (self.dir / "declared.key").chmod(0o600)
        pools = {"e": Pool(url=front.url(), key_names=["CANARY_ENV", "CANARY_BAD"], concurrency=6), "f": Pool(url=front.url(), concurrency=6)}
        self.told(pools, redis=self.redis())
        config = self.dir / "config.yaml"
        config.write_text(config.read_text().replace("keys: [env:KEY_F_1]", f"keys: ['file:{self.dir}/declared.key']"))
        return front

    def look(self, name):
        """What a person, a scraper and a curious neighbour would see now."""
        said = self.dir / "said"
        for words in (("status", "r"), ("status", "r", "--json"), ("list",)):
            run = self.vibeq(*words, code=None)
            (said / f"{name}-{words[-1].strip('-')}").write_text(run.stdout + run.stderr)
        endpoint = json.loads((self.dir / "runs/r/endpoint.json").read_text())
        for path in ("api/v1/status", "api/v1/history", "metrics", "", "nothing"):
            request = urllib.request.Request(f"{endpoint['address']}/{path}", headers={"Authorization": f"Bearer {endpoint['token']}"})
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    text = answer.read()
            except urllib.error.HTTPError as error:
                text = error.read()
                error.close()
            (said / f"{name}-http-{path.replace('/', '-')}").write_bytes(text)
        for pid in self.processes_of(str(self.dir)) + self.processes_of("redis-server"):
            try:
                program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
                (said / f"{name}-{pid}-{program}-cmdline").write_bytes(Path(f"/proc/{pid}/cmdline").read_bytes())
                if program not in ("vibeq",):  # whom the user gave them to; the worker has taken them out of its own
                    (said / f"{name}-{pid}-{program}-environ").write_bytes(Path(f"/proc/{pid}/environ").read_bytes())
            except OSError:
                continue

    def test_secrets_are_nowhere_else(self):
        front = self.configure()
        env = {"CANARY_ENV": self.keys["env"], "CANARY_BAD": self.keys["bad"]}
        child = self.start("run", "config.yaml", "--name", "r", env=env)
        self.wait_for("some answers", lambda: child.poll() is not None or len(self.server.answers()) > 60)
        self.assertIsNone(child.poll(), self.logs())
        self.look("running")
        os.kill(self.processes_of(str(self.dir), "vibeq-worker")[0], signal.SIGKILL)
        self.wait_for("more answers", lambda: child.poll() is not None or len(self.server.answers()) > 110)
        child.kill()
        child.wait()
        self.search("crashed")
        child = self.start("resume", "r", env=env)
        self.wait_exit(child, vqtest.MISSING)  # what was refused with 400, or answered with the key, has no verdict
        for words in (("export", "r", "calls", "--format", "jsonl"), ("store", "export"), ("dead", "r"), ("store", "check")):
            run = self.vibeq(*words, code=None)
            (self.dir / "said" / "-".join(words).replace("/", "")).write_text(run.stdout + run.stderr)
        self.search("over")
        used = {r.headers["authorization"].removeprefix("Bearer ") for r in front.requests}
        self.assertEqual(used, {self.keys[name] for name in ("env", "bad", "file")}, "each key was used, and arrived as it is")
        self.assertIn("key 2 of 2 was refused", (self.dir / "runs/r/log").read_text())
        self.assertGreaterEqual({r.sick for r in front.requests}, {"other", "lost_answer", "cut_body", "garbage"})

    def search(self, when):
        files = [path for path in self.dir.rglob("*") if path.is_file() and not path.name.startswith("declared")]
        self.assertGreater(len(files), 20)
        prompts_in = {"data.csv", "inputs", "results", "spool", "calls.lmdb"}
        for path in files:
            data, parts = path.read_bytes(), set(path.relative_to(self.dir).parts)
            for name, key in self.keys.items():
                for form in encodings(key):
                    self.assertNotIn(form, data, f"{when}: the key {name} stands in {path}")
            if path.name not in ("config.yaml", "run.yaml"):  # where the user wrote it, and the copy to go on by
                for form in encodings(self.password):
                    self.assertNotIn(form, data, f"{when}: the password stands in {path}")
            if not parts & prompts_in:
                for form in encodings(self.prompt):
                    self.assertNotIn(form, data, f"{when}: a prompt stands in {path}")


if __name__ == "__main__":
    vqtest.main()
