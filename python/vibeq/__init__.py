"""Starts runs of vibeq and reads their results as pandas data frames.

A missing value is pandas.NA in a nullable column, so it never counts as 0; a verdict "N/A" remains a text."""
import html
import json
import os
import subprocess
import time
import uuid
from pathlib import Path

import pandas as pd

__all__ = ["Run", "VibeqError", "load", "run"]

DONE, MISSING = 0, 3  # exit codes of a run that has results

# The columns that are not numbers. Columns in none of these sets come from the user's own file, and are texts, too.
INTEGERS = {"record", "file", "vibe_id", "score", "round", "cells_missing", "judges", "repeat"}
BOOLEANS = {"kept", "gate_could_flip"}
CATEGORIES = {"split", "judge", "verdict_a_first", "verdict_b_first", "status", "preference", "reason", "criterion", "kind", "output"}
TEXTS = {"vibes.csv": {"name", "low", "high"}, "scores.csv": set(), "ratings.csv": None, "items.csv": {"item", "group"}, "rows.csv": None}
MEASURES = {"mm_margin", "mm_correct", "pp_margin", "score", "human"}


class VibeqError(RuntimeError):
    """vibeq ended with an error. `code` is its exit code, `message` its error message."""

    def __init__(self, code, message):
        super().__init__(message.strip() or f"vibeq ended with exit code {code}")
        self.code, self.message = code, message


def _program():
    return os.environ.get("VIBEQ") or "vibeq"


def _call(words, data=None):
    try:
        done = subprocess.run([_program(), *words], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except FileNotFoundError:
        raise VibeqError(127, f"the program {_program()} was not found; install vibeq, or name it with the environment variable VIBEQ") from None
    return done.returncode, done.stderr.decode("utf-8", "replace")


def _runs_dir(runs):
    return Path(runs or os.environ.get("VIBEQ_RUNS") or "runs")


def _listed(value):
    return [value] if isinstance(value, str) else list(value)


def _setting(value):
    return json.dumps(value) if isinstance(value, (bool, list, dict)) else str(value)


def _words(options):
    """Converts options of `vibeq run`, named with underscores instead of dashes."""
    repeated = {"models": "--model", "criteria": None, "judge": "--judge"}
    for key, value in options.items():
        option = "--" + key.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield option
        elif key == "set":
            for name, to in value.items():
                yield from ("--set", f"{name}={_setting(to)}")
        elif repeated.get(key):
            for one in _listed(value):
                yield from (repeated[key], str(one))
        elif isinstance(value, (list, tuple)):
            yield from (option, ",".join(map(str, value)))
        else:
            yield from (option, str(value))


def run(data, *, name=None, runs=None, **options):
    """Carries out a run and returns it. `data`: a configuration or data file, or a data frame. Further options are those of
    `vibeq run`: models, judge, criteria, prompt, preference, discover, limit, workers, yes, set={"key": value}, and so on. Raises
    VibeqError. Missing answers (exit code 3) are not an error: the results have their number."""
    name = name or f"py-{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:4]}"
    text = None
    if isinstance(data, pd.DataFrame):
        text, data = data.to_csv(index=False).encode("utf-8"), "-"
    where = _runs_dir(runs)
    code, said = _call(["run", str(data), "--name", name, "--runs", str(where), "--quiet", *_words(options)], text)
    if code not in (DONE, MISSING):
        raise VibeqError(code, said)
    return load(name, runs=where)


def load(name, runs=None):
    """A run by its name (in the folder `runs`, else VIBEQ_RUNS, else ./runs) or by its folder."""
    folder = Path(name)
    if not (folder / "run.yaml").is_file():
        folder = _runs_dir(runs) / str(name)
    if not (folder / "run.yaml").is_file():
        raise FileNotFoundError(f"there is no run {name} in {_runs_dir(runs)}; vibeq list shows the runs")
    return Run(folder)


def _unescaped(texts):
    """Removes the apostrophe that vibeq puts before a text that a spreadsheet would run as a formula."""
    return texts.str.replace(r"^'(?='*[=+\-@\t\r])", "", regex=True)


def _typed(column, name, file):
    """Converts a column of texts ("" is missing) to the type of its values."""
    missing = column == ""
    texts = TEXTS[file]
    if name in BOOLEANS:
        return column.map({"1": True, "0": False}).astype("boolean")
    if name in CATEGORIES:
        return _unescaped(column).mask(missing, pd.NA).astype("category")
    if name in INTEGERS and file != "items.csv" or name == "judges":
        kind = "Int8" if name == "score" else "Int64"
        return pd.to_numeric(column.mask(missing, "0")).mask(missing, pd.NA).astype(kind)
    number = name in MEASURES or (name.startswith("x_") and name[2:].isdigit()) or (texts is not None and name not in texts)
    if number:
        values = pd.to_numeric(column.mask(missing, "0"), errors="coerce")
        if not values.isna().any():
            return values.astype("Float64").mask(missing, pd.NA)
    return _unescaped(column).astype("string")


class Run:
    """A run's folder. Results are read at their first use."""

    def __init__(self, folder):
        self.path = Path(folder)
        self.name = self.path.resolve().name
        self._read = {}

    def __repr__(self):
        return f"<vibeq run {self.name} in {self.path}>"

    def _file(self, name):
        path = self.path / "results" / name
        if not path.is_file():
            raise FileNotFoundError(f"{self.name} has no {name}: it is not over yet (vibeq resume {self.name}), or its method has none")
        return path

    def _frame(self, name):
        if name not in self._read:
            raw = pd.read_csv(self._file(name), dtype=str, keep_default_na=False, na_filter=False, encoding="utf-8")
            self._read[name] = pd.DataFrame({c: _typed(raw[c], c, name) for c in raw.columns})
            self._read[name].columns = _unescaped(self._read[name].columns)
        return self._read[name]

    @property
    def results(self):
        """results.json."""
        if "results.json" not in self._read:
            self._read["results.json"] = json.loads(self._file("results.json").read_text(encoding="utf-8"))
        return self._read["results.json"]

    @property
    def vibes(self):
        """A row for each vibe, kept ones first."""
        return self._frame("vibes.csv")

    @property
    def scores(self):
        """A row for each record, vibe and judge. `score`: 1 A is higher, -1 B, 0 neither, <NA> missing. `status` has the reason."""
        return self._frame("scores.csv")

    @property
    def rows(self):
        """A row for each record: its mean score on each vibe (x_1 ...), the margins of both fits, and the columns of your file."""
        return self._frame("rows.csv")

    @property
    def ratings(self):
        """All ratings of a run with criteria."""
        return self._frame("ratings.csv")

    @property
    def items(self):
        """A row for each output and criterion of a run with criteria."""
        return self._frame("items.csv")

    @property
    def report(self):
        """The path of report.html."""
        return self._file("report.html")

    def _repr_html_(self):
        heading = f"<p><b>vibeq run {html.escape(self.name)}</b>"
        if not (self.path / "results" / "results.json").is_file():
            return heading + ": no results yet</p>"
        results = self.results
        if results.get("judge_kind", "model") != "model":
            heading += " (made with the offline judge: the numbers mean nothing)"
        if not (self.path / "results" / "vibes.csv").is_file():
            return heading + f"</p>{self.items.head(20).to_html(na_rep='&lt;NA&gt;')}" if (self.path / "results" / "items.csv").is_file() else heading + "</p>"
        models = results.get("models", ["A", "B"])
        mm = results.get("mm") or {}
        heading += f": {html.escape(str(models[0]))} (A) and {html.escape(str(models[1]))} (B)"
        if mm.get("accuracy_test") is not None:
            heading += f"; model matching {mm['accuracy_test']:.3f} on test"
        shown = [c for c in ("name", "low", "high", "sep_test", "kappa_test", "mm_coefficient", "pp_coefficient") if c in self.vibes]
        kept = self.vibes[self.vibes["kept"].fillna(False)]
        return heading + "</p>" + (kept if len(kept) else self.vibes)[shown].to_html(index=False, na_rep="<NA>", float_format="{:+.3f}".format)
