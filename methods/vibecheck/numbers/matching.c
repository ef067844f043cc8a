/* Model matching with more than two models: predicts which model wrote an output from a comparison
 * with the other outputs of its record. An observation is an output: its model, and for each kept
 * vibe the mean of its scores over the record's comparisons (positive if it is the higher one). C
 * of the multinomial is chosen, and the multinomial fitted, on train; it is evaluated on test. With
 * two models this is the mirrored logit of fits.c. Not its job: preferences. */
#include "methods/vibecheck/numbers/ranking.h"

#include "common/base/alloc.h"
#include "methods/stats/intervals/power.h"
#include "methods/stats/intervals/proportions.h"
#include "methods/stats/logit/crossval.h"
#include "methods/stats/logit/multinomial.h"

#include <math.h>
#include <stdlib.h>

/* The outputs of one split. */
struct outputs {
    struct vq_multinomial_data data;
    double *x; /* NaN: no score on that vibe */
    uint32_t *y, *group;
};

struct place { /* one side of a row */
    uint32_t record, row;
    uint8_t model;
    bool second;
};

static int by_output(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->record != b->record) {
        return a->record < b->record ? -1 : 1;
    }
    if (a->model != b->model) {
        return a->model < b->model ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

static void fill_output(const struct vq_vibecheck_work *w, const struct vq_split *s,
                        const struct place *at, size_t n, double *ret_x)
{
    uint32_t vibes = w->in->grid.vibes, col = 0;
    for (uint32_t v = 0; v < vibes; v++) {
        if (!w->out->vibe[v].kept) {
            continue;
        }
        double sum = 0.0, scored = 0.0;
        for (size_t i = 0; i < n; i++) {
            double x = s->x[at[i].row * vibes + v];
            sum += isnan(x) ? 0.0 : at[i].second ? -x : x;
            scored += isnan(x) ? 0.0 : 1.0;
        }
        ret_x[col++] = scored > 0.0 ? sum / scored : NAN;
    }
}

static enum vq_status outputs_fill(struct vq_vibecheck_work *w, const struct vq_split *s,
                                   struct outputs *o)
{
    size_t sides = 2 * s->rows, cols = w->out->kept_count;
    struct place *places;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, places, sides));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, o->x, sides * cols));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, o->y, sides));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, o->group, sides));
    for (size_t k = 0; k < sides; k++) {
        const struct vq_row *row = &w->in->rows[s->sample[k / 2]];
        places[k] = (struct place){row->record, (uint32_t)(k / 2), row->model[k % 2], k % 2 == 1};
    }
    qsort(places, sides, sizeof(*places), by_output);
    size_t n = 0;
    for (size_t from = 0, to; from < sides; from = to, n++) {
        to = from + 1;
        while (to < sides && places[to].record == places[from].record &&
               places[to].model == places[from].model) {
            to++;
        }
        fill_output(w, s, &places[from], to - from, o->x + n * cols);
        o->y[n] = places[from].model;
        o->group[n] = s->group[places[from].row];
    }
    o->data = (struct vq_multinomial_data){
        .x = {o->x, n, cols}, .y = o->y, .classes = w->in->config->models_count};
    return VQ_OK;
}

/* *ret_accuracy NaN without outputs; `ret_ci` NULL: none is wanted. */
static enum vq_status accuracy(struct vq_vibecheck_work *w, const struct outputs *o,
                               const double *coef, double *ret_accuracy, struct vq_interval *ret_ci)
{
    size_t n = o->data.x.rows;
    double *right, sum = 0.0;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, right, n));
    for (size_t row = 0; row < n; row++) {
        right[row] = vq_multinomial_right(&o->data, coef, row);
        sum += right[row];
    }
    *ret_accuracy = n == 0 ? NAN : sum / (double)n;
    return ret_ci == NULL || n == 0 ? VQ_OK
                                    : vq_proportion_clustered(right, n, o->group, 0.95, ret_ci);
}

/* The MM margin of each row, (w_a - w_b) . x: positive if its scores point to its models in their
 * order, negative if they point to the exchanged order. */
static void margins(struct vq_vibecheck_work *w, const double *coef)
{
    uint32_t vibes = w->in->grid.vibes, cols = w->out->kept_count;
    for (uint32_t i = 0; i < w->in->grid.samples; i++) {
        const struct vq_row *row = &w->in->rows[i];
        double sum = 0.0;
        for (uint32_t v = 0, col = 0; v < vibes; v++) {
            if (w->out->vibe[v].kept) {
                double x = w->out->scores->x[(size_t)i * vibes + v];
                double gap = coef[row->model[0] * cols + col] - coef[row->model[1] * cols + col];
                sum += isnan(x) ? 0.0 : x * gap;
                col++;
            }
        }
        w->out->mm_margin[i] = row->excluded ? NAN : sum;
    }
}

/* As with two models (fits.c), but without Firth's estimate: a degenerate fit has no intervals. */
static enum vq_status judge_fit(struct vq_vibecheck_work *w, const struct outputs *train)
{
    struct vq_fit_metrics *m = &w->out->mm;
    size_t prompts = vq_power_units(train->group, train->data.x.rows);
    if (prompts == SIZE_MAX) {
        return VQ_NOMEM;
    }
    m->prompts_train = prompts;
    if (!vq_multinomial_is_small(&train->data)) {
        m->degenerate = VQ_FIT_TOO_LARGE;
        return VQ_OK;
    }
    bool separated;
    VQ_TRY(vq_multinomial_separated(&train->data, &separated));
    m->degenerate = separated                      ? VQ_FIT_SEPARATED
                    : prompts < VQ_FIT_PROMPTS_MIN ? VQ_FIT_FEW_PROMPTS
                    : vq_crossval_c_at_edge(m->c)  ? VQ_FIT_C_AT_EDGE
                                                   : VQ_FIT_SOUND;
    return VQ_OK;
}

static enum vq_status intervals(struct vq_vibecheck_work *w, const struct outputs *train,
                                const double *coef)
{
    size_t k = w->out->kept_count, params = k * train->data.classes;
    if (vq_draws(w) == 0) { /* between iterations, or by the settings */
        return VQ_OK;
    }
    VQ_TRY(judge_fit(w, train));
    if (w->out->mm.degenerate != VQ_FIT_SOUND) {
        return VQ_OK;
    }
    struct vq_interval *ci;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, ci, params));
    VQ_TRY(vq_multinomial_intervals(&train->data, w->out->mm.c, coef, train->group, ci));
    for (uint32_t v = 0, col = 0; v < w->in->grid.vibes; v++) {
        if (!w->out->vibe[v].kept) {
            continue;
        }
        for (uint32_t model = 0; model < w->out->ranking->models; model++) {
            w->out->ranking->vibe[v].model[model].mm_ci95 = ci[model * k + col];
        }
        col++;
    }
    return VQ_OK;
}

static void coefficients(struct vq_vibecheck_work *w, const double *coef)
{
    struct vq_ranking *r = w->out->ranking;
    for (uint32_t v = 0, col = 0; v < w->in->grid.vibes; v++) {
        if (!w->out->vibe[v].kept) {
            continue;
        }
        for (uint32_t k = 0; k < r->models; k++) {
            r->vibe[v].model[k].mm_coef = coef[k * w->out->kept_count + col];
        }
        col++;
    }
}

static enum vq_status fit(struct vq_vibecheck_work *w, const struct outputs *train,
                          const struct outputs *test, double *coef)
{
    struct vq_fit_metrics *m = &w->out->mm;
    VQ_TRY(vq_multinomial_choose_c(&train->data, train->group, vq_seed(w, VQ_SEED_FOLDS), &m->c,
                                   w->err));
    VQ_TRY(vq_multinomial_fit(&train->data, m->c, coef, w->err));
    m->status = VQ_FIT_OK;
    VQ_TRY(accuracy(w, train, coef, &m->accuracy_train, NULL));
    VQ_TRY(accuracy(w, test, coef, &m->accuracy_test, &m->accuracy_test_ci95));
    coefficients(w, coef);
    margins(w, coef);
    return intervals(w, train, coef);
}

static enum vq_status compute(struct vq_vibecheck_work *w, const struct outputs *train,
                              const struct outputs *test)
{
    struct vq_fit_metrics *m = &w->out->mm;
    size_t params = w->out->kept_count * (size_t)w->in->config->models_count;
    w->out->ranking->mm_outputs_train = train->data.x.rows;
    w->out->ranking->mm_outputs_test = test->data.x.rows;
    m->rows_train = w->train.rows;
    m->rows_test = w->test.rows;
    if (train->data.x.rows == 0 || w->out->kept_count == 0) {
        m->status = train->data.x.rows == 0 ? VQ_FIT_NO_ROWS : VQ_FIT_NO_VIBES;
        m->accuracy_train = w->out->ranking->mm_chance;
        m->accuracy_test = w->out->in_sample ? NAN : w->out->ranking->mm_chance;
        return VQ_OK;
    }
    double *coef;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, coef, params));
    return fit(w, train, test, coef);
}

enum vq_status vq_matching_compute(struct vq_vibecheck_work *w)
{
    struct outputs train, test;
    VQ_TRY(outputs_fill(w, &w->train, &train));
    VQ_TRY(outputs_fill(w, &w->test, &test));
    return compute(w, &train, &test);
}

double vq_matching_baseline(const struct vq_vibecheck_work *w, const struct vq_split *train,
                            const struct vq_split *test)
{
    double won[VQ_MODELS_MAX] = {0}, labelled[VQ_MODELS_MAX] = {0}, right = 0.0, rows = 0.0;
    for (size_t row = 0; row < train->rows; row++) {
        const uint8_t *model = w->in->rows[train->sample[row]].model;
        if (!isnan(train->pref[row])) {
            won[model[train->pref[row] > 0 ? 0 : 1]] += 1.0;
            labelled[model[0]] += 1.0;
            labelled[model[1]] += 1.0;
        }
    }
    for (size_t row = 0; row < test->rows; row++) {
        const uint8_t *model = w->in->rows[test->sample[row]].model;
        if (isnan(test->pref[row])) {
            continue;
        }
        double a = labelled[model[0]] > 0 ? won[model[0]] / labelled[model[0]] : 0.5;
        double b = labelled[model[1]] > 0 ? won[model[1]] / labelled[model[1]] : 0.5;
        double points = a > b ? 1.0 : a < b ? -1.0 : 0.0;
        right += 0.5 + 0.5 * points * test->pref[row];
        rows += 1.0;
    }
    return rows > 0.0 ? right / rows : NAN;
}
