/* Power of the sign-flip test if every prompt's mean is +1 or -1. The test is then the exact sign
 * test, and its level and its power are binomial tails. Prompts with a mean of 0 or in between vary
 * less at the same separability, so a run can detect a smaller one; this is the bound that needs no
 * data. Not its job: the test itself (sign_flip.c). */
#include "methods/stats/intervals/power.h"

#include "common/base/alloc.h"
#include "methods/stats/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HALVINGS 60

/* P(X >= k) in n trials with success probability p. */
static double upper_tail(size_t n, size_t k, double p)
{
    if (k == 0) {
        return 1.0;
    }
    return k > n ? 0.0 : vq_beta_lower((double)k, (double)(n - k) + 1.0, p);
}

/* The smallest k with 2 P(X >= k) <= alpha under 1/2; n + 1 if there is none. */
static size_t critical(size_t n, double alpha)
{
    size_t lo = n / 2 + 1, hi = n + 1; /* invariant: hi rejects, or is n + 1 */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (2.0 * upper_tail(n, mid, 0.5) <= alpha) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return hi;
}

double vq_power_of(size_t units, double alpha, double separability)
{
    size_t k = critical(units, alpha);
    double p = (1.0 + separability) / 2.0;
    return upper_tail(units, k, p) + upper_tail(units, k, 1.0 - p);
}

double vq_power_smallest(size_t units, double alpha, double power)
{
    if (critical(units, alpha) > units) {
        return NAN;
    }
    double lo = 0.0, hi = 1.0;
    for (int i = 0; i < HALVINGS; i++) {
        double mid = (lo + hi) / 2.0;
        if (vq_power_of(units, alpha, mid) >= power) {
            hi = mid;
        } else {
            lo = mid;
        }
    }
    return hi;
}

struct vq_power vq_power_plan(size_t units, uint32_t tests)
{
    double alpha = VQ_POWER_LEVEL / (tests > 0 ? tests : 1);
    return (struct vq_power){units, tests, vq_power_smallest(units, alpha, VQ_POWER_SHARE),
                             vq_power_smallest(units / 2, alpha, VQ_POWER_SHARE),
                             vq_power_smallest(units * 2, alpha, VQ_POWER_SHARE)};
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

size_t vq_power_units(const uint32_t *groups, size_t n)
{
    uint32_t *sorted = vq_alloc(n, sizeof(*sorted));
    if (sorted == NULL) {
        return SIZE_MAX;
    }
    size_t units = 0;
    if (n > 0) {
        memcpy(sorted, groups, n * sizeof(*sorted));
        qsort(sorted, n, sizeof(*sorted), ascending);
    }
    for (size_t i = 0; i < n; i++) {
        units += i == 0 || sorted[i] != sorted[i - 1];
    }
    vq_free(sorted);
    return units;
}
