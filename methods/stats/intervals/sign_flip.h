/* The sign-flip test of a mean over units that may hold several rows each (Fisher 1935). The unit
 * is the prompt: rows that repeat one prompt are not independent, so they enter as their mean. */
#pragma once

#include "methods/stats/stats.h"

#define VQ_SIGN_FLIP_EXACT_MAX                                                                     \
    20u /* units that are not 0: up to here all sign patterns are counted */
#define VQ_SIGN_FLIP_DRAWS 9999u /* patterns drawn above that */

struct vq_sign_flip {
    size_t units;   /* with a value */
    size_t nonzero; /* whose mean is not 0: the others say nothing about the sign */
    double p;       /* two-sided; 1 if every unit is 0, NaN without a unit */
    /* all patterns, or, where all means that are not 0 have one size, the binomial sign test */
    bool exact;
};

/* Values at[0], at[stride], ...; NaN is missing. Under the null hypothesis each unit's mean has
 * either sign with the same chance; p is the share of sign patterns whose sum is at least as far
 * from 0 as the one observed. A drawn p is (1 + patterns that are) / (1 + draws) and depends on the
 * seed alone. `groups` NULL: each row is a unit. VQ_OK or VQ_NOMEM. */
enum vq_status vq_sign_flip_test(const double *at, size_t n, size_t stride, const uint32_t *groups,
                                 uint64_t seed, struct vq_sign_flip *ret) VQ_WARN_UNUSED;

#define VQ_SIGN_FLIP_VECTORS_EXACT_MAX 14u

/* The same of vectors: a unit is a row of `units` (its sums, `units.cols` of them, none missing), a
 * flip turns all of it, and the figure is the squared length of the sum over units. Of two columns
 * that mirror each other it is the test above. */
enum vq_status vq_sign_flip_vectors(struct vq_matrix units, uint64_t seed,
                                    struct vq_sign_flip *ret) VQ_WARN_UNUSED;
