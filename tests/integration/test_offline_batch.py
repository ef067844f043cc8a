"""The batch APIs of vibeq-offline, each through plain HTTP: shapes, states, limits, faults, and the log of what was bought."""
import http.client
import json
import time
import unittest
import urllib.parse

from vqtest import Case, Offline

KEY = "sk-test-batch-0001"
QUESTION = ("<prompt>\nWhy?\n</prompt>\n<output_a>\nHello dear friend, number {i}!\n</output_a>\n<output_b>\nNo.\n</output_b>\n"
            "<axis>\nName: Warmth\nLow: cold\nHigh: warm\n</axis>")
CREATE = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}


def chat(i, model="offline-a"):
    return {"model": model, "messages": [{"role": "user", "content": QUESTION.format(i=i)}]}


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def openai_line(i, model="offline-a", name=None):
    return {"custom_id": name or f"line-{i}", "method": "POST", "url": "/v1/chat/completions", "body": chat(i, model)}


class Batching(Case):
    def start(self, *options):
        server = Offline(self.dir, *options)
        self.servers.append(server)
        self.host = urllib.parse.urlsplit(server.url).netloc
        return server

    def headers(self, key):
        return {"Authorization": f"Bearer {key}"}

    def ask(self, method, path, body=None, key=KEY, headers=None):
        """(status, parsed JSON or bytes, headers)"""
        connection = http.client.HTTPConnection(self.host, timeout=30)
        sent = {**self.headers(key), **(headers or {})}
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            read = response.read()
        finally:
            connection.close()
        is_json = response.getheader("Content-Type") == "application/json"
        return response.status, json.loads(read) if is_json else read, response

    def good(self, *args, **kwargs):
        status, body, _ = self.ask(*args, **kwargs)
        self.assertEqual(status, 200, body)
        return body

    def until(self, path, ended, **kwargs):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            body = self.good("GET", path, **kwargs)
            if ended(body):
                return body
            time.sleep(0.02)
        self.fail(f"{path} does not end: {body}")

    def bought(self, server, **where):
        return [line for line in server.log() if line["event"] == "batch_line" and all(line[k] == v for k, v in where.items())]


class OpenAI(Batching):
    root = "/v1"
    version = ""

    def upload(self, rows, **kwargs):
        content = rows if isinstance(rows, bytes) else jsonl(rows)
        mark = "xyzBOUNDARYxyz"
        body = (f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{mark}\r\nContent-Disposition: form-data; '
                f'name="file"; filename="in put.jsonl"\r\nContent-Type: application/octet-stream\r\n\r\n').encode()
        body += content + f"\r\n--{mark}--\r\n".encode()
        return self.good("POST", f"{self.root}/files{self.version}", body,
                         headers={"Content-Type": f"multipart/form-data; boundary={mark}"}, **kwargs)

    def create(self, rows, **more):
        file = self.upload(rows)
        return self.good("POST", f"{self.root}/batches{self.version}", {**CREATE, "input_file_id": file["id"], **more})

    def done(self, batch, status="completed"):
        last = ("completed", "failed", "expired", "cancelled")
        batch = self.until(f"{self.root}/batches/{batch['id']}{self.version}", lambda b: b["status"] in last)
        self.assertEqual(batch["status"], status, batch)
        return batch

    def lines(self, file_id):
        if file_id is None:
            return []
        return [json.loads(x) for x in self.good("GET", f"{self.root}/files/{file_id}/content{self.version}").splitlines()]


class OpenAIBatches(OpenAI):
    def test_a_whole_batch_gets_the_answers_of_interactive_calls(self):
        server = self.start("--batch", "duration=50ms,validate_ms=10,finalize_ms=10")
        rows = [openai_line(i) for i in range(5)] + [openai_line(9, name='"odd", é')]
        file = self.upload(rows)
        self.assertEqual((file["object"], file["purpose"], file["bytes"], file["filename"]), ("file", "batch", len(jsonl(rows)), "in put.jsonl"))
        self.assertEqual(self.good("GET", f"/v1/files/{file['id']}"), file)
        self.assertEqual(self.good("GET", f"/v1/files/{file['id']}/content"), jsonl(rows))
        batch = self.good("POST", "/v1/batches", {**CREATE, "input_file_id": file["id"], "metadata": {"run": "r1"}})
        self.assertEqual((batch["object"], batch["status"], batch["metadata"], batch["input_file_id"]),
                         ("batch", "validating", {"run": "r1"}, file["id"]))
        batch = self.done(batch)
        self.assertEqual(batch["request_counts"], {"total": 6, "completed": 6, "failed": 0})
        self.assertIsNone(batch["error_file_id"])
        answers = {line["custom_id"]: line for line in self.lines(batch["output_file_id"])}
        self.assertEqual(set(answers), {row["custom_id"] for row in rows})
        for row in rows:
            status, direct, _ = self.ask("POST", "/v1/chat/completions", row["body"])
            inside = answers[row["custom_id"]]["response"]
            self.assertEqual((inside["status_code"], inside["body"]["choices"], inside["body"]["usage"]), (status, direct["choices"], direct["usage"]))
        bought = self.bought(server, batch=batch["id"])
        self.assertEqual([line["custom_id"] for line in bought], [row["custom_id"] for row in rows])
        self.assertTrue(all(line["paid"] and line["result"] == "succeeded" for line in bought))
        self.assertEqual(len(server.requests()), len(rows), "calls in batches are no requests of the log")
        self.assertEqual(self.good("DELETE", f"/v1/files/{file['id']}"), {"id": file["id"], "object": "file", "deleted": True})
        self.assertEqual(self.ask("GET", f"/v1/files/{file['id']}")[0], 404)

    def test_what_is_not_polled_is_bought_and_logged(self):
        server = self.start("--batch", "duration=30ms")
        batch = self.create([openai_line(i) for i in range(3)])
        self.wait_for("the lines", lambda: len(self.bought(server, batch=batch["id"])) == 3)
        ended = [line for line in server.log() if line["event"] == "batch" and line["what"] == "ended"]
        self.assertEqual([(line["batch"], line["succeeded"]) for line in ended], [(batch["id"], 3)])

    def test_lists_by_pages_of_one_account(self):
        self.start()
        made = [self.create([openai_line(i)], metadata={"n": str(i)})["id"] for i in range(5)]
        first = self.good("GET", "/v1/batches?limit=3")
        self.assertEqual(([b["id"] for b in first["data"]], first["has_more"], first["last_id"]), (made[:1:-1], True, made[2]))
        rest = self.good("GET", f"/v1/batches?limit=3&after={made[2]}")
        self.assertEqual(([b["id"] for b in rest["data"]], rest["has_more"]), ([made[1], made[0]], False))
        self.assertEqual(self.good("GET", "/v1/batches", key="sk-other")["data"], [])
        self.assertEqual(self.ask("GET", f"/v1/batches/{made[0]}", key="sk-other")[0], 404)

    def test_a_new_batch_is_hidden_from_lists(self):
        self.start("--batch", "hide_ms=400")
        batch = self.create([openai_line(1)])
        self.assertEqual(self.good("GET", "/v1/batches")["data"], [])
        self.assertEqual(self.good("GET", f"/v1/batches/{batch['id']}")["id"], batch["id"])
        self.until("/v1/batches", lambda page: [b["id"] for b in page["data"]] == [batch["id"]])

    def test_a_cancelled_batch_gives_what_it_has(self):
        server = self.start("--batch", "duration=3s,never=1,cancel_ms=30")
        batch = self.create([openai_line(i) for i in range(60)])
        path = f"/v1/batches/{batch['id']}"
        self.until(path, lambda b: b["request_counts"]["completed"] >= 2)
        self.assertEqual(self.good("POST", path + "/cancel")["status"], "cancelling")
        batch = self.done(batch, "cancelled")
        good, bad = self.lines(batch["output_file_id"]), self.lines(batch["error_file_id"])
        self.assertGreaterEqual(len(good), 2)
        self.assertEqual(len(good) + len(bad), 60)
        self.assertEqual({line["error"]["code"] for line in bad}, {"batch_cancelled"})
        self.assertEqual(len(self.bought(server, paid=True)), len(good), "only what was done is paid")
        self.assertEqual(self.ask("POST", path + "/cancel")[0], 409)

    def test_a_batch_expires_after_some_lines(self):
        server = self.start("--batch", "expire_after=4,reorder=on", "--seed", 3)
        batch = self.done(self.create([openai_line(i) for i in range(10)]), "expired")
        good, bad = self.lines(batch["output_file_id"]), self.lines(batch["error_file_id"])
        self.assertEqual((len(good), len(bad)), (4, 6))
        self.assertEqual({line["error"]["code"] for line in bad}, {"batch_expired"})
        self.assertNotEqual([line["custom_id"] for line in good], [f"line-{i}" for i in range(4)])
        self.assertEqual(len(self.bought(server, paid=True)), 4)

    def test_shares_of_lines_end_errored_and_expired(self):
        server = self.start("--batch", "errored=0.3,expired=0.2")
        batch = self.done(self.create([openai_line(i) for i in range(200)]), "expired")
        bad = self.lines(batch["error_file_id"])
        errored = [line for line in bad if line["response"]]
        self.assertEqual({line["response"]["status_code"] for line in errored}, {500})
        self.assertTrue(30 < len(errored) < 80 and 20 < len(bad) - len(errored) < 60, (len(errored), len(bad)))
        self.assertEqual(len(self.lines(batch["output_file_id"])), 200 - len(bad))
        self.assertEqual(len(self.bought(server, paid=True)), 200 - len(bad))

    def test_custom_ids_are_damaged_doubled_foreign_and_missing(self):
        server = self.start("--batch", "damaged=0.1,duplicate=0.1,foreign=0.1,missing=0.1,torn=0.1,reorder=on")
        batch = self.done(self.create([openai_line(i) for i in range(300)]))
        content = self.good("GET", f"/v1/files/{batch['output_file_id']}/content").splitlines()
        parsed, torn = [], 0
        for line in content:
            try:
                parsed.append(json.loads(line)["custom_id"])
            except ValueError:
                torn += 1
        faults = {name: [line["custom_id"] for line in self.bought(server, fault=name)] for name in ("damaged", "duplicate", "foreign", "missing", "torn")}
        self.assertTrue(all(10 < len(ids) < 60 for ids in faults.values()), faults)
        self.assertEqual(torn, len(faults["torn"]))
        self.assertEqual(sum(name.endswith("~") for name in parsed), len(faults["damaged"]))
        self.assertEqual(sum(name.startswith("foreign-") for name in parsed), len(faults["foreign"]))
        self.assertTrue(all(parsed.count(name) == 2 for name in faults["duplicate"]))
        self.assertTrue(all(parsed.count(name) == 0 for name in faults["missing"]))
        self.assertEqual(len(self.bought(server, paid=True)), 300, "a result that is lost is paid")

    def test_enqueued_tokens_are_limited_for_a_model(self):
        self.start("--batch", "offline-a:duration=1s,never=1,tokens=500")
        rows = [openai_line(i) for i in range(6)]
        first = self.create(rows)
        refused = self.done(self.create([openai_line(i) for i in range(10, 16)]), "failed")
        self.assertEqual([e["code"] for e in refused["errors"]["data"]], ["token_limit_exceeded"])
        self.done(self.create([openai_line(i, "offline-b") for i in range(6)]))
        self.good("POST", f"/v1/batches/{first['id']}/cancel")
        self.done(first, "cancelled")
        again = self.create(rows)
        self.assertEqual(self.until(f"/v1/batches/{again['id']}", lambda b: b["status"] != "validating")["status"], "in_progress")

    def test_a_lost_answer_leaves_a_batch(self):
        server = self.start("--fault", "lost_answer=1,batch_call=POST /v1/batches,nth=1")
        file = self.upload([openai_line(1)])
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            self.ask("POST", "/v1/batches", {**CREATE, "input_file_id": file["id"], "metadata": {"run": "lost"}})
        found = self.good("GET", "/v1/batches")["data"]
        self.assertEqual([b["metadata"] for b in found], [{"run": "lost"}])
        self.done(found[0])
        calls = [line for line in server.log() if line["event"] == "batch_call" and line["fault"] == "lost_answer"]
        self.assertEqual([line["batch"] for line in calls], [found[0]["id"]])
        self.wait_for("the line", lambda: [x for x in server.log() if x["event"] == "batch_call_lost" and x["n"] == calls[0]["n"]])

    def test_bad_input_fails_the_batch_and_names_the_line(self):
        self.start("--batch", "validate_ms=5")
        twice = [openai_line(1), openai_line(2), openai_line(1)]
        mixed = [openai_line(1), openai_line(2, "offline-b")]
        for rows, code, line in ((b'{"custom_id": "a"', "invalid_json_line", 1), (b"", "empty_file", None), (twice, "duplicate_custom_id", 3),
                                 (mixed, "mismatched_model", 2), ([openai_line(1, "gpt-none")], "model_not_found", 1),
                                 ([{**openai_line(1), "url": "/v1/embeddings"}], "invalid_url", 1), ([{"custom_id": "x"}], "missing_required_parameter", 1)):
            with self.subTest(code):
                batch = self.done(self.create(rows), "failed")
                self.assertEqual([(e["code"], e["line"]) for e in batch["errors"]["data"]], [(code, line)])
        for body in ({**CREATE, "input_file_id": "file-none"}, {**CREATE, "completion_window": "1h"}, {**CREATE, "endpoint": "/v1/other"}, [1]):
            self.assertEqual(self.ask("POST", "/v1/batches", body)[0], 400)
        self.assertEqual(self.ask("POST", "/v1/files", b"nonsense", headers={"Content-Type": "text/plain"})[0], 400)
        self.assertEqual(self.ask("GET", "/v1/batches/batch_none")[0], 404)

    def test_keys_of_a_pool_share_batches(self):
        import os
        os.environ.update(VQ_T1="sk-pool-1", VQ_T2="sk-pool-2")
        self.start("--limits", "acme:keys=env:VQ_T1+env:VQ_T2,rpm=100000", "--require-key")
        file = self.upload([openai_line(1)], key="sk-pool-1")
        batch = self.good("POST", "/v1/batches", {**CREATE, "input_file_id": file["id"]}, key="sk-pool-1")
        self.assertEqual(self.good("GET", f"/v1/batches/{batch['id']}", key="sk-pool-2")["id"], batch["id"])
        self.assertEqual(self.ask("GET", f"/v1/batches/{batch['id']}", key="sk-pool-3")[0], 404)
        connection = http.client.HTTPConnection(self.host, timeout=30)
        connection.request("GET", "/v1/batches")
        self.assertEqual(connection.getresponse().status, 401)
        connection.close()


class Azure(OpenAI):
    root = "/openai"
    version = "?api-version=2024-10-21"

    def headers(self, key):
        return {"api-key": key}

    def test_both_forms_of_its_paths(self):
        self.start()
        rows = [{**openai_line(i), "url": "/chat/completions"} for i in range(3)]
        batch = self.done(self.create(rows, endpoint="/chat/completions"))
        self.assertEqual(len(self.lines(batch["output_file_id"])), 3)
        self.assertEqual(self.ask("GET", "/openai/batches")[0], 404, "without api-version")
        self.root, self.version = "/openai/v1", ""
        batch = self.done(self.create([openai_line(i) for i in range(3)]))
        self.assertEqual(len(self.lines(batch["output_file_id"])), 3)


if __name__ == "__main__":
    unittest.main()
