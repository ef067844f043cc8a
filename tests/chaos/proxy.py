"""A TCP proxy that spoils connections: delay, jitter (so that data of several connections arrive in another order), small pieces, stalls,
bytes that vanish, a connection cut or half closed after a number of bytes, refusals. Standard library only.

It runs in a separate thread. Its settings may change at any time, also for open connections. `up` is from the client to the target, `down` is
back. Within a connection, bytes are never changed, doubled or reordered: TCP guarantees that, and CURVE checks it.

    python3 tests/chaos/proxy.py TARGET_HOST:PORT [PORT] [name=value ...]      by hand, the same names as set()"""
import asyncio
import random
import socket
import struct
import sys
import threading

RESET = struct.pack("ii", 1, 0)
PIECE = 65536
DEFAULTS = dict(delay_ms=0.0, jitter_ms=0.0,  # each piece waits this time; the order within a direction does not change
                chunk=0, pause_ms=0.0,        # pieces of this number of bytes, with this time between them
                stall="",                     # "up", "down", "both": nothing passes, nothing is lost
                swallow="",                   # the same words: bytes are read and dropped; such a connection cannot be used any more
                cut_after=0,                  # a connection is reset after about this number of bytes (uniform, 1 to twice that)
                half_close_after=0,           # its `down` is closed after this number of bytes, `up` stays open
                refuse=False)                 # new connections are reset at once


class Proxy:
    def __init__(self, target, port=0, seed=1, host="127.0.0.1", **faults):
        self.target, self.rng, self.faults = target, random.Random(seed), dict(DEFAULTS)
        self.connections, self.seen, self.cuts = {}, 0, 0
        self.set(**faults)
        self.loop = asyncio.new_event_loop()
        self.changed = None
        ready = threading.Event()
        self.thread = threading.Thread(target=self.serve, args=(host, port, ready), daemon=True)
        self.thread.start()
        ready.wait()
        if self.failure:
            raise self.failure

    # ---- from outside, any thread ----

    def set(self, **faults):
        """Changes settings; those that are not named stay."""
        for name in faults:
            if name not in DEFAULTS:
                raise ValueError(f"no such fault: {name}")
        self.faults.update(faults)

    def heal(self):
        self.faults = dict(DEFAULTS)

    def cut(self, share=1.0):
        """Resets open connections, each with this probability."""
        def now():
            for connection in list(self.connections.values()):
                if self.rng.random() < share:
                    connection.reset()
        self.loop.call_soon_threadsafe(now)

    def stop(self):
        def now():
            for connection in list(self.connections.values()):
                connection.reset()
            self.loop.stop()
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(now)
            self.thread.join(10)

    # ---- inside ----

    def serve(self, host, port, ready):
        asyncio.set_event_loop(self.loop)
        self.failure = None
        try:
            server = self.loop.run_until_complete(asyncio.start_server(self.accept, host, port, backlog=512))
            self.port = server.sockets[0].getsockname()[1]
        except OSError as failure:
            self.failure = failure
            ready.set()
            return
        ready.set()
        self.loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()

    async def accept(self, reader, writer):
        self.seen += 1
        connection = Connection(self, writer)
        if self.faults["refuse"]:
            connection.reset()
            return
        self.connections[id(connection)] = connection
        try:
            await connection.run(reader)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            connection.close()
            self.connections.pop(id(connection), None)

    def about(self, n):
        return self.rng.randint(1, 2 * n) if n else 0


class Connection:
    def __init__(self, proxy, client):
        self.proxy, self.writers, self.bytes, self.down_bytes = proxy, [client], 0, 0
        self.cut_at = proxy.about(proxy.faults["cut_after"])
        self.half_at = proxy.about(proxy.faults["half_close_after"])

    async def run(self, client_reader):
        target_reader, target = await asyncio.open_connection(*self.proxy.target)
        self.writers.append(target)
        for writer in self.writers:
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ways = [asyncio.ensure_future(self.way("up", client_reader, target)),
                asyncio.ensure_future(self.way("down", target_reader, self.writers[0]))]
        try:
            await asyncio.gather(*ways)
        finally:
            for way in ways:
                way.cancel()

    async def way(self, name, reader, writer):
        queue = asyncio.Queue(64)
        out = asyncio.ensure_future(self.write(name, queue, writer))
        due = 0.0
        try:
            while not out.done():
                data = await reader.read(PIECE)
                faults = self.proxy.faults
                wait = (faults["delay_ms"] + faults["jitter_ms"] * self.proxy.rng.random()) / 1000
                due = max(due, asyncio.get_running_loop().time() + wait)
                await queue.put((due, data))
                if not data:
                    break
            await out
        finally:
            out.cancel()

    async def hold(self, name):
        while self.proxy.faults["stall"] in (name, "both"):
            await asyncio.sleep(0.01)

    async def write(self, name, queue, writer):
        loop = asyncio.get_running_loop()
        while True:
            due, data = await queue.get()
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            await self.hold(name)
            if not data:
                break
            if self.proxy.faults["swallow"] in (name, "both"):
                continue
            if await self.pieces(name, data, writer):
                break
        if writer.can_write_eof() and not writer.is_closing():
            writer.write_eof()

    async def pieces(self, name, data, writer):
        """True: this direction must be closed."""
        at = 0
        while at < len(data):
            faults = self.proxy.faults
            size = min(faults["chunk"] or PIECE, len(data) - at)
            if self.cut_at and self.bytes + size >= self.cut_at:
                writer.write(data[at:at + self.cut_at - self.bytes])
                await asyncio.sleep(0.001)
                self.reset()
                raise ConnectionAbortedError
            half = name == "down" and self.half_at > 0
            if half:
                size = min(size, self.half_at - self.down_bytes)
                self.down_bytes += size
            writer.write(data[at:at + size])
            await writer.drain()
            at += size
            self.bytes += size
            if faults["chunk"]:
                await asyncio.sleep(faults["pause_ms"] / 1000)
                await self.hold(name)
            if half and self.down_bytes >= self.half_at:
                return True
        return False

    def reset(self):
        self.proxy.cuts += 1
        for writer in self.writers:
            sock = writer.get_extra_info("socket")
            if sock is not None and sock.fileno() >= 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()

    def close(self):
        for writer in self.writers:
            if not writer.is_closing():
                writer.close()


def main():
    if len(sys.argv) < 2 or ":" not in sys.argv[1]:
        sys.exit(__doc__)
    host, port = sys.argv[1].rsplit(":", 1)
    more = sys.argv[2:]
    own = int(more.pop(0)) if more and more[0].isdigit() else 0
    words = dict(word.split("=", 1) for word in more)
    proxy = Proxy((host, int(port)), own, **{k: type(DEFAULTS.get(k, ""))(v) for k, v in words.items()})
    print(f"listening on 127.0.0.1:{proxy.port}", flush=True)
    proxy.thread.join()


if __name__ == "__main__":
    main()
