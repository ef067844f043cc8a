"""What a server's log says of batches, for tests of whole runs."""


def paid_lines(log):
    """Lines of batches that were carried out and paid."""
    return [line for line in log if line["event"] == "batch_line" and line["paid"]]


def bought_twice(log):
    """Questions that were paid more than once: hashes of their requests."""
    questions = [line["hash"] for line in paid_lines(log)]
    return sorted({question for question in questions if questions.count(question) > 1})
