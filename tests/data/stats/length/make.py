"""Reference numbers of model matching with length beside a vibe, by Newton's method in plain Python: `python3 make.py > reference.csv`.
Rows i = 0, 2, 4 ... 238: score s = 1 if 7 i mod 10 < 7, else -1; log ratio l = (13 i mod 11 - 4) / 5 + s / 5, divided by its root
mean square. For each C of the grid: w that minimises |w|^2 / 2 + 2 C sum log(1 + exp(-w.x))."""
import math

rows = []
for i in range(0, 240, 2):
    s = 1.0 if 7 * i % 10 < 7 else -1.0
    rows.append((s, (13 * i % 11 - 4) / 5 + s / 5))
rms = math.sqrt(math.fsum(l * l for _, l in rows) / len(rows))
rows = [(s, l / rms) for s, l in rows]
print("c,vibe,length,rms")
for k in range(10):
    c = 10 ** (-4 + 8 * k / 9)
    w = [0.0, 0.0]
    for _ in range(100):
        g, h = [w[0], w[1]], [[1.0, 0.0], [0.0, 1.0]]
        for x in rows:
            p = 1 / (1 + math.exp(w[0] * x[0] + w[1] * x[1]))
            for a in (0, 1):
                g[a] -= 2 * c * p * x[a]
                for b in (0, 1):
                    h[a][b] += 2 * c * p * (1 - p) * x[a] * x[b]
        det = h[0][0] * h[1][1] - h[0][1] * h[1][0]
        step = [(h[1][1] * g[0] - h[0][1] * g[1]) / det, (h[0][0] * g[1] - h[1][0] * g[0]) / det]
        w = [w[0] - step[0], w[1] - step[1]]
        if max(map(abs, step)) < 1e-14:
            break
    print(f"{c:.17g},{w[0]:.15g},{w[1]:.15g},{rms:.15g}")
