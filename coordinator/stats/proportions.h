/* Intervals of a proportion and the exact binomial test. Successes may be fractions (ties count one half). */
#ifndef VQ_STATS_PROPORTIONS_H
#define VQ_STATS_PROPORTIONS_H

#include "coordinator/stats/stats.h"

enum vq_proportion_method {
    VQ_PROPORTION_WILSON,          /* Wilson 1927 */
    VQ_PROPORTION_CLOPPER_PEARSON, /* Clopper and Pearson 1934 */
    VQ_PROPORTION_AGRESTI_COULL,   /* Agresti and Coull 1998 */
    VQ_PROPORTION_JEFFREYS,        /* quantiles of Beta(x + 1/2, n - x + 1/2) */
    VQ_PROPORTION_NORMAL,
};

/* Ends lie in [0, 1]. NaN ends when n is not positive, successes is not in [0, n], or level not in (0, 1). */
struct vq_interval vq_proportion_interval(enum vq_proportion_method method, double successes,
                                          double n, double level);

/* Exact two-sided p of `successes` in n trials at one half (whole numbers); n = 0 gives 1, bad input NaN. */
double vq_proportion_binomial_half(double successes, double n);

#endif
