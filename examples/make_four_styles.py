#!/usr/bin/env python3
"""Writes four-styles.csv: prompts with the answers of four imagined models, for runs over more than two models.

All content is our own. Each answer gives the same two facts about a subject; the models differ in how often they dress them: "warm" mostly
greets, thanks and cheers, "plain" does sometimes, "formal" rarely and in stiff words, "terse" never and says only one of the facts. Every trait is drawn
for each answer, so that no model has any of them always. The preference names the answer with the most facts and, of those, the friendliest;
one label in five is another model's.

Usage: make_four_styles.py [OUTPUT.csv [SEED]]    (needs only the standard library; the same output each time)
"""
import csv
import random
import sys

MODELS = ("warm", "plain", "formal", "terse")
SUBJECTS = [
    ("rice", "rinse the grains until the water runs clear", "let the pot rest with the lid on"),
    ("bread", "weigh the flour", "let the dough rise in a warm corner"),
    ("soup", "brown the onions first", "salt it at the end"),
    ("tea", "warm the pot", "pour before the leaves turn bitter"),
    ("a bicycle", "pump the tyres once a week", "oil the chain after rain"),
    ("a garden", "water early in the morning", "leave some leaves for the worms"),
    ("a budget", "write down every purchase for a month", "put the savings aside first"),
    ("a speech", "begin with the one point that matters", "read it aloud twice"),
    ("sleep", "get up at the same hour", "dim the lights in the evening"),
    ("a letter", "say what you want in the first line", "leave it for a night"),
    ("a wall", "tape the edges", "roll from the window into the room"),
    ("a language", "speak from the first day", "learn whole phrases"),
    ("chess", "look at every check", "castle early"),
    ("a camera", "clean the lens", "keep the sun behind you"),
    ("a knife", "hold one flat angle", "finish on a leather strap"),
]
QUESTIONS = ("How do I deal with {}?", "What should a beginner know about {}?", "Which mistakes are common with {}?",
             "Give me advice on {}.")
GREETING = {"warm": 0.9, "plain": 0.35, "formal": 0.1, "terse": 0.0}
CHEER = {"warm": 0.85, "plain": 0.3, "formal": 0.05, "terse": 0.0}
STIFF = {"warm": 0.0, "plain": 0.1, "formal": 0.9, "terse": 0.05}
SECOND_FACT = {"warm": 0.9, "plain": 0.9, "formal": 0.9, "terse": 0.2}


def answer(rng, model, first, second):
    parts, facts = [], 1
    if rng.random() < GREETING[model]:
        parts.append("Hello, and welcome! I am delighted to help with this!")
    if rng.random() < STIFF[model]:
        parts.append(f"Furthermore, it is advisable to {first}, and one should therefore proceed with care.")
    else:
        parts.append(f"{first.capitalize()}.")
    if rng.random() < SECOND_FACT[model]:
        parts.append(f"Also {second}.")
        facts = 2
    if rng.random() < CHEER[model]:
        parts.append("Have a wonderful time with it, you will love it!")
    return " ".join(parts), facts


def main():
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 7)
    path = sys.argv[1] if len(sys.argv) > 1 else "four-styles.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("question", *MODELS, "preference"))
        for subject, first, second in SUBJECTS:
            for question in QUESTIONS:
                answers = {m: answer(rng, m, first, second) for m in MODELS}
                best = max(MODELS, key=lambda m: (answers[m][1], "!" in answers[m][0], answers[m][0].count("!")))
                if rng.random() < 0.2:
                    best = rng.choice(MODELS)
                out.writerow((question.format(subject), *(answers[m][0] for m in MODELS), best))


if __name__ == "__main__":
    main()
