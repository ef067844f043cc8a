/* Intervals of a proportion in closed form or by beta quantiles. Pure; a call owns its working
 * memory. */
#include "methods/stats/intervals/proportions.h"

#include "common/base/alloc.h"
#include "methods/stats/groups.h"
#include "methods/stats/special.h"

#include <math.h>

static struct vq_interval clip(double lo, double hi)
{
    return (struct vq_interval){fmin(fmax(lo, 0.0), 1.0), fmin(fmax(hi, 0.0), 1.0)};
}

static struct vq_interval wilson(double x, double n, double z)
{
    double centre = x + 0.5 * z * z;
    double half = z * sqrt(x * (n - x) / n + 0.25 * z * z);
    struct vq_interval ends = clip((centre - half) / (n + z * z), (centre + half) / (n + z * z));
    /* The ends are set exactly, because the difference of two equal terms leaves a rounding
     * error. */
    ends.lo = x <= 0.0 ? 0.0 : ends.lo;
    ends.hi = x >= n ? 1.0 : ends.hi;
    return ends;
}

struct vq_interval vq_proportion_interval(enum vq_proportion_method method, double successes,
                                          double n, double level)
{
    double x = successes;
    if (!(n > 0.0) || isinf(n) || !(x >= 0.0 && x <= n) || !(level > 0.0 && level < 1.0)) {
        return (struct vq_interval){NAN, NAN};
    }
    double tail = 0.5 * (1.0 - level);
    double z = -vq_normal_quantile(tail);
    double rate = x / n;
    switch (method) {
    case VQ_PROPORTION_WILSON: return wilson(x, n, z);
    case VQ_PROPORTION_CLOPPER_PEARSON:
        return (struct vq_interval){
            x <= 0.0 ? 0.0 : vq_beta_quantile(x, n - x + 1.0, tail),
            x >= n ? 1.0 : 1.0 - vq_beta_quantile(n - x, x + 1.0, tail),
        };
    case VQ_PROPORTION_AGRESTI_COULL: {
        double all = n + z * z;
        double centre = (x + 0.5 * z * z) / all;
        double half = z * sqrt(centre * (1.0 - centre) / all);
        return clip(centre - half, centre + half);
    }
    case VQ_PROPORTION_JEFFREYS:
        return (struct vq_interval){
            vq_beta_quantile(x + 0.5, n - x + 0.5, tail),
            1.0 - vq_beta_quantile(n - x + 0.5, x + 0.5, tail),
        };
    case VQ_PROPORTION_NORMAL: {
        double half = z * sqrt(rate * (1.0 - rate) / n);
        return clip(rate - half, rate + half);
    }
    }
    VQ_ASSERT(false);
}

double vq_proportion_binomial_half(double successes, double n)
{
    if (!(n >= 0.0) || isinf(n) || !(successes >= 0.0 && successes <= n) || floor(n) != n ||
        floor(successes) != successes) {
        return NAN;
    }
    double fewer = fmin(successes, n - successes);
    if (n <= 0.0 || 2.0 * fewer >= n) {
        return 1.0;
    }
    /* P(X <= k) = I_{1/2}(n - k, k + 1) */
    return fmin(1.0, 2.0 * vq_beta_lower(n - fewer, fewer + 1.0, 0.5));
}

/* The effective size of the sample for the mean over all rows, from the sums of each unit's
 * differences from the mean. */
static double effective_size(const double *outcomes, size_t n, const uint32_t *unit, size_t units,
                             double mean, double *sums)
{
    for (size_t row = 0; row < n; row++) {
        sums[unit[row]] += outcomes[row] - mean;
    }
    double squares = 0.0;
    for (size_t u = 0; u < units; u++) {
        squares += sums[u] * sums[u];
    }
    double count = (double)units;
    double rows = (double)n;
    double variance = count / (count - 1.0) * squares / (rows * rows);
    double binomial = mean * (1.0 - mean);
    return binomial > 0.0 && variance > 0.0 ? fmin(rows, fmax(1.0, binomial / variance)) : count;
}

enum vq_status vq_proportion_clustered(const double *outcomes, size_t n, const uint32_t *groups,
                                       double level, struct vq_interval *ret)
{
    uint32_t *unit = vq_alloc(n, sizeof(*unit));
    double *sums = vq_alloc(n, sizeof(*sums));
    size_t units = 0;
    enum vq_status status =
        unit == NULL || sums == NULL ? VQ_NOMEM : vq_groups_index(groups, n, unit, &units);
    if (status == VQ_OK) {
        double mean = 0.0;
        for (size_t row = 0; row < n; row++) {
            mean += outcomes[row] / (double)n;
        }
        *ret = (struct vq_interval){NAN, NAN};
        if (units >= 2) {
            mean = fmin(fmax(mean, 0.0), 1.0);
            double size = effective_size(outcomes, n, unit, units, mean, sums);
            *ret = vq_proportion_interval(VQ_PROPORTION_WILSON, mean * size, size, level);
        }
    }
    vq_free(unit);
    vq_free(sums);
    return status;
}
