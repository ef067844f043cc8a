/* Paused by hand: nothing is leased, slices are none, and everything else goes on. */
#include "tests/unit/coordinator/queue/rig.h"

static void hold(struct rig *r, bool held)
{
    assert_int_equal(vq_coord_hold(r->c, held, r->now_ns), VQ_OK);
    rig_pull(r);
}

TEST_WITH(a_pause_takes_every_slice_and_gives_it_back, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t one = rig_join(r, 1, 1, 2);
    uint64_t two = rig_join(r, 2, 2, 2);
    assert_true(rig_last(r, 1, VQ_MSG_GRANT)->concurrency > 0);
    rig_mark(r);
    hold(r, true);
    assert_int_equal(rig_count(r, 1, VQ_MSG_GRANT), 1);
    assert_int_equal(rig_last(r, 1, VQ_MSG_GRANT)->concurrency, 0);
    assert_int_equal(rig_last(r, 2, VQ_MSG_GRANT)->concurrency, 0);
    assert_int_equal(rig_status(r).stage, VQ_COORD_HELD);
    rig_mark(r);
    hold(r, true); /* again: nothing */
    assert_int_equal(rig_count(r, 0, VQ_MSG_GRANT), 0);
    for (int i = 0; i < 20; i++) { /* longer than a term */
        rig_beat(r, 1, one, NULL);
        rig_beat(r, 2, two, NULL);
        rig_credit(r, 1, one, 0, 4, VQ_POOL_OPEN);
        rig_pass(r, RIG_HEARTBEAT);
    }
    assert_int_equal(rig_count(r, 0, VQ_MSG_LEASE), 0);
    assert_int_equal(rig_last(r, 1, VQ_MSG_GRANT)->concurrency, 0);
    assert_int_equal(r->stopped, 0);
    rig_mark(r);
    hold(r, false);
    assert_int_equal(rig_status(r).stage, VQ_COORD_RUNNING);
    assert_true(rig_last(r, 1, VQ_MSG_GRANT)->concurrency > 0 ||
                rig_last(r, 2, VQ_MSG_GRANT)->concurrency > 0);
    assert_true(rig_count(r, 0, VQ_MSG_LEASE) > 0);
}

TEST_WITH(who_comes_during_a_pause_gets_nothing, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    hold(r, true);
    (void)rig_join(r, 1, 1, 4);
    assert_int_equal(rig_count(r, 0, VQ_MSG_LEASE), 0);
    assert_int_equal(rig_last(r, 1, VQ_MSG_GRANT)->concurrency, 0);
    hold(r, false);
    assert_true(rig_count(r, 1, VQ_MSG_LEASE) > 0);
}

TEST_WITH(what_is_in_flight_counts_and_what_comes_back_waits, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t s = rig_join(r, 1, 1, 4);
    const struct rig_said lease = *rig_lease(r, 0);
    hold(r, true);
    rig_say_answer(r, 1, s, &lease, lease.tasks[0], "Model: A");
    assert_int_equal(vq_coord_outcome(r->c, lease.tasks[0]), VQ_OUTCOME_FIRST);
    uint64_t back = lease.tasks[1];
    struct vq_msg cancel = {.type = VQ_MSG_CANCEL,
                            .u.cancel = {.session = s,
                                         .shard = lease.shard,
                                         .fence = lease.fence,
                                         .reason = VQ_CANCEL_RETURNED,
                                         .tasks = &back,
                                         .tasks_count = 1}};
    rig_mark(r);
    rig_tell(r, 1, &cancel);
    rig_pass(r, 3 * RIG_HEARTBEAT);
    assert_int_equal(rig_count(r, 0, VQ_MSG_LEASE), 0);
    assert_int_equal(vq_coord_outcome(r->c, back), VQ_OUTCOME_NONE);
}

TEST_WITH(a_drain_ends_a_paused_run, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    (void)rig_join(r, 1, 1, 0);
    hold(r, true);
    assert_int_equal(vq_coord_drain(r->c, r->now_ns + rig_ms(RIG_TERM), r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(r->stopped, 1);
    assert_true(r->stop_clean);
}

TEST_WITH(the_next_stage_begins_as_this_one_was, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.more = true;
    for (uint64_t task = 0; task < vq_grid_tasks(&r->params.grid); task++) {
        rig_tried(r, task, "Model: A");
    }
    rig_start(r);
    assert_int_equal(r->finished, 1);
    hold(r, true);
    struct vq_coord *from = r->c;
    struct vq_error err = {""};
    r->params.stage = 1;
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    assert_int_equal(vq_coord_hand_over(from, r->c, r->now_ns), VQ_OK);
    assert_int_equal(rig_status(r).stage, VQ_COORD_HELD);
    vq_coord_destroy(&from);
}

TEST_WITH(a_pause_that_ends_between_two_stages_has_ended, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.more = true;
    for (uint64_t task = 0; task < vq_grid_tasks(&r->params.grid); task++) {
        rig_tried(r, task, "Model: A");
    }
    rig_start(r);
    assert_int_equal(r->finished, 1);
    hold(r, true);
    vq_authority_tick(r->params.authority, r->now_ns);
    struct vq_authority_pool_status pool;
    vq_authority_status(r->params.authority, 0, r->now_ns, &pool);
    assert_int_equal(pool.state, VQ_AUTHORITY_HELD); /* the pools outlive the stage */
    hold(r, false);
    vq_authority_status(r->params.authority, 0, r->now_ns, &pool);
    assert_int_not_equal(pool.state, VQ_AUTHORITY_HELD);
}
