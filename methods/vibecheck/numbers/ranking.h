/* More than two models on one vibe: a ranking of the models, and model matching as a
 * multinomial. */
#pragma once

#include "methods/stats/ranking/davidson.h"
#include "methods/vibecheck/numbers/parts.h"

struct vq_ranking_model {
    uint64_t comparisons; /* number of rows with a score in which it takes part */
    /* mean score over these rows, positive if it is the higher one; NaN: none */
    double score;
    double strength; /* Davidson's log strength; sum 0 over the models */
    struct vq_davidson_place place;
    double mm_coef; /* multinomial coefficient; NaN unless the vibe is kept and fitted */
    /* by prompt; the ends are NaN if the fit is degenerate, or there are no draws */
    struct vq_interval mm_ci95;
};

struct vq_ranking_vibe {
    enum vq_davidson_status status;
    size_t prompts;
    double log_tie;   /* NaN: no ties */
    double tie_share; /* share of the judge scores that are 0; NaN without scores */
    struct vq_ranking_model model[VQ_MODELS_MAX];
};

/* Rankings are of the test rows, or of train if there is no test split. */
struct vq_ranking {
    uint32_t models;
    struct vq_ranking_vibe *vibe; /* one per vibe */
    double mm_chance;             /* accuracy of guessing: 1 / models */
    uint64_t mm_outputs_train, mm_outputs_test;
};

/* With two models these functions change nothing. */

/* Replaces the separabilities that are computed for two models. */
void vq_ranking_separability(struct vq_vibecheck_work *w);
/* The p of "no model differs" of every vibe on a split, without rows that the proposer was
 * shown. */
enum vq_status vq_ranking_test(struct vq_vibecheck_work *w, const struct vq_split *s,
                               double *ret_p) VQ_WARN_UNUSED;
/* Computes the rankings of all vibes, after the gates. */
enum vq_status vq_ranking_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
/* matching.c, after vq_ranking_compute: computes w->out->mm, the multinomial coefficients and the
 * MM margin of each row, which is positive if it points to the row's models in their order. */
enum vq_status vq_matching_compute(struct vq_vibecheck_work *w) VQ_WARN_UNUSED;
/* A baseline for preferences. For each pair of models it names the one that train prefers in a
 * larger share of its labelled rows; returns its accuracy on test. */
double vq_matching_baseline(const struct vq_vibecheck_work *w, const struct vq_split *train,
                            const struct vq_split *test);
