/* The accuracies of a logistic prediction, and the sandwich errors by group.
 *
 * Invariant: the predictor is summed in plain order, not by BLAS, so that equal rows have equal
 * predictors to the last bit. A call owns its working memory. */
#include "common/base/alloc.h"
#include "methods/stats/groups.h"
#include "methods/stats/logit/logit.h"
#include "methods/stats/logit/logit_parts.h"
#include "methods/stats/special.h"

#include <math.h>

void vq_logit_predict(struct vq_matrix x, double intercept, const double *coef, double *ret_eta)
{
    for (size_t row = 0; row < x.rows; row++) {
        double sum = intercept;
        for (size_t col = 0; col < x.cols; col++) {
            double cell = x.at[row * x.cols + col];
            if (!isnan(cell) && !isnan(coef[col])) {
                sum += cell * coef[col];
            }
        }
        ret_eta[row] = sum;
    }
}

static size_t missing_in(struct vq_matrix x, size_t row)
{
    size_t missing = 0;
    for (size_t col = 0; col < x.cols; col++) {
        missing += isnan(x.at[row * x.cols + col]) ? 1 : 0;
    }
    return missing;
}

static double share(double part, double whole)
{
    return whole > 0.0 ? part / whole : NAN;
}

static void score_rows(const struct vq_logit_data *data, const double *eta,
                       struct vq_logit_score *score)
{
    double whole = 0.0, right = 0.0;
    double complete = 0.0, complete_right = 0.0;
    for (size_t row = 0; row < data->x.rows; row++) {
        double weight = data->weights == NULL ? 1.0 : data->weights[row];
        if (weight <= 0.0) {
            continue;
        }
        double margin = data->y[row] > 0.5 ? eta[row] : -eta[row];
        double credit = fabs(margin) < VQ_LOGIT_TIE ? 0.5 : (margin > 0.0 ? 1.0 : 0.0);
        size_t missing = missing_in(data->x, row);
        whole += weight;
        right += weight * credit;
        complete += missing == 0 ? weight : 0.0;
        complete_right += missing == 0 ? weight * credit : 0.0;
        score->cells_imputed += missing;
    }
    score->accuracy_ties_half = share(right, whole);
    score->complete_accuracy_ties_half = share(complete_right, complete);
}

enum vq_status vq_logit_score(const struct vq_logit_data *data, double intercept,
                              const double *coef, struct vq_logit_score *ret_score,
                              struct vq_error *err)
{
    VQ_TRY(vq_logit_check(data, err));
    double *eta;
    VQ_TRY(VQ_ALLOC(eta, data->x.rows));
    *ret_score = (struct vq_logit_score){0};
    vq_logit_predict(data->x, intercept, coef, eta);
    score_rows(data, eta, ret_score);
    vq_free(eta);
    return VQ_OK;
}

/* Score sums by group: sums is groups x rank. */
static void sum_scores(const struct vq_logit_data *data, const struct vq_logit_fit *fit,
                       const double *eta, const uint32_t *group_of, double *sums)
{
    for (size_t row = 0; row < data->x.rows; row++) {
        double weight = data->weights == NULL ? 1.0 : data->weights[row];
        if (weight <= 0.0) {
            continue;
        }
        double rest = weight * (data->y[row] - vq_logistic(eta[row]));
        double *sum = sums + group_of[row] * fit->rank;
        if (data->intercept) {
            *sum++ += rest;
        }
        for (size_t col = 0; col < data->x.cols; col++) {
            double cell = data->x.at[row * data->x.cols + col];
            if (!fit->aliased[col]) {
                *sum++ += isnan(cell) ? 0.0 : rest * cell;
            }
        }
    }
}

enum vq_status vq_logit_cluster_se(const struct vq_logit_data *data, const struct vq_logit_fit *fit,
                                   const uint32_t *groups, double *ret_se, struct vq_error *err)
{
    if (fit->status != VQ_LOGIT_OK && fit->status != VQ_LOGIT_RANK_DEFICIENT) {
        return vq_fail(err, VQ_INVALID, "a fit that is %s has no standard errors",
                       vq_logit_status_name(fit->status));
    }
    VQ_TRY(vq_logit_check(data, err));
    size_t rank = fit->rank;
    size_t count = 0;
    double *sums = NULL;
    enum vq_status status = VQ_NOMEM;
    uint32_t *group_of = vq_alloc(data->x.rows, sizeof(*group_of));
    double *eta = vq_alloc(data->x.rows, sizeof(*eta));
    if (group_of == NULL || eta == NULL) {
        goto cleanup;
    }
    status = vq_groups_index(groups, data->x.rows, group_of, &count);
    if (status != VQ_OK) {
        goto cleanup;
    }
    if (count < 2 || data->x.rows <= rank) {
        status = vq_fail(err, VQ_INVALID, "standard errors by group need two groups or more");
        goto cleanup;
    }
    sums = vq_alloc(count * rank, sizeof(*sums));
    if (sums == NULL) {
        status = VQ_NOMEM;
        goto cleanup;
    }
    vq_logit_predict(data->x, fit->intercept, fit->coef, eta);
    sum_scores(data, fit, eta, group_of, sums);
    double groups_n = (double)count;
    double rows_n = (double)data->x.rows;
    double factor = groups_n / (groups_n - 1.0) * (rows_n - 1.0) / (rows_n - (double)rank);
    for (size_t j = 0; j < rank; j++) {
        double variance = 0.0;
        for (size_t g = 0; g < count; g++) {
            double influence = 0.0;
            for (size_t l = 0; l < rank; l++) {
                influence += fit->cov[j * rank + l] * sums[g * rank + l];
            }
            variance += influence * influence;
        }
        ret_se[j] = sqrt(factor * variance);
    }
cleanup:
    vq_free(sums);
    vq_free(eta);
    vq_free(group_of);
    return status;
}
