/* The share of verdicts that settle a score, from the ledger of all runs: of one model by its
 * names, without repairs and without failed calls. */
#include "fixture.h"

#include "coordinator/store/calls/settling.h"

static void commit(struct fx *fx, const char *text, const char *model)
{
    struct vq_result r = fx_answer(fx, 0, text);
    r.model = vq_span_str(model);
    fx_commit_one(fx, &r);
}

static struct vq_settling of(struct fx *fx, const char *name, const char *other)
{
    const char *const names[] = {name, other};
    struct vq_view *view = NULL;
    struct vq_settling settling;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_settling_of(view, names, other == NULL ? 1 : 2, &settling, &fx->err), &fx->err);
    vq_view_end(&view);
    return settling;
}

TEST_WITH(verdicts_of_a_model_in_all_runs, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    assert_int_equal(of(fx, "gpt", NULL).verdicts, 0);
    commit(fx, "Model: A", "gpt-2024-05-13");
    commit(fx, "Model: equal", "gpt");
    commit(fx, "no verdict", "gpt");
    commit(fx, "Model: equal", "gpt-large"); /* another model */
    struct vq_result failed = fx_failure(fx, 0, 0, VQ_END_LOST, VQ_OUTCOME_UNAVAILABLE);
    failed.model = vq_span_str("gpt");
    failed.final = false;
    fx_commit_one(fx, &failed);
    struct vq_result repair = fx_repair(fx, 0, "no verdict", "Model: equal");
    repair.model = vq_span_str("gpt");
    fx_commit_one(fx, &repair);
    fx->run = (struct vq_id){.b = {9}};
    fx_begin_run(fx, false);
    commit(fx, "Model: equal", "lab/gpt"); /* as another pool calls it */
    struct vq_settling s = of(fx, "gpt", NULL);
    assert_true(s.verdicts == 2 && s.settled == 1);
    s = of(fx, "gpt", "lab/gpt");
    assert_true(s.verdicts == 3 && s.settled == 2);
}

TEST(names_with_a_date_or_a_version_are_of_the_model)
{
    assert_true(vq_settling_is_called(vq_span_str("m"), "m"));
    assert_true(vq_settling_is_called(vq_span_str("m-2024"), "m"));
    assert_true(vq_settling_is_called(vq_span_str("m@7"), "m"));
    assert_true(vq_settling_is_called(vq_span_str("m:free"), "m"));
    assert_false(vq_settling_is_called(vq_span_str("m-large"), "m"));
    assert_false(vq_settling_is_called(vq_span_str("m2"), "m"));
    assert_false(vq_settling_is_called(vq_span_str("n"), "m"));
}
