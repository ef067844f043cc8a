/* More than two models on one vibe: a ranking of the models, and model matching as a
 * multinomial. */
#pragma once

#include "methods/stats/ranking/davidson.h"
#include "methods/vibecheck/numbers/parts.h"

struct vq_ranking_model {
    uint64_t comparisons; /* rows with a score that it takes part in */
    double score;         /* mean score over them, positive where it is the higher one; NaN: none */
    double strength;      /* Davidson's log strength; sum 0 over the models */
    struct vq_davidson_place place;
    double mm_coef; /* multinomial coefficient; NaN unless the vibe is kept and fitted */
    /* by prompt; NaN ends if the fit is degenerate, or nothing is drawn */
    struct vq_interval mm_ci95;
};

struct vq_ranking_vibe {
    enum vq_davidson_status status;
    size_t prompts;
    double log_tie;   /* NaN: none */
    double tie_share; /* of the judge scores that are 0; NaN without one */
    struct vq_ranking_model model[VQ_MODELS_MAX];
};

/* Rankings are of the test rows, or of train without any. */
struct vq_ranking {
    uint32_t models;
    struct vq_ranking_vibe *vibe; /* one a vibe */
    double mm_chance;             /* accuracy of guessing: 1 / models */
    uint64_t mm_outputs_train, mm_outputs_test;
};

/* Each of them leaves two models alone. */

/* After the separabilities of two models were filled in: replaces them. */
void vq_ranking_separability(struct vq_vibecheck_work *w);
/* The p of "no model differs" of every vibe on a split, without rows that the proposer was
 * shown. */
enum vq_status vq_ranking_test(struct vq_vibecheck_work *w, const struct vq_split *s,
                               double *ret_p) VQ_WARN_UNUSED;
/* After the gates: the rankings of all vibes. */
enum vq_status vq_ranking_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
/* matching.c, after that: w->out->mm, the multinomial coefficients and the MM margin of each row,
 * positive where it points to the models as they are. */
enum vq_status vq_matching_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
/* Of preferences: the accuracy on test of naming, of the two models of a row, the one that train
 * prefers in a larger share of its labelled rows. */
double vq_matching_baseline(const struct vq_vibecheck_work *w, const struct vq_split *train,
                            const struct vq_split *test);
