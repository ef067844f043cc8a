"""What an answer says, where it says so plainly. Far less than docs/method/verdicts.md: what is not plain is None, and then nobody is contradicted."""
import json
import re

from auditing.draws import Draws

LABELS = {"a": 1, "b": 2, "equal": 3, "n/a": 4, "unsure": 5}
PLAIN = re.compile(r"^Model: (A|B|equal|N/A|unsure)$")
ANY = re.compile(r"(?i)\b(model|winner|answer|choice|verdict|tie|draw|equal|n/a|unsure|output|think)\b|^\W*[ab]\W*$", re.M)


def ending(finish_reason):
    """"ordinary", "cut", or None where this reader does not know the word."""
    return "ordinary" if finish_reason.lower() in ("", "stop", "end_turn", "stop_sequence", "eos") else "cut" if finish_reason in ("length", "max_tokens") else None


def plain(text, finish_reason, refusal):
    """The outcome's number, or None where this reader does not know."""
    if refusal or finish_reason in ("content_filter", "refusal"):
        return 16
    text = text.decode(errors="replace").strip()
    cut = ending(finish_reason) == "cut"
    if not text and ending(finish_reason):
        return 17 if cut else 19
    if ending(finish_reason) is None or cut and ANY.search(text):
        return None
    if text.startswith("{"):
        try:
            label = json.loads(text).get("model")
        except (ValueError, AttributeError):
            return None
        return LABELS.get(label.lower()) if isinstance(label, str) else None
    found = [PLAIN.match(line) for line in text.split("\n")]
    said = [m.group(1) for m in found if m]
    if len(said) == 1 and len(re.findall(r"(?i)\b(model|winner|answer|choice|verdict)\b\W*[:=]", text)) == 1 and "<" not in text:
        return LABELS[said[0].lower()]
    if not said and not ANY.search(text):
        return 17 if cut else 18
    return None


WORDS = {"verdict": LABELS, "likert": {str(n): 8 + n for n in range(1, 6)}, "binary": {"yes": 14, "no": 15}, "pairwise": {"a": 1, "b": 2}}


def rating(kind, text, finish_reason, refusal):
    """What a rating says, where it says so plainly; None where this reader does not know."""
    if refusal or finish_reason in ("content_filter", "refusal"):
        return 16
    text = text.decode(errors="replace")
    if ending(finish_reason) is None or ending(finish_reason) == "cut" and re.search(r"(?i)result|rating|score|answer|verdict", text):
        return None
    if not text.strip():
        return 17 if ending(finish_reason) == "cut" else 19
    said = re.split(r"(?i)\*\*result:\*\*", text)
    if len(said) == 2 and "<" not in text:
        return WORDS[kind].get(said[1].strip().lower())
    if not re.search(r"(?i)result|rating|score|answer|verdict|grade|judgment|choice|decision", text) and "<" not in text:
        return 17 if ending(finish_reason) == "cut" else 18
    return None


def text(answer, finish_reason, refusal):
    """Of what may be any text: a refusal by its mark, or nothing but blanks."""
    if refusal or finish_reason.lower() in ("content_filter", "refusal", "safety"):
        return 16
    return 8 if answer.strip(b" \t\r\n") else 18


def read(kind, answer):
    """By what was asked for: None, a verdict; "text"; the kind of a rating; else it is not read."""
    of = answer["answer"], answer["finish_reason"], answer["refusal"]
    return plain(*of) if kind is None else text(*of) if kind == "text" else rating(kind, *of) if kind in WORDS else None


UNREADABLE = {"out_of_range", "ambiguous", "missing"}  # why a rating has no value, where there is an answer
PAPER = {"likert": re.compile(rb"\*\*result:\*\*\s+([0-9]+)", re.I), "binary": re.compile(rb"\*\*result:\*\*\s+(yes|no)", re.I),
         "pairwise": re.compile(rb"\*\*result:\*\*\s+([ab])", re.I)}


def paper(kind, answer, score_of, seed):
    """(value, status) as the code of the persona paper read it: the first that its expressions find, else, of a pair, a drawn one. `score_of`: it also
    takes "score of N". Values are numbers, yes, no, a, b; None: none."""
    found = PAPER[kind].search(answer)
    if found:
        value = found.group(1).decode().lower()
        return (int(value), "ok" if 1 <= int(value) <= 5 else "out_of_range") if kind == "likert" else (value, "ok")
    again = re.search(rb"score of ([0-9])", answer) if kind == "likert" and score_of else None
    if again:
        return int(again.group(1)), "fallback"
    return ("ab"[Draws(seed).below(2)] if kind == "pairwise" else None), "missing"
