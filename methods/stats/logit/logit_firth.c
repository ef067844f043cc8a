/* Firth's penalised likelihood (1993; Heinze and Schemper 2002): loglik + log det(information) / 2,
 * which has a maximum under separation too. Steps solve information * step = modified score; a step
 * is halved until the penalised likelihood increases. Standard errors are from the information at
 * the estimate. A row of weight w counts as w rows, each with the leverage of one. Profile
 * intervals and tests follow Heinze and Schemper 2002: one coefficient is fixed, the others are
 * fitted again under the same penalty, and twice the decrease of the penalised likelihood is
 * compared with chi-square of one degree. A call owns its working memory. */
#include "common/base/alloc.h"
#include "methods/stats/linalg.h"
#include "methods/stats/logit/logit.h"
#include "methods/stats/logit/logit_parts.h"
#include "methods/stats/special.h"

#include <math.h>
#include <string.h>

#define STEPS_MAX    500
#define HALVINGS_MAX 30
#define STEP_TINY    1e-11
#define STEP_LONGEST 5.0
#define CHI2_95      3.841458820694124 /* of one degree */
#define NOTHING_HELD SIZE_MAX
#define WIDEN_MAX    40   /* doublings, from one standard error */
#define NARROW_MAX   60   /* steps to an end of the interval */
#define END_TINY     1e-7 /* of the decrease */

struct firth {
    struct vq_design *design;
    size_t params;
    double *beta;
    double *score;
    double *information; /* at the beta of the last measure(), as is its inverse */
    double *inverse;
    double *block; /* the information of the free parameters, factored */
    double *step;
    double *last; /* the step before */
    double *trial;
    double *eta;
    size_t held; /* the fixed parameter, which steps do not change; or NOTHING_HELD */
};

/* Penalised log-likelihood at beta; leaves the inverse information in `inverse`. NaN if it has no
 * inverse. */
static double measure(struct firth *firth, const double *beta)
{
    double loss = vq_design_loss(firth->design, beta, NULL, firth->inverse);
    memcpy(firth->information, firth->inverse, firth->params * firth->params * sizeof(double));
    if (!vq_linalg_cholesky(firth->inverse, firth->params)) {
        return NAN;
    }
    double log_det = vq_linalg_log_det(firth->inverse, firth->params);
    if (!vq_linalg_inverse(firth->inverse, firth->params)) {
        return NAN;
    }
    return 0.5 * log_det - loss;
}

/* Sum over rows of weight * (y - p + h (1/2 - p)) z, where h is the leverage of one such row. */
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

/* Solves information * step = score over the free parameters; false if there is no solution. */
static bool solve_step(struct firth *firth)
{
    size_t params = firth->params;
    double *block = firth->block;
    size_t free_count = 0;
    for (size_t j = 0; j < params; j++) {
        if (j == firth->held) {
            continue;
        }
        size_t col = 0;
        for (size_t l = 0; l <= j; l++) {
            if (l != firth->held) {
                size_t width = firth->held == NOTHING_HELD ? params : params - 1;
                block[free_count * width + col++] = firth->information[j * params + l];
            }
        }
        firth->step[free_count++] = firth->score[j];
    }
    if (free_count > 0) {
        if (!vq_linalg_cholesky(block, free_count)) {
            return false;
        }
        vq_linalg_solve(block, free_count, firth->step);
    }
    if (firth->held != NOTHING_HELD) {
        for (size_t j = params - 1; j > firth->held; j--) {
            firth->step[j] = firth->step[j - 1];
        }
        firth->step[firth->held] = 0.0;
    }
    return true;
}

/* Whether the step goes back in the direction of the last one, and nearly as far. The information
 * is that of the likelihood alone. With one or two rows the penalty adds as much curvature again,
 * so whole steps would alternate between the two sides of the maximum forever. */
static bool turns_back(const struct firth *firth)
{
    double along = 0.0, now = 0.0, before = 0.0;
    for (size_t j = 0; j < firth->params; j++) {
        along += firth->step[j] * firth->last[j];
        now += firth->step[j] * firth->step[j];
        before += firth->last[j] * firth->last[j];
    }
    return along < 0.0 && now > 0.25 * before;
}

/* One step from beta, whose value is *value. True if the step was too small to matter. */
static bool advance(struct firth *firth, double *value, bool *ret_failed)
{
    size_t params = firth->params;
    modified_score(firth);
    if (!solve_step(firth)) {
        *ret_failed = true;
        return true;
    }
    const double *step = firth->step;
    double size = 0.0;
    for (size_t j = 0; j < params; j++) {
        size = fmax(size, fabs(step[j]) / (1.0 + fabs(firth->beta[j])));
    }
    double length = size > STEP_LONGEST ? STEP_LONGEST / size : turns_back(firth) ? 0.5 : 1.0;
    memcpy(firth->last, step, params * sizeof(double));
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

/* From beta to the maximum over the free parameters; false if there is none. */
static bool climb(struct firth *firth, double *ret_value, int *ret_iterations)
{
    double value = measure(firth, firth->beta);
    memset(firth->last, 0, firth->params * sizeof(double));
    bool failed = isnan(value);
    bool done = false;
    while (!failed && !done && *ret_iterations < STEPS_MAX) {
        done = advance(firth, &value, &failed);
        *ret_iterations += 1;
    }
    *ret_value = value;
    return !failed && done;
}

/* Twice the decrease of the penalised likelihood from `top` if parameter `held` is fixed at `at`;
 * NaN if this cannot be fitted. */
static double fall_at(struct firth *firth, size_t held, double at, double top)
{
    firth->held = held;
    firth->beta[held] = at;
    double value;
    int iterations = 0;
    return climb(firth, &value, &iterations) ? 2.0 * (top - value) : NAN;
}

/* The point where the decrease reaches CHI2_95, on the side of `sign`; NaN if it is out of
 * reach. */
static double profile_end(struct firth *firth, const double *best, size_t held, double top,
                          double se, double sign)
{
    memcpy(firth->beta, best, firth->params * sizeof(double));
    double inner = best[held], inner_fall = -CHI2_95;
    double outer = NAN, outer_fall = NAN, reach = 2.0 * se;
    for (int widen = 0; widen < WIDEN_MAX && isnan(outer); widen++, reach *= 2.0) {
        double at = best[held] + sign * reach;
        double fall = fall_at(firth, held, at, top) - CHI2_95;
        if (isnan(fall)) {
            return NAN;
        }
        *(fall >= 0.0 ? &outer : &inner) = at;
        *(fall >= 0.0 ? &outer_fall : &inner_fall) = fall;
    }
    for (int step = 0; step < NARROW_MAX && !isnan(outer); step++) {
        /* False position, but not too close to either end, so that the bracket shrinks. */
        double part = fmin(fmax(-inner_fall / (outer_fall - inner_fall), 0.05), 0.95);
        double at = inner + part * (outer - inner);
        double fall = fall_at(firth, held, at, top) - CHI2_95;
        if (isnan(fall)) {
            return NAN;
        }
        if (fabs(fall) < END_TINY) {
            return at;
        }
        *(fall >= 0.0 ? &outer : &inner) = at;
        *(fall >= 0.0 ? &outer_fall : &inner_fall) = fall;
    }
    return isnan(outer) ? NAN : 0.5 * (inner + outer);
}

/* `firth->beta` must contain the fit's estimates. */
static enum vq_status profiles(const struct vq_logit_data *data, struct vq_logit_fit *fit,
                               struct firth *firth, double top)
{
    size_t first = data->intercept ? 1 : 0;
    double *best;
    VQ_TRY(VQ_ALLOC(best, firth->params));
    memcpy(best, firth->beta, firth->params * sizeof(double));
    for (size_t i = first; i < firth->params; i++) {
        double se = fit->se[i - first];
        fit->ci95[i - first].lo = profile_end(firth, best, i, top, se, -1.0);
        fit->ci95[i - first].hi = profile_end(firth, best, i, top, se, 1.0);
        memcpy(firth->beta, best, firth->params * sizeof(double));
        double fall = fall_at(firth, i, 0.0, top);
        fit->p[i - first] = isnan(fall) ? NAN : erfc(sqrt(fmax(fall, 0.0) / 2.0));
    }
    vq_free(best);
    return VQ_OK;
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
    for (size_t i = first; i < params; i++) {
        fit->coef[i - first] = firth->beta[i];
        fit->se[i - first] = sqrt(fit->cov[i * params + i]);
    }
}

static enum vq_status run(const struct vq_logit_data *data, struct vq_logit_fit *fit,
                          size_t *columns)
{
    size_t count;
    VQ_TRY(vq_logit_alias(data, fit->aliased, columns, &count));
    if (count < data->x.cols) {
        fit->status = VQ_LOGIT_RANK_DEFICIENT;
        return VQ_OK;
    }
    struct vq_design design;
    VQ_TRY(vq_design_init(&design, data, data->weights, NULL, data->x.cols));
    size_t params = design.params;
    enum vq_status status = VQ_NOMEM;
    double *work = vq_alloc(3 * params * params + 5 * params, sizeof(double));
    double *eta = vq_alloc(data->x.rows, sizeof(double));
    if (work == NULL || eta == NULL) {
        goto cleanup;
    }
    double *vectors = work + 3 * params * params;
    struct firth firth = {
        .design = &design,
        .params = params,
        .inverse = work,
        .information = work + params * params,
        .block = work + 2 * params * params,
        .beta = vectors,
        .score = vectors + params,
        .trial = vectors + 2 * params,
        .step = vectors + 3 * params,
        .last = vectors + 4 * params,
        .eta = eta,
        .held = NOTHING_HELD,
    };
    double value;
    status = VQ_OK;
    if (climb(&firth, &value, &fit->iterations)) {
        fill(data, fit, &firth, value);
        status = profiles(data, fit, &firth, value);
    } else {
        fit->status = VQ_LOGIT_NOT_CONVERGED;
    }
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
        fit.status = VQ_LOGIT_OK; /* a single class is no problem for this fit */
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
