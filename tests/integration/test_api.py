# labels: slow
"""The HTTP interface against docs/use/openapi.json: every path of the file is asked of a real run, and every answer has the form of the
file. A path without parameters is asked as it is; add it to the file, and it is tested here."""
import http.client
import json
import re
import signal
import urllib.parse

import openapi
import vqtest
from test_ctl import Ctl
from vqtest import ROOT, STOPPED


class Api(Ctl):
    def setUp(self):
        super().setUp()
        self.document = openapi.load()

    def ask(self, address, path, method="GET", token=None, body=None):
        """Status, type and text of one request."""
        at = urllib.parse.urlsplit(address)
        connection = http.client.HTTPConnection(at.hostname, at.port, timeout=20)
        connection.request(method, path, body=body, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers.get("Content-Type"), text

    def check(self, path, got, method="GET"):
        self.assertEqual(openapi.answer_faults(self.document, path, method, *got), [])
        return got[0]

    def operations(self, tag):
        return [(path, method.upper(), operation) for path, methods in self.document["paths"].items()
                for method, operation in methods.items() if tag in operation["tags"]]

    def test_a_run_answers_as_the_file_says(self):
        self.slow(judge={"concurrency": 4, "price_input_usd": 1, "price_output_usd": 2}, budget="{usd: 5}")
        child = self.begin(10)
        address, token = self.endpoint()["address"], self.endpoint()["token"]
        self.wait_for("a sample", lambda: json.loads(self.ask(address, "/api/v1/history", token=token)[2])["unix_ms"])
        for path, method, operation in self.operations("run"):
            is_open = {} in operation.get("security", [])
            if method == "GET":
                self.assertEqual(self.check(path, self.ask(address, path, token=token)), 200, path)
                self.assertEqual(self.check(path, self.ask(address, path)), 200 if is_open else 401, path)
            else:
                self.assertEqual(self.check(path, self.ask(address, path, method, body=""), method), 401, path)
        self.assertEqual(self.check("/api/v1/history", self.ask(address, "/api/v1/history?after=x", token=token)), 400)
        for words, status in (("pause", 200), ("nonsense", 400), ("budget\nmuch", 400), ("park\nnowhere", 409), ("resume", 200)):
            self.assertEqual(self.check("/api/v1/ctl", self.ask(address, "/api/v1/ctl", "POST", token, words), "POST"), status, words)
        child.send_signal(signal.SIGINT)
        self.wait_exit(child, STOPPED)

    def test_the_page_and_the_file_name_the_same_paths(self):
        page = (ROOT / "docs/use/api.md").read_text(encoding="utf-8")
        named = set(re.findall(r"^\| `(/[^`]*)`", page, re.M))
        self.assertEqual(named, set(self.document["paths"]))

    def test_the_checker_finds_faults(self):
        money = {"$ref": "#/components/schemas/Money"}
        good = {"budget_usd": None, "spent_usd": 1.5, "reserved_usd": 0}
        self.assertEqual(openapi.faults(self.document, money, good), [])
        for bad in ({**good, "spent_usd": "1"}, {**good, "spent_usd": True}, {**good, "more": 1}, {"budget_usd": 1, "spent_usd": 1}, []):
            self.assertNotEqual(openapi.faults(self.document, money, bad), [], bad)
        self.assertNotEqual(openapi.faults(self.document, {"type": "integer", "minimum": 0}, -1), [])
        self.assertNotEqual(openapi.faults(self.document, {"mood": "good"}, 1), [])


if __name__ == "__main__":
    vqtest.main()
