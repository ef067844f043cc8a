/* A stage among others: what workers still have of another one, the end of a stage that is not the
 * last, and what the next core takes over. */
#include "rig.h"

/* Both orders of the one question. */
static void finish(struct rig *r, uint64_t session, uint64_t peer, struct vq_fence fence)
{
    struct rig_said lease = {.fence = fence};
    struct vq_result results[2] = {rig_answer(r, &lease, 0, "Model: A"),
                                   rig_answer(r, &lease, 1, "Model: A")};
    rig_results(r, peer, session, results, 2);
}

/* One question in both orders, of stage n. */
static void begin(struct rig *r, uint32_t stage, bool more)
{
    rig_end(r);
    rig_init(r, 1, 1, 1);
    r->params.stage = r->store.stage = stage;
    r->params.more = more;
    r->store.swap = VQ_SWAP_BOTH;
    rig_start(r);
}

TEST_WITH(sessions_and_fences_begin_above_the_last_stage, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 3, true);
    uint64_t session = rig_join(r, 7, 1, 8);
    assert_int_equal(session >> VQ_COORD_STAGE_BITS, 3);
    assert_int_equal(rig_last(r, 7, VQ_MSG_LEASE)->fence.n >> VQ_COORD_STAGE_BITS, 3);
}

TEST_WITH(a_result_of_another_stage_is_recorded_and_settles_nothing, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 3, true);
    uint64_t session = rig_join(r, 7, 1, 8);
    struct rig_said *lease = rig_last(r, 7, VQ_MSG_LEASE);
    struct vq_result late[2] = {rig_answer(r, lease, 0, "Model: A"),
                                rig_answer(r, lease, 0, "Model: A")};
    late[0].stage = 2; /* the same numbers, fence and all */
    late[1].stage = 9;
    late[1].task = 1000000; /* of a grid that is not known here */
    late[1].shard = 77;
    late[1].judge = 200;
    late[1].request.b[9] ^= 1; /* nobody's fault */
    rig_results(r, 7, session, late, 2);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 1);
    assert_int_equal(rig_last(r, 7, VQ_MSG_ACK)->count, 2);
    assert_int_equal(rig_count(r, 7, VQ_MSG_BYE), 0);
    assert_non_null(sim_store_row(&r->store, &late[0].call));
    assert_non_null(sim_store_row(&r->store, &late[1].call));
    assert_int_equal(r->store.foreign, 0);
    struct vq_coord_status status = rig_status(r);
    assert_int_equal(status.all.state[VQ_TASK_LEASED], 1); /* the probe is still out */
    assert_int_equal(status.elsewhere, 2);
    assert_int_equal(status.all.calls, 2);
    struct vq_coord_judge_status judge;
    vq_coord_judge_fill(r->c, 0, r->now_ns, &judge);
    assert_int_equal(judge.counts.calls, 0);
    /* again: committed already */
    rig_results(r, 7, session, late, 2);
    assert_int_equal(rig_status(r).repeated, 2);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 2);
}

TEST_WITH(many_results_of_another_stage_do_not_stop_the_run, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 1, true);
    uint64_t session = rig_join(r, 7, 1, 8);
    for (uint32_t i = 0; i < 3 * VQ_COORD_UNSETTLED_MAX; i++) {
        struct vq_result late = rig_answer(r, rig_last(r, 7, VQ_MSG_LEASE), 0, "Model: A");
        late.stage = 0;
        rig_results(r, 7, session, &late, 1);
    }
    assert_int_equal(r->stopped, 0);
    assert_int_equal(rig_status(r).elsewhere, 3 * VQ_COORD_UNSETTLED_MAX);
}

TEST_WITH(what_is_held_of_another_stage_reserves_nothing, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 2, true);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_held_lease lease = {.shard = 99, .fence = {5, 4}, .stage = 1};
    struct vq_held_call calls[2] = {{.call = {{1}}, .task = 0, .stage = 1},
                                    {.call = {{2}}, .task = 12345, .stage = 0}};
    rig_list(r, 7, session, VQ_MSG_HELD, &lease, 1, calls, 2);
    assert_int_equal(rig_last(r, 7, VQ_MSG_CANCEL)->code, VQ_CANCEL_STALE);
    assert_int_equal(rig_last(r, 7, VQ_MSG_CANCEL)->shard, 99);
    assert_int_equal(rig_status(r).calls_reserved, 0);
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    assert_int_equal(rig_lease(r, 0)->shard, 0); /* though "task 0" is listed */
    struct vq_msg cancel = {.type = VQ_MSG_CANCEL,
                            .u.cancel = {.session = session,
                                         .shard = 0,
                                         .fence = rig_lease(r, 0)->fence,
                                         .reason = VQ_CANCEL_RETURNED,
                                         .stage = 1}};
    rig_tell(r, 7, &cancel);
    assert_int_equal(rig_status(r).leased_shards, 1);
}

TEST_WITH(spools_may_hold_other_stages, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 1, true);
    struct rig_said lease = {.fence = {5, 1}};
    struct vq_result results[2] = {rig_answer(r, &lease, 1, "Model: A"),
                                   rig_answer(r, &lease, 1, "Model: A")};
    results[0].stage = 0;
    results[0].task = results[0].shard = UINT64_MAX - 1;
    results[1].stage = 2;
    results[1].end = VQ_END_UNKNOWN;
    size_t taken;
    assert_int_equal(vq_coord_import(r->c, vq_span_str("dead"), results, 2, r->now_ns, &taken),
                     VQ_OK);
    assert_int_equal(taken, 2);
    rig_pull(r);
    assert_int_equal(sim_store_row(&r->store, &results[0].call)->end, VQ_END_ANSWER);
    assert_int_equal(sim_store_row(&r->store, &results[1].call)->end, VQ_END_UNKNOWN);
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_NONE);
}

TEST_WITH(the_end_of_a_stage_and_of_the_last_one, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 0, true);
    uint64_t session = rig_join(r, 7, 1, 8);
    finish(r, session, 7, (struct vq_fence){5, 1});
    assert_int_equal(r->finished, 1);
    assert_true(vq_coord_clean(r->c));
    assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_STAGE);
    /* who speaks meanwhile is told, a HELLO waits */
    rig_mark(r);
    rig_beat(r, 8, 1, NULL);
    assert_int_equal(rig_last(r, 8, VQ_MSG_BYE)->code, VQ_BYE_STAGE);
    struct vq_msg hello = {
        .type = VQ_MSG_HELLO,
        .u.hello = {
            .worker = rig_worker(1), .stamp_ns = 5, .name = vq_span_str("ann"), .local = 1}};
    rig_tell(r, 7, &hello);
    hello.u.hello.stamp_ns = 6; /* said again */
    rig_tell(r, 7, &hello);
    hello.u.hello.worker = rig_worker(2);
    hello.u.hello.name = vq_span_str("bob");
    rig_tell(r, 9, &hello);
    assert_int_equal(rig_count(r, 7, VQ_MSG_WELCOME) + rig_count(r, 7, VQ_MSG_BYE), 0);
    struct vq_coord *before = r->c;
    r->params.stage = r->store.stage = 1;
    r->params.more = false;
    struct vq_error err = {""};
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    assert_int_equal(vq_coord_hand_over(before, r->c, r->now_ns), VQ_OK);
    vq_coord_destroy(&before);
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_WELCOME), 1);
    assert_int_equal(rig_last(r, 7, VQ_MSG_WELCOME)->stamp_ns, 6);
    assert_int_equal(rig_count(r, 9, VQ_MSG_WELCOME), 1);
    struct vq_coord_worker_status worker;
    assert_true(vq_coord_worker_fill(r->c, 1, &worker));
    assert_string_equal(worker.name, "bob");
    /* the store has all of it: finished at once, and this was the last */
    rig_pull(r);
    assert_int_equal(r->finished, 2);
    assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_DONE);
}

/* A worker of a start that had come further lists what it has of a later stage. */
TEST_WITH(calls_of_a_later_stage_are_waited_for, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 0, true);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_held_call call = {.call = {{1}}, .task = 0, .stage = 1};
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, &call, 1);
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    assert_int_equal(rig_status(r).stage, VQ_COORD_WAITING);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0); /* it may have asked the same there */
    finish(r, session, 7, (struct vq_fence){5, 1});
    assert_int_equal(r->finished, 1);
    assert_false(vq_coord_clean(r->c)); /* who stops here stops while that is out */
    struct vq_coord *before = r->c;
    r->params.stage = r->store.stage = 1;
    r->params.wait_ns = 0; /* all that is left of the start's own wait */
    struct vq_error err = {""};
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    assert_int_equal(vq_coord_hand_over(before, r->c, r->now_ns), VQ_OK);
    vq_coord_destroy(&before);
    assert_int_equal(rig_status(r).stage, VQ_COORD_WAITING);
    assert_int_equal(rig_status(r).wait_until_ns, r->now_ns + r->params.term_ns);
}

/* A stage does not wait for it for ever: it is counted as unknown, and goes on. */
TEST_WITH(a_call_that_the_end_of_a_stage_gave_up_is_out, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 0, true);
    struct vq_msg_hello hello = {.worker = rig_worker(1),
                                 .stamp_ns = r->now_ns,
                                 .name = vq_span_str("worker"),
                                 .spec = r->params.spec,
                                 .local = -1};
    uint64_t session = rig_hello_as(r, 7, hello);
    struct vq_held_call call = {.call = {{1}}, .task = 0};
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, &call, 1);
    finish(r, session, 7, (struct vq_fence){5, 1});
    for (int ms = 0; ms <= VQ_COORD_LINGER_TERMS * RIG_TERM && r->finished == 0;
         ms += RIG_HEARTBEAT) {
        rig_list(r, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
        rig_pass(r, RIG_HEARTBEAT);
    }
    assert_int_equal(r->finished, 1);
    assert_int_equal(sim_store_row(&r->store, &call.call)->end, VQ_END_UNKNOWN);
    assert_false(vq_coord_clean(r->c));
}

/* A call of an earlier stage goes on in this one: who stops meanwhile, or soon after it was listed,
 * leaves something out. */
TEST_WITH(calls_of_an_earlier_stage_are_out_too, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 1, true);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_held_call call = {.call = {{1}}, .task = 0, .stage = 0};
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, &call, 1);
    assert_false(vq_coord_clean(r->c));
    for (int ms = 0; ms < RIG_TERM; ms += RIG_HEARTBEAT) {
        assert_false(vq_coord_clean(r->c));
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 7, session, NULL);
    }
    assert_true(vq_coord_clean(r->c));
}

/* Other questions, of which nothing is known. */
static void of_the_next_stage(void *ctx, uint64_t task, uint32_t repeat, struct vq_hash *ret)
{
    rig_request_of(ctx, task, repeat, ret);
    ret->b[5] ^= 1;
}

/* The next stage, with what the one before still waits for. */
static void go_on(struct rig *r)
{
    struct vq_coord *before = r->c;
    r->params.stage = r->store.stage = 1;
    r->params.wait_ns = 0; /* all that is left of the start's own wait */
    r->store.request_of = of_the_next_stage;
    struct vq_error err = {""};
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    assert_int_equal(vq_coord_hand_over(before, r->c, r->now_ns), VQ_OK);
    vq_coord_destroy(&before);
    rig_pull(r);
}

/* Its list was on the way when the stage ended, and the next one begins much later. */
TEST_WITH(calls_of_a_later_stage_are_heard_between_two_stages, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 0, true);
    uint64_t session = rig_hello(r, 7, 1);
    finish(r, session, 7, (struct vq_fence){5, 1});
    assert_int_equal(r->finished, 1);
    struct vq_held_call call = {.call = {{1}}, .task = 0, .stage = 1};
    r->now_ns += r->params.heartbeat_ns;
    rig_list(r, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
    int64_t until_ns = r->now_ns + r->params.term_ns;
    assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_STAGE);
    assert_false(vq_coord_clean(r->c));
    r->now_ns += r->params.heartbeat_ns;
    go_on(r);
    assert_int_equal(rig_status(r).stage, VQ_COORD_WAITING);
    assert_int_equal(rig_status(r).wait_until_ns, until_ns);
}

/* The stage is over although a call of it is listed, and the next one is stopped before its worker
 * can say so again. */
TEST_WITH(calls_that_nobody_waits_for_any_more_are_out_too, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 0, true);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_held_call call = {.call = {{1}}, .task = 0};
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, &call, 1);
    finish(r, session, 7, (struct vq_fence){5, 1});
    for (int ms = 0; ms < 2 * VQ_COORD_LINGER_TERMS * RIG_TERM && r->finished == 0;
         ms += RIG_HEARTBEAT) {
        rig_pass(r, RIG_HEARTBEAT);
        if (r->finished == 0) {
            rig_list(r, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
        }
    }
    assert_int_equal(r->finished, 1);
    go_on(r);
    assert_false(vq_coord_clean(r->c));
    rig_pass(r, RIG_TERM / 2);
    rig_pass(r, RIG_TERM / 2);
    assert_true(vq_coord_clean(r->c));
}

/* Task 1 is leased; task 0 had failed and is asked again by hand, and that commit finds both
 * answered by another run: the stage is over, and the CANCEL on its way. */
TEST_WITH(a_lease_that_ended_with_its_stage_may_be_in_use, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 1, 1, 1);
    r->params.more = true;
    r->store.swap = VQ_SWAP_BOTH;
    struct vq_hash request;
    rig_request_of(NULL, 0, 0, &request);
    sim_map_put(&r->store.failures, &request, VQ_OUTCOME_ERROR);
    rig_start(r);
    (void)rig_join(r, 7, 1, 8);
    assert_int_equal(rig_lease(r, 0)->tasks[0], 1);
    r->hold_commits = true;
    uint64_t tasks;
    assert_int_equal(vq_coord_requeue(r->c, VQ_FAILURES_ALL, r->now_ns, &tasks), VQ_OK);
    rig_pull(r);
    assert_int_equal(r->batch->reopened_count, 1);
    rig_tried(r, 0, "Model: A");
    rig_tried(r, 1, "Model: A");
    r->hold_commits = false;
    rig_pull(r);
    assert_int_equal(rig_last(r, 7, VQ_MSG_CANCEL)->tasks[0], 1);
    assert_int_equal(rig_status(r).leased_shards, 0);
    assert_int_equal(r->finished, 1);
    go_on(r);
    assert_false(vq_coord_clean(r->c));
    rig_pass(r, RIG_TERM / 2);
    assert_false(vq_coord_clean(r->c));
    rig_pass(r, RIG_TERM / 2);
    assert_true(vq_coord_clean(r->c));
}

/* Its HELLO came between the stages, and its list does not come. How long nothing is leased to
 * another one, in milliseconds. */
static int64_t waits_for_a_list(struct rig *r, bool crashed)
{
    rig_end(r);
    rig_init(r, 1, 1, 1);
    r->params.more = true;
    r->params.wait_ns = crashed ? 1 : 0;
    r->store.swap = VQ_SWAP_BOTH;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    finish(r, session, 7, (struct vq_fence){4, 1});
    struct vq_msg hello = {.type = VQ_MSG_HELLO, .u.hello = {.worker = rig_worker(2)}};
    rig_tell(r, 8, &hello);
    rig_mark(r);
    go_on(r);
    session = rig_join(r, 7, 1, 8);
    int64_t from_ns = r->now_ns;
    while (rig_count(r, 7, VQ_MSG_LEASE) == 0 && r->now_ns < from_ns + rig_ms(3 * RIG_TERM)) {
        rig_pass(r, RIG_HEARTBEAT / 4);
        rig_beat(r, 7, session, NULL);
    }
    return (r->now_ns - from_ns) / rig_ms(1);
}

TEST_WITH(after_a_crash_a_list_is_waited_for_a_term, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    int64_t ms = waits_for_a_list(r, false);
    assert_true(ms >= RIG_HEARTBEAT / 2 && ms <= RIG_HEARTBEAT + RIG_HEARTBEAT / 2);
    ms = waits_for_a_list(r, true);
    assert_true(ms >= RIG_TERM - RIG_HEARTBEAT && ms <= RIG_TERM + RIG_HEARTBEAT);
}

/* Who breaks a rule before it has said what it holds is waited for no longer. */
TEST_WITH(a_list_that_does_not_come_from_a_deaf_one_is_not_waited_for, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 0, true);
    uint64_t session = rig_join(r, 7, 1, 8);
    finish(r, session, 7, (struct vq_fence){5, 1});
    struct vq_msg hello = {.type = VQ_MSG_HELLO, .u.hello = {.worker = rig_worker(2)}};
    rig_tell(r, 8, &hello);
    rig_mark(r);
    go_on(r);
    session = rig_join(r, 7, 1, 8);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    struct vq_msg wrong = {.type = VQ_MSG_LEASE};
    rig_tell(r, 8, &wrong);
    assert_int_equal(rig_last(r, 8, VQ_MSG_BYE)->code, VQ_BYE_PROTOCOL);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1);
}

/* Said again, the end of a process changes nothing. */
TEST_WITH(a_process_ends_once, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    begin(r, 0, true);
    uint64_t session = rig_join(r, 7, 1, 8);
    finish(r, session, 7, (struct vq_fence){5, 1});
    assert_int_equal(r->finished, 1);
    assert_true(vq_coord_clean(r->c));
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    assert_false(vq_coord_clean(r->c)); /* its calls may be at a provider yet */
    r->now_ns += r->params.term_ns / 2;
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    r->now_ns += r->params.term_ns / 2;
    assert_int_equal(vq_coord_tick(r->c, r->now_ns), VQ_OK);
    assert_true(vq_coord_clean(r->c));
}

/* The loop was busy for long, and nobody was heard meanwhile. */
static enum vq_coord_stage after_long_thought(struct rig *r, bool waits)
{
    rig_end(r);
    rig_init(r, 1, 1, 1);
    r->params.more = true;
    r->params.wait_ns = waits ? r->params.term_ns : 0;
    r->store.swap = VQ_SWAP_BOTH;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    finish(r, session, 7, (struct vq_fence){4, 1}); /* of an earlier start */
    assert_int_equal(r->finished, 1);
    r->now_ns += 5 * r->params.term_ns;
    struct vq_coord *before = r->c;
    struct vq_error err = {""};
    r->params.stage = r->store.stage = 1;
    r->params.wait_ns = 0;
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    assert_int_equal(vq_coord_hand_over(before, r->c, r->now_ns), VQ_OK);
    vq_coord_destroy(&before);
    return rig_status(r).stage;
}

TEST_WITH(long_thought_costs_a_wait_only_where_something_may_be_out, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    assert_int_equal(after_long_thought(r, false), VQ_COORD_RUNNING);
    assert_int_equal(after_long_thought(r, true), VQ_COORD_WAITING);
}

/* Two workers were there at the end of the stage; one has said HELLO since, the other's is still on
 * its way, a third is new. */
static void nothing_follows(struct rig *r, enum vq_bye_code code)
{
    begin(r, 0, true);
    uint64_t session = rig_join(r, 7, 1, 8);
    (void)rig_hello(r, 8, 2);
    finish(r, session, 7, (struct vq_fence){5, 1});
    assert_int_equal(r->finished, 1);
    assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_STAGE);
    struct vq_msg hello = {.type = VQ_MSG_HELLO, .u.hello = {.worker = rig_worker(1)}};
    rig_tell(r, 7, &hello);
    hello.u.hello.worker = rig_worker(3);
    rig_tell(r, 9, &hello);
    rig_mark(r);
    assert_int_equal(vq_coord_no_more(r->c, code, r->now_ns), VQ_OK);
    rig_pull(r);
    for (uint64_t peer = 7; peer <= 9; peer++) {
        assert_int_equal(rig_count(r, peer, VQ_MSG_BYE), 1);
        assert_int_equal(rig_last(r, peer, VQ_MSG_BYE)->code, code);
    }
    rig_tell(r, 10, &hello);
    assert_int_equal(rig_last(r, 10, VQ_MSG_BYE)->code, code);
}

TEST_WITH(nobody_waits_for_a_stage_that_does_not_come, rig_setup, rig_teardown)
{
    nothing_follows(*state, VQ_BYE_DONE);
    nothing_follows(*state, VQ_BYE_STOPPED);
}
