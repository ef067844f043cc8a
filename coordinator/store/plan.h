/* What a ranking stage asks, as the store needs it: from a task to its request hashes. Pure; read by two threads at once,
 * so nothing in it changes while a run goes on. The shell fills it; everything is borrowed and outlives the store.
 *
 * Needed of coordinator/core/task_state.h, the one rule for a task's state:
 *     struct vq_known { enum vq_outcome answer; enum vq_outcome failure; };   (NONE: there is none)
 *     enum vq_outcome vq_task_state(known of both orders, order, first order, lazy, audited, one order);
 * `answer` is what the task's standing answer says after its repair, `failure` the outcome in its failure row. Which
 * repeat stands is decided here, by vq_walk (lookup.h), since it takes the store to know. */
#ifndef VQ_COORDINATOR_STORE_PLAN_H
#define VQ_COORDINATOR_STORE_PLAN_H

#include "common/judge/request.h"
#include "proto/grid.h"

#define VQ_GENERATION_MAX 63 /* so often may a run be resumed with --retry-failed */

struct vq_plan {
    struct vq_grid grid;
    const struct vq_sample_id *samples; /* grid.samples */
    const struct vq_asker *askers;      /* grid.judges; `repair` NULL: no repair */
    const struct vq_axis *axes;         /* grid.vibes */
    double audit_share;
    bool lazy_swap;
    bool one_order;      /* pair_rule forward: order 1 is not needed */
    uint32_t generation; /* of --retry-failed: 0 at first; repeats 0 to this one may be asked */
};

static inline bool vq_plan_has(const struct vq_plan *plan, uint64_t task)
{
    return task < vq_grid_tasks(&plan->grid);
}

/* The request hash of a task's asking; the task must be of the plan. */
void vq_plan_request(const struct vq_plan *plan, uint64_t task, uint32_t repeat,
                     struct vq_hash *ret_hash);
unsigned vq_plan_first_order(const struct vq_plan *plan, uint64_t task);
bool vq_plan_audited(const struct vq_plan *plan, uint64_t task);

#endif
