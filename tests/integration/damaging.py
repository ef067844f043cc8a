"""One real run, copied for each test, whose records a test then damages: ledger rows, answers, spools, results, the endpoint's log."""
import json
import os
import shutil
import struct
import sys
from pathlib import Path

try:
    import lmdb
    import msgpack
except ImportError:
    if os.path.realpath(sys.executable) == os.path.realpath("/usr/bin/python3"):
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])  # where Debian's packages are

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from auditing import spool, store  # noqa: E402
from vqtest import Case, add_rates, planted  # noqa: E402

AXES = ("V1", "V2", "V3")
# where the fields of a ledger row lie behind its 8 bytes of head
KIND, END, OUTCOME, FLAGS, TASK, EPOCH, N = 0, 1, 2, 3, 8, 16, 24
STARTED, RECORDED, TOKENS_IN, REQUEST = 52, 60, 68, 92


class Damaging(Case):
    """What is copied is make(), which a subclass may have of its own."""
    whole = None

    @classmethod
    def maker(cls):
        return next(c for c in cls.__mro__ if "make" in vars(c))

    @classmethod
    def tearDownClass(cls):
        if cls.maker().whole:
            shutil.rmtree(cls.maker().whole, ignore_errors=True)
            cls.maker().whole = None

    def make(self):
        """Its judges are unreadable, lose answers, and refuse some prompts for good."""
        planted(self.dir, 16, AXES)
        add_rates(self.dir, tie=0.2, unparseable=0.05)
        server = self.offline("--oracle", self.dir / "truth.jsonl", "--fault", "lost_answer=0.03", "--fault", "server_error=0.05",
                              "--fault", "bad_request=0.02")
        self.config(AXES, url=server.url, judge={"concurrency": 8, "price_input_usd": 1, "price_output_usd": 2}, term_ms=1000)
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", code=None)
        server.stop()

    def setUp(self):
        """A copy of one real run."""
        super().setUp()
        maker = self.maker()
        if maker.whole is None:
            self.make()
            maker.whole = Path(str(self.dir) + "-whole")
            shutil.copytree(self.dir, maker.whole)
        else:
            shutil.copytree(maker.whole, self.dir, dirs_exist_ok=True)
        self.run_dir = self.dir / "runs/r"
        self.uid = (self.run_dir / "uid").read_text().strip()

    # ---- reading and damaging ----

    def kept(self):
        return store.Store(self.dir / "runs/calls.lmdb", self.uid, False)

    def call(self, **wanted):
        """A ledger row of this kind."""
        return next(row for row in self.kept().calls.values() if all(row[k] == v for k, v in wanted.items()))

    def table(self, name, change):
        env = lmdb.open(str(self.dir / "runs/calls.lmdb"), subdir=False, max_dbs=8)
        with env.begin(write=True) as txn:
            change(txn, env.open_db(name, txn=txn, create=False))
        env.close()

    def ledger_key(self, call):
        return bytes.fromhex(self.uid) + b"C" + bytes.fromhex(call)

    def rewrite(self, table, key, body, new_key=None, whole=True):
        """Changes a value by body(bytearray of what is behind its head); with its checksum, unless `whole` is false."""
        def change(txn, db):
            value = bytearray(txn.get(key, db=db))
            rest = value[8:]
            rest = body(rest) or rest
            value[8:] = rest
            if whole:
                value[4:8] = struct.pack("<I", store.crc32c(new_key or key, value[:4], value[8:]))
            txn.put(new_key or key, bytes(value), db=db)
        self.table(table, change)

    def row(self, call, **fields):
        """Sets fields of a ledger row: name=(offset, bytes)."""
        def body(rest):
            for at, data in fields.values():
                rest[at:at + len(data)] = data
        self.rewrite(b"ledger", self.ledger_key(call), body)

    def delete(self, table, key):
        self.table(table, lambda txn, db: self.assertTrue(txn.delete(key, db=db)))

    def log(self, change):
        """Every line of the endpoint's log as change() gives it back; None leaves it out."""
        path = self.dir / "offline.log"
        lines = [change(json.loads(line)) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines if line is not None))

    def lines_of(self, call):
        n = next(json.loads(x)["n"] for x in (self.dir / "offline.log").read_text().splitlines() if json.loads(x).get("call") == call)
        return [json.loads(x) for x in (self.dir / "offline.log").read_text().splitlines() if json.loads(x)["n"] == n]

    def scores(self, change, name="results/scores.csv"):
        path = self.run_dir / name
        lines = path.read_text().splitlines()
        path.write_text("\n".join(change(lines)) + "\n")

    def json_file(self, name, change):
        path = self.run_dir / name
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))

    def answered(self):
        """An answer on which a score hangs: a vote, and so is that of the other order."""
        rows = {row["task"]: row for row in self.kept().calls.values() if row["end"] == "answer" and row["used"] and not row["repair"]}
        return next(row for task, row in rows.items() if row["outcome"] == 1 and rows.get(task ^ 1, {}).get("outcome") == 2)

    def spool(self, *records, uid=None):
        folder = self.run_dir / "spool/7"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lock").touch()
        head = b"vqspool\n" + struct.pack("<I", 3) + bytes.fromhex(uid or self.uid) + bytes(16)
        data = head + spool._check(head)
        for kind, call, body in records:
            rest = bytes.fromhex(call) + body
            front = struct.pack("<II", 0x71760000 | kind, len(rest))
            data += front + spool._check(front, rest) + rest
        (folder / "spool").write_bytes(data)
        return folder / "spool"

    @staticmethod
    def result(call, end):
        fields = [bytes.fromhex(call), 0, 0, [1, 1], 0, bytes(32), bytes(32), 0, 0, 1, 0, end, 0, False, False, 200, 5, 1, 9, 0, 9, 9, 9, 0, 900,
                  False, "p", b"Model: A", "stop", "m", "f", "", ""]
        return msgpack.packb([7, 64, *fields])
