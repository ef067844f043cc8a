/* Whether the mean of a finite set of numbers is above 0, from some of them, drawn without
 * replacement in random order. Two grounds can decide it:
 *
 * - exactly: the sign holds whatever the other numbers are within their bounds;
 * - with error at most alpha: by a test that holds at every look, so that one may look after each
 *   number and stop. It is the capital of a bet against "the mean is at most 0": with i numbers
 *   seen, whose sum is S, the next one has at most the mean m = -S / (N - i) if that is true, so
 *   that the product of 1 + b (y - m) has a mean of at most 1 for bets b >= 0 that depend on the
 *   past alone. The chance that it ever reaches 1 / alpha is at most alpha (Ville 1939). The means
 *   that such bets have not refused are a confidence sequence for sampling without replacement.
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

/* N numbers from `low` to `high`, of which `n` are known, in the order in which they were drawn. */
struct vq_drawn {
    const double *y;
    size_t n, total;
    double low, high;
};

/* That the mean is above 0, or (`below`) below it. `alpha` 0: exactly or not at all. */
enum vq_decided vq_decided_above(const struct vq_drawn *d, double alpha);
enum vq_decided vq_decided_below(const struct vq_drawn *d, double alpha);
