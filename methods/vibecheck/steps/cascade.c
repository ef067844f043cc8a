/* A cascade: a ranking as two stages. The first, cheap judge answers all cells. The second judge
 * answers the cells that are escalated (numbers/cascade.h) and those that the audit draws by hash
 * among all cells. Invariant: the cells follow from stored answers, so a resumed run asks the same
 * ones. Not its job: estimates from the answers (numbers/cascade.c). */
#include "methods/vibecheck/numbers/cascade.h"
#include "common/base/alloc.h"
#include "methods/vibecheck/forecast.h"
#include "methods/vibecheck/steps/parts.h"

#include <math.h>

static size_t cell_of(const struct vq_vibecheck_method *m, uint32_t row, uint32_t judge,
                      uint32_t axis)
{
    return ((size_t)row * m->in.judges_count + judge) * m->cascade.axes_count + axis;
}

enum vq_status vq_vibecheck_method_take_margins(struct vq_vibecheck_method *m, const float *margins,
                                                size_t count, struct vq_error *err)
{
    if (!m->asking || !m->stage.margins) {
        return vq_fail(err, VQ_BUG, "margins of votes that were not asked for");
    }
    vq_free(m->margins);
    m->margins_count = 0;
    VQ_TRY(VQ_ALLOC(m->margins, count));
    memcpy(m->margins, margins, count * sizeof(*margins));
    m->margins_count = count;
    return VQ_OK;
}

static enum vq_status finish(struct vq_vibecheck_method *m)
{
    m->outcomes = m->cascade.outcomes;
    m->then = m->cascade.then;
    return VQ_OK;
}

/* ---- the second judge ---- */

static enum vq_status second_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_vibecheck_method_cascade *c = &m->cascade;
    uint32_t second = 1 - c->first;
    for (uint32_t i = 0; i < c->escalated_count; i++) {
        memcpy(c->outcomes + 2 * cell_of(m, c->escalated[i], second, 0),
               m->outcomes + 2 * cell_of(m, i, second, 0), (size_t)2 * c->axes_count);
    }
    return finish(m);
}

static enum vq_status second_ask(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_cascade *c = &m->cascade;
    size_t count = cell_of(m, c->escalated_count, 0, 0);
    uint8_t *cells = vq_arena_alloc(&m->stage_memory, count, 1);
    const char *name = vq_arena_printf(&m->stage_memory, VQ_SECOND_NAME, c->name);
    VQ_TRY(vq_arena_status(&m->stage_memory));
    memset(cells, VQ_CELL_UNASKED, count);
    for (uint32_t i = 0; i < c->escalated_count; i++) {
        const uint8_t *why = c->why + (size_t)c->escalated[i] * c->axes_count;
        uint8_t *to = cells + cell_of(m, i, 1 - c->first, 0);
        for (uint32_t v = 0; v < c->axes_count; v++) {
            to[v] = vq_cascade_asks(why[v]) ? VQ_CELL_ASKED : VQ_CELL_UNASKED;
        }
    }
    struct vq_stage stage = {.name = name,
                             .kind = VQ_STAGE_RANK,
                             .role = VQ_ROLE_JUDGE,
                             .rows = c->escalated_row,
                             .rows_count = c->escalated_count,
                             .axes = c->axes,
                             .axes_count = c->axes_count,
                             .cells = cells};
    return vq_vibecheck_method_ask(m, &stage, second_read);
}

/* ---- the first judge ---- */

/* The reasons to ask the second judge about this cell; 0: it is not asked. */
static uint8_t why_of(const struct vq_vibecheck_method *m, uint32_t row, uint32_t axis)
{
    const struct vq_vibecheck_method_cascade *c = &m->cascade;
    const struct vq_conf_cascade *conf = m->in.config->cascade;
    size_t at = 2 * cell_of(m, row, c->first, axis);
    double margins[2] = {NAN, NAN};
    for (size_t order = 0; order < 2 && m->margins_count > 0; order++) {
        margins[order] = (double)m->margins[at + order];
    }
    uint8_t why = vq_cascade_escalates(&conf->escalate, m->in.config->judging.pair_rule,
                                       c->outcomes + at, margins);
    bool drawn = vq_cascade_audited(&m->in.sample_ids[c->rows[row]], &c->axes[axis],
                                    &m->in.judges[1 - c->first], conf->audit);
    return (uint8_t)(why | (drawn ? VQ_CASCADE_AUDIT : 0));
}

static enum vq_status first_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_vibecheck_method_cascade *c = &m->cascade;
    memcpy(c->outcomes, m->outcomes, 2 * cell_of(m, c->rows_count, 0, 0));
    for (uint32_t i = 0; i < c->rows_count; i++) {
        bool any = false;
        for (uint32_t v = 0; v < c->axes_count; v++) {
            uint8_t why = why_of(m, i, v);
            c->why[(size_t)i * c->axes_count + v] = why;
            any |= vq_cascade_asks(why);
        }
        if (any) {
            c->escalated[c->escalated_count] = i;
            c->escalated_row[c->escalated_count++] = c->rows[i];
        }
    }
    m->margins_count = 0;
    return c->escalated_count > 0 ? second_ask(m) : finish(m);
}

static enum vq_status first_ask(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_cascade *c = &m->cascade;
    uint8_t *cells;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, cells, cell_of(m, c->rows_count, 0, 0)));
    for (uint32_t i = 0; i < c->rows_count; i++) {
        for (uint32_t j = 0; j < m->in.judges_count; j++) {
            memset(cells + cell_of(m, i, j, 0), j == c->first ? VQ_CELL_ASKED : VQ_CELL_UNASKED,
                   c->axes_count);
        }
    }
    struct vq_stage stage = {.name = c->name,
                             .kind = VQ_STAGE_RANK,
                             .role = VQ_ROLE_JUDGE,
                             .rows = c->rows,
                             .rows_count = c->rows_count,
                             .axes = c->axes,
                             .axes_count = c->axes_count,
                             .cells = cells,
                             .margins = m->in.config->cascade->escalate.margin > 0};
    return vq_vibecheck_method_ask(m, &stage, first_read);
}

enum vq_status vq_cascade_ask(struct vq_vibecheck_method *m, const struct vq_stage *stage,
                              enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                     struct vq_error *err))
{
    VQ_ASSERT(m->in.judges_count == 2 && m->in.sample_ids != NULL && m->in.judges != NULL);
    struct vq_vibecheck_method_cascade *c = &m->cascade;
    vq_arena_clear(&c->memory);
    *c = (struct vq_vibecheck_method_cascade){.memory = c->memory,
                                              .rows_count = stage->rows_count,
                                              .axes_count = stage->axes_count,
                                              .first = vq_config_first_judge(m->in.config),
                                              .then = then};
    uint32_t n = c->rows_count;
    size_t tasks = 2 * cell_of(m, n, 0, 0);
    c->name = vq_arena_text(&c->memory, vq_span_str(stage->name));
    c->rows = vq_arena_copy(&c->memory, stage->rows, n, sizeof(*c->rows));
    c->axes = vq_arena_copy(&c->memory, stage->axes, c->axes_count, sizeof(*c->axes));
    c->outcomes = vq_arena_alloc(&c->memory, tasks, 1);
    c->why = vq_arena_alloc(&c->memory, (size_t)n * c->axes_count, 1);
    c->escalated = vq_arena_alloc(&c->memory, n, sizeof(*c->escalated));
    c->escalated_row = vq_arena_alloc(&c->memory, n, sizeof(*c->escalated_row));
    VQ_TRY(vq_arena_status(&c->memory));
    return first_ask(m);
}
