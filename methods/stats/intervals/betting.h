/* Decides whether the mean of a finite set of numbers is above 0, from some of the numbers, drawn
 * without replacement in random order. There are two ways:
 *
 * - exactly: the sign is the same for all possible values of the other numbers within their bounds;
 * - with error at most alpha: by a test that is valid at every look, so the caller may look after
 * each number and stop. The test is the capital of a bet against "the mean is at most 0". If that
 * is true, then after i numbers with sum S the next one has a mean of at most m = -S / (N - i). So
 * the product of 1 + b (y - m) has a mean of at most 1, for bets b >= 0 that depend only on earlier
 * numbers. The probability that it ever reaches 1 / alpha is at most alpha (Ville 1939). The means
 * that such bets do not refuse are a confidence sequence for sampling without replacement.
 *
 * Sources: Waudby-Smith and Ramdas 2020, "Confidence sequences for sampling without replacement"
 * (the setting and m); the same 2024, "Estimating means of bounded random variables by betting"
 * (JRSS B 86), section 5 and the predictable bet sqrt(2 log(1 / alpha) / (variance * horizon)). */
#pragma once

#include "methods/stats/stats.h"

enum vq_decided {
    VQ_DECIDED_NOT,
    VQ_DECIDED_EXACTLY,
    VQ_DECIDED_ALPHA, /* with error at most alpha */
};

/* `total` numbers from `low` to `high`; `n` of them are known, in the order in which they were
 * drawn. */
struct vq_drawn {
    const double *y;
    size_t n, total;
    double low, high;
};

/* Whether the mean is above 0, or (`below`) below 0. `alpha` 0: decides only exactly. */
enum vq_decided vq_decided_above(const struct vq_drawn *d, double alpha);
enum vq_decided vq_decided_below(const struct vq_drawn *d, double alpha);
