/* The smallest separability that the sign-flip test of prompts distinguishes from 0. */
#pragma once

#include "methods/stats/stats.h"

#define VQ_POWER_LEVEL 0.05 /* of q, over the vibes */
#define VQ_POWER_SHARE 0.8  /* of runs whose test finds it different from 0 */

/* The chance that the exact two-sided sign test of `units` units at level `alpha` rejects, if each
 * is +1 with chance (1 + separability) / 2 and else -1. */
double vq_power_of(size_t units, double alpha, double separability);
/* The smallest separability (0 to 1) whose power is at least `power`; NaN if no separability has
 * it: there are too few units. */
double vq_power_smallest(size_t units, double alpha, double power);

struct vq_power {
    size_t units;                                   /* prompts */
    uint32_t tests;                                 /* vibes */
    double smallest, smallest_half, smallest_twice; /* with these units, half and twice of them */
};
/* At VQ_POWER_SHARE, and at VQ_POWER_LEVEL / tests: the level of Benjamini and Hochberg's smallest
 * p, which is enough whatever the other vibes are. */
struct vq_power vq_power_plan(size_t units, uint32_t tests);

/* Different values among groups[0..n-1]. SIZE_MAX: no memory. */
size_t vq_power_units(const uint32_t *groups, size_t n);
