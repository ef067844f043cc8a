"""Writes durations.csv: how long batches took, in seconds, by night; 86400 is a batch that expired. Generated, not recorded. The durations
are log-normal with the median of 7 minutes and the 90 % quantile of 1 hour that OpenRouter reports of 230,000 batches
(https://openrouter.ai/blog/announcements/batch-api, read on 2026-11-28). The batches of one night have a common factor (sigma 0.8), because
a provider is busy in some nights. One batch in a hundred is never worked on."""
import math
import random
from pathlib import Path

MEDIAN_S, P90_S, WINDOW_S = 420, 3600, 86400
SIGMA = math.log(P90_S / MEDIAN_S) / 1.2815515655
NIGHT = 0.8
NIGHTS, BATCHES, STUCK = 60, 20, 0.01

draw = random.Random(17)
lines = ["night,seconds"]
for night in range(NIGHTS):
    common = draw.gauss(0, NIGHT)
    for _ in range(BATCHES):
        seconds = MEDIAN_S * math.exp(common + draw.gauss(0, math.sqrt(SIGMA**2 - NIGHT**2)))
        stuck = draw.random() < STUCK
        lines.append(f"{night},{WINDOW_S if stuck else min(WINDOW_S, max(30, round(seconds)))}")
Path(__file__).with_name("durations.csv").write_text("\n".join(lines) + "\n")
