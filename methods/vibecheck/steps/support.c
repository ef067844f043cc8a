/* From the reduced axes to the new vibes. Every proposal counts for its nearest reduced axis
 * (cosine of embeddings, or of counted words without an embedder). If there are more than K axes,
 * those with the least support are removed. Axes that were ranked before, or that the current ones
 * cover according to the reducer, are dropped. The axes with the most support become vibes, under
 * distinct names. A dedup without a readable answer drops nothing. */
#include "common/base/alloc.h"
#include "common/judge/axes.h"
#include "common/text/utf8.h"
#include "methods/stats/cluster/cosine.h"
#include "methods/stats/stats.h"
#include "methods/vibecheck/steps/prompts.h"

#define WORD_DIMS 1024u /* a word is counted at its hash */
/* of the name before an added number */
#define NAME_HEAD_BYTES_MAX ((size_t)VQ_NAME_BYTES_MAX - 16)
#define NAMES_SAID_MAX      12u /* in a note */
#define NAME_SAID_BYTES     40u

/* ---- nearest ---- */

static void count_words(const char *text, float *counts)
{
    for (const char *at = text; *at != '\0';) {
        size_t bytes = strcspn(at, " ");
        uint32_t hash = 2166136261u; /* FNV-1a */
        for (size_t i = 0; i < bytes; i++) {
            hash = (hash ^ (unsigned char)at[i]) * 16777619u;
        }
        if (bytes > 0) {
            counts[hash % WORD_DIMS] += 1.0F;
        }
        at += bytes + (at[bytes] == ' ');
    }
}

static enum vq_status words_of(const struct vq_axis *axis, float *counts)
{
    const char *const texts[3] = {axis->name, axis->low, axis->high};
    struct vq_buf folded;
    vq_buf_init(&folded, (size_t)4 * VQ_AXES_TEXT_BYTES_MAX);
    for (size_t i = 0; i < VQ_COUNT(texts) && folded.status == VQ_OK; i++) {
        vq_buf_clear(&folded);
        vq_axes_name_fold(vq_span_str(texts[i]), &folded);
        if (folded.status == VQ_OK && folded.at != NULL) {
            count_words(folded.at, counts);
        }
    }
    enum vq_status status = folded.status;
    vq_buf_free(&folded);
    return status;
}

/* Uses vectors of counted words for the proposals and the reduced axes. */
static enum vq_status nearest_by_words(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    size_t rows = (size_t)r->proposals_count + r->axes_count;
    float *x;
    VQ_TRY(VQ_ALLOC(x, rows * WORD_DIMS));
    enum vq_status status = VQ_OK;
    for (size_t i = 0; i < rows && status == VQ_OK; i++) {
        const struct vq_axis *axis = i < r->proposals_count
                                         ? &m->proposals[r->first_proposal + i].axis
                                         : &r->axes[i - r->proposals_count];
        status = words_of(axis, x + i * WORD_DIMS);
    }
    if (status == VQ_OK) {
        struct vq_vectors of = {x, r->proposals_count, WORD_DIMS};
        struct vq_vectors among = {x + (size_t)r->proposals_count * WORD_DIMS, r->axes_count,
                                   WORD_DIMS};
        status = vq_cosine_nearest(of, among, r->nearest, NULL, err);
    }
    vq_free(x);
    VQ_TRY(status);
    return vq_vibecheck_method_note(
        m,
        "iteration %u: without an embedder the support of an axis is counted by "
        "the words that it shares with the proposals",
        m->iteration + 1);
}

/* ---- support and order ---- */

static enum vq_status count_support(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_round *r = &m->round;
    for (uint32_t i = 0; i < r->proposals_count; i++) {
        r->support[r->nearest[i]]++;
    }
    /* by support; axes with equal support in list order */
    for (uint32_t k = 0; k < r->axes_count; k++) {
        uint32_t at = k;
        while (at > 0 && r->support[k] > r->support[r->order[at - 1]]) {
            r->order[at] = r->order[at - 1];
            at--;
        }
        r->order[at] = k;
    }
    uint32_t most = m->in.config->vibecheck.k;
    for (uint32_t k = most; k < r->axes_count; k++) {
        r->dropped[r->order[k]] = true;
    }
    return r->axes_count <= most
               ? VQ_OK
               : vq_vibecheck_method_note(m,
                                          "iteration %u: the reducer left %u axes; vibeq keeps the "
                                          "%u with the most support",
                                          m->iteration + 1, r->axes_count, most);
}

static enum vq_status known_drop(struct vq_vibecheck_method *m, struct vq_error *err);

static enum vq_status support_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    /* the proposals were already embedded for the groups */
    bool apart = r->proposal_vectors != NULL;
    if (r->embeds && (m->vectors == NULL || (apart && m->dims != r->dims))) {
        r->embeds = false;
        VQ_TRY(vq_vibecheck_method_note(m, "iteration %u: the axes could not be embedded",
                                        m->iteration + 1));
    }
    if (!r->embeds) {
        VQ_TRY(nearest_by_words(m, err));
    } else {
        size_t skip = apart ? 0 : (size_t)r->proposals_count * m->dims;
        struct vq_vectors of = {apart ? r->proposal_vectors : m->vectors, r->proposals_count,
                                m->dims};
        struct vq_vectors among = {m->vectors + skip, r->axes_count, m->dims};
        VQ_TRY(vq_cosine_nearest(of, among, r->nearest, NULL, err));
    }
    VQ_TRY(count_support(m));
    m->then = known_drop;
    return VQ_OK;
}

enum vq_status vq_support_begin(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, r->support, r->axes_count));
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, r->order, r->axes_count));
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, r->dropped, r->axes_count));
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, r->nearest, r->proposals_count));
    if (!r->embeds) {
        return support_read(m, err);
    }
    uint32_t skip = r->proposal_vectors == NULL ? r->proposals_count : 0;
    uint32_t n = skip + r->axes_count;
    struct vq_span *texts = vq_arena_alloc(&m->stage_memory, n, sizeof(*texts));
    const char *name = vq_arena_printf(&m->stage_memory, "embed %u", m->iteration + 1);
    VQ_TRY(vq_arena_status(&m->stage_memory));
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_axis *axis =
            i < skip ? &m->proposals[r->first_proposal + i].axis : &r->axes[i - skip];
        VQ_TRY(vq_vibecheck_method_axis_text(m, axis, &texts[i]));
    }
    return vq_vibecheck_method_ask_vectors(m, name, texts, n, support_read);
}

/* ---- known names ---- */

static enum vq_status fold(struct vq_arena *arena, const char *name, const char **ret_folded)
{
    struct vq_buf buf;
    struct vq_span text = {"", 0};
    vq_buf_init(&buf, VQ_AXES_TEXT_BYTES_MAX);
    vq_axes_name_fold(vq_span_str(name), &buf);
    VQ_TRY(vq_arena_take(arena, &buf, &text));
    *ret_folded = text.at;
    return VQ_OK;
}

static enum vq_status was_ranked(struct vq_vibecheck_method *m, const char *folded, bool *ret_known)
{
    *ret_known = false;
    for (size_t v = 0; v < m->vibes_count && !*ret_known; v++) {
        const char *other;
        VQ_TRY(fold(&m->stage_memory, m->vibes[v].axis.name, &other));
        *ret_known = strcmp(folded, other) == 0;
    }
    return VQ_OK;
}

static uint32_t left(const struct vq_vibecheck_method_round *r)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->axes_count; k++) {
        n += !r->dropped[k];
    }
    return n;
}

static enum vq_status dedup_ask(struct vq_vibecheck_method *m, struct vq_error *err);
static enum vq_status vibes_add(struct vq_vibecheck_method *m, struct vq_error *err);

static enum vq_status known_drop(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_vibecheck_method_round *r = &m->round;
    uint32_t known = 0;
    for (uint32_t k = 0; k < r->axes_count; k++) {
        const char *folded;
        bool again = false;
        VQ_TRY(fold(&m->stage_memory, r->axes[k].name, &folded));
        VQ_TRY(was_ranked(m, folded, &again));
        known += again && !r->dropped[k];
        r->dropped[k] |= again;
    }
    if (known > 0) {
        VQ_TRY(vq_vibecheck_method_note(
            m, "iteration %u: new axes dropped for the name of a vibe that was ranked before: %u",
            m->iteration + 1, known));
    }
    bool asks = m->iteration > 0 && m->in.config->vibecheck.dedup && left(r) > 0;
    m->then = asks ? dedup_ask : vibes_add;
    return VQ_OK;
}

/* ---- dedup ---- */

static enum vq_status names_match(struct vq_vibecheck_method *m, const struct vq_lines *names)
{
    struct vq_vibecheck_method_round *r = &m->round;
    bool *keep;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, keep, r->axes_count));
    for (size_t i = 0; i < names->count; i++) {
        const char *said;
        VQ_TRY(fold(&m->stage_memory, names->items[i], &said));
        for (uint32_t k = 0; k < r->axes_count; k++) {
            const char *own;
            VQ_TRY(fold(&m->stage_memory, r->axes[k].name, &own));
            keep[k] |= strcmp(said, own) == 0;
        }
    }
    uint32_t dropped = 0;
    for (uint32_t k = 0; k < r->axes_count; k++) {
        dropped += !r->dropped[k] && !keep[k];
        r->dropped[k] |= !keep[k];
    }
    return dropped == 0
               ? VQ_OK
               : vq_vibecheck_method_note(m,
                                          "iteration %u: new axes that dedup dropped: %u, kept: %u",
                                          m->iteration + 1, dropped, left(r));
}

static enum vq_status dedup_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    m->then = vibes_add;
    if (m->texts[0].at == NULL) {
        return vq_vibecheck_method_note(
            m, "iteration %u: dedup has no answer, so that no new axis was dropped",
            m->iteration + 1);
    }
    struct vq_lines names;
    VQ_TRY(vq_axes_names_parse(m->texts[0], &names));
    enum vq_status status = names_match(m, &names);
    vq_lines_free(&names);
    return status;
}

static enum vq_status dedup_ask(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    struct vq_stage_prompt *prompt = vq_arena_alloc(&m->stage_memory, 1, sizeof(*prompt));
    struct vq_axis *axes = vq_arena_alloc(&m->stage_memory, r->axes_count, sizeof(*axes));
    const char *name = vq_arena_printf(&m->stage_memory, "dedup %u", m->iteration + 1);
    VQ_TRY(vq_arena_status(&m->stage_memory));
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->axes_count; k++) {
        if (!r->dropped[k]) {
            axes[n++] = r->axes[k];
        }
    }
    struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
    VQ_TRY(vq_vibecheck_method_list(m, true, &values[VQ_PLACEHOLDER_AXES]));
    VQ_TRY(vq_prompt_axes(&m->stage_memory, axes, n, &values[VQ_PLACEHOLDER_NEW_AXES]));
    VQ_TRY(vq_prompt_render(m, VQ_TEMPLATE_DEDUP, values, 0, prompt, err));
    return vq_prompt_ask(m, name, VQ_ROLE_REDUCER, prompt, 1, dedup_read);
}

/* ---- new vibes ---- */

/* Makes names distinct, because results need it: "Tone", "Tone (2)", "Tone (3)". */
static enum vq_status name_apart(struct vq_vibecheck_method *m, struct vq_axis *axis)
{
    const char *name = axis->name;
    for (uint32_t number = 2;; number++) {
        const char *folded;
        bool known;
        VQ_TRY(fold(&m->stage_memory, name, &folded));
        VQ_TRY(was_ranked(m, folded, &known));
        if (!known) {
            axis->name = name;
            return VQ_OK;
        }
        struct vq_span head = vq_utf8_cut(vq_span_str(axis->name), NAME_HEAD_BYTES_MAX);
        name = vq_arena_printf(&m->memory, "%.*s (%u)", (int)head.bytes, head.at, number);
        VQ_TRY(vq_arena_status(&m->memory));
    }
}

static enum vq_status provenance_fill(struct vq_vibecheck_method *m, uint32_t k,
                                      struct vq_provenance *ret)
{
    const struct vq_vibecheck_method_round *r = &m->round;
    uint32_t *of;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, of, r->support[k]));
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->proposals_count; i++) {
        if (r->nearest[i] == k) {
            of[n++] = r->first_proposal + i;
        }
    }
    *ret = (struct vq_provenance){m->iteration, r->support[k], n, of};
    return VQ_OK;
}

static enum vq_status add(struct vq_vibecheck_method *m, uint32_t k)
{
    struct vq_axis axis;
    struct vq_provenance from;
    VQ_TRY(vq_vibecheck_method_axis_copy(&m->memory, &m->round.axes[k], &axis));
    VQ_TRY(name_apart(m, &axis));
    VQ_TRY(provenance_fill(m, k, &from));
    return vq_vibecheck_method_add_vibe(m, &axis, &from);
}

/* Adds a note with the names of the vibes that are validated next, as far as they fit into a
 * line. */
static enum vq_status say_validated(struct vq_vibecheck_method *m)
{
    const struct vq_iteration *it = &m->iterations[m->iteration];
    struct vq_buf names;
    struct vq_span text = {"", 0};
    vq_buf_init(&names, VQ_ERROR_BYTES_MAX);
    size_t from = m->vibes_count - it->evaluated;
    for (size_t v = from; v < m->vibes_count && v < from + NAMES_SAID_MAX; v++) {
        vq_buf_puts(&names, v == from ? " (" : ", ");
        struct vq_span name = vq_utf8_cut(vq_span_str(m->vibes[v].axis.name), NAME_SAID_BYTES);
        vq_buf_append(&names, name.at, name.bytes);
    }
    vq_buf_puts(&names, it->evaluated > NAMES_SAID_MAX ? " ...)" : it->evaluated > 0 ? ")" : "");
    VQ_TRY(vq_arena_take(&m->stage_memory, &names, &text));
    return vq_vibecheck_method_note(
        m,
        "iteration %u: axes after reduction: %u, new ones after dedup: %u, "
        "validated: %u%s",
        m->iteration + 1, it->reduced, it->deduplicated, it->evaluated, text.at);
}

static enum vq_status vibes_add(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_vibecheck_method_round *r = &m->round;
    struct vq_iteration *it = &m->iterations[m->iteration];
    uint32_t most = m->in.config->vibecheck.num_eval_vibes;
    uint32_t room = (uint32_t)(VQ_STATS_COLS_MAX - m->vibes_count);
    most = most == 0 || most > room ? room : most;
    it->deduplicated = left(r);
    for (uint32_t k = 0; k < r->axes_count && it->evaluated < most; k++) {
        if (!r->dropped[r->order[k]]) {
            VQ_TRY(add(m, r->order[k]));
            it->evaluated++;
        }
    }
    if (m->lists_axes) { /* a repeat ends here */
        return VQ_OK;
    }
    VQ_TRY(say_validated(m));
    m->then = it->evaluated > 0 ? vq_iterate_rank : vq_iterate_no_new;
    return VQ_OK;
}
