/* The fit of two parameters by logit.c. A row with a tie becomes two rows of weight 1/2, one of
 * each class, which gives the same likelihood. Invariant: swapping the outputs turns the win rate w
 * into 1 - w, to the last digits. Not its job: measuring lengths. */
#include "methods/stats/logit/length_controlled.h"

#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "methods/stats/groups.h"
#include "methods/stats/special.h"

#include <math.h>

#define PARAMS 2u

const char *vq_length_controlled_name(enum vq_length_controlled_status status)
{
    static const char *const names[] = {"ok", "few_prompts", "lengths_alike", "separated",
                                        "no_rows"};
    return names[status];
}

struct fit {
    double *x, *y, *weights; /* `count` rows; room for two of each row */
    uint32_t *groups;
    size_t count;
};

static void put(struct fit *f, double x, double y, double weight, uint32_t group)
{
    if (weight > 0.0) {
        f->x[f->count] = x;
        f->y[f->count] = y;
        f->weights[f->count] = weight;
        f->groups[f->count++] = group;
    }
}

/* The standard deviation of `difference` over the rows with an outcome. */
static double deviation(const double *wins, const double *difference, size_t n, size_t rows)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += isnan(wins[i]) ? 0.0 : difference[i];
    }
    double mean = sum / (double)rows;
    for (size_t i = 0; i < n; i++) {
        double rest = isnan(wins[i]) ? 0.0 : difference[i] - mean;
        squares += rest * rest;
    }
    return rows < 2 ? 0.0 : sqrt(squares / ((double)rows - 1.0));
}

static enum vq_status count_units(struct fit *f, size_t *ret_units)
{
    uint32_t *index = vq_alloc(f->count, sizeof(*index));
    enum vq_status status =
        index == NULL ? VQ_NOMEM : vq_groups_index(f->groups, f->count, index, ret_units);
    vq_free(index);
    return status;
}

static enum vq_status intervals(const struct fit *f, const struct vq_logit_data *data,
                                const struct vq_logit_fit *fit, struct vq_length_controlled *lc,
                                struct vq_error *err)
{
    double se[PARAMS];
    VQ_TRY(vq_logit_cluster_se(data, fit, f->groups, se, err));
    double rows = (double)lc->rows, counted = (double)f->count;
    double as_rows = sqrt((rows - 1) / (rows - PARAMS) * (counted - PARAMS) / (counted - 1));
    double t = vq_student_975((double)lc->units - 1) * as_rows;
    lc->ci95 = (struct vq_interval){vq_logistic(fit->intercept - t * se[0]),
                                    vq_logistic(fit->intercept + t * se[0])};
    lc->coef_ci95 = (struct vq_interval){lc->coef - t * se[1], lc->coef + t * se[1]};
    return VQ_OK;
}

static enum vq_status estimate(const struct fit *f, struct vq_length_controlled *lc,
                               struct vq_error *err)
{
    struct vq_logit_data data = {
        .x = {f->x, f->count, 1}, .y = f->y, .weights = f->weights, .intercept = true};
    struct vq_logit_fit fit;
    VQ_TRY(vq_logit_fit_mle(&data, &fit, err));
    enum vq_status status = VQ_OK;
    if (fit.status == VQ_LOGIT_RANK_DEFICIENT) { /* one output is much longer in every row */
        lc->status = VQ_LENGTH_CONTROLLED_ALIKE;
    } else if (fit.status != VQ_LOGIT_OK) {
        lc->status = VQ_LENGTH_CONTROLLED_NO_FIT;
    } else {
        lc->win_rate = vq_logistic(fit.intercept);
        lc->coef = fit.coef[0];
        lc->status = lc->units < VQ_LENGTH_CONTROLLED_UNITS_MIN ? VQ_LENGTH_CONTROLLED_FEW_UNITS
                                                                : VQ_LENGTH_CONTROLLED_OK;
    }
    if (lc->status == VQ_LENGTH_CONTROLLED_OK) {
        status = intervals(f, &data, &fit, lc, err);
    }
    vq_logit_fit_free(&fit);
    return status;
}

static enum vq_status compute(const double *wins, const double *difference, size_t n,
                              const uint32_t *groups, struct fit *f,
                              struct vq_length_controlled *lc, struct vq_error *err)
{
    lc->sd = deviation(wins, difference, n, lc->rows);
    if (!(lc->sd > 0.0)) {
        lc->status = VQ_LENGTH_CONTROLLED_ALIKE;
        return VQ_OK;
    }
    for (size_t i = 0; i < n; i++) {
        if (!isnan(wins[i])) {
            double x = tanh(difference[i] / lc->sd);
            uint32_t group = groups == NULL ? (uint32_t)i : groups[i];
            put(f, x, 1.0, wins[i], group);
            put(f, x, 0.0, 1.0 - wins[i], group);
        }
    }
    VQ_TRY(count_units(f, &lc->units));
    return estimate(f, lc, err);
}

enum vq_status vq_length_controlled(const double *wins, const double *difference, size_t n,
                                    const uint32_t *groups, struct vq_length_controlled *ret,
                                    struct vq_error *err)
{
    struct vq_length_controlled lc = {.status = VQ_LENGTH_CONTROLLED_NO_ROWS,
                                      .win_rate = NAN,
                                      .ci95 = {NAN, NAN},
                                      .coef = NAN,
                                      .coef_ci95 = {NAN, NAN},
                                      .sd = NAN};
    for (size_t i = 0; i < n; i++) {
        lc.rows += isnan(wins[i]) ? 0 : 1;
    }
    if (lc.rows == 0) {
        *ret = lc;
        return VQ_OK;
    }
    struct vq_arena arena = {0};
    struct fit f = {.x = vq_arena_alloc(&arena, 2 * lc.rows, sizeof(*f.x)),
                    .y = vq_arena_alloc(&arena, 2 * lc.rows, sizeof(*f.y)),
                    .weights = vq_arena_alloc(&arena, 2 * lc.rows, sizeof(*f.weights)),
                    .groups = vq_arena_alloc(&arena, 2 * lc.rows, sizeof(*f.groups))};
    enum vq_status status =
        arena.failed ? VQ_NOMEM : compute(wins, difference, n, groups, &f, &lc, err);
    vq_arena_clear(&arena);
    if (status == VQ_OK) {
        *ret = lc;
    }
    return status;
}
