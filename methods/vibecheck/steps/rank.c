/* Asks vibes on rows: all rows in one stage, or with early stopping (looks.c). Invariant: a cell
 * that is never asked keeps its first value, VQ_OUTCOME_NOT_NEEDED in both orders. */
#include "methods/vibecheck/steps/parts.h"

uint8_t *vq_rank_cell(const struct vq_vibecheck_method *m, uint32_t vibe, uint32_t row,
                      uint32_t judge)
{
    return m->vibes[vibe].cells + ((size_t)row * m->in.judges_count + judge) * 2;
}

void vq_rank_store(struct vq_vibecheck_method *m)
{
    const struct vq_vibecheck_method_ranking *r = &m->ranking;
    const uint8_t *from = m->outcomes;
    const uint8_t *why = m->cascade.why;
    for (uint32_t i = 0; i < r->asked_rows_count; i++) {
        for (uint32_t j = 0; j < m->in.judges_count; j++) {
            for (uint32_t k = 0; k < r->asked_vibes_count; k++) {
                memcpy(vq_rank_cell(m, r->asked_vibes[k], r->asked_rows[i], j), from, 2);
                from += 2;
            }
        }
        for (uint32_t k = 0; m->in.config->cascade != NULL && k < r->asked_vibes_count; k++) {
            m->vibes[r->asked_vibes[k]].why[r->asked_rows[i]] = *why++;
        }
    }
}

enum vq_status vq_rank_stage(struct vq_vibecheck_method *m, const char *name,
                             enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                    struct vq_error *err),
                             struct vq_error *err)
{
    const struct vq_vibecheck_method_ranking *r = &m->ranking;
    struct vq_axis *axes;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, axes, r->asked_vibes_count));
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
    vq_rank_store(m);
    m->then = m->ranking.then;
    return VQ_OK;
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
    *r = (struct vq_vibecheck_method_ranking){.name = name, .rows_count = rows_count, .then = then};
    r->asked_vibes = vq_arena_copy(&m->memory, vibes, vibes_count, sizeof(*vibes));
    r->asked_vibes_count = vibes_count;
    VQ_TRY(vq_arena_status(&m->memory));
    VQ_TRY(rows_take(m, rows, rows_count));
    return vq_rank_stage(m, name, last_read, err);
}

enum vq_status vq_rank_begin(struct vq_vibecheck_method *m, const char *name, uint32_t from,
                             const uint32_t *rows, uint32_t rows_count,
                             enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                    struct vq_error *err),
                             struct vq_error *err)
{
    uint32_t n = (uint32_t)m->vibes_count - from;
    uint32_t *vibes;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, vibes, n));
    for (uint32_t k = 0; k < n; k++) {
        vibes[k] = from + k;
    }
    uint32_t looks[VQ_LOOKS_MAX];
    bool given = rows_count > m->train_count;
    bool stops = m->in.config->judging.early_stop != VQ_EARLY_STOP_OFF && m->train_count > 0 &&
                 (given || vq_settle_looks(m->in.config, m->train_count, looks) > 0);
    return stops && n > 0 ? vq_looks_begin(m, name, vibes, n, rows_count, then, err)
                          : vq_rank_some(m, name, vibes, n, rows, rows_count, then, err);
}
