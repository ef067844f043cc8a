"""docs/use/openapi.json against real answers: the small part of JSON Schema that the file uses. Standard library only. A keyword that
this checker does not know is an error of the file, so that nothing in it goes unchecked."""
import json
import re

from vqtest import ROOT

FILE = ROOT / "docs" / "use" / "openapi.json"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
SILENT = {"description", "$ref"}


def load():
    return json.loads(FILE.read_text(encoding="utf-8"))


def resolve(document, node):
    while "$ref" in node:
        at = document
        for key in node["$ref"].removeprefix("#/").split("/"):
            at = at[key]
        node = at
    return node


def is_of(value, kind):
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def faults(document, schema, value, where="$"):
    """What is wrong with `value`, as sentences."""
    schema = resolve(document, schema)
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds and not any(is_of(value, kind) for kind in kinds):
        return [f"{where} is {value!r}, not of the type {' or '.join(kinds)}"]
    found = []
    for keyword, rule in schema.items():
        if keyword in SILENT or keyword == "type":
            continue
        if keyword == "const":
            found += [] if value == rule else [f"{where} is {value!r}, not {rule!r}"]
        elif keyword == "enum":
            found += [] if value in rule else [f"{where} is {value!r}, none of {rule}"]
        elif keyword == "minimum":
            found += [] if value is None or value >= rule else [f"{where} is {value}, less than {rule}"]
        elif keyword == "maximum":
            found += [] if value is None or value <= rule else [f"{where} is {value}, more than {rule}"]
        elif keyword == "pattern":
            found += [] if value is None or re.search(rule, value) else [f"{where} is {value!r}, which does not match {rule}"]
        elif keyword == "oneOf":
            fitting = [choice for choice in rule if not faults(document, choice, value, where)]
            found += [] if len(fitting) == 1 else [f"{where} fits {len(fitting)} of {len(rule)} forms: {value!r}"]
        elif keyword == "required":
            found += [f"{where} has no {key}" for key in rule if isinstance(value, dict) and key not in value]
        elif keyword == "properties":
            for key, of in rule.items():
                if isinstance(value, dict) and key in value:
                    found += faults(document, of, value[key], f"{where}.{key}")
        elif keyword == "additionalProperties":
            for key in value if isinstance(value, dict) else ():
                if key not in schema.get("properties", {}):
                    found += [f"{where}.{key} is not in the file"] if rule is False else faults(document, rule, value[key], f"{where}.{key}")
        elif keyword == "items":
            for i, item in enumerate(value if isinstance(value, list) else ()):
                found += faults(document, rule, item, f"{where}[{i}]")
        else:
            found.append(f"{where}: the checker does not know the keyword {keyword}")
    return found


def answer_faults(document, path, method, status, kind, body):
    """What is wrong with an answer of `path`, which is as the file writes it."""
    operation = document["paths"][path][method.lower()]
    if str(status) not in operation["responses"]:
        return [f"{method} {path}: the file knows no status {status}"]
    content = resolve(document, operation["responses"][str(status)]).get("content", {})
    kind = (kind or "").split(";")[0]
    if kind not in content:
        return [f"{method} {path}: {status} is {kind}, not {' or '.join(content)}"]
    if kind != "application/json":
        return []
    return [f"{method} {path}: {fault}" for fault in faults(document, content[kind]["schema"], json.loads(body))]
