/* Decisions of a deadline (deadline.h) in the words of the queue: which pools of some judges get
 * calls now, which batches are cancelled, and how fast the interactive pools are. The judges share
 * pools, directly or through others, so that one decision holds for all of them. Pure. */
#pragma once

#include "coordinator/pools/authority.h"
#include "coordinator/pools/deadline.h"

#define VQ_DEADLINE_TOKENS_IN  1500.0 /* of a call, before any is known */
#define VQ_DEADLINE_TOKENS_OUT 50.0
#define VQ_DEADLINE_CALLS      10u /* answers that show it */

struct vq_deadline_round {
    /* the batch pools rest, and all that is leased is asked interactively; else all of it goes into
     * batches */
    bool direct;
    uint64_t keep;  /* not direct: open calls that are left for the interactive pools */
    uint32_t count; /* batches to cancel: `cancelling` was set */
    int64_t at_s;   /* the next round, unless something ends before */
};

/* Decides until there is nothing more to decide now. `state` and `batches`, which are the state's,
 * are changed: what was decided counts as done. `follows`: answers from batches will open calls
 * that were not asked yet. */
void vq_deadline_round(struct vq_deadline_state *state, struct vq_deadline_batch *batches,
                       bool follows, struct vq_deadline_round *ret_round);

struct vq_deadline_tokens { /* of a call, on average */
    double in, out;
};

/* Calls a second that an interactive pool can make: what its limits allow, or what it made lately,
 * if it had work all the time (`busy`). 0: it takes no calls. */
double vq_deadline_pool_rate(const struct vq_authority_pool_status *pool,
                             struct vq_deadline_tokens tokens, bool busy);
