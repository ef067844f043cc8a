"""Texts that really differ, for runs that discover: ten features, each put into an output by a sentence or a form of its own, on top of
plain sentences. Some features are planted in one model; the others fall on both alike. Sample i is [Si], outputs are marked [A] and
[B], so that the oracle can be asked about them too. Shares no code and no word list with the offline server: what it calls a feature
is matched by the patterns here."""
import csv
import json
import random
import re

from vqtest import words

FEATURES = {  # what stands in the output, and how one recognises the axis that speaks of it
    "lists": (lambda rng: "".join(f"\n- {words(rng, 3)}" for _ in range(4)) + "\n", r"(?i)list|format|structur|bullet|layout"),
    "questions": (lambda rng: f"Does the {words(rng, 3)}? Is there {words(rng, 3)}? Who has the {words(rng, 2)}?", r"(?i)question"),
    "numbers": (lambda rng: " ".join(f"{rng.randint(11, 98)} {words(rng, 1)}," for _ in range(6)), r"(?i)number|quantit|figures|statistic"),
    "shouts": (lambda rng: f"Such a {words(rng, 2)}! What a {words(rng, 2)}! There, the {words(rng, 1)}!", r"(?i)exclam|excit|enthus|energ"),
    "self": (lambda rng: f"I had my {words(rng, 2)} and I put mine by myself to me.", r"(?i)first person|self"),
    "examples": (lambda rng: f"For example, {words(rng, 2)}; for instance, {words(rng, 2)}; such as {words(rng, 2)}.", r"(?i)example|illustrat"),
    "doubts": (lambda rng: f"Perhaps {words(rng, 2)} might be, maybe, possibly {words(rng, 2)}.", r"(?i)caut|caveat|hedg|assert|confid|firm"),
    "reader": (lambda rng: f"You have your {words(rng, 2)} where you put yours.", r"(?i)second person|pronouns|reader|engag"),
    "sources": (lambda rng: f"According to a study (see https://x.example/{rng.randint(1, 9)}), {words(rng, 3)} [1].", r"(?i)source|referenc|cit"),
    "thanks": (lambda rng: f"Please take the {words(rng, 2)}, thank you, with pleasure.", r"(?i)polite|courte"),
}


def feature_of(text):
    """The feature that an axis (its name and ends) speaks of, or None."""
    for name, (_, pattern) in FEATURES.items():
        if re.search(pattern, text):
            return name
    return None


def output(rng, mark, has):
    parts = [f"[{mark}] The {words(rng, 8)}."]
    for feature, (make, _) in FEATURES.items():
        parts.append(make(rng) if feature in has else f"The {words(rng, 9)}.")
    return " ".join(parts)


def planted_texts(path, samples, more_in_b=("lists", "questions", "numbers"), seed=1, high=0.85, low=0.15, both=0.3, preferred=None,
                  name="data.csv"):
    """Writes data.csv: B has each feature of `more_in_b` with chance `high`, A with chance `low`; both have each other feature with
    chance `both`. With `preferred`, a feature, the output that has it is preferred, or A. Returns {(i, feature): +1|0|-1}, positive
    where A has it and B has not."""
    rng = random.Random(seed)
    truth = {}
    with open(path / name, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["question", "alpha", "beta", "topic"] + (["preference"] if preferred else []))
        for i in range(samples):
            has = {side: {f for f in FEATURES if rng.random() < (both if f not in more_in_b else high if side == "B" else low)} for side in "AB"}
            for f in FEATURES:
                truth[i, f] = (f in has["A"]) - (f in has["B"])
            row = [f"[S{i}] {words(rng, 6)}?", output(rng, "A", has["A"]), output(rng, "B", has["B"]), f"topic {i % 3}"]
            out.writerow(row + (["beta" if truth[i, preferred] < 0 else "alpha"] if preferred else []))
    return truth


def write_truth(path, truth, axes, samples, seed=5):
    """truth.jsonl for the oracle, by `axes`, {name: feature or None}: more of the feature is higher; an axis of none falls as a coin does."""
    rng = random.Random(seed)
    with open(path / "truth.jsonl", "w", encoding="utf-8") as file:
        for axis, feature in axes.items():
            for i in range(samples):
                score = truth[i, feature] if feature else rng.choice((1, -1))
                file.write(json.dumps({"axis": axis, "sample": f"S{i}", "score": score}) + "\n")
