/* The smallest separability that the sign-flip test of prompts distinguishes from 0. */
#pragma once

#include "methods/stats/stats.h"

#define VQ_POWER_LEVEL 0.05 /* of q, over the vibes */
#define VQ_POWER_SHARE 0.8  /* of runs: their test finds a difference from 0 */

/* The probability that the exact two-sided sign test of `units` units at level `alpha` rejects, if
 * each unit is +1 with probability (1 + separability) / 2 and else -1. */
double vq_power_of(size_t units, double alpha, double separability);
/* The smallest separability (0 to 1) with a power of at least `power`; NaN if there are too few
 * units for any separability. */
double vq_power_smallest(size_t units, double alpha, double power);

struct vq_power {
    size_t units;   /* prompts */
    uint32_t tests; /* vibes */
    /* with these units, with half and with twice their number */
    double smallest, smallest_half, smallest_twice;
};
/* At VQ_POWER_SHARE, and at VQ_POWER_LEVEL / tests: this is the level for the smallest p of
 * Benjamini and Hochberg, so it suffices for any values of the other vibes. */
struct vq_power vq_power_plan(size_t units, uint32_t tests);

/* Number of distinct values among groups[0..n-1]. SIZE_MAX: no memory. */
size_t vq_power_units(const uint32_t *groups, size_t n);
