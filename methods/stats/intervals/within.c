/* Within-group slopes in two passes: means by group, then sums of centred products. Not its job:
 * which scores are used. */
#include "methods/stats/intervals/within.h"

#include "common/base/alloc.h"

#include <math.h>

#define Z95 1.959963984540054

struct group {
    double n, x, y; /* first sums, then means */
};

struct sums {
    double n, x, y; /* means over all rows */
    double xx, xy, yy;
};

static bool is_present(double x, double y)
{
    return !isnan(x) && !isnan(y);
}

static void add_means(const double *x, const double *y, const uint32_t *group, size_t n,
                      struct group *groups, uint32_t count, struct sums *all)
{
    for (size_t i = 0; i < n; i++) {
        if (is_present(x[i], y[i])) {
            groups[group[i]].n += 1;
            groups[group[i]].x += x[i];
            groups[group[i]].y += y[i];
        }
    }
    for (uint32_t g = 0; g < count; g++) {
        all->n += groups[g].n;
        all->x += groups[g].x;
        all->y += groups[g].y;
        if (groups[g].n > 0) {
            groups[g].x /= groups[g].n;
            groups[g].y /= groups[g].n;
        }
    }
    all->x /= all->n;
    all->y /= all->n;
}

/* Adds the products centred at the groups' means to `within`, and those centred at the overall
 * means to `all`. */
static void add_products(const double *x, const double *y, const uint32_t *group, size_t n,
                         const struct group *groups, struct sums *within, struct sums *all)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_present(x[i], y[i])) {
            continue;
        }
        const struct group *g = &groups[group[i]];
        double dx = x[i] - g->x, dy = y[i] - g->y;
        within->xx += dx * dx;
        within->xy += dx * dy;
        within->yy += dy * dy;
        double ax = x[i] - all->x, ay = y[i] - all->y;
        all->xx += ax * ax;
        all->xy += ax * ay;
        all->yy += ay * ay;
    }
}

static double residuals(const struct sums *s)
{
    double sse = s->yy - s->xy * s->xy / s->xx;
    return sse > 0 ? sse : 0;
}

static double between(const struct group *groups, uint32_t count, double y_mean, size_t present)
{
    double sum = 0;
    for (uint32_t g = 0; g < count; g++) {
        sum += groups[g].n * (groups[g].y - y_mean) * (groups[g].y - y_mean);
    }
    return present > 1 ? sum / (double)(present - 1) : 0;
}

static void solve(const struct group *groups, uint32_t count, const struct sums *within,
                  const struct sums *all, struct vq_within *ret)
{
    double free = (double)ret->rows - (double)ret->groups - 1;
    if (within->xx <= 0) {
        return;
    }
    ret->slope = within->xy / within->xx;
    if (free <= 0) {
        return;
    }
    double s2 = residuals(within) / free;
    ret->se = sqrt(s2 / within->xx);
    ret->intercepts_vary = between(groups, count, all->y, ret->groups) >= s2;
    ret->se_random = ret->intercepts_vary ? ret->se : sqrt(residuals(all) / (all->n - 2) / all->xx);
    ret->ci95 =
        (struct vq_interval){ret->slope - Z95 * ret->se_random, ret->slope + Z95 * ret->se_random};
}

enum vq_status vq_within_slope(const double *x, const double *y, const uint32_t *group, size_t n,
                               uint32_t groups_count, struct vq_within *ret)
{
    if (n > VQ_STATS_ROWS_MAX) {
        return VQ_LIMIT;
    }
    for (size_t i = 0; i < n; i++) {
        if (isinf(x[i]) || isinf(y[i]) || group[i] >= groups_count) {
            return VQ_INVALID;
        }
    }
    struct group *groups;
    VQ_TRY(VQ_ALLOC(groups, groups_count));
    struct sums within = {0}, all = {0};
    add_means(x, y, group, n, groups, groups_count, &all);
    add_products(x, y, group, n, groups, &within, &all);
    struct vq_within found = {
        .rows = (size_t)all.n, .slope = NAN, .se = NAN, .se_random = NAN, .ci95 = {NAN, NAN}};
    for (uint32_t g = 0; g < groups_count; g++) {
        found.groups += groups[g].n > 0;
    }
    solve(groups, groups_count, &within, &all, &found);
    vq_free(groups);
    *ret = found;
    return VQ_OK;
}
