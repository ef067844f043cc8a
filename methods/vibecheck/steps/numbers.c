/* The method's cells as a grid: all cells for the result, or some vibes over some rows for the
 * numbers in between. Invariant: the rows are in ascending order, as the train rows of the result
 * are, so that the gates compute the same sums. */
#include "common/base/alloc.h"
#include "methods/vibecheck/steps/parts.h"

static void fill(const struct vq_vibecheck_method *m, uint32_t from, const uint32_t *rows,
                 uint32_t n, uint8_t *ret_outcomes)
{
    uint8_t *to = ret_outcomes;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < m->in.judges_count; j++) {
            size_t at = ((size_t)(rows == NULL ? i : rows[i]) * m->in.judges_count + j) * 2;
            for (size_t v = from; v < m->vibes_count; v++) {
                memcpy(to, m->vibes[v].cells + at, 2);
                to += 2;
            }
        }
    }
}

enum vq_status vq_vibecheck_method_outcomes(struct vq_vibecheck_method *m, uint8_t **ret_outcomes)
{
    size_t tasks = (size_t)m->in.rows_count * m->in.judges_count * m->vibes_count * 2;
    uint8_t *outcomes;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, outcomes, tasks));
    fill(m, 0, NULL, m->in.rows_count, outcomes);
    *ret_outcomes = outcomes;
    return VQ_OK;
}

/* `n` rows, and the vibes from number `from` on. */
static void fill_why(const struct vq_vibecheck_method *m, uint32_t from, const uint32_t *rows,
                     uint32_t n, uint8_t *to)
{
    for (uint32_t i = 0; i < n; i++) {
        for (size_t v = from; v < m->vibes_count; v++) {
            *to++ = m->vibes[v].why[rows == NULL ? i : rows[i]];
        }
    }
}

enum vq_status vq_vibecheck_method_why(struct vq_vibecheck_method *m, const uint8_t **ret_why)
{
    if (m->in.config->cascade == NULL) {
        *ret_why = NULL;
        return VQ_OK;
    }
    uint8_t *why;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, why, (size_t)m->in.rows_count * m->vibes_count));
    fill_why(m, 0, NULL, m->in.rows_count, why);
    *ret_why = why;
    return VQ_OK;
}

/* The input of the numbers, in `memory`. */
static enum vq_status input_fill(const struct vq_vibecheck_method *m, uint32_t from,
                                 const uint32_t *rows, uint32_t n, struct vq_arena *memory,
                                 struct vq_vibecheck_input *in)
{
    uint32_t judges = m->in.judges_count;
    size_t vibes = m->vibes_count - from;
    uint8_t *outcomes, *why, *first_order;
    struct vq_row *facts;
    struct vq_axis *axes;
    bool *stopped;
    VQ_TRY(VQ_ARENA_ALLOC(memory, outcomes, (size_t)n * judges * vibes * 2));
    VQ_TRY(VQ_ARENA_ALLOC(memory, why, (size_t)n * vibes));
    VQ_TRY(VQ_ARENA_ALLOC(memory, first_order, (size_t)n * judges));
    VQ_TRY(VQ_ARENA_ALLOC(memory, facts, n));
    VQ_TRY(VQ_ARENA_ALLOC(memory, axes, vibes));
    VQ_TRY(VQ_ARENA_ALLOC(memory, stopped, vibes));
    if (m->in.config->cascade != NULL) {
        fill_why(m, from, rows, n, why);
        in->cascade = why;
    }
    fill(m, from, rows, n, outcomes);
    for (uint32_t i = 0; i < n; i++) {
        facts[i] = m->rows[rows[i]];
        memcpy(first_order + (size_t)i * judges, m->in.first_order + (size_t)rows[i] * judges,
               judges);
    }
    for (size_t v = 0; v < vibes; v++) {
        axes[v] = m->vibes[from + v].axis;
        stopped[v] = m->vibes[from + v].stopped_early;
    }
    in->grid = (struct vq_grid){n, judges, (uint32_t)vibes};
    in->outcomes = outcomes;
    in->rows = facts;
    in->axes = axes;
    in->first_order = first_order;
    in->stopped_early = stopped;
    return VQ_OK;
}

enum vq_status vq_vibecheck_method_compute(const struct vq_vibecheck_method *m, uint32_t from,
                                           const uint32_t *rows, uint32_t rows_count,
                                           bool final_cap, struct vq_vibecheck **ret_result,
                                           struct vq_error *err)
{
    struct vq_arena memory = {0};
    struct vq_vibecheck_input in = {
        .config = m->in.config, .no_intervals = true, .no_final_cap = !final_cap};
    enum vq_status status = input_fill(m, from, rows, rows_count, &memory, &in);
    if (status == VQ_OK) {
        status = vq_vibecheck_compute(&in, ret_result, err);
    }
    vq_arena_clear(&memory);
    return status;
}
