/* Intervals of a proportion, and the exact binomial test. Successes may be fractions (a tie counts
 * one half). */
#pragma once

#include "methods/stats/stats.h"

enum vq_proportion_method {
    VQ_PROPORTION_WILSON,          /* Wilson 1927 */
    VQ_PROPORTION_CLOPPER_PEARSON, /* Clopper and Pearson 1934 */
    VQ_PROPORTION_AGRESTI_COULL,   /* Agresti and Coull 1998 */
    VQ_PROPORTION_JEFFREYS,        /* quantiles of Beta(x + 1/2, n - x + 1/2) */
    VQ_PROPORTION_NORMAL,
};

/* Both ends are in [0, 1]. They are NaN if n is not positive, successes is not in [0, n], or level
 * is not in (0, 1). */
struct vq_interval vq_proportion_interval(enum vq_proportion_method method, double successes,
                                          double n, double level);

/* Wilson's interval of the mean of n outcomes in [0, 1] (usually 0, 1/2, 1) whose rows repeat
 * units. The number of trials is the effective sample size mean (1 - mean) / V, where V is the
 * variance of the mean between units (Korn and Graubard 1998), but at most n; if all units agree,
 * it is the number of units. `groups` NULL: each row is a unit. The ends are NaN for fewer than two
 * units. VQ_OK or VQ_NOMEM. */
enum vq_status vq_proportion_clustered(const double *outcomes, size_t n, const uint32_t *groups,
                                       double level, struct vq_interval *ret) VQ_WARN_UNUSED;

/* The exact two-sided p of `successes` in n trials at one half (whole numbers). n = 0 gives 1,
 * invalid input NaN. */
double vq_proportion_binomial_half(double successes, double n);
