/* One stage, and the meaning of its answers. Invariant: the stage's number is a hash of its
 * questions, so that two comparisons of one run have separate accounts, and a repeated comparison
 * continues. Ownership: all memory is in one arena. */
#include "methods/vibecheck/recall.h"
#include "common/judge/template.h"

#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "common/judge/axes.h"
#include "methods/stats/cluster/cosine.h"

#include <math.h>

#define LINE_BYTES_MAX ((size_t)1 << 15)

struct vq_recall {
    struct vq_recall_input in;
    struct vq_arena memory;
    struct vq_stage stage;
    bool taken;
    struct vq_recall_match *kept, *all;
    struct vq_recall_result result;
};

/* ---- the stage ---- */

static enum vq_status line_of(struct vq_recall *r, const struct vq_axis *axis,
                              struct vq_span *ret_text)
{
    struct vq_buf buf;
    vq_buf_init(&buf, LINE_BYTES_MAX);
    vq_axes_line(axis, &buf);
    return vq_arena_take(&r->memory, &buf, ret_text);
}

/* Each end is a text of its own, because the vector of a whole line hardly shows which end is
 * which. */
enum vq_status vq_recall_ends(struct vq_arena *arena, const struct vq_axis *axis,
                              struct vq_span ret_texts[2])
{
    const char *const ends[2] = {axis->high, axis->low};
    for (int end = 0; end < 2; end++) {
        struct vq_buf buf;
        vq_buf_init(&buf, LINE_BYTES_MAX);
        vq_buf_printf(&buf, "%s: %s", axis->name, ends[end]);
        VQ_TRY(vq_arena_take(arena, &buf, &ret_texts[end]));
    }
    return VQ_OK;
}

/* The two ends of each found vibe, then those of each reference. */
static enum vq_status texts_fill(struct vq_recall *r)
{
    const struct vq_recall_input *in = &r->in;
    uint32_t count = 2 * (in->found_count + in->reference_count);
    struct vq_span *texts;
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, texts, count));
    for (uint32_t i = 0; i < in->found_count; i++) {
        VQ_TRY(vq_recall_ends(&r->memory, &in->found[i], texts + 2 * (size_t)i));
    }
    for (uint32_t i = 0; i < in->reference_count; i++) {
        VQ_TRY(vq_recall_ends(&r->memory, &in->reference[i],
                              texts + 2 * ((size_t)in->found_count + i)));
    }
    r->stage.texts = texts;
    r->stage.texts_count = count;
    return VQ_OK;
}

static enum vq_status part_of(struct vq_recall *r, enum vq_template_part part,
                              const struct vq_span values[VQ_PLACEHOLDER__COUNT],
                              struct vq_span *ret_text)
{
    struct vq_buf buf;
    vq_buf_init(&buf, VQ_SAMPLE_BYTES_MAX);
    enum vq_status status = vq_template_render(r->in.match, part, values, &buf);
    if (status != VQ_OK) {
        vq_buf_free(&buf);
        return status;
    }
    return vq_arena_take(&r->memory, &buf, ret_text);
}

static enum vq_status prompts_fill(struct vq_recall *r)
{
    const struct vq_recall_input *in = &r->in;
    struct vq_stage_prompt *prompts;
    struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
    struct vq_buf list;
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, prompts, in->found_count));
    vq_buf_init(&list, VQ_SAMPLE_BYTES_MAX);
    vq_axes_format(in->reference, in->reference_count, VQ_AXES_NUMBERED, &list);
    VQ_TRY(vq_arena_take(&r->memory, &list, &values[VQ_PLACEHOLDER_AXES]));
    for (uint32_t i = 0; i < in->found_count; i++) {
        VQ_TRY(line_of(r, &in->found[i], &values[VQ_PLACEHOLDER_AXIS]));
        VQ_TRY(part_of(r, VQ_TEMPLATE_SYSTEM, values, &prompts[i].system));
        VQ_TRY(part_of(r, VQ_TEMPLATE_USER, values, &prompts[i].user));
    }
    r->stage.prompts = prompts;
    r->stage.prompts_count = in->found_count;
    return VQ_OK;
}

static uint32_t number_of(const struct vq_stage *stage)
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "vq.recall");
    for (uint32_t i = 0; i < stage->texts_count; i++) {
        vq_hasher_field(&h, stage->texts[i]);
    }
    for (uint32_t i = 0; i < stage->prompts_count; i++) {
        vq_hasher_field(&h, stage->prompts[i].system);
        vq_hasher_field(&h, stage->prompts[i].user);
    }
    vq_hasher_final(&h, &hash);
    return VQ_STAGE_BESIDE | (uint32_t)vq_hash_u64(&hash);
}

static enum vq_status build(struct vq_recall *r)
{
    bool judge = r->in.by == VQ_RECALL_BY_JUDGE;
    r->stage = (struct vq_stage){.name = "compare",
                                 .kind = judge ? VQ_STAGE_TEXT : VQ_STAGE_EMBED,
                                 .role = judge ? VQ_ROLE_REDUCER : VQ_ROLE_EMBEDDER};
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, r->kept, r->in.reference_count));
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, r->all, r->in.reference_count));
    for (uint32_t i = 0; i < r->in.reference_count; i++) {
        r->kept[i] = r->all[i] =
            (struct vq_recall_match){.found = VQ_RECALL_NONE, .similarity = NAN};
    }
    r->result.kept = r->kept;
    r->result.all = r->all;
    VQ_TRY(judge ? prompts_fill(r) : texts_fill(r));
    r->stage.no = number_of(&r->stage);
    return VQ_OK;
}

enum vq_status vq_recall_create(const struct vq_recall_input *input, struct vq_recall **ret_recall,
                                struct vq_error *err)
{
    if (input->found_count == 0 || input->reference_count == 0) {
        return vq_fail(err, VQ_INVALID, "there is nothing to compare: %s is empty",
                       input->found_count == 0 ? "the run's list of vibes" : "the reference list");
    }
    if (input->found_count > VQ_RECALL_AXES_MAX || input->reference_count > VQ_RECALL_AXES_MAX) {
        return vq_fail(err, VQ_LIMIT, "at most %u axes can be compared with %u", VQ_RECALL_AXES_MAX,
                       VQ_RECALL_AXES_MAX);
    }
    VQ_ASSERT(input->kept_count <= input->found_count);
    struct vq_recall *r;
    VQ_TRY(VQ_ALLOC(r, 1));
    r->in = *input;
    enum vq_status status = build(r);
    if (status != VQ_OK) {
        vq_recall_destroy(&r);
        return vq_fail(err, status, "the lists cannot be put into a prompt: %s",
                       vq_status_text(status));
    }
    *ret_recall = r;
    return VQ_OK;
}

void vq_recall_destroy(struct vq_recall **recall)
{
    if (*recall == NULL) {
        return;
    }
    vq_arena_clear(&(*recall)->memory);
    vq_free(*recall);
    *recall = NULL;
}

/* ---- the answers ---- */

static void count(struct vq_recall *r)
{
    for (uint32_t i = 0; i < r->in.reference_count; i++) {
        r->result.kept_matches += r->kept[i].matches;
        r->result.all_matches += r->all[i].matches;
    }
    r->taken = true;
}

static enum vq_status take_texts(void *ctx, const struct vq_span *texts, size_t texts_count,
                                 struct vq_error *err)
{
    struct vq_recall *r = ctx;
    (void)err;
    VQ_ASSERT(texts_count == r->in.found_count);
    for (uint32_t i = 0; i < r->in.found_count; i++) {
        uint32_t number;
        if (texts[i].at == NULL || !vq_match_parse(texts[i], r->in.reference_count, &number)) {
            r->result.unread++;
            continue;
        }
        r->result.answered = true;
        struct vq_recall_match match = {.found = i, .similarity = NAN, .matches = true};
        if (number > 0 && !r->all[number - 1].matches) {
            r->all[number - 1] = match;
        }
        if (number > 0 && i < r->in.kept_count && !r->kept[number - 1].matches) {
            r->kept[number - 1] = match;
        }
    }
    count(r);
    return VQ_OK;
}

static void take_nearer(struct vq_recall_match *best, uint32_t found, double similarity,
                        bool mirrored, double threshold)
{
    if (best->found == VQ_RECALL_NONE || similarity > best->similarity) {
        *best = (struct vq_recall_match){found, similarity, mirrored, similarity >= threshold};
    }
}

static double ends_cosine(const float *high, const float *low, const float *to_high,
                          const float *to_low, uint32_t dims)
{
    return (vq_cosine(high, to_high, dims) + vq_cosine(low, to_low, dims)) / 2;
}

double vq_recall_similarity(const float *of, const float *to, uint32_t dims, bool *ret_mirrored)
{
    double same = ends_cosine(of, of + dims, to, to + dims, dims);
    double other = ends_cosine(of, of + dims, to + dims, to, dims);
    *ret_mirrored = other > same;
    return other > same ? other : same;
}

static enum vq_status take_vectors(void *ctx, const float *vectors, size_t vectors_count,
                                   uint32_t dims, struct vq_error *err)
{
    struct vq_recall *r = ctx;
    const struct vq_recall_input *in = &r->in;
    (void)err;
    r->taken = true;
    struct vq_vectors given = {vectors, vectors_count, dims};
    if (vectors == NULL || vectors_count != r->stage.texts_count ||
        vq_vectors_check(given, NULL) != VQ_OK) {
        return VQ_OK; /* not answered */
    }
    for (uint32_t i = 0; i < in->reference_count; i++) {
        const float *to = vectors + 2 * ((size_t)in->found_count + i) * dims;
        for (uint32_t v = 0; v < in->found_count; v++) {
            const float *of = vectors + 2 * (size_t)v * dims;
            bool mirrored;
            double nearer = vq_recall_similarity(of, to, dims, &mirrored);
            take_nearer(&r->all[i], v, nearer, mirrored, in->threshold);
            if (v < in->kept_count) {
                take_nearer(&r->kept[i], v, nearer, mirrored, in->threshold);
            }
        }
    }
    r->result.answered = true;
    count(r);
    return VQ_OK;
}

static enum vq_status next(void *ctx, const struct vq_stage **ret_stage, struct vq_error *err)
{
    struct vq_recall *r = ctx;
    (void)err;
    *ret_stage = r->taken ? NULL : &r->stage;
    return VQ_OK;
}

static uint32_t notes(const void *ctx, const char *const **ret_notes)
{
    (void)ctx;
    *ret_notes = NULL;
    return 0;
}

struct vq_script vq_recall_script(struct vq_recall *recall)
{
    static const struct vq_script_ops ops = {
        .next = next, .take_texts = take_texts, .take_vectors = take_vectors, .notes = notes};
    return (struct vq_script){&ops, recall};
}

const struct vq_recall_result *vq_recall_result(const struct vq_recall *recall)
{
    return &recall->result;
}
