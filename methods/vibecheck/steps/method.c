/* The interface of the method machine: its creation, the current stage, the answers to it, and the
 * result.
 *
 * A part of the walk is a function that either asks a stage and names the function that reads its
 * answers, or names the next part; `then` is this function. Invariants: at most one stage is asked
 * at a time; answers are copied and checked against it, so that no count from outside is trusted;
 * after a failure every further call returns the same failure. Ownership: all memory is in the four
 * arenas, except the growing arrays, which vq_vibecheck_method_destroy frees. Not its job: the
 * contents of a part. */
#include "methods/vibecheck/steps/parts.h"

#include "common/base/alloc.h"
#include "common/judge/axes.h"
#include "methods/stats/cluster/vectors.h"
#include "methods/stats/stats.h"

#include <stdio.h>
#include <stdlib.h>

#define NOTES_MAX           ((size_t)1 << 16)
#define AXIS_LINE_BYTES_MAX ((size_t)1 << 15)

const char *vq_stop_text(enum vq_stop stop)
{
    switch (stop) {
    case VQ_STOP_NONE: return "nothing was discovered";
    case VQ_STOP_ITERATIONS: return "as many iterations as were asked for were done";
    case VQ_STOP_MISCLASSIFIED: return "too few rows were still misclassified";
    case VQ_STOP_MM: return "model matching reached mm_stop on the training rows";
    case VQ_STOP_NO_NEW: return "no new vibe was found";
    }
    return "?";
}

/* ---- creation ---- */

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Fills the rows of both sides. Every row is on one side, and `train` must agree. The caller's
 * input is checked, and a mismatch is a bug. */
static enum vq_status sides_fill(struct vq_vibecheck_method *m, struct vq_error *err)
{
    const struct vq_vibecheck_method_input *in = &m->in;
    uint32_t n = in->rows_count;
    m->train = vq_arena_copy(&m->memory, in->train, in->train_count, sizeof(*m->train));
    m->train_sorted = vq_arena_copy(&m->memory, in->train, in->train_count, sizeof(*m->train));
    m->test_sorted = vq_arena_alloc(&m->memory, n, sizeof(*m->test_sorted));
    m->all_sorted = vq_arena_alloc(&m->memory, n, sizeof(*m->all_sorted));
    m->rows = vq_arena_copy(&m->memory, in->rows, n, sizeof(*m->rows));
    VQ_TRY(vq_arena_status(&m->memory));
    m->train_count = in->train_count;
    qsort(m->train_sorted, m->train_count, sizeof(*m->train_sorted), ascending);
    uint32_t train = 0;
    for (uint32_t i = 0; i < n; i++) {
        m->all_sorted[m->all_count++] = i;
        if (m->rows[i].test) {
            m->test_sorted[m->test_count++] = i;
        } else if (train >= m->train_count || m->train_sorted[train++] != i) {
            return vq_fail(err, VQ_BUG, "row %u is a training row that `train` does not hold", i);
        }
    }
    return train == m->train_count ? VQ_OK
                                   : vq_fail(err, VQ_BUG, "`train` holds rows that are none");
}

static enum vq_status check(const struct vq_vibecheck_method_input *in, struct vq_error *err)
{
    if (in->judges_count == 0 || in->judges_count > VQ_JUDGES_MAX) {
        return vq_fail(err, VQ_BUG, "the method has %u judges", in->judges_count);
    }
    bool labels = in->config->preference == VQ_PREFERENCE_JUDGE && !in->has_preferences;
    if (labels && in->preference_judges_count == 0) {
        return vq_fail(err, VQ_BUG, "preference: judge without a preference judge");
    }
    return VQ_OK;
}

enum vq_status vq_vibecheck_method_create(const struct vq_vibecheck_method_input *input,
                                          struct vq_vibecheck_method **ret_method,
                                          struct vq_error *err)
{
    VQ_TRY(check(input, err));
    struct vq_vibecheck_method *m;
    VQ_TRY(VQ_ALLOC(m, 1));
    m->in = *input;
    m->then = vq_walk_start;
    m->iterations =
        vq_arena_alloc(&m->memory, input->config->vibecheck.iterations, sizeof(*m->iterations));
    enum vq_status status = m->iterations == NULL ? VQ_NOMEM : sides_fill(m, err);
    if (status != VQ_OK) {
        vq_vibecheck_method_destroy(&m);
        return status;
    }
    vq_stats_init();
    *ret_method = m;
    return VQ_OK;
}

void vq_vibecheck_method_destroy(struct vq_vibecheck_method **method)
{
    struct vq_vibecheck_method *m = *method;
    if (m == NULL) {
        return;
    }
    vq_vibecheck_method_destroy(&m->repeat);
    vq_arena_clear(&m->memory);
    vq_arena_clear(&m->round_memory);
    vq_arena_clear(&m->stage_memory);
    vq_arena_clear(&m->answers_memory);
    vq_arena_clear(&m->joint.memory);
    vq_arena_clear(&m->cascade.memory);
    vq_arena_clear(&m->lists.memory);
    vq_free(m->joints);
    vq_free(m->endings);
    vq_free(m->margins);
    vq_free(m->vibes);
    vq_free(m->proposals);
    vq_free(m->notes);
    vq_free(m);
    *method = NULL;
}

/* ---- for the parts ---- */

enum vq_status vq_vibecheck_method_note(struct vq_vibecheck_method *m, const char *fmt, ...)
{
    char line[VQ_ERROR_BYTES_MAX];
    va_list list;
    va_start(list, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, list);
    va_end(list);
    const char *note = vq_arena_text(&m->memory, vq_span_str(line));
    void *notes = m->notes;
    VQ_TRY(vq_arena_status(&m->memory));
    VQ_TRY(vq_grow(&notes, &m->notes_cap, m->notes_count + 1, sizeof(*m->notes), NOTES_MAX));
    m->notes = notes;
    m->notes[m->notes_count++] = note;
    return VQ_OK;
}

enum vq_status vq_vibecheck_method_ask(struct vq_vibecheck_method *m, const struct vq_stage *stage,
                                       enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                              struct vq_error *err))
{
    const char *name = vq_arena_text(&m->stage_memory, vq_span_str(stage->name));
    VQ_TRY(vq_arena_status(&m->stage_memory));
    m->stage = *stage;
    m->stage.name = name;
    m->stage.no = m->stages;
    m->asking = true;
    m->then = then;
    return VQ_OK;
}

enum vq_status vq_vibecheck_method_ask_vectors(struct vq_vibecheck_method *m, const char *name,
                                               const struct vq_span *texts, uint32_t count,
                                               enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                                      struct vq_error *err))
{
    struct vq_stage stage = {.name = name,
                             .kind = VQ_STAGE_EMBED,
                             .role = VQ_ROLE_EMBEDDER,
                             .texts = texts,
                             .texts_count = count};
    return vq_vibecheck_method_ask(m, &stage, then);
}

enum vq_status vq_vibecheck_method_axis_copy(struct vq_arena *arena, const struct vq_axis *axis,
                                             struct vq_axis *ret_axis)
{
    *ret_axis = (struct vq_axis){vq_arena_text(arena, vq_span_str(axis->name)),
                                 vq_arena_text(arena, vq_span_str(axis->low)),
                                 vq_arena_text(arena, vq_span_str(axis->high))};
    return vq_arena_status(arena);
}

enum vq_status vq_vibecheck_method_axis_text(struct vq_vibecheck_method *m,
                                             const struct vq_axis *axis, struct vq_span *ret_text)
{
    struct vq_buf buf;
    vq_buf_init(&buf, AXIS_LINE_BYTES_MAX);
    vq_axes_line(axis, &buf);
    return vq_arena_take(&m->stage_memory, &buf, ret_text);
}

enum vq_status vq_vibecheck_method_add_vibe(struct vq_vibecheck_method *m,
                                            const struct vq_axis *axis,
                                            const struct vq_provenance *provenance)
{
    void *vibes = m->vibes;
    VQ_TRY(vq_grow(&vibes, &m->vibes_cap, m->vibes_count + 1, sizeof(*m->vibes), VQ_VIBES_MAX));
    m->vibes = vibes;
    size_t bytes = (size_t)m->in.rows_count * m->in.judges_count * 2;
    struct vq_vibecheck_method_vibe vibe = {
        .axis = *axis, .provenance = *provenance, .cells = vq_arena_alloc(&m->memory, bytes, 1)};
    bool cascade = m->in.config->cascade != NULL;
    vibe.why = cascade ? vq_arena_alloc(&m->memory, m->in.rows_count, 1) : NULL;
    VQ_TRY(vq_arena_status(&m->memory));
    memset(vibe.cells, VQ_OUTCOME_NOT_NEEDED, bytes);
    m->vibes[m->vibes_count++] = vibe;
    return VQ_OK;
}

void vq_vibecheck_method_rng(const struct vq_vibecheck_method *m, enum vq_vibecheck_method_seed use,
                             struct vq_rng *ret_rng)
{
    uint64_t stream = (uint64_t)use + (uint64_t)m->iteration * VQ_VIBECHECK_SEED__STEP;
    vq_rng_seed(ret_rng, m->in.config->seed * UINT64_C(1000003) + stream);
}

/* ---- the current stage ---- */

static enum vq_status result_fill(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_result *r = &m->result;
    size_t n = m->vibes_count;
    struct vq_axis *axes = vq_arena_alloc(&m->memory, n, sizeof(*axes));
    struct vq_provenance *from = vq_arena_alloc(&m->memory, n, sizeof(*from));
    bool *stopped = vq_arena_alloc(&m->memory, n, sizeof(*stopped));
    const char **types = vq_arena_alloc(&m->memory, n, sizeof(*types));
    VQ_TRY(vq_arena_status(&m->memory));
    for (size_t v = 0; v < n; v++) {
        axes[v] = m->vibes[v].axis;
        from[v] = m->vibes[v].provenance;
        stopped[v] = m->vibes[v].stopped_early;
        types[v] = m->vibes[v].question_types;
    }
    uint8_t *outcomes;
    VQ_TRY(vq_vibecheck_method_outcomes(m, &outcomes));
    VQ_TRY(vq_vibecheck_method_why(m, &r->cascade));
    r->axes = axes;
    r->provenance = from;
    r->stopped_early = stopped;
    r->question_types = types;
    r->axes_count = (uint32_t)n;
    r->outcomes = outcomes;
    r->rows = m->rows;
    r->proposals = m->proposals;
    r->proposals_count = (uint32_t)m->proposals_count;
    r->iterations = m->iterations;
    r->notes = m->notes;
    r->notes_count = (uint32_t)m->notes_count;
    return VQ_OK;
}

static enum vq_status walk(struct vq_vibecheck_method *m, struct vq_error *err)
{
    vq_arena_clear(&m->stage_memory);
    while (m->then != NULL && !m->asking) {
        enum vq_status (*part)(struct vq_vibecheck_method *, struct vq_error *) = m->then;
        m->then = NULL;
        VQ_TRY(part(m, err));
    }
    return m->asking ? VQ_OK : result_fill(m);
}

enum vq_status vq_vibecheck_method_next(struct vq_vibecheck_method *m,
                                        const struct vq_stage **ret_stage, struct vq_error *err)
{
    if (m->failed == VQ_OK && !m->asking && m->then != NULL) {
        m->failed = walk(m, &m->failure);
    }
    if (m->failed != VQ_OK) {
        return vq_fail(err, m->failed, "%s",
                       m->failure.text[0] == '\0' ? vq_status_text(m->failed) : m->failure.text);
    }
    *ret_stage = m->asking ? &m->stage : NULL;
    return VQ_OK;
}

static enum vq_status expect(struct vq_vibecheck_method *m, bool kind, size_t want, size_t got,
                             struct vq_error *err)
{
    if (!m->asking || !kind || want != got) {
        return vq_fail(err, VQ_BUG, "%zu answers to stage \"%s\", which asks for %zu of its kind",
                       got, m->asking ? m->stage.name : "(none)", want);
    }
    vq_arena_clear(&m->answers_memory);
    return VQ_OK;
}

static void taken(struct vq_vibecheck_method *m)
{
    m->asking = false;
    m->stages++;
}

enum vq_status vq_vibecheck_method_take_outcomes(struct vq_vibecheck_method *m,
                                                 const uint8_t *outcomes, size_t count,
                                                 struct vq_error *err)
{
    const struct vq_stage *s = &m->stage;
    bool rank = s->kind == VQ_STAGE_RANK;
    size_t columns =
        rank ? (size_t)m->in.judges_count * s->axes_count : m->in.preference_judges_count;
    VQ_TRY(expect(m, rank || s->kind == VQ_STAGE_PREFER, s->rows_count * columns * 2, count, err));
    m->outcomes = vq_arena_copy(&m->answers_memory, outcomes, count, 1);
    VQ_TRY(vq_arena_status(&m->answers_memory));
    taken(m);
    return VQ_OK;
}

enum vq_status vq_vibecheck_method_take_texts(struct vq_vibecheck_method *m,
                                              const struct vq_span *texts, size_t count,
                                              struct vq_error *err)
{
    if (m->repeat != NULL) {
        VQ_TRY(vq_vibecheck_method_take_texts(m->repeat, texts, count, err));
        taken(m);
        return VQ_OK;
    }
    size_t models = m->stage.role == VQ_ROLE_JUDGE ? m->in.judges_count : 1;
    VQ_TRY(expect(m, m->stage.kind == VQ_STAGE_TEXT, m->stage.prompts_count * models, count, err));
    struct vq_span *copy;
    VQ_TRY(VQ_ARENA_ALLOC(&m->answers_memory, copy, count));
    uint8_t *ends;
    VQ_TRY(VQ_ARENA_ALLOC(&m->answers_memory, ends, count));
    for (size_t i = 0; i < count; i++) {
        if (texts[i].at == NULL) {
            ends[i] = texts[i].bytes <= UINT8_MAX ? (uint8_t)texts[i].bytes : VQ_OUTCOME_NONE;
            continue;
        }
        copy[i] = vq_span(vq_arena_text(&m->answers_memory, texts[i]), texts[i].bytes);
        VQ_TRY(vq_arena_status(&m->answers_memory));
    }
    m->texts = copy;
    m->text_ends = ends;
    m->text_endings = m->endings_count == count ? m->endings : NULL;
    m->endings_count = 0;
    m->text_cuts = NULL;
    bool lists = m->stage.role == VQ_ROLE_PROPOSER || m->stage.role == VQ_ROLE_REDUCER;
    VQ_TRY(lists ? vq_lists_take(m) : VQ_OK);
    taken(m);
    return VQ_OK;
}

enum vq_status vq_vibecheck_method_take_endings(struct vq_vibecheck_method *m,
                                                const uint8_t *endings, size_t count,
                                                struct vq_error *err)
{
    if (m->repeat != NULL) {
        return vq_vibecheck_method_take_endings(m->repeat, endings, count, err);
    }
    if (!m->asking || m->stage.kind != VQ_STAGE_TEXT) {
        return vq_fail(err, VQ_BUG, "endings of texts that were not asked for");
    }
    vq_free(m->endings);
    m->endings_count = 0;
    VQ_TRY(VQ_ALLOC(m->endings, count));
    memcpy(m->endings, endings, count);
    m->endings_count = count;
    return VQ_OK;
}

enum vq_status vq_vibecheck_method_take_vectors(struct vq_vibecheck_method *m, const float *vectors,
                                                size_t count, uint32_t dims, struct vq_error *err)
{
    if (m->repeat != NULL) {
        VQ_TRY(vq_vibecheck_method_take_vectors(m->repeat, vectors, count, dims, err));
        taken(m);
        return VQ_OK;
    }
    size_t want = vectors == NULL ? 0 : m->stage.texts_count;
    VQ_TRY(expect(m, m->stage.kind == VQ_STAGE_EMBED, want, vectors == NULL ? 0 : count, err));
    m->vectors = NULL;
    m->dims = dims;
    struct vq_vectors given = {vectors, want, dims};
    if (vectors != NULL && vq_vectors_check(given, NULL) == VQ_OK) {
        m->vectors = vq_arena_copy(&m->answers_memory, vectors, count * dims, sizeof(*vectors));
        VQ_TRY(vq_arena_status(&m->answers_memory));
    }
    taken(m);
    return VQ_OK;
}

const struct vq_vibecheck_method_result *
vq_vibecheck_method_result(const struct vq_vibecheck_method *m)
{
    return &m->result;
}

uint32_t vq_vibecheck_method_notes(const struct vq_vibecheck_method *m,
                                   const char *const **ret_notes)
{
    *ret_notes = m->notes;
    return (uint32_t)m->notes_count;
}
