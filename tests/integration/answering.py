"""Endpoints of a test's own, where vibeq-offline alone cannot say what a test asks for: one that answers as it likes, and one that stands in front
of a server. Standard library only."""
import http.client
import http.server
import json
import sys
import threading


class Endpoint(http.server.BaseHTTPRequestHandler):
    """A handler of requests; a subclass has do_POST."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def reply(self, body, status=200, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def say(self, model, text, finish="stop"):
        """A good answer."""
        self.reply(json.dumps({"id": "x", "object": "chat.completion", "model": model, "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}}).encode())

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Serves a handler from threads of its own until stop()."""
    request_queue_size = 64

    def __init__(self, handler, host="127.0.0.1"):
        super().__init__((host, 0), handler)
        self.url = f"http://{host}:{self.server_port}/v1"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *words):
        if not isinstance(sys.exc_info()[1], (OSError, http.client.HTTPException)):  # a connection that ended
            super().handle_error(*words)

    def stop(self):
        self.shutdown()
        self.server_close()


class Between:
    """Stands in front of a server: bodies in `asked`; change(question, text) gives the text that arrives instead of an answer's, or
    (text, finish_reason)."""

    def __init__(self, url, change=None):
        host = url.split("/")[2]
        asked = self.asked = []

        class Handler(Endpoint):
            def setup(self):
                super().setup()
                self.upstream = http.client.HTTPConnection(host)

            def do_POST(self):
                body = self.body()
                asked.append(body.decode())
                headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection", "content-length")}
                self.upstream.request("POST", self.path, body, headers)
                response = self.upstream.getresponse()
                answer = response.read()
                if change is not None and response.status == 200 and self.path.endswith("/chat/completions"):
                    whole = json.loads(answer)
                    choice = whole["choices"][0]
                    said = change(json.loads(body), choice["message"]["content"])
                    text, choice["finish_reason"] = said if isinstance(said, tuple) else (said, choice["finish_reason"])
                    choice["message"]["content"] = text
                    answer = json.dumps(whole).encode()
                self.reply(answer, response.status, response.getheader("Content-Type", "application/json"))

            def finish(self):
                super().finish()
                self.upstream.close()

        self.server = Server(Handler)
        self.url = self.server.url

    def stop(self):
        self.server.stop()
