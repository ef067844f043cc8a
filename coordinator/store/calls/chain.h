/* Private to the store: a chain of a CHAT stage, walked turn after turn in a transaction. A turn's
 * request is known when the turn before it has a good answer that stands. */
#pragma once

#include "coordinator/store/calls/cell.h"

struct vq_chain_walk {
    const struct vq_view *view; /* NULL: as if nothing were stored */
    const struct vq_plan *plan;
    const struct vq_id *run;
    uint64_t first;              /* task of its first turn */
    uint32_t judge, turn;        /* turn: the one that it stands at */
    bool has_query;              /* that turn has one; else it is not needed */
    struct vq_span queries;      /* of the turns behind it */
    enum vq_outcome before;      /* of the turn before it */
    struct vq_chain_state state; /* while it is reached */
};

void vq_chain_walk_begin(struct vq_chain_walk *walk, const struct vq_view *view,
                         const struct vq_plan *plan, const struct vq_id *run, uint64_t shard);
/* The same, at the deepest turn up to `turn_max` that the plan's memo knows. */
void vq_chain_walk_begin_at(struct vq_chain_walk *walk, const struct vq_view *view,
                            const struct vq_plan *plan, const struct vq_id *run, uint64_t shard,
                            uint32_t turn_max);
/* The turn's request is known: all turns before it have a good answer. */
bool vq_chain_walk_reached(const struct vq_chain_walk *walk);
/* What is recorded of the turn it stands at. */
enum vq_status vq_chain_walk_load(const struct vq_chain_walk *walk, struct vq_cell_known *ret_cell,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* On to the next turn; `cell`: as it was loaded. *ret_answer (nullable) is the answer that stands,
 * in the view's memory; without one .answer.at is NULL. */
enum vq_status vq_chain_walk_pass(struct vq_chain_walk *walk, const struct vq_cell_known *cell,
                                  struct vq_answer *ret_answer,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* Stands at the turn of this task, and has loaded its cell. */
enum vq_status vq_chain_walk_to(struct vq_chain_walk *walk, const struct vq_view *view,
                                const struct vq_plan *plan, const struct vq_id *run, uint64_t task,
                                struct vq_cell_known *ret_cell,
                                struct vq_error *err) VQ_WARN_UNUSED;
