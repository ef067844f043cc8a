"""Clients that mean harm, without a token: a process of its own, at the lowest priority, that holds connections open with a byte now and
then, opens a new one for each that is closed, and sends bodies without end. `stop` returns what it did.

    attacking.py PORT SLOW ENDLESS"""
import errno
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time

DRIP_S = 1.0
HEAD = b"GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
BODY_HEAD = b"POST /api/v1/ctl HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
REST_S = 0.05  # if the machine or the server refuses a connection


class Attack:
    def __init__(self, port, slow=1000, endless=8):
        self.did = None
        self.process = subprocess.Popen([sys.executable, __file__, str(port), str(slow), str(endless)], stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "attacks\n":
            raise RuntimeError("the attack did not start")

    def stop(self):
        """{"opened", "closed", "bytes", "cpu_s"}"""
        if self.did is None:
            self.process.terminate()
            self.did = json.loads(self.process.communicate()[0])
        return self.did


class Client:
    def __init__(self, is_endless):
        self.is_endless, self.socket, self.rest, self.said, self.at = is_endless, None, b"", False, 0.0


class Clients:
    def __init__(self, port, slow, endless):
        self.port, self.selector, self.over = port, selectors.DefaultSelector(), False
        self.all = [Client(i >= slow) for i in range(slow + endless)]
        self.done = {"opened": 0, "closed": 0, "bytes": 0}

    def open(self, client):
        client.socket = socket.socket()
        client.socket.setblocking(False)
        if client.socket.connect_ex(("127.0.0.1", self.port)) not in (0, errno.EINPROGRESS):
            client.socket.close()
            client.socket, client.at = None, time.monotonic() + REST_S
            return
        self.done["opened"] += 1
        client.rest, client.said = BODY_HEAD if client.is_endless else HEAD, False
        self.selector.register(client.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, client)

    def close(self, client):
        self.selector.unregister(client.socket)
        client.socket.close()
        client.socket = None
        self.done["closed"] += 1

    def write(self, client):
        if not client.rest and client.is_endless:
            client.rest = CHUNK
        sent = client.socket.send(client.rest)
        client.rest = client.rest[sent:]
        self.done["bytes"] += sent
        if not client.rest and not client.is_endless:
            client.said, client.at = True, time.monotonic() + DRIP_S
            self.selector.modify(client.socket, selectors.EVENT_READ, client)

    def turn(self):
        now = time.monotonic()
        for client in self.all:
            if client.socket is None and client.at <= now:
                self.open(client)
            elif client.socket is not None and client.said and client.at <= now:
                client.rest, client.said = b"a", False
                self.selector.modify(client.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, client)
        for key, events in self.selector.select(REST_S):
            client = key.data
            try:
                if events & selectors.EVENT_READ and not client.socket.recv(4096):
                    self.close(client)
                elif events & selectors.EVENT_WRITE:
                    self.write(client)
            except BlockingIOError:
                pass
            except OSError:
                self.close(client)


def main():
    os.nice(19)
    parent = os.getppid()
    clients = Clients(*map(int, sys.argv[1:]))

    def stop(*_):
        clients.over = True
    signal.signal(signal.SIGTERM, stop)
    print("attacks", flush=True)
    while not clients.over and os.getppid() == parent:
        clients.turn()
    print(json.dumps({**clients.done, "cpu_s": time.process_time()}))


if __name__ == "__main__":
    main()
