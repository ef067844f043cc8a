/* Firth's penalised likelihood (1993; Heinze and Schemper 2002): loglik + log det(information) / 2, which has a maximum
 * under separation too. Steps solve information * step = modified score; a step is halved until the penalised
 * likelihood rises. Standard errors are from the information at the estimate. A row of weight w stands for w rows, each
 * with the leverage of one. Owns its work space for the length of a call. */
#include "common/base/alloc.h"
#include "coordinator/stats/linalg.h"
#include "coordinator/stats/logit.h"
#include "coordinator/stats/logit_parts.h"
#include "coordinator/stats/special.h"

#include <math.h>
#include <string.h>

#define STEPS_MAX    500
#define HALVINGS_MAX 30
#define STEP_TINY    1e-11
#define STEP_LONGEST 5.0

struct firth {
    struct vq_design *design;
    size_t params;
    double *beta;
    double *score;
    double *information;
    double *inverse;
    double *trial;
    double *eta;
};

/* Penalised log-likelihood at beta; leaves the inverse information in `inverse`. NaN when it cannot be inverted. */
static double measure(struct firth *firth, const double *beta)
{
    double loss = vq_design_loss(firth->design, beta, NULL, firth->inverse);
    if (!vq_linalg_cholesky(firth->inverse, firth->params)) {
        return NAN;
    }
    double log_det = vq_linalg_log_det(firth->inverse, firth->params);
    if (!vq_linalg_inverse(firth->inverse, firth->params)) {
        return NAN;
    }
    return 0.5 * log_det - loss;
}

/* Sum over rows of weight * (y - p + h (1/2 - p)) z, with h the leverage of one such row. */
static void modified_score(struct firth *firth)
{
    struct vq_design *design = firth->design;
    size_t params = firth->params;
    vq_design_apply(design, firth->beta, firth->eta);
    memset(firth->score, 0, params * sizeof(double));
    for (size_t cursor = 0; vq_design_next(design, &cursor);) {
        for (size_t i = 0; i < design->in_block; i++) {
            size_t row = design->row_of[i];
            const double *z = design->z + i * params;
            double p = vq_logistic(firth->eta[row]);
            double form = 0.0;
            for (size_t j = 0; j < params; j++) {
                double inner = 0.0;
                for (size_t l = 0; l < params; l++) {
                    inner += firth->inverse[j * params + l] * z[l];
                }
                form += z[j] * inner;
            }
            double leverage = p * vq_logistic(-firth->eta[row]) * form;
            double rest =
                vq_design_weight(design, row) * (design->y[row] - p + leverage * (0.5 - p));
            for (size_t j = 0; j < params; j++) {
                firth->score[j] += rest * z[j];
            }
        }
    }
}

/* One step from beta, whose value is *value. True when it was too small to matter. */
static bool advance(struct firth *firth, double *value, bool *ret_failed)
{
    size_t params = firth->params;
    modified_score(firth);
    double *step = firth->information;
    double size = 0.0;
    for (size_t j = 0; j < params; j++) {
        step[j] = 0.0;
        for (size_t l = 0; l < params; l++) {
            step[j] += firth->inverse[j * params + l] * firth->score[l];
        }
        size = fmax(size, fabs(step[j]) / (1.0 + fabs(firth->beta[j])));
    }
    double length = size > STEP_LONGEST ? STEP_LONGEST / size : 1.0;
    for (int halving = 0; halving < HALVINGS_MAX; halving++, length *= 0.5) {
        for (size_t j = 0; j < params; j++) {
            firth->trial[j] = firth->beta[j] + length * step[j];
        }
        double reached = measure(firth, firth->trial);
        if (reached >= *value - 1e-12 * (1.0 + fabs(*value))) {
            memcpy(firth->beta, firth->trial, params * sizeof(double));
            *value = reached;
            return size <= STEP_TINY;
        }
    }
    *ret_failed = true;
    return true;
}

static void fill(const struct vq_logit_data *data, struct vq_logit_fit *fit,
                 const struct firth *firth, double value)
{
    size_t params = firth->params;
    size_t first = data->intercept ? 1 : 0;
    fit->rank = params;
    fit->objective = value;
    fit->loglik = -vq_design_loss(firth->design, firth->beta, NULL, NULL);
    memcpy(fit->cov, firth->inverse, params * params * sizeof(double));
    fit->intercept = data->intercept ? firth->beta[0] : 0.0;
    fit->se_intercept = data->intercept ? sqrt(fit->cov[0]) : NAN;
    for (size_t i = first; i < params; i++) {
        fit->coef[i - first] = firth->beta[i];
        fit->se[i - first] = sqrt(fit->cov[i * params + i]);
    }
}

static enum vq_status run(const struct vq_logit_data *data, struct vq_logit_fit *fit,
                          size_t *columns)
{
    size_t count;
    VQ_TRY(vq_logit_alias(data, data->weights, NULL, data->x.cols, fit->aliased, columns, &count,
                          NULL, NULL));
    if (count < data->x.cols) {
        fit->status = VQ_LOGIT_RANK_DEFICIENT;
        return VQ_OK;
    }
    struct vq_design design;
    VQ_TRY(vq_design_init(&design, data, data->weights, NULL, data->x.cols));
    size_t params = design.params;
    enum vq_status status = VQ_NOMEM;
    double *work = vq_alloc(2 * params * params + 3 * params, sizeof(double));
    double *eta = vq_alloc(data->x.rows, sizeof(double));
    if (work == NULL || eta == NULL) {
        goto cleanup;
    }
    struct firth firth = {
        .design = &design,
        .params = params,
        .inverse = work,
        .information = work + params * params,
        .beta = work + 2 * params * params,
        .score = work + 2 * params * params + params,
        .trial = work + 2 * params * params + 2 * params,
        .eta = eta,
    };
    double value = measure(&firth, firth.beta);
    bool failed = isnan(value);
    bool done = false;
    while (!failed && !done && fit->iterations < STEPS_MAX) {
        done = advance(&firth, &value, &failed);
        fit->iterations++;
    }
    if (failed || !done) {
        fit->status = VQ_LOGIT_NOT_CONVERGED;
    } else {
        fill(data, fit, &firth, value);
    }
    status = VQ_OK;
cleanup:
    vq_free(work);
    vq_free(eta);
    vq_design_free(&design);
    return status;
}

enum vq_status vq_logit_fit_firth(const struct vq_logit_data *data, struct vq_logit_fit *ret_fit,
                                  struct vq_error *err)
{
    struct vq_logit_fit fit;
    VQ_TRY(vq_logit_fit_begin(data, &fit, err));
    enum vq_status status = VQ_OK;
    if (fit.status == VQ_LOGIT_OK || fit.status == VQ_LOGIT_SINGLE_CLASS) {
        fit.status = VQ_LOGIT_OK; /* one class only is no obstacle here */
        size_t *columns = vq_alloc(data->x.cols, sizeof(size_t));
        status = columns == NULL ? VQ_NOMEM : run(data, &fit, columns);
        vq_free(columns);
    }
    if (status != VQ_OK) {
        vq_logit_fit_free(&fit);
        return status;
    }
    *ret_fit = fit;
    return VQ_OK;
}
