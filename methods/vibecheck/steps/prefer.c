/* Preference labels by judges, if the data has none: both orders, the strict rule, and the sign of
 * the mean over the judges' scores; 0 is a tie. A row without any score stays unlabelled, because a
 * failure is not a vote. */
#include "methods/vibecheck/steps/parts.h"

#include "common/text/fmt.h"

/* The sum of the scores, which has the same sign as their mean. False: no judge has a score. */
static bool row_sum(const struct vq_vibecheck_method *m, uint32_t i, int *ret_sum)
{
    uint32_t judges = m->in.preference_judges_count;
    int sum = 0;
    bool scored = false;
    for (uint32_t j = 0; j < judges; j++) {
        const uint8_t *both = m->outcomes + ((size_t)i * judges + j) * 2;
        struct vq_cell_score s =
            vq_score_cell(VQ_PAIR_STRICT, (enum vq_outcome)both[0], (enum vq_outcome)both[1]);
        if (s.score != VQ_SCORE_MISSING) {
            sum += s.score;
            scored = true;
        }
    }
    *ret_sum = sum;
    return scored;
}

static uint32_t keep_included(const struct vq_vibecheck_method *m, uint32_t *rows, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!m->rows[rows[i]].excluded) {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static void drop_excluded(struct vq_vibecheck_method *m)
{
    uint32_t train = keep_included(m, m->train_sorted, m->train_count);
    m->train_count = keep_included(m, m->train, m->train_count);
    VQ_ASSERT(train == m->train_count);
    m->test_count = keep_included(m, m->test_sorted, m->test_count);
    m->all_count = keep_included(m, m->all_sorted, m->all_count);
}

static enum vq_status labels_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    uint32_t n = m->in.rows_count;
    uint32_t a = 0, b = 0, ties = 0, missing = 0;
    bool drop = m->in.config->data.ties == VQ_TIES_DROP_ALL;
    for (uint32_t i = 0; i < n; i++) {
        int sum;
        bool scored = row_sum(m, i, &sum);
        m->rows[i].preference = (int8_t)((sum > 0) - (sum < 0));
        m->rows[i].excluded = scored && sum == 0 && drop;
        a += sum > 0;
        b += sum < 0;
        ties += scored && sum == 0;
        missing += !scored;
    }
    m->result.preference_outcomes =
        vq_arena_copy(&m->memory, m->outcomes, (size_t)n * m->in.preference_judges_count * 2, 1);
    VQ_TRY(vq_arena_status(&m->memory));
    m->result.preference_source = a + b > 0 ? "judge" : "none";
    VQ_TRY(vq_vibecheck_method_note(
        m,
        "preference labels by %u judge%s: A in %u rows, B in %u, ties %u, "
        "without an answer %u",
        m->in.preference_judges_count, vq_fmt_plural(m->in.preference_judges_count), a, b, ties,
        missing));
    if (drop && ties > 0) {
        drop_excluded(m);
        VQ_TRY(vq_vibecheck_method_note(
            m,
            "tied rows left out (ties: drop_all): %u; %u train and %u test rows are "
            "left",
            ties, m->train_count, m->test_count));
    }
    if (m->train_count == 0) {
        return vq_fail(err, VQ_INVALID,
                       "every training row was judged a tie, and ties: drop_all leaves none; set "
                       "data.ties: keep");
    }
    m->then = vq_walk_labelled;
    return VQ_OK;
}

enum vq_status vq_prefer_begin(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_stage stage = {.name = "prefer",
                             .kind = VQ_STAGE_PREFER,
                             .role = VQ_ROLE_PREFERENCE_JUDGE,
                             .rows = m->all_sorted,
                             .rows_count = m->all_count};
    return vq_vibecheck_method_ask(m, &stage, labels_read);
}
