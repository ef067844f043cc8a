/* Private to the pipeline: coefficients of one regression with their intervals and p-values, as the
 * configuration asks. */
#pragma once

#include "methods/stats/logit/logit.h"
#include "methods/vibecheck/numbers/parts.h"

/* Arrays hold a value for each column, in the memory of the work; NaN where a number was not asked
 * for or does not exist. */
struct vq_estimate {
    double c;
    double *coef;
    struct vq_interval *ci95; /* by bootstrap; C is held fixed */
    double *p;
    double accuracy, accuracy_sd; /* of the legacy estimator: in-sample, over its draws */
    struct vq_interval accuracy_ci95;
};

/* `train` is mirrored, with rows and columns, its columns scaled already where that is asked;
 * `groups` are the rows' questions. Returns as the fits of logit.h do. */
enum vq_status vq_estimate_make(struct vq_vibecheck_work *w, const struct vq_logit_data *train,
                                const uint32_t *groups,
                                struct vq_estimate *ret_estimate) VQ_WARN_UNUSED;
