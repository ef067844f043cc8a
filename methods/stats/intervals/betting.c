/* The bets are a mixture of three: the best ones for a decision after all numbers, after a quarter
 * and after a sixteenth of them. Each bet is limited so that no number can lose more than three
 * quarters of the capital. A sum decides exactly only if it differs from 0 by more than
 * rounding. */
#include "methods/stats/intervals/betting.h"

#include <math.h>

#define BETS          3u
#define LOSS_MAX      0.75
#define ROUNDING      1e-9
#define VARIANCE_FROM 0.25 /* used as the variance before the first number */

/* `sign` -1: uses the negated numbers. */
static bool above_exactly(const struct vq_drawn *d, double sign)
{
    double sum = 0.0;
    double least = sign > 0 ? d->low : -d->high;
    for (size_t i = 0; i < d->n; i++) {
        sum += sign * d->y[i];
    }
    return sum + least * (double)(d->total - d->n) > ROUNDING * (double)d->total;
}

static bool above_by_bets(const struct vq_drawn *d, double sign, double alpha)
{
    double least = sign > 0 ? d->low : -d->high;
    double bar = log(1.0 / alpha), sum = 0.0, squares = VARIANCE_FROM;
    double capital[BETS] = {0.0}; /* its logarithm */
    for (size_t i = 0; i < d->n; i++) {
        double y = sign * d->y[i];
        /* upper bound of the mean of the next number, if the overall mean is at most 0 */
        double mean = -sum / (double)(d->total - i);
        double room = mean - least;
        if (room <= 0) {
            return false; /* no bet is possible: from here on only the exact bound can decide */
        }
        double horizon = (double)d->total, all = 0.0;
        for (unsigned b = 0; b < BETS; b++, horizon /= 4) {
            double bet = sqrt(2.0 * bar / (squares / (double)(i + 1) * horizon));
            capital[b] += log1p(fmin(bet, LOSS_MAX / room) * (y - mean));
            all += exp(capital[b]);
        }
        if (all / BETS >= 1.0 / alpha) {
            return true;
        }
        sum += y;
        double off = y - sum / (double)(i + 1);
        squares += off * off;
    }
    return false;
}

static enum vq_decided above(const struct vq_drawn *d, double sign, double alpha)
{
    VQ_ASSERT(d->n <= d->total && d->low < d->high);
    if (above_exactly(d, sign)) {
        return VQ_DECIDED_EXACTLY;
    }
    return alpha > 0 && above_by_bets(d, sign, alpha) ? VQ_DECIDED_ALPHA : VQ_DECIDED_NOT;
}

enum vq_decided vq_decided_above(const struct vq_drawn *d, double alpha)
{
    return above(d, 1.0, alpha);
}

enum vq_decided vq_decided_below(const struct vq_drawn *d, double alpha)
{
    return above(d, -1.0, alpha);
}
