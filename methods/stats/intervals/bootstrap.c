/* Percentile bootstrap over groups. Means need only the sums and counts of each group: a draw is a
 * vector with the number of times that each group was drawn, and several draws at once are one
 * matrix product. Coefficients are fitted again on each draw, with these numbers as row weights,
 * starting from the fit of all rows.
 *
 * Invariant: the seed fixes the draws; they do not depend on the requested columns. A call owns its
 * working memory. */
#include "methods/stats/intervals/bootstrap.h"

#include "common/base/arena.h"
#include "common/base/rng.h"
#include "methods/stats/groups.h"
#include "methods/stats/logit/logit_parts.h"
#include "methods/stats/logit/newton.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#define DRAWS_AT_ONCE 8

static enum vq_status check_options(const struct vq_bootstrap_options *options,
                                    struct vq_error *err)
{
    if (options->draws < 1 || options->draws > VQ_STATS_DRAWS_MAX) {
        return vq_fail(err, VQ_LIMIT, "%zu bootstrap draws are not between 1 and %zu",
                       options->draws, VQ_STATS_DRAWS_MAX);
    }
    if (!(options->level > 0.0 && options->level < 1.0)) {
        return vq_fail(err, VQ_INVALID, "the level of an interval must be between 0 and 1");
    }
    return VQ_OK;
}

/* Adds to `times` how often each of `count` groups occurs in one draw. */
static void draw_groups(struct vq_rng *rng, size_t count, double *times)
{
    for (size_t i = 0; i < count; i++) {
        times[vq_rng_below(rng, count)] += 1.0;
    }
}

/* Percentiles of the values that are not NaN; sorts these values to the front. */
static struct vq_interval percentiles(double *values, size_t n, double level, double *ret_se)
{
    size_t present = 0;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(values[i])) {
            values[present++] = values[i];
            sum += values[i];
        }
    }
    if (ret_se != NULL) {
        double mean = sum / (double)present;
        double squares = 0.0;
        for (size_t i = 0; i < present; i++) {
            squares += (values[i] - mean) * (values[i] - mean);
        }
        *ret_se = present > 1 ? sqrt(squares / (double)(present - 1)) : NAN;
    }
    if (present == 0) {
        return (struct vq_interval){NAN, NAN};
    }
    vq_stats_sort(values, present);
    return (struct vq_interval){
        vq_stats_quantile(values, present, 0.5 * (1.0 - level)),
        vq_stats_quantile(values, present, 0.5 * (1.0 + level)),
    };
}

struct means {
    size_t groups;
    size_t cols;
    size_t draws;
    double *sums;    /* groups x 2 cols: sums, then counts of present cells */
    double *times;   /* DRAWS_AT_ONCE x groups */
    double *product; /* DRAWS_AT_ONCE x 2 cols */
    double *draw;    /* cols x draws */
};

static void sum_groups(struct vq_matrix x, const double *factor, const uint32_t *group_of,
                       struct means *means)
{
    for (size_t row = 0; row < x.rows; row++) {
        double *sums = means->sums + group_of[row] * 2 * x.cols;
        for (size_t col = 0; col < x.cols; col++) {
            double cell = x.at[row * x.cols + col] * (factor == NULL ? 1.0 : factor[row]);
            if (!isnan(cell)) {
                sums[col] += cell;
                sums[x.cols + col] += 1.0;
            }
        }
    }
}

static void draw_means(struct means *means, uint64_t seed)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    size_t width = 2 * means->cols;
    for (size_t done = 0; done < means->draws;) {
        size_t now = means->draws - done < DRAWS_AT_ONCE ? means->draws - done : DRAWS_AT_ONCE;
        memset(means->times, 0, now * means->groups * sizeof(double));
        for (size_t i = 0; i < now; i++) {
            draw_groups(&rng, means->groups, means->times + i * means->groups);
        }
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)now, (blasint)width,
                    (blasint)means->groups, 1.0, means->times, (blasint)means->groups, means->sums,
                    (blasint)width, 0.0, means->product, (blasint)width);
        for (size_t i = 0; i < now; i++, done++) {
            for (size_t col = 0; col < means->cols; col++) {
                double n = means->product[i * width + means->cols + col];
                means->draw[col * means->draws + done] =
                    n > 0.0 ? means->product[i * width + col] / n : NAN;
            }
        }
    }
}

static void finish_means(struct means *means, double level, struct vq_bootstrap_mean *ret)
{
    for (size_t col = 0; col < means->cols; col++) {
        double sum = 0.0;
        double n = 0.0;
        for (size_t g = 0; g < means->groups; g++) {
            sum += means->sums[g * 2 * means->cols + col];
            n += means->sums[g * 2 * means->cols + means->cols + col];
        }
        ret[col].mean = n > 0.0 ? sum / n : NAN;
        ret[col].percentile =
            percentiles(means->draw + col * means->draws, means->draws, level, &ret[col].se);
    }
}

enum vq_status vq_bootstrap_means(struct vq_matrix x, const double *factor, const uint32_t *groups,
                                  const struct vq_bootstrap_options *options,
                                  struct vq_bootstrap_mean *ret, struct vq_error *err)
{
    VQ_TRY(vq_stats_check(x, true, err));
    VQ_TRY(check_options(options, err));
    struct means means = {.cols = x.cols, .draws = options->draws};
    struct vq_arena arena = {0};
    enum vq_status status = VQ_NOMEM;
    uint32_t *group_of = vq_arena_alloc(&arena, x.rows, sizeof(*group_of));
    if (group_of == NULL) {
        goto cleanup;
    }
    status = vq_groups_index(groups, x.rows, group_of, &means.groups);
    if (status != VQ_OK) {
        goto cleanup;
    }
    means.sums = vq_arena_alloc(&arena, means.groups * 2 * x.cols, sizeof(double));
    means.times = vq_arena_alloc(&arena, DRAWS_AT_ONCE * means.groups, sizeof(double));
    means.product = vq_arena_alloc(&arena, DRAWS_AT_ONCE * 2 * x.cols, sizeof(double));
    means.draw = vq_arena_alloc(&arena, x.cols * options->draws, sizeof(double));
    if (arena.failed) {
        status = VQ_NOMEM;
        goto cleanup;
    }
    for (size_t i = 0; i < x.cols * options->draws; i++) {
        means.draw[i] = NAN;
    }
    sum_groups(x, factor, group_of, &means);
    if (means.groups > 0 && x.cols > 0) {
        draw_means(&means, options->seed);
    }
    finish_means(&means, options->level, ret);
cleanup:
    vq_arena_clear(&arena);
    return status;
}

struct refits {
    const struct vq_logit_data *data;
    const struct vq_bootstrap_options *options;
    struct vq_newton_goal goal;
    uint32_t *group_of;
    size_t groups;
    size_t params;
    double *times;   /* per group */
    double *weights; /* per row */
    double *beta;    /* params: of this draw */
    double *start;   /* params: of all rows */
    double *draw;    /* params x draws */
};

static double own_weight(const struct vq_logit_data *data, size_t row)
{
    return data->weights == NULL ? 1.0 : data->weights[row];
}

/* With an intercept, a draw with only one class has no fit. */
static bool has_both_classes(const struct refits *refits)
{
    bool seen[2] = {false, false};
    for (size_t row = 0; row < refits->data->x.rows; row++) {
        if (refits->weights[row] > 0.0) {
            seen[refits->data->y[row] > 0.5 ? 1 : 0] = true;
        }
    }
    return seen[0] && seen[1];
}

static enum vq_status refit(struct refits *refits, struct vq_design *design)
{
    struct vq_newton_result result;
    VQ_TRY(vq_newton_minimise(design, &refits->goal, refits->start, &result));
    struct vq_rng rng;
    vq_rng_seed(&rng, refits->options->seed);
    design->weights = refits->weights;
    for (size_t d = 0; d < refits->options->draws; d++) {
        memset(refits->times, 0, refits->groups * sizeof(double));
        draw_groups(&rng, refits->groups, refits->times);
        for (size_t row = 0; row < refits->data->x.rows; row++) {
            refits->weights[row] =
                own_weight(refits->data, row) * refits->times[refits->group_of[row]];
        }
        bool fitted = !refits->data->intercept || has_both_classes(refits);
        if (fitted) {
            memcpy(refits->beta, refits->start, refits->params * sizeof(double));
            VQ_TRY(vq_newton_minimise(design, &refits->goal, refits->beta, &result));
            fitted = result.converged;
        }
        for (size_t j = 0; j < refits->params; j++) {
            refits->draw[j * refits->options->draws + d] = fitted ? refits->beta[j] : NAN;
        }
    }
    return VQ_OK;
}

static double two_sided(const double *values, size_t n)
{
    double present = 0.0;
    double low = 0.0;
    double high = 0.0;
    for (size_t i = 0; i < n; i++) {
        present += isnan(values[i]) ? 0.0 : 1.0;
        low += values[i] <= 0.0 ? 1.0 : 0.0;
        high += values[i] >= 0.0 ? 1.0 : 0.0;
    }
    return present > 0.0 ? fmin(1.0, 2.0 * (1.0 + fmin(low, high)) / (1.0 + present)) : NAN;
}

static enum vq_status run_refits(struct refits *refits, struct vq_interval *ret,
                                 struct vq_interval *ret_intercept, double *ret_p)
{
    const struct vq_logit_data *data = refits->data;
    size_t draws = refits->options->draws;
    struct vq_design design;
    VQ_TRY(vq_design_init(&design, data, data->weights, NULL, data->x.cols));
    enum vq_status status = VQ_OK;
    if (refits->groups > 0) {
        status = refit(refits, &design);
    }
    vq_design_free(&design);
    if (status != VQ_OK) {
        return status;
    }
    size_t first = data->intercept ? 1 : 0;
    double level = refits->options->level;
    for (size_t j = first; j < refits->params; j++) {
        if (ret_p != NULL) { /* before the percentiles, which reorder the draws */
            ret_p[j - first] = two_sided(refits->draw + j * draws, draws);
        }
        ret[j - first] = percentiles(refits->draw + j * draws, draws, level, NULL);
    }
    if (ret_intercept != NULL) {
        *ret_intercept = data->intercept ? percentiles(refits->draw, draws, level, NULL)
                                         : (struct vq_interval){NAN, NAN};
    }
    return VQ_OK;
}

enum vq_status vq_bootstrap_coefficients(const struct vq_logit_data *data, double c,
                                         double l1_ratio, const uint32_t *groups,
                                         const struct vq_bootstrap_options *options,
                                         struct vq_interval *ret, struct vq_interval *ret_intercept,
                                         double *ret_p, struct vq_error *err)
{
    VQ_TRY(vq_logit_check(data, err));
    VQ_TRY(check_options(options, err));
    if (!(c > 0.0) || isinf(c) || !(l1_ratio >= 0.0) || !(l1_ratio <= 1.0)) {
        return vq_fail(err, VQ_INVALID, "C must be positive and the l1 ratio in [0, 1]");
    }
    size_t rows = data->x.rows;
    struct refits refits = {
        .data = data,
        .options = options,
        .params = data->x.cols + (data->intercept ? 1 : 0),
        .goal = {.c = data->mirrored ? 2.0 * c : c,
                 .l1 = l1_ratio,
                 .l2 = 1.0 - l1_ratio,
                 .steps_max = VQ_NEWTON_STEPS_MAX},
    };
    struct vq_arena arena = {0};
    refits.group_of = vq_arena_alloc(&arena, rows, sizeof(uint32_t));
    refits.times = vq_arena_alloc(&arena, rows, sizeof(double));
    refits.weights = vq_arena_alloc(&arena, rows, sizeof(double));
    refits.beta = vq_arena_alloc(&arena, 2 * refits.params, sizeof(double));
    refits.draw = vq_arena_alloc(&arena, refits.params * options->draws, sizeof(double));
    enum vq_status status = VQ_NOMEM;
    if (!arena.failed) {
        refits.start = refits.beta + refits.params;
        for (size_t i = 0; i < refits.params * options->draws; i++) {
            refits.draw[i] = NAN;
        }
        status = vq_groups_index(groups, rows, refits.group_of, &refits.groups);
        if (status == VQ_OK) {
            status = run_refits(&refits, ret, ret_intercept, ret_p);
        }
    }
    vq_arena_clear(&arena);
    return status;
}
