"""The call store: LMDB read-only, every value decoded and its CRC-32C checked (docs/develop/store.md)."""
import os
import struct
from pathlib import Path

import lmdb

NONE_FAILED = 48
OUTCOMES = {0: "open", 1: "A", 2: "B", 3: "equal", 4: "N/A", 5: "unsure", 8: "text", 9: "1", 10: "2", 11: "3", 12: "4", 13: "5",
            14: "yes", 15: "no", 16: "refused", 17: "truncated",
            18: "unparseable", 19: "empty", 32: "not_needed", 33: "blocked", 48: "error", 49: "too_long", 50: "unavailable",
            51: "bad_response", 52: "worker_lost"}
ENDS = ("answer", "rate", "provider", "network", "lost", "bad_response", "bad_request", "too_long", "closed", "unknown", "cancelled", "batched")


class Damaged(Exception):
    """A record that is not what was written."""


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _table()


def crc32c(*parts):
    crc, table = 0xFFFFFFFF, _CRC
    for part in parts:
        for byte in part:
            crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def bytes(self, n):
        if self.at + n > len(self.data):
            raise Damaged("it ends too early")
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, n):
        return int.from_bytes(self.bytes(n), "little")

    def text(self):
        return self.bytes(self.number(4))

    def end(self):
        if self.at != len(self.data):
            raise Damaged("something stands after its end")


def open_value(key, value, kind, version_max):
    """The body and the version of a value, once its checksum was found right."""
    if len(value) < 8 or value[1:2] != kind or value[2:4] != b"\0\0":
        raise Damaged("it has no head of its kind")
    if struct.unpack("<I", value[4:8])[0] != crc32c(key, value[:4], value[8:]):
        raise Damaged("its checksum is wrong")
    if not 1 <= value[0] <= version_max:
        raise Damaged(f"it has version {value[0]}, which is unknown")
    return Reader(value[8:]), value[0]


def read_answer(key, value):
    r, _ = open_value(key, value, b"A", 1)
    row = {"refusal": r.number(1) != 0, "created": r.number(8), "tokens_in": r.number(8), "tokens_cached": r.number(8),
           "tokens_out": r.number(8), "call": r.bytes(16).hex(), "run": r.bytes(16).hex()}
    for name in ("finish_reason", "model", "fingerprint"):
        row[name] = r.text().decode(errors="replace")
    row["answer"] = bytes(r.text())
    r.end()
    return row


def read_call(key, value):
    r, version = open_value(key, value, b"C", 5)
    row = {"call": key[17:].hex(), "repair": r.number(1) == 1}
    end, row["outcome"], flags = r.number(1), r.number(1), r.number(1)
    if end >= len(ENDS) or flags > 31 or row["outcome"] not in OUTCOMES:
        raise Damaged("a number in it has no meaning")
    row["end"] = ENDS[end]
    row.update(final=bool(flags & 1), refusal=bool(flags & 2), used=bool(flags & 4), foreign=bool(flags & 8))
    row["stage"] = r.number(4) if version >= 2 else 0
    for name, size in (("task", 8), ("epoch", 8), ("n", 8), ("judge", 4), ("repeat", 4), ("tries", 4), ("http_status", 4),
                       ("latency_ms", 4), ("started", 8), ("recorded", 8), ("tokens_in", 8), ("tokens_cached", 8), ("tokens_out", 8)):
        row[name] = r.number(size)
    row["request"] = bytes(r.bytes(32))
    for name in ("worker", "model", "error"):
        row[name] = r.text().decode(errors="replace")
    row.update(cost_nano=0, tokens_reserved=0, pool="")
    if version >= 3:
        row.update(cost_nano=r.number(8), tokens_reserved=r.number(8), pool=r.text().decode(errors="replace"))
        r.text()
    row.update(unreported=bool(flags & 16), provider_nano=0, prompt_chars=0)
    if version >= 4:
        row.update(provider_nano=r.number(8), prompt_chars=r.number(8))
    row.update(tokens_written=0, tier="")
    if version >= 5:
        row.update(tokens_written=r.number(8), tier=r.text().decode(errors="replace"))
    r.end()
    return row


def read_failure(key, value):
    r, _ = open_value(key, value, b"F", 2)
    row = {"request": bytes(key[17:]), "outcome": r.number(1), "at": r.number(8), "call": r.bytes(16).hex()}
    r.end()
    if row["outcome"] != 0 and row["outcome"] < NONE_FAILED or row["outcome"] not in OUTCOMES:
        raise Damaged("its outcome is no failure")
    return row


def read_batch(key, value):
    r, version = open_value(key, value, b"B", 2)
    row = {"state": r.number(1), "calls": r.number(4), "ended": r.number(4)}
    row.update({name: r.text().decode(errors="replace") for name in ("name", "pool", "id")})
    row["owner"] = r.bytes(16).hex() if version >= 2 else ""
    r.end()
    return row


def read_meta(key, value):
    r, version = open_value(key, value, b"M", 2)
    row = {"epoch": r.number(8), "commit_n": r.number(8), "generation": r.number(4), "clean": r.number(1) != 0,
           "nonce": r.bytes(16).hex(), "created": r.number(8), "started": r.number(8), "ended": r.number(8) if version >= 2 else 0}
    r.end()
    return row


def check_length(path):
    """A file that lost its end kills whoever reads it through the map: so the meta pages are read first."""
    with open(path, "rb") as file:
        head = file.read(16384)
    size, last, page, txn = os.path.getsize(path), 0, 0, -1
    for at in (0, 4096):
        body = head[at + 16:at + 16 + 136]
        if len(body) < 136 or struct.unpack_from("<I", body)[0] != 0xBEEFC0DE:
            raise Damaged(f"{path} is no LMDB file, or its first pages are damaged")
        page_bytes, = struct.unpack_from("<I", body, 24)
        last_page, number = struct.unpack_from("<QQ", body, 120)
        if number > txn:
            last, page, txn = last_page, page_bytes, number
    if size < (last + 1) * page:
        raise Damaged(f"{path} has {size} bytes and should have {(last + 1) * page}: its end is missing")


def is_locked(path):
    """Whether some process holds a flock on this file; looks without touching the lock."""
    try:
        inode = os.stat(path).st_ino
        locks = Path("/proc/locks").read_text()
    except OSError:
        return False
    return any(line.split()[1] == "FLOCK" and line.split()[5].endswith(f":{inode}") for line in locks.splitlines()
               if len(line.split()) > 5 and line.split()[1] != "->")


class Store:
    """Everything that one run has in the store, and the answers of all."""

    def __init__(self, path, uid, live):
        self.bad = []
        self.calls, self.failures, self.others = {}, {}, {}
        self.waiting = set()  # calls whose whole record waits for the result of their batch
        self.meta = None
        check_length(path)
        env = lmdb.open(str(path), subdir=False, readonly=True, lock=live, max_dbs=8, create=False)
        try:
            with env.begin() as txn:
                self.format = bytes(txn.get(b"format") or b"")
                self._read(txn, env, bytes.fromhex(uid))
        finally:
            env.close()

    def _read(self, txn, env, run):
        answers, ledger = env.open_db(b"answers", txn=txn, create=False), env.open_db(b"ledger", txn=txn, create=False)
        self.answers = {}
        for key, value in txn.cursor(answers):
            if len(key) != 32:
                self.bad.append(f"answer {key.hex()}: its key is no request hash")
                continue
            self._decode("answer", key, value, lambda k, v: self.answers.__setitem__(bytes(k), read_answer(k, v)))
        for key, value in txn.cursor(ledger):
            kind = key[16:17]
            own = key[:16] == run
            if kind == b"C" and len(key) == 33:
                self._decode("ledger row of call", key, value, lambda k, v: self._call(own, k, v))
            elif kind == b"F" and len(key) == 49:
                self._decode("failure row", key, value, lambda k, v: own and self.failures.__setitem__(bytes(k[17:]), read_failure(k, v)))
            elif kind == b"W" and len(key) == 33:
                self._decode("record of call", key, value, lambda k, v: self._waiting(own, k, v))
            elif kind == b"B" and len(key) == 49:
                self._decode("row of a batch", key, value, read_batch)
            elif kind == b"M" and len(key) == 17:
                self._decode("meta row", key, value, lambda k, v: self._meta(own, k, v))
            else:
                self.bad.append(f"ledger: a key that is none of ours: {key.hex()}")

    def _decode(self, what, key, value, take):
        try:
            take(key, value)
        except Damaged as why:
            self.bad.append(f"{what} {key[17:33].hex() if what != 'answer' else key.hex()}: {why}")

    def _call(self, own, key, value):
        row = read_call(key, value)
        row["run"] = key[:16].hex()
        (self.calls if own else self.others)[row["call"]] = row

    def _waiting(self, own, key, value):
        open_value(key, value, b"W", 1)
        if own:
            self.waiting.add(bytes(key[17:]).hex())

    def _meta(self, own, key, value):
        row = read_meta(key, value)
        if own:
            self.meta = row
