/* Computes judge scores, which combine both positions, and row scores from raw verdicts (one byte
 * per task). Invariant: every signed number is positive toward A = models[0]. Source of the rules:
 * the VibeCheck method, with our decision that a failed call is missing, never 0. */
#pragma once

#include "common/conf/config.h"
#include "common/judge/verdict.h"
#include "proto/grid.h"

#define VQ_SCORE_MISSING 127

enum vq_score_reason {
    /* both orders name the same model (or the only order of the rule names one) */
    VQ_SCORE_AGREED,
    VQ_SCORE_SETTLED,      /* a parsed equal, N/A or unsure in either order */
    VQ_SCORE_CONTRADICTED, /* both orders name the same position */
    VQ_SCORE_HALF,         /* lenient: one order names a model, the other does not */
    VQ_SCORE_FAILED,       /* missing: an order that the rule needs has no vote */
};

struct vq_cell_score {
    int8_t score; /* +1, -1, 0 or VQ_SCORE_MISSING */
    enum vq_score_reason reason;
};

/* `first` and `second`: the outcomes of order 0 (A's text is shown first) and order 1 (B's is). */
struct vq_cell_score vq_score_cell(enum vq_pair_rule rule, enum vq_outcome first,
                                   enum vq_outcome second);
const char *vq_score_reason_name(enum vq_score_reason reason);

/* The judge scores of a grid: samples x vibes x judges. The caller of vq_scores_create owns it. */
struct vq_scores {
    struct vq_grid grid;
    int8_t *cells; /* [(sample * vibes + vibe) * judges + judge]; VQ_SCORE_MISSING: no score */
    /* [sample * vibes + vibe]: mean over the judges with a score; NaN: no judge has one */
    double *x;
};

/* `outcomes` has one byte per task in grid order. VQ_NOMEM. */
enum vq_status vq_scores_create(const struct vq_grid *grid, enum vq_pair_rule rule,
                                const uint8_t *outcomes,
                                struct vq_scores **ret_scores) VQ_WARN_UNUSED;
void vq_scores_destroy(struct vq_scores **scores);

static inline int8_t vq_scores_at(const struct vq_scores *s, uint32_t sample, uint32_t vibe,
                                  uint32_t judge)
{
    return s->cells[((uint64_t)sample * s->grid.vibes + vibe) * s->grid.judges + judge];
}
