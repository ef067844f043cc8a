/* Private to the store: walks a chain of a CHAT stage turn by turn in a transaction. A turn's
 * request is known if the turn before it has a good answer in force. */
#pragma once

#include "coordinator/store/calls/cell.h"

struct vq_chain_walk {
    const struct vq_view *view; /* NULL: as if the store were empty */
    const struct vq_plan *plan;
    const struct vq_id *run;
    uint64_t first;              /* task of its first turn */
    uint32_t judge, turn;        /* turn: the present one */
    bool has_query;              /* the present turn has a query; otherwise it is not needed */
    struct vq_span queries;      /* of the later turns */
    enum vq_outcome before;      /* of the turn before */
    struct vq_chain_state state; /* valid while the turn is reached */
};

void vq_chain_walk_begin(struct vq_chain_walk *walk, const struct vq_view *view,
                         const struct vq_plan *plan, const struct vq_id *run, uint64_t shard);
/* The same, from the deepest turn up to `turn_max` that the plan's memo knows. */
void vq_chain_walk_begin_at(struct vq_chain_walk *walk, const struct vq_view *view,
                            const struct vq_plan *plan, const struct vq_id *run, uint64_t shard,
                            uint32_t turn_max);
/* The turn's request is known: all turns before it have a good answer. */
bool vq_chain_walk_reached(const struct vq_chain_walk *walk);
/* The records of the present turn. */
enum vq_status vq_chain_walk_load(const struct vq_chain_walk *walk, struct vq_cell_known *ret_cell,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* Moves to the next turn; `cell`: the loaded cell. *ret_answer (nullable): the answer in force, in
 * the view's memory; without one .answer.at is NULL. */
enum vq_status vq_chain_walk_pass(struct vq_chain_walk *walk, const struct vq_cell_known *cell,
                                  struct vq_answer *ret_answer,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* Moves to the turn of this task and loads its cell. */
enum vq_status vq_chain_walk_to(struct vq_chain_walk *walk, const struct vq_view *view,
                                const struct vq_plan *plan, const struct vq_id *run, uint64_t task,
                                struct vq_cell_known *ret_cell,
                                struct vq_error *err) VQ_WARN_UNUSED;
