/* Percentile bootstrap, seeded, by groups of rows. The unit of resampling is the group (question;
 * decisions 6): as many groups as there are are drawn with replacement, each with all its rows. */
#pragma once

#include "methods/stats/logit/logit.h"

#define VQ_BOOTSTRAP_DRAWS 1000

struct vq_bootstrap_options {
    size_t draws; /* 1 .. VQ_STATS_DRAWS_MAX */
    double level; /* 0.95: the interval between the 2.5 and 97.5 percentiles */
    uint64_t seed;
};

struct vq_bootstrap_mean {
    double mean; /* of the data; NaN without a present cell */
    double se;   /* standard deviation (n - 1) of the draws */
    struct vq_interval percentile;
};

/* Means of all columns over present cells, all from the same draws. A draw in which a column has no
 * cell is left out of that column. `factor` (NULL = 1): rows values that multiply each row's cells,
 * NaN = row missing (for scores times preference). `groups` NULL = each row its own. `ret` holds
 * x.cols. Also right for an accuracy: one column of 0, 1/2, 1. VQ_OK, VQ_INVALID, VQ_LIMIT,
 * VQ_NOMEM. */
enum vq_status vq_bootstrap_means(struct vq_matrix x, const double *factor, const uint32_t *groups,
                                  const struct vq_bootstrap_options *options,
                                  struct vq_bootstrap_mean *ret,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* Intervals of the coefficients of a penalised fit with C held fixed: the fit is made again on each
 * draw. `ret` holds x.cols intervals; `ret_intercept` may be NULL. `ret_p` (NULL = not wanted) gets
 * x.cols two-sided p-values, twice the share of draws on the rarer side of 0, (1 + draws there) /
 * (1 + draws), at most 1; draws at exactly 0 are on both sides; NaN without a draw that could be
 * fitted. Returns as the fits do. */
enum vq_status vq_bootstrap_coefficients(const struct vq_logit_data *data, double c,
                                         double l1_ratio, const uint32_t *groups,
                                         const struct vq_bootstrap_options *options,
                                         struct vq_interval *ret, struct vq_interval *ret_intercept,
                                         double *ret_p, struct vq_error *err) VQ_WARN_UNUSED;
