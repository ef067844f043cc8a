/* What one commit does, case by case: who wins, what settles, what fails, what changes nothing. */
#include "fixture.h"

#include "coordinator/store/calls/failures.h"
#include "coordinator/store/calls/ledger.h"
#include "coordinator/store/calls/tools.h"

#define SAYS_A     "Output A is clearly higher here.\n\nModel: A"
#define SAYS_B     "Model: B"
#define SAYS_EQUAL "Model: equal"
#define SAYS_MUSH  "I really like both of these texts."

static enum vq_status count_rows(void *ctx, const struct vq_call_row *row)
{
    (void)row;
    ++*(size_t *)ctx;
    return VQ_OK;
}

static size_t ledger_rows(struct fx *fx)
{
    size_t rows = 0;
    struct vq_view *view = NULL;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_ledger_scan(view, &fx->run, count_rows, &rows, &fx->err), &fx->err);
    vq_view_end(&view);
    return rows;
}

static uint64_t commit_n(struct fx *fx)
{
    struct vq_run_meta meta;
    assert_ok(vq_calls_read_run(fx->calls, &fx->run, &meta, &fx->err), &fx->err);
    return meta.commit_n;
}

TEST_WITH(test_answer_settles, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    uint64_t task = fx_task(fx, 1, 1, 2, 0);
    struct vq_result r = fx_answer(fx, task, SAYS_A);
    struct vq_commit commit;
    fx_add(fx, &r);
    fx_commit(fx, &commit);
    assert_int_equal(commit.n, 1);
    assert_int_equal(commit.standing_count, 2);
    assert_true(commit.standing[0].task == task && commit.standing[1].task == task + 1);
    assert_int_equal(commit.standing[0].outcome, VQ_OUTCOME_FIRST);
    assert_int_equal(commit.standing[1].outcome, VQ_OUTCOME_NONE);
    assert_true(commit.duplicates == 0 && commit.foreign == 0 && commit.paid_unused == 0);
    vq_commit_free(&commit);
    assert_int_equal(fx_outcome(fx, task), VQ_OUTCOME_FIRST);
    assert_int_equal(ledger_rows(fx), 1);
}

TEST_WITH(test_first_answer_wins, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    struct vq_result first = fx_answer(fx, 4, SAYS_A);
    struct vq_result later = fx_answer(fx, 4, SAYS_B);
    fx_commit_one(fx, &first);
    fx_add(fx, &later);
    fx_commit(fx, &commit);
    assert_int_equal(commit.paid_unused, 1);
    assert_int_equal(commit.standing[0].outcome, VQ_OUTCOME_FIRST);
    vq_commit_free(&commit);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
    assert_int_equal(ledger_rows(fx), 2);

    /* The same within one batch: the order in the batch decides, not the call id. */
    struct vq_result x = fx_answer(fx, 8, SAYS_A);
    struct vq_result y = fx_answer(fx, 8, SAYS_B);
    fx_add(fx, &y);
    fx_add(fx, &x);
    fx_commit(fx, &commit);
    assert_int_equal(commit.paid_unused, 1);
    assert_int_equal(commit.standing_count, 2);
    assert_int_equal(commit.standing[0].outcome, VQ_OUTCOME_SECOND);
    vq_commit_free(&commit);
}

TEST_WITH(test_known_call_changes_nothing, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    struct vq_result r = fx_answer(fx, 4, SAYS_A);
    fx_commit_one(fx, &r);
    struct vq_result again = r;
    again.answer = vq_span_str(SAYS_B);
    again.tokens_in = 999;
    fx_add(fx, &again);
    fx_add(fx, &again);
    fx_commit(fx, &commit);
    assert_int_equal(commit.duplicates, 2);
    assert_int_equal(commit.repeated_count, 2); /* they cost nothing again */
    assert_int_equal(commit.paid_unused, 0);
    /* What stands is told again: a restarted core needs it. */
    assert_int_equal(commit.standing_count, 2);
    assert_int_equal(commit.standing[0].outcome, VQ_OUTCOME_FIRST);
    vq_commit_free(&commit);
    assert_int_equal(ledger_rows(fx), 1);
    assert_int_equal(commit_n(fx), 2);
}

struct last_row {
    struct vq_call_row row;
};

static enum vq_status keep_row(void *ctx, const struct vq_call_row *row)
{
    struct last_row *last = ctx;
    last->row = *row;
    return VQ_OK;
}

/* Listed and never returned: the core knows the task, the plan its hash. */
TEST_WITH(test_unknown_gets_its_hash_from_the_plan, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result sent = fx_result(fx, 4, 0);
    struct vq_hash request = sent.request;
    sent.end = VQ_END_UNKNOWN;
    sent.request = (struct vq_hash){{0}};
    sent.answer = (struct vq_span){NULL, 0};
    fx_commit_one(fx, &sent);
    struct last_row last = {0};
    struct vq_view *view = NULL;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_ledger_scan(view, &fx->run, keep_row, &last, &fx->err), &fx->err);
    vq_view_end(&view);
    assert_int_equal(last.row.result.end, VQ_END_UNKNOWN);
    assert_false(last.row.foreign);
    assert_memory_equal(last.row.result.request.b, request.b, sizeof(request.b));
}

TEST_WITH(test_unknown_turns_out, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result unknown = fx_result(fx, 4, 0);
    unknown.end = VQ_END_UNKNOWN;
    unknown.http_status = 0;
    struct vq_result answer = fx_answer(fx, 4, SAYS_A);
    answer.call = unknown.call;
    struct vq_commit commit;
    fx_commit_one(fx, &unknown);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_NONE);
    fx_add(fx, &answer);
    fx_commit(fx, &commit);
    assert_int_equal(commit.duplicates, 0);
    vq_commit_free(&commit);
    /* and not back again */
    fx_add(fx, &unknown);
    fx_commit(fx, &commit);
    assert_int_equal(commit.duplicates, 1);
    vq_commit_free(&commit);
    struct last_row last = {0};
    struct vq_view *view = NULL;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_ledger_scan(view, &fx->run, keep_row, &last, &fx->err), &fx->err);
    assert_int_equal(last.row.result.end, VQ_END_ANSWER);
    assert_true(last.row.used);
    vq_view_end(&view);
    assert_int_equal(ledger_rows(fx), 1);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
}

TEST_WITH(test_lazy_swap, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fx->plan.audit_share = 0.5;
    uint64_t cell = fx_cell(fx, false);
    unsigned first = fx_first(fx, cell);
    struct vq_result r = fx_answer(fx, cell + first, SAYS_EQUAL);
    fx_commit_one(fx, &r);
    assert_int_equal(fx_outcome(fx, cell + 1 - first), VQ_OUTCOME_NOT_NEEDED);

    cell = fx_cell(fx, true);
    first = fx_first(fx, cell);
    r = fx_answer(fx, cell + first, SAYS_EQUAL);
    fx_commit_one(fx, &r);
    assert_int_equal(fx_outcome(fx, cell + first), VQ_OUTCOME_EQUAL);
    struct vq_known other = fx_known(fx, cell + 1 - first);
    assert_int_equal(other.outcome, VQ_OUTCOME_NONE);
    assert_true(other.second && !other.lazy);
}

/* The swapped order's answer came first; the first order settles the score then. */
TEST_WITH(test_swapped_answer_is_not_needed, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    uint64_t cell = fx_cell(fx, false);
    unsigned first = fx_first(fx, cell);
    struct vq_commit commit;
    struct vq_result swapped = fx_answer(fx, cell + 1 - first, SAYS_A);
    struct vq_result settles = fx_answer(fx, cell + first, SAYS_EQUAL);
    fx_commit_one(fx, &swapped);
    assert_int_equal(fx_outcome(fx, cell + 1 - first), VQ_OUTCOME_FIRST);
    fx_add(fx, &settles);
    fx_commit(fx, &commit);
    assert_int_equal(commit.standing[1 - first].outcome, VQ_OUTCOME_NOT_NEEDED);
    vq_commit_free(&commit);
    assert_int_equal(fx_outcome(fx, cell + 1 - first), VQ_OUTCOME_NOT_NEEDED);
}

TEST_WITH(test_one_order_and_both, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fx->plan.swap = VQ_SWAP_NONE;
    assert_int_equal(fx_outcome(fx, 1), VQ_OUTCOME_NOT_NEEDED);
    assert_int_equal(fx_outcome(fx, 0), VQ_OUTCOME_NONE);
    fx->plan.swap = VQ_SWAP_BOTH;
    struct vq_result r = fx_answer(fx, 0, SAYS_EQUAL);
    fx_commit_one(fx, &r);
    struct vq_known other = fx_known(fx, 1);
    assert_int_equal(other.outcome, VQ_OUTCOME_NONE);
    assert_false(other.lazy);
}

TEST_WITH(test_repair, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result mush = fx_answer(fx, 4, SAYS_MUSH);
    assert_int_equal(mush.outcome, VQ_OUTCOME_UNPARSEABLE);
    fx_commit_one(fx, &mush);
    struct vq_known known = fx_known(fx, 4);
    assert_int_equal(known.outcome, VQ_OUTCOME_NONE);
    assert_true(vq_span_eq(known.prior, vq_span_str(SAYS_MUSH)));
    /* Another run without repair reads the same row as it is. */
    struct vq_asker *asker = &fx->askers[vq_grid_cell(&fx->plan.grid, 4).judge];
    asker->repair = NULL;
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_UNPARSEABLE);
    asker->repair = fx->templates[VQ_TEMPLATE_REPAIR];

    struct vq_result repair = fx_repair(fx, 4, SAYS_MUSH, SAYS_B);
    struct vq_commit commit;
    fx_add(fx, &repair);
    fx_commit(fx, &commit);
    assert_int_equal(commit.foreign, 0);
    assert_int_equal(commit.standing[0].outcome, VQ_OUTCOME_SECOND);
    vq_commit_free(&commit);
    assert_int_equal(fx_known(fx, 4).prior.bytes, 0);

    struct vq_view *view = NULL;
    struct vq_answer answer;
    bool repaired = false;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_lookup_standing(view, &fx->plan, &fx->run, 4, &answer, &repaired, &fx->err),
              &fx->err);
    assert_true(repaired && vq_span_eq(answer.answer, vq_span_str(SAYS_B)));
    vq_view_end(&view);
}

/* Answer and repair in one batch, the repair's hash sorting anywhere. */
TEST_WITH(test_repair_in_one_batch, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    for (uint64_t task = 0; task < vq_grid_tasks(&fx->plan.grid); task += 2) {
        struct vq_result repair = fx_repair(fx, task, SAYS_MUSH, SAYS_A);
        struct vq_result mush = fx_answer(fx, task, SAYS_MUSH);
        fx_add(fx, &repair);
        fx_add(fx, &mush);
    }
    struct vq_commit commit;
    fx_commit(fx, &commit);
    assert_int_equal(commit.foreign, 0);
    assert_int_equal(commit.standing_count, vq_grid_tasks(&fx->plan.grid));
    for (size_t i = 0; i < commit.standing_count; i += 2) {
        assert_int_equal(commit.standing[i].outcome, VQ_OUTCOME_FIRST);
    }
    vq_commit_free(&commit);
}

TEST_WITH(test_unparseable_repair_stands, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result mush = fx_answer(fx, 4, SAYS_MUSH);
    struct vq_result repair = fx_repair(fx, 4, SAYS_MUSH, SAYS_MUSH);
    fx_commit_one(fx, &mush);
    fx_commit_one(fx, &repair);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_UNPARSEABLE);
}

TEST_WITH(test_failed_repair, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result mush = fx_answer(fx, 4, SAYS_MUSH);
    struct vq_result repair = fx_repair(fx, 4, SAYS_MUSH, "");
    repair.end = VQ_END_PROVIDER;
    repair.outcome = VQ_OUTCOME_UNAVAILABLE;
    fx_commit_one(fx, &mush);
    fx_commit_one(fx, &repair);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_UNAVAILABLE);
    /* It stays failed for this run, also when the repair's answer comes late. */
    struct vq_result late = fx_repair(fx, 4, SAYS_MUSH, SAYS_A);
    fx_commit_one(fx, &late);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_UNAVAILABLE);
    /* Another run has the answer. */
    fx->run.b[1] = 2;
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
}

TEST_WITH(test_failure_only_while_open, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result failed = fx_failure(fx, 4, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    struct vq_result answer = fx_answer(fx, 4, SAYS_A);
    struct vq_commit commit;
    /* An answer in the same batch wins, wherever it stands. */
    fx_add(fx, &failed);
    fx_add(fx, &answer);
    fx_commit(fx, &commit);
    assert_int_equal(commit.standing[0].outcome, VQ_OUTCOME_FIRST);
    vq_commit_free(&commit);

    failed = fx_failure(fx, 8, 0, VQ_END_BAD_REQUEST, VQ_OUTCOME_ERROR);
    answer = fx_answer(fx, 8, SAYS_A);
    fx_commit_one(fx, &failed);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_ERROR);
    fx_commit_one(fx, &answer);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_ERROR);
    /* A second failure does not replace the first. */
    failed = fx_failure(fx, 8, 0, VQ_END_TOO_LONG, VQ_OUTCOME_TOO_LONG);
    fx_commit_one(fx, &failed);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_ERROR);
}

TEST_WITH(test_what_does_not_fail_a_task, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result closed = fx_failure(fx, 4, 0, VQ_END_CLOSED, VQ_OUTCOME_ERROR);
    struct vq_result unknown = fx_failure(fx, 4, 0, VQ_END_UNKNOWN, VQ_OUTCOME_UNAVAILABLE);
    struct vq_result not_final = fx_failure(fx, 4, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    not_final.final = false;
    struct vq_result other_repeat = fx_failure(fx, 4, 1, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    struct vq_result foreign = fx_failure(fx, 4, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    foreign.request.b[31] ^= 1;
    struct vq_result *all[] = {&closed, &unknown, &not_final, &other_repeat, &foreign};
    for (size_t i = 0; i < VQ_COUNT(all); i++) {
        fx_commit_one(fx, all[i]);
        assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_NONE);
    }
    assert_int_equal(ledger_rows(fx), VQ_COUNT(all));
}

TEST_WITH(test_explicit_failure, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    struct vq_result answer = fx_answer(fx, 4, SAYS_A);
    fx_commit_one(fx, &answer);
    fx_fail(fx, 4, VQ_OUTCOME_WORKER_LOST);
    fx_fail(fx, 8, VQ_OUTCOME_WORKER_LOST);
    fx_fail(fx, 1u << 20, VQ_OUTCOME_WORKER_LOST);
    fx_commit(fx, &commit);
    assert_int_equal(commit.standing_count, 4);
    vq_commit_free(&commit);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_WORKER_LOST);
}

static void reopen(struct fx *fx, uint64_t task)
{
    struct vq_commit commit;
    fx_reopen(fx, task);
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
}

TEST_WITH(test_a_failure_is_lifted, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    struct vq_result failed = fx_failure(fx, 4, 0, VQ_END_BAD_REQUEST, VQ_OUTCOME_ERROR);
    fx_commit_one(fx, &failed);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_ERROR);
    uint64_t n = commit_n(fx);
    fx_reopen(fx, 4);
    fx_reopen(fx, 8); /* not failed: nothing */
    fx_reopen(fx, 1u << 20);
    fx_commit(fx, &commit);
    assert_int_equal(commit.n, n + 1);
    assert_int_equal(commit.standing_count, 4);
    assert_int_equal(commit.standing[0].task, 4);
    assert_int_equal(commit.standing[0].outcome, VQ_OUTCOME_NONE);
    vq_commit_free(&commit);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_NONE);
    /* The call that failed it is said again: it cannot fail it a second time. Another one can. */
    fx_commit_one(fx, &failed);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_NONE);
    struct vq_result again = fx_failure(fx, 4, 0, VQ_END_TOO_LONG, VQ_OUTCOME_TOO_LONG);
    fx_commit_one(fx, &again);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_TOO_LONG);
    reopen(fx, 4);
    struct vq_result answer = fx_answer(fx, 4, SAYS_A);
    fx_commit_one(fx, &answer);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
    reopen(fx, 4); /* answered: nothing */
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
    uint64_t values;
    assert_ok(vq_store_check(fx->calls, &values, &fx->err), &fx->err);
}

TEST_WITH(test_a_lifted_failure_lets_a_late_answer_stand, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result failed = fx_failure(fx, 4, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    struct vq_result answer = fx_answer(fx, 4, SAYS_A);
    fx_commit_one(fx, &failed);
    fx_commit_one(fx, &answer);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_UNAVAILABLE);
    reopen(fx, 4);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
}

TEST_WITH(test_failures_of_a_class_are_lifted_at_once, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    static const enum vq_outcome reasons[] = {VQ_OUTCOME_ERROR, VQ_OUTCOME_ERROR,
                                              VQ_OUTCOME_UNAVAILABLE, VQ_OUTCOME_WORKER_LOST};
    for (uint64_t i = 0; i < VQ_COUNT(reasons); i++) {
        fx_fail(fx, 4 * i, reasons[i]);
    }
    struct vq_commit commit;
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
    uint64_t n = commit_n(fx);
    size_t count = 99;
    uint32_t failures = vq_outcome_failure_bit(VQ_OUTCOME_ERROR);
    assert_ok(vq_failures_lift(fx->calls, &fx->run, vq_outcome_failure_bit(VQ_OUTCOME_TOO_LONG), 5,
                               &count, &fx->err),
              &fx->err);
    assert_int_equal(count, 0);
    assert_int_equal(commit_n(fx), n);
    struct vq_id other = {.b = {0xab}};
    assert_ok(vq_failures_lift(fx->calls, &other, failures, 5, &count, &fx->err), &fx->err);
    assert_int_equal(count, 0);
    for (int turn = 0; turn < 2; turn++) { /* the second time there are none */
        assert_ok(vq_failures_lift(fx->calls, &fx->run, failures, 5, &count, &fx->err), &fx->err);
        assert_int_equal(count, turn == 0 ? 2 : 0);
        assert_int_equal(commit_n(fx), n + 1); /* Redis is behind, and is rebuilt */
        assert_int_equal(fx_outcome(fx, 0), VQ_OUTCOME_NONE);
        assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_NONE);
        assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_UNAVAILABLE);
        assert_int_equal(fx_outcome(fx, 12), VQ_OUTCOME_WORKER_LOST);
    }
}

TEST_WITH(test_foreign_result, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    struct vq_result r = fx_answer(fx, 4, SAYS_A);
    r.request.b[31] ^= 1;
    struct vq_result outside = fx_answer(fx, 4, SAYS_A);
    outside.task = UINT64_MAX;
    outside.request.b[31] ^= 2;
    fx_add(fx, &r);
    fx_add(fx, &outside);
    fx_commit(fx, &commit);
    assert_int_equal(commit.foreign, 2);
    assert_true(vq_id_eq(&commit.foreign_first, &r.call));
    assert_int_equal(commit.foreign_task, 4);
    assert_int_equal(commit.standing_count, 2);
    vq_commit_free(&commit);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_NONE);
    /* It was paid for, so it is kept under its own hash. */
    struct vq_view *view = NULL;
    struct vq_answer answer;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_lookup_answer(view, &r.request, &answer, &fx->err), &fx->err);
    assert_true(vq_span_eq(answer.answer, r.answer));
    vq_view_end(&view);
}

TEST_WITH(test_stale_epoch, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    uint64_t mine = fx->epoch;
    struct vq_result r = fx_answer(fx, 4, SAYS_A);
    struct vq_result failed = fx_failure(fx, 8, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    struct vq_commit commit = {.n = 77};
    fx_begin_run(fx, false);
    fx_add(fx, &r);
    fx_add(fx, &failed);
    assert_int_equal(
        vq_commit_run(fx->calls, &fx->plan, &fx->run, mine, &fx->batch, 9000, &commit, &fx->err),
        VQ_STALE);
    assert_int_equal(commit.n, 77);
    assert_int_equal(commit_n(fx), 0);
    assert_int_equal(ledger_rows(fx), 2);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_NONE);
    /* The worker says it again to the new coordinator: a known call, and now it settles. */
    fx_commit(fx, &commit);
    assert_int_equal(commit.duplicates, 2);
    assert_int_equal(commit.n, 1);
    vq_commit_free(&commit);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_UNAVAILABLE);
    assert_int_equal(vq_calls_end_run(fx->calls, &fx->run, mine, 800, &fx->err), VQ_STALE);
}

/* --retry-failed: a vote stands, everything else is asked again with the next repeat number. */
TEST_WITH(test_generations, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    uint64_t vote = 0, mush = 6, failed = 12, refused = 18, open = 24;
    struct vq_result r = fx_answer(fx, vote, SAYS_A);
    fx_commit_one(fx, &r);
    r = fx_answer(fx, mush, SAYS_MUSH);
    fx_commit_one(fx, &r);
    r = fx_repair(fx, mush, SAYS_MUSH, SAYS_MUSH);
    fx_commit_one(fx, &r);
    r = fx_failure(fx, failed, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    fx_commit_one(fx, &r);
    r = fx_answer(fx, refused, "");
    r.refusal = true;
    fx_commit_one(fx, &r);
    assert_int_equal(fx_outcome(fx, refused), VQ_OUTCOME_REFUSED);
    uint64_t n = commit_n(fx);

    fx_begin_run(fx, true);
    assert_int_equal(fx->plan.generation, 1);
    assert_int_equal(commit_n(fx), n + 1); /* so that Redis is rebuilt */
    assert_int_equal(fx_outcome(fx, vote), VQ_OUTCOME_FIRST);
    const uint64_t again[] = {mush, failed, refused};
    for (size_t i = 0; i < VQ_COUNT(again); i++) {
        struct vq_known known = fx_known(fx, again[i]);
        assert_int_equal(known.outcome, VQ_OUTCOME_NONE);
        assert_int_equal(known.repeat, 1);
        assert_int_equal(known.prior.bytes, 0);
    }
    assert_int_equal(fx_known(fx, open).repeat, 0);

    r = fx_result(fx, mush, 1);
    r.answer = vq_span_str(SAYS_B);
    r.final = true;
    fx_commit_one(fx, &r);
    r = fx_failure(fx, failed, 1, VQ_END_BAD_RESPONSE, VQ_OUTCOME_BAD_RESPONSE);
    fx_commit_one(fx, &r);
    assert_int_equal(fx_outcome(fx, mush), VQ_OUTCOME_SECOND);
    assert_int_equal(fx_outcome(fx, failed), VQ_OUTCOME_BAD_RESPONSE);

    fx_begin_run(fx, true);
    assert_int_equal(fx_known(fx, failed).repeat, 2);
    assert_int_equal(fx_known(fx, refused).repeat, 1);
    assert_int_equal(fx_outcome(fx, mush), VQ_OUTCOME_SECOND);
}

/* A second run finds the answers of the first and none of its failures. */
TEST_WITH(test_runs_share_answers, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result r = fx_answer(fx, 4, SAYS_A);
    fx_commit_one(fx, &r);
    r = fx_failure(fx, 8, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    fx_commit_one(fx, &r);
    fx->run.b[1] = 2;
    fx_begin_run(fx, false);
    assert_int_equal(fx->epoch, 1);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_NONE);
    assert_int_equal(ledger_rows(fx), 0);
    /* It bought the same question at the same time. */
    struct vq_commit commit;
    r = fx_answer(fx, 4, SAYS_B);
    fx_add(fx, &r);
    fx_commit(fx, &commit);
    assert_int_equal(commit.paid_unused, 1);
    assert_int_equal(commit.standing[0].outcome, VQ_OUTCOME_FIRST);
    vq_commit_free(&commit);
}

TEST_WITH(test_unknown_run, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    fx->run.b[1] = 99;
    assert_int_equal(
        vq_commit_run(fx->calls, &fx->plan, &fx->run, 1, &fx->batch, 9000, &commit, &fx->err),
        VQ_CORRUPT);
    struct vq_run_meta meta;
    assert_int_equal(vq_calls_read_run(fx->calls, &fx->run, &meta, &fx->err), VQ_NOT_FOUND);
}

/* Each allocation fails in turn: the commit says so and leaves everything as it was. */
TEST_WITH(test_no_memory, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    for (int i = 0; i < 12; i++) {
        struct vq_result r = fx_answer(fx, (uint64_t)i * 6, SAYS_A);
        fx_add(fx, &r);
    }
    uint64_t at = 1;
    for (enum vq_status status = VQ_NOMEM; status != VQ_OK; at++) {
        assert_true(at < 1000);
        vq_alloc_fail_at(at);
        status = vq_commit_run(fx->calls, &fx->plan, &fx->run, fx->epoch, &fx->batch, 9000, &commit,
                               &fx->err);
        vq_alloc_fail_at(0);
        if (status != VQ_OK) {
            assert_int_equal(status, VQ_NOMEM);
            assert_int_equal(ledger_rows(fx), 0);
            assert_int_equal(commit_n(fx), 0);
        }
    }
    assert_true(at > 5);
    assert_int_equal(commit.standing_count, 24);
    vq_commit_free(&commit);
}

TEST_WITH(test_batch_bounds, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    static char big[VQ_ANSWER_BYTES_MAX];
    memset(big, 'x', sizeof(big));
    struct vq_result *results = vq_alloc(VQ_BATCH_RESULTS_MAX + 1, sizeof(*results));
    struct vq_span *workers = vq_alloc(VQ_BATCH_RESULTS_MAX + 1, sizeof(*workers));
    assert_true(results != NULL && workers != NULL);
    struct vq_commit commit = {.n = 77};
    fx->batch = (struct vq_batch){
        .results = results, .workers = workers, .results_count = VQ_BATCH_RESULTS_MAX + 1};
    assert_int_equal(vq_commit_run(fx->calls, &fx->plan, &fx->run, fx->epoch, &fx->batch, 9000,
                                   &commit, &fx->err),
                     VQ_LIMIT);
    fx->batch.results_count = VQ_BATCH_BYTES_MAX / sizeof(big) + 1;
    for (size_t i = 0; i < fx->batch.results_count; i++) {
        results[i].answer = vq_span(big, sizeof(big));
    }
    assert_int_equal(vq_commit_run(fx->calls, &fx->plan, &fx->run, fx->epoch, &fx->batch, 9000,
                                   &commit, &fx->err),
                     VQ_LIMIT);
    assert_int_equal(commit.n, 77);
    fx_clear(fx);
    vq_free(results);
    vq_free(workers);
}

/* What is left of another stage: answer and ledger row, nothing else. */
TEST_WITH(test_result_of_another_stage, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fx->plan.stage = 2;
    struct vq_commit commit;
    struct vq_result results[3] = {fx_answer(fx, 4, "Model: A"),
                                   fx_failure(fx, 6, 0, VQ_END_BAD_REQUEST, VQ_OUTCOME_ERROR),
                                   fx_answer(fx, 8, "Model: A")};
    results[0].stage = 1;
    results[0].request.b[9] ^= 1; /* what it asked is not known here, and it is nobody's fault */
    results[0].task = UINT64_MAX - 3;
    results[1].stage = 1;
    results[2].stage = 1; /* the very question of a task of this stage */
    for (int i = 0; i < 3; i++) {
        fx_add(fx, &results[i]);
    }
    fx_commit(fx, &commit);
    assert_int_equal(commit.standing_count, 0);
    assert_int_equal(commit.foreign, 0);
    assert_true(commit.n > 0);
    vq_commit_free(&commit);
    assert_int_equal(fx_known(fx, 6).outcome, VQ_OUTCOME_NONE); /* its failure fails nothing here */
    assert_int_equal(fx_known(fx, 8).outcome, VQ_OUTCOME_FIRST); /* a look-up finds what was paid */
    struct vq_view *view = NULL;
    struct vq_answer answer;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_lookup_answer(view, &results[0].request, &answer, &fx->err), &fx->err);
    vq_view_end(&view);
    /* The same again, and the same call: nothing changes. */
    fx_add(fx, &results[0]);
    fx_commit(fx, &commit);
    assert_int_equal(commit.duplicates, 1);
    vq_commit_free(&commit);
}

/* A stage of texts: one order, the answer is a text, and nothing is repaired. */
TEST_WITH(test_a_stage_of_texts, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    for (int j = 0; j < FX_JUDGES; j++) {
        vq_asker_init(&fx->askers[j], &fx->judges[j], fx->templates[VQ_TEMPLATE_AS_IS], NULL);
    }
    fx->axes[0] = (struct vq_axis){"", "", ""};
    fx->plan.grid.vibes = 1;
    fx->plan.kind = VQ_STAGE_TEXT;
    fx->plan.swap = VQ_SWAP_NONE;
    struct vq_commit commit;
    struct vq_result r = fx_answer(fx, 0, "Model: A"); /* which would be a vote elsewhere */
    r.finish_reason = vq_span_str("length");
    fx_add(fx, &r);
    fx_commit(fx, &commit);
    assert_int_equal(commit.standing_count, 2);
    assert_int_equal(commit.standing[0].outcome, VQ_OUTCOME_TEXT);
    assert_int_equal(commit.standing[1].outcome, VQ_OUTCOME_NOT_NEEDED);
    vq_commit_free(&commit);
    r = fx_answer(fx, 2, " \n");
    fx_commit_one(fx, &r);
    struct vq_known known = fx_known(fx, 2);
    assert_int_equal(known.outcome, VQ_OUTCOME_UNPARSEABLE);
    assert_int_equal(known.prior.bytes, 0);
    r = fx_answer(fx, 4, "I cannot");
    r.refusal = true;
    fx_commit_one(fx, &r);
    assert_int_equal(fx_known(fx, 4).outcome, VQ_OUTCOME_REFUSED);
    fx_begin_run(fx, true); /* --retry-failed asks again for what is no text */
    assert_int_equal(fx_known(fx, 0).outcome, VQ_OUTCOME_TEXT);
    assert_int_equal(fx_known(fx, 2).outcome, VQ_OUTCOME_NONE);
    assert_int_equal(fx_known(fx, 2).repeat, 1);
    struct vq_view *view = NULL;
    struct vq_answer answer;
    bool repaired;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_lookup_standing(view, &fx->plan, &fx->run, 0, &answer, &repaired, &fx->err),
              &fx->err);
    assert_true(!repaired && vq_span_eq(answer.answer, vq_span_str("Model: A")));
    vq_view_end(&view);
}
