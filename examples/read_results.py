# Reads a run's results with pandas: python3 read_results.py runs/NAME/results
import json, pathlib, sys
import pandas as pd

folder = pathlib.Path(sys.argv[1])
results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
read = lambda name: pd.read_csv(folder / name, keep_default_na=False, na_values=[""])  # "N/A" is a verdict, not a gap
vibes, scores, rows = read("vibes.csv"), read("scores.csv"), read("rows.csv")
print(vibes[["name", "kept", "sep_test", "mm_coefficient"]].to_string(index=False))
print(scores.groupby(["vibe_id", "judge"])["score"].agg(["mean", "count"]))  # a missing score is NaN, never 0
print(rows.groupby("split")["mm_correct"].mean())
print("model matching on test:", results["mm"]["accuracy_test"])
