/* Walks along a chain: each turn's request is made from the answers in force before it.
 *
 * Invariants: a turn is loaded only when it is reached. After a turn without a good answer nothing
 * is read, and the later turns are open or blocked (queue/task_state.c). An answer in force never
 * changes, so a walk in a later transaction reaches at least the same turn, unless a failure was
 * lifted. Not its job: which turns to read (lookup.c, commit.c). */
#include "coordinator/store/calls/chain.h"

void vq_chain_walk_begin(struct vq_chain_walk *walk, const struct vq_view *view,
                         const struct vq_plan *plan, const struct vq_id *run, uint64_t shard)
{
    const struct vq_sample *chain = &plan->chains[shard / plan->grid.judges];
    *walk = (struct vq_chain_walk){.view = view,
                                   .plan = plan,
                                   .run = run,
                                   .first = shard * vq_grid_shard_tasks(&plan->grid),
                                   .judge = (uint32_t)(shard % plan->grid.judges),
                                   .queries = chain->prompt};
    struct vq_span query;
    walk->has_query = vq_chain_unpack(&walk->queries, &query);
    if (walk->has_query) {
        vq_chain_begin(chain->a, query, &walk->state);
    }
}

void vq_chain_walk_begin_at(struct vq_chain_walk *walk, const struct vq_view *view,
                            const struct vq_plan *plan, const struct vq_id *run, uint64_t shard,
                            uint32_t turn_max)
{
    struct vq_chain_state state;
    uint32_t turn;
    vq_chain_walk_begin(walk, view, plan, run, shard);
    if (view == NULL || !vq_chain_memo_get(plan->memo, shard, turn_max, &turn, &state)) {
        return;
    }
    struct vq_span query;
    for (; walk->turn < turn; walk->turn++) {
        walk->has_query = vq_chain_unpack(&walk->queries, &query);
    }
    walk->before = VQ_OUTCOME_TEXT;
    walk->state = state;
}

bool vq_chain_walk_reached(const struct vq_chain_walk *walk)
{
    return walk->has_query && (walk->turn == 0 || vq_outcome_is_good(walk->before));
}

enum vq_status vq_chain_walk_load(const struct vq_chain_walk *walk, struct vq_cell_known *ret_cell,
                                  struct vq_error *err)
{
    uint64_t task = walk->first + 2 * (uint64_t)walk->turn;
    vq_cell_empty(walk->plan, task, ret_cell);
    ret_cell->plan.unasked |= !walk->has_query;
    ret_cell->plan.follows = walk->turn > 0;
    ret_cell->plan.before = walk->before;
    if (walk->view == NULL || ret_cell->plan.unasked || !vq_chain_walk_reached(walk)) {
        return VQ_OK;
    }
    return vq_cell_attempts(walk->view, walk->plan, walk->run, task, &walk->state, NULL,
                            ret_cell->attempts[0], err);
}

enum vq_status vq_chain_walk_pass(struct vq_chain_walk *walk, const struct vq_cell_known *cell,
                                  struct vq_answer *ret_answer, struct vq_error *err)
{
    struct vq_task_view view;
    struct vq_answer answer = {.answer = {NULL, 0}};
    vq_cell_state(cell, 0, &view);
    struct vq_span query;
    bool has_next = vq_chain_unpack(&walk->queries, &query);
    if (vq_outcome_is_good(view.outcome)) {
        struct vq_hash request;
        vq_chain_request(&walk->plan->askers[walk->judge], &walk->state,
                         walk->plan->repeat + view.repeat, &request);
        VQ_TRY(vq_lookup_answer(walk->view, &request, &answer, err));
        if (has_next) {
            vq_chain_go_on(&walk->state, answer.answer, query);
        }
    }
    walk->has_query = has_next;
    walk->before = view.outcome;
    walk->turn++;
    if (ret_answer != NULL) {
        *ret_answer = answer;
    }
    return VQ_OK;
}

enum vq_status vq_chain_walk_to(struct vq_chain_walk *walk, const struct vq_view *view,
                                const struct vq_plan *plan, const struct vq_id *run, uint64_t task,
                                struct vq_cell_known *ret_cell, struct vq_error *err)
{
    uint32_t tasks = vq_grid_shard_tasks(&plan->grid);
    uint32_t turn = (uint32_t)(task % tasks / 2);
    vq_chain_walk_begin_at(walk, view, plan, run, task / tasks, turn);
    VQ_TRY(vq_chain_walk_load(walk, ret_cell, err));
    while (walk->turn < turn) {
        VQ_TRY(vq_chain_walk_pass(walk, ret_cell, NULL, err));
        VQ_TRY(vq_chain_walk_load(walk, ret_cell, err));
    }
    return VQ_OK;
}
