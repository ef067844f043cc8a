/* Two samples compared: exact permutation tests and the paired t-test. */
#ifndef VQ_METHODS_STATS_INTERVALS_COMPARE_H
#define VQ_METHODS_STATS_INTERVALS_COMPARE_H

#include "methods/stats/stats.h"

#define VQ_COMPARE_ARRANGEMENTS_MAX UINT64_C(50000000)

struct vq_permutation {
    double observed; /* mean(a) - mean(b), or mean(a - b) */
    uint64_t arrangements;
    /* share at least as extreme in absolute value; ties and the observed one included */
    double p_two_sided;
    double p_greater;
};

/* Every way to deal the pooled values. VQ_LIMIT above VQ_COMPARE_ARRANGEMENTS_MAX, VQ_INVALID for
 * an empty side or NaN, VQ_NOMEM. */
enum vq_status vq_compare_two_sample(const double *a, size_t n_a, const double *b, size_t n_b,
                                     struct vq_permutation *ret) VQ_WARN_UNUSED;
/* Every pattern of flipped signs of the differences. */
enum vq_status vq_compare_paired(const double *a, const double *b, size_t n,
                                 struct vq_permutation *ret) VQ_WARN_UNUSED;

struct vq_paired_t {
    size_t n;    /* pairs with both values */
    double mean; /* of a - b */
    double t, p; /* two-sided; NaN below two pairs or without variance */
};

void vq_compare_paired_t(const double *a, const double *b, size_t n, struct vq_paired_t *ret);

#endif
