/* Extra stages: the preset vibes on the same rows, and the kinds of questions on which a kept vibe
 * shows. Invariant: neither changes which vibes are kept. */
#include "common/base/alloc.h"
#include "common/judge/axes.h"
#include "methods/vibecheck/steps/prompts.h"

#include <math.h>
#include <stdlib.h>

#define QUESTION_ROWS 50u /* rows per prompt: half of them show the vibe, half do not */

static enum vq_status question_types(struct vq_vibecheck_method *m, struct vq_error *err);

/* ---- preset vibes ---- */

static enum vq_status presets_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    size_t row_bytes = (size_t)m->in.judges_count * m->result.preset_axes_count * 2;
    uint8_t *outcomes;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, outcomes, m->in.rows_count * row_bytes));
    memset(outcomes, VQ_OUTCOME_NOT_NEEDED, m->in.rows_count * row_bytes);
    for (uint32_t i = 0; i < m->all_count; i++) {
        memcpy(outcomes + m->all_sorted[i] * row_bytes, m->outcomes + i * row_bytes, row_bytes);
    }
    m->result.preset_outcomes = outcomes;
    m->then = question_types;
    return VQ_OK;
}

enum vq_status vq_presets_begin(struct vq_vibecheck_method *m, struct vq_error *err)
{
    m->then = question_types;
    if (!m->in.config->vibecheck.compare_presets) {
        return VQ_OK;
    }
    if (m->in.config->method == VQ_METHOD_PRESET) {
        return vq_vibecheck_method_note(
            m, "the vibes are the preset ones already; there is nothing to "
               "compare them with");
    }
    size_t n;
    m->result.preset_axes = vq_preset_axes(&n);
    m->result.preset_axes_count = (uint32_t)n;
    struct vq_stage stage = {.name = "presets",
                             .kind = VQ_STAGE_RANK,
                             .role = VQ_ROLE_JUDGE,
                             .rows = m->all_sorted,
                             .rows_count = m->all_count,
                             .axes = m->result.preset_axes,
                             .axes_count = (uint32_t)n};
    return vq_rank_ask(m, &stage, presets_read, err);
}

/* ---- question types ---- */

struct shown {
    uint32_t row;
    double x; /* |row score| */
};

/* The largest |x| first; rows with equal |x| in row order. */
static int by_size(const void *a, const void *b)
{
    const struct shown *x = a, *y = b;
    if (x->x > y->x || x->x < y->x) {
        return x->x > y->x ? -1 : 1;
    }
    return (x->row > y->row) - (x->row < y->row);
}

static enum vq_status example_rows(struct vq_vibecheck_method *m,
                                   const struct vq_vibecheck *numbers, uint32_t vibe,
                                   struct vq_span *ret_text)
{
    struct shown *rows;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, rows, m->train_count));
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->train_count; i++) {
        double x = numbers->scores->x[(size_t)i * numbers->vibes + vibe];
        if (!isnan(x)) {
            rows[n++] = (struct shown){m->train_sorted[i], fabs(x)};
        }
    }
    qsort(rows, n, sizeof(*rows), by_size);
    uint32_t half = n < QUESTION_ROWS ? n / 2 : QUESTION_ROWS / 2;
    uint32_t tail = n < QUESTION_ROWS ? n - half : half;
    struct vq_buf buf;
    vq_buf_init(&buf, VQ_PROMPT_BYTES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        if (i < half || i >= n - tail) {
            const char *head =
                rows[i].x > 0 ? "<differs>\nyes\n</differs>\n" : "<differs>\nno\n</differs>\n";
            vq_prompt_row(&m->in.samples[rows[i].row], false, VQ_ROW_EXAMPLE_BYTES_MAX, head, &buf);
        }
    }
    return vq_arena_take(&m->stage_memory, &buf, ret_text);
}

static enum vq_status types_join(struct vq_vibecheck_method *m, struct vq_span answer,
                                 const char **ret_text)
{
    struct vq_lines lines;
    VQ_TRY(vq_lines_parse(answer, &lines));
    struct vq_buf buf;
    vq_buf_init(&buf, (size_t)VQ_LINES_MAX * (VQ_LINE_BYTES_MAX + 2));
    for (size_t i = 0; i < lines.count; i++) {
        vq_buf_printf(&buf, "%s%s", i == 0 ? "" : "; ", lines.items[i]);
    }
    vq_buf_puts(&buf, lines.count == 0 ? "no pattern" : "");
    vq_lines_free(&lines);
    struct vq_span text;
    VQ_TRY(vq_arena_take(&m->memory, &buf, &text));
    *ret_text = text.at;
    return VQ_OK;
}

static enum vq_status types_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    uint32_t failed = 0;
    for (uint32_t k = 0; k < m->typed_count; k++) {
        failed += m->texts[k].at == NULL;
        if (m->texts[k].at != NULL) {
            VQ_TRY(types_join(m, m->texts[k], &m->vibes[m->typed[k]].question_types));
        }
    }
    m->then = vq_walk_end;
    return failed == 0
               ? VQ_OK
               : vq_vibecheck_method_note(m, "question types: %u of %u vibes have no answer",
                                          failed, m->typed_count);
}

static enum vq_status types_ask(struct vq_vibecheck_method *m, const struct vq_vibecheck *numbers,
                                struct vq_error *err)
{
    struct vq_stage_prompt *prompts;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, prompts, m->typed_count));
    for (uint32_t k = 0; k < m->typed_count; k++) {
        struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
        VQ_TRY(vq_vibecheck_method_axis_text(m, &m->vibes[m->typed[k]].axis,
                                             &values[VQ_PLACEHOLDER_AXIS]));
        VQ_TRY(example_rows(m, numbers, m->typed[k], &values[VQ_PLACEHOLDER_ROWS]));
        VQ_TRY(vq_prompt_render(m, VQ_TEMPLATE_QUESTION_TYPES, values, 0, &prompts[k], err));
    }
    return vq_prompt_ask(m, "question types", VQ_ROLE_PROPOSER, prompts, m->typed_count,
                         types_read);
}

static enum vq_status question_types(struct vq_vibecheck_method *m, struct vq_error *err)
{
    m->then = vq_walk_end;
    if (!m->in.config->vibecheck.question_types || m->vibes_count == 0) {
        return VQ_OK;
    }
    struct vq_vibecheck *numbers;
    VQ_TRY(vq_vibecheck_method_final(m, &m->typed, &m->typed_count, &numbers, err));
    enum vq_status status = m->typed_count == 0 ? VQ_OK : types_ask(m, numbers, err);
    vq_vibecheck_destroy(&numbers);
    return status;
}
