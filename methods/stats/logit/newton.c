/* Damped Newton steps. Without an l1 part a step solves the Hessian system by Cholesky. With an l1
 * part the step minimises the quadratic model plus the penalty (a proximal Newton step,
 * lasso_step.c), so that zeros are exact. A step is halved until the objective decreases by a share
 * of the decrease that the model predicts. If the predicted decrease is below the rounding error of
 * the objective, the full step is taken.
 *
 * Invariant: the objective never increases by more than rounding. A call owns its working
 * memory. */
#include "methods/stats/logit/newton.h"

#include "common/base/alloc.h"
#include "methods/stats/linalg.h"
#include "methods/stats/logit/lasso_step.h"

#include <math.h>
#include <string.h>

#define STEP_TINY    1e-9  /* relative; the error after such a step is its square */
#define PROMISE_TINY 1e-13 /* relative to the objective: smaller differences are rounding */
#define FLAT_TINY    1e-9  /* relative to the objective */
#define HALVINGS_MAX 40
#define RIDGE_TRIES  8
#define ARMIJO       1e-4

struct newton {
    struct vq_design *design;
    const struct vq_newton_goal *goal;
    size_t params;
    size_t first; /* first penalised parameter */
    double *beta;
    double *gradient; /* of the smooth part: c * loss + l2 */
    double *hessian;
    double *factor;
    double *step;
    double *trial;
    size_t *active; /* working memory of the lasso step */
};

static double l1_norm(const struct newton *newton, const double *beta)
{
    double sum = 0.0;
    for (size_t j = newton->first; j < newton->params; j++) {
        sum += fabs(beta[j]);
    }
    return sum;
}

static double penalty(const struct newton *newton, const double *beta)
{
    double squares = 0.0;
    for (size_t j = newton->first; j < newton->params; j++) {
        squares += beta[j] * beta[j];
    }
    return newton->goal->l1 * l1_norm(newton, beta) + 0.5 * newton->goal->l2 * squares;
}

/* Returns the loss at beta, and leaves gradient and Hessian of the smooth part in the working
 * memory. */
static double expand(struct newton *newton)
{
    const struct vq_newton_goal *goal = newton->goal;
    size_t params = newton->params;
    double loss = vq_design_loss(newton->design, newton->beta, newton->gradient, newton->hessian);
    for (size_t j = 0; j < params; j++) {
        newton->gradient[j] *= goal->c;
        for (size_t l = 0; l <= j; l++) {
            newton->hessian[j * params + l] *= goal->c;
        }
        if (j >= newton->first) {
            newton->gradient[j] += goal->l2 * newton->beta[j];
            newton->hessian[j * params + j] += goal->l2;
        }
    }
    return loss;
}

/* Solves H step = -g. If rounding has made the Hessian indefinite, a growing ridge is added. False
 * if this does not help. */
static bool newton_step(struct newton *newton)
{
    size_t params = newton->params;
    double largest = 0.0;
    for (size_t j = 0; j < params; j++) {
        largest = fmax(largest, newton->hessian[j * params + j]);
    }
    double ridge = 0.0;
    for (int attempt = 0; attempt < RIDGE_TRIES; attempt++) {
        memcpy(newton->factor, newton->hessian, params * params * sizeof(double));
        for (size_t j = 0; j < params; j++) {
            newton->factor[j * params + j] += ridge;
            newton->step[j] = -newton->gradient[j];
        }
        if (vq_linalg_cholesky(newton->factor, params)) {
            vq_linalg_solve(newton->factor, params, newton->step);
            return true;
        }
        ridge = ridge > 0.0 ? ridge * 100.0 : 1e-12 * largest;
    }
    return false;
}

static void lasso_step(struct newton *newton)
{
    struct vq_lasso_model model = {
        .params = newton->params,
        .first = newton->first,
        .l1 = newton->goal->l1,
        .at = newton->beta,
        .gradient = newton->gradient,
        .hessian = newton->hessian,
    };
    vq_lasso_step(&model, newton->factor, newton->trial, newton->active, newton->step);
}

/* The predicted first-order change of the objective, which is negative: g.step + l1 (|beta + step|
 * - |beta|). */
static double promise(struct newton *newton)
{
    double sum = 0.0;
    for (size_t j = 0; j < newton->params; j++) {
        sum += newton->gradient[j] * newton->step[j];
        newton->trial[j] = newton->beta[j] + newton->step[j];
    }
    return sum +
           newton->goal->l1 * (l1_norm(newton, newton->trial) - l1_norm(newton, newton->beta));
}

/* Moves beta along the step; false if no length improves the objective. */
static bool walk(struct newton *newton, double objective, double promised)
{
    double length = 1.0;
    double noise = PROMISE_TINY * (1.0 + fabs(objective)); /* a smaller decrease is rounding */
    bool blind = -promised <= noise;
    for (int halving = 0; halving < HALVINGS_MAX; halving++, length *= 0.5) {
        if (halving > 0 && -promised * length <= noise) {
            return false;
        }
        for (size_t j = 0; j < newton->params; j++) {
            newton->trial[j] = newton->beta[j] + length * newton->step[j];
        }
        double reached =
            newton->goal->c * vq_design_loss(newton->design, newton->trial, NULL, NULL) +
            penalty(newton, newton->trial);
        if (reached <= objective + ARMIJO * length * promised ||
            (blind && reached <= objective + 10.0 * noise)) {
            memcpy(newton->beta, newton->trial, newton->params * sizeof(double));
            return true;
        }
    }
    return false;
}

static double step_size(const struct newton *newton)
{
    double size = 0.0;
    for (size_t j = 0; j < newton->params; j++) {
        size = fmax(size, fabs(newton->step[j]) / (1.0 + fabs(newton->beta[j])));
    }
    return size;
}

/* A lasso whose minimum is not unique can move along a flat edge forever. So an objective that can
 * decrease by no more than this counts as the minimum. */
static bool flat(const struct newton *newton, double objective, double promised)
{
    return newton->goal->l1 > 0.0 && -promised <= FLAT_TINY * (1.0 + fabs(objective));
}

static void iterate(struct newton *newton, struct vq_newton_result *result)
{
    bool ends_flat = false;
    for (result->steps = 0; result->steps < newton->goal->steps_max; result->steps++) {
        double objective = newton->goal->c * expand(newton) + penalty(newton, newton->beta);
        if (newton->goal->l1 > 0.0) {
            lasso_step(newton);
        } else if (!newton_step(newton)) {
            return;
        }
        double promised = promise(newton);
        double size = step_size(newton);
        if (!isfinite(size) || !isfinite(promised)) {
            return;
        }
        if (size == 0.0) {
            result->converged = true;
            return;
        }
        if (!walk(newton, objective, promised)) {
            result->converged = -promised <= 1e-10 * (1.0 + fabs(objective));
            return;
        }
        if (size <= STEP_TINY) {
            result->converged = true;
            result->steps++;
            return;
        }
        ends_flat = flat(newton, objective, promised);
    }
    result->converged = ends_flat;
}

enum vq_status vq_newton_minimise(struct vq_design *design, const struct vq_newton_goal *goal,
                                  double *beta, struct vq_newton_result *ret)
{
    size_t params = design->params;
    double *work = vq_alloc(2 * params * params + 3 * params, sizeof(double));
    size_t *active = vq_alloc(params, sizeof(*active));
    if (work == NULL || active == NULL) {
        vq_free(work);
        vq_free(active);
        return VQ_NOMEM;
    }
    struct newton newton = {
        .design = design,
        .goal = goal,
        .params = params,
        .first = design->intercept ? 1 : 0,
        .beta = beta,
        .hessian = work,
        .factor = work + params * params,
        .gradient = work + 2 * params * params,
        .step = work + 2 * params * params + params,
        .trial = work + 2 * params * params + 2 * params,
        .active = active,
    };
    *ret = (struct vq_newton_result){0};
    iterate(&newton, ret);
    ret->loss = vq_design_loss(design, beta, NULL, NULL);
    ret->objective = goal->c * ret->loss + penalty(&newton, beta);
    vq_free(work);
    vq_free(active);
    return VQ_OK;
}
