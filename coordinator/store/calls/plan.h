/* The questions of a stage for the store: maps a task to its request hashes and to the plan of its
 * cell. Pure. Two threads read it at once, so nothing in it changes while the run is active. The
 * shell fills it; everything is borrowed and outlives the store's use of it. */
#pragma once

#include "coordinator/queue/task_state.h"
#include "coordinator/store/calls/chain_memo.h"
#include "proto/grid.h"

#define VQ_GENERATION_MAX 63 /* the maximum number of resumes with --retry-failed */
#define VQ_REPEAT_RETEST                                                                           \
    (VQ_GENERATION_MAX + 1u) /* the first repeat of a stage that repeats earlier questions */

/* A stage of texts or vectors is a grid of one vibe, without repair: `swap` VQ_SWAP_NONE, the
 * template VQ_TEMPLATE_AS_IS, one axis with empty texts. sample.a is the system part, sample.prompt
 * the user part, and sample.b distinguishes equal questions. */
struct vq_plan {
    enum vq_stage_kind kind; /* how its answers are read */
    uint32_t stage;          /* its number in the run; results of other stages settle nothing */
    struct vq_grid grid;
    const struct vq_sample_id *samples; /* grid.samples */
    const struct vq_sample *chains;     /* CHAT: their texts, one per sample; otherwise NULL */
    /* CHAT: the progress of the chains; the only part that changes. NULL: none */
    struct vq_chain_memo *memo;
    const struct vq_asker *askers; /* one per judge; `repair` NULL: no repair */
    const struct vq_axis *axes;    /* one per vibe */
    /* by shard: vq_first_order, if known already; NULL: computed each time */
    const uint8_t *first_order;
    double audit_share;
    enum vq_swap swap;
    uint32_t repeat; /* of the first asking: 0, or a multiple of VQ_REPEAT_RETEST */
    /* of --retry-failed, plus `retries`: the repeats `repeat` to `repeat` + this number may be
     * asked */
    uint32_t generation;
    uint32_t retries;     /* part of `generation`: only for answers that cannot be read */
    const uint8_t *cells; /* enum vq_cell_asks, one per cell, in grid order; NULL: all are asked */
};

static inline bool vq_plan_has(const struct vq_plan *plan, uint64_t task)
{
    return task < vq_grid_tasks(&plan->grid);
}

/* Whether the stage may ask the task. A stage that asks only some cells or one order has the others
 * in its grid, and never asks them. */
static inline bool vq_plan_asks(const struct vq_plan *plan, uint64_t task)
{
    uint8_t asks = plan->cells == NULL ? VQ_CELL_ASKED : plan->cells[task / 2];
    if (asks != VQ_CELL_ASKED) {
        return asks != VQ_CELL_UNASKED && task % 2 == asks - (uint32_t)VQ_CELL_ORDER_0;
    }
    uint32_t first =
        plan->first_order == NULL ? 0 : plan->first_order[task / vq_grid_shard_tasks(&plan->grid)];
    return plan->swap != VQ_SWAP_NONE || task % 2 == first;
}

/* The request hash of a task's question. The task must be of the plan (vq_plan_has), here and
 * below. */
void vq_plan_request(const struct vq_plan *plan, uint64_t task, uint32_t repeat,
                     struct vq_hash *ret_hash);
/* The request hash of the repair of `answer`, which the request `of` of this task got. The judge
 * must have a repair. */
void vq_plan_repair(const struct vq_plan *plan, uint64_t task, const struct vq_hash *of,
                    struct vq_span answer, struct vq_hash *ret_hash);
/* The plan of the task's cell, for vq_task_state. */
void vq_plan_cell(const struct vq_plan *plan, uint64_t task, struct vq_task_plan *ret_cell);
/* The same in two steps: the rest, with `audited` false, and the audit bit. The bit needs another
 * hash and matters only if the first order settles. */
void vq_plan_cell_rest(const struct vq_plan *plan, uint64_t task, struct vq_task_plan *ret_cell);
bool vq_plan_audited(const struct vq_plan *plan, uint64_t task);
