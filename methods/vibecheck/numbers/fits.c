/* Model matching and preference prediction: the mirrored logistic regression without intercept on
 * the kept vibes' row scores of train, evaluated on test. A missing cell contributes 0 (no
 * evidence) and is counted; complete-case accuracies are reported beside. If percentile intervals
 * would not be valid, Firth's estimate with its profile interval replaces them. Not its job: the
 * estimation of coefficients (estimate.c), the comparison of PP with rivals (rivals.c). */
#include "common/base/alloc.h"
#include "methods/stats/intervals/proportions.h"
#include "methods/stats/intervals/units.h"
#include "methods/stats/logit/crossval.h"
#include "methods/vibecheck/numbers/estimate.h"
#include "methods/vibecheck/numbers/length.h"
#include "methods/vibecheck/numbers/ranking.h"
#include "methods/vibecheck/numbers/rivals.h"

#include <math.h>

#define COMPLETE_CASE_WARNING 0.01

enum target {
    TARGET_MM,
    TARGET_PP
};

/* The rows of one split that a fit uses, over the kept vibes. */
struct design {
    struct vq_logit_data data;
    double *x;
    double *y;
    uint32_t *group;
    double *length; /* zeros if there are no lengths */
    double *scale;  /* scale of train's columns; both splits were divided by it */
};

static enum vq_status design_fill(struct vq_vibecheck_work *w, const struct vq_split *s,
                                  enum target target, struct design *d)
{
    uint32_t vibes = w->in->grid.vibes;
    uint32_t k = w->out->kept_count;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, d->x, s->rows * k));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, d->y, s->rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, d->group, s->rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, d->length, s->rows));
    size_t n = 0;
    for (size_t row = 0; row < s->rows; row++) {
        if (target == TARGET_PP && isnan(s->pref[row])) {
            continue;
        }
        d->y[n] = target == TARGET_MM || s->pref[row] > 0 ? 1.0 : 0.0;
        d->group[n] = s->group[row];
        d->length[n] = w->in->lengths == NULL ? 0.0 : w->in->lengths[s->sample[row]];
        uint32_t col = 0;
        for (uint32_t v = 0; v < vibes; v++) {
            if (w->out->vibe[v].kept) {
                d->x[n * k + col++] = s->x[row * vibes + v];
            }
        }
        n++;
    }
    d->data = (struct vq_logit_data){.x = {d->x, n, k}, .y = d->y, .mirrored = true};
    return VQ_OK;
}

/* Scales of 1 unless the scores are to be standardised. Mirrored columns have mean 0: there is
 * nothing to subtract. */
static enum vq_status standardise(struct vq_vibecheck_work *w, struct design *train,
                                  struct design *test)
{
    uint32_t k = w->out->kept_count;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, train->scale, k));
    const struct vq_conf_regression *r = &w->in->config->regression;
    if (!r->standardise && r->estimator != VQ_ESTIMATOR_LEGACY_BOOTSTRAP) {
        for (uint32_t col = 0; col < k; col++) {
            train->scale[col] = 1.0;
        }
        return VQ_OK;
    }
    vq_stats_root_mean_square(train->data.x, train->scale);
    struct design *both[] = {train, test};
    for (size_t d = 0; d < VQ_COUNT(both); d++) {
        for (size_t row = 0; row < both[d]->data.x.rows; row++) {
            for (uint32_t col = 0; col < k; col++) {
                both[d]->x[row * k + col] /= train->scale[col];
            }
        }
    }
    return VQ_OK;
}

static enum vq_fit_degenerate degenerate(const struct vq_fit_metrics *m)
{
    if (m->mle_separation != VQ_LOGIT_OVERLAP) {
        return VQ_FIT_SEPARATED;
    }
    if (m->prompts_train < VQ_FIT_PROMPTS_MIN) {
        return VQ_FIT_FEW_PROMPTS;
    }
    return vq_crossval_c_at_edge(m->c) ? VQ_FIT_C_AT_EDGE : VQ_FIT_SOUND;
}

/* Replaces percentile intervals and their p by Firth's. Firth's intervals do not account for
 * repeated prompts, so with `weights` each prompt counts once. */
static enum vq_status firth(struct vq_vibecheck_work *w, enum target target,
                            const struct design *train, const double *weights)
{
    struct vq_logit_data data = train->data;
    data.weights = weights;
    struct vq_logit_fit fit = {.status = VQ_LOGIT_NO_ROWS};
    if (vq_draws(w) > 0) { /* 0: no intervals, either between iterations or by the settings */
        VQ_TRY(vq_logit_fit_firth(&data, &fit, w->err));
    }
    for (uint32_t v = 0, col = 0; v < w->in->grid.vibes; v++) {
        struct vq_vibe_metrics *vibe = &w->out->vibe[v];
        if (!vibe->kept) {
            continue;
        }
        struct vq_vibe_coef *to = target == TARGET_MM ? &vibe->mm : &vibe->pp;
        to->ci95 = (struct vq_interval){NAN, NAN};
        to->p = NAN;
        if (fit.status == VQ_LOGIT_OK) {
            to->firth = (struct vq_firth_coef){fit.coef[col], fit.ci95[col], fit.p[col]};
        }
        col++;
    }
    vq_logit_fit_free(&fit);
    return VQ_OK;
}

static enum vq_status judge_intervals(struct vq_vibecheck_work *w, enum target target,
                                      const struct design *train, struct vq_fit_metrics *m)
{
    if (w->in->config->regression.estimator == VQ_ESTIMATOR_LEGACY_BOOTSTRAP) {
        return VQ_OK; /* the legacy numbers are shown as the older script printed them */
    }
    double *weights;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, weights, train->data.x.rows));
    size_t prompts;
    VQ_TRY(vq_unit_weights(train->group, train->data.x.rows, weights, &prompts));
    m->prompts_train = prompts;
    m->degenerate = degenerate(m);
    return m->degenerate == VQ_FIT_SOUND ? VQ_OK : firth(w, target, train, weights);
}

/* Writes coefficients, their intervals and the unregularised fit to the kept vibes. */
static enum vq_status coefficients(struct vq_vibecheck_work *w, enum target target,
                                   const struct design *train, const struct vq_estimate *e,
                                   struct vq_fit_metrics *m)
{
    struct vq_logit_fit mle;
    VQ_TRY(vq_logit_fit_mle(&train->data, &mle, w->err));
    for (uint32_t v = 0, col = 0; v < w->in->grid.vibes; v++) {
        struct vq_vibe_metrics *vibe = &w->out->vibe[v];
        if (!vibe->kept) {
            continue;
        }
        struct vq_vibe_coef *to = target == TARGET_MM ? &vibe->mm : &vibe->pp;
        to->coef = e->coef[col];
        to->ci95 = e->ci95[col];
        to->p = e->p[col];
        to->mle = mle.coef[col];
        to->mle_se = mle.se[col];
        m->coef_abs_max = fmax(m->coef_abs_max, fabs(e->coef[col]));
        col++;
    }
    m->mle_status = mle.status;
    m->mle_separation = mle.separation;
    vq_logit_fit_free(&mle);
    m->c = e->c;
    m->legacy_accuracy = e->accuracy;
    m->legacy_accuracy_sd = e->accuracy_sd;
    m->legacy_accuracy_ci95 = e->accuracy_ci95;
    return judge_intervals(w, target, train, m);
}

/* 1 where the sign of the predictor is right, 1/2 at a tie. */
static enum vq_status accuracy_interval(struct vq_vibecheck_work *w, const struct design *test,
                                        const double *coef, struct vq_fit_metrics *m)
{
    double n = (double)m->rows_test;
    m->accuracy_test_ci95 =
        vq_proportion_interval(VQ_PROPORTION_WILSON, m->accuracy_test * n, n, 0.95);
    if (!w->out->questions_repeat || m->rows_test == 0) {
        return VQ_OK;
    }
    double *right;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, right, m->rows_test));
    vq_rivals_right(&test->data, 0.0, coef, right);
    return vq_proportion_clustered(right, m->rows_test, test->group, 0.95, &m->accuracy_test_ci95);
}

static bool differs(double a, double b)
{
    return fabs(a - b) > COMPLETE_CASE_WARNING; /* false if either is NaN */
}

static enum vq_status accuracies(struct vq_vibecheck_work *w, const struct design *train,
                                 const struct design *test, const double *coef,
                                 struct vq_fit_metrics *m)
{
    struct vq_logit_score s;
    VQ_TRY(vq_logit_score(&train->data, 0.0, coef, &s, w->err));
    m->accuracy_train = s.accuracy_ties_half;
    m->accuracy_train_complete = s.complete_accuracy_ties_half;
    m->cells_imputed_train = s.cells_imputed;
    VQ_TRY(vq_logit_score(&test->data, 0.0, coef, &s, w->err));
    m->accuracy_test = s.accuracy_ties_half;
    m->accuracy_test_complete = s.complete_accuracy_ties_half;
    m->cells_imputed_test = s.cells_imputed;
    m->missing_warning = differs(m->accuracy_train, m->accuracy_train_complete) ||
                         differs(m->accuracy_test, m->accuracy_test_complete);
    return accuracy_interval(w, test, coef, m);
}

/* The margin of every row of both splits, labelled or not; excluded rows have none. */
static void margins(struct vq_vibecheck_work *w, const double *coef, const double *scale,
                    double *ret_margin)
{
    uint32_t vibes = w->in->grid.vibes;
    for (uint32_t i = 0; i < w->in->grid.samples; i++) {
        if (w->in->rows[i].excluded) {
            continue;
        }
        double sum = 0.0;
        for (uint32_t v = 0, col = 0; v < vibes; v++) {
            if (w->out->vibe[v].kept) {
                double x = w->out->scores->x[(size_t)i * vibes + v];
                sum += isnan(x) ? 0.0 : x / scale[col] * coef[col];
                col++;
            }
        }
        ret_margin[i] = sum;
    }
}

/* Test accuracy of always choosing the model that train prefers more often; at a tie on train, A.
 * In-sample, `test` is train. */
static double majority_baseline(const struct design *train, const struct design *test)
{
    double a = 0, right = 0;
    for (size_t i = 0; i < train->data.x.rows; i++) {
        a += train->y[i];
    }
    double choice = a * 2 >= (double)train->data.x.rows ? 1.0 : 0.0;
    for (size_t i = 0; i < test->data.x.rows; i++) {
        right += test->y[i] == choice;
    }
    return test->data.x.rows == 0 ? NAN : right / (double)test->data.x.rows;
}

static enum vq_status fit_designs(struct vq_vibecheck_work *w, enum target target,
                                  const struct design *train, const struct design *test,
                                  struct vq_fit_metrics *m)
{
    m->rows_train = train->data.x.rows;
    m->rows_test = test->data.x.rows;
    if (target == TARGET_PP) {
        m->majority_baseline =
            vq_config_ranks(w->in->config)
                ? vq_matching_baseline(w, &w->train, w->out->in_sample ? &w->train : &w->test)
                : majority_baseline(train, w->out->in_sample ? train : test);
    }
    if (m->rows_train == 0) {
        m->status = target == TARGET_PP && w->train.rows > 0 ? VQ_FIT_NO_LABELS : VQ_FIT_NO_ROWS;
        return VQ_OK;
    }
    if (w->out->kept_count == 0) {
        m->status = VQ_FIT_NO_VIBES;
        m->accuracy_train = 0.5;
        m->accuracy_test = m->rows_test > 0 ? 0.5 : NAN;
        return VQ_OK;
    }
    struct vq_estimate e;
    VQ_TRY(vq_estimate_make(w, &train->data, train->group, &e));
    m->status = VQ_FIT_OK;
    VQ_TRY(coefficients(w, target, train, &e, m));
    VQ_TRY(accuracies(w, train, test, e.coef, m));
    if (target == TARGET_PP) {
        VQ_TRY(vq_rivals_compute(w, &train->data, &test->data, test->group, &e, &m->rivals));
    }
    const struct vq_length_rows rows = {&train->data, train->length, train->group};
    const struct vq_length_rows rows_test = {&test->data, test->length, test->group};
    VQ_TRY(vq_length_compute(w, target == TARGET_MM, &rows, &rows_test, m));
    margins(w, e.coef, train->scale, target == TARGET_MM ? w->out->mm_margin : w->out->pp_margin);
    return VQ_OK;
}

static enum vq_status fit_target(struct vq_vibecheck_work *w, enum target target,
                                 struct vq_fit_metrics *m)
{
    *m = (struct vq_fit_metrics){.c = NAN,
                                 .accuracy_train = NAN,
                                 .accuracy_test = NAN,
                                 .accuracy_test_ci95 = {NAN, NAN},
                                 .accuracy_test_complete = NAN,
                                 .accuracy_train_complete = NAN,
                                 .legacy_accuracy = NAN,
                                 .legacy_accuracy_sd = NAN,
                                 .legacy_accuracy_ci95 = {NAN, NAN},
                                 .majority_baseline = NAN,
                                 .rivals = vq_rivals_none(),
                                 .length = vq_length_none()};
    if (target == TARGET_MM && vq_config_ranks(w->in->config)) {
        return vq_matching_compute(w);
    }
    struct design train, test;
    VQ_TRY(design_fill(w, &w->train, target, &train));
    VQ_TRY(design_fill(w, &w->test, target, &test));
    VQ_TRY(standardise(w, &train, &test));
    return fit_designs(w, target, &train, &test, m);
}

enum vq_status vq_fits_compute(struct vq_vibecheck_work *w)
{
    for (uint32_t i = 0; i < w->in->grid.samples; i++) {
        w->out->mm_margin[i] = w->out->pp_margin[i] = NAN;
    }
    static const struct vq_vibe_coef none = {.coef = NAN,
                                             .ci95 = {NAN, NAN},
                                             .p = NAN,
                                             .firth = {NAN, {NAN, NAN}, NAN},
                                             .length = {NAN, {NAN, NAN}, NAN, false},
                                             .mle = NAN,
                                             .mle_se = NAN};
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        w->out->vibe[v].mm = w->out->vibe[v].pp = none;
    }
    VQ_TRY(fit_target(w, TARGET_MM, &w->out->mm));
    return fit_target(w, TARGET_PP, &w->out->pp);
}
