/* One estimate: C is chosen on the training rows; then the penalised fit, its bootstrap interval,
 * and p-values by bootstrap or, approximately, by Wald; or all of it from the legacy bootstrap.
 * Owns only what it returns. Not its job: which rows and columns are used, and the target. */
#include "methods/vibecheck/numbers/estimate.h"

#include "common/base/alloc.h"
#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/logit/crossval.h"
#include "methods/stats/logit/legacy.h"

#include <math.h>
#include <string.h>

static double l1_ratio(enum vq_estimator estimator)
{
    switch (estimator) {
    case VQ_ESTIMATOR_L2_CV: return 0.0;
    case VQ_ESTIMATOR_ELASTICNET: return 0.5;
    case VQ_ESTIMATOR_LASSO: return 1.0;
    case VQ_ESTIMATOR_LEGACY_BOOTSTRAP: return VQ_LEGACY_L1_RATIO;
    }
    return 0.0;
}

static enum vq_crossval_mode crossval_mode(enum vq_cv cv)
{
    switch (cv) {
    case VQ_CV_LOG_LOSS: return VQ_CROSSVAL_LOG_LOSS;
    case VQ_CV_PAPER: return VQ_CROSSVAL_PAPER;
    case VQ_CV_SKLEARN_FOLDS: return VQ_CROSSVAL_SKLEARN_FOLDS;
    }
    return VQ_CROSSVAL_LOG_LOSS;
}

static struct vq_bootstrap_options draws(const struct vq_vibecheck_work *w)
{
    return (struct vq_bootstrap_options){.draws = w->in->config->regression.bootstrap_draws,
                                         .level = 0.95,
                                         .seed = vq_seed(w, VQ_SEED_COEF)};
}

static enum vq_status choose_c(struct vq_vibecheck_work *w, const struct vq_logit_data *train,
                               const uint32_t *groups, double *ret_c)
{
    const struct vq_conf_regression *r = &w->in->config->regression;
    struct vq_crossval_options options = {.mode = crossval_mode(r->cv),
                                          .l1_ratio = l1_ratio(r->estimator),
                                          .seed = vq_seed(w, VQ_SEED_FOLDS)};
    struct vq_crossval cv;
    VQ_TRY(vq_crossval_choose_c(train, groups, &options, &cv, w->err));
    *ret_c = cv.c;
    return VQ_OK;
}

static enum vq_status fit(struct vq_vibecheck_work *w, const struct vq_logit_data *train, double c,
                          double *ret_coef)
{
    double ratio = l1_ratio(w->in->config->regression.estimator);
    struct vq_logit_fit at_c;
    VQ_TRY(ratio > 0 ? vq_logit_fit_elasticnet(train, c, ratio, &at_c, w->err)
                     : vq_logit_fit_l2(train, c, &at_c, w->err));
    memcpy(ret_coef, at_c.coef, train->x.cols * sizeof(*ret_coef));
    vq_logit_fit_free(&at_c);
    return VQ_OK;
}

static enum vq_status penalised(struct vq_vibecheck_work *w, const struct vq_logit_data *train,
                                const uint32_t *groups, struct vq_estimate *e)
{
    const struct vq_conf_regression *r = &w->in->config->regression;
    VQ_TRY(choose_c(w, train, groups, &e->c));
    VQ_TRY(fit(w, train, e->c, e->coef));
    if (vq_draws(w) > 0) {
        struct vq_bootstrap_options options = draws(w);
        VQ_TRY(vq_bootstrap_coefficients(train, e->c, l1_ratio(r->estimator), groups, &options,
                                         e->ci95, NULL, e->p, w->err));
    }
    return r->p_values == VQ_P_VALUES_WALD ? vq_logit_wald(train, 0.0, e->coef, NULL, e->p, w->err)
                                           : VQ_OK;
}

static enum vq_status legacy(struct vq_vibecheck_work *w, const struct vq_logit_data *train,
                             struct vq_estimate *e)
{
    struct vq_bootstrap_options options = draws(w);
    struct vq_legacy all = {.coef = NULL};
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, all.coef, train->x.cols));
    VQ_TRY(vq_legacy_bootstrap(train, &options, &all, w->err));
    e->c = VQ_LEGACY_C;
    for (size_t col = 0; col < train->x.cols; col++) {
        e->coef[col] = all.coef[col].mean;
        e->ci95[col] = all.coef[col].percentile;
        e->p[col] = all.coef[col].p;
    }
    e->accuracy = all.accuracy_mean;
    e->accuracy_sd = all.accuracy_sd;
    e->accuracy_ci95 = all.accuracy_percentile;
    return VQ_OK;
}

enum vq_status vq_estimate_make(struct vq_vibecheck_work *w, const struct vq_logit_data *train,
                                const uint32_t *groups, struct vq_estimate *ret_estimate)
{
    size_t k = train->x.cols;
    struct vq_estimate *e = ret_estimate;
    *e = (struct vq_estimate){.accuracy = NAN, .accuracy_sd = NAN, .accuracy_ci95 = {NAN, NAN}};
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, e->coef, k));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, e->ci95, k));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, e->p, k));
    for (size_t col = 0; col < k; col++) {
        e->ci95[col] = (struct vq_interval){NAN, NAN};
        e->p[col] = NAN;
    }
    return w->in->config->regression.estimator == VQ_ESTIMATOR_LEGACY_BOOTSTRAP
               ? legacy(w, train, e)
               : penalised(w, train, groups, e);
}
