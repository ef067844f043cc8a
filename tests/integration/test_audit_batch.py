# labels: slow
"""The audit of a run through batches: it passes as it is, and names lines that were bought twice, are in no record, or cost something else."""
import json
import struct

import vqtest
from auditrun import Audited
from damaging import AXES, END, REQUEST
from vqtest import add_rates, planted

COST = REQUEST + 32  # behind the request come four texts


class Audit(Audited):
    def make(self):
        planted(self.dir, 16, AXES)
        add_rates(self.dir, tie=0.2, unparseable=0.05)
        server = self.offline("--model", "judge-a", "--model", "judge-b", "--oracle", self.dir / "truth.jsonl", "--batch", "duration=100ms,errored=0.05,expired=0.03,duplicate=0.05,damaged=0.02")
        url = server.url.removesuffix("/v1")
        prices = "price_input_usd: 1, price_output_usd: 2"
        self.config(AXES, judge={"identity": "the-test"}, oracle=False, term_ms=2000, pools="\n" + "\n".join([
            f"  - {{name: a, base_url: '{url}/v1', models: [{{model: judge-a, batch: {{wait_s: 1, poll_s: 1}}, {prices}}}, "
            f"{{model: judge-b, batch: {{wait_s: 1, poll_s: 1, price: 0.4}}, {prices}}}]}}"]))
        config = self.dir / "config.yaml"
        config.write_text(config.read_text().replace("model: offline-", "model: judge-"))  # the server's own names are for the built-in server
        self.vibeq("run", "config.yaml", "--name", "r", "--quiet", "--yes", code=None)
        server.stop()

    def paid(self):
        """A line that was paid, and whose result came as it was."""
        lines = [json.loads(line) for line in (self.dir / "offline.log").read_text().splitlines()]
        return next(line for line in lines if line["event"] == "batch_line" and line["paid"] and line["fault"] is None)

    def add(self, **more):
        with open(self.dir / "offline.log", "a", encoding="utf-8") as file:
            file.write(json.dumps(dict(self.paid(), **more)) + "\n")

    def test_as_it_is(self):
        code, out = self.audit()
        self.assertEqual(code, 0, out)
        self.assertRegex(out.splitlines()[-1], r"^ok 192 lost 0 unexpected 0 duplicated 0 recovered 0 unknown 0 · paid \$0\.\d+, .* audit passed$")
        self.assertEqual({row["pool"] for row in self.kept().calls.values()}, {"a/judge-a/batch", "a/judge-b/batch"})

    def test_a_batch_that_was_created_twice(self):
        line = self.paid()
        self.add(batch="batch_again", paid=False)
        self.names(f"R5 batches: line {line['custom_id']} was part of 2 batches at the server: its batch was created twice")

    def test_a_question_that_was_bought_twice(self):
        line = self.paid()
        self.add(batch="batch_again", custom_id="vq-0-0")
        self.names(f"R5 batches: one question was bought 2 times in batches, as {line['custom_id']}, vq-0-0",
                   "R4 batches: 1 lines of batches were carried out and paid, and the ledger does not have their answers (0 wait)")

    def test_a_second_answer_that_the_ledger_has_too(self):
        first, second = self.answered(), "ef" * 16
        self.rewrite(b"ledger", self.ledger_key(first["call"]), lambda rest: None, new_key=self.ledger_key(second))
        self.names(f"was bought again by call {second}: the answer of call {first['call']} had been bought in a batch")

    def test_a_paid_line_that_no_record_has(self):
        self.add(batch="batch_lost", custom_id="vq-0-0", hash="ab" * 32, prompt_tokens=7777)
        self.names("R4 batches: 1 lines of batches were carried out and paid, and the ledger does not have their answers (0 wait): judge-",
                   "with 7777 + ")

    def test_an_answer_that_the_server_never_gave(self):
        line = self.paid()
        self.log(lambda other: None if other.get("custom_id") == line["custom_id"] and other["event"] == "batch_line" else other)
        self.names("R4 batches: the ledger has 1 answers of batches that the server never gave")

    def test_a_call_that_still_waits(self):
        call = self.answered()["call"]
        self.row(call, end=(END, bytes([11])))
        self.names(f"I2 batches: call {call} is part of a batch in the ledger, and no record of it waits for its result",
                   f"R1 batches: the run is finished, and call {call} waits in a batch")

    def test_the_price_of_single_calls(self):
        row = self.answered()
        self.rewrite(b"ledger", self.ledger_key(row["call"]), lambda rest: self.priced(rest, row["cost_nano"] * 2))
        self.names(f"R4 money: call {row['call']} cost {row['cost_nano'] * 2} nano-dollars in the ledger, {row['cost_nano']} by its tokens")

    @staticmethod
    def priced(rest, nano):
        at = COST
        for _ in range(3):  # worker, model, error
            at += 4 + struct.unpack_from("<I", rest, at)[0]
        struct.pack_into("<Q", rest, at, nano)


if __name__ == "__main__":
    vqtest.main()
