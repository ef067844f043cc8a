"""What an answer says, where it says so plainly. Far less than docs/verdicts.md: what is not plain is None, and then nobody is contradicted."""
import json
import re

LABELS = {"a": 1, "b": 2, "equal": 3, "n/a": 4, "unsure": 5}
PLAIN = re.compile(r"^Model: (A|B|equal|N/A|unsure)$")
ANY = re.compile(r"(?i)\b(model|winner|answer|choice|verdict|tie|draw|equal|n/a|unsure|output|think)\b|^\W*[ab]\W*$", re.M)


def plain(text, finish_reason, refusal):
    """The outcome's number, or None where this reader does not know."""
    if refusal or finish_reason in ("content_filter", "refusal"):
        return 16
    text = text.decode(errors="replace").strip()
    cut = finish_reason in ("length", "max_tokens")
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
