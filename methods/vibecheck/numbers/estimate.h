/* Private to this folder: coefficients of one regression with the intervals and p-values that the
 * configuration asks for. */
#pragma once

#include "methods/stats/logit/logit.h"
#include "methods/vibecheck/numbers/parts.h"

/* Arrays have one value per column and are owned by this struct; NaN if a number was not asked for
 * or does not exist. */
struct vq_estimate {
    double c;
    double *coef;
    struct vq_interval *ci95; /* by bootstrap, with fixed C */
    double *p;
    double accuracy, accuracy_sd; /* of the legacy estimator: in-sample, over its draws */
    struct vq_interval accuracy_ci95;
};

/* `train` is mirrored and has rows and columns; its columns are scaled if the configuration asks
 * for it. `groups`: the rows' questions. Returns the statuses of the fits of logit.h; on VQ_OK the
 * caller frees *ret_estimate with vq_estimate_free. */
enum vq_status vq_estimate_make(struct vq_vibecheck_work *w, const struct vq_logit_data *train,
                                const uint32_t *groups,
                                struct vq_estimate *ret_estimate) VQ_WARN_UNUSED;
