/* Percentile bootstrap by groups of rows, with a seed. The unit of resampling is the group
 * (question; decisions 6): each draw takes groups with replacement, as many as there are, each with
 * all its rows. */
#pragma once

#include "methods/stats/logit/logit.h"

#define VQ_BOOTSTRAP_DRAWS 1000

struct vq_bootstrap_options {
    size_t draws; /* 1 .. VQ_STATS_DRAWS_MAX */
    double level; /* 0.95: the interval between the 2.5 and 97.5 percentiles */
    uint64_t seed;
};

struct vq_bootstrap_mean {
    double mean; /* of the data; NaN if all cells are missing */
    double se;   /* standard deviation (n - 1) of the draws */
    struct vq_interval percentile;
};

/* Means of all columns over their present cells, all from the same draws. If a column has no cell
 * in a draw, the draw is left out for this column. `factor` (NULL: 1) has one value per row, which
 * multiplies the row's cells; NaN: the row is missing (for scores times preference). `groups` NULL:
 * each row is its own group. `ret` has x.cols entries. Also valid for an accuracy: one column of 0,
 * 1/2, 1. VQ_OK, VQ_INVALID, VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_bootstrap_means(struct vq_matrix x, const double *factor, const uint32_t *groups,
                                  const struct vq_bootstrap_options *options,
                                  struct vq_bootstrap_mean *ret,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* Intervals of the coefficients of a penalised fit with fixed C: the fit is computed again on each
 * draw. `ret` has x.cols intervals; `ret_intercept` may be NULL. `ret_p` (may be NULL) gets x.cols
 * two-sided p-values: twice the share of draws on the rarer side of 0, (1 + draws there) / (1 +
 * draws), at most 1; draws at exactly 0 are on both sides; NaN if no draw could be fitted. Returns
 * the statuses of the fits. */
enum vq_status vq_bootstrap_coefficients(const struct vq_logit_data *data, double c,
                                         double l1_ratio, const uint32_t *groups,
                                         const struct vq_bootstrap_options *options,
                                         struct vq_interval *ret, struct vq_interval *ret_intercept,
                                         double *ret_p, struct vq_error *err) VQ_WARN_UNUSED;
