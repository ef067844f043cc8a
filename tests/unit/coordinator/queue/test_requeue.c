/* Failed tasks that a person wants asked again: when they are open, who is asked, and what must not
 * undo it. */
#include "tests/unit/coordinator/queue/rig.h"

static uint64_t requeue(struct rig *r, uint32_t failures)
{
    uint64_t tasks = UINT64_MAX;
    assert_int_equal(vq_coord_requeue(r->c, failures, r->now_ns, &tasks), VQ_OK);
    rig_pull(r);
    return tasks;
}

static void fail_task(struct rig *r, uint64_t session, const struct rig_said *lease, uint64_t task,
                      enum vq_outcome outcome)
{
    struct vq_result result = rig_failure(r, lease, task, VQ_END_BAD_REQUEST, true, outcome);
    rig_results(r, 1, session, &result, 1);
}

/* The store has a failure row of it. */
static void failed_before(struct rig *r, uint64_t task, enum vq_outcome outcome)
{
    struct vq_hash request;
    rig_request_of(NULL, task, 0, &request);
    sim_map_put(&r->store.failures, &request, (uint64_t)outcome);
}

static bool is_leased(const struct rig *r, uint64_t task)
{
    for (size_t i = r->mark; i < r->said_count; i++) {
        const struct rig_said *s = &r->said[i];
        bool lease = s->action == VQ_COORD_SEND && s->type == VQ_MSG_LEASE;
        for (uint32_t n = 0; lease && n < s->count; n++) {
            if (s->tasks[n] == task) {
                return true;
            }
        }
    }
    return false;
}

TEST_WITH(it_is_open_when_that_is_committed, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t s = rig_join(r, 1, 1, 16);
    const struct rig_said lease = *rig_lease(r, 0);
    uint64_t task = lease.tasks[0];
    fail_task(r, s, &lease, task, VQ_OUTCOME_ERROR);
    assert_int_equal(vq_coord_outcome(r->c, task), VQ_OUTCOME_ERROR);
    assert_int_equal(requeue(r, vq_outcome_failure_bit(VQ_OUTCOME_TOO_LONG)), 0);
    assert_int_equal(vq_coord_outcome(r->c, task), VQ_OUTCOME_ERROR);
    r->hold_commits = true;
    rig_mark(r);
    assert_int_equal(requeue(r, VQ_FAILURES_ALL), 1);
    assert_int_equal(vq_coord_outcome(r->c, task), VQ_OUTCOME_ERROR);
    assert_int_equal(r->batch->reopened_count, 1);
    r->hold_commits = false;
    rig_pull(r);
    assert_int_equal(vq_coord_outcome(r->c, task), VQ_OUTCOME_NONE);
    assert_int_equal(r->store.column[task], VQ_OUTCOME_NONE);
    assert_int_equal(vq_coord_moves(r->c)[VQ_TASK_FAILED][VQ_TASK_ON_REQUEUE], 1);
    for (uint32_t i = 1; i < lease.count; i++) {
        rig_say_answer(r, 1, s, &lease, lease.tasks[i], "Model: A");
    }
    assert_true(is_leased(r, task));
}

TEST_WITH(what_was_let_go_is_met_again, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    uint64_t task = 5; /* of the second shard, which is settled otherwise */
    for (uint64_t t = 4; t < 8; t++) {
        if (t != task) {
            rig_tried(r, t, "Model: A");
        }
    }
    failed_before(r, task, VQ_OUTCOME_UNAVAILABLE);
    rig_start(r);
    assert_int_equal(vq_coord_outcome(r->c, task), VQ_OUTCOME_UNAVAILABLE);
    struct vq_coord_status before = rig_status(r);
    assert_int_equal(requeue(r, VQ_FAILURES_ALL), 1);
    struct vq_coord_status after = rig_status(r);
    assert_int_equal(after.all.state[VQ_TASK_OPEN], before.all.state[VQ_TASK_OPEN] + 1);
    assert_int_equal(after.all.state[VQ_TASK_FAILED], 0);
    assert_int_equal(after.scouted_shards, before.scouted_shards);
    rig_mark(r);
    (void)rig_join(r, 1, 1, 16);
    assert_true(is_leased(r, task));
    assert_int_equal(requeue(r, VQ_FAILURES_ALL), 0);
}

TEST_WITH(a_late_answer_counts_first, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    failed_before(r, 4, VQ_OUTCOME_UNAVAILABLE);
    rig_tried(r, 4, "Model: A"); /* it came late: the failure stands before it */
    rig_start(r);
    assert_int_equal(vq_coord_outcome(r->c, 4), VQ_OUTCOME_UNAVAILABLE);
    assert_int_equal(requeue(r, VQ_FAILURES_ALL), 1);
    assert_int_equal(vq_coord_outcome(r->c, 4), VQ_OUTCOME_FIRST);
    assert_int_equal(r->store.column[4], VQ_OUTCOME_FIRST);
}

TEST_WITH(a_look_up_from_before_settles_nothing, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    failed_before(r, 4, VQ_OUTCOME_ERROR);
    rig_start(r);
    uint64_t s = rig_join(r, 1, 1, 16);
    assert_int_equal(vq_coord_outcome(r->c, 4), VQ_OUTCOME_ERROR);
    /* The shard comes back from its lease and is looked up; what the store says then arrives
     * late. */
    const struct rig_said lease = *rig_lease(r, 1);
    assert_int_equal(lease.shard, 1);
    struct vq_known known[RIG_TASKS_MAX] = {0};
    sim_store_known(&r->store, 1, known);
    r->hold_lookups = true;
    struct vq_msg cancel = {.type = VQ_MSG_CANCEL,
                            .u.cancel = {.session = s,
                                         .shard = lease.shard,
                                         .fence = lease.fence,
                                         .reason = VQ_CANCEL_RETURNED}};
    rig_tell(r, 1, &cancel);
    assert_int_equal(r->lookups_count, 1);
    assert_int_equal(requeue(r, VQ_FAILURES_ALL), 1);
    assert_int_equal(vq_coord_outcome(r->c, 4), VQ_OUTCOME_NONE);
    rig_look_up_as(r, 1, known);
    assert_int_equal(vq_coord_outcome(r->c, 4), VQ_OUTCOME_NONE);
    r->hold_lookups = false;
    rig_mark(r);
    rig_pull(r);
    assert_true(is_leased(r, 4));
}

TEST_WITH(a_stage_does_not_end_before_they_are_asked, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    for (uint64_t t = 0; t < 15; t++) {
        rig_tried(r, t, "Model: A");
    }
    rig_start(r);
    uint64_t s = rig_join(r, 1, 1, 4);
    const struct rig_said lease = *rig_lease(r, 0);
    assert_int_equal(lease.tasks[0], 15);
    r->hold_commits = true;
    fail_task(r, s, &lease, 15, VQ_OUTCOME_ERROR);
    rig_commit(r);
    uint64_t tasks;
    assert_int_equal(vq_coord_requeue(r->c, VQ_FAILURES_ALL, r->now_ns, &tasks), VQ_OK);
    assert_int_equal(tasks, 1);
    rig_pull(r);
    assert_int_equal(r->finished, 0);
    r->hold_commits = false;
    rig_mark(r);
    rig_pull(r);
    const struct rig_said again = *rig_lease(r, 0);
    assert_int_equal(again.tasks[0], 15);
    rig_say_answer(r, 1, s, &again, 15, "Model: B");
    assert_int_equal(r->finished, 1);
    assert_int_equal(requeue(r, VQ_FAILURES_ALL), 0); /* over */
}

TEST_WITH(one_that_failed_under_its_holder_waits_a_term, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t s = rig_join(r, 1, 1, 4);
    const struct rig_said lease = *rig_lease(r, 0);
    uint64_t task = lease.tasks[0];
    struct vq_result late =
        rig_failure(r, &lease, task, VQ_END_BAD_REQUEST, true, VQ_OUTCOME_ERROR);
    late.fence.n--; /* of a lease before: its present holder is still at it */
    rig_results(r, 1, s, &late, 1);
    assert_int_equal(vq_coord_outcome(r->c, task), VQ_OUTCOME_ERROR);
    assert_int_equal(requeue(r, VQ_FAILURES_ALL), 1);
    for (uint32_t i = 1; i < lease.count; i++) {
        rig_say_answer(r, 1, s, &lease, lease.tasks[i], "Model: A");
    }
    rig_mark(r);
    for (int i = 0; i < RIG_TERM / RIG_HEARTBEAT - 1; i++) {
        rig_beat(r, 1, s, NULL);
        rig_pass(r, RIG_HEARTBEAT);
    }
    assert_false(is_leased(r, task));
    for (int i = 0; i < 3; i++) {
        rig_beat(r, 1, s, NULL);
        rig_pass(r, RIG_HEARTBEAT);
    }
    assert_true(is_leased(r, task));
}

/* Whoever was at it then has heard of it long since. */
TEST_WITH(one_that_failed_long_ago_waits_for_nothing, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t s = rig_join(r, 1, 1, 4);
    const struct rig_said lease = *rig_lease(r, 0);
    uint64_t task = lease.tasks[0];
    struct vq_result late =
        rig_failure(r, &lease, task, VQ_END_BAD_REQUEST, true, VQ_OUTCOME_ERROR);
    late.fence.n--;
    rig_results(r, 1, s, &late, 1);
    for (uint32_t i = 1; i < lease.count; i++) {
        rig_say_answer(r, 1, s, &lease, lease.tasks[i], "Model: A");
    }
    for (int i = 0; i < RIG_TERM / RIG_HEARTBEAT + 1; i++) {
        rig_beat(r, 1, s, NULL);
        rig_pass(r, RIG_HEARTBEAT);
    }
    rig_mark(r);
    assert_int_equal(requeue(r, VQ_FAILURES_ALL), 1);
    assert_int_equal(rig_status(r).held_back, 0);
    struct vq_msg cancel = {.type = VQ_MSG_CANCEL,
                            .u.cancel = {.session = s, .reason = VQ_CANCEL_RETURNED}};
    for (size_t i = r->said_count; i > 0; i--) { /* it gives back what it has, and is free */
        const struct rig_said *said = &r->said[i - 1];
        if (said->type == VQ_MSG_LEASE && said->action == VQ_COORD_SEND) {
            cancel.u.cancel.shard = said->shard;
            cancel.u.cancel.fence = said->fence;
            break;
        }
    }
    rig_tell(r, 1, &cancel);
    assert_true(is_leased(r, task));
}

TEST_WITH(more_than_a_batch_holds_go_out_in_several, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    uint64_t tasks = VQ_COORD_REOPENED_MAX + 1000;
    rig_init(r, (uint32_t)tasks / 2, 1, 1);
    for (uint64_t t = 0; t < tasks; t++) {
        failed_before(r, t, t % 2 == 0 ? VQ_OUTCOME_ERROR : VQ_OUTCOME_TOO_LONG);
    }
    r->hold_commits = true;
    rig_start(r);
    assert_int_equal(rig_status(r).all.state[VQ_TASK_FAILED], tasks);
    assert_int_equal(requeue(r, VQ_FAILURES_ALL), tasks);
    rig_commit(r); /* what was found */
    rig_pull(r);
    assert_int_equal(r->batch->reopened_count, VQ_COORD_REOPENED_MAX);
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(r->batch->reopened_count, 1000);
    assert_int_equal(rig_status(r).all.state[VQ_TASK_FAILED], 1000);
    r->hold_commits = false;
    rig_pull(r);
    assert_int_equal(rig_status(r).all.state[VQ_TASK_OPEN], tasks);
    assert_int_equal(r->finished, 0);
}

TEST_WITH(a_run_that_stops_opens_nothing_more, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    failed_before(r, 4, VQ_OUTCOME_ERROR);
    rig_start(r);
    (void)rig_join(r, 1, 1, 0);
    assert_int_equal(vq_coord_drain(r->c, r->now_ns + rig_ms(RIG_TERM), r->now_ns), VQ_OK);
    assert_int_equal(requeue(r, VQ_FAILURES_ALL), 0);
    assert_int_equal(vq_coord_outcome(r->c, 4), VQ_OUTCOME_ERROR);
}
