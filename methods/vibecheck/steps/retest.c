/* The last part: asks a share of the cells with a vote a second time, in the order asked first, to
 * measure how often a judge contradicts itself. A hash draws the cells, so that more rows or vibes
 * do not change the draw of the others. Invariant: the results are counted and never scored. */
#include "methods/vibecheck/steps/parts.h"

static enum vq_outcome first_vote(const struct vq_vibecheck_method *m, uint32_t vibe, uint32_t row,
                                  uint32_t judge, uint32_t *ret_order)
{
    size_t at = (size_t)row * m->in.judges_count + judge;
    *ret_order = m->in.first_order[at];
    return (enum vq_outcome)m->vibes[vibe].cells[at * 2 + *ret_order];
}

static bool is_chosen(const struct vq_vibecheck_method *m, uint32_t vibe, uint32_t row,
                      uint32_t judge)
{
    uint32_t order;
    return vq_outcome_is_vote(first_vote(m, vibe, row, judge, &order)) &&
           vq_retested(&m->in.sample_ids[row], &m->vibes[vibe].axis, &m->in.judges[judge],
                       m->in.config->judging.retest);
}

/* Marks the chosen cells of one row; returns whether there is one. */
static bool mark_row(const struct vq_vibecheck_method *m, uint32_t row, uint8_t *cells)
{
    bool any = false;
    for (uint32_t j = 0; j < m->in.judges_count; j++) {
        for (uint32_t v = 0; v < m->vibes_count; v++) {
            bool chosen = is_chosen(m, v, row, j);
            *cells++ = chosen;
            any |= chosen;
        }
    }
    return any;
}

/* The meaning of a vote: which text is higher, or that neither is. */
static int side(enum vq_outcome vote)
{
    return vote == VQ_OUTCOME_FIRST ? 1 : vote == VQ_OUTCOME_SECOND ? -1 : 0;
}

static enum vq_status retest_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    const struct vq_stage *s = &m->stage;
    struct vq_retest *retest;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, retest, m->in.judges_count));
    size_t cell = 0;
    for (uint32_t i = 0; i < s->rows_count; i++) {
        for (uint32_t j = 0; j < m->in.judges_count; j++) {
            for (uint32_t v = 0; v < s->axes_count; v++, cell++) {
                uint32_t order;
                enum vq_outcome was = first_vote(m, v, s->rows[i], j, &order);
                enum vq_outcome is = (enum vq_outcome)m->outcomes[cell * 2 + order];
                if (s->cells[cell] == 0) {
                    continue;
                }
                bool vote = vq_outcome_is_vote(is);
                retest[j].missing += !vote;
                retest[j].cells += vote;
                retest[j].flips += vote && side(is) != side(was);
            }
        }
    }
    m->result.retest = retest;
    m->then = NULL;
    return VQ_OK;
}

static enum vq_status retest_none(struct vq_vibecheck_method *m)
{
    return VQ_ARENA_ALLOC(&m->memory, m->result.retest, m->in.judges_count);
}

enum vq_status vq_retest_begin(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    m->then = NULL;
    if (m->in.config->judging.retest <= 0) {
        return VQ_OK;
    }
    VQ_ASSERT(m->in.sample_ids != NULL && m->in.judges != NULL);
    size_t row_cells = m->in.judges_count * m->vibes_count;
    uint32_t *rows;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, rows, m->all_count));
    uint8_t *cells;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, cells, m->all_count * row_cells));
    struct vq_axis *axes;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, axes, m->vibes_count));
    for (size_t v = 0; v < m->vibes_count; v++) {
        axes[v] = m->vibes[v].axis;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->all_count; i++) {
        if (mark_row(m, m->all_sorted[i], cells + n * row_cells)) {
            rows[n++] = m->all_sorted[i];
        }
    }
    if (n == 0) {
        return retest_none(m);
    }
    struct vq_stage stage = {.name = "retest",
                             .kind = VQ_STAGE_RANK,
                             .role = VQ_ROLE_JUDGE,
                             .rows = rows,
                             .rows_count = n,
                             .axes = axes,
                             .axes_count = (uint32_t)m->vibes_count,
                             .cells = cells,
                             .again = true};
    return vq_vibecheck_method_ask(m, &stage, retest_read);
}
