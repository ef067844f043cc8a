#!/usr/bin/env python3
"""Writes ranking.json: reference numbers for Davidson's model and the multinomial logit, in plain Python and by other ways than the code's.

Davidson: the strengths by his own fixed-point iteration (1970, equations 3.2 and 3.3), in decimals of 50 digits; the information by central differences of
the log-likelihood; the covariance of the one-step jackknife over clusters from both. Multinomial: gradient descent with momentum until the gradient is 0.

Usage: make_ranking.py [OUTPUT.json]    (needs only the standard library; the same output each time)
"""
import json
import math
import random
import sys
from decimal import Decimal, getcontext

getcontext().prec = 50
ZERO, HALF, ONE, TWO = Decimal(0), Decimal("0.5"), Decimal(1), Decimal(2)


def solve(matrix, right):
    n = len(right)
    a = [row[:] + [right[i]] for i, row in enumerate(matrix)]
    for col in range(n):
        pivot = max(range(col, n), key=lambda r: abs(a[r][col]))
        a[col], a[pivot] = a[pivot], a[col]
        for r in range(n):
            if r != col:
                factor = a[r][col] / a[col][col]
                a[r] = [x - factor * y for x, y in zip(a[r], a[col])]
    return [a[i][n] / a[i][i] for i in range(n)]


def davidson(rows, items):
    """pi and nu with P(i) : tie : P(j) = pi_i : nu sqrt(pi_i pi_j) : pi_j."""
    counts, points, ties = {}, [ZERO] * items, ZERO
    for i, j, _, win, tie, loss in rows:
        counts[i, j] = counts.get((i, j), ZERO) + win + tie + loss
        points[i] += win + tie / 2
        points[j] += loss + tie / 2
        ties += tie
    pi, nu = [ONE / items] * items, ONE if ties else ZERO
    for _ in range(100000):
        def root(i, j):
            return (pi[i] * pi[j]).sqrt()
        old = pi[:], nu
        fresh = []
        for k in range(items):
            # what pi_k is multiplied with in the expected points of k
            total = ZERO
            for (i, j), n in counts.items():
                if k in (i, j):
                    other = j if k == i else i
                    total += n * (2 + nu * (pi[other] / pi[k]).sqrt()) / (pi[i] + pi[j] + nu * root(i, j)) / 2
            fresh.append(points[k] / total)
        whole = sum(fresh)
        pi = [p / whole for p in fresh]
        if ties:
            nu = ties / sum(n * root(i, j) / (pi[i] + pi[j] + nu * root(i, j)) for (i, j), n in counts.items())
        if max(abs(a / b - 1) for a, b in zip(pi + ([nu] if ties else []), old[0] + ([old[1]] if ties else []))) < Decimal("1e-30"):
            break
    return pi, nu


def loglik(theta, rows, items, with_ties):
    strength = [ZERO] + theta[:items - 1]
    total = ZERO
    for i, j, _, win, tie, loss in rows:
        half = (strength[i] - strength[j]) / 2
        up, down = half.exp(), (-half).exp()
        even = theta[items - 1].exp() if with_ties else ZERO
        norm = (up + down + even).ln()
        total += win * (half - norm) + loss * (-half - norm)
        if tie:
            total += tie * (theta[items - 1] - norm)
    return total


def gradient(theta, rows, items, with_ties):
    step, out = Decimal("1e-12"), []
    for k in range(len(theta)):
        up, down = theta[:], theta[:]
        up[k] += step
        down[k] -= step
        out.append((loglik(up, rows, items, with_ties) - loglik(down, rows, items, with_ties)) / (2 * step))
    return out


def information(theta, rows, items, with_ties):
    step, out = Decimal("1e-12"), []
    for k in range(len(theta)):
        up, down = theta[:], theta[:]
        up[k] += step
        down[k] -= step
        a, b = gradient(up, rows, items, with_ties), gradient(down, rows, items, with_ties)
        out.append([-(x - y) / (2 * step) for x, y in zip(a, b)])
    return out


def jackknife(theta, rows, items, with_ties):
    whole = information(theta, rows, items, with_ties)
    clusters = sorted({row[2] for row in rows})
    total = [[ZERO] * items for _ in range(items)]
    for cluster in clusters:
        own = [row for row in rows if row[2] == cluster]
        part = information(theta, own, items, with_ties)
        rest = [[a - b for a, b in zip(x, y)] for x, y in zip(whole, part)]
        step = [ZERO] + solve(rest, gradient(theta, own, items, with_ties))[:items - 1]
        mean = sum(step) / items
        step = [s - mean for s in step]
        for i in range(items):
            for j in range(items):
                total[i][j] += step[i] * step[j]
    factor = Decimal(len(clusters) - 1) / len(clusters)
    return [[float(factor * x) for x in row] for row in total]


def case(name, items, clusters, strengths, log_tie, seed, thirds=False, pairs=None):
    rng, rows = random.Random(seed), []
    for cluster in range(clusters):
        mood = [rng.gauss(0, 0.5) for _ in range(items)]
        for i in range(items):
            for j in range(i + 1, items):
                if pairs is not None and (i, j) not in pairs:
                    continue
                verdicts = [0, 0, 0]
                for _ in range(3 if thirds else 1):
                    half = (strengths[i] + mood[i] - strengths[j] - mood[j]) / 2
                    weights = [math.exp(half), 0 if log_tie is None else math.exp(log_tie), math.exp(-half)]
                    verdicts[rng.choices((0, 1, 2), weights)[0]] += 1
                share = 3 if thirds else 1
                rows.append((i, j, cluster, *(Decimal(v) / share for v in verdicts)))
    pi, nu = davidson(rows, items)
    with_ties = nu > 0
    logs = [p.ln() for p in pi]
    theta = [x - logs[0] for x in logs[1:]] + ([nu.ln()] if with_ties else [])
    mean = sum(logs) / items
    print(name, [round(float(x - mean), 4) for x in logs], file=sys.stderr)
    return {
        "name": name, "items": items, "clusters": clusters,
        "rows": [[i, j, c, float(w), float(t), float(l)] for i, j, c, w, t, l in rows],
        "log_strength": [float(x - mean) for x in logs],
        "log_tie": float(nu.ln()) if with_ties else None,
        "loglik": float(loglik(theta, rows, items, with_ties)),
        "covariance": jackknife(theta, rows, items, with_ties),
    }


def multinomial(name, classes, cols, rows, c, seed, missing=False):
    rng = random.Random(seed)
    centre = [[rng.choice((-0.6, 0.0, 0.6)) for _ in range(cols)] for _ in range(classes)]
    y = [rng.randrange(classes) for _ in range(rows)]
    x = [[max(-1.0, min(1.0, round(centre[k][v] + rng.gauss(0, 0.5), 3))) for v in range(cols)] for k in y]
    if missing:
        for row in x[::7]:
            row[0] = None
    used = [[0.0 if cell is None else cell for cell in row] for row in x]
    w = [[0.0] * cols for _ in range(classes)]
    push = [row[:] for row in w]
    rate = 1.0 / (1.0 + c * sum(cell * cell for row in used for cell in row) / 2)
    for step in range(200000):
        look = [[w[k][v] + 0.9 * push[k][v] for v in range(cols)] for k in range(classes)]
        slope = [row[:] for row in look]
        for row, own in zip(used, y):
            eta = [sum(a * b for a, b in zip(row, look[k])) for k in range(classes)]
            top = max(eta)
            e = [math.exp(t - top) for t in eta]
            s = sum(e)
            for k in range(classes):
                miss = c * (e[k] / s - (k == own))
                for v in range(cols):
                    slope[k][v] += miss * row[v]
        for k in range(classes):
            for v in range(cols):
                push[k][v] = 0.9 * push[k][v] - rate * slope[k][v]
                w[k][v] += push[k][v]
        if max(abs(t) for row in slope for t in row) < 1e-13:
            break
    loss = 0.0
    for row, own in zip(used, y):
        eta = [sum(a * b for a, b in zip(row, w[k])) for k in range(classes)]
        top = max(eta)
        loss += top + math.log(sum(math.exp(t - top) for t in eta)) - eta[own]
    print(name, step, file=sys.stderr)
    return {"name": name, "classes": classes, "c": c, "x": x, "y": y, "coef": w, "loss": loss}


def main():
    out = {
        "davidson": [
            case("three items, ties", 3, 20, (0.8, 0.0, -0.8), 0.0, 1),
            case("four items, no ties", 4, 16, (1.0, 0.3, -0.3, -1.0), None, 2),
            case("four items, three judges", 4, 12, (0.6, 0.6, -0.2, -1.0), -0.5, 3, thirds=True),
            case("five items against a baseline", 5, 24, (0.0, 0.9, -0.9, 0.4, -0.4), -0.2, 4, pairs={(0, 1), (0, 2), (0, 3), (0, 4)}),
        ],
        "multinomial": [
            multinomial("three classes", 3, 2, 40, 1.0, 5),
            multinomial("four classes, weak penalty", 4, 3, 60, 20.0, 6),
            multinomial("missing cells", 3, 3, 42, 0.3, 7, missing=True),
        ],
    }
    with open(sys.argv[1] if len(sys.argv) > 1 else "ranking.json", "w", encoding="utf-8") as file:
        json.dump(out, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
