/* Intervals of a proportion and the exact binomial test. Successes may be fractions (ties count one
 * half). */
#pragma once

#include "methods/stats/stats.h"

enum vq_proportion_method {
    VQ_PROPORTION_WILSON,          /* Wilson 1927 */
    VQ_PROPORTION_CLOPPER_PEARSON, /* Clopper and Pearson 1934 */
    VQ_PROPORTION_AGRESTI_COULL,   /* Agresti and Coull 1998 */
    VQ_PROPORTION_JEFFREYS,        /* quantiles of Beta(x + 1/2, n - x + 1/2) */
    VQ_PROPORTION_NORMAL,
};

/* Ends lie in [0, 1]. NaN ends when n is not positive, successes is not in [0, n], or level not in
 * (0, 1). */
struct vq_interval vq_proportion_interval(enum vq_proportion_method method, double successes,
                                          double n, double level);

/* Wilson's interval of the mean of n outcomes in [0, 1] (usually 0, 1/2, 1) whose rows repeat
 * units: the number of trials is the effective sample size mean (1 - mean) / V, V the variance of
 * the mean between units (Korn and Graubard 1998), at most n; where all units agree, the number of
 * units. `groups` NULL: each row is a unit. NaN ends below two units. VQ_OK or VQ_NOMEM. */
enum vq_status vq_proportion_clustered(const double *outcomes, size_t n, const uint32_t *groups,
                                       double level, struct vq_interval *ret) VQ_WARN_UNUSED;

/* Exact two-sided p of `successes` in n trials at one half (whole numbers); n = 0 gives 1, bad
 * input NaN. */
double vq_proportion_binomial_half(double successes, double n);
