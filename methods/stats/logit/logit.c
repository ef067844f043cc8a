/* The parts that all logistic fits share (checks, allocation, aliasing), and the penalised fits.
 * Maximum likelihood is in logit_mle.c, Firth in logit_firth.c, accuracies of predictions in
 * logit_score.c.
 *
 * Invariant: a fit is allocated whole at its start and freed whole on failure, so that a caller
 * never gets a partial fit. */
#include "methods/stats/logit/logit.h"

#include "common/base/alloc.h"
#include "methods/stats/linalg.h"
#include "methods/stats/logit/logit_parts.h"
#include "methods/stats/logit/newton.h"

#include <math.h>
#include <string.h>

#define ALIAS_TOLERANCE 1e-11 /* of a column's squared norm */

static const char *const STATUS_NAMES[] = {
    [VQ_LOGIT_OK] = "ok",
    [VQ_LOGIT_RANK_DEFICIENT] = "rank_deficient",
    [VQ_LOGIT_SEPARATED] = "separated",
    [VQ_LOGIT_SEPARATED_AND_RANK_DEFICIENT] = "separated_and_rank_deficient",
    [VQ_LOGIT_SINGLE_CLASS] = "single_class",
    [VQ_LOGIT_NO_ROWS] = "no_rows",
    [VQ_LOGIT_NOT_CONVERGED] = "not_converged",
};

const char *vq_logit_status_name(enum vq_logit_status status)
{
    VQ_ASSERT((size_t)status < VQ_COUNT(STATUS_NAMES));
    return STATUS_NAMES[status];
}

const char *vq_logit_separation_name(enum vq_logit_separation separation)
{
    switch (separation) {
    case VQ_LOGIT_OVERLAP: return "overlap";
    case VQ_LOGIT_QUASI_COMPLETE: return "quasi-complete";
    case VQ_LOGIT_COMPLETE: return "complete";
    }
    VQ_ASSERT(false);
}

enum vq_status vq_logit_check(const struct vq_logit_data *data, struct vq_error *err)
{
    VQ_TRY(vq_stats_check(data->x, true, err));
    if (data->intercept && data->mirrored) {
        return vq_fail(err, VQ_INVALID, "mirrored rows have no intercept: do not ask for one");
    }
    for (size_t row = 0; row < data->x.rows; row++) {
        double weight = data->weights == NULL ? 1.0 : data->weights[row];
        if (!(weight >= 0.0) || isinf(weight)) {
            return vq_fail(err, VQ_INVALID, "the weight of row %zu is not a number of 0 or more",
                           row);
        }
        if (weight > 0.0 && data->y[row] != 0.0 && data->y[row] != 1.0) {
            return vq_fail(err, VQ_INVALID, "y of row %zu is %g; it must be 0 or 1", row,
                           data->y[row]);
        }
    }
    return VQ_OK;
}

static double *nan_array(struct vq_arena *memory, size_t n)
{
    double *array = vq_arena_alloc(memory, n, sizeof(double));
    for (size_t i = 0; array != NULL && i < n; i++) {
        array[i] = NAN;
    }
    return array;
}

static enum vq_status allocate(struct vq_logit_fit *fit)
{
    size_t params = fit->cols + 1;
    fit->coef = nan_array(&fit->memory, fit->cols);
    fit->se = nan_array(&fit->memory, fit->cols);
    fit->p = nan_array(&fit->memory, fit->cols);
    fit->cov = nan_array(&fit->memory, params * params);
    fit->aliased = vq_arena_alloc(&fit->memory, fit->cols, sizeof(bool));
    VQ_TRY(VQ_ARENA_ALLOC(&fit->memory, fit->ci95, fit->cols));
    for (size_t col = 0; col < fit->cols; col++) {
        fit->ci95[col] = (struct vq_interval){NAN, NAN};
    }
    return vq_arena_status(&fit->memory);
}

static void count_rows(const struct vq_logit_data *data, struct vq_logit_fit *fit)
{
    size_t of_class[2] = {0, 0};
    for (size_t row = 0; row < data->x.rows; row++) {
        if (data->weights != NULL && data->weights[row] <= 0.0) {
            continue;
        }
        of_class[data->y[row] > 0.5 ? 1 : 0]++;
        for (size_t col = 0; col < data->x.cols; col++) {
            fit->cells_imputed += isnan(data->x.at[row * data->x.cols + col]) ? 1 : 0;
        }
    }
    if (of_class[0] + of_class[1] == 0) {
        fit->status = VQ_LOGIT_NO_ROWS;
    } else if (data->intercept && (of_class[0] == 0 || of_class[1] == 0)) {
        fit->status = VQ_LOGIT_SINGLE_CLASS;
    }
}

enum vq_status vq_logit_fit_begin(const struct vq_logit_data *data, struct vq_logit_fit *fit,
                                  struct vq_error *err)
{
    VQ_TRY(vq_logit_check(data, err));
    *fit = (struct vq_logit_fit){
        .status = VQ_LOGIT_OK,
        .cols = data->x.cols,
        .intercept = NAN,
        .loglik = NAN,
        .objective = NAN,
    };
    enum vq_status status = allocate(fit);
    if (status == VQ_OK) {
        count_rows(data, fit);
    } else {
        vq_logit_fit_free(fit);
    }
    return status;
}

void vq_logit_fit_free(struct vq_logit_fit *fit)
{
    vq_arena_clear(&fit->memory);
}

enum vq_status vq_logit_alias(const struct vq_logit_data *data, bool *aliased, size_t *columns,
                              size_t *ret_count)
{
    struct vq_design design;
    VQ_TRY(vq_design_init(&design, data, data->weights, NULL, data->x.cols));
    size_t params = design.params;
    size_t first = data->intercept ? 1 : 0;
    double *gram = vq_alloc(2 * params * params, sizeof(double));
    bool *bad = vq_alloc(params, sizeof(bool));
    enum vq_status status = gram == NULL || bad == NULL ? VQ_NOMEM : VQ_OK;
    if (status == VQ_OK) {
        vq_design_gram(&design, gram);
        vq_linalg_alias(gram, params, ALIAS_TOLERANCE, gram + params * params, bad);
        *ret_count = 0;
        for (size_t i = first; i < params; i++) {
            aliased[i - first] = bad[i];
            if (!bad[i]) {
                columns[(*ret_count)++] = i - first;
            }
        }
    }
    vq_free(gram);
    vq_free(bad);
    vq_design_free(&design);
    return status;
}

static enum vq_status fit_penalised(const struct vq_logit_data *data, double c, double l1_ratio,
                                    struct vq_logit_fit *fit)
{
    struct vq_design design;
    VQ_TRY(vq_design_init(&design, data, data->weights, NULL, data->x.cols));
    struct vq_newton_goal goal = {
        .c = data->mirrored ? 2.0 * c : c,
        .l1 = l1_ratio,
        .l2 = 1.0 - l1_ratio,
        .steps_max = VQ_NEWTON_STEPS_MAX,
    };
    struct vq_newton_result result;
    size_t first = data->intercept ? 1 : 0;
    enum vq_status status = VQ_NOMEM;
    double *beta = vq_alloc(design.params, sizeof(double));
    if (beta == NULL) {
        goto cleanup;
    }
    status = vq_newton_minimise(&design, &goal, beta, &result);
    if (status != VQ_OK) {
        goto cleanup;
    }
    fit->iterations = result.steps;
    if (!result.converged) {
        fit->status = VQ_LOGIT_NOT_CONVERGED;
        goto cleanup;
    }
    fit->intercept = data->intercept ? beta[0] : 0.0;
    memcpy(fit->coef, beta + first, data->x.cols * sizeof(double));
    fit->loglik = -result.loss;
    fit->objective = result.objective;
cleanup:
    vq_free(beta);
    vq_design_free(&design);
    return status;
}

enum vq_status vq_logit_fit_elasticnet(const struct vq_logit_data *data, double c, double l1_ratio,
                                       struct vq_logit_fit *ret_fit, struct vq_error *err)
{
    if (!(c > 0.0) || isinf(c) || !(l1_ratio >= 0.0) || !(l1_ratio <= 1.0)) {
        return vq_fail(err, VQ_INVALID,
                       "C must be a positive number (is %g) and the l1 ratio in [0, 1] (is %g)", c,
                       l1_ratio);
    }
    struct vq_logit_fit fit;
    VQ_TRY(vq_logit_fit_begin(data, &fit, err));
    if (fit.status == VQ_LOGIT_OK) {
        enum vq_status status = fit_penalised(data, c, l1_ratio, &fit);
        if (status != VQ_OK) {
            vq_logit_fit_free(&fit);
            return status;
        }
    }
    *ret_fit = fit;
    return VQ_OK;
}

enum vq_status vq_logit_fit_l2(const struct vq_logit_data *data, double c,
                               struct vq_logit_fit *ret_fit, struct vq_error *err)
{
    return vq_logit_fit_elasticnet(data, c, 0.0, ret_fit, err);
}
