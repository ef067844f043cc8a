/* Slopes within groups: score ~ x, with an intercept per group, in closed form. Used for scores
 * over the rounds of dialogues, grouped by persona. */
#pragma once

#include "methods/stats/stats.h"

struct vq_within {
    size_t rows, groups; /* present rows; groups with a present row */
    double slope;        /* least squares on values centred by group: Sxy / Sxx */
    double se;           /* sqrt(s2 / Sxx), s2 = SSE / (rows - groups - 1) */
    /* With a random intercept per group (REML). In a balanced design its slope equals the one
     * above. If the groups' mean square is less than s2, its variance is 0, and s2 is that of the
     * plain regression, SSE / (rows - 2) */
    bool intercepts_vary;
    double se_random;
    struct vq_interval ci95; /* slope -+ 1.96 se_random */
};

/* x and y have one value per row, NaN is missing; group[i] < groups_count. Numbers that do not
 * exist (x has no spread, too few rows) are NaN. VQ_OK, VQ_LIMIT, VQ_INVALID (an infinite value, a
 * group out of range), VQ_NOMEM. */
enum vq_status vq_within_slope(const double *x, const double *y, const uint32_t *group, size_t n,
                               uint32_t groups_count, struct vq_within *ret) VQ_WARN_UNUSED;
