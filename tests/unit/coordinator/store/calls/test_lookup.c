/* Commit, look-up and rebuild agree, whatever happened in whatever order: against a small model
 * of the rules. */
#include "fixture.h"

#include "common/base/rng.h"

#include <stdio.h>

#define TASKS (2 * FX_SAMPLES * FX_JUDGES * FX_VIBES)

static const char *const says[] = {
    "Model: A", "Model: B", "Model: equal", "Model: N/A",
    "who can tell"}; /* the last one with numbers: no two are alike */

/* One task, repeat 0: what was said first, and what of it failed while it was open. */
struct model {
    enum vq_outcome answer[TASKS];
    enum vq_outcome repaired[TASKS];
    const char *text[TASKS];
    char odd[TASKS][48];
    unsigned seed;
    enum vq_outcome failure[TASKS];
};

static enum vq_outcome own(const struct model *m, uint64_t task)
{
    if (m->failure[task] != VQ_OUTCOME_NONE) {
        return m->failure[task];
    }
    if (m->answer[task] != VQ_OUTCOME_UNPARSEABLE) {
        return m->answer[task];
    }
    return m->repaired[task];
}

static enum vq_outcome expected(const struct fx *fx, const struct model *m, uint64_t task)
{
    struct vq_task_plan cell;
    vq_plan_cell(&fx->plan, task, &cell);
    bool swapped = task % 2 != cell.first;
    if (m->failure[task] == VQ_OUTCOME_NONE && swapped && !cell.audited &&
        vq_outcome_settles(own(m, task ^ 1))) {
        return VQ_OUTCOME_NOT_NEEDED;
    }
    return own(m, task);
}

static void answer_arrives(struct fx *fx, struct model *m, uint64_t task, struct vq_rng *rng)
{
    const char *text = says[vq_rng_below(rng, VQ_COUNT(says))];
    if (text == says[VQ_COUNT(says) - 1]) {
        (void)snprintf(m->odd[task], sizeof(m->odd[task]), "%s %u.%u", text, m->seed,
                       (unsigned)task);
        text = m->odd[task];
    }
    struct vq_result r = fx_answer(fx, task, text);
    fx_add(fx, &r);
    if (m->answer[task] == VQ_OUTCOME_NONE) {
        m->answer[task] = (enum vq_outcome)r.outcome;
        m->text[task] = text;
    }
}

static void repair_arrives(struct fx *fx, struct model *m, uint64_t task, struct vq_rng *rng)
{
    if (m->answer[task] != VQ_OUTCOME_UNPARSEABLE) {
        return;
    }
    struct vq_result r =
        fx_repair(fx, task, m->text[task], says[vq_rng_below(rng, VQ_COUNT(says))]);
    fx_add(fx, &r);
    if (m->repaired[task] == VQ_OUTCOME_NONE) {
        m->repaired[task] = (enum vq_outcome)r.outcome;
    }
}

/* A failure in a batch of its own, so that the model need not know the order inside a batch. */
static void failure_arrives(struct fx *fx, struct model *m, uint64_t task)
{
    if (expected(fx, m, task) == VQ_OUTCOME_NONE) {
        m->failure[task] = VQ_OUTCOME_WORKER_LOST;
    }
    fx_fail(fx, task, VQ_OUTCOME_WORKER_LOST);
}

static void compare(struct fx *fx, const struct model *m, const struct vq_commit *commit)
{
    struct vq_view *view = NULL;
    uint32_t tasks = vq_grid_shard_tasks(&fx->plan.grid);
    struct vq_known known[2 * FX_VIBES];
    uint8_t outcomes[2 * FX_VIBES];
    struct vq_buf text;
    for (size_t i = 0; i < commit->standing_count; i++) {
        assert_int_equal(commit->standing[i].outcome, expected(fx, m, commit->standing[i].task));
        assert_true(i == 0 || commit->standing[i].task > commit->standing[i - 1].task);
    }
    vq_buf_init(&text, 1u << 20);
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    for (uint64_t shard = 0; shard < vq_grid_shards(&fx->plan.grid); shard++) {
        assert_ok(vq_lookup_shard(view, &fx->plan, &fx->run, shard, known, &text, &fx->err),
                  &fx->err);
        assert_ok(vq_lookup_outcomes(view, &fx->plan, &fx->run, shard, outcomes, &fx->err),
                  &fx->err);
        for (uint32_t i = 0; i < tasks; i++) {
            uint64_t task = shard * tasks + i;
            assert_int_equal(known[i].outcome, expected(fx, m, task));
            assert_int_equal(outcomes[i], expected(fx, m, task));
            bool waits =
                known[i].outcome == VQ_OUTCOME_NONE && m->answer[task] == VQ_OUTCOME_UNPARSEABLE;
            assert_true(
                vq_span_eq(known[i].prior, waits ? vq_span_str(m->text[task]) : vq_span(NULL, 0)));
        }
    }
    vq_view_end(&view);
    vq_buf_free(&text);
}

/* The only thing that is stored of its sample. */
TEST_WITH(test_a_failure_alone_is_found, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_commit commit;
    uint64_t task = fx_task(fx, FX_SAMPLES - 1, 0, 0, 0);
    assert_int_equal(fx_outcome(fx, task), VQ_OUTCOME_NONE);
    fx_fail(fx, task, VQ_OUTCOME_WORKER_LOST);
    fx_commit(fx, &commit);
    vq_commit_free(&commit);
    assert_int_equal(fx_outcome(fx, task), VQ_OUTCOME_WORKER_LOST);
    assert_int_equal(fx_outcome(fx, fx_task(fx, FX_SAMPLES - 1, 0, 1, 0)), VQ_OUTCOME_NONE);
    assert_int_equal(fx_outcome(fx, fx_task(fx, 0, 0, 0, 0)), VQ_OUTCOME_NONE);
}

TEST_WITH(test_against_model, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    fx->plan.audit_share = 0.3;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        struct vq_rng rng;
        struct model m = {.seed = (unsigned)seed};
        vq_rng_seed(&rng, seed);
        /* Each seed is a run of its own over other questions: the axes' words are part of the
         * hash. */
        char low[32];
        (void)snprintf(low, sizeof(low), "seed %d", (int)seed);
        for (int v = 0; v < FX_VIBES; v++) {
            fx->axes[v].low = low;
        }
        fx->run.b[2] = (uint8_t)seed;
        fx_begin_run(fx, false);
        for (int batch = 0; batch < 30; batch++) {
            bool failures = vq_rng_below(&rng, 4) == 0;
            for (uint64_t i = 0, n = 1 + vq_rng_below(&rng, 12); i < n; i++) {
                uint64_t task = vq_rng_below(&rng, TASKS);
                if (failures) {
                    failure_arrives(fx, &m, task);
                    break;
                }
                if (vq_rng_below(&rng, 3) == 0) {
                    repair_arrives(fx, &m, task, &rng);
                } else {
                    answer_arrives(fx, &m, task, &rng);
                }
            }
            struct vq_commit commit;
            fx_commit(fx, &commit);
            compare(fx, &m, &commit);
            vq_commit_free(&commit);
        }
    }
}

TEST_WITH(test_text_limit, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result r = fx_answer(fx, 0, says[4]);
    fx_commit_one(fx, &r);
    struct vq_view *view = NULL;
    struct vq_known known[2 * FX_VIBES];
    struct vq_buf text;
    vq_buf_init(&text, 4);
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_int_equal(vq_lookup_shard(view, &fx->plan, &fx->run, 0, known, &text, &fx->err),
                     VQ_LIMIT);
    vq_view_end(&view);
    vq_buf_free(&text);
}

TEST_WITH(test_standing, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_view *view = NULL;
    struct vq_answer answer;
    bool repaired = true;
    struct vq_result r = fx_answer(fx, 0, says[1]);
    fx_commit_one(fx, &r);
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_lookup_standing(view, &fx->plan, &fx->run, 0, &answer, &repaired, &fx->err),
              &fx->err);
    assert_true(vq_span_eq(answer.answer, vq_span_str(says[1])) && !repaired);
    assert_true(vq_span_eq(answer.model, r.model) && vq_id_eq(&answer.call, &r.call));
    assert_true(answer.tokens_in == 100 && answer.tokens_out == 10);
    assert_int_equal(vq_lookup_standing(view, &fx->plan, &fx->run, 6, &answer, &repaired, &fx->err),
                     VQ_NOT_FOUND);
    vq_view_end(&view);
}
