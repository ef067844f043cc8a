"""Spools that lie in the run folder: what workers sent and got back that no commit has taken yet (proto/spool.h)."""
import hashlib
import struct
from pathlib import Path

import msgpack

from auditing.store import ENDS, Damaged

HEAD, FRONT, MARK, VERSION = 52, 16, 0x71760000, 3
SENT, ANSWER, ACKED = 1, 2, 3


def _check(*parts):
    h = hashlib.blake2b(digest_size=32)
    h.update(b"vibeq spool".ljust(16, b"\0"))
    for part in parts:
        h.update(part)
    return h.digest()[:8]


def _record(data, at):
    """(type, call, body, bytes) of the record that begins there; None: it is not whole."""
    if at + FRONT + 16 > len(data):
        return None
    mark, rest = struct.unpack_from("<II", data, at)
    kind = mark & 0xFF
    if mark != MARK | kind or not SENT <= kind <= ACKED or rest < 16 or at + FRONT + rest > len(data):
        return None
    body = data[at + FRONT:at + FRONT + rest]
    if data[at + 8:at + 16] != _check(data[at:at + 8], body):
        return None
    return kind, body[:16].hex(), body[16:], FRONT + rest


def _fields(body):
    """Of a call record as the wire has it: [version, type, fields ...]."""
    row = msgpack.unpackb(body, raw=True, strict_map_key=False)
    (_, _, call, stage, _, fence, task, request, _, judge, repeat, tries, kind, end, outcome, *rest) = row
    return {"call": call.hex(), "stage": stage, "epoch": fence[0], "n": fence[1], "task": task, "request": bytes(request), "judge": judge,
            "repeat": repeat, "tries": tries, "repair": kind == 1, "end": ENDS[end], "outcome": outcome, "started": rest[4],
            "tokens_in": rest[5], "tokens_out": rest[7], "cost_nano": rest[9], "unreported": rest[12]}


def read(path, uid):
    """{call: record} of what has no ACK, and how many bytes at the end were no whole record. Damaged: not at its end, or not ours."""
    data = Path(path).read_bytes()
    if len(data) < HEAD:
        return {}, len(data)
    if data[:8] != b"vqspool\n" or data[44:52] != _check(data[:44]):
        raise Damaged("it is no spool, or its first bytes are damaged")
    version, = struct.unpack_from("<I", data, 8)
    if version != VERSION:
        raise Damaged(f"it has version {version}, this reads {VERSION}")
    if data[12:28].hex() != uid:
        raise Damaged(f"it is of run {data[12:28].hex()}")
    calls, acked, at = {}, set(), HEAD
    while (record := _record(data, at)) is not None:
        kind, call, body, size = record
        if kind == ACKED:
            acked.add(call)
        elif kind == ANSWER or call not in calls:
            calls[call] = _fields(body)
            if kind == ANSWER:  # a call that is part of a batch has two results
                acked.discard(call)
        at += size
    if any(_record(data, later) for later in range(at + 1, len(data) - FRONT)):
        raise Damaged(f"it is damaged at byte {at} of {len(data)}, with whole records after it")
    return {call: row for call, row in calls.items() if call not in acked}, len(data) - at


def all_of(run_dir, uid):
    """(calls of all spools, complaints, torn bytes)."""
    calls, bad, torn = {}, [], 0
    for path in sorted(Path(run_dir).glob("spool/*/spool")):
        try:
            found, cut = read(path, uid)
        except Damaged as why:
            bad.append(f"spool {path.parent.name}: {why}")
            continue
        for row in found.values():
            row["spool"] = path.parent.name
        calls.update(found)
        torn += cut
    return calls, bad, torn
