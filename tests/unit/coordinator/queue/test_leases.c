/* Leases: rules 1, 2, 3, 4, 5, 6 and 25, and what goes into one. */
#include "tests/unit/coordinator/queue/rig.h"

/* ---- what is in a lease ---- */

TEST_WITH(whole_shards_in_order_with_the_second_order_lazy, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->first[1] = 1;
    r->audited[1] = 1; /* sample 0, vibe 1 */
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    (void)session;
    const struct rig_said *one = rig_lease(r, 0);
    assert_int_equal(one->shard, 0);
    assert_int_equal(one->count, 4);
    const uint64_t tasks[] = {0, 1, 2, 3};
    const bool lazy[] = {false, true, false, false}; /* vibe 1 is audited: both orders are asked */
    assert_memory_equal(one->tasks, tasks, sizeof(tasks));
    assert_memory_equal(one->lazy, lazy, sizeof(lazy));
    const struct rig_said *two = rig_lease(r, 1);
    assert_int_equal(two->shard, 1);
    const uint64_t turned[] = {5, 4, 7, 6}; /* order 1 comes first here */
    assert_memory_equal(two->tasks, turned, sizeof(turned));
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 2);
    assert_int_equal(rig_count(r, 7, VQ_MSG_SAMPLE), 2);
    assert_int_equal(two->fence.epoch, 5);
    assert_true(two->fence.n > one->fence.n);
}

TEST_WITH(a_second_order_waits_where_the_first_one_goes_into_a_batch, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->audited[1] = 1; /* sample 0, vibe 1 */
    r->judges[0].seconds_wait = true;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    struct rig_said one = *rig_lease(r, 0);
    const uint64_t tasks[] = {0, 2, 3}; /* vibe 1 is audited: both orders are asked at once */
    assert_int_equal(one.count, 3);
    assert_memory_equal(one.tasks, tasks, sizeof(tasks));
    rig_mark(r);
    rig_say_answer(r, 7, session, &one, 0, "Model: A");
    for (uint32_t i = 2; i <= 3; i++) {
        rig_say_answer(r, 7, session, &one, i, "Model: A");
    }
    const struct rig_said *then = rig_leased(r, 0); /* not settled: its turn has come */
    assert_non_null(then);
    assert_int_equal(then->count, 1);
    assert_int_equal(then->tasks[0], 1);
    assert_false(then->lazy[0]);
}

TEST_WITH(a_second_order_that_waited_is_not_asked_after_an_equal, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->judges[0].seconds_wait = true;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said one = *rig_lease(r, 0);
    assert_int_equal(one.count, 2);
    rig_say_answer(r, 7, session, &one, 0, "Model: tie");
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_NOT_NEEDED);
}

TEST_WITH(both_orders_are_asked_without_lazy_swap, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->store.swap = VQ_SWAP_BOTH;
    rig_start(r);
    (void)rig_join(r, 7, 1, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_false(rig_lease(r, 0)->lazy[i]);
    }
}

TEST_WITH(only_a_worker_that_serves_the_judge_gets_it, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->params.remote = true; /* others may come: the run does not stop for want of a key */
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 0);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    rig_credit(r, 7, session, 0, 8, VQ_POOL_NO_KEY);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    rig_credit(r, 7, session, 0, 8, VQ_POOL_OPEN);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 2);
}

TEST_WITH(no_more_than_the_credit_is_held, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 7);
    struct rig_said one = *rig_lease(r, 0);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1); /* the next fits not, half is in use */
    rig_mark(r);
    rig_say_answer(r, 7, session, &one, 0, "Model: A");
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1);
    assert_int_equal(rig_lease(r, 0)->count, 4);
}

TEST_WITH(no_more_is_leased_than_a_batch_has_room_for, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->params.commit_results_max = 8;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 2);
    struct rig_said one = *rig_lease(r, 0);
    r->hold_commits = true;
    rig_mark(r);
    rig_say_answer(r, 7, session, &one, 0,
                   "Model: equal"); /* in flight: its batch is another one */
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1);
    rig_say_answer(r, 7, session, &one, 2, "Model: equal"); /* gathers */
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1);
}

TEST_WITH(a_small_credit_gets_a_part, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 3);
    struct rig_said one = *rig_lease(r, 0);
    assert_int_equal(one.count, 3); /* both orders of vibe 0, and the first of vibe 1 */
    assert_true(one.lazy[1]);
    assert_int_equal(one.tasks[2], 2);
    rig_credit(r, 7, session, 0, 0, VQ_POOL_OPEN);
    rig_say_answer(r, 7, session, &one, 0, "Model: equal"); /* skips task 1 */
    rig_say_answer(r, 7, session, &one, 2, "Model: A");
    rig_mark(r);
    rig_credit(r, 7, session, 0, 3, VQ_POOL_OPEN);
    const struct rig_said *rest = rig_lease(r, 0);
    assert_int_equal(rest->shard, 0);
    assert_int_equal(rest->count, 1);
    assert_int_equal(rest->tasks[0], 3);
    assert_false(rest->lazy[0]); /* the first order's answer is known: it is needed */
}

TEST_WITH(two_judges_of_a_sample_go_to_the_worker_that_has_it, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 6, 2, 1);
    r->hold_lookups = true;
    rig_start(r);
    rig_look_up(r, 0); /* sample 0, judge 0: probes of both judges */
    rig_look_up(r, 1);
    uint64_t sessions[2];
    for (uint64_t w = 0; w < 2; w++) {
        sessions[w] = rig_hello(r, 7 + w, w);
        rig_list(r, 7 + w, sessions[w], VQ_MSG_HELD, NULL, 0, NULL, 0);
    }
    for (uint64_t w = 0; w < 2; w++) {
        struct vq_credit credits[2] = {{.judge = 0, .tasks = 2}, {.judge = 1, .tasks = 2}};
        rig_credits(r, 7 + w, sessions[w], credits, 2);
    }
    assert_int_equal(rig_lease(r, 0)->peer, rig_lease(r, 1)->peer);
    assert_int_equal(rig_count(r, 0, VQ_MSG_SAMPLE), 1); /* its texts cross once */
}

TEST_WITH(several_workers_take_turns, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->hold_lookups = true;
    rig_start(r);
    (void)rig_join(r, 7, 1, 8);
    (void)rig_join(r, 8, 2, 8);
    r->hold_lookups = false;
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 2);
    assert_int_equal(rig_count(r, 8, VQ_MSG_LEASE), 2);
}

TEST_WITH(a_stored_answer_that_wants_its_repair_goes_along, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_tried(r, 0, "it was a dark and stormy night");
    rig_start(r);
    (void)rig_join(r, 7, 1, 4);
    assert_int_equal(rig_lease(r, 0)->prior[0], strlen("it was a dark and stormy night"));
    assert_int_equal(rig_lease(r, 0)->prior[1], 0);
}

TEST_WITH(what_the_store_has_is_never_leased, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_tried(r, 0, "Model: equal");
    rig_tried(r, 2, "Model: A");
    rig_start(r);
    (void)rig_join(r, 7, 1, 4);
    assert_int_equal(rig_lease(r, 0)->count, 1);
    assert_int_equal(rig_lease(r, 0)->tasks[0], 3);
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_NOT_NEEDED);
}

/* ---- between two actions ---- */

/* A worker wants work; the core is asked for its actions up to the SAMPLE that goes before its
 * LEASE. The session. */
static uint64_t about_to_lease(struct rig *r)
{
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    struct vq_credit credit = {.judge = 0, .tasks = 4};
    struct vq_msg msg = {.type = VQ_MSG_CREDIT,
                         .u.credit = {.session = session, .credits = &credit, .credits_count = 1}};
    assert_int_equal(vq_coord_message(r->c, 7, &msg, r->now_ns), VQ_OK);
    struct vq_coord_action action = {.type = VQ_COORD_NOTE};
    while (action.type != VQ_COORD_SAMPLE) {
        assert_true(vq_coord_next(r->c, r->now_ns, &action));
    }
    rig_mark(r);
    return session;
}

TEST_WITH(a_lease_that_ended_before_it_was_said_is_not_said, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    uint64_t session = about_to_lease(r);
    struct vq_msg beat = {
        .type = VQ_MSG_HEARTBEAT,
        .u.held = {.session = session, .stamp_ns = r->now_ns + 2 * r->params.term_ns}};
    assert_int_equal(vq_coord_message(r->c, 7, &beat, r->now_ns), VQ_OK); /* it has had no lease */
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1);
    assert_int_equal(rig_lease(r, 0)->fence.n, 2); /* the first one never went out */
    assert_int_equal(rig_lease(r, 0)->count, 4);
}

/* A worker guesses the fence of the lease that is on its way to it: what it answers counts, and is
 * not asked. */
TEST_WITH(what_was_answered_before_it_was_leased_is_not_asked, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    uint64_t session = about_to_lease(r);
    r->hold_commits = true;
    struct rig_said lease = {.fence = {5, 1}};
    struct vq_result results[4];
    for (uint32_t i = 0; i < 4; i++) {
        results[i] = rig_answer(r, &lease, i, "Model: A");
    }
    struct vq_msg msg = {.type = VQ_MSG_RESULTS, .u.results = {session, results, 4}};
    assert_int_equal(vq_coord_message(r->c, 7, &msg, r->now_ns), VQ_OK);
    rig_pull(r);
    for (unsigned i = 0; i < rig_count(r, 7, VQ_MSG_LEASE); i++) {
        assert_int_not_equal(rig_lease(r, i)->shard, 0);
    }
    rig_commit(r);
    r->hold_commits = false;
    rig_pull(r);
    assert_int_equal(vq_coord_outcome(r->c, 3), VQ_OUTCOME_FIRST);
}

/* The first order of a vibe was answered before its LEASE was said: the second goes out as one that
 * is surely asked, or not at all. */
TEST_WITH(a_second_order_is_lazy_only_beside_its_first, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    uint64_t session = about_to_lease(r);
    r->hold_commits = true;
    struct rig_said lease = {.fence = {5, 1}};
    struct vq_result result = rig_answer(r, &lease, 0, "Model: A");
    struct vq_msg msg = {.type = VQ_MSG_RESULTS, .u.results = {session, &result, 1}};
    assert_int_equal(vq_coord_message(r->c, 7, &msg, r->now_ns), VQ_OK);
    rig_pull(r);
    const struct rig_said *said = rig_lease(r, 0);
    assert_int_equal(said->count, 3);
    assert_int_equal(said->tasks[0], 1);
    assert_false(said->lazy[0]);
    assert_int_equal(said->tasks[2], 3);
    assert_true(said->lazy[2]);
}

/* ---- rule 2: terms ---- */

TEST_WITH(a_lease_the_worker_never_lists_ends_after_a_term_of_its_clock, rig_setup_tried,
          rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 1, 1, 2);
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    for (int ms = 0; ms < RIG_TERM - RIG_HEARTBEAT; ms += RIG_HEARTBEAT) {
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 7, session, NULL);
        assert_int_equal(rig_status(r).leased_shards, 1);
    }
    rig_mark(r);
    rig_pass(r, RIG_HEARTBEAT);
    rig_beat(r, 7, session, NULL);
    const struct rig_said *again = rig_lease(r, 0); /* the LEASE was lost: it goes out again */
    assert_int_equal(again->shard, lease.shard);
    assert_true(again->fence.n > lease.fence.n);
    assert_int_equal(rig_status(r).leases_lost, 0); /* it spoke: not lost with its worker */
    assert_int_equal(rig_count(r, 7, VQ_MSG_SAMPLE), 1);
}

TEST_WITH(a_listed_lease_lives_on, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    rig_mark(r);
    for (int i = 0; i < 20; i++) {
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 7, session, &lease);
    }
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    assert_int_equal(rig_status(r).leased_shards, 1);
}

TEST_WITH(a_silent_worker_gets_nothing_new, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->hold_lookups = true;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    rig_pass(r, VQ_COORD_FRESH_HEARTBEATS * RIG_HEARTBEAT + 500);
    r->hold_lookups = false;
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    rig_beat(r, 7, session, NULL);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 2);
}

/* ---- rule 3: late answers ---- */

TEST_WITH(a_late_answer_settles_and_the_holder_is_told, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    (void)rig_join(r, 7, 1, 4);
    struct rig_said old = *rig_lease(r, 0);
    rig_pass(r, RIG_TERM); /* silence: the lease is lost */
    rig_mark(r);
    uint64_t other = rig_join(r, 8, 2, 4);
    struct rig_said now = *rig_lease(r, 0);
    assert_int_equal(now.shard, old.shard);
    uint64_t back = rig_hello(r, 9, 1);
    rig_mark(r);
    rig_say_answer(r, 9, back, &old, 0, "Model: equal");
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_EQUAL);
    assert_int_equal(rig_status(r).late, 1);
    assert_int_equal(rig_count(r, 9, VQ_MSG_ACK), 1);
    assert_int_equal(rig_count(r, 8, VQ_MSG_CANCEL),
                     2); /* task 0, and task 1 that is not needed now */
    const struct rig_said *cancel = rig_last(r, 8, VQ_MSG_CANCEL);
    assert_int_equal(cancel->code, VQ_CANCEL_SETTLED);
    assert_int_equal(cancel->count, 1);
    assert_true(vq_fence_eq(cancel->fence, now.fence));
    /* the holder's own, later answer is paid and unused */
    rig_say_answer(r, 8, other, &now, 0, "Model: A");
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_EQUAL);
    assert_int_equal(rig_count(r, 8, VQ_MSG_ACK), 1);
}

TEST_WITH(a_lost_cancel_is_said_again, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    (void)rig_join(r, 7, 1, 4);
    struct rig_said old = *rig_lease(r, 0);
    rig_pass(r, RIG_TERM);
    rig_mark(r);
    uint64_t other = rig_join(r, 8, 2, 4);
    struct rig_said now = *rig_lease(r, 0);
    uint64_t back = rig_hello(r, 9, 1);
    rig_say_answer(r, 9, back, &old, 0, "Model: equal");
    for (int ms = 0; ms < 2 * RIG_TERM; ms += RIG_HEARTBEAT) { /* each may be lost */
        rig_pass(r, RIG_HEARTBEAT);
        rig_mark(r);
        rig_beat(r, 8, other, &now);
        assert_int_equal(rig_count(r, 8, VQ_MSG_CANCEL), 2);
        assert_int_equal(rig_last(r, 8, VQ_MSG_CANCEL)->code, VQ_CANCEL_SETTLED);
        assert_true(vq_fence_eq(rig_last(r, 8, VQ_MSG_CANCEL)->fence, now.fence));
    }
    struct vq_msg give = {.type = VQ_MSG_CANCEL,
                          .u.cancel = {other, now.shard, now.fence, VQ_CANCEL_RETURNED, NULL, 0}};
    rig_mark(r);
    rig_tell(r, 8, &give);
    rig_pull(r);
    struct rig_said next = *rig_lease(r, 0);
    assert_int_equal(next.shard, now.shard);
    rig_mark(r);
    rig_beat(r, 8, other, &next); /* it has none of what was settled */
    assert_int_equal(rig_count(r, 8, VQ_MSG_CANCEL), 0);
}

/* ---- rule 4: waiting one term ---- */

TEST_WITH(after_a_crash_nothing_is_leased_for_a_term, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->params.wait_ns = r->params.term_ns;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    assert_int_equal(rig_status(r).stage, VQ_COORD_WAITING);
    for (int ms = 0; ms + 500 < RIG_TERM; ms += 500) {
        rig_pass(r, 500);
        rig_beat(r, 7, session, NULL);
        assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    }
    rig_pass(r, 500);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 2);
    assert_int_equal(rig_status(r).stage, VQ_COORD_RUNNING);
}

TEST_WITH(a_pause_of_our_own_loop_waits_a_term, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    r->now_ns += rig_ms(RIG_HEARTBEAT) + 1; /* no tick in between */
    (void)rig_join(r, 7, 1, 8);
    assert_int_equal(rig_status(r).pauses, 1);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    assert_int_equal(rig_status(r).stage, VQ_COORD_WAITING);
}

TEST_WITH(the_wait_is_for_leases_only, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->params.wait_ns = r->params.term_ns;
    rig_tried(r, 0, "Model: A");
    rig_start(r);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_FIRST); /* looked up all the same */
    uint64_t session = rig_hello(r, 7, 1);
    struct rig_said old = {.fence = {4, 9}};
    rig_say_answer(r, 7, session, &old, 2, "Model: B"); /* and answers are taken */
    assert_int_equal(vq_coord_outcome(r->c, 2), VQ_OUTCOME_SECOND);
}

/* ---- rule 5: reservations ---- */

TEST_WITH(a_listed_call_reserves_its_task, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_held_call call = {rig_worker(77), 2};
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, &call, 1);
    rig_credit(r, 7, session, 0, 4, VQ_POOL_OPEN);
    const struct rig_said *lease = rig_lease(r, 0);
    assert_int_equal(lease->count, 2); /* not task 2, and not task 3, whose first order it is */
    assert_int_equal(lease->tasks[1], 1);
    assert_int_equal(rig_status(r).calls_reserved, 1);
}

TEST_WITH(a_reservation_ends_a_term_after_the_last_listing, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_held_call call = {rig_worker(77), 0};
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, &call, 1);
    for (int i = 0; i < 12; i++) { /* listed: it stays */
        rig_pass(r, RIG_HEARTBEAT);
        rig_list(r, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
    }
    assert_int_equal(rig_status(r).calls_reserved, 1);
    for (int i = 0; i < RIG_TERM / RIG_HEARTBEAT; i++) { /* not listed any more */
        assert_int_equal(rig_status(r).calls_reserved, 1);
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 7, session, NULL);
    }
    rig_pass(r, RIG_HEARTBEAT);
    assert_int_equal(rig_status(r).calls_reserved, 0);
}

TEST_WITH(a_reservation_waits_while_its_worker_speaks_and_does_not_list, rig_setup_tried,
          rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_held_call call = {rig_worker(77), 0};
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, &call, 1);
    for (int i = 0; i < 9; i++) { /* heartbeats are lost, other messages come */
        rig_pass(r, RIG_HEARTBEAT);
        rig_credit(r, 7, session, 0, 0, VQ_POOL_OPEN);
    }
    assert_int_equal(rig_status(r).calls_reserved, 1);
}

TEST_WITH(a_stale_lease_holds_its_tasks_back, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_held_lease stale = {0, {4, 1}};
    rig_list(r, 7, session, VQ_MSG_HELD, &stale, 1, NULL, 0);
    rig_credit(r, 7, session, 0, 4, VQ_POOL_OPEN);
    assert_int_equal(rig_lease(r, 0)->shard, 1); /* a call of shard 0 may have started meanwhile */
    assert_int_equal(rig_status(r).calls_reserved, 4);
    assert_int_equal(rig_status(r).held_back, 4); /* none of them is known to be out */
    rig_pass(r, RIG_TERM);
    assert_int_equal(rig_status(r).held_back, 0);
}

TEST_WITH(returned_tasks_are_free_and_calls_in_flight_are_not, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_held_call call = {rig_worker(77), 0};
    struct vq_held_lease held = {lease.shard, lease.fence};
    rig_list(r, 7, session, VQ_MSG_HEARTBEAT, &held, 1, &call, 1);
    struct vq_msg drain = {.type = VQ_MSG_DRAIN, .u.drain.session = session};
    rig_tell(r, 7, &drain);
    const uint64_t tasks[] = {1, 2, 3};
    struct vq_msg msg = {.type = VQ_MSG_CANCEL,
                         .u.cancel = {session, 0, lease.fence, VQ_CANCEL_RETURNED, tasks, 3}};
    rig_tell(r, 7, &msg);
    rig_mark(r);
    assert_int_equal(rig_status(r).leased_shards, 1); /* task 0 is still coming */
    (void)rig_join(r, 8, 2, 100);
    for (unsigned i = 0; i < rig_count(r, 8, VQ_MSG_LEASE); i++) {
        assert_int_not_equal(rig_lease(r, i)->shard, 0);
    }
    rig_mark(r);
    rig_say_answer(r, 7, session, &lease, 0, "Model: A");
    const struct rig_said *rest = rig_lease(r, 0);
    assert_int_equal(rest->peer, 8); /* the first worker is leaving */
    assert_int_equal(rest->count, 3);
    assert_int_equal(rig_count(r, 8, VQ_MSG_SAMPLE), 1);
}

TEST_WITH(a_lease_given_back_whole_comes_again_with_its_sample, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    rig_mark(r);
    struct vq_msg msg = {
        .type = VQ_MSG_CANCEL,
        .u.cancel = {session, lease.shard, lease.fence, VQ_CANCEL_RETURNED, NULL, 0}};
    rig_tell(r, 7, &msg);
    assert_int_equal(rig_count(r, 7, VQ_MSG_SAMPLE), 1);
    assert_int_equal(rig_lease(r, 0)->count, 4);
}

/* The same worker, session and shard; only the fence tells the lease that it gave back from the one
 * that it has. */
static void give_back(struct rig *r, uint64_t session, const struct rig_said *lease)
{
    struct vq_msg msg = {
        .type = VQ_MSG_CANCEL,
        .u.cancel = {session, lease->shard, lease->fence, VQ_CANCEL_RETURNED, NULL, 0}};
    rig_mark(r);
    rig_tell(r, 7, &msg);
}

TEST_WITH(an_earlier_lease_of_a_shard_is_not_its_lease, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said before = *rig_lease(r, 0);
    struct rig_said now = before;
    do { /* others go first, and back */
        give_back(r, session, &now);
        now = *rig_lease(r, 0);
    } while (now.shard != before.shard);
    assert_true(now.fence.n > before.fence.n);
    give_back(r, session, &before); /* it comes twice, and late */
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    rig_say_answer(r, 7, session, &before, 0, "Model: A");
    assert_int_equal(rig_status(r).late, 1);
    struct vq_held_lease held[] = {{now.shard, now.fence}, {before.shard, before.fence}};
    rig_mark(r);
    rig_list(r, 7, session, VQ_MSG_HEARTBEAT, held, 2, NULL, 0);
    const struct rig_said *cancel = rig_last(r, 7, VQ_MSG_CANCEL);
    assert_int_equal(cancel->code, VQ_CANCEL_STALE);
    assert_int_equal(cancel->fence.n, before.fence.n);
    assert_int_equal(rig_status(r).leased_shards, 1);
}

/* ---- rule 6: leases lost with their worker ---- */

/* The worker says that a call of its lease's first task is out. */
static void call_first(struct rig *r, uint64_t peer, uint64_t session)
{
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_held_lease held = {lease.shard, lease.fence};
    struct vq_held_call call = {rig_worker(1000 + session), lease.tasks[0]};
    rig_list(r, peer, session, VQ_MSG_HEARTBEAT, &held, 1, &call, 1);
}

static void lose(struct rig *r, uint64_t n, bool called)
{
    uint64_t session = rig_join(r, 100 + n, n, 4);
    if (called) {
        call_first(r, 100 + n, session);
    }
    assert_int_equal(vq_coord_local_ended(r->c, (int64_t)n, r->now_ns), VQ_OK);
    rig_pull(r);
}

TEST_WITH(what_only_waited_at_its_worker_is_not_lost, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    for (uint64_t n = 1; n <= 6; n++) {
        rig_mark(r);
        lose(r, n, false);
        assert_int_equal(rig_lease(r, 0)->count, 4);
    }
    assert_int_equal(rig_status(r).leases_lost, 0);
}

TEST_WITH(after_three_losses_task_by_task_then_worker_lost, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    for (uint64_t n = 1; n <= 3; n++) {
        rig_mark(r);
        lose(r, n, true);
        assert_int_equal(rig_lease(r, 0)->shard, 0);
        assert_int_equal(rig_lease(r, 0)->count, 4);
    }
    rig_mark(r);
    lose(r, 4, true);
    assert_int_equal(rig_lease(r, 0)->count, 1);
    assert_int_equal(rig_lease(r, 0)->tasks[0], 0);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_WORKER_LOST);
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_NONE);
    rig_mark(r);
    uint64_t session = rig_join(r, 7, 9, 4);
    struct rig_said lease = *rig_lease(r, 0);
    assert_int_equal(lease.shard, 0);
    assert_int_equal(lease.count, 1);
    assert_int_equal(lease.tasks[0], 1); /* a failed first order does not settle */
    rig_say_answer(r, 7, session, &lease, 1, "Model: A");
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_FIRST);
}

TEST_WITH(silence_for_a_term_is_a_loss_and_an_answered_lease_is_none, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    call_first(r, 7, rig_join(r, 7, 1, 4));
    rig_pass(r, RIG_TERM - 1);
    assert_int_equal(rig_status(r).leased_shards, 1);
    rig_pass(r, 1);
    assert_int_equal(rig_status(r).sessions, 0);
    assert_int_equal(rig_status(r).leases_lost, 1);
    r->hold_commits = true;
    rig_mark(r);
    uint64_t session = rig_join(r, 8, 2, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_result results[2] = {rig_answer(r, &lease, 0, "Model: equal"),
                                   rig_answer(r, &lease, 2, "Model: equal")};
    rig_credit(r, 8, session, 0, 0, VQ_POOL_OPEN);
    rig_results(r, 8, session, results, 2); /* everything is in, nothing is committed */
    assert_int_equal(vq_coord_local_ended(r->c, 2, r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(rig_status(r).leases_lost, 1);
}

TEST_WITH(a_worker_that_ended_reserves_nothing, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_held_call call = {rig_worker(77), 0};
    struct vq_held_lease held = {lease.shard, lease.fence};
    rig_list(r, 7, session, VQ_MSG_HEARTBEAT, &held, 1, &call, 1);
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(rig_status(r).calls_reserved, 0);
    rig_mark(r);
    (void)rig_join(r, 8, 2, 4);
    assert_int_equal(rig_lease(r, 0)->count, 4);
}

/* ---- rule 10: what never comes back ---- */

static enum vq_call_end ended(const struct rig *r, const struct vq_id *call)
{
    const struct sim_ledger_row *row = sim_store_row(&r->store, call);
    return row == NULL ? VQ_END__COUNT : (enum vq_call_end)row->end;
}

TEST_WITH(a_call_that_never_comes_back_is_unknown, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_held_lease held = {lease.shard, lease.fence};
    struct vq_held_call call = {rig_call(r), lease.tasks[0]};
    rig_list(r, 7, session, VQ_MSG_HEARTBEAT, &held, 1, &call, 1);
    rig_pass(r, RIG_TERM - 1);
    assert_int_equal(ended(r, &call.call), VQ_END__COUNT);
    rig_pass(r, 1);
    assert_int_equal(ended(r, &call.call), VQ_END_UNKNOWN);
    assert_int_equal(rig_status(r).calls_reserved, 0);
    assert_int_equal(rig_status(r).all.ends[VQ_END_UNKNOWN], 1);
    /* it was only slow: the answer counts, and is ACKed */
    struct vq_result late = rig_answer(r, &lease, lease.tasks[0], "Model: A");
    late.call = call.call;
    session = rig_hello(r, 8, 1);
    rig_mark(r);
    rig_results(r, 8, session, &late, 1);
    assert_int_equal(ended(r, &call.call), VQ_END_ANSWER);
    assert_int_equal(vq_coord_outcome(r->c, lease.tasks[0]), VQ_OUTCOME_FIRST);
    assert_int_equal(rig_count(r, 8, VQ_MSG_ACK), 1);
}

TEST_WITH(an_answer_that_overtakes_its_unknown_is_kept, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_held_lease held = {lease.shard, lease.fence};
    struct vq_held_call call = {rig_call(r), lease.tasks[0]};
    rig_list(r, 7, session, VQ_MSG_HEARTBEAT, &held, 1, &call, 1);
    r->hold_commits = true;
    rig_pass(r, RIG_TERM);
    assert_non_null(r->batch);
    session = rig_hello(r, 8, 1);
    rig_mark(r);
    struct vq_result late = rig_answer(r, &lease, lease.tasks[0], "Model: A");
    late.call = call.call;
    rig_results(r, 8, session, &late, 1);
    rig_commit(r);
    assert_int_equal(ended(r, &call.call), VQ_END_UNKNOWN);
    rig_pull(r);
    assert_int_equal(rig_count(r, 8, VQ_MSG_ACK), 0); /* the answer itself is not durable yet */
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(ended(r, &call.call), VQ_END_ANSWER);
    assert_int_equal(rig_count(r, 8, VQ_MSG_ACK), 1);
    assert_int_equal(rig_status(r).calls_reserved, 0);
}

TEST_WITH(calls_are_named_before_they_are_made, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_held_call call = {rig_call(r), lease.tasks[0]};
    struct vq_msg msg = {.type = VQ_MSG_HELD, .u.held = {session, 0, NULL, 0, &call, 1}};
    rig_tell(r, 7, &msg);
    assert_int_equal(rig_status(r).calls_reserved, 1);
    assert_int_equal(rig_status(r).leased_shards, 1); /* it says nothing of leases */
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(ended(r, &call.call), VQ_END_UNKNOWN);
}
