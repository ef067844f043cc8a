/* Maximum likelihood with a proof: a fit is `ok` only if the rows are shown to overlap.
 *
 * Order: aliased columns are dropped as in R; then Newton. At its end the multipliers weight *
 * P(wrong class), corrected by the remaining tiny gradient, are a positive combination of the rows
 * that sums to zero, which proves overlap (separation.c explains why). If this fails, the rows are
 * examined exactly. Under separation there is no estimate.
 *
 * A call owns its working memory. */
#include "common/base/arena.h"
#include "methods/stats/linalg.h"
#include "methods/stats/logit/logit.h"
#include "methods/stats/logit/logit_parts.h"
#include "methods/stats/logit/newton.h"
#include "methods/stats/logit/separation.h"
#include "methods/stats/special.h"

#include <math.h>
#include <string.h>

#define FIRST_STEPS      40   /* before the rows are examined */
#define MULTIPLIER_FLOOR 1e-8 /* a smaller P(wrong class) proves nothing */

struct mle {
    const struct vq_logit_data *data;
    struct vq_logit_fit *fit;
    size_t *columns; /* the kept columns */
    size_t count;
    double *beta;
    double *gradient;
    double *hessian;
    double *weights_left;
    double *product;
};

static size_t first_of(const struct vq_logit_data *data)
{
    return data->intercept ? 1 : 0;
}

/* Whether the end point of Newton proves that the rows overlap. Uses mle->hessian as working
 * memory. */
static bool proves_overlap(struct mle *mle, struct vq_design *design)
{
    vq_design_gram(design, mle->hessian);
    if (!vq_linalg_cholesky(mle->hessian, design->params)) {
        return false;
    }
    (void)vq_design_loss(design, mle->beta, mle->gradient, NULL);
    vq_linalg_solve(mle->hessian, design->params, mle->gradient);
    vq_design_apply(design, mle->gradient, mle->product);
    double *eta = mle->weights_left; /* not used yet */
    vq_design_apply(design, mle->beta, eta);
    for (size_t row = 0; row < design->x.rows; row++) {
        double weight = vq_design_weight(design, row);
        if (weight <= 0.0) {
            continue;
        }
        double wrong = vq_logistic(design->y[row] > 0.5 ? -eta[row] : eta[row]);
        if (wrong < MULTIPLIER_FLOOR || weight * wrong <= 4.0 * fabs(mle->product[row])) {
            return false;
        }
    }
    return true;
}

/* Writes the covariance at beta to mle->hessian. */
static bool covariance(struct mle *mle, struct vq_design *design)
{
    (void)vq_design_loss(design, mle->beta, NULL, mle->hessian);
    return vq_linalg_cholesky(mle->hessian, design->params) &&
           vq_linalg_inverse(mle->hessian, design->params);
}

static void fill_estimates(struct mle *mle, struct vq_design *design, double loss)
{
    struct vq_logit_fit *fit = mle->fit;
    const struct vq_logit_data *data = mle->data;
    size_t params = design->params;
    size_t first = first_of(data);
    fit->rank = params;
    fit->intercept = data->intercept ? mle->beta[0] : 0.0;
    memcpy(fit->cov, mle->hessian, params * params * sizeof(double));
    for (size_t i = first; i < params; i++) {
        size_t col = mle->columns[i - first];
        double se = sqrt(fit->cov[i * params + i]);
        fit->coef[col] = mle->beta[i];
        fit->se[col] = se;
    }
    fit->loglik = -loss;
    fit->objective = loss;
}

/* Examines the rows exactly, if the proof of overlap failed. Sets fit->separation. */
static enum vq_status examine(struct mle *mle, bool *ret_overlap)
{
    const struct vq_logit_data *data = mle->data;
    for (size_t row = 0; row < data->x.rows; row++) {
        mle->weights_left[row] = data->weights == NULL ? 1.0 : data->weights[row];
    }
    struct vq_design design;
    VQ_TRY(vq_design_init(&design, data, mle->weights_left, mle->columns, mle->count));
    size_t separated;
    size_t left;
    bool decided;
    enum vq_status status =
        vq_separation_peel(&design, mle->weights_left, &separated, &left, &decided);
    vq_design_free(&design);
    if (status != VQ_OK) {
        return status;
    }
    *ret_overlap = separated == 0;
    if (*ret_overlap) {
        return VQ_OK; /* or undecided: then Newton's result decides */
    }
    mle->fit->separation = left == 0 ? VQ_LOGIT_COMPLETE : VQ_LOGIT_QUASI_COMPLETE;
    return VQ_OK;
}

static enum vq_status run(struct mle *mle)
{
    const struct vq_logit_data *data = mle->data;
    struct vq_logit_fit *fit = mle->fit;
    VQ_TRY(vq_logit_alias(data, fit->aliased, mle->columns, &mle->count));
    bool deficient = mle->count < data->x.cols;
    struct vq_design design;
    VQ_TRY(vq_design_init(&design, data, data->weights, mle->columns, mle->count));
    fit->rank = design.params;
    struct vq_newton_goal goal = {.c = 1.0, .steps_max = FIRST_STEPS};
    struct vq_newton_result result;
    enum vq_status status = vq_newton_minimise(&design, &goal, mle->beta, &result);
    if (status != VQ_OK) {
        goto cleanup;
    }
    fit->iterations = result.steps;
    if (!result.converged || !proves_overlap(mle, &design)) {
        bool overlap;
        status = examine(mle, &overlap);
        if (status != VQ_OK) {
            goto cleanup;
        }
        if (!overlap) {
            fit->status = deficient ? VQ_LOGIT_SEPARATED_AND_RANK_DEFICIENT : VQ_LOGIT_SEPARATED;
            goto cleanup;
        }
        goal.steps_max = VQ_NEWTON_STEPS_MAX;
        status = vq_newton_minimise(&design, &goal, mle->beta, &result);
        if (status != VQ_OK) {
            goto cleanup;
        }
        fit->iterations += result.steps;
    }
    if (!result.converged || !covariance(mle, &design)) {
        fit->status = VQ_LOGIT_NOT_CONVERGED;
        goto cleanup;
    }
    fit->status = deficient ? VQ_LOGIT_RANK_DEFICIENT : VQ_LOGIT_OK;
    fill_estimates(mle, &design, result.loss);
cleanup:
    vq_design_free(&design);
    return status;
}

enum vq_status vq_logit_fit_mle(const struct vq_logit_data *data, struct vq_logit_fit *ret_fit,
                                struct vq_error *err)
{
    struct vq_logit_fit fit;
    VQ_TRY(vq_logit_fit_begin(data, &fit, err));
    struct vq_arena arena = {0};
    size_t params = data->x.cols + 1;
    struct mle mle = {.data = data, .fit = &fit};
    mle.columns = vq_arena_alloc(&arena, params, sizeof(size_t));
    mle.beta = vq_arena_alloc(&arena, params, sizeof(double));
    mle.gradient = vq_arena_alloc(&arena, params, sizeof(double));
    mle.hessian = vq_arena_alloc(&arena, params * params, sizeof(double));
    mle.weights_left = vq_arena_alloc(&arena, data->x.rows, sizeof(double));
    mle.product = vq_arena_alloc(&arena, data->x.rows, sizeof(double));
    enum vq_status status = VQ_NOMEM;
    if (!arena.failed) {
        status = fit.status == VQ_LOGIT_OK ? run(&mle) : VQ_OK;
    }
    vq_arena_clear(&arena);
    if (status != VQ_OK) {
        vq_logit_fit_free(&fit);
        return status;
    }
    *ret_fit = fit;
    return VQ_OK;
}
