"""A Redis server that runs share: it has a password, lets them use keys of vibeq alone, and speaks TLS. A build without TLS refuses
`rediss://` before anything is sent, with a sentence; its tests of TLS print SKIP."""
import shutil
import socket
import subprocess

import vqtest
from vqtest import DONE, STOPPED, USAGE, Case, planted

AXES = ("V1", "V2", "V3")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Shared(Case):
    def setUp(self):
        super().setUp()
        planted(self.dir, 30, AXES)
        self.server = self.offline("--oracle", self.dir / "truth.jsonl", "--latency", "uniform:2ms:5ms")
        self.port, self.socket = free_port(), self.dir / "redis.sock"

    def redis(self, *options, kind="--port"):
        """Its users but the owner may use the keys of vibeq. A test looks at the others through the file that the server writes at its end."""
        program = shutil.which("redis-server") or shutil.which("redis-check-rdb")  # one binary; argv[0] decides which it is
        (self.dir / "redis").mkdir(exist_ok=True)
        words = ["redis-server", "--bind", "127.0.0.1", *(["--port", "0"] if kind != "--port" else []), kind, self.port, "--save", "",
                 "--dir", self.dir / "redis", *"--user default on >canary ~vibeq:* &* +@all".split(),
                 *"--user judge on >canary ~vibeq:* &* +@all".split(), *"--user owner on >owner ~* &* +@all".split(), *options]
        self.children.append(subprocess.Popen(list(map(str, words)), executable=program, stdout=subprocess.DEVNULL))
        self.wait_for("Redis", self.listens)

    def listens(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def owner(self, *words):
        """Asks a server without TLS as its owner."""
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(b"AUTH owner owner\r\n" + " ".join(words).encode() + b"\r\nQUIT\r\n")
            return s.makefile("rb").read().decode().split("\r\n")[1:-2]

    def tls(self):
        """Arguments of a server with a certificate of its own, which is its own authority; skips a build that has no TLS."""
        self.use(f"rediss://:canary@127.0.0.1:{self.port}", self.dir / "cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=test", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"],
                       cwd=self.dir, check=True, capture_output=True)
        refused = self.vibeq("run", "config.yaml", "--name", "look", "--dry-run", code=None)
        if "built with a hiredis that has no TLS" in refused.stderr:
            self.assertEqual(refused.returncode, USAGE)
            self.assertIn("Debian 13", refused.stderr)
            self.skipTest("SKIP: this build has no TLS to Redis (hiredis_ssl)")
        return ["--tls-auth-clients", "no", "--tls-ca-cert-file", self.dir / "cert.pem", "--tls-cert-file", self.dir / "cert.pem",
                "--tls-key-file", self.dir / "key.pem"]

    def use(self, url, ca=None):
        self.config(AXES, url=self.server.url, term_ms=2000, redis=f"{{url: '{url}'{f', ca_file: {ca}' if ca else ''}}}")

    def both_runs(self):
        """Two runs at once, each with a runs folder of its own, as on two machines."""
        runs = [self.start("run", "config.yaml", "--name", "r", "--quiet", "--runs", self.dir / folder) for folder in ("runs", "other")]
        for run in runs:
            self.wait_exit(run, DONE)
        results = {(self.dir / folder / "r/results/results.json").read_bytes() for folder in ("runs", "other")}
        self.config(AXES, url=self.server.url, name="calm.yaml")
        self.vibeq("run", "calm.yaml", "--name", "calm", "--quiet")
        self.assertEqual(results, {self.results_bytes("calm")})
        for path in self.dir.glob("*/r/**/*"):
            if path.is_file() and not path.name.startswith("run.yaml"):
                self.assertNotIn(b"canary", path.read_bytes(), path)

    def test_two_runs_share_a_server_and_touch_no_key_of_others(self):
        self.redis()
        self.use(f"redis://judge:canary@127.0.0.1:{self.port}")
        self.assertEqual(self.owner("SET", "payroll", "7"), ["+OK"])
        self.both_runs()
        self.assertEqual(self.owner("GET", "payroll"), ["$1", "7"])
        keys = [line for line in self.owner("KEYS", "*") if not line.startswith(("$", "*"))]
        self.assertEqual([key for key in keys if not key.startswith("vibeq:")], ["payroll"])
        self.assertEqual(len({key.split("}")[0] for key in keys if key.startswith("vibeq:{r.")}), 2)

    def test_two_runs_share_a_server_with_tls(self):
        self.redis(*self.tls(), kind="--tls-port")
        self.vibeq("run", "config.yaml", "--name", "look", "--dry-run")
        self.both_runs()
        self.assertIn("verified", self.vibeq("verify", "r").stdout)

    def test_a_certificate_that_is_not_trusted_stops_the_start(self):
        self.redis(*self.tls(), kind="--tls-port")
        self.use(f"rediss://:canary@127.0.0.1:{self.port}")
        refused = self.vibeq("run", "config.yaml", "--name", "r", "--dry-run", code=STOPPED)
        self.assertIn("the certificate of the server is refused: self", refused.stderr)
        self.assertNotIn("canary", refused.stderr)

    def test_a_wrong_password_stops_the_start(self):
        self.redis()
        for user in ("", "judge", "stranger"):
            self.use(f"redis://{user}:wrong@127.0.0.1:{self.port}")
            self.assertIn("does not let us in", self.vibeq("run", "config.yaml", "--name", f"r{user}", code=STOPPED).stderr)


if __name__ == "__main__":
    vqtest.main()
