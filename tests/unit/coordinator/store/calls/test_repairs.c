/* Repairs of equal texts: what one was answered is found for the others, of the same judge alone,
 * and for no other text. */
#include "fixture.h"

#include "coordinator/store/calls/repairs.h"

static void commit(struct fx *fx, struct vq_result r)
{
    fx_commit_one(fx, &r);
}

TEST_WITH(test_an_equal_text_has_the_same_repair, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    uint64_t first = fx_task(fx, 0, 0, 0, 0), other = fx_task(fx, 3, 0, 2, 1);
    uint64_t other_judge = fx_task(fx, 0, 1, 0, 0);
    fx->plan.swap = VQ_SWAP_BOTH;
    commit(fx, fx_answer(fx, first, "who knows"));
    commit(fx, fx_answer(fx, other, "who knows"));
    commit(fx, fx_answer(fx, other_judge, "who knows"));
    assert_true(fx_known(fx, other).prior.bytes > 0);
    commit(fx, fx_repair(fx, first, "who knows", "Model: B"));
    assert_int_equal(fx_outcome(fx, first), VQ_OUTCOME_SECOND);
    assert_int_equal(fx_outcome(fx, other), VQ_OUTCOME_SECOND);
    assert_int_equal(fx_outcome(fx, other_judge), VQ_OUTCOME_NONE);
    /* an answer that comes later is repaired with its commit */
    uint64_t later = fx_task(fx, 5, 0, 1, 0);
    commit(fx, fx_answer(fx, later, "who knows"));
    assert_int_equal(fx_outcome(fx, later), VQ_OUTCOME_SECOND);
    uint64_t nearly = fx_task(fx, 4, 0, 1, 0);
    commit(fx, fx_answer(fx, nearly, "who knows?"));
    assert_int_equal(fx_outcome(fx, nearly), VQ_OUTCOME_NONE);
    /* what it settled stays so when a repair of its own comes late */
    commit(fx, fx_repair(fx, other, "who knows", "Model: A"));
    assert_int_equal(fx_outcome(fx, other), VQ_OUTCOME_SECOND);
    assert_int_equal(fx_outcome(fx, later), VQ_OUTCOME_SECOND);
}

TEST_WITH(test_the_standing_answer_is_the_repair, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    uint64_t first = fx_task(fx, 0, 0, 0, 0), other = fx_task(fx, 3, 0, 2, 1);
    fx->plan.swap = VQ_SWAP_BOTH;
    commit(fx, fx_answer(fx, first, "who knows"));
    struct vq_result repair = fx_repair(fx, first, "who knows", "Model: equal");
    commit(fx, repair);
    commit(fx, fx_answer(fx, other, "who knows"));
    struct vq_view *view = NULL;
    struct vq_answer answer;
    bool repaired;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_lookup_standing(view, &fx->plan, &fx->run, other, &answer, &repaired, &fx->err),
              &fx->err);
    assert_true(repaired);
    assert_true(vq_id_eq(&answer.call, &repair.call));
    assert_true(vq_span_eq(answer.answer, vq_span_str("Model: equal")));
    vq_view_end(&view);
}

/* A text that the store does not have as the answer may be another run's, or made up. */
TEST_WITH(test_a_repair_of_another_text_is_not_shared, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    uint64_t first = fx_task(fx, 0, 0, 0, 0), other = fx_task(fx, 3, 0, 2, 1);
    fx->plan.swap = VQ_SWAP_BOTH;
    commit(fx, fx_answer(fx, first, "who knows"));
    commit(fx, fx_answer(fx, other, "made up"));
    commit(fx, fx_repair(fx, first, "made up", "Model: B"));
    assert_int_equal(fx_outcome(fx, other), VQ_OUTCOME_NONE);
    commit(fx, fx_repair(fx, fx_task(fx, 2, 0, 0, 0), "made up", "Model: B")); /* of no answer */
    assert_int_equal(fx_outcome(fx, other), VQ_OUTCOME_NONE);
}

static enum vq_status count_line(void *ctx, struct vq_span line)
{
    (void)line;
    ++*(unsigned *)ctx;
    return VQ_OK;
}

static enum vq_status keep_none(void *ctx, struct vq_id **ret_keep, size_t *ret_count,
                                struct vq_error *err)
{
    (void)ctx;
    (void)err;
    *ret_keep = NULL;
    *ret_count = 0;
    return VQ_OK;
}

TEST_WITH(test_it_is_exported_once_and_kept, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_hash key;
    unsigned lines = 0;
    uint64_t first = fx_task(fx, 0, 0, 0, 0), other = fx_task(fx, 3, 0, 2, 1);
    fx->plan.swap = VQ_SWAP_BOTH;
    commit(fx, fx_answer(fx, first, "who knows"));
    commit(fx, fx_repair(fx, first, "who knows", "Model: B"));
    assert_ok(vq_store_export(fx->calls, count_line, &lines, &fx->err), &fx->err);
    assert_int_equal(lines, 2);
    struct vq_gc gc = {.keep = keep_none, .answers_before_unix_ms = INT64_MAX};
    struct vq_gc_done done;
    assert_ok(vq_store_gc(fx->calls, &gc, &done, &fx->err), &fx->err);
    assert_int_equal(done.answers, 2);
    fx_begin_run(fx, false);
    commit(fx, fx_answer(fx, other, "who knows"));
    assert_int_equal(fx_outcome(fx, other), VQ_OUTCOME_SECOND);
    vq_repair_key(&fx->plan, other, vq_span_str("who knows"), &key);
    assert_true(vq_repair_is_key(vq_span((const char *)key.b, VQ_HASH_BYTES)));
    vq_plan_request(&fx->plan, other, 0, &key);
    assert_false(vq_repair_is_key(vq_span((const char *)key.b, VQ_HASH_BYTES)));
}
