/* What a worker delivered, thrown away: which answers and failures, what is open then, and what
 * stays for the bill and the audit. */
#include "fixture.h"

#include "coordinator/store/calls/check_run.h"
#include "coordinator/store/calls/distrust.h"
#include "coordinator/store/calls/ledger.h"

static void deliver(struct fx *fx, const char *worker, struct vq_result r)
{
    struct vq_commit commit;
    fx_add_of(fx, &r, worker);
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
}

static struct vq_distrust distrust(struct fx *fx, const char *worker)
{
    struct vq_distrust found;
    assert_ok(vq_distrust_carry_out(fx->calls, &fx->run, worker, 9500, &found, &fx->err), &fx->err);
    return found;
}

static uint64_t commit_n(struct fx *fx)
{
    struct vq_run_meta meta;
    assert_ok(vq_calls_read_run(fx->calls, &fx->run, &meta, &fx->err), &fx->err);
    return meta.commit_n;
}

TEST(test_names)
{
    assert_true(vq_distrust_names("red", vq_span_str("red")));
    assert_true(vq_distrust_names("red", vq_span_str("red:host-1")));
    assert_true(vq_distrust_names("red:host-1", vq_span_str("red:host-1")));
    assert_false(vq_distrust_names("red", vq_span_str("redder")));
    assert_false(vq_distrust_names("red:host-1", vq_span_str("red")));
    assert_false(vq_distrust_names("red:host-1", vq_span_str("red:host-10")));
    assert_false(vq_distrust_names("", vq_span_str("red")));
    assert_false(vq_distrust_names("red", vq_span(NULL, 0)));
}

TEST_WITH(test_answers_are_open_again, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fx->plan.swap = VQ_SWAP_BOTH;
    struct vq_result lie = fx_answer(fx, 0, "Model: A");
    lie.cost_nano = 70;
    struct vq_result late = fx_answer(fx, 8, "Model: A"); /* behind an honest answer */
    late.cost_nano = 5;
    struct vq_result elsewhere = fx_answer(fx, 20, "Model: A");
    elsewhere.stage = 4;
    deliver(fx, "red:one", lie);
    deliver(fx, "blue", fx_answer(fx, 8, "Model: B"));
    deliver(fx, "red", late);
    deliver(fx, "red:two", elsewhere);
    uint64_t n = commit_n(fx);
    struct vq_distrust found = distrust(fx, "red");
    assert_int_equal(found.answers, 2);
    assert_int_equal(found.failures, 0);
    assert_int_equal(found.calls, 3);
    assert_int_equal(found.cost_nano, 75);
    assert_int_equal(found.stages_count, 2);
    assert_int_equal(found.stages[0].stage, 0);
    assert_int_equal(found.stages[0].answers, 1);
    assert_int_equal(found.stages[1].stage, 4);
    vq_distrust_free(&found);
    assert_int_equal(fx_outcome(fx, 0), VQ_OUTCOME_NONE);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_SECOND);
    assert_true(commit_n(fx) > n); /* what Redis has is old */
    found = distrust(fx, "red");   /* again: nothing is left of it */
    assert_int_equal(found.answers, 0);
    assert_int_equal(found.cost_nano, 75);
    vq_distrust_free(&found);
    /* the same result once more is a known call, and settles nothing */
    deliver(fx, "red:one", lie);
    assert_int_equal(fx_outcome(fx, 0), VQ_OUTCOME_NONE);
    deliver(fx, "blue", fx_answer(fx, 0, "Model: B"));
    assert_int_equal(fx_outcome(fx, 0), VQ_OUTCOME_SECOND);
}

static void never(void *ctx, const char *text)
{
    (void)ctx;
    fail_msg("%s", text);
}

TEST_WITH(test_what_stays, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result lie = fx_answer(fx, 0, "Model: A");
    deliver(fx, "red", lie);
    deliver(fx, "blue", fx_answer(fx, 0, "Model: B")); /* paid but unused: its text is gone */
    struct vq_distrust found = distrust(fx, "red");
    vq_distrust_free(&found);
    struct vq_view *view = NULL;
    struct vq_answer answer;
    struct vq_check_run check;
    struct vq_store_stat stat;
    uint64_t values;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_distrust_answer(view, &fx->run, &lie.call, &answer, &fx->err), &fx->err);
    assert_true(vq_span_eq(answer.answer, vq_span_str("Model: A")));
    assert_ok(vq_check_run(view, &fx->run, never, NULL, &check, &fx->err), &fx->err);
    assert_int_equal(check.paid_unused, 2);
    vq_view_end(&view);
    assert_ok(vq_store_check(fx->calls, &values, &fx->err), &fx->err);
    assert_ok(vq_store_stat(fx->calls, &stat, &fx->err), &fx->err);
    assert_int_equal(stat.answers, 0);
    assert_int_equal(stat.calls, 2);
}

TEST_WITH(test_failures_are_lifted, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    deliver(fx, "red", fx_failure(fx, 0, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE));
    deliver(fx, "blue", fx_failure(fx, 8, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE));
    struct vq_distrust found = distrust(fx, "red");
    assert_int_equal(found.answers, 0);
    assert_int_equal(found.failures, 1);
    vq_distrust_free(&found);
    assert_int_equal(fx_outcome(fx, 0), VQ_OUTCOME_NONE);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_UNAVAILABLE);
}

TEST_WITH(test_a_repair_goes_with_its_copy, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    uint64_t first = fx_task(fx, 0, 0, 0, 0), other = fx_task(fx, 3, 0, 2, 1);
    fx->plan.swap = VQ_SWAP_BOTH;
    deliver(fx, "blue", fx_answer(fx, first, "who knows"));
    deliver(fx, "blue", fx_answer(fx, other, "who knows"));
    deliver(fx, "red", fx_repair(fx, first, "who knows", "Model: B"));
    assert_int_equal(fx_outcome(fx, other), VQ_OUTCOME_SECOND);
    struct vq_distrust found = distrust(fx, "red");
    vq_distrust_free(&found);
    assert_true(fx_known(fx, first).prior.bytes > 0);
    assert_int_equal(fx_outcome(fx, first), VQ_OUTCOME_NONE);
    assert_int_equal(fx_outcome(fx, other), VQ_OUTCOME_NONE);
}

TEST_WITH(test_more_than_one_transaction, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    for (uint64_t i = 0; i < 5000; i++) {
        struct vq_result r = fx_answer(fx, 0, "Model: A");
        memcpy(r.request.b + 16, &i, sizeof(i)); /* forged: each is stored under its own hash */
        fx_add_of(fx, &r, "red");
    }
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
    struct vq_distrust found = distrust(fx, "red");
    assert_int_equal(found.answers, 5000);
    vq_distrust_free(&found);
    struct vq_store_stat stat;
    assert_ok(vq_store_stat(fx->calls, &stat, &fx->err), &fx->err);
    assert_int_equal(stat.answers, 0);
    assert_int_equal(stat.calls, 5000);
}
