/* Adjusted p-values for many tests. */
#pragma once

#include "methods/stats/stats.h"

enum vq_multiple_method {
    VQ_MULTIPLE_BH, /* Benjamini and Hochberg 1995 */
    VQ_MULTIPLE_HOLM,
};

/* Writes adjusted values in input order to ret_adjusted (n values, may be p itself). NaN (no test)
 * stays NaN and is not counted as a test. VQ_OK, VQ_INVALID (a p outside of [0, 1]), VQ_NOMEM. */
enum vq_status vq_multiple_adjust(enum vq_multiple_method method, const double *p, size_t n,
                                  double *ret_adjusted) VQ_WARN_UNUSED;
