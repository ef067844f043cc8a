/* Judges and readers prefer long outputs. So each regression is fitted a second time with one more
 * column: the log ratio of the outputs' lengths, divided by its root mean square over the training
 * rows. Each kept vibe has its coefficient without and with this column. A vibe is marked if its
 * interval excludes 0 without length and contains 0 with length. If percentile intervals would not
 * be valid in either fit, the second fit is Firth's. The column is mirrored like every other:
 * swapping the outputs changes its sign. Not its job: measuring lengths. */
#include "methods/vibecheck/numbers/length.h"

#include "common/base/alloc.h"
#include "methods/stats/intervals/units.h"
#include "methods/stats/logit/crossval.h"

#include <math.h>
#include <string.h>

struct vq_fit_length vq_length_none(void)
{
    return (struct vq_fit_length){.coef = NAN,
                                  .ci95 = {NAN, NAN},
                                  .p = NAN,
                                  .c = NAN,
                                  .rms = NAN,
                                  .accuracy_train = NAN,
                                  .accuracy_test = NAN};
}

static double root_mean_square(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return n == 0 ? 0.0 : sqrt(sum / (double)n);
}

/* The columns of the fit, and length as the last one. */
static enum vq_status widen(struct vq_arena *memory, const struct vq_length_rows *rows, double rms,
                            struct vq_logit_data *ret_data)
{
    size_t n = rows->data->x.rows, k = rows->data->x.cols;
    double *x;
    VQ_TRY(VQ_ARENA_ALLOC(memory, x, n * (k + 1)));
    for (size_t i = 0; i < n; i++) {
        memcpy(x + i * (k + 1), rows->data->x.at + i * k, k * sizeof(*x));
        x[i * (k + 1) + k] = rows->length[i] / rms;
    }
    *ret_data = *rows->data;
    ret_data->x = (struct vq_matrix){x, n, k + 1};
    return VQ_OK;
}

/* The results of one fit or the other, one value per column. */
struct columns {
    const double *coef;
    const struct vq_interval *ci95;
    const double *p;
};

static bool holds_zero(struct vq_interval ci)
{
    return ci.lo <= 0.0 && ci.hi >= 0.0;
}

static bool excludes_zero(struct vq_interval ci)
{
    return ci.lo > 0.0 || ci.hi < 0.0; /* false if there is no interval */
}

static void take(struct vq_vibecheck_work *w, bool mm, const struct columns *from,
                 struct vq_fit_metrics *m)
{
    size_t col = 0;
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        struct vq_vibe_metrics *vibe = &w->out->vibe[v];
        if (!vibe->kept) {
            continue;
        }
        struct vq_length_coef held = {from->coef[col], from->ci95[col], from->p[col], false};
        struct vq_vibe_coef *to = mm ? &vibe->mm : &vibe->pp;
        struct vq_interval without = isnan(to->firth.value) ? to->ci95 : to->firth.ci95;
        held.explained = excludes_zero(without) && holds_zero(held.ci95);
        to->length = held;
        col++;
    }
    m->length.coef = from->coef[col];
    m->length.ci95 = from->ci95[col];
    m->length.p = from->p[col];
}

static enum vq_status score(struct vq_vibecheck_work *w, const struct vq_logit_data *data,
                            const double *coef, double *ret_accuracy)
{
    struct vq_logit_score s;
    VQ_TRY(vq_logit_score(data, 0.0, coef, &s, w->err));
    *ret_accuracy = s.accuracy_ties_half;
    return VQ_OK;
}

static enum vq_status fit_firth(struct vq_vibecheck_work *w, bool mm,
                                const struct vq_length_rows *rows,
                                const struct vq_logit_data *train, const struct vq_logit_data *test,
                                struct vq_fit_metrics *m)
{
    double *weights;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, weights, train->x.rows));
    size_t prompts;
    struct vq_logit_data data = *train;
    struct vq_logit_fit fit;
    VQ_TRY(vq_unit_weights(rows->group, train->x.rows, weights, &prompts));
    data.weights = weights;
    enum vq_status status = vq_logit_fit_firth(&data, &fit, w->err);
    if (status == VQ_OK && fit.status == VQ_LOGIT_OK) {
        const struct columns from = {fit.coef, fit.ci95, fit.p};
        m->length.status = VQ_LENGTH_FIRTH;
        take(w, mm, &from, m);
        status = score(w, train, fit.coef, &m->length.accuracy_train);
        if (status == VQ_OK) {
            status = score(w, test, fit.coef, &m->length.accuracy_test);
        }
    }
    vq_logit_fit_free(&fit);
    return status;
}

static enum vq_status fit_l2(struct vq_vibecheck_work *w, bool mm,
                             const struct vq_length_rows *rows, const struct vq_logit_data *train,
                             const struct vq_logit_data *test, struct vq_fit_metrics *m)
{
    struct vq_estimate e;
    VQ_TRY(vq_estimate_make(w, train, rows->group, &e));
    if (vq_crossval_c_at_edge(e.c)) {
        return fit_firth(w, mm, rows, train, test, m);
    }
    const struct columns from = {e.coef, e.ci95, e.p};
    m->length.status = VQ_LENGTH_OK;
    m->length.c = e.c;
    take(w, mm, &from, m);
    VQ_TRY(score(w, train, e.coef, &m->length.accuracy_train));
    return score(w, test, e.coef, &m->length.accuracy_test);
}

static enum vq_status fit(struct vq_vibecheck_work *w, bool mm, const struct vq_length_rows *rows,
                          const struct vq_logit_data *train, const struct vq_logit_data *test,
                          struct vq_fit_metrics *m)
{
    struct vq_logit_fit mle;
    VQ_TRY(vq_logit_fit_mle(train, &mle, w->err));
    bool separated = mle.separation != VQ_LOGIT_OVERLAP;
    vq_logit_fit_free(&mle);
    return separated || m->degenerate != VQ_FIT_SOUND ? fit_firth(w, mm, rows, train, test, m)
                                                      : fit_l2(w, mm, rows, train, test, m);
}

enum vq_status vq_length_compute(struct vq_vibecheck_work *w, bool mm,
                                 const struct vq_length_rows *train,
                                 const struct vq_length_rows *test, struct vq_fit_metrics *m)
{
    const struct vq_conf_regression *r = &w->in->config->regression;
    bool wanted = w->in->lengths != NULL && vq_draws(w) > 0 && m->status == VQ_FIT_OK &&
                  r->estimator != VQ_ESTIMATOR_LEGACY_BOOTSTRAP;
    double rms = wanted ? root_mean_square(train->length, train->data->x.rows) : 0.0;
    if (!(rms > 0.0)) {
        return VQ_OK;
    }
    m->length.rms = rms;
    struct vq_logit_data wide, wide_test;
    VQ_TRY(widen(&w->memory, train, rms, &wide));
    VQ_TRY(widen(&w->memory, test, rms, &wide_test));
    return fit(w, mm, train, &wide, &wide_test, m);
}
