/* Failed tasks that a person wants asked again. A walk over the outcomes finds them, a batch's
 * worth at a time. They are opened after the store has lifted their failure rows. Then the scout's
 * cursors start again, and meet these tasks among the settled ones.
 *
 * Invariants: a task is opened only from FAILED, and only after its commit; an older look-up
 * settles nothing. A task that failed while another worker may still have been asking it is not
 * leased for a term. Not its job: the choice of tasks (the caller gives the reasons), and failure
 * rows (the store's). */
#include "coordinator/queue/internal.h"

static bool wanted(const struct vq_coord *c, uint64_t task, uint32_t failures, uint32_t judge)
{
    bool his = judge == UINT32_MAX || vq_coord_shard_of(c, task) % c->params.grid.judges == judge;
    return his && (vq_outcome_failure_bit((enum vq_outcome)c->tasks.outcome[task]) & failures) != 0;
}

enum vq_status vq_coord_requeue(struct vq_coord *c, uint32_t failures, int64_t now_ns,
                                uint64_t *ret_tasks)
{
    vq_coord_enter(c, now_ns);
    *ret_tasks = 0;
    if (c->end.done || c->stop.begun) {
        return VQ_OK;
    }
    uint64_t tasks = vq_grid_tasks(&c->params.grid);
    for (uint64_t task = 0; task < tasks; task++) {
        *ret_tasks += wanted(c, task, failures, UINT32_MAX);
    }
    if (*ret_tasks > 0) {
        c->requeue.failures |= failures;
        c->requeue.judge = UINT32_MAX;
        c->requeue.at = 0;
        vq_coord_note(c, VQ_COORD_NOTE_INFO, "vibeq ctl requeue retries %llu failed tasks",
                      (unsigned long long)*ret_tasks);
    }
    return VQ_OK;
}

void vq_coord_requeue_judge(struct vq_coord *c, uint32_t judge, uint32_t failures)
{
    bool other = c->requeue.failures != 0 && c->requeue.judge != judge;
    c->requeue.failures |= failures;
    c->requeue.judge = other ? UINT32_MAX : judge;
    c->requeue.at = 0;
}

/* Another chain asks this turn, and opens it together with its own. */
static bool is_twin(const struct vq_coord *c, uint64_t task)
{
    return task % c->shard_tasks / 2 < vq_coord_shared_turn_list(c, vq_coord_shard_of(c, task));
}

enum vq_status vq_coord_requeue_gather(struct vq_coord *c)
{
    uint64_t tasks = vq_grid_tasks(&c->params.grid);
    c->requeue.failures = c->stop.begun ? 0 : c->requeue.failures;
    for (; c->requeue.failures != 0 && c->requeue.at < tasks; c->requeue.at++) {
        if (wanted(c, c->requeue.at, c->requeue.failures, c->requeue.judge) &&
            !is_twin(c, c->requeue.at)) {
            bool full;
            VQ_TRY(vq_coord_gather_reopened(&c->batches, c->requeue.at, &full));
            if (full) {
                return VQ_OK;
            }
        }
    }
    c->requeue.failures = 0;
    return VQ_OK;
}

/* The holder may not know yet that the task failed: reserve it as if a worker had listed a call of
 * it now. */
static enum vq_status hold_for_a_term(struct vq_coord *c, uint64_t task)
{
    bool since =
        c->requeue.failed_out_ns != 0 && c->now_ns - c->requeue.failed_out_ns < c->params.term_ns;
    bool room = c->shards.count < VQ_COORD_SHARDS_MAX / 2;
    return since && room ? vq_coord_call_hold(c, NULL, task) : VQ_OK;
}

/* Opens the tasks of the chain that it blocked. */
static void unblock(struct vq_coord *c, struct vq_coord_shard *shard, uint64_t task)
{
    uint64_t end = (vq_coord_shard_of(c, task) + 1) * c->shard_tasks;
    for (uint64_t next = task + 2; c->params.chains && next < end; next += 2) {
        if (c->tasks.outcome[next] == VQ_OUTCOME_BLOCKED) {
            c->tasks.moves[VQ_TASK_BLOCKED][VQ_TASK_ON_REQUEUE]++;
            c->tasks.outcome[next] = VQ_OUTCOME_NONE;
            vq_coord_tally_move(c, next, VQ_OUTCOME_BLOCKED, VQ_OUTCOME_NONE);
            if (shard != NULL) {
                shard->open++;
            }
        }
    }
}

/* Returns false if the task is not failed (any more). */
static bool open_again(struct vq_coord *c, uint64_t task)
{
    enum vq_outcome before = (enum vq_outcome)c->tasks.outcome[task];
    uint64_t no = vq_coord_shard_of(c, task);
    struct vq_coord_shard *shard = vq_coord_shard_find(c, no);
    bool live = shard != NULL && shard->slots[task % c->shard_tasks].state != SLOT_FREE;
    enum vq_task_states state = live ? VQ_TASK_LEASED : vq_task_state_of(before);
    enum vq_task_states next;
    enum vq_task_rule rule = vq_task_next(state, VQ_TASK_ON_REQUEUE, &next, NULL);
    c->tasks.moves[state][VQ_TASK_ON_REQUEUE]++;
    if (rule != VQ_TASK_MOVES) {
        return false;
    }
    VQ_ASSERT(next == VQ_TASK_OPEN);
    struct vq_coord_lane *lane = &c->lanes[no % c->params.grid.judges];
    unblock(c, shard, task);
    c->tasks.outcome[task] = VQ_OUTCOME_NONE;
    vq_coord_tally_move(c, task, before, VQ_OUTCOME_NONE);
    /* so that the scout meets settled shards again that are not in memory */
    c->scout.passed -= lane->cursor;
    lane->cursor = 0;
    c->end.linger_until_ns = 0;
    if (shard != NULL) {
        shard->open++;
        shard->slots[task % c->shard_tasks].attempts = (struct vq_attempts){{0}};
        shard->outdated = true;
        vq_coord_shard_stir(c, shard);
    }
    return true;
}

/* Opens the twins of a task. Their failure row is the same, which is lifted. The run state gets
 * their new state when they are settled again. */
static void open_twins(struct vq_coord *c, uint64_t task)
{
    uint64_t no = vq_coord_shard_of(c, task);
    uint64_t in_chain = task % c->shard_tasks;
    for (uint64_t at = no;;) {
        at = vq_coord_shared_turn_next(c, no, (uint32_t)(in_chain / 2), at);
        if (at == VQ_TASK_NONE) {
            return;
        }
        struct vq_coord_shard *shard = vq_coord_shard_find(c, at);
        if (!open_again(c, at * c->shard_tasks + in_chain) && shard != NULL) {
            shard->outdated = true;
            vq_coord_shard_stir(c, shard);
        }
    }
}

enum vq_status vq_coord_reopened(struct vq_coord *c, uint64_t task)
{
    if (!open_again(c, task)) {
        return VQ_OK;
    }
    open_twins(c, task);
    return hold_for_a_term(c, task);
}
