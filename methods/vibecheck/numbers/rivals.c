/* Answers two separate questions. First: does PP predict better than chance? PP has no intercept,
 * so it does not know which output is whose, and it is compared with a coin. Second: do the vibes
 * add to knowing the model's name? This compares, on the same rows, a fit with an intercept, which
 * knows the name, with the intercept alone. Both are tested by prompt. */
#include "methods/vibecheck/numbers/rivals.h"

#include "common/base/alloc.h"
#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/intervals/separability.h"
#include "methods/stats/intervals/sign_flip.h"

#include <math.h>

struct vq_pp_rivals vq_rivals_none(void)
{
    return (struct vq_pp_rivals){.chance_p = NAN,
                                 .identity_accuracy = NAN,
                                 .identity_baseline = NAN,
                                 .difference = NAN,
                                 .difference_ci95 = {NAN, NAN},
                                 .difference_p = NAN};
}

void vq_rivals_right(const struct vq_logit_data *data, double intercept, const double *coef,
                     double *ret_right)
{
    vq_logit_predict(data->x, intercept, coef, ret_right);
    for (size_t i = 0; i < data->x.rows; i++) {
        double eta = data->y[i] > 0.5 ? ret_right[i] : -ret_right[i];
        ret_right[i] = fabs(eta) < VQ_LOGIT_TIE ? 0.5 : eta > 0 ? 1.0 : 0.0;
    }
}

static double share_of_a(const struct vq_logit_data *data)
{
    double a = 0;
    for (size_t i = 0; i < data->x.rows; i++) {
        a += data->y[i];
    }
    return a / (double)data->x.rows;
}

static double mean(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    return sum / (double)n;
}

static enum vq_status against_chance(const struct vq_vibecheck_work *w,
                                     const struct vq_logit_data *test, const uint32_t *group,
                                     const double *coef, double *right, struct vq_pp_rivals *ret)
{
    vq_rivals_right(test, 0.0, coef, right);
    for (size_t i = 0; i < test->x.rows; i++) {
        right[i] -= 0.5;
    }
    struct vq_sign_flip flip;
    VQ_TRY(vq_sign_flip_test(right, test->x.rows, 1, group, vq_seed(w, VQ_SEED_INCREMENT), &flip));
    ret->chance_p = flip.p;
    return VQ_OK;
}

/* Replaces `right` by the differences of the rows. */
static enum vq_status against_identity(struct vq_vibecheck_work *w,
                                       const struct vq_logit_data *train,
                                       const struct vq_logit_data *test, const uint32_t *group,
                                       double c, double *right, struct vq_pp_rivals *ret)
{
    struct vq_logit_data named = *train;
    named.mirrored = false;
    named.intercept = true;
    struct vq_logit_fit fit;
    VQ_TRY(vq_logit_fit_l2(&named, 2.0 * c, &fit, w->err)); /* mirrored rows count twice */
    if (fit.status != VQ_LOGIT_OK) {
        vq_logit_fit_free(&fit);
        return VQ_OK;
    }
    size_t n = test->x.rows;
    vq_rivals_right(test, fit.intercept, fit.coef, right);
    vq_logit_fit_free(&fit);
    ret->identity_accuracy = mean(right, n);
    double choice = share_of_a(train) >= 0.5 ? 1.0 : 0.0;
    for (size_t i = 0; i < n; i++) {
        right[i] -= fabs(test->y[i] - choice) < 0.5 ? 1.0 : 0.0;
    }
    ret->difference = mean(right, n);
    ret->identity_baseline = ret->identity_accuracy - ret->difference;
    struct vq_sign_flip flip;
    uint64_t seed = vq_seed(w, VQ_SEED_INCREMENT);
    VQ_TRY(vq_sign_flip_test(right, n, 1, group, seed, &flip));
    ret->difference_p = flip.p;
    struct vq_bootstrap_options options = {.draws = vq_draws(w), .level = 0.95, .seed = seed};
    struct vq_bootstrap_mean drawn;
    VQ_TRY(
        vq_bootstrap_means((struct vq_matrix){right, n, 1}, NULL, group, &options, &drawn, w->err));
    return vq_separability_interval(right, n, 1, group, drawn.percentile, &ret->difference_ci95);
}

enum vq_status vq_rivals_compute(struct vq_vibecheck_work *w, const struct vq_logit_data *train,
                                 const struct vq_logit_data *test, const uint32_t *group,
                                 const struct vq_estimate *pp, struct vq_pp_rivals *ret)
{
    struct vq_pp_rivals rivals = vq_rivals_none();
    double a = share_of_a(train);
    rivals.one_class = !(a > 0.0 && a < 1.0) && !vq_config_ranks(w->in->config);
    double *right;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, right, test->x.rows));
    if (test->x.rows > 0 && vq_draws(w) > 0) {
        VQ_TRY(against_chance(w, test, group, pp->coef, right, &rivals));
        if (!rivals.one_class && !vq_config_ranks(w->in->config)) {
            VQ_TRY(against_identity(w, train, test, group, pp->c, right, &rivals));
        }
    }
    *ret = rivals;
    return VQ_OK;
}
