/* Commits: rules 3, 13 and 14, what a commit settles, what gathers meanwhile, imports of dead
 * workers' spools. */
#include "common/base/index.h"
#include "tests/unit/coordinator/queue/rig.h"

TEST_WITH(nothing_is_acked_or_counted_before_its_commit, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    uint64_t answered = rig_status(r).all.state[VQ_TASK_ANSWERED];
    r->hold_commits = true;
    rig_say_answer(r, 7, session, &lease, 0, "Model: A");
    assert_non_null(r->batch);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 0);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_NONE);
    assert_int_equal(rig_status(r).all.state[VQ_TASK_ANSWERED], answered);
    assert_int_equal(rig_status(r).received, 1);
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 1);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_FIRST);
    assert_int_equal(rig_status(r).all.state[VQ_TASK_ANSWERED], answered + 1);
    assert_int_equal(rig_status(r).all.calls, 1);
    assert_int_equal(rig_status(r).tokens_in, 10);
}

TEST_WITH(one_commit_in_flight_and_the_rest_gathers, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    struct rig_said one = *rig_lease(r, 0);
    struct rig_said two = *rig_lease(r, 1);
    r->hold_commits = true;
    rig_say_answer(r, 7, session, &one, 0, "Model: A");
    const struct vq_batch *first = r->batch;
    uint64_t no = first->no;
    assert_int_equal(first->results_count, 1);
    rig_say_answer(r, 7, session, &one, 2, "Model: B");
    rig_say_answer(r, 7, session, &two, 4, "Model: B");
    assert_ptr_equal(r->batch, first); /* rig_act fails on a second COMMIT */
    assert_int_equal(first->results_count, 1);
    assert_memory_equal(first->results[0].answer.at, "Model: A", 8);
    assert_int_equal(first->workers[0].bytes, strlen("worker"));
    rig_commit(r);
    rig_pull(r);
    assert_non_null(r->batch);
    assert_int_equal(r->batch->no, no + 1);
    assert_int_equal(r->batch->results_count, 2);
}

TEST_WITH(a_call_is_taken_once, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    r->hold_commits = true;
    struct vq_result result = rig_answer(r, &lease, 0, "Model: A");
    rig_results(r, 7, session, &result, 1);
    rig_results(r, 7, session, &result, 1); /* gathers or in flight */
    assert_int_equal(rig_status(r).received, 1);
    assert_int_equal(rig_status(r).repeated, 1);
    rig_commit(r);
    rig_pull(r);
    assert_null(r->batch);
    rig_mark(r);
    rig_results(r, 7, session, &result, 1); /* committed: its ACK was lost */
    assert_null(r->batch);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 1);
    struct vq_held_call call = {result.call, 0};
    rig_list(r, 7, session, VQ_MSG_HEARTBEAT, NULL, 0, &call, 1);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 2);
    assert_int_equal(rig_status(r).calls_reserved, 0);
}

TEST_WITH(the_ack_goes_to_the_session_that_brought_it_last, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    r->hold_commits = true;
    struct vq_result result = rig_answer(r, &lease, 0, "Model: A");
    rig_results(r, 7, session, &result, 1);
    rig_pass(r, 1);
    uint64_t again = rig_hello(r, 8, 1);
    rig_results(r, 8, again, &result, 1);
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 0);
    assert_int_equal(rig_count(r, 8, VQ_MSG_ACK), 1);
}

TEST_WITH(a_received_task_is_not_leased_before_its_commit, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    r->hold_commits = true;
    rig_say_answer(r, 7, session, &lease, 0, "Model: A");
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    rig_pull(r);
    rig_mark(r);
    (void)rig_join(r, 8, 2, 100);
    for (unsigned i = 0; i < rig_count(r, 8, VQ_MSG_LEASE); i++) {
        for (uint32_t n = 0; n < rig_lease(r, i)->count; n++) {
            assert_int_not_equal(rig_lease(r, i)->tasks[n], 0);
            assert_int_not_equal(rig_lease(r, i)->tasks[n], 1); /* nor the order it decides about */
        }
    }
}

/* Three results of worker 7's lease, where there is room for two: that of `last` is dropped. The
 * session. */
static uint64_t one_too_many(struct rig *r, uint32_t last, struct rig_said *ret_lease,
                             struct vq_result ret_results[3])
{
    r->params.commit_results_max = 2;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 8);
    *ret_lease = *rig_lease(r, 0);
    r->hold_commits = true;
    rig_say_answer(r, 7, session, ret_lease, 0, "Model: equal");
    ret_results[0] = rig_answer(r, ret_lease, 2, "Model: A");
    ret_results[1] = rig_answer(r, ret_lease, 3, "Model: A");
    ret_results[2] = rig_answer(r, ret_lease, last, "Model: A");
    rig_results(r, 7, session, ret_results, 3);
    assert_int_equal(rig_status(r).dropped_full, 1);
    return session;
}

TEST_WITH(what_finds_no_room_is_dropped_and_comes_again, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said one;
    struct vq_result results[3];
    uint64_t session = one_too_many(r, 1, &one, results);
    assert_int_equal(rig_status(r).received, 3);
    r->hold_commits = false;
    rig_commit(r);
    rig_pull(r);
    rig_results(r, 7, session, results, 3);
    assert_int_equal(rig_status(r).all.calls, 4);
}

/* Its worker gives the task back before it can say the result again: the answer is on its way all
 * the same. */
TEST_WITH(what_found_no_room_is_nobody_elses_meanwhile, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    struct rig_said one;
    struct vq_result results[3];
    uint64_t session = one_too_many(r, 4, &one, results);
    struct vq_msg cancel = {.type = VQ_MSG_CANCEL,
                            .u.cancel = {.session = session,
                                         .stage = r->params.stage,
                                         .shard = one.shard,
                                         .fence = one.fence,
                                         .reason = VQ_CANCEL_RETURNED}};
    rig_mark(r);
    assert_int_equal(vq_coord_message(r->c, 7, &cancel, r->now_ns), VQ_OK);
    r->hold_commits = false;
    rig_commit(r);
    rig_pull(r);
    assert_true(rig_count(r, 0, VQ_MSG_LEASE) > 0);
    for (unsigned i = 0; i < rig_count(r, 0, VQ_MSG_LEASE); i++) {
        for (uint32_t n = 0; n < rig_lease(r, i)->count; n++) {
            assert_int_not_equal(rig_lease(r, i)->tasks[n], 4);
        }
    }
}

TEST_WITH(no_more_is_leased_than_there_is_room_for, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->params.commit_results_max = 2;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 100);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1); /* its 4 tasks are room enough */
    struct rig_said one = *rig_lease(r, 0);
    rig_mark(r);
    rig_say_answer(r, 7, session, &one, 0, "Model: A");
    rig_say_answer(r, 7, session, &one, 1, "Model: A");
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0); /* 2 out */
    r->hold_commits = true;
    rig_say_answer(r, 7, session, &one, 2, "Model: A");
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1); /* 1 out, the other is being committed */
    assert_int_equal(rig_status(r).dropped_full, 0);
}

TEST_WITH(the_store_decides_which_answer_stands, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    rig_tried(r, 0, "Model: equal"); /* another run bought it meanwhile */
    rig_mark(r);
    rig_say_answer(r, 7, session, &lease, 0, "Model: A");
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_EQUAL);
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_NOT_NEEDED);
    /* the worker goes by its own answer and would ask the swapped order: it is told */
    assert_int_equal(rig_last(r, 7, VQ_MSG_CANCEL)->tasks[0], 1);
}

TEST_WITH(a_swapped_order_that_was_skipped_but_is_needed_is_open_again, rig_setup_tried,
          rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    rig_tried(r, 0, "Model: B");
    rig_credit(r, 7, session, 0, 0, VQ_POOL_OPEN);
    rig_say_answer(r, 7, session, &lease, 0, "Model: equal"); /* its worker skips task 1 */
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_SECOND);
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_NONE);
    rig_say_answer(r, 7, session, &lease, 2, "Model: equal");
    rig_mark(r);
    rig_credit(r, 7, session, 0, 4, VQ_POOL_OPEN);
    assert_int_equal(rig_lease(r, 0)->count, 1);
    assert_int_equal(rig_lease(r, 0)->tasks[0], 1);
    assert_false(rig_lease(r, 0)->lazy[0]);
}

static struct vq_result repair_of(struct rig *r, const struct rig_said *lease, const char *text,
                                  const char *says)
{
    struct vq_result repair = rig_answer(r, lease, lease->tasks[0], says);
    repair.kind = VQ_CALL_REPAIR;
    repair.repaired = repair.request;
    rig_repair_of(NULL, repair.task, &repair.repaired, vq_span_str(text), &repair.request);
    return repair;
}

TEST_WITH(an_unparseable_answer_is_repaired_under_a_lease_of_its_own, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    static const char dark[] = "it was a dark and stormy night";
    rig_end(r);
    rig_init(r, 1, 1, 1);
    r->params.repairs = true;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    rig_say_answer(r, 7, session, rig_lease(r, 0), 0, dark);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_NONE);
    struct rig_said lease = *rig_last(r, 7, VQ_MSG_LEASE);
    assert_int_equal(lease.tasks[0], 0);
    assert_int_equal(lease.prior[0], sizeof(dark) - 1);
    struct vq_result repair = repair_of(r, &lease, dark, "Model: B");
    rig_results(r, 7, session, &repair, 1);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_SECOND);
    assert_int_equal(rig_status(r).all.calls, 2);
}

/* Each of `rows` rows got the same text without a verdict. */
static void start_with_equal_texts(struct rig *r, uint32_t rows)
{
    rig_end(r);
    rig_init(r, rows, 1, 1);
    r->params.repairs = true;
    r->store.swap = VQ_SWAP_NONE;
    for (uint64_t row = 0; row < rows; row++) {
        rig_tried(r, 2 * row, "who can tell");
    }
    rig_start(r);
}

/* One repair is asked; the others take its answer from the store. */
TEST_WITH(equal_texts_are_repaired_once, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    start_with_equal_texts(r, 4);
    uint64_t session = rig_join(r, 7, 1, 4);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_result repair = repair_of(r, &lease, "who can tell", "Model: A");
    rig_results(r, 7, session, &repair, 1);
    for (uint64_t task = 0; task < 8; task += 2) {
        assert_int_equal(vq_coord_outcome(r->c, task), VQ_OUTCOME_FIRST);
    }
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1);
    assert_int_equal(rig_status(r).all.calls, 1);
    assert_int_equal(rig_status(r).all.from_store, 3);
}

/* The worker of the one repair goes: another row asks it then. */
TEST_WITH(a_repair_that_is_lost_is_asked_for_the_next_row, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    start_with_equal_texts(r, 3);
    (void)rig_join(r, 7, 1, 4);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1);
    for (int i = 0; i <= 2 * RIG_TERM / RIG_HEARTBEAT; i++) {
        rig_pass(r, RIG_HEARTBEAT);
    }
    uint64_t session = rig_join(r, 8, 2, 4);
    assert_int_equal(rig_count(r, 8, VQ_MSG_LEASE), 1);
    struct rig_said lease = *rig_last(r, 8, VQ_MSG_LEASE);
    struct vq_result repair = repair_of(r, &lease, "who can tell", "Model: A");
    rig_results(r, 8, session, &repair, 1);
    for (uint64_t task = 0; task < 6; task += 2) {
        assert_int_equal(vq_coord_outcome(r->c, task), VQ_OUTCOME_FIRST);
    }
}

TEST_WITH(a_final_failure_settles_and_the_swapped_order_is_asked, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_result retry = rig_failure(r, &lease, 0, VQ_END_PROVIDER, false, VQ_OUTCOME_NONE);
    rig_results(r, 7, session, &retry, 1);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_NONE);
    struct vq_result last =
        rig_failure(r, &lease, 0, VQ_END_PROVIDER, true, VQ_OUTCOME_UNAVAILABLE);
    rig_results(r, 7, session, &last, 1);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_UNAVAILABLE);
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_NONE);
    assert_int_equal(rig_status(r).all.ends[VQ_END_PROVIDER], 2);
    rig_say_answer(r, 7, session, &lease, 1, "Model: A"); /* under the same lease */
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_FIRST);
}

TEST_WITH(a_look_up_that_a_commit_overtook_is_asked_again, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->hold_lookups = true;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct vq_known before[4] = {0};
    sim_store_known(&r->store, 0, before); /* read from the store before the commit ... */
    struct rig_said old = {.fence = {4, 1}};
    rig_say_answer(r, 7, session, &old, 0, "it was a dark and stormy night");
    size_t asked = r->lookups_asked;
    rig_look_up_as(r, 0, before); /* ... told after it */
    rig_pull(r);
    assert_int_equal(r->lookups_asked, asked + 1);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    rig_look_up(r, 0);
    rig_pull(r);
    assert_true(rig_lease(r, 0)->prior[0] > 0); /* what was bought is repaired, not bought again */
}

TEST_WITH(a_look_up_told_late_does_not_undo_a_commit, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_tried(r, 1, "Model: B"); /* the swapped order is stored, the first is not */
    r->hold_lookups = true;
    r->hold_commits = true;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    struct vq_known before[4] = {0};
    sim_store_known(&r->store, 0, before);
    struct rig_said old = {.fence = {4, 1}};
    rig_say_answer(r, 7, session, &old, 0, "Model: equal"); /* its commit is in flight */
    rig_look_up_as(r, 0, before);
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_SECOND);
    r->hold_commits = r->hold_lookups = false;
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_NOT_NEEDED);
    assert_int_equal(r->store.column[1], VQ_OUTCOME_NOT_NEEDED);
}

/* The same the other way around: between a commit and the report of it another run answers the
 * first order, and a look-up says so. */
TEST_WITH(a_commit_told_late_does_not_undo_a_look_up, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->hold_lookups = true;
    r->hold_commits = true;
    rig_start(r);
    uint64_t session = rig_hello(r, 7, 1);
    struct rig_said old = {.fence = {4, 1}};
    rig_say_answer(r, 7, session, &old, 1, "Model: B");
    const struct vq_batch *batch = r->batch;
    assert_non_null(batch);
    r->batch = NULL;
    sim_store_commit_lmdb(&r->store, batch);
    sim_store_commit_redis(&r->store, batch);
    struct vq_settled *settled;
    size_t count = sim_store_settled(&r->store, batch, &settled);
    rig_tried(r, 0, "Model: equal");
    rig_look_up(r, 0);
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_NOT_NEEDED);
    assert_int_equal(vq_coord_committed(r->c, batch->no, settled, count, r->now_ns), VQ_OK);
    vq_free(settled);
    r->hold_commits = r->hold_lookups = false;
    rig_pull(r);
    assert_int_equal(vq_coord_outcome(r->c, 1), VQ_OUTCOME_NOT_NEEDED);
    assert_int_equal(r->store.column[1], VQ_OUTCOME_NOT_NEEDED); /* by the batch after it */
}

TEST_WITH(the_store_away_pauses_the_leases, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 0);
    assert_int_equal(vq_coord_commit_paused(r->c, true, r->now_ns), VQ_OK);
    rig_credit(r, 7, session, 0, 4, VQ_POOL_OPEN);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 0);
    assert_int_equal(rig_status(r).stage, VQ_COORD_PAUSED);
    assert_int_equal(vq_coord_commit_paused(r->c, false, r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(rig_count(r, 7, VQ_MSG_LEASE), 1);
}

TEST_WITH(a_commit_that_cannot_be_stops_the_run, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    r->hold_commits = true;
    rig_say_answer(r, 7, session, &lease, 0, "Model: A");
    assert_int_equal(vq_coord_commit_failed(r->c, "the disk is full", r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(r->stopped, 1);
    assert_int_equal(r->stop_kind, VQ_COORD_STOP_STORE);
    assert_false(r->stop_clean);
    assert_string_equal(r->stop_text, "the disk is full");
    assert_int_equal(rig_count(r, 7, VQ_MSG_ACK), 0);
    assert_int_equal(rig_last(r, 7, VQ_MSG_BYE)->code, VQ_BYE_STOPPED);
}

TEST_WITH(what_the_store_contradicts_is_a_bug, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    r->hold_commits = true;
    rig_say_answer(r, 7, session, &lease, 0, "Model: A");
    assert_int_equal(vq_coord_committed(r->c, r->batch->no + 1, NULL, 0, r->now_ns), VQ_BUG);
    struct vq_settled settled = {16, VQ_OUTCOME_FIRST}; /* no such task */
    assert_int_equal(vq_coord_committed(r->c, r->batch->no, &settled, 1, r->now_ns), VQ_BUG);
    settled = (struct vq_settled){12, VQ_OUTCOME_ERROR}; /* it is answered */
    assert_int_equal(vq_coord_committed(r->c, r->batch->no, &settled, 1, r->now_ns), VQ_BUG);
    struct vq_known known[4] = {0};
    assert_int_equal(vq_coord_looked_up(r->c, 0, known, r->now_ns), VQ_BUG); /* nobody asked */
}

TEST_WITH(what_nobody_asked_for_is_a_bug, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    const size_t first = 0;
    rig_start(r);
    const struct vq_known known[4] = {{0}};
    assert_int_equal(vq_coord_looked_up(r->c, 999, known, r->now_ns), VQ_BUG);
    assert_int_equal(vq_coord_looked_up(r->c, 0, known, r->now_ns), VQ_BUG); /* it was answered */
    assert_int_equal(vq_coord_committed(r->c, 1, NULL, 0, r->now_ns), VQ_BUG);
    assert_int_equal(vq_coord_repeated(r->c, 1, &first, 1), VQ_BUG);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    r->hold_commits = true;
    rig_say_answer(r, 7, session, &lease, 0, "Model: A");
    uint64_t no = r->batch->no;
    assert_int_equal(vq_coord_committed(r->c, no + 1, NULL, 0, r->now_ns), VQ_BUG);
    assert_int_equal(vq_coord_repeated(r->c, no + 1, &first, 1), VQ_BUG);
    assert_int_equal(vq_coord_repeated(r->c, no, &first, 1), VQ_OK);
    assert_int_equal(vq_coord_repeated(r->c, no, &first, 1), VQ_OK); /* said again */
    rig_commit(r);
    assert_int_equal(rig_status(r).all.calls, 1);
}

/* Calls whose ids fall together in the table are two. */
TEST_WITH(call_ids_that_fall_together_are_two_calls, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    uint64_t one[2] = {1, 2}, two[2] = {0, 3};
    two[0] = one[0] ^ vq_index_mix(one[1]) ^ vq_index_mix(two[1]);
    struct vq_result results[2] = {rig_answer(r, &lease, 0, "Model: A"),
                                   rig_answer(r, &lease, 2, "Model: B")};
    memcpy(results[0].call.b, one, sizeof(one));
    memcpy(results[1].call.b, two, sizeof(two));
    r->hold_commits = true;
    rig_results(r, 7, session, results, 2);
    assert_int_equal(r->batch->results_count, 2);
    rig_results(r, 7, session, results, 2);
    assert_int_equal(rig_status(r).repeated, 2);
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(rig_last(r, 7, VQ_MSG_ACK)->count, 2);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_FIRST);
    assert_int_equal(vq_coord_outcome(r->c, 2), VQ_OUTCOME_SECOND);
}

/* It was given up, and while that is being committed its worker names it as a call of another task:
 * it is known already. */
TEST_WITH(a_call_that_was_given_up_keeps_its_task, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->params.remote = true;
    rig_start(r);
    struct vq_msg_hello hello = {
        .worker = rig_worker(1), .stamp_ns = 1, .spec = r->params.spec, .local = -1};
    uint64_t session = rig_hello_as(r, 7, hello);
    struct vq_held_call call = {.call = {{0xca, 1}}, .task = 6};
    rig_list(r, 7, session, VQ_MSG_HELD, NULL, 0, &call, 1);
    r->hold_commits = true;
    rig_pass(r, 2 * RIG_TERM);
    assert_int_equal(rig_status(r).sessions, 0);
    assert_int_equal(r->batch->results_count, 1);
    assert_int_equal(r->batch->results[0].end, VQ_END_UNKNOWN);
    session = rig_join(r, 8, 1, 0);
    struct rig_said old = {.fence = {5, 1}};
    struct vq_result result = rig_answer(r, &old, 4, "Model: A");
    result.call = call.call;
    rig_results(r, 8, session, &result, 1);
    assert_int_equal(rig_status(r).repeated, 1);
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(vq_coord_outcome(r->c, 4), VQ_OUTCOME_NONE);
    r->hold_commits = false;
    rig_results(r, 8, session, &result, 1); /* what was given up is not remembered: now it counts */
    assert_int_equal(vq_coord_outcome(r->c, 4), VQ_OUTCOME_FIRST);
}

TEST_WITH(a_commit_that_fails_after_the_end_is_no_news, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    assert_int_equal(vq_coord_stop(r->c, r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(r->stopped, 1);
    assert_int_equal(vq_coord_commit_failed(r->c, "no room", r->now_ns), VQ_OK);
    rig_pull(r);
    assert_int_equal(r->stopped, 1);
    assert_int_equal(r->stop_kind, VQ_COORD_STOP_NOW);
}

TEST_WITH(answers_of_other_questions_stop_the_run, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 30, 1, 1);
    rig_tried(r, 59, "Model: A");
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 2);
    for (unsigned i = 0; i < VQ_COORD_UNSETTLED_MAX; i++) {
        assert_int_equal(r->stopped, 0);
        struct rig_said lease = *rig_last(r, 7, VQ_MSG_LEASE);
        struct vq_result results[2] = {rig_answer(r, &lease, lease.tasks[0], "Model: equal"),
                                       rig_answer(r, &lease, lease.tasks[0], "Model: equal")};
        results[0].request.b[20] = 1; /* another template, another version */
        rig_results(r, 7, session, results, 1);
    }
    struct vq_msg bye = {.type = VQ_MSG_BYE, .u.bye = {session, VQ_BYE_LEAVING, {NULL, 0}}};
    rig_tell(r, 7, &bye);
    rig_pass(r, 2 * RIG_TERM);
    assert_int_equal(r->stopped, 1);
    assert_int_equal(r->stop_kind, VQ_COORD_STOP_ANSWERS);
}

/* Every task of a judge, `repeat_max` times more than once: at once and not after a term, and
 * nothing stops. */
static void fails_each_time(struct rig *r, uint32_t repeat_max, bool fails)
{
    rig_end(r);
    rig_init(r, 2 * VQ_COORD_UNSETTLED_MAX, 1, 1);
    r->params.repeat_max = repeat_max;
    r->store.swap = VQ_SWAP_NONE;
    r->store.repair = false;
    r->store.repeat_max = repeat_max;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 1);
    unsigned asked[SIM_REPEATS_MAX] = {0};
    for (unsigned n = 0; n < (repeat_max + 1) * 2 * VQ_COORD_UNSETTLED_MAX; n++) {
        assert_int_equal(r->stopped, 0);
        struct rig_said lease = *rig_last(r, 7, VQ_MSG_LEASE);
        assert_true(lease.repeat[0] <= repeat_max);
        asked[lease.repeat[0]]++;
        struct vq_result result = fails ? rig_failure(r, &lease, lease.tasks[0], VQ_END_BAD_REQUEST,
                                                      true, VQ_OUTCOME_ERROR)
                                        : rig_answer(r, &lease, lease.tasks[0], "No idea");
        rig_request_of(NULL, lease.tasks[0], lease.repeat[0], &result.request);
        result.repeat = lease.repeat[0];
        rig_results(r, 7, session, &result, 1);
    }
    for (uint32_t repeat = 0; repeat <= repeat_max; repeat++) {
        assert_int_equal(asked[repeat], 2 * VQ_COORD_UNSETTLED_MAX);
    }
    for (uint64_t t = 0; t < vq_grid_tasks(&r->params.grid); t += 2) {
        assert_int_equal(vq_coord_outcome(r->c, t),
                         fails ? VQ_OUTCOME_ERROR : VQ_OUTCOME_UNPARSEABLE);
    }
}

TEST_WITH(what_cannot_be_read_is_put_once_more, rig_setup_tried, rig_teardown)
{
    fails_each_time(*state, 1, false);
    fails_each_time(*state, 3, false);
}

TEST_WITH(what_fails_is_put_once_more, rig_setup_tried, rig_teardown)
{
    fails_each_time(*state, 1, true);
    fails_each_time(*state, 3, true);
}

static struct vq_result unreadable_repair(struct rig *r, const struct rig_said *lease)
{
    struct vq_result repair = rig_answer(r, lease, lease->tasks[0], "No idea");
    rig_request_of(NULL, lease->tasks[0], lease->repeat[0], &repair.repaired);
    repair.repeat = lease->repeat[0];
    repair.kind = VQ_CALL_REPAIR;
    repair.final = true;
    rig_repair_of(NULL, repair.task, &repair.repaired, repair.answer, &repair.request);
    return repair;
}

/* A repair that cannot be read has its question put once more. */
TEST_WITH(a_repair_of_a_kept_answer_is_put_once_more, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_end(r);
    rig_init(r, 1, 1, 1);
    r->params.repeat_max = 1;
    r->store.swap = VQ_SWAP_NONE;
    r->store.repeat_max = 1;
    rig_tried(r, 0, "It was a dark night");
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 1);
    struct rig_said lease = *rig_last(r, 7, VQ_MSG_LEASE);
    assert_true(lease.prior[0] > 0);
    struct vq_result repair = unreadable_repair(r, &lease);
    rig_mark(r);
    rig_results(r, 7, session, &repair, 1);
    assert_int_equal(rig_lease(r, 0)->tasks[0], lease.tasks[0]); /* at once */
    assert_int_equal(rig_lease(r, 0)->repeat[0], 1);
}

/* ---- rule 21: imports ---- */

TEST_WITH(a_dead_workers_answers_are_taken_before_its_tasks_are_leased_again, rig_setup_tried,
          rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    (void)rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_result results[2] = {rig_answer(r, &lease, 0, "Model: equal"),
                                   rig_failure(r, &lease, 2, VQ_END_UNKNOWN, false, 0)};
    results[0].final = false; /* a spool does not know */
    size_t taken;
    assert_int_equal(vq_coord_imported_no(r->c), 0);
    assert_int_equal(vq_coord_import(r->c, vq_span_str("dead"), results, 2, r->now_ns, &taken),
                     VQ_OK);
    assert_int_equal(taken, 2);
    assert_int_equal(vq_coord_local_ended(r->c, 1, r->now_ns), VQ_OK);
    r->hold_commits = true;
    rig_pull(r);
    assert_int_equal(r->batch->no, vq_coord_imported_no(r->c));
    assert_memory_equal(r->batch->workers[1].at, "dead", 4);
    r->hold_commits = false;
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(vq_coord_outcome(r->c, 0), VQ_OUTCOME_EQUAL);
    assert_int_equal(rig_status(r).all.ends[VQ_END_UNKNOWN], 1);
    rig_mark(r);
    (void)rig_join(r, 8, 2, 4);
    assert_int_equal(rig_lease(r, 0)->count, 2); /* the unknown call may be asked again */
    assert_int_equal(rig_lease(r, 0)->tasks[0], 2);
}

/* A worker that died between its ACKs and noting them: nothing new is in its spool, and no batch
 * comes of it. */
TEST_WITH(an_import_of_what_is_known_waits_for_nothing, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    rig_start(r);
    uint64_t session = rig_join(r, 7, 1, 4);
    struct rig_said lease = *rig_lease(r, 0);
    struct vq_result result = rig_answer(r, &lease, 0, "Model: equal");
    size_t taken;
    r->hold_commits = true;
    rig_results(r, 7, session, &result, 1);
    uint64_t no = r->batch->no;
    assert_int_equal(vq_coord_import(r->c, vq_span_str("dead"), &result, 1, r->now_ns, &taken),
                     VQ_OK);
    assert_int_equal(taken, 1);
    assert_int_equal(vq_coord_imported_no(r->c), no); /* in the commit that is in flight */
    assert_true(rig_status(r).batches < no);
    r->hold_commits = false;
    rig_commit(r);
    rig_pull(r);
    assert_int_equal(vq_coord_import(r->c, vq_span_str("dead"), &result, 1, r->now_ns, &taken),
                     VQ_OK);
    assert_int_equal(rig_status(r).repeated, 2);
    assert_true(rig_status(r).batches >= vq_coord_imported_no(r->c));
}

TEST_WITH(an_import_takes_what_there_is_room_for, rig_setup_tried, rig_teardown)
{
    struct rig *r = *state;
    r->params.commit_results_max = 2;
    rig_start(r);
    struct rig_said old = {.fence = {4, 1}};
    struct vq_result results[3];
    for (uint64_t i = 0; i < 3; i++) {
        results[i] = rig_answer(r, &old, i * 2, "Model: A");
    }
    size_t taken;
    assert_int_equal(vq_coord_import(r->c, vq_span_str("dead"), results, 3, r->now_ns, &taken),
                     VQ_OK);
    assert_int_equal(taken, 2);
    assert_int_equal(rig_status(r).dropped_full, 0); /* nothing is lost: offer it again */
    rig_pull(r);
    assert_int_equal(vq_coord_import(r->c, vq_span_str("dead"), results + 2, 1, r->now_ns, &taken),
                     VQ_OK);
    assert_int_equal(taken, 1);
    results[0].task = 999;
    results[0].fence.epoch = r->params.epoch;
    assert_int_equal(vq_coord_import(r->c, vq_span_str("dead"), results, 1, r->now_ns, &taken),
                     VQ_INVALID);
}
