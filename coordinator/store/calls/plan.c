/* Maps a task's number to its request hashes and to the plan of its cell. Pure. Not its job: stored
 * answers (lookup.c) and their meaning (queue/task_state.c). */
#include "coordinator/store/calls/plan.h"

void vq_plan_request(const struct vq_plan *plan, uint64_t task, uint32_t repeat,
                     struct vq_hash *ret_hash)
{
    struct vq_cell cell = vq_grid_cell(&plan->grid, task);
    vq_request_hash(&plan->askers[cell.judge], &plan->samples[cell.sample], &plan->axes[cell.vibe],
                    cell.order, repeat, ret_hash);
}

void vq_plan_repair(const struct vq_plan *plan, uint64_t task, const struct vq_hash *of,
                    struct vq_span answer, struct vq_hash *ret_hash)
{
    struct vq_cell cell = vq_grid_cell(&plan->grid, task);
    vq_repair_hash(&plan->askers[cell.judge], of, answer, ret_hash);
}

void vq_plan_cell_rest(const struct vq_plan *plan, uint64_t task, struct vq_task_plan *ret_cell)
{
    struct vq_cell cell = vq_grid_cell(&plan->grid, task);
    const struct vq_asker *asker = &plan->askers[cell.judge];
    uint8_t asks = plan->cells == NULL ? VQ_CELL_ASKED : plan->cells[task / 2];
    *ret_cell = (struct vq_task_plan){.swap = plan->swap,
                                      .repair = asker->repair != NULL,
                                      .unasked = asks == VQ_CELL_UNASKED,
                                      .repeat_max = plan->generation,
                                      .retries = plan->retries};
    if (asks == VQ_CELL_ORDER_0 || asks == VQ_CELL_ORDER_1) {
        ret_cell->swap = VQ_SWAP_NONE;
        ret_cell->first = asks == VQ_CELL_ORDER_1;
    } else if (plan->first_order != NULL) {
        ret_cell->first = plan->first_order[task / vq_grid_shard_tasks(&plan->grid)];
    } else if (plan->swap != VQ_SWAP_NONE) {
        ret_cell->first = vq_first_order(&plan->samples[cell.sample], asker->judge);
    }
}

bool vq_plan_audited(const struct vq_plan *plan, uint64_t task)
{
    struct vq_cell cell = vq_grid_cell(&plan->grid, task);
    return plan->swap == VQ_SWAP_LAZY &&
           vq_audited(&plan->samples[cell.sample], &plan->axes[cell.vibe],
                      plan->askers[cell.judge].judge, plan->audit_share);
}

void vq_plan_cell(const struct vq_plan *plan, uint64_t task, struct vq_task_plan *ret_cell)
{
    vq_plan_cell_rest(plan, task, ret_cell);
    ret_cell->audited = vq_plan_audited(plan, task);
}
