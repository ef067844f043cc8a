/* The bootstrap of the older script, offered for comparison and for nothing else: rows of the
 * mirrored set are drawn one by one (twins and repeats apart), elastic net at C = 1 with an
 * intercept is fitted to each draw, and each fit is scored on the whole set it was drawn from, so
 * that its accuracies are in-sample. */
#pragma once

#include "methods/stats/intervals/bootstrap.h"

#define VQ_LEGACY_C        1.0
#define VQ_LEGACY_L1_RATIO 0.5

/* Over the draws; sd divides by n - 1. */
struct vq_legacy_coef {
    double mean, sd;
    struct vq_interval percentile;
    /* 1 - share of draws with a coefficient other than 0: not a p-value, but called one there */
    double p;
};

struct vq_legacy {
    struct vq_legacy_coef *coef; /* the caller's, x.cols of them */
    double accuracy_mean, accuracy_sd;
    struct vq_interval accuracy_percentile;
};

/* `data` is mirrored, without weights, its columns scaled already (vq_stats_root_mean_square). The
 * caller sets ret->coef. VQ_OK, VQ_INVALID (not mirrored, weights, no rows, bad cells), VQ_LIMIT,
 * VQ_NOMEM. */
enum vq_status vq_legacy_bootstrap(const struct vq_logit_data *data,
                                   const struct vq_bootstrap_options *options,
                                   struct vq_legacy *ret, struct vq_error *err) VQ_WARN_UNUSED;
