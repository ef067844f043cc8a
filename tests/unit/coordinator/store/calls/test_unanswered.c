/* When a run counts as one without answers, and what a reset changes of it. */
#include "fixture.h"

#include "coordinator/store/calls/unanswered.h"

static enum vq_unanswered reset(struct fx *fx)
{
    enum vq_unanswered found = (enum vq_unanswered)99;
    assert_ok(vq_unanswered_reset(fx->calls, &fx->run, 9, &found, &fx->err), &fx->err);
    return found;
}

static void end(struct fx *fx)
{
    assert_ok(vq_calls_end_run(fx->calls, &fx->run, fx->epoch, 8, &fx->err), &fx->err);
}

static uint64_t commit_n(struct fx *fx)
{
    struct vq_run_meta meta;
    assert_ok(vq_calls_read_run(fx->calls, &fx->run, &meta, &fx->err), &fx->err);
    return meta.commit_n;
}

TEST_WITH(test_a_run_that_never_started, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fx->run.b[0] ^= 0x55;
    assert_int_equal(reset(fx), VQ_UNANSWERED);
}

TEST_WITH(test_failures_go, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result failed = fx_failure(fx, 4, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    fx_commit_one(fx, &failed);
    end(fx);
    uint64_t n = commit_n(fx);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_UNAVAILABLE);
    assert_int_equal(reset(fx), VQ_UNANSWERED);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_NONE);
    assert_true(commit_n(fx) > n); /* what Redis holds of it is old */
    n = commit_n(fx);
    assert_int_equal(reset(fx), VQ_UNANSWERED); /* without failures too */
    assert_true(commit_n(fx) > n);
}

TEST_WITH(test_what_cannot_be_read_is_no_answer, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result r = fx_answer(fx, 4, "Thank you.");
    r.outcome = VQ_OUTCOME_UNPARSEABLE;
    fx_commit_one(fx, &r);
    end(fx);
    assert_int_equal(reset(fx), VQ_UNANSWERED);
}

TEST_WITH(test_one_answer_is_enough, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result failed = fx_failure(fx, 8, 0, VQ_END_PROVIDER, VQ_OUTCOME_UNAVAILABLE);
    struct vq_result answer = fx_answer(fx, 4, "Model: A");
    fx_commit_one(fx, &failed);
    fx_commit_one(fx, &answer);
    end(fx);
    uint64_t n = commit_n(fx);
    assert_int_equal(reset(fx), VQ_UNANSWERED_NOT);
    assert_int_equal(commit_n(fx), n);
    assert_int_equal(fx_outcome(fx, 8), VQ_OUTCOME_UNAVAILABLE);
    fx->run.b[0] ^= 0x55; /* of another run it is none */
    assert_int_equal(reset(fx), VQ_UNANSWERED);
}

TEST_WITH(test_a_crash_may_have_left_answers, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    uint64_t n = commit_n(fx);
    assert_int_equal(reset(fx), VQ_UNANSWERED_NOT_CLEAN);
    assert_int_equal(commit_n(fx), n);
}
