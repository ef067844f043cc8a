/* Order of vibes by a lasso path (LARS with the lasso modification; Efron, Hastie, Johnstone and
 * Tibshirani 2004), as decisions 11 says: columns uncentred, scaled by their root mean square, no
 * intercept, missing cells 0, the step of the least AIC = n log(RSS/n) + 2 df, the path ends where
 * RSS/n < 1e-12. */
#pragma once

#include "methods/stats/stats.h"

/* `target`: rows values (+1 for model matching, +1/-1 for preference prediction). `tie_break`: cols
 * values, the larger absolute value goes first among equal coefficients (pass the separabilities),
 * NULL = column order. `ret_order` gets the cols column numbers, first the one with the largest
 * |coefficient| at the chosen step; `ret_coef` (NULL = not wanted) the cols coefficients on the
 * scaled columns. VQ_OK, VQ_INVALID, VQ_LIMIT, VQ_NOMEM. No rows: the tie-break decides. */
enum vq_status vq_lars_order(struct vq_matrix x, const double *target, const double *tie_break,
                             size_t *ret_order, double *ret_coef,
                             struct vq_error *err) VQ_WARN_UNUSED;
