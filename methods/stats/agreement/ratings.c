/* Agreement of ratings, from the counts of each pair of values. Not its job: kappa itself
 * (agreement.c). */
#include "methods/stats/agreement/ratings.h"

#include <math.h>

static bool is_rating(double value, int least, int most)
{
    return isnan(value) || (value == floor(value) && value >= least && value <= most);
}

enum vq_status vq_ratings_agree(const double *a, const double *b, size_t n, int least, int most,
                                struct vq_ratings_agreement *ret)
{
    static const double none = NAN;
    double counts[VQ_AGREEMENT_CATEGORIES_MAX * VQ_AGREEMENT_CATEGORIES_MAX] = {0};
    if (most < least || most - least >= VQ_AGREEMENT_CATEGORIES_MAX) {
        return VQ_LIMIT;
    }
    size_t categories = (size_t)(most - least) + 1;
    struct vq_ratings_agreement found = {0};
    double equal = 0, distance = 0, near = 0, sum_a = 0, sum_b = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_rating(a[i], least, most) || !is_rating(b[i], least, most)) {
            return VQ_INVALID;
        }
        if (isnan(a[i]) || isnan(b[i])) {
            continue;
        }
        double apart = fabs(a[i] - b[i]);
        counts[(size_t)(a[i] - least) * categories + (size_t)(b[i] - least)] += 1;
        found.rows++;
        equal += apart == 0;
        near += apart <= 1;
        distance += apart;
        sum_a += a[i];
        sum_b += b[i];
    }
    VQ_TRY(vq_agreement_cohen_counts(counts, categories, &found.kappa));
    double rows = found.rows > 0 ? (double)found.rows : none;
    found.exact = equal / rows;
    found.absolute_error = distance / rows;
    found.within_one = near / rows;
    found.mean_a = sum_a / rows;
    found.mean_b = sum_b / rows;
    *ret = found;
    return VQ_OK;
}
