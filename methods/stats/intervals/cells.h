/* The mean over a small number of units, each a (model, persona) cell, and its interval. */
#pragma once

#include "methods/stats/stats.h"

#define VQ_CELLS_MIN 6u /* with fewer cells there is no interval */

enum vq_cells_status {
    VQ_CELLS_OK,
    VQ_CELLS_FEW, /* a mean without an interval: fewer than VQ_CELLS_MIN cells */
    VQ_CELLS_NONE /* all cells are missing */
};
/* "ok", "too few cells", "no cells" */
const char *vq_cells_status_name(enum vq_cells_status status);

struct vq_cells_mean {
    enum vq_cells_status status;
    uint32_t cells; /* number of present cells */
    double mean;    /* NaN if all cells are missing */
    /* The percentile bootstrap, 2.5 to 97.5: the interval in published results. Over n cells it is
     * too narrow, because its spread divides by n and it uses normal quantiles. It covers the truth
     * in about P(|t(n-1)| < 1.96 sqrt((n-1)/n)) of cases: 87 % at 6 cells, 92 % at 16, 94 % at
     * 56 */
    struct vq_interval percentile;
    /* mean -+ t(n-1, 0.975) s / sqrt(n) (Student 1908): 95 % for roughly normal cells, also if they
     * are few */
    struct vq_interval ci95;
};

/* NaN is missing; `draws` is 1 to VQ_STATS_DRAWS_MAX. The same seed gives the same draws for the
 * same number of cells. VQ_OK, VQ_INVALID (an infinite value), VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_cells_mean(const double *values, size_t n, size_t draws, uint64_t seed,
                             struct vq_cells_mean *ret_mean) VQ_WARN_UNUSED;

/* Whether there is an interval and it does not contain 0. */
bool vq_cells_excludes_0(const struct vq_cells_mean *mean);
