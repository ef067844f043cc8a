/* Asking vibes on rows. Without early stopping one stage asks all; with it a first stage asks the
 * first training rows of the seeded order, vibes that show nothing there are dropped, and a second
 * stage asks the rest of the others. What is never asked stays VQ_OUTCOME_NOT_NEEDED in both
 * orders, which is how vibes begin. */
#include "methods/vibecheck/numbers/parts.h"
#include "methods/vibecheck/steps/parts.h"

#include <math.h>
#include <stdlib.h>

static uint8_t *cell(const struct vq_vibecheck_method *m, uint32_t vibe, uint32_t row,
                     uint32_t judge)
{
    return m->vibes[vibe].cells + ((size_t)row * m->in.judges_count + judge) * 2;
}

/* The answers of a stage into the vibes. */
static void store(struct vq_vibecheck_method *m)
{
    const struct vq_vibecheck_method_ranking *r = &m->ranking;
    const uint8_t *from = m->outcomes;
    for (uint32_t i = 0; i < r->asked_rows_count; i++) {
        for (uint32_t j = 0; j < m->in.judges_count; j++) {
            for (uint32_t k = 0; k < r->asked_vibes_count; k++) {
                memcpy(cell(m, r->asked_vibes[k], r->asked_rows[i], j), from, 2);
                from += 2;
            }
        }
    }
}

static enum vq_status ask(struct vq_vibecheck_method *m, const char *name,
                          enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                 struct vq_error *err),
                          struct vq_error *err)
{
    const struct vq_vibecheck_method_ranking *r = &m->ranking;
    struct vq_axis *axes = vq_arena_alloc(&m->stage_memory, r->asked_vibes_count, sizeof(*axes));
    if (axes == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t k = 0; k < r->asked_vibes_count; k++) {
        axes[k] = m->vibes[r->asked_vibes[k]].axis;
    }
    struct vq_stage stage = {.name = name,
                             .kind = VQ_STAGE_RANK,
                             .role = VQ_ROLE_JUDGE,
                             .rows = r->asked_rows,
                             .rows_count = r->asked_rows_count,
                             .axes = axes,
                             .axes_count = r->asked_vibes_count};
    return vq_rank_ask(m, &stage, then, err);
}

static enum vq_status last_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    store(m);
    m->then = m->ranking.then;
    return VQ_OK;
}

/* The gates of early stopping: the mean, and agreement between judges. A vibe without any score is
 * not judged by its failures. */
static bool stops(const struct vq_vibecheck_method *m, const struct vq_vibe_metrics *v,
                  const char **ret_why)
{
    const struct vq_conf_gates *g = &m->in.config->gates;
    if (isnan(v->sep_train)) {
        return false;
    }
    *ret_why = "separability";
    if (fabs(v->sep_train) < g->separability_min) {
        return true;
    }
    *ret_why = "agreement between judges";
    return !vq_gate_agreed(g, m->in.judges_count, &v->train);
}

static enum vq_status stop_some(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_ranking *r = &m->ranking;
    struct vq_vibecheck *numbers;
    VQ_TRY(vq_vibecheck_method_compute(m, r->from, r->asked_rows, r->asked_rows_count, false,
                                       &numbers, err));
    enum vq_status status = VQ_OK;
    uint32_t left = 0;
    for (uint32_t k = 0; k < r->asked_vibes_count && status == VQ_OK; k++) {
        const char *why = NULL;
        uint32_t v = r->asked_vibes[k];
        m->vibes[v].stopped_early = stops(m, &numbers->vibe[v - r->from], &why);
        if (m->vibes[v].stopped_early) {
            status =
                vq_vibecheck_method_note(m, "%s: \"%s\" was stopped early after %u rows for its %s",
                                         r->name, m->vibes[v].axis.name, r->asked_rows_count, why);
        } else {
            r->asked_vibes[left++] = v;
        }
    }
    r->asked_vibes_count = left;
    vq_vibecheck_destroy(&numbers);
    return status;
}

static int find(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static enum vq_status first_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_ranking *r = &m->ranking;
    store(m);
    VQ_TRY(stop_some(m, err));
    uint32_t *rest = vq_arena_alloc(&m->memory, r->rows_count, sizeof(*rest));
    if (rest == NULL) {
        return VQ_NOMEM;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->rows_count; i++) {
        if (bsearch(&r->rows[i], r->asked_rows, r->asked_rows_count, sizeof(*rest), find) == NULL) {
            rest[n++] = r->rows[i];
        }
    }
    r->asked_rows = rest;
    r->asked_rows_count = n;
    if (n == 0 || r->asked_vibes_count == 0) {
        m->then = r->then;
        return VQ_OK;
    }
    return ask(m, r->name, last_read, err);
}

static enum vq_status rows_take(struct vq_vibecheck_method *m, const uint32_t *rows, uint32_t n)
{
    struct vq_vibecheck_method_ranking *r = &m->ranking;
    r->asked_rows = vq_arena_copy(&m->memory, rows, n, sizeof(*rows));
    r->asked_rows_count = n;
    return r->asked_rows == NULL ? VQ_NOMEM : VQ_OK;
}

enum vq_status vq_rank_some(struct vq_vibecheck_method *m, const char *name, const uint32_t *vibes,
                            uint32_t vibes_count, const uint32_t *rows, uint32_t rows_count,
                            enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                   struct vq_error *err),
                            struct vq_error *err)
{
    if (vibes_count == 0 || rows_count == 0) {
        m->then = then;
        return VQ_OK;
    }
    struct vq_vibecheck_method_ranking *r = &m->ranking;
    *r = (struct vq_vibecheck_method_ranking){
        .name = name, .rows = rows, .rows_count = rows_count, .then = then};
    r->asked_vibes = vq_arena_copy(&m->memory, vibes, vibes_count, sizeof(*vibes));
    r->asked_vibes_count = vibes_count;
    if (r->asked_vibes == NULL) {
        return VQ_NOMEM;
    }
    VQ_TRY(rows_take(m, rows, rows_count));
    return ask(m, name, last_read, err);
}

enum vq_status vq_rank_begin(struct vq_vibecheck_method *m, const char *name, uint32_t from,
                             const uint32_t *rows, uint32_t rows_count,
                             enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                    struct vq_error *err),
                             struct vq_error *err)
{
    uint32_t n = (uint32_t)m->vibes_count - from;
    uint32_t *vibes = vq_arena_alloc(&m->memory, n, sizeof(*vibes));
    if (vibes == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t k = 0; k < n; k++) {
        vibes[k] = from + k;
    }
    const struct vq_conf_judging *judging = &m->in.config->judging;
    uint32_t first =
        judging->early_stop_rows < m->train_count ? judging->early_stop_rows : m->train_count;
    if (!judging->early_stop || first == 0 || first >= rows_count || n == 0) {
        return vq_rank_some(m, name, vibes, n, rows, rows_count, then, err);
    }
    struct vq_vibecheck_method_ranking *r = &m->ranking;
    *r = (struct vq_vibecheck_method_ranking){.name = name,
                                              .rows = rows,
                                              .rows_count = rows_count,
                                              .asked_vibes = vibes,
                                              .asked_vibes_count = n,
                                              .from = from,
                                              .then = then};
    VQ_TRY(rows_take(m, m->train, first));
    qsort(r->asked_rows, first, sizeof(*r->asked_rows), find);
    const char *first_name = vq_arena_printf(&m->stage_memory, "%s, first rows", name);
    return first_name == NULL ? VQ_NOMEM : ask(m, first_name, first_read, err);
}
