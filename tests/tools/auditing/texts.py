"""Files that people wrote and texts of models, as docs/use/persona.md and docs/use/config.md describe them: trees (YAML, JSON), tables, lines; an answer
without its thinking."""
import json
import re

import yaml

from auditing.plan import read_table

NULLS = ("", "~", "null", "Null", "NULL")
TAGS = re.compile(rb"(<think>|<thinking>|\[think\])|</think>|</thinking>|\[/think\]", re.I)
CLOSING = {b"<think>": b"</think>", b"<thinking>": b"</thinking>", b"[think]": b"[/think]"}
BLANK = " \t\n\v\f\r"  # of items and criteria


def tree(path):
    """Maps and lists of texts; a null is None."""
    text = path.read_bytes().decode("utf-8-sig")
    if text.lstrip(BLANK)[:1] in ("{", "["):
        try:
            return _texts(json.loads(text, parse_int=str, parse_float=str))
        except ValueError:
            pass
    return _texts(yaml.load(text, Loader=yaml.CBaseLoader))


def _texts(node):
    if isinstance(node, dict):
        return {k: _texts(v) for k, v in node.items()}
    if isinstance(node, list):
        return [_texts(v) for v in node]
    return None if node is None or node in NULLS else str(node).lower() if isinstance(node, bool) else node


def is_table(name):
    return name.lower().endswith((".csv", ".jsonl", ".ndjson"))


def table(path, name):
    return read_table(path, name, "jsonl" if name.lower().endswith((".jsonl", ".ndjson")) else "csv")


def _behind_thinking(text):
    """Behind the last closing tag that stands alone; nothing, if a block has no end."""
    at = begin = 0
    while tag := TAGS.search(text, at):
        at = tag.end()
        if tag.group(1) is None:
            begin = at
            continue
        end = re.compile(re.escape(CLOSING[tag.group(1).lower()]), re.I).search(text, at)
        if end is None:
            return b""
        at = end.end()
    return text[begin:]


def said(answer):
    """As a judge is shown it."""
    text, parts, at = _behind_thinking(answer), [], 0
    while tag := TAGS.search(text, at):
        end = re.compile(re.escape(CLOSING[tag.group(1).lower()]), re.I).search(text, tag.end())
        parts += [text[at:tag.start()], b"\n"]
        at = end.end()
    return b"".join([*parts, text[at:]]).lstrip(b" \t\r\n").rstrip(b" \t\r\n_")


def template_part(text, part):
    """The text of @system or @user, as templates are trimmed."""
    lines = text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
    marks = [i for i, line in enumerate(lines) if line.rstrip(b" \t") == part]
    if not marks:
        raise ValueError(f"it has no line {part.decode()}")
    ends = [i for i, line in enumerate(lines) if line.rstrip(b" \t") in (b"@system", b"@user")]
    end = next((i for i in ends if i > marks[0]), len(lines))
    return b"\n".join(lines[marks[0] + 1:end]).strip(b" \t\n")


def criterion(path):
    """(kind, rubric) of a criterion's file."""
    text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    head, _, rubric = text.partition("\n\n")
    kind = re.match(r"kind:\s*(\w+)", head)
    if not kind or not rubric.strip(BLANK):
        raise ValueError("it is no criterion: it has no kind, or no rubric")
    return kind.group(1), rubric.strip(BLANK)
