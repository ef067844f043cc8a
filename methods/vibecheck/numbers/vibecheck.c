/* Runs the steps in order: scores, splits, metrics, gates, fits, audit; and owns the result's
 * memory. Invariant: the order in which answers arrived has no influence. Not its job: files, JSON,
 * the table on the terminal. */
#include "methods/vibecheck/numbers/vibecheck.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "methods/vibecheck/numbers/cascade.h"
#include "methods/vibecheck/numbers/ranking.h"

#include <math.h>
#include <stdlib.h>

const char *vq_drop_reason_name(enum vq_drop_reason reason)
{
    switch (reason) {
    case VQ_DROP_NONE: return "none";
    case VQ_DROP_SEPARABILITY: return "separability";
    case VQ_DROP_PREFERENCE: return "preference";
    case VQ_DROP_KAPPA: return "kappa";
    case VQ_DROP_OVERLAP: return "overlap";
    case VQ_DROP_NUM_FINAL: return "num_final_vibes";
    case VQ_DROP_EARLY_STOP: return "early_stop";
    }
    return "?";
}

const char *vq_fit_status_name(enum vq_fit_status status)
{
    switch (status) {
    case VQ_FIT_OK: return "ok";
    case VQ_FIT_NO_VIBES: return "no_vibes";
    case VQ_FIT_NO_ROWS: return "no_rows";
    case VQ_FIT_NO_LABELS: return "no_labels";
    }
    return "?";
}

const char *vq_fit_degenerate_name(enum vq_fit_degenerate degenerate)
{
    switch (degenerate) {
    case VQ_FIT_SOUND: return "no";
    case VQ_FIT_SEPARATED: return "separated";
    case VQ_FIT_C_AT_EDGE: return "c_at_edge";
    case VQ_FIT_FEW_PROMPTS: return "few_prompts";
    case VQ_FIT_TOO_LARGE: return "too_large";
    }
    return "?";
}

/* A score that should be there and is not. What was never asked is not missing. */
static bool lacks_score(const struct vq_vibecheck_work *w, uint32_t sample, uint32_t vibe,
                        uint32_t judge)
{
    const uint8_t *both =
        w->in->outcomes + vq_grid_task(&w->in->grid, (struct vq_cell){sample, judge, vibe, 0});
    bool asked = both[0] != VQ_OUTCOME_NOT_NEEDED || both[1] != VQ_OUTCOME_NOT_NEEDED;
    return asked && vq_scores_at(w->out->scores, sample, vibe, judge) == VQ_SCORE_MISSING;
}

static enum vq_status drop_rows(struct vq_vibecheck_work *w)
{
    const struct vq_grid *grid = &w->in->grid;
    if (w->in->config->judging.invalid != VQ_INVALID_DROP_ROW) {
        return VQ_OK;
    }
    VQ_TRY(VQ_ARENA_ALLOC(&w->out->memory, w->out->dropped, grid->samples));
    for (uint32_t i = 0; i < grid->samples; i++) {
        bool lacks = false;
        for (uint32_t v = 0; v < grid->vibes; v++) {
            bool stopped = w->in->stopped_early != NULL && w->in->stopped_early[v];
            for (uint32_t j = 0; j < grid->judges && !stopped; j++) {
                lacks = lacks || lacks_score(w, i, v, j);
            }
        }
        const struct vq_row *row = &w->in->rows[i];
        w->out->dropped[i] = lacks && !row->excluded;
        w->out->rows_dropped_train += w->out->dropped[i] && !row->test;
        w->out->rows_dropped_test += w->out->dropped[i] && row->test;
    }
    return VQ_OK;
}

static enum vq_status split_fill(struct vq_vibecheck_work *w, bool test, struct vq_split *s)
{
    const struct vq_grid *grid = &w->in->grid;
    size_t n = 0;
    for (uint32_t i = 0; i < grid->samples; i++) {
        n += vq_vibecheck_uses(w->in, w->out, i, test);
    }
    s->rows = n;
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, s->sample, n));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, s->group, n));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, s->x, n * grid->vibes));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, s->pref, n));
    VQ_TRY(VQ_ARENA_ALLOC(&w->memory, s->shown, n));
    size_t row = 0;
    for (uint32_t i = 0; i < grid->samples; i++) {
        const struct vq_row *facts = &w->in->rows[i];
        if (!vq_vibecheck_uses(w->in, w->out, i, test)) {
            continue;
        }
        s->sample[row] = i;
        s->group[row] = facts->group;
        s->shown[row] = facts->shown;
        s->pref[row] = facts->preference == 0 ? NAN : facts->preference;
        memcpy(s->x + row * grid->vibes, w->out->scores->x + (size_t)i * grid->vibes,
               grid->vibes * sizeof(*s->x));
        row++;
    }
    return VQ_OK;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static enum vq_status questions_repeat(struct vq_vibecheck_work *w)
{
    uint32_t n = 0;
    uint32_t *groups;
    VQ_TRY(VQ_ALLOC(groups, w->in->grid.samples));
    for (uint32_t i = 0; i < w->in->grid.samples; i++) {
        if (!w->in->rows[i].excluded) {
            groups[n++] = w->in->rows[i].group;
        }
    }
    qsort(groups, n, sizeof(*groups), by_value);
    for (uint32_t i = 1; i < n; i++) {
        w->out->questions_repeat |= groups[i] == groups[i - 1];
    }
    vq_free(groups);
    return VQ_OK;
}

static enum vq_status result_fill(const struct vq_vibecheck_input *in, struct vq_vibecheck *r)
{
    r->vibes = in->grid.vibes;
    r->judges = in->grid.judges;
    r->samples = in->grid.samples;
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, r->vibe, r->vibes));
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, r->mm_margin, r->samples));
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, r->pp_margin, r->samples));
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, r->audit.judges, r->judges));
    for (uint32_t v = 0; v < r->vibes; v++) {
        VQ_TRY(VQ_ARENA_ALLOC(&r->memory, r->vibe[v].judges, r->judges));
    }
    return vq_scores_create(&in->grid, in->config->judging.pair_rule, in->outcomes, &r->scores);
}

static enum vq_status compute(struct vq_vibecheck_work *w)
{
    VQ_TRY(result_fill(w->in, w->out));
    vq_cascade_scores(w->in, w->out->scores);
    VQ_TRY(drop_rows(w));
    VQ_TRY(split_fill(w, false, &w->train));
    VQ_TRY(split_fill(w, true, &w->test));
    w->out->in_sample = w->test.rows == 0;
    VQ_TRY(questions_repeat(w));
    VQ_TRY(vq_metrics_compute(w));
    VQ_TRY(vq_gates_apply(w));
    VQ_TRY(vq_metrics_test(w));
    VQ_TRY(vq_ranking_compute(w));
    VQ_TRY(vq_fits_compute(w));
    VQ_TRY(vq_audit_compute(w));
    return vq_people_compute(w);
}

enum vq_status vq_vibecheck_compute(const struct vq_vibecheck_input *input,
                                    struct vq_vibecheck **ret_result, struct vq_error *err)
{
    struct vq_vibecheck_work w = {.in = input, .err = err};
    VQ_TRY(VQ_ALLOC(w.out, 1));
    enum vq_status status = compute(&w);
    vq_arena_clear(&w.memory);
    if (status != VQ_OK) {
        vq_vibecheck_destroy(&w.out);
        return status;
    }
    *ret_result = w.out;
    return VQ_OK;
}

void vq_vibecheck_destroy(struct vq_vibecheck **result)
{
    if (*result != NULL) {
        vq_scores_destroy(&(*result)->scores);
        vq_arena_clear(&(*result)->memory);
        vq_free(*result);
        *result = NULL;
    }
}
