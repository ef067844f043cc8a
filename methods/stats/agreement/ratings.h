/* Agreement of two raters: two judges, or a judge and a person. Sources: Cohen 1960 and 1968
 * (weighted kappa). */
#pragma once

#include "methods/stats/agreement/agreement.h"

struct vq_ratings_agreement {
    struct vq_kappa kappa; /* .kappa is unweighted; .kappa_quadratic has weights (i - j)^2 */
    size_t rows;           /* number of rows that both rated */
    double exact;          /* share of equal ratings; this and the next two are NaN without rows */
    double absolute_error; /* mean of |a - b| */
    double within_one;     /* share with |a - b| <= 1 */
    double mean_a, mean_b;
};

/* Ratings are whole numbers from `least` to `most` (1 to 5; 0 and 1 for yes or no, A or B). Rows
 * with a NaN (missing) are left out. VQ_OK, VQ_INVALID (another value), VQ_LIMIT (more than
 * VQ_AGREEMENT_CATEGORIES_MAX values). */
enum vq_status vq_ratings_agree(const double *a, const double *b, size_t n, int least, int most,
                                struct vq_ratings_agreement *ret) VQ_WARN_UNUSED;
