/* Computes a measure's curves and contrasts, bars per model, slopes and effects of size from its
 * values by cell. The arena owns the results; working memory lives for one call. Not its job: the
 * values (panel.c). */
#include "methods/persona/parts.h"

#include "common/base/alloc.h"

#include <math.h>

/* ---- curves ---- */

static uint32_t draws_of(const struct vq_persona_work *w)
{
    return w->study->draws > 0 ? w->study->draws : VQ_PERSONA_DRAWS;
}

/* The script of this kind, or NONE. */
static uint32_t script_of(const struct vq_persona_work *w, enum vq_persona_kind kind)
{
    const struct vq_persona_design *d = &w->study->plan->design;
    for (uint32_t s = 0; s < d->scripts_count; s++) {
        if (d->scripts[s].kind == kind) {
            return s;
        }
    }
    return VQ_PERSONA_NONE;
}

static double value_of(const struct vq_persona_work *w, const struct vq_persona_panel *p,
                       enum vq_persona_curve curve, uint32_t cell, uint32_t script, uint32_t point)
{
    size_t at = vq_panel_at(w, p->points, cell, script, point);
    switch (curve) {
    case VQ_CURVE_PERSONA: return p->persona[at];
    case VQ_CURVE_BASELINE: return p->baseline[at];
    case VQ_CURVE_CHANGE: return p->persona[at] - p->persona[at - point];
    case VQ_CURVE_GAP: return p->persona[at] - p->baseline[at];
    case VQ_CURVE_KINDS: {
        uint32_t directed = script_of(w, VQ_PERSONA_DIRECTED), goal = script_of(w, VQ_PERSONA_GOAL);
        return script > 0 || directed == VQ_PERSONA_NONE || goal == VQ_PERSONA_NONE
                   ? NAN
                   : p->persona[vq_panel_at(w, p->points, cell, directed, point)] -
                         p->persona[vq_panel_at(w, p->points, cell, goal, point)];
    }
    case VQ_CURVES: break;
    }
    return NAN;
}

/* The first `kinds` curves of a panel. `cells` has room for one value per cell. */
static enum vq_status curves(struct vq_persona_work *w, const struct vq_persona_panel *p,
                             uint32_t kinds, double *cells, struct vq_cells_mean **ret_curves)
{
    uint32_t scripts = w->out->scripts;
    struct vq_cells_mean *made;
    VQ_TRY(VQ_ARENA_ALLOC(w->arena, made, (size_t)kinds * scripts * p->points));
    for (uint32_t i = 0; i < kinds * scripts * p->points; i++) {
        enum vq_persona_curve curve = (enum vq_persona_curve)(i / p->points / scripts);
        for (uint32_t c = 0; c < w->out->cells; c++) {
            cells[c] = value_of(w, p, curve, c, i / p->points % scripts, i % p->points);
        }
        VQ_TRY(vq_cells_mean(cells, w->out->cells, draws_of(w), VQ_PERSONA_SEED, &made[i]));
    }
    *ret_curves = made;
    return VQ_OK;
}

/* ---- bars ---- */

static enum vq_status bar(struct vq_persona_work *w, const struct vq_persona_measure *m,
                          uint32_t model, uint32_t script, double *cells,
                          struct vq_persona_bars *ret)
{
    const struct vq_persona_panel *p = &m->panel;
    uint32_t personas = w->out->personas;
    double *level = cells, *change = cells + personas, *gap = change + personas;
    for (uint32_t k = 0; k < personas; k++) {
        uint32_t cell = model * personas + k;
        double sums[2] = {0, 0};
        uint32_t present[2] = {0, 0};
        for (uint32_t i = 0; i < p->points; i++) {
            double values[2] = {value_of(w, p, VQ_CURVE_PERSONA, cell, script, i),
                                value_of(w, p, VQ_CURVE_GAP, cell, script, i)};
            for (int v = 0; v < 2; v++) {
                sums[v] += isnan(values[v]) ? 0 : values[v];
                present[v] += isnan(values[v]) ? 0 : 1;
            }
        }
        level[k] = present[0] == 0 ? NAN : sums[0] / present[0];
        gap[k] = present[1] == 0 ? NAN : sums[1] / present[1];
        change[k] =
            p->points == 0 ? NAN : value_of(w, p, VQ_CURVE_CHANGE, cell, script, p->points - 1);
    }
    uint32_t draws = w->study->bar_draws > 0 ? w->study->bar_draws : VQ_PERSONA_BAR_DRAWS;
    VQ_TRY(vq_cells_mean(level, personas, draws, VQ_PERSONA_SEED, &ret->level));
    VQ_TRY(vq_cells_mean(change, personas, draws, VQ_PERSONA_SEED, &ret->change));
    return vq_cells_mean(gap, personas, draws, VQ_PERSONA_SEED, &ret->gap);
}

static enum vq_status bars(struct vq_persona_work *w, struct vq_persona_measure *m)
{
    uint32_t n = w->out->models * w->out->scripts;
    VQ_TRY(VQ_ARENA_ALLOC(w->arena, m->bars, n));
    double *cells;
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, cells, (size_t)3 * w->out->personas));
    for (uint32_t i = 0; i < n; i++) {
        VQ_TRY(bar(w, m, i / w->out->scripts, i % w->out->scripts, cells, &m->bars[i]));
    }
    return VQ_OK;
}

/* ---- slopes ---- */

struct rows {
    double *x, *y;
    uint32_t *group;
    size_t n, cap;
    uint32_t groups;
};

static enum vq_status make_rows(struct vq_arena *memory, size_t cap, struct rows *ret)
{
    *ret = (struct rows){.cap = cap};
    VQ_TRY(VQ_ARENA_ALLOC(memory, ret->x, cap));
    VQ_TRY(VQ_ARENA_ALLOC(memory, ret->y, cap));
    return VQ_ARENA_ALLOC(memory, ret->group, cap);
}

static void clear(struct rows *r)
{
    r->n = 0;
    r->groups = 0;
}

static void row(struct rows *r, double x, double y, uint32_t group)
{
    VQ_ASSERT(r->n < r->cap);
    r->x[r->n] = x;
    r->y[r->n] = y;
    r->group[r->n++] = group;
    r->groups = group >= r->groups ? group + 1 : r->groups;
}

static enum vq_status slope(const struct rows *r, struct vq_within *ret)
{
    return vq_within_slope(r->x, r->y, r->group, r->n, r->groups, ret);
}

static enum vq_status slope_by_tokens(const struct vq_persona_work *w,
                                      const struct vq_persona_measure *m,
                                      const struct vq_persona_panel *p, uint32_t script,
                                      uint32_t from, uint32_t until, struct rows *r,
                                      struct vq_within *ret)
{
    clear(r);
    for (uint32_t c = from; w->study->tokens != NULL && c < until; c++) {
        for (uint32_t i = 0; i < p->points; i++) {
            double value = p->persona[vq_panel_at(w, p->points, c, script, i)];
            double tokens = vq_persona_length(w->out, m, c / w->out->personas, c % w->out->personas,
                                              script, p->rounds[i]);
            row(r, tokens / 1000, vq_persona_percent(m->unit, value), c - from);
        }
    }
    return slope(r, ret);
}

/* Slopes over the cells [from, until). For ratings of turns they use every turn, not the joined
 * turns. */
static enum vq_status slopes_of(const struct vq_persona_work *w, const struct vq_persona_measure *m,
                                uint32_t script, uint32_t from, uint32_t until, struct rows *r,
                                struct vq_persona_slopes *ret)
{
    const struct vq_persona_panel *p = m->turns.points > 0 ? &m->turns : &m->panel;
    clear(r);
    for (uint32_t c = from; c < until; c++) {
        for (uint32_t i = 0; i < p->points; i++) {
            double value = p->persona[vq_panel_at(w, p->points, c, script, i)];
            row(r, p->rounds[i], vq_persona_percent(m->unit, value), c - from);
        }
    }
    VQ_TRY(slope(r, &ret->length));
    VQ_TRY(slope_by_tokens(w, m, p, script, from, until, r, &ret->tokens));
    clear(r);
    for (uint32_t c = from; c < until; c++) {
        for (uint32_t i = 0; i < p->points; i++) {
            size_t at = vq_panel_at(w, p->points, c, script, i);
            uint32_t group = (c - from) * p->points + i;
            bool both = !isnan(p->persona[at]) && !isnan(p->baseline[at]);
            row(r, 1, both ? vq_persona_percent(m->unit, p->persona[at]) : NAN, group);
            row(r, 0, both ? vq_persona_percent(m->unit, p->baseline[at]) : NAN, group);
        }
    }
    return slope(r, &ret->cost);
}

static enum vq_status slopes(struct vq_persona_work *w, struct vq_persona_measure *m)
{
    uint32_t models = w->out->models, personas = w->out->personas, scripts = w->out->scripts;
    struct rows r;
    uint32_t points = m->turns.points > m->panel.points ? m->turns.points : m->panel.points;
    VQ_TRY(make_rows(&w->space, (size_t)2 * w->out->cells * points, &r));
    VQ_TRY(VQ_ARENA_ALLOC(w->arena, m->slopes, (size_t)(models + 1) * scripts));
    for (uint32_t i = 0; i < (models + 1) * scripts; i++) {
        uint32_t model = i / scripts;
        bool pooled = model == models;
        VQ_TRY(slopes_of(w, m, i % scripts, pooled ? 0 : model * personas,
                         pooled ? w->out->cells : (model + 1) * personas, &r, &m->slopes[i]));
    }
    return VQ_OK;
}

/* ---- sizes ---- */

static uint32_t families(const struct vq_persona_work *w)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < w->out->models; i++) {
        uint32_t family = w->study->subjects[i].family;
        most = family < VQ_PERSONA_MODELS_MAX && family > most ? family : most;
    }
    return most + 1;
}

static enum vq_status size_effect(const struct vq_persona_work *w,
                                  const struct vq_persona_measure *m, uint32_t script, bool gap,
                                  struct rows *r, struct vq_within *ret)
{
    const struct vq_persona_panel *p = &m->panel;
    uint32_t personas = w->out->personas, wide = families(w);
    clear(r);
    for (uint32_t c = 0; c < w->out->cells; c++) {
        const struct vq_persona_subject *subject = &w->study->subjects[c / personas];
        double one = p->points == 0 ? NAN
                     : gap          ? value_of(w, p, VQ_CURVE_GAP, c, script, 0)
                                    : value_of(w, p, VQ_CURVE_CHANGE, c, script, p->points - 1);
        if (subject->size > 0 && subject->family < wide) {
            double percent = vq_persona_percent(m->unit, one) - vq_persona_percent(m->unit, 0);
            row(r, subject->size, percent, c % personas * wide + subject->family);
        }
    }
    return slope(r, ret);
}

static enum vq_status sizes(struct vq_persona_work *w, struct vq_persona_measure *m)
{
    if (w->study->subjects == NULL) {
        return VQ_OK;
    }
    struct rows r;
    VQ_TRY(make_rows(&w->space, w->out->cells, &r));
    VQ_TRY(VQ_ARENA_ALLOC(w->arena, m->sizes, w->out->scripts));
    for (uint32_t s = 0; s < w->out->scripts; s++) {
        VQ_TRY(size_effect(w, m, s, false, &r, &m->sizes[s].change));
        VQ_TRY(size_effect(w, m, s, true, &r, &m->sizes[s].gap));
    }
    return VQ_OK;
}

/* ---- all of a measure ---- */

enum vq_status vq_measure_finish(struct vq_persona_work *w, struct vq_persona_measure *m)
{
    double *cells;
    VQ_TRY(VQ_ARENA_ALLOC(&w->space, cells, w->out->cells));
    VQ_TRY(curves(w, &m->panel, VQ_CURVES, cells, &m->curves));
    if (m->turns.points > 0) {
        VQ_TRY(curves(w, &m->turns, VQ_CURVE_BASELINE + 1, cells, &m->turn_curves));
    }
    VQ_TRY(bars(w, m));
    VQ_TRY(slopes(w, m));
    return sizes(w, m);
}
