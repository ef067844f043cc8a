/* The figures of a logistic prediction (accuracies, losses, area under the curve) and the sandwich
 * errors by group.
 *
 * The predictor is summed in plain order, not by BLAS, so that equal rows have equal predictors to
 * the last bit: the area under the curve counts ties. Owns its work space for the length of a
 * call. */
#include "common/base/alloc.h"
#include "methods/stats/groups.h"
#include "methods/stats/logit/logit.h"
#include "methods/stats/logit/logit_parts.h"
#include "methods/stats/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

struct ranked {
    double eta;
    double weight;
    bool positive;
};

static int compare_ranked(const void *left, const void *right)
{
    double a = ((const struct ranked *)left)->eta;
    double b = ((const struct ranked *)right)->eta;
    return (a > b) - (a < b);
}

/* P(predictor of a positive > that of a negative) + half of P(equal), weighted. Sorts `items`. */
static double area_under_curve(struct ranked *items, size_t n)
{
    if (n > 1) {
        qsort(items, n, sizeof(*items), compare_ranked);
    }
    double below = 0.0;
    double positive = 0.0;
    double area = 0.0;
    for (size_t i = 0; i < n;) {
        double tied[2] = {0.0, 0.0};
        double eta = items[i].eta;
        for (; i < n && items[i].eta == eta; i++) {
            tied[items[i].positive ? 1 : 0] += items[i].weight;
        }
        area += tied[1] * (below + 0.5 * tied[0]);
        below += tied[0];
        positive += tied[1];
    }
    return below > 0.0 && positive > 0.0 ? area / (below * positive) : NAN;
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

static void score_rows(const struct vq_logit_data *data, const double *eta, struct ranked *items,
                       struct vq_logit_score *score)
{
    double right = 0.0;
    double complete_right = 0.0;
    size_t n = 0;
    for (size_t row = 0; row < data->x.rows; row++) {
        double weight = data->weights == NULL ? 1.0 : data->weights[row];
        if (weight <= 0.0) {
            continue;
        }
        bool positive = data->y[row] > 0.5;
        double margin = positive ? eta[row] : -eta[row];
        bool tie = fabs(margin) < VQ_LOGIT_TIE;
        double credit = tie ? 0.5 : (margin > 0.0 ? 1.0 : 0.0);
        double wrong = vq_logistic(-margin);
        size_t missing = missing_in(data->x, row);
        score->weight += weight;
        score->ties += tie ? weight : 0.0;
        score->log_loss += weight * vq_log1pexp(-margin);
        score->brier += weight * wrong * wrong;
        score->cells_imputed += missing;
        right += weight * credit;
        if (missing == 0) {
            score->complete_weight += weight;
            complete_right += weight * credit;
        }
        items[n++] = (struct ranked){.eta = eta[row], .weight = weight, .positive = positive};
    }
    score->accuracy_ties_half = share(right, score->weight);
    score->accuracy = score->ties > 0.0 ? NAN : score->accuracy_ties_half;
    score->log_loss = share(score->log_loss, score->weight);
    score->brier = share(score->brier, score->weight);
    score->complete_accuracy_ties_half = share(complete_right, score->complete_weight);
    score->auc = data->mirrored ? NAN : area_under_curve(items, n);
}

enum vq_status vq_logit_score(const struct vq_logit_data *data, double intercept,
                              const double *coef, struct vq_logit_score *ret_score,
                              struct vq_error *err)
{
    VQ_TRY(vq_logit_check(data, err));
    double *eta = vq_alloc(data->x.rows, sizeof(*eta));
    struct ranked *items = vq_alloc(data->x.rows, sizeof(*items));
    enum vq_status status = VQ_NOMEM;
    if (eta != NULL && items != NULL) {
        struct vq_logit_score score = {0};
        vq_logit_predict(data->x, intercept, coef, eta);
        score_rows(data, eta, items, &score);
        *ret_score = score;
        status = VQ_OK;
    }
    vq_free(eta);
    vq_free(items);
    return status;
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
