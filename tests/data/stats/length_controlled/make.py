"""Reference numbers of the length-controlled win rate, by Newton's method and the sandwich formula in plain Python: `python3 make.py > reference.csv`.
Rows i = 0 ... n - 1 of case k: d = (37 i mod 101) - 40 + 5 k; wins 1, 1/2 or 0 as (17 i + 3 k) mod 20 + d / 12 is at least 11, at least 9 or less;
prompt i // repeats. P = 1 / (1 + exp(-(t + f tanh(d / s)))), s the standard deviation of d. Errors: sums by prompt, G/(G-1) (n-1)/(n-2)."""
import math

print("case,n,repeats,sd,theta,phi,se_theta,se_phi")
for k, (n, repeats) in enumerate([(60, 1), (200, 1), (120, 3), (400, 4)]):
    d = [(37 * i) % 101 - 40 + 5 * k for i in range(n)]
    mean = math.fsum(d) / n
    s = math.sqrt(math.fsum((v - mean) ** 2 for v in d) / (n - 1))
    x = [math.tanh(v / s) for v in d]
    y = []
    for i in range(n):
        u = (17 * i + 3 * k) % 20 + d[i] / 12
        y.append(1.0 if u >= 11 else 0.5 if u >= 9 else 0.0)
    w = [0.0, 0.0]
    for _ in range(100):
        g, h = [0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]
        for i in range(n):
            row = (1.0, x[i])
            p = 1 / (1 + math.exp(-(w[0] + w[1] * x[i])))
            for a in (0, 1):
                g[a] += (y[i] - p) * row[a]
                for b in (0, 1):
                    h[a][b] += p * (1 - p) * row[a] * row[b]
        det = h[0][0] * h[1][1] - h[0][1] ** 2
        inverse = [[h[1][1] / det, -h[0][1] / det], [-h[0][1] / det, h[0][0] / det]]
        step = [inverse[a][0] * g[0] + inverse[a][1] * g[1] for a in (0, 1)]
        w = [w[a] + step[a] for a in (0, 1)]
        if max(map(abs, step)) < 1e-15:
            break
    sums = {}
    for i in range(n):
        p = 1 / (1 + math.exp(-(w[0] + w[1] * x[i])))
        at = sums.setdefault(i // repeats, [0.0, 0.0])
        at[0] += y[i] - p
        at[1] += (y[i] - p) * x[i]
    groups = len(sums)
    factor = groups / (groups - 1) * (n - 1) / (n - 2)
    se = [math.sqrt(factor * math.fsum((inverse[a][0] * u + inverse[a][1] * v) ** 2 for u, v in sums.values())) for a in (0, 1)]
    print(f"{k},{n},{repeats},{s:.15g},{w[0]:.15g},{w[1]:.15g},{se[0]:.15g},{se[1]:.15g}")
