/* Expected prices, by the chance of one batch and of two batches, one after the other. Owns
 * nothing. */
#include "coordinator/pools/second_orders.h"

#include "common/conf/batches.h"

#include <math.h>

/* The share of comparisons whose second order is not needed. */
static double spared(const struct vq_second_orders *s)
{
    double settled = s->firsts < VQ_SECOND_ORDERS_FIRSTS_MIN
                         ? VQ_SECOND_ORDERS_SETTLED
                         : (double)s->settled / (double)s->firsts;
    return settled * (1 - s->audited);
}

static double chance_of_one(const struct vq_second_orders *s)
{
    return isinf(s->left_s) ? 1 : vq_durations_chance(&s->durations, 0, s->left_s);
}

#define CELLS 64u /* of the remaining time */

/* The chance that the first batch ends in one of the cells, and the second one in the rest. */
static double chance_of_two(const struct vq_second_orders *s)
{
    if (isinf(s->left_s)) {
        return 1;
    }
    double chance = 0, before = 0, cell = s->left_s / CELLS;
    for (uint32_t t = 1; t <= CELLS; t++) {
        double until = vq_durations_chance(&s->durations, 0, t * cell);
        chance += (until - before) * vq_durations_chance(&s->durations, 0, (CELLS - t) * cell);
        before = until;
    }
    return chance;
}

double vq_second_orders_at_once_usd(const struct vq_second_orders *s)
{
    double in_time = chance_of_one(s);
    return in_time * 2 * s->batch_usd + (1 - in_time) * (2 - spared(s)) * s->interactive_usd;
}

double vq_second_orders_after_usd(const struct vq_second_orders *s)
{
    double one = chance_of_one(s), two = chance_of_two(s), seconds = 1 - spared(s);
    return one * s->batch_usd + (1 - one) * s->interactive_usd +
           seconds * (two * s->batch_usd + (1 - two) * s->interactive_usd);
}

bool vq_second_orders_wait(const struct vq_second_orders *s)
{
    if (s->left_s <= 0 || (s->interactive_usd <= 0 && chance_of_two(s) < 0.5)) {
        return false;
    }
    struct vq_second_orders priced = *s;
    if (s->interactive_usd <= 0) { /* late calls are asked late, at the same price */
        priced.interactive_usd = s->batch_usd;
    }
    return vq_second_orders_after_usd(&priced) <
           (1 - VQ_CONF_BATCH_GAIN) * vq_second_orders_at_once_usd(&priced);
}
