/* A vibe with more than two models: mean scores and their distance, the test that no model differs
 * (sign flips of whole prompts), and Davidson's ranking by prompt. If k judges have a score for a
 * row, each score counts as 1/k of the row. The unit is always the prompt. */
#include "methods/vibecheck/numbers/ranking.h"

#include "common/base/alloc.h"
#include "methods/stats/groups.h"
#include "methods/stats/intervals/sign_flip.h"

#include <math.h>

struct means {
    double sum[VQ_MODELS_MAX];
    uint64_t rows[VQ_MODELS_MAX];
};

static const struct vq_row *facts(const struct vq_vibecheck_work *w, const struct vq_split *s,
                                  size_t row)
{
    return &w->in->rows[s->sample[row]];
}

static struct means means_of(const struct vq_vibecheck_work *w, const struct vq_split *s,
                             uint32_t vibe, bool without_shown)
{
    struct means m = {{0}, {0}};
    for (size_t row = 0; row < s->rows; row++) {
        double x = s->x[row * w->in->grid.vibes + vibe];
        if (isnan(x) || (without_shown && s->shown[row])) {
            continue;
        }
        for (int side = 0; side < 2; side++) {
            uint8_t model = facts(w, s, row)->model[side];
            m.sum[model] += side == 0 ? x : -x;
            m.rows[model]++;
        }
    }
    return m;
}

static double score_of(const struct means *m, uint32_t model)
{
    return m->rows[model] == 0 ? NAN : m->sum[model] / (double)m->rows[model];
}

static double separability(const struct vq_vibecheck_work *w, const struct vq_split *s,
                           uint32_t vibe)
{
    struct means m = means_of(w, s, vibe, false);
    double lowest = NAN, highest = NAN;
    for (uint32_t k = 0; k < w->in->config->models_count; k++) {
        lowest = fmin(lowest, score_of(&m, k)); /* NaN only if both are NaN */
        highest = fmax(highest, score_of(&m, k));
    }
    return (highest - lowest) / 2.0;
}

void vq_ranking_separability(struct vq_vibecheck_work *w)
{
    for (uint32_t v = 0; vq_config_ranks(w->in->config) && v < w->in->grid.vibes; v++) {
        struct vq_vibe_metrics *m = &w->out->vibe[v];
        m->train.sep = m->na_everywhere ? NAN : separability(w, &w->train, v);
        m->test.sep = m->na_everywhere ? NAN : separability(w, &w->test, v);
        m->bounds = (struct vq_interval){NAN, NAN};
        m->gate_could_flip = false;
    }
}

/* ---- no model differs ---- */

static enum vq_status test_vibe(const struct vq_vibecheck_work *w, const struct vq_split *s,
                                uint32_t vibe, const uint32_t *unit, size_t units, double *sums,
                                double *ret_p)
{
    uint32_t models = w->in->config->models_count;
    struct means m = means_of(w, s, vibe, true);
    bool *present;
    VQ_TRY(VQ_ALLOC(present, units));
    memset(sums, 0, units * models * sizeof(*sums));
    for (size_t row = 0; row < s->rows; row++) {
        double x = s->x[row * w->in->grid.vibes + vibe];
        if (isnan(x) || s->shown[row]) {
            continue;
        }
        present[unit[row]] = true;
        for (int side = 0; side < 2; side++) {
            uint8_t model = facts(w, s, row)->model[side];
            sums[unit[row] * models + model] += (side == 0 ? x : -x) / (double)m.rows[model];
        }
    }
    size_t n = 0;
    for (size_t u = 0; u < units; u++) {
        if (present[u]) {
            memmove(sums + n++ * models, sums + u * models, models * sizeof(*sums));
        }
    }
    vq_free(present);
    struct vq_sign_flip flip;
    VQ_TRY(vq_sign_flip_vectors((struct vq_matrix){sums, n, models}, vq_seed(w, VQ_SEED_SIGNS),
                                &flip));
    *ret_p = flip.p;
    return VQ_OK;
}

enum vq_status vq_ranking_test(struct vq_vibecheck_work *w, const struct vq_split *s, double *ret_p)
{
    uint32_t *unit;
    double *sums;
    size_t units;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, unit, s->rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, sums, s->rows * w->in->config->models_count));
    VQ_TRY(vq_groups_index(s->group, s->rows, unit, &units));
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        ret_p[v] = NAN;
        if (!w->out->vibe[v].na_everywhere) {
            VQ_TRY(test_vibe(w, s, v, unit, units, sums, &ret_p[v]));
        }
    }
    return VQ_OK;
}

/* ---- rankings ---- */

static struct vq_davidson_row comparison(const struct vq_vibecheck_work *w,
                                         const struct vq_split *s, size_t row, uint32_t vibe)
{
    const struct vq_row *f = facts(w, s, row);
    uint32_t judges = w->in->grid.judges, scored = 0;
    struct vq_davidson_row c = {.i = f->model[0], .j = f->model[1], .cluster = f->group};
    for (uint32_t j = 0; j < judges; j++) {
        int8_t score = vq_scores_at(w->out->scores, s->sample[row], vibe, j);
        scored += score != VQ_SCORE_MISSING;
        c.win += score == 1;
        c.tie += score == 0;
        c.loss += score == -1;
    }
    double share = scored == 0 ? 0.0 : 1.0 / scored;
    c.win *= share;
    c.tie *= share;
    c.loss *= share;
    return c;
}

static enum vq_status rank_vibe(struct vq_vibecheck_work *w, const struct vq_split *s,
                                uint32_t vibe, struct vq_davidson_row *rows,
                                struct vq_ranking_vibe *ret)
{
    uint32_t models = w->in->config->models_count;
    double strength[VQ_MODELS_MAX], covariance[VQ_MODELS_MAX * VQ_MODELS_MAX];
    struct vq_davidson_place places[VQ_MODELS_MAX];
    struct vq_davidson fit = {.log_strength = strength, .covariance = covariance};
    struct means means = means_of(w, s, vibe, false);
    double ties = 0.0, all = 0.0;
    for (size_t row = 0; row < s->rows; row++) {
        rows[row] = comparison(w, s, row, vibe);
        ties += rows[row].tie;
        all += rows[row].win + rows[row].tie + rows[row].loss;
    }
    VQ_TRY(vq_davidson_fit(rows, s->rows, models, &fit, w->err));
    VQ_TRY(vq_davidson_places(&fit, models, places));
    ret->status = fit.status;
    ret->prompts = fit.clusters;
    ret->log_tie = fit.log_tie;
    ret->tie_share = all > 0.0 ? ties / all : NAN;
    for (uint32_t k = 0; k < models; k++) {
        ret->model[k] = (struct vq_ranking_model){.comparisons = means.rows[k],
                                                  .score = score_of(&means, k),
                                                  .strength = strength[k],
                                                  .place = places[k],
                                                  .mm_coef = NAN,
                                                  .mm_ci95 = {NAN, NAN}};
    }
    return VQ_OK;
}

enum vq_status vq_ranking_compute(struct vq_vibecheck_work *w)
{
    if (!vq_config_ranks(w->in->config)) {
        return VQ_OK;
    }
    const struct vq_split *s = w->out->in_sample ? &w->train : &w->test;
    struct vq_ranking *r;
    struct vq_davidson_row *rows;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, rows, s->rows));
    VQ_TRY(VQ_ARENA_ALLOC(&w->out->memory, r, 1));
    VQ_TRY(VQ_ARENA_ALLOC(&w->out->memory, r->vibe, w->in->grid.vibes));
    r->models = w->in->config->models_count;
    r->mm_chance = 1.0 / r->models;
    w->out->ranking = r;
    for (uint32_t v = 0; v < w->in->grid.vibes; v++) {
        VQ_TRY(rank_vibe(w, s, v, rows, &r->vibe[v]));
    }
    return VQ_OK;
}
