/* The sign-flip test of a mean over units that may have several rows each (Fisher 1935). The unit
 * is the prompt: rows that repeat a prompt are not independent, so the test uses their mean. */
#pragma once

#include "methods/stats/stats.h"

#define VQ_SIGN_FLIP_EXACT_MAX                                                                     \
    20u /* units that are not 0: up to this number all sign patterns are counted */
#define VQ_SIGN_FLIP_DRAWS 9999u /* number of random patterns for more units */

struct vq_sign_flip {
    size_t units;   /* number of units with a value */
    size_t nonzero; /* number of units with a mean other than 0: the others have no sign */
    double p;       /* two-sided; 1 if every unit is 0, NaN if no unit has a value */
    /* all patterns were counted; or all means other than 0 have one size, so that it is the
     * binomial sign test */
    bool exact;
};

/* Values at[0], at[stride], ...; NaN is missing. Under the null hypothesis each unit's mean has
 * either sign with the same probability. p is the share of sign patterns whose sum is at least as
 * far from 0 as the observed one. With random patterns, p is (1 + such patterns) / (1 + draws) and
 * depends only on the seed. `groups` NULL: each row is a unit. VQ_OK or VQ_NOMEM. */
enum vq_status vq_sign_flip_test(const double *at, size_t n, size_t stride, const uint32_t *groups,
                                 uint64_t seed, struct vq_sign_flip *ret) VQ_WARN_UNUSED;

#define VQ_SIGN_FLIP_VECTORS_EXACT_MAX 14u

/* The same test for vectors: a unit is a row of `units` (units.cols sums, none missing), a flip
 * negates the whole row, and the statistic is the squared length of the sum over units. For two
 * columns that mirror each other it equals the test above. */
enum vq_status vq_sign_flip_vectors(struct vq_matrix units, uint64_t seed,
                                    struct vq_sign_flip *ret) VQ_WARN_UNUSED;
