/* Order of vibes by a lasso path (LARS with the lasso modification; Efron, Hastie, Johnstone and
 * Tibshirani 2004), as in decisions 11: columns uncentred, scaled by their root mean square, no
 * intercept, missing cells 0, the step with the least AIC = n log(RSS/n) + 2 df; the path ends if
 * RSS/n < 1e-12. */
#pragma once

#include "methods/stats/stats.h"

/* `target`: rows values (+1 for model matching, +1/-1 for preference prediction). `tie_break`: cols
 * values; among equal coefficients the larger absolute value comes first (pass the separabilities);
 * NULL: column order. `ret_order` gets the cols column numbers, by descending |coefficient| at the
 * chosen step; `ret_coef` (may be NULL) gets the cols coefficients on the scaled columns. VQ_OK,
 * VQ_INVALID, VQ_LIMIT, VQ_NOMEM. Without rows the tie-break decides. */
enum vq_status vq_lars_order(struct vq_matrix x, const double *target, const double *tie_break,
                             size_t *ret_order, double *ret_coef,
                             struct vq_error *err) VQ_WARN_UNUSED;
