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


class Anthropic(Batching):
    path = "/v1/messages/batches"

    def headers(self, key):
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def request(self, i, model="offline-a", name=None):
        return {"custom_id": name or f"line-{i}", "params": {"max_tokens": 400, **chat(i, model)}}

    def create(self, n, **more):
        return self.good("POST", self.path, {"requests": [self.request(i) for i in range(n)], **more})

    def done(self, batch):
        return self.until(f"{self.path}/{batch['id']}", lambda b: b["processing_status"] == "ended")

    def results(self, batch):
        url = urllib.parse.urlsplit(batch["results_url"])
        self.assertEqual(url.netloc, self.host)
        return [json.loads(x) for x in self.good("GET", url.path).splitlines()]

    def test_a_whole_batch_gets_the_answers_of_interactive_calls(self):
        server = self.start("--batch", "duration=50ms,errored=0.2", "--seed", 5)
        batch = self.create(20)
        self.assertEqual((batch["type"], batch["processing_status"], batch["results_url"], batch["ended_at"]), ("message_batch", "in_progress", None, None))
        self.assertEqual(batch["request_counts"], {"processing": 20, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0})
        self.assertEqual(self.ask("GET", f"{self.path}/{batch['id']}/results")[0], 404)
        batch = self.done(batch)
        results = self.results(batch)
        good = [line for line in results if line["result"]["type"] == "succeeded"]
        bad = [line for line in results if line["result"]["type"] == "errored"]
        self.assertEqual(batch["request_counts"], {"processing": 0, "succeeded": len(good), "errored": len(bad), "canceled": 0, "expired": 0})
        self.assertTrue(len(bad) and len(good) + len(bad) == 20)
        self.assertEqual({(line["result"]["error"]["type"], line["result"]["error"]["error"]["type"]) for line in bad}, {("error", "api_error")})
        for line in good:
            inside = line["result"]["message"]
            direct = self.good("POST", "/v1/messages", self.request(int(line["custom_id"][5:]))["params"])
            self.assertEqual((inside["content"], inside["usage"], inside["stop_reason"]), (direct["content"], direct["usage"], direct["stop_reason"]))
        self.assertEqual(len(self.bought(server, paid=True)), len(good), "only what succeeded is paid")

    def test_lists_by_pages_forward_and_back(self):
        self.start()
        made = [self.create(1)["id"] for _ in range(5)]
        page = self.good("GET", self.path + "?limit=2")
        self.assertEqual(([b["id"] for b in page["data"]], page["has_more"], page["first_id"], page["last_id"]), ([made[4], made[3]], True, made[4], made[3]))
        page = self.good("GET", f"{self.path}?limit=3&after_id={made[3]}")
        self.assertEqual(([b["id"] for b in page["data"]], page["has_more"]), ([made[2], made[1], made[0]], False))
        page = self.good("GET", f"{self.path}?limit=2&before_id={made[1]}")
        self.assertEqual(([b["id"] for b in page["data"]], page["has_more"]), ([made[3], made[2]], True))
        self.assertEqual(self.good("GET", self.path, key="sk-other")["data"], [])

    def test_cancelled_and_expired_lines(self):
        server = self.start("--batch", "offline-a:duration=3s,never=1", "--batch", "offline-b:expire_after=3")
        batch = self.create(30)
        self.wait_for("a line", lambda: self.bought(server, batch=batch["id"]))
        cancelled = self.good("POST", f"{self.path}/{batch['id']}/cancel")
        self.assertTrue(cancelled["cancel_initiated_at"])
        types = [line["result"]["type"] for line in self.results(self.done(batch))]
        self.assertEqual((set(types), len(types)), ({"succeeded", "canceled"}, 30))
        batch = self.good("POST", self.path, {"requests": [self.request(i, "offline-b") for i in range(8)]})
        self.assertEqual([line["result"]["type"] for line in self.results(self.done(batch))], ["succeeded"] * 3 + ["expired"] * 5)
        self.assertEqual(len(self.bought(server, paid=True, batch=batch["id"])), 3)

    def test_bad_batches_and_limits(self):
        self.start("--batch", "tokens=100,max_requests=50")
        for requests in ([], [{"custom_id": "a"}], [self.request(1), self.request(1)], [self.request(1, name="a b")], [self.request(1, name="x" * 65)]):
            status, body, _ = self.ask("POST", self.path, {"requests": requests})
            self.assertEqual((status, body["type"], body["error"]["type"]), (400, "error", "invalid_request_error"), body)
        status, body, _ = self.ask("POST", self.path, {"requests": [self.request(i) for i in range(20)]})
        self.assertEqual((status, body["error"]["type"]), (429, "rate_limit_error"))
        status, body, _ = self.ask("POST", self.path, {"requests": [self.request(i) for i in range(51)]})
        self.assertEqual((status, body["error"]["type"]), (413, "request_too_large"))


class Gemini(Batching):
    def headers(self, key):
        return {"x-goog-api-key": key}

    def request(self, i):
        return {"contents": [{"role": "user", "parts": [{"text": QUESTION.format(i=i)}]}]}

    def create(self, config, model="offline-a", **more):
        return self.good("POST", f"/v1beta/models/{model}:batchGenerateContent", {"batch": {"display_name": "run-7", "input_config": config, **more}})

    def inline(self, n):
        return {"requests": {"requests": [{"request": self.request(i), "metadata": {"key": f"line-{i}"}} for i in range(n)]}}

    def done(self, batch, state="SUCCEEDED"):
        batch = self.until(f"/v1beta/{batch['name']}", lambda b: b.get("done"))
        self.assertEqual(batch["metadata"]["state"], f"BATCH_STATE_{state}", batch)
        return batch

    def upload(self, content, piece=1 << 20):
        start = {"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start", "X-Goog-Upload-Header-Content-Length": str(len(content)),
                 "X-Goog-Upload-Header-Content-Type": "application/jsonl"}
        _, _, response = self.ask("POST", "/upload/v1beta/files", {"file": {"display_name": "in"}}, headers=start)
        url = urllib.parse.urlsplit(response.getheader("X-Goog-Upload-URL"))
        self.assertEqual(url.netloc, self.host)
        for at in range(0, len(content), piece):
            last = at + piece >= len(content)
            command = {"X-Goog-Upload-Offset": str(at), "X-Goog-Upload-Command": "upload, finalize" if last else "upload"}
            status, body, response = self.ask("POST", f"{url.path}?{url.query}", content[at:at + piece], headers=command)
            self.assertEqual((status, response.getheader("X-Goog-Upload-Status")), (200, "final" if last else "active"))
        return body["file"]

    def test_inline_requests_get_the_answers_of_interactive_calls(self):
        server = self.start("--batch", "duration=50ms,validate_ms=20,errored=0.2", "--seed", 2)
        batch = self.create(self.inline(20))
        self.assertTrue(batch["name"].startswith("batches/"))
        self.assertEqual((batch["metadata"]["state"], batch["metadata"]["displayName"], batch["metadata"]["model"], batch.get("done")),
                         ("BATCH_STATE_PENDING", "run-7", "models/offline-a", None))
        batch = self.done(batch)
        items = batch["response"]["inlinedResponses"]["inlinedResponses"]
        self.assertEqual(items, batch["metadata"]["output"]["inlinedResponses"]["inlinedResponses"])
        self.assertEqual([item["metadata"]["key"] for item in items], [f"line-{i}" for i in range(20)])
        good = [(i, item["response"]) for i, item in enumerate(items) if "response" in item]
        self.assertTrue(0 < len(good) < 20 and all(item["error"]["code"] == 13 for item in items if "error" in item))
        for i, inside in good:
            direct = self.good("POST", "/v1beta/models/offline-a:generateContent", self.request(i))
            self.assertEqual((inside["candidates"], inside["usageMetadata"]), (direct["candidates"], direct["usageMetadata"]))
        self.assertEqual(batch["metadata"]["batchStats"]["successfulRequestCount"], str(len(good)))
        self.assertEqual(len(self.bought(server, paid=True)), len(good))

    def test_an_uploaded_file_in_pieces(self):
        self.start()
        content = jsonl({"key": f"k{i}", "request": self.request(i)} for i in range(50))
        file = self.upload(content, piece=4096)
        self.assertEqual((file["sizeBytes"], file["displayName"], file["state"]), (str(len(content)), "in", "ACTIVE"))
        self.assertEqual(self.good("GET", f"/v1beta/{file['name']}")["uri"], file["uri"])
        batch = self.done(self.create({"file_name": file["name"]}))
        self.assertEqual(batch["metadata"]["output"], batch["response"])
        out = self.good("GET", f"/download/v1beta/{batch['response']['responsesFile']}:download?alt=media")
        self.assertEqual(out, self.good("GET", f"/v1beta/{batch['response']['responsesFile']}:download?alt=media"))
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([line["key"] for line in lines], [f"k{i}" for i in range(50)])
        self.assertTrue(all(line["response"]["candidates"] for line in lines))
        self.assertEqual(self.good("DELETE", f"/v1beta/{file['name']}"), {})
        self.assertEqual(self.ask("GET", f"/v1beta/{file['name']}")[0], 404)

    def test_lists_by_pages_and_cancels(self):
        server = self.start("--batch", "offline-a:duration=3s", "--batch", "offline-b:expire_after=3")
        made = [self.create(self.inline(2))["name"] for _ in range(5)]
        seen, token = [], ""
        while True:
            page = self.good("GET", f"/v1beta/batches?pageSize=2&pageToken={token}")
            seen += [operation["name"] for operation in page["operations"]]
            token = page.get("nextPageToken")
            if not token:
                break
        self.assertEqual(seen, made[::-1])
        self.assertEqual(self.good("POST", f"/v1beta/{made[0]}:cancel"), {})
        self.assertEqual(self.done({"name": made[0]}, "CANCELLED")["error"]["code"], 1)
        expired = self.done(self.create(self.inline(8), model="offline-b"), "EXPIRED")
        self.assertNotIn("response", expired)
        self.assertEqual(self.bought(server, paid=True), [], "a batch without results is not paid")

    def test_bad_batches_and_limits(self):
        self.start("--batch", "tokens=100")
        path = "/v1beta/models/offline-a:batchGenerateContent"
        for batch, wanted in (({}, 400), ({"input_config": {"file_name": "files/none"}}, 404), ({"input_config": self.inline(20)}, 429)):
            status, body, _ = self.ask("POST", path, {"batch": batch})
            self.assertEqual((status, body["error"]["code"]), (wanted, wanted))
        self.assertEqual(self.ask("POST", path.replace("offline-a", "none"), {"batch": {"input_config": self.inline(1)}})[0], 404)
        file = self.upload(b'{"key": "a", "request": {}}\n{"key"\n')
        self.assertIn("Line 2", self.done(self.create({"fileName": file["name"]}), "FAILED")["error"]["message"])


if __name__ == "__main__":
    unittest.main()
