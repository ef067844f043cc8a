/* Combines the two positions, and averages over judges. Invariants: an outcome that is not a vote
 * never becomes a number; a parsed equal, N/A or unsure settles a strict score for any answer to
 * the other order, so the score does not depend on whether the other order is asked. Not its job:
 * gates, metrics, weights. */
#include "methods/vibecheck/numbers/scores.h"

#include "common/base/alloc.h"

#include <math.h>

/* +1 names the output shown first, -1 the second, 0 neither; only for votes. */
static int raw_score(enum vq_outcome o)
{
    return o == VQ_OUTCOME_FIRST ? 1 : o == VQ_OUTCOME_SECOND ? -1 : 0;
}

static struct vq_cell_score strict(enum vq_outcome first, enum vq_outcome second)
{
    if (vq_outcome_settles(first) || vq_outcome_settles(second)) {
        return (struct vq_cell_score){0, VQ_SCORE_SETTLED};
    }
    if (!vq_outcome_is_vote(first) || !vq_outcome_is_vote(second)) {
        return (struct vq_cell_score){VQ_SCORE_MISSING, VQ_SCORE_FAILED};
    }
    if (first == second) {
        return (struct vq_cell_score){0, VQ_SCORE_CONTRADICTED};
    }
    return (struct vq_cell_score){(int8_t)raw_score(first), VQ_SCORE_AGREED};
}

static struct vq_cell_score lenient(enum vq_outcome first, enum vq_outcome second)
{
    if (!vq_outcome_is_vote(first) || !vq_outcome_is_vote(second)) {
        return (struct vq_cell_score){VQ_SCORE_MISSING, VQ_SCORE_FAILED};
    }
    int s0 = raw_score(first);
    int s1 = raw_score(second);
    int sign = (s0 > s1) - (s0 < s1);
    enum vq_score_reason reason = s0 == 0 && s1 == 0 ? VQ_SCORE_SETTLED
                                  : s0 == s1         ? VQ_SCORE_CONTRADICTED
                                  : s0 == -s1        ? VQ_SCORE_AGREED
                                                     : VQ_SCORE_HALF;
    return (struct vq_cell_score){(int8_t)sign, reason};
}

static struct vq_cell_score forward(enum vq_outcome first)
{
    if (!vq_outcome_is_vote(first)) {
        return (struct vq_cell_score){VQ_SCORE_MISSING, VQ_SCORE_FAILED};
    }
    enum vq_score_reason reason = vq_outcome_settles(first) ? VQ_SCORE_SETTLED : VQ_SCORE_AGREED;
    return (struct vq_cell_score){(int8_t)raw_score(first), reason};
}

struct vq_cell_score vq_score_cell(enum vq_pair_rule rule, enum vq_outcome first,
                                   enum vq_outcome second)
{
    switch (rule) {
    case VQ_PAIR_STRICT: return strict(first, second);
    case VQ_PAIR_LENIENT: return lenient(first, second);
    case VQ_PAIR_FORWARD: return forward(first);
    }
    VQ_ASSERT(false && "unknown pair rule");
    return strict(first, second);
}

const char *vq_score_reason_name(enum vq_score_reason reason)
{
    switch (reason) {
    case VQ_SCORE_AGREED: return "agreed";
    case VQ_SCORE_SETTLED: return "settled";
    case VQ_SCORE_CONTRADICTED: return "contradicted";
    case VQ_SCORE_HALF: return "half";
    case VQ_SCORE_FAILED: return "missing";
    }
    return "?";
}

static void score_row(struct vq_scores *s, enum vq_pair_rule rule, const uint8_t *outcomes,
                      uint32_t sample, uint32_t vibe)
{
    uint64_t row = (uint64_t)sample * s->grid.vibes + vibe;
    int sum = 0;
    int n = 0;
    for (uint32_t judge = 0; judge < s->grid.judges; judge++) {
        struct vq_cell cell = {sample, judge, vibe, 0};
        uint64_t task = vq_grid_task(&s->grid, cell);
        struct vq_cell_score score = vq_score_cell(rule, (enum vq_outcome)outcomes[task],
                                                   (enum vq_outcome)outcomes[task + 1]);
        s->cells[row * s->grid.judges + judge] = score.score;
        if (score.score != VQ_SCORE_MISSING) {
            sum += score.score;
            n++;
        }
    }
    s->x[row] = n == 0 ? NAN : (double)sum / n;
}

enum vq_status vq_scores_create(const struct vq_grid *grid, enum vq_pair_rule rule,
                                const uint8_t *outcomes, struct vq_scores **ret_scores)
{
    struct vq_scores *s;
    VQ_TRY(VQ_ALLOC(s, 1));
    s->grid = *grid;
    uint64_t rows = (uint64_t)grid->samples * grid->vibes;
    s->cells = vq_alloc(rows * grid->judges, 1);
    s->x = vq_alloc(rows, sizeof(*s->x));
    if (s->cells == NULL || s->x == NULL) {
        vq_scores_destroy(&s);
        return VQ_NOMEM;
    }
    for (uint32_t sample = 0; sample < grid->samples; sample++) {
        for (uint32_t vibe = 0; vibe < grid->vibes; vibe++) {
            score_row(s, rule, outcomes, sample, vibe);
        }
    }
    *ret_scores = s;
    return VQ_OK;
}

void vq_scores_destroy(struct vq_scores **scores)
{
    if (*scores != NULL) {
        vq_free((*scores)->cells);
        vq_free((*scores)->x);
        vq_free(*scores);
        *scores = NULL;
    }
}
