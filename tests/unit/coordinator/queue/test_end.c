/* The scout, the probe (rule 25), closed judges, the status, and every way a stage ends. */
#include "tests/unit/coordinator/queue/rig.h"

/* The store has every answer. */
static void all_stored(struct rig *r)
{
    for (uint64_t task = 0; task < vq_grid_tasks(&r->params.grid); task++) {
        rig_tried(r, task, task % 3 == 0 ? "Model: equal" : "Model: A");
    }
}

/* Answers everything that is leased to this worker, until nothing is left. */
static void answer_all(struct rig *r, uint64_t peer, uint64_t session)
{
    size_t at = 0;
    while (at < r->said_count) {
        struct rig_said lease = r->said[at++];
        if (lease.action != VQ_COORD_SEND || lease.type != VQ_MSG_LEASE || lease.peer != peer) {
            continue;
        }
        for (uint32_t i = 0; i < lease.count; i++) {
            if (vq_coord_outcome(r->c, lease.tasks[i]) == VQ_OUTCOME_NONE) {
                rig_say_answer(r, peer, session, &lease, lease.tasks[i], "Model: A");
            }
        }
    }
}

/* ---- the scout ---- */

TEST_WITH(a_run_whose_answers_are_all_stored_needs_no_worker, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    all_stored(r);
    rig_start(r);
    assert_int_equal(r->finished, 1);
    struct vq_coord_status s = rig_status(r);
    assert_int_equal(s.all.from_store, s.all.state[VQ_TASK_ANSWERED]);
    assert_int_equal(s.all.from_store + s.all.state[VQ_TASK_NOT_NEEDED], 16);
    assert_int_equal(rig_status(r).stage, VQ_COORD_DONE);
    assert_int_equal(r->settled_found, 16); /* told to the run state */
    for (uint64_t task = 0; task < 16; task++) {
        assert_int_equal(r->store.column[task], vq_coord_outcome(r->c, task));
        assert_int_not_equal(r->store.column[task], VQ_OUTCOME_NONE);
    }
}

TEST_WITH(the_scout_keeps_a_bounded_number_ready, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 500, 2, 1);
    r->params.ready_shards_max = 10;
    rig_start(r);
    assert_int_equal(rig_status(r).ready_shards, 10);
    assert_int_equal(r->lookups_asked, 10);
    assert_true(r->lookups_most <= VQ_COORD_LOOKUPS_MAX);
}

TEST_WITH(the_scout_asks_in_order_and_not_too_much_at_once, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 500, 2, 1);
    r->params.ready_shards_max = 400;
    r->hold_lookups = true;
    rig_start(r);
    assert_int_equal(r->lookups_count, VQ_COORD_LOOKUPS_MAX);
    for (size_t i = 0; i < r->lookups_count; i++) {
        assert_int_equal(r->lookups[i], i); /* the judges of a sample next to each other */
    }
    struct vq_known known[2] = {{.outcome = VQ_OUTCOME_EQUAL}, {.outcome = VQ_OUTCOME_NOT_NEEDED}};
    assert_int_equal(vq_coord_looked_up(r->c, 3, known, r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(r->lookups_count, VQ_COORD_LOOKUPS_MAX + 1);
}

#define WAY_SAMPLES_MAX 120

/* The samples in the order in which start number `no` looks them up. */
static void way_of(struct rig *r, uint64_t no, uint32_t samples, uint64_t *ret_way)
{
    rig_end(r);
    rig_init(r, samples, 1, 1);
    r->params.ready_shards_max = 1000;
    r->params.scout_no = no;
    r->hold_lookups = true;
    rig_start(r);
    uint32_t asked = 0, answered = 0;
    while (r->lookups_count > 0) { /* as many as may be out at a time, in their order */
        assert_true(asked + r->lookups_count <= samples);
        memcpy(ret_way + asked, r->lookups, r->lookups_count * sizeof(*ret_way));
        asked += (uint32_t)r->lookups_count;
        for (; answered < asked; answered++) {
            rig_look_up(r, ret_way[answered]);
        }
        rig_pull(r);
    }
    assert_int_equal(asked, samples);
}

TEST_WITH(the_scout_asks_each_sample_once_whatever_the_start, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    static const uint32_t counts[] = {1, 2, 3, 12, 97, WAY_SAMPLES_MAX};
    for (size_t n = 0; n < VQ_COUNT(counts); n++) {
        for (uint64_t no = 0; no < 10; no++) {
            uint64_t way[WAY_SAMPLES_MAX];
            bool seen[WAY_SAMPLES_MAX] = {false};
            way_of(r, no, counts[n], way);
            for (uint32_t i = 0; i < counts[n]; i++) {
                assert_true(way[i] < counts[n] && !seen[way[i]]);
                seen[way[i]] = true;
            }
        }
    }
}

/* What of `b` lies within `near` places of where the other one asks it. */
static uint32_t asked_about_together(const uint64_t *a, const uint64_t *b, uint32_t samples,
                                     uint32_t near)
{
    uint32_t together = 0;
    for (uint32_t i = 0; i < samples; i++) {
        for (uint32_t j = 0; j < samples; j++) {
            uint32_t apart = i < j ? j - i : i - j;
            together += a[i] == b[j] && apart <= near;
        }
    }
    return together;
}

/* The cores cannot see what another run has leased: neighbours must not lease the same at the same
 * time. */
TEST_WITH(starts_that_follow_each_other_do_not_walk_together, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    static const uint32_t counts[] = {30, 60, 97, 100, WAY_SAMPLES_MAX};
    for (size_t n = 0; n < VQ_COUNT(counts); n++) {
        uint64_t last[WAY_SAMPLES_MAX], way[WAY_SAMPLES_MAX];
        uint32_t near = counts[n] / 10;
        way_of(r, 1, counts[n], last);
        for (uint64_t no = 2; no < 70; no++) {
            way_of(r, no, counts[n], way);
            assert_in_range(asked_about_together(last, way, counts[n], near), 0, 2 * near + 2);
            memcpy(last, way, sizeof(way));
        }
    }
}

TEST_WITH(three_runs_begun_together_share_too, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    uint64_t first[100], third[100];
    for (uint64_t no = 1; no < 70; no++) {
        way_of(r, no, 100, first);
        way_of(r, no + 2, 100, third); /* in the same direction, from far away */
        assert_int_equal(asked_about_together(first, third, 100, 10), 0);
    }
}

TEST_WITH(what_was_looked_up_long_ago_is_looked_up_again, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 50, 1, 1);
    rig_start(r);
    assert_int_equal(rig_status(r).ready_shards, 50);
    rig_tried(r, 0, "Model: A"); /* another run buys these meanwhile */
    rig_tried(r, 1, "Model: B");
    rig_tried(r, 4, "Model: A");
    rig_pass(r, 1500);
    size_t asked = r->lookups_asked;
    (void)rig_join(r, 7, 1, 4);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 2);
    assert_int_equal(rig_lease(r, 0)->shard, 1); /* nothing is left of 0 */
    assert_int_equal(rig_lease(r, 1)->shard, 2);
    assert_int_equal(rig_lease(r, 1)->count, 1); /* whether the swapped order is needed shows */
    assert_int_equal(rig_lease(r, 1)->tasks[0], 5);
    assert_in_range(r->lookups_asked - asked, 3, 5); /* not all that is ready */
}

/* Else a run that waits for its answers wanders over the whole grid, and meets others
 * everywhere. */
TEST_WITH(what_comes_back_takes_its_old_place, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 40, 1, 1);
    rig_tried(r, 0, "Model: A"); /* the judge is known to answer */
    rig_tried(r, 1, "Model: B");
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 4);
    struct vq_msg bye = {.type = VQ_MSG_BYE, .u.bye = {session, VQ_BYE_LEAVING, {NULL, 0}}};
    r->hold_lookups = true;
    rig_tell(r, 7, &bye);
    assert_int_equal(r->lookups_count, 4);
    uint64_t back[4];
    memcpy(back, r->lookups, sizeof(back));
    for (size_t i = 0; i < VQ_COUNT(back); i++) {
        rig_look_up(r, back[i]);
    }
    (void)rig_join(r, 8, 1, 16);
    assert_int_equal(rig_count(r, 8, VQ_MSG_LEASE), 8);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(rig_lease(r, 4 + i)->shard, 1 + i);
    }
}

/* ---- rule 25 ---- */

TEST_WITH(an_untried_judge_gets_one_call, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    assert_int_equal(rig_count(r, 0, VQ_MSG_LEASE), 1);
    assert_int_equal(rig_lease(r, 0)->count, 1);
    (void)rig_join(r, 8, 2, 100);
    assert_int_equal(rig_count(r, 0, VQ_MSG_LEASE), 1);
    rig_mark(r);
    rig_probe(r, 7, session);
    assert_true(rig_count(r, 0, VQ_MSG_LEASE) >= 4); /* everything, now */
    struct vq_coord_judge_status judge;
    vq_coord_judge_fill(r->c, 0, r->now_ns, &judge);
    assert_true(judge.answered);
    assert_string_equal(judge.name, "ada");
}

TEST_WITH(a_stored_answer_is_as_good_as_a_probe, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_tried(r, 12, "Model: A");
    rig_start(r);
    (void)rig_join(r, 7, 1, 8);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 2);
}

TEST_WITH(a_judge_that_always_fails_is_tried_some_times, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    for (unsigned i = 0; i < VQ_COORD_PROBES_MAX; i++) {
        struct rig_said lease = *rig_last(r, 7, VQ_MSG_LEASE);
        assert_int_equal(lease.count, 1);
        struct vq_result result =
            rig_failure(r, &lease, lease.tasks[0], VQ_END_BAD_REQUEST, true, VQ_OUTCOME_ERROR);
        rig_results(r, 7, session, &result, 1);
    }
    assert_true(rig_last(r, 7, VQ_MSG_LEASE)->count > 1);
}

TEST_WITH(a_wrong_key_stops_the_run_after_one_call_and_fails_nothing, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_result closed =
        rig_failure(r, &lease, lease.tasks[0], VQ_END_CLOSED, false, VQ_OUTCOME_NONE);
    rig_results(r, 7, session, &closed, 1);
    struct vq_msg back = {
        .type = VQ_MSG_CANCEL,
        .u.cancel = {session, lease.shard, lease.fence, VQ_CANCEL_RETURNED, NULL, 0}};
    rig_mark(r);
    struct vq_msg bye = {.type = VQ_MSG_BYE, .u.bye = {session, VQ_BYE_LEAVING, {NULL, 0}}};
    rig_credit(r, 7, session, 0, 0, VQ_POOL_BAD_KEY);
    rig_tell(r, 7, &back);
    assert_int_equal(rig_count(r, 7, VQ_MSG_DRAIN), 1);
    rig_tell(r, 7, &bye);
    assert_int_equal(r->stopped, 1);
    assert_int_equal(r->stop_kind, VQ_COORD_STOP_POOL);
    assert_true(r->stop_clean);
    assert_non_null(strstr(r->stop_text, "ada"));
    assert_non_null(strstr(r->stop_text, "401 bad key"));
    assert_int_equal(rig_status(r).all.state[VQ_TASK_OPEN], 16);
}

TEST_WITH(local_workers_have_the_same_keys, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t bad = rig_join(r, 7, 1, 100);
    rig_credit(r, 7, bad, 0, 0, VQ_POOL_BAD_KEY);
    rig_mark(r);
    (void)rig_join(r, 8, 2, 100);
    assert_int_equal(rig_count(r, 8, VQ_MSG_LEASE), 0); /* a second probe would be refused too */
}

/* The same when nothing else is ready while the first one says so, and gives its probe back. */
TEST_WITH(a_refused_probe_goes_to_no_other_local_worker, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 1, 1, 1);
    rig_start(r);
    uint64_t bad = rig_join(r, 7, 1, 100);
    const struct rig_said lease = *rig_lease(r, 0);
    rig_credit(r, 7, bad, 0, 0, VQ_POOL_BAD_KEY);
    rig_mark(r);
    (void)rig_join(r, 8, 2, 100);
    assert_int_equal(rig_count(r, 0, VQ_MSG_DRAIN), 0); /* the probe is out */
    struct vq_msg cancel = {.type = VQ_MSG_CANCEL,
                            .u.cancel = {.session = bad,
                                         .shard = lease.shard,
                                         .fence = lease.fence,
                                         .reason = VQ_CANCEL_RETURNED}};
    rig_tell(r, 7, &cancel);
    assert_int_equal(rig_count(r, 0, VQ_MSG_LEASE), 0);
    assert_int_equal(r->stopped, 1);
    assert_int_equal(r->stop_kind, VQ_COORD_STOP_POOL);
    assert_non_null(strstr(r->stop_text, "401 bad key"));
}

TEST_WITH(another_worker_with_a_good_key_goes_on, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.remote = true;
    rig_start(r);
    uint64_t good = rig_join(r, 7, 1, 100);
    uint64_t bad = rig_join(r, 8, 2, 100);
    rig_credit(r, 8, bad, 0, 0, VQ_POOL_NO_MONEY);
    assert_int_equal(r->stopped, 0);
    rig_probe(r, 7, good);
    answer_all(r, 7, good);
    assert_int_equal(r->finished, 1);
}

TEST_WITH(the_other_judges_finish_first, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 3, 2, 1);
    rig_tried(r, 8, "Model: A"); /* both judges are past their probe */
    rig_tried(r, 10, "Model: A");
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    struct vq_credit credits[2] = {{.judge = 0, .state = VQ_POOL_NO_MONEY},
                                   {.judge = 1, .tasks = 100}};
    rig_credits(r, 7, session, credits, 2);
    assert_int_equal(r->stopped, 0);
    struct vq_coord_judge_status judge;
    vq_coord_judge_fill(r->c, 0, r->now_ns, &judge);
    assert_true(judge.closed);
    answer_all(r, 7, session);
    vq_coord_judge_fill(r->c, 1, r->now_ns, &judge);
    assert_int_equal(judge.counts.state[VQ_TASK_OPEN], 0);
    assert_int_equal(r->stopped, 1); /* now nothing else is left to do */
    assert_int_equal(r->stop_kind, VQ_COORD_STOP_POOL);
}

TEST_WITH(without_a_key_a_run_open_to_others_waits_and_a_local_one_stops, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.remote = true;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 0);
    rig_credit(r, 7, session, 0, 0, VQ_POOL_NO_KEY);
    assert_int_equal(r->stopped, 0);
    vq_coord_destroy(&r->c);
    r->params.remote = false;
    rig_start(r);
    session = rig_join(r, 7, 1, 0);
    rig_credit(r, 7, session, 0, 0, VQ_POOL_NO_KEY);
    assert_int_equal(r->stopped, 1);
}

TEST_WITH(a_closed_judge_whose_answers_are_stored_is_not_missed, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    all_stored(r);
    r->hold_lookups = true;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 0);
    rig_credit(r, 7, session, 0, 0, VQ_POOL_NO_KEY);
    assert_int_equal(r->stopped, 0);
    r->hold_lookups = false;
    rig_pull(r);
    assert_int_equal(r->finished, 1);
}

/* ---- the end ---- */

TEST_WITH(finished_once_and_everybody_is_told, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    answer_all(r, 7, session);
    assert_int_equal(r->finished, 1);
    assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_DONE);
    rig_mark(r);
    rig_pass(r, RIG_TERM);
    assert_int_equal(r->finished, 1);
    struct vq_msg hello = {.type = VQ_MSG_HELLO, .u.hello = {.worker = rig_worker(3)}};
    rig_tell(r, 9, &hello); /* who comes late hears it too */
    assert_int_equal(rig_last(r, 9, VQ_MSG_BYE)->code, VQ_BYE_DONE);
    assert_int_equal(vq_coord_wake_ns(r->c), INT64_MAX);
}

/* What comes from a dead worker's spool behind the end is committed before anybody goes on. */
TEST_WITH(a_commit_that_fails_behind_the_end_stops_the_run, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    answer_all(r, 7, session);
    assert_int_equal(r->finished, 1);
    r->hold_commits = true;
    struct rig_said lease = {.fence = {1, 1}};
    struct vq_result late = rig_failure(r, &lease, 1, VQ_END_UNKNOWN, false, VQ_OUTCOME_NONE);
    size_t taken;
    assert_int_equal(vq_coord_import(r->c, vq_span_str("dead"), &late, 1, r->now_ns, &taken),
                     VQ_OK);
    rig_pull(r);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(vq_coord_commit_failed(r->c, "the disk is full", r->now_ns), VQ_OK);
        rig_pull(r);
        assert_int_equal(r->stopped, 1);
    }
    assert_int_equal(r->stop_kind, VQ_COORD_STOP_STORE);
    assert_false(r->stop_clean);
}

/* A worker of elsewhere with a spool, which may hold answers: `local` is -1. */
static uint64_t join_from_elsewhere(struct rig *r, uint64_t peer, uint64_t n)
{
    struct vq_msg_hello hello = {.worker = rig_worker(n),
                                 .stamp_ns = r->now_ns,
                                 .name = vq_span_str("far"),
                                 .spec = r->params.spec,
                                 .local = -1,
                                 .has_spool = true};
    uint64_t session = rig_hello_as(r, peer, hello);
    rig_list(r, peer, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    return session;
}

/* Everything is answered by one worker, after the other went silent for a term. */
static uint64_t settled_without_the_far_one(struct rig *r)
{
    r->params.missed_ns = rig_ms(2000);
    rig_start(r);
    uint64_t far = join_from_elsewhere(r, 8, 2);
    rig_pass(r, RIG_TERM + 1);
    uint64_t session = rig_join(r, 7, 1, 100);
    answer_all(r, 7, session);
    return far;
}

TEST_WITH(who_went_silent_elsewhere_is_waited_for_but_not_forever, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    settled_without_the_far_one(r);
    assert_int_equal(r->finished, 0);
    rig_pass(r, 1999);
    assert_int_equal(r->finished, 0);
    rig_pass(r, 1);
    assert_int_equal(r->finished, 1);
}

TEST_WITH(who_comes_back_from_elsewhere_brings_what_it_holds, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    settled_without_the_far_one(r);
    rig_pass(r, 1000);
    struct rig_said lease = *rig_lease(r, 1);
    uint64_t again = join_from_elsewhere(r, 8, 2);
    struct vq_result late = rig_answer(r, &lease, lease.tasks[0], "Model: A");
    rig_results(r, 8, again, &late, 1);
    assert_int_equal(rig_last(r, 8, VQ_MSG_ACK)->count, 1);
    assert_int_equal(r->finished, 0);
    rig_credit(r, 8, again, 0, 0, VQ_POOL_OPEN); /* it has said all it had left */
    assert_int_equal(r->finished, 1);
}

TEST_WITH(nobody_of_this_machine_is_waited_for_at_the_end, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.missed_ns = rig_ms(2000);
    rig_start(r);
    (void)rig_join(r, 8, 2, 0); /* its spool is read as soon as it is gone */
    rig_pass(r, RIG_TERM + 1);
    uint64_t session = rig_join(r, 7, 1, 100);
    answer_all(r, 7, session);
    assert_int_equal(r->finished, 1);
}

TEST_WITH(a_stage_may_not_end_before_a_given_time, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    all_stored(r);
    r->params.finish_from_ns = r->now_ns + rig_ms(4000);
    rig_start(r);
    rig_pass(r, 3999);
    assert_int_equal(r->finished, 0);
    assert_int_equal(vq_coord_wake_ns(r->c), r->params.finish_from_ns);
    rig_pass(r, 1);
    assert_int_equal(r->finished, 1);
}

TEST_WITH(calls_that_are_still_out_are_waited_for_but_not_forever, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    all_stored(r);
    r->hold_lookups = true;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_held_call call = {rig_worker(77), 2};
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, &call, 1);
    r->hold_lookups = false;
    rig_pull(r);
    assert_int_equal(rig_status(r).all.state[VQ_TASK_OPEN], 0);
    assert_int_equal(r->finished, 0);
    for (int ms = 0; ms < VQ_COORD_LINGER_TERMS * RIG_TERM; ms += 500) {
        assert_int_equal(r->finished, 0);
        rig_pass(r, 500);
        rig_list(r, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
    }
    assert_int_equal(r->finished, 1);
}

TEST_WITH(a_drain_waits_for_what_is_in_flight, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    struct rig_said lease = *rig_lease(r, 0);
    assert_int_equal(vq_coord_drain(r->c, r->now_ns + rig_ms(60000), r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_DRAIN), 1);
    assert_int_equal(rig_status(r).stage, VQ_COORD_DRAINING);
    rig_pass(r, 1000);
    rig_beat(r, 7, session, &lease);
    assert_int_equal(rig_count(r, 7, VQ_MSG_DRAIN), 2); /* the first may be lost */
    assert_int_equal(r->stopped, 0);
    rig_mark(r);
    rig_say_answer(r, 7, session, &lease, lease.tasks[0], "Model: A");
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 1);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    assert_int_equal(r->stopped, 1);
    assert_int_equal(r->stop_kind, VQ_COORD_STOP_DRAINED);
    assert_true(r->stop_clean);
}

TEST_WITH(a_drain_has_a_deadline, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    (void)rig_join(r, 7, 1, 100);
    assert_int_equal(vq_coord_drain(r->c, r->now_ns + rig_ms(2000), r->now_ns), VQ_OK);
    rig_pull(r);
    rig_pass(r, 1999);
    assert_int_equal(r->stopped, 0);
    rig_pass(r, 1);
    assert_int_equal(r->stopped, 1);
    assert_false(r->stop_clean);
}

TEST_WITH(a_stop_before_the_wait_is_over_is_not_clean, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    r->params.wait_ns = r->params.term_ns;
    rig_start(r);
    assert_int_equal(vq_coord_drain(r->c, r->now_ns + rig_ms(9000), r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(r->stopped, 1);
    assert_false(r->stop_clean); /* workers may hold calls that nobody has listed yet */
}

/* Tasks 0 and 1 are leased; another run has answered 0, our worker answers 1, and its lease is
 * over: the CANCEL is on its way. */
static struct rig_said cut_short(struct rig *r, uint64_t session)
{
    struct rig_said lease = *rig_lease(r, 0);
    assert_int_equal(lease.count, 2);
    rig_tried(r, 0, "Model: B");
    rig_say_answer(r, 7, session, &lease, 1, "Model: A");
    assert_int_equal(rig_last(r, 7, VQ_MSG_CANCEL)->tasks[0], 0);
    assert_int_equal(rig_status(r).leased_shards, 0);
    return lease;
}

static uint64_t lease_of_two(struct rig *r)
{
    rig_end(r);
    rig_init(r, 2, 1, 1);
    r->store.swap = VQ_SWAP_BOTH;
    rig_tried(r, 2, "Model: A");
    rig_start(r);
    return rig_join(r, 7, 1, 2);
}

/* Its holder may be asking task 0, which no list has said yet, or begin to. */
TEST_WITH(a_stop_when_another_runs_answer_ended_a_lease_is_not_clean, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    uint64_t session = lease_of_two(r);
    assert_int_equal(vq_coord_drain(r->c, r->now_ns + rig_ms(60000), r->now_ns), VQ_OK);
    (void)cut_short(r, session);
    assert_int_equal(r->stopped, 1);
    assert_false(r->stop_clean);
}

TEST_WITH(it_is_when_a_term_has_passed_since_the_lease_was_listed, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    uint64_t session = lease_of_two(r);
    struct vq_msg drain = {.type = VQ_MSG_DRAIN, .u.drain = {session}};
    rig_tell(r, 7, &drain); /* it wants nothing more */
    struct rig_said lease = cut_short(r, session);
    assert_false(vq_coord_clean(r->c));
    rig_pass(r, RIG_HEARTBEAT);
    rig_beat(
        r, 7, session,
        &lease); /* the CANCEL was lost; so may be the next, and the echo renews what it lists */
    for (int ms = 0; ms < RIG_TERM; ms += RIG_HEARTBEAT) {
        assert_false(vq_coord_clean(r->c));
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 7, session, NULL);
    }
    assert_true(vq_coord_clean(r->c));
}

/* Worker 1 has sent a call and ended; worker 2 finds that in its spool, before anybody has missed
 * worker 1. */
TEST_WITH(what_a_spool_knows_as_sent_may_be_in_flight_for_a_term, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    struct vq_held_call call = {rig_worker(77), 1};
    uint64_t ended = rig_hello(r, 7, 1);
    rig_list(r, 7, ended, VQ_MSG_HELD, NULL, 0, &call, 1);
    rig_pass(r, RIG_HEARTBEAT);
    uint64_t session = rig_join(r, 8, 2, 0);
    struct rig_said lease = {.fence = {1, 1}};
    struct vq_result sent = rig_failure(r, &lease, 1, VQ_END_UNKNOWN, false, VQ_OUTCOME_NONE);
    sent.call = call.call;
    rig_results(r, 8, session, &sent, 1);
    assert_int_equal(rig_last(r, 8, VQ_MSG_ACK)->count, 1);
    for (int ms = 0; ms < 2 * RIG_TERM; ms += RIG_HEARTBEAT) { /* worker 1 is missed meanwhile */
        assert_true(ms >= RIG_TERM || !vq_coord_clean(r->c));
        rig_pass(r, RIG_HEARTBEAT);
        rig_beat(r, 8, session, NULL);
    }
    assert_true(vq_coord_clean(r->c));
}

TEST_WITH(stop_now_commits_what_was_received, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    struct rig_said lease = *rig_lease(r, 0);
    r->hold_commits = true;
    rig_say_answer(r, 7, session, &lease, lease.tasks[0], "Model: A");
    assert_int_equal(vq_coord_stop(r->c, r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(r->stopped, 0);
    struct vq_result late = rig_answer(r, &lease, lease.tasks[0], "Model: A");
    rig_results(r, 7, session, &late, 1); /* from now on its worker keeps them */
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(r->stopped, 1);
    assert_int_equal(r->stop_kind, VQ_COORD_STOP_NOW);
    assert_int_equal(rig_status(r).all.calls, 1);
    assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_STOPPED);
}

/* ---- the status ---- */

TEST_WITH(counts_and_rates, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    rig_tried(r, 12, "Model: A");
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    struct vq_coord_status s = rig_status(r);
    assert_int_equal(s.tasks, 16);
    assert_int_equal(s.all.state[VQ_TASK_LEASED], 8);
    assert_int_equal(s.all.state[VQ_TASK_OPEN], 7);
    assert_int_equal(s.all.state[VQ_TASK_ANSWERED], 1);
    assert_int_equal(s.leased_shards, 2);
    struct vq_coord_worker_status worker;
    assert_true(vq_coord_worker_fill(r->c, 0, &worker));
    assert_int_equal(worker.tasks_held, 8);
    assert_int_equal(worker.leases, 2);
    struct rig_said lease = *rig_lease(r, 0);
    rig_say_answer(r, 7, session, &lease, 0, "Model: equal");
    rig_pass(r, 10000);
    s = rig_status(r);
    assert_true(s.calls_per_s > 0.09 && s.calls_per_s < 0.11); /* 1 in 10 s */
    assert_true(s.settled_per_s > 0.19 &&
                s.settled_per_s < 0.21); /* with 1 not needed, without the stored one */
    assert_int_equal(s.settled_lately, 2);
    rig_pass(r, 120000);
    assert_true(rig_status(r).calls_per_s == 0);
    assert_int_equal(vq_coord_moves(r->c)[VQ_TASK_LEASED][VQ_TASK_ON_NOT_NEED], 1);
}

TEST_WITH(bad_parameters_are_named, rig_setup, rig_teardown)
{
    struct rig *r = *state;
    struct vq_error err = {""};
    rig_authority(r);
    struct vq_coord_params p = r->params;
    p.grid.vibes = 0;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "no tasks"));
    p = r->params;
    p.term_ns = 2 * p.heartbeat_ns;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "heartbeats"));
    p = r->params;
    p.grid.samples = UINT32_MAX;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_LIMIT);
    p = r->params;
    p.grid.samples = 0;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_INVALID);
    p = r->params;
    p.grid.judges = 0;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_INVALID);
    p = r->params;
    p.grid.judges = VQ_COORD_JUDGES_MAX + 1;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_LIMIT);
    p = r->params;
    p.grid.vibes = VQ_COORD_VIBES_MAX + 1;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_LIMIT);
    assert_non_null(strstr(err.text, "4097 vibes"));
    p = r->params;
    p.heartbeat_ns = 0;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_INVALID);
    p = r->params;
    p.authority = NULL;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "authority"));
    const uint32_t missing = 1;
    struct vq_coord_judge judge = {.name = "ada", .pools = &missing};
    p = r->params;
    p.judges = &judge;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_INVALID);
    judge.pools_count = VQ_COORD_POOLS_MAX + 1;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "it needs 1 to 256"));
    judge.pools_count = 1;
    assert_int_equal(vq_coord_create(&p, 1, &r->c, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "does not exist"));
    assert_null(r->c);
}
