/* The bootstrap of the older script, only for comparison. Rows of the mirrored set are drawn one by
 * one (a row and its mirror image separately, and repeats separately). An elastic net at C = 1 with
 * an intercept is fitted to each draw. Each fit is scored on the whole set from which it was drawn,
 * so its accuracies are in-sample. */
#pragma once

#include "methods/stats/intervals/bootstrap.h"

#define VQ_LEGACY_C        1.0
#define VQ_LEGACY_L1_RATIO 0.5

/* Statistics over the draws; sd divides by n - 1. */
struct vq_legacy_coef {
    double mean, sd;
    struct vq_interval percentile;
    /* 1 - share of draws with a coefficient other than 0: not a p-value, although the script calls
     * it one */
    double p;
};

struct vq_legacy {
    struct vq_legacy_coef *coef; /* owned by the caller; x.cols entries */
    double accuracy_mean, accuracy_sd;
    struct vq_interval accuracy_percentile;
};

/* `data` is mirrored, without weights, and its columns are scaled (vq_stats_root_mean_square). The
 * caller sets ret->coef. VQ_OK, VQ_INVALID (not mirrored, weights, no rows, invalid cells),
 * VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_legacy_bootstrap(const struct vq_logit_data *data,
                                   const struct vq_bootstrap_options *options,
                                   struct vq_legacy *ret, struct vq_error *err) VQ_WARN_UNUSED;
