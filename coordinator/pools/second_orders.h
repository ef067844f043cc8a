/* Whether a stage whose calls go into batches asks the second order of a comparison at once, in the
 * same batch, or after the first one, in a batch of its own. Waiting saves the second orders that
 * the first ones settle, and takes the time of another batch. Pure. */
#pragma once

#include "coordinator/pools/deadline.h"

#define VQ_SECOND_ORDERS_FIRSTS_MIN 30u  /* with fewer answers, no share is measured */
#define VQ_SECOND_ORDERS_SETTLED    0.05 /* the share that is assumed then */

struct vq_second_orders {
    uint64_t firsts, settled; /* first orders with an answer in this run; those that settled */
    double audited;           /* share of the comparisons that ask both orders all the same */
    double interactive_usd, batch_usd; /* of a call, on average; 0: there is no such pool */
    /* until the deadline, less the time that later stages and the margin need; INFINITY: there is
     * no deadline */
    double left_s;
    struct vq_durations durations;
};

/* What a comparison costs on average in either way, in dollars. Calls of a batch that does not end
 * in time are bought interactively, which always saves the second orders that are settled. */
double vq_second_orders_at_once_usd(const struct vq_second_orders *state);
double vq_second_orders_after_usd(const struct vq_second_orders *state);

/* To ask them after the first ones is cheaper, by VQ_CONF_BATCH_GAIN or more. Without an
 * interactive pool, which could make up for a late batch, it must also be likely that two batches
 * end in time. */
bool vq_second_orders_wait(const struct vq_second_orders *state);
