/* How far two raters agree: between judges, or a judge and a person. Sources: Cohen 1960 and 1968
 * (weighted kappa). */
#pragma once

#include "methods/stats/agreement/agreement.h"

struct vq_ratings_agreement {
    struct vq_kappa kappa; /* .kappa plain, .kappa_quadratic with weights (i - j)^2 */
    size_t rows;           /* rated by both */
    double exact;          /* share of equal ratings; NaN without a row, as the next two */
    double absolute_error; /* mean of |a - b| */
    double within_one;     /* share with |a - b| <= 1 */
    double mean_a, mean_b;
};

/* Whole numbers from `least` to `most` (1 to 5; 0 and 1 for yes or no, A or B), NaN is missing:
 * such rows are left out. VQ_OK, VQ_INVALID (another value), VQ_LIMIT (more than
 * VQ_AGREEMENT_CATEGORIES_MAX of them). */
enum vq_status vq_ratings_agree(const double *a, const double *b, size_t n, int least, int most,
                                struct vq_ratings_agreement *ret) VQ_WARN_UNUSED;
