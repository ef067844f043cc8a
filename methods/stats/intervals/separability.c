/* Means of scores, their bounds and overlaps, in plain loops over a column. Pure; a call owns its
 * working memory. Not its job: gates (methods/vibecheck/numbers/gates.c) and resampling
 * (bootstrap.c). */
#include "methods/stats/intervals/separability.h"

#include "common/base/alloc.h"
#include "methods/stats/intervals/proportions.h"
#include "methods/stats/intervals/units.h"

#include <math.h>

static void count_scores(const double *at, size_t n, size_t stride, struct vq_separability *sep)
{
    double sum = 0.0;
    for (size_t row = 0; row < n; row++) {
        double score = at[row * stride];
        if (isnan(score)) {
            sep->missing++;
            continue;
        }
        sum += score;
    }
    size_t present = n - sep->missing;
    if (present > 0) {
        sep->mean = sum / (double)present;
    }
    if (n > 0) {
        sep->bounds.lo = (sum - (double)sep->missing) / (double)n;
        sep->bounds.hi = (sum + (double)sep->missing) / (double)n;
    }
}

static void align_with(const double *at, size_t n, size_t stride, const double *preference,
                       struct vq_separability *sep)
{
    size_t rows = 0;
    double sum = 0.0;
    for (size_t row = 0; row < n; row++) {
        double product = at[row * stride] * preference[row];
        if (!isnan(product)) {
            sum += product;
            rows++;
        }
    }
    if (rows > 0) {
        sep->pref_mean = sum / (double)rows;
    }
}

void vq_separability_column(const double *at, size_t n, size_t stride, const double *preference,
                            struct vq_separability *ret_sep)
{
    struct vq_separability sep = {
        .mean = NAN,
        .bounds = {NAN, NAN},
        .pref_mean = NAN,
    };
    count_scores(at, n, stride, &sep);
    if (preference != NULL) {
        align_with(at, n, stride, preference, &sep);
    }
    *ret_sep = sep;
}

bool vq_separability_gate_could_flip(const struct vq_separability *sep, double threshold)
{
    if (sep->missing == 0) {
        return false;
    }
    bool passes = !isnan(sep->mean) && fabs(sep->mean) > threshold;
    double largest = fmax(fabs(sep->bounds.lo), fabs(sep->bounds.hi));
    bool spans_zero = sep->bounds.lo <= 0.0 && sep->bounds.hi >= 0.0;
    double smallest = spans_zero ? 0.0 : fmin(fabs(sep->bounds.lo), fabs(sep->bounds.hi));
    return passes ? smallest <= threshold : largest > threshold;
}

/* The count of the most common present value, found by pairwise cancelling; it is 0 only if all
 * values are missing. If no value has half of the cells, another value may be more common, but then
 * the column is far from constant. */
static size_t most_common(const double *at, size_t n, size_t stride, size_t *ret_present)
{
    double candidate = NAN;
    size_t lead = 0;
    for (size_t row = 0; row < n; row++) {
        double value = at[row * stride];
        if (isnan(value)) {
            continue;
        }
        bool same = fabs(value - candidate) < 1e-12;
        candidate = lead == 0 ? value : candidate;
        lead = lead == 0 || same ? lead + 1 : lead - 1;
    }
    size_t count = 0;
    *ret_present = 0;
    for (size_t row = 0; row < n; row++) {
        *ret_present += isnan(at[row * stride]) ? 0 : 1;
        count += fabs(at[row * stride] - candidate) < 1e-12 ? 1 : 0;
    }
    return count;
}

bool vq_separability_nearly_constant(const double *at, size_t n, size_t stride)
{
    size_t present;
    size_t common = most_common(at, n, stride, &present);
    return present - common < VQ_VARIED_CELLS;
}

enum vq_status vq_separability_interval(const double *at, size_t n, size_t stride,
                                        const uint32_t *groups, struct vq_interval percentile,
                                        struct vq_interval *ret)
{
    double *means;
    VQ_TRY(VQ_ALLOC(means, n));
    size_t units = 0;
    enum vq_status status = vq_unit_means(at, n, stride, groups, means, &units);
    if (status == VQ_OK) {
        size_t present;
        size_t common = most_common(means, units, 1, &present);
        *ret = percentile;
        if (present - common < VQ_VARIED_UNITS) {
            double sum = 0.0;
            for (size_t u = 0; u < units; u++) {
                sum += isnan(means[u]) ? 0.0 : 0.5 * (means[u] + 1.0);
            }
            struct vq_interval half =
                vq_proportion_interval(VQ_PROPORTION_WILSON, sum, (double)present, 0.95);
            *ret = (struct vq_interval){2.0 * half.lo - 1.0, 2.0 * half.hi - 1.0};
        }
    }
    vq_free(means);
    return status;
}

double vq_separability_overlap(struct vq_matrix x, size_t col_a, size_t col_b,
                               enum vq_overlap_kind kind)
{
    VQ_ASSERT(col_a < x.cols && col_b < x.cols);
    double n = 0.0;
    double sum_a = 0.0;
    double sum_b = 0.0;
    for (size_t row = 0; row < x.rows; row++) {
        double a = x.at[row * x.cols + col_a];
        double b = x.at[row * x.cols + col_b];
        if (!isnan(a) && !isnan(b)) {
            n += 1.0;
            sum_a += a;
            sum_b += b;
        }
    }
    bool centred = kind == VQ_OVERLAP_PEARSON;
    double mean_a = centred && n > 0.0 ? sum_a / n : 0.0;
    double mean_b = centred && n > 0.0 ? sum_b / n : 0.0;
    double aa = 0.0;
    double bb = 0.0;
    double ab = 0.0;
    for (size_t row = 0; row < x.rows; row++) {
        double a = x.at[row * x.cols + col_a] - mean_a;
        double b = x.at[row * x.cols + col_b] - mean_b;
        if (!isnan(a) && !isnan(b)) {
            aa += a * a;
            bb += b * b;
            ab += a * b;
        }
    }
    /* For a constant column the centred squares are rounding errors, not variance. */
    double floor_a = centred ? 1e-24 * n * mean_a * mean_a : 0.0;
    double floor_b = centred ? 1e-24 * n * mean_b * mean_b : 0.0;
    if (!(aa > floor_a) || !(bb > floor_b)) {
        return NAN;
    }
    return fmax(-1.0, fmin(1.0, ab / (sqrt(aa) * sqrt(bb))));
}
