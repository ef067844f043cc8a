/* Decides when a stage whose calls go into batches asks the second order of a comparison: at once,
 * in the same batch, or after the first one, in a separate batch. Waiting saves the second orders
 * that the first ones settle, and takes the time of another batch. Pure. */
#pragma once

#include "coordinator/pools/deadline.h"

#define VQ_SECOND_ORDERS_FIRSTS_MIN 30u  /* with fewer answers, the share is not measured */
#define VQ_SECOND_ORDERS_SETTLED    0.05 /* the share that is assumed in that case */

struct vq_second_orders {
    /* first orders with an answer, and those that settled: of this run, or of the store */
    uint64_t firsts, settled;
    double audited;                    /* share of the comparisons that always ask both orders */
    double interactive_usd, batch_usd; /* per call, on average; 0: there is none */
    /* seconds until the deadline, less the time that later stages and the margin need; INFINITY:
     * there is no deadline */
    double left_s;
    struct vq_durations durations;
};

/* The average cost of a comparison in each case, in dollars. Calls of a batch that does not end in
 * time are bought interactively, which always saves the settled second orders. */
double vq_second_orders_at_once_usd(const struct vq_second_orders *state);
double vq_second_orders_after_usd(const struct vq_second_orders *state);

/* Whether asking them after the first ones is cheaper, by VQ_CONF_BATCH_GAIN or more. Without an
 * interactive pool, which could make up for a late batch, two batches must also be likely to end in
 * time. */
bool vq_second_orders_wait(const struct vq_second_orders *state);
