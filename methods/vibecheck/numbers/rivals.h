/* Private to this folder: preference prediction compared with chance, and with knowing which model
 * wrote which output. */
#pragma once

#include "methods/vibecheck/numbers/estimate.h"

struct vq_pp_rivals vq_rivals_none(void); /* all NaN */

/* ret_right[i]: 1 if the predictor of row i has the sign of its class, 1/2 at a tie, else 0. */
void vq_rivals_right(const struct vq_logit_data *data, double intercept, const double *coef,
                     double *ret_right);

/* `train`, `test`: the designs of PP; `group`: the prompts of test's rows; `pp`: the fit. Without
 * test rows, or between iterations, all members stay NaN. Returns the statuses of the fits of
 * logit.h. */
enum vq_status vq_rivals_compute(struct vq_vibecheck_work *w, const struct vq_logit_data *train,
                                 const struct vq_logit_data *test, const uint32_t *group,
                                 const struct vq_estimate *pp,
                                 struct vq_pp_rivals *ret) VQ_WARN_UNUSED;
