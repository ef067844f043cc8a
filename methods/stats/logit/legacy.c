/* Draws, fits and scores of the legacy bootstrap. The seed fixes the draws. Each fit starts from
 * the fit of the whole set. A call owns the mirrored copy and its working memory. */
#include "methods/stats/logit/legacy.h"

#include "common/base/arena.h"
#include "common/base/rng.h"
#include "methods/stats/logit/logit_parts.h"
#include "methods/stats/logit/newton.h"

#include <math.h>
#include <string.h>

struct legacy {
    struct vq_arena arena;
    struct vq_logit_data all; /* 2 n rows, with intercept */
    double *x, *y;            /* of `all` */
    double *times;            /* per row: number of times it was drawn */
    double *eta;              /* per row */
    double *start, *beta;     /* intercept and coefficients */
    double *draw;             /* (cols + 1) x draws: coefficients, then accuracies */
    size_t draws;
};

static enum vq_status legacy_init(struct legacy *l, const struct vq_logit_data *data, size_t draws)
{
    size_t n = data->x.rows;
    size_t cols = data->x.cols;
    l->draws = draws;
    l->x = vq_arena_alloc(&l->arena, 2 * n * cols, sizeof(double));
    l->y = vq_arena_alloc(&l->arena, 2 * n, sizeof(double));
    l->times = vq_arena_alloc(&l->arena, 2 * n, sizeof(double));
    l->eta = vq_arena_alloc(&l->arena, 2 * n, sizeof(double));
    l->start = vq_arena_alloc(&l->arena, cols + 1, sizeof(double));
    l->beta = vq_arena_alloc(&l->arena, cols + 1, sizeof(double));
    l->draw = vq_arena_alloc(&l->arena, (cols + 1) * draws, sizeof(double));
    VQ_TRY(vq_arena_status(&l->arena));
    for (size_t cell = 0; cell < n * cols; cell++) {
        l->x[cell] = data->x.at[cell];
        l->x[n * cols + cell] = -data->x.at[cell];
    }
    for (size_t row = 0; row < n; row++) {
        l->y[row] = data->y[row];
        l->y[n + row] = 1.0 - data->y[row];
    }
    l->all = (struct vq_logit_data){
        .x = {.at = l->x, .rows = 2 * n, .cols = cols}, .y = l->y, .intercept = true};
    return VQ_OK;
}

static bool draw_rows(struct legacy *l, struct vq_rng *rng)
{
    size_t rows = l->all.x.rows;
    bool seen[2] = {false, false};
    memset(l->times, 0, rows * sizeof(double));
    for (size_t i = 0; i < rows; i++) {
        size_t row = vq_rng_below(rng, rows);
        l->times[row] += 1.0;
        seen[l->y[row] > 0.5 ? 1 : 0] = true;
    }
    return seen[0] && seen[1];
}

static double accuracy(struct legacy *l)
{
    vq_logit_predict(l->all.x, l->beta[0], l->beta + 1, l->eta);
    double right = 0.0;
    for (size_t row = 0; row < l->all.x.rows; row++) {
        double margin = l->y[row] > 0.5 ? l->eta[row] : -l->eta[row];
        right += fabs(margin) < VQ_LOGIT_TIE ? 0.5 : (margin > 0.0 ? 1.0 : 0.0);
    }
    return right / (double)l->all.x.rows;
}

/* A draw with only one class cannot be fitted, so it is drawn again. */
static enum vq_status run(struct legacy *l, struct vq_design *design, uint64_t seed)
{
    size_t cols = l->all.x.cols;
    const struct vq_newton_goal goal = {.c = VQ_LEGACY_C,
                                        .l1 = VQ_LEGACY_L1_RATIO,
                                        .l2 = 1.0 - VQ_LEGACY_L1_RATIO,
                                        .steps_max = VQ_NEWTON_STEPS_MAX};
    struct vq_newton_result result;
    VQ_TRY(vq_newton_minimise(design, &goal, l->start, &result));
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    design->weights = l->times;
    for (size_t d = 0; d < l->draws; d++) {
        while (!draw_rows(l, &rng)) {
        }
        memcpy(l->beta, l->start, (cols + 1) * sizeof(double));
        VQ_TRY(vq_newton_minimise(design, &goal, l->beta, &result));
        for (size_t col = 0; col < cols; col++) {
            l->draw[col * l->draws + d] = l->beta[col + 1];
        }
        l->draw[cols * l->draws + d] = accuracy(l);
    }
    return VQ_OK;
}

/* Mean, sd, percentiles and the share of values other than 0; sorts `values`. */
static struct vq_legacy_coef summary(double *values, size_t n, double level)
{
    double sum = 0.0;
    double squares = 0.0;
    double other = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        other += fabs(values[i]) > 0.0 ? 1.0 : 0.0;
    }
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    vq_stats_sort(values, n);
    return (struct vq_legacy_coef){
        .mean = mean,
        .sd = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN,
        .percentile = {vq_stats_quantile(values, n, 0.5 * (1.0 - level)),
                       vq_stats_quantile(values, n, 0.5 * (1.0 + level))},
        .p = 1.0 - other / (double)n,
    };
}

enum vq_status vq_legacy_bootstrap(const struct vq_logit_data *data,
                                   const struct vq_bootstrap_options *options,
                                   struct vq_legacy *ret, struct vq_error *err)
{
    VQ_TRY(vq_logit_check(data, err));
    if (!data->mirrored || data->weights != NULL || data->x.rows == 0 ||
        !(options->level > 0.0 && options->level < 1.0)) {
        return vq_fail(err, VQ_INVALID,
                       "the legacy bootstrap wants mirrored rows, no weights and "
                       "a level between 0 and 1");
    }
    if (options->draws < 1 || options->draws > VQ_STATS_DRAWS_MAX) {
        return vq_fail(err, VQ_LIMIT, "%zu bootstrap draws are not between 1 and %zu",
                       options->draws, VQ_STATS_DRAWS_MAX);
    }
    struct legacy l = {0};
    struct vq_design design = {0};
    enum vq_status status = legacy_init(&l, data, options->draws);
    if (status == VQ_OK) {
        status = vq_design_init(&design, &l.all, NULL, NULL, data->x.cols);
    }
    if (status == VQ_OK) {
        status = run(&l, &design, options->seed);
        vq_design_free(&design);
    }
    if (status == VQ_OK) {
        size_t cols = data->x.cols;
        for (size_t col = 0; col < cols; col++) {
            ret->coef[col] = summary(l.draw + col * l.draws, l.draws, options->level);
        }
        struct vq_legacy_coef right = summary(l.draw + cols * l.draws, l.draws, options->level);
        ret->accuracy_mean = right.mean;
        ret->accuracy_sd = right.sd;
        ret->accuracy_percentile = right.percentile;
    }
    vq_arena_clear(&l.arena);
    return status;
}
