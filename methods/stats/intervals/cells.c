/* Means of cells with two intervals: Student's, and the bootstrap's, which draws the present cells
 * with replacement. A call owns its working memory. Not its job: what a cell is (the caller
 * decides). */
#include "methods/stats/intervals/cells.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "methods/stats/special.h"

#include <math.h>

const char *vq_cells_status_name(enum vq_cells_status status)
{
    static const char *const names[] = {"ok", "too few cells", "no cells"};
    return status <= VQ_CELLS_NONE ? names[status] : "?";
}

static struct vq_interval student(const double *present, size_t n, double mean)
{
    double squares = 0, count = (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (present[i] - mean) * (present[i] - mean);
    }
    double half = vq_student_975(count - 1) * sqrt(squares / (count - 1) / count);
    return (struct vq_interval){mean - half, mean + half};
}

static void draw(const double *present, size_t n, double *means, size_t draws, uint64_t seed)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    for (size_t d = 0; d < draws; d++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += present[vq_rng_below(&rng, n)];
        }
        means[d] = sum / (double)n;
    }
    vq_stats_sort(means, draws);
}

/* `work` has room for n + draws values. */
static void compute(const double *values, size_t n, size_t draws, uint64_t seed, double *work,
                    struct vq_cells_mean *m)
{
    double *present = work, *means = work + n;
    double sum = 0;
    size_t cells = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(values[i])) {
            present[cells++] = values[i];
            sum += values[i];
        }
    }
    m->cells = (uint32_t)cells;
    if (cells == 0) {
        return;
    }
    m->mean = sum / (double)cells;
    m->status = cells < VQ_CELLS_MIN ? VQ_CELLS_FEW : VQ_CELLS_OK;
    if (m->status == VQ_CELLS_OK) {
        draw(present, cells, means, draws, seed);
        m->percentile = (struct vq_interval){vq_stats_quantile(means, draws, 0.025),
                                             vq_stats_quantile(means, draws, 0.975)};
        m->ci95 = student(present, cells, m->mean);
    }
}

enum vq_status vq_cells_mean(const double *values, size_t n, size_t draws, uint64_t seed,
                             struct vq_cells_mean *ret_mean)
{
    if (n > VQ_STATS_ROWS_MAX || draws < 1 || draws > VQ_STATS_DRAWS_MAX) {
        return VQ_LIMIT;
    }
    for (size_t i = 0; i < n; i++) {
        if (isinf(values[i])) {
            return VQ_INVALID;
        }
    }
    double *work;
    VQ_TRY(VQ_ALLOC(work, n + draws));
    struct vq_cells_mean m = {
        .status = VQ_CELLS_NONE, .mean = NAN, .percentile = {NAN, NAN}, .ci95 = {NAN, NAN}};
    compute(values, n, draws, seed, work, &m);
    vq_free(work);
    *ret_mean = m;
    return VQ_OK;
}

bool vq_cells_excludes_0(const struct vq_cells_mean *mean)
{
    return mean->status == VQ_CELLS_OK && (mean->ci95.lo > 0 || mean->ci95.hi < 0);
}
