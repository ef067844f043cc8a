/* Translates decisions of a deadline (deadline.h) for the queue: which pools of some judges get
 * calls now, which batches are cancelled, and how fast the interactive pools are. The judges share
 * pools, directly or through others, so one decision holds for all of them. Pure. */
#pragma once

#include "coordinator/pools/authority.h"
#include "coordinator/pools/deadline.h"

#define VQ_DEADLINE_TOKENS_IN  1500.0 /* per call, before any is measured */
#define VQ_DEADLINE_TOKENS_OUT 50.0
#define VQ_DEADLINE_CALLS      10u /* answers that are needed to measure it */

struct vq_deadline_round {
    /* the batch pools rest, and all leased calls are asked interactively; otherwise all go into
     * batches */
    bool direct;
    uint64_t keep;  /* not direct: open calls that are reserved for the interactive pools */
    uint32_t count; /* batches to cancel: their `cancelling` was set */
    int64_t at_s;   /* the next round, unless a batch or call ends before */
};

/* Decides until no decision is left for now. Changes `state` and its `batches`: decisions count as
 * carried out. `follows`: answers from batches will open calls that were not asked yet. */
void vq_deadline_round(struct vq_deadline_state *state, struct vq_deadline_batch *batches,
                       bool follows, struct vq_deadline_round *ret_round);

struct vq_deadline_tokens { /* per call, on average */
    double in, out;
};

/* Calls per second of an interactive pool: its limits, or its recent rate if it had work all the
 * time (`busy`). 0: it takes no calls. */
double vq_deadline_pool_rate(const struct vq_authority_pool_status *pool,
                             struct vq_deadline_tokens tokens, bool busy);
