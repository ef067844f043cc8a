"""TLS against servers whose certificate is not to be trusted: nothing is sent, no key leaves, the run stops with a sentence that says what to do,
and goes on once the certificate is known."""
import json
import ssl
import subprocess

from answering import Endpoint, Server
from vqtest import STOPPED, Case, main, planted

KEY = "sk-not-for-strangers-0123456789"
ROWS = 6


class Judge(Endpoint):
    def do_POST(self):
        self.server.seen.append((self.headers["Authorization"], self.body()))
        self.say("gpt-x", "Model: A")


class Tls(Case):
    def certificate(self, name, address="IP:127.0.0.1", days=1):
        """A key and a self-signed certificate for an address, valid for so many days (-1: until yesterday)."""
        (self.dir / "ext").write_text(f"subjectAltName={address}\n")
        for words in (["req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", "/CN=judge"],
                      ["x509", "-req", "-in", f"{name}.csr", "-signkey", f"{name}.key", "-days", str(days), "-extfile", "ext", "-out", f"{name}.crt"]):
            subprocess.run(["openssl", *words], cwd=self.dir, check=True, capture_output=True)
        return self.dir / f"{name}.crt", self.dir / f"{name}.key"

    def serve(self, certificate):
        server = Server(Judge)
        server.seen = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self.addCleanup(server.stop)
        self.url = server.url.replace("http://", "https://")
        return server

    def settings(self):
        planted(self.dir, ROWS, ("V1",))
        (self.dir / "config.yaml").write_text("\n".join([
            "data: data.csv", "models: [alpha, beta]", "method: vibes", "workers: 1", "vibes: [{name: V1, low: low on V1, high: high on V1}]",
            "judging: {lazy_swap: false}", f"judges: [{{model: gpt-x, base_url: '{self.url}', key: 'env:JUDGE_KEY', max_tokens: 100}}]"]) + "\n")

    def refused(self, certificate, why):
        server = self.serve(certificate)
        self.settings()
        said = self.vibeq("run", "config.yaml", "--name", "r", "--yes", code=STOPPED, env={"JUDGE_KEY": KEY}).stderr
        self.assertIn("the TLS handshake failed", said)
        self.assertIn(why, said)
        self.assertIn("vibeq resume", said)
        self.assertEqual(server.seen, [], "nothing was sent")
        calls = self.accounting("r")
        self.assertEqual((calls["answered"], calls["unknown"]), (0, 0))
        for path in (self.dir / "runs").rglob("*"):
            self.assertTrue(not path.is_file() or KEY.encode() not in path.read_bytes(), path)
        return server

    def test_a_certificate_that_nobody_vouches_for(self):
        certificate = self.certificate("own")
        server = self.refused(certificate, "self-signed certificate")
        known = {"JUDGE_KEY": KEY, "SSL_CERT_FILE": str(certificate[0])}
        self.vibeq("resume", "r", "--quiet", env=known)
        self.assertEqual(len(server.seen), ROWS * 2)
        self.assertEqual({key for key, _ in server.seen}, {f"Bearer {KEY}"})
        self.assertEqual(json.loads((self.dir / "runs/r/accounting.json").read_text())["calls"]["answered"], ROWS * 2)

    def test_a_certificate_for_another_host(self):
        certificate = self.certificate("elsewhere", address="DNS:elsewhere.example")
        server = self.refused(certificate, "certificate")
        said = self.vibeq("resume", "r", code=STOPPED, env={"JUDGE_KEY": KEY, "SSL_CERT_FILE": str(certificate[0])}).stderr
        self.assertIn("127.0.0.1", said)
        self.assertEqual(server.seen, [])

    def test_a_certificate_of_yesterday(self):
        certificate = self.certificate("old", days=-1)
        server = self.refused(certificate, "certificate")
        said = self.vibeq("resume", "r", code=STOPPED, env={"JUDGE_KEY": KEY, "SSL_CERT_FILE": str(certificate[0])}).stderr
        self.assertIn("certificate has expired", said)
        self.assertEqual(server.seen, [])


if __name__ == "__main__":
    main()
