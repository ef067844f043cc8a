/* Calls that wait in batches at providers: their records, kept until the result is committed, and
 * what is known of the batches. */
#include "coordinator/store/calls/batched.h"
#include "coordinator/store/calls/ledger.h"
#include "tests/unit/coordinator/store/calls/fixture.h"

struct seen {
    uint32_t count;
    struct vq_id call;
    uint64_t task, cost_nano;
    struct vq_batch_report batch;
    char id[32];
};

static enum vq_status see(void *ctx, const struct vq_result *draft)
{
    struct seen *seen = ctx;
    seen->count++;
    seen->call = draft->call;
    seen->task = draft->task;
    seen->cost_nano = draft->cost_nano;
    return VQ_OK;
}

static enum vq_status see_batch(void *ctx, const struct vq_batch_report *said)
{
    struct seen *seen = ctx;
    seen->count++;
    seen->batch = *said;
    (void)snprintf(seen->id, sizeof(seen->id), "%.*s", (int)said->about.id.bytes,
                   said->about.id.at);
    return VQ_OK;
}

static struct seen waiting(struct fx *fx, const char *name)
{
    struct seen seen = {0};
    struct vq_view *view = NULL;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_batched_each(view, &fx->run, name, see, &seen, &fx->err), &fx->err);
    vq_view_end(&view);
    return seen;
}

static struct vq_result batched(struct fx *fx, uint64_t task, const char *text)
{
    struct vq_result r = fx_result(fx, task, 0);
    r.end = VQ_END_BATCHED;
    r.http_status = 0;
    r.cost_nano = 900;
    r.answer = (struct vq_span){NULL, 0};
    r.error = vq_span_str(text);
    return r;
}

TEST_WITH(test_a_call_waits_until_its_result, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result first = batched(fx, 4, "b-1 0"), second = batched(fx, 6, "b-2 0");
    fx_commit_one(fx, &first);
    fx_commit_one(fx, &second);
    assert_int_equal(waiting(fx, NULL).count, 2);
    assert_int_equal(waiting(fx, "b-1").count, 1);
    assert_int_equal(waiting(fx, "b-1").task, 4);
    assert_int_equal(waiting(fx, "b-1").cost_nano, 900);
    assert_int_equal(waiting(fx, "b").count, 0);
    struct vq_result answer = fx_answer(fx, 4, "Model: A");
    answer.call = first.call;
    fx_commit_one(fx, &answer);
    assert_int_equal(waiting(fx, "b-1").count, 0);
    assert_int_equal(waiting(fx, NULL).count, 1);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
    fx_commit_one(fx, &first); /* and not back again */
    assert_int_equal(waiting(fx, "b-1").count, 0);
}

TEST_WITH(test_both_ends_in_one_commit, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    struct vq_result first = batched(fx, 4, "b-1 0"), answer = fx_answer(fx, 4, "Model: A");
    answer.call = first.call;
    fx_add(fx, &first);
    fx_add(fx, &answer);
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
    assert_int_equal(waiting(fx, NULL).count, 0);
    assert_int_equal(fx_outcome(fx, 4), VQ_OUTCOME_FIRST);
}

TEST_WITH(test_what_is_known_of_a_batch, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    for (uint8_t i = 1; i <= 2; i++) {
        struct vq_batch_report said = {.about = {.name = vq_span_str("b-1"),
                                                 .pool = vq_span_str("p"),
                                                 .id = vq_span_str(i == 1 ? "" : "batch_7"),
                                                 .state = i,
                                                 .calls = 40},
                                       .owner = {{i}}};
        struct vq_result r = batched(fx, 4u + 2u * i, "b-1 0");
        fx->batch.said = &said;
        fx->batch.said_count = 1;
        fx_add(fx, &r);
        fx_commit(fx, &commit);
        vq_commit_free(&commit);
        fx->batch.said_count = 0;
    }
    struct seen seen = {0};
    struct vq_view *view = NULL;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_batched_each_batch(view, &fx->run, see_batch, &seen, &fx->err), &fx->err);
    vq_view_end(&view);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.batch.about.state, VQ_BATCH_PROGRESS_CREATED);
    assert_int_equal(seen.batch.about.calls, 40);
    assert_string_equal(seen.id, "batch_7");
    assert_int_equal(seen.batch.owner.b[0], 2);
}
