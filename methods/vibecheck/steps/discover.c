/* From rows to proposals: a sample without replacement (of the train rows, later of the
 * misclassified ones), batches that never mix topics, a prompt for each batch, and the axes in the
 * answers. A batch proposes nothing if it has no answer, or its answer says that there is no
 * difference. Every proposal stores its batch and rows. Not its job: which proposals have the same
 * meaning. */
#include "common/base/alloc.h"
#include "common/judge/axes.h"
#include "methods/vibecheck/steps/prompts.h"

static enum vq_status discover_end(struct vq_vibecheck_method *m, struct vq_error *err);

/* ---- rows and batches ---- */

static enum vq_status sample_rows(struct vq_vibecheck_method *m, uint32_t **ret_rows,
                                  uint32_t *ret_count)
{
    bool first = m->iteration == 0;
    const uint32_t *from = first ? m->train : m->misclassified;
    uint32_t n = first ? m->train_count : m->misclassified_count;
    uint32_t *rows = vq_arena_copy(&m->round_memory, from, n, sizeof(*from));
    VQ_TRY(vq_arena_status(&m->round_memory));
    struct vq_rng rng;
    vq_vibecheck_method_rng(m, VQ_VIBECHECK_SEED_SAMPLE, &rng);
    vq_rng_shuffle_u32(&rng, rows, n);
    *ret_rows = rows;
    *ret_count = n < m->in.config->vibecheck.d ? n : m->in.config->vibecheck.d;
    return VQ_OK;
}

/* Makes a batch from the topic of the first remaining row, with the next rows of this topic. The
 * used rows move to the front, before *at. */
static enum vq_status next_batch(struct vq_vibecheck_method *m, uint32_t *rows, uint32_t n,
                                 uint32_t *at)
{
    struct vq_vibecheck_method_round *r = &m->round;
    const uint32_t *topics = m->in.topics;
    uint32_t size = m->in.config->vibecheck.batch;
    struct vq_vibecheck_method_batch *b = &r->batches[r->batches_count];
    uint32_t begin = *at;
    for (uint32_t i = begin; i < n && *at - begin < size; i++) {
        if (topics != NULL && topics[rows[i]] != topics[rows[begin]]) {
            continue;
        }
        uint32_t row = rows[i]; /* the other rows keep their order */
        memmove(rows + *at + 1, rows + *at, (i - *at) * sizeof(*rows));
        rows[(*at)++] = row;
    }
    b->rows = vq_arena_copy(&m->memory, rows + begin, *at - begin, sizeof(*rows));
    b->rows_count = *at - begin;
    b->flipped = m->in.config->vibecheck.shuffle_outputs && r->batches_count % 2 == 1;
    r->batches_count++;
    return b->rows == NULL ? VQ_NOMEM : VQ_OK;
}

static enum vq_status make_batches(struct vq_vibecheck_method *m)
{
    uint32_t *rows, n;
    VQ_TRY(sample_rows(m, &rows, &n));
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, m->round.batches, n));
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, m->round.batch_of, n));
    for (uint32_t at = 0; at < n;) {
        VQ_TRY(next_batch(m, rows, n, &at));
    }
    for (uint32_t i = 0; i < n; i++) {
        m->rows[rows[i]].shown = true;
    }
    m->iterations[m->iteration].rows_shown = n;
    return VQ_OK;
}

/* ---- prompts ---- */

static enum vq_status rows_text(struct vq_vibecheck_method *m,
                                const struct vq_vibecheck_method_batch *b, struct vq_span *ret_text)
{
    struct vq_buf buf;
    vq_buf_init(&buf, VQ_PROMPT_BYTES_MAX);
    for (uint32_t i = 0; i < b->rows_count; i++) {
        vq_prompt_row(&m->in.samples[b->rows[i]], b->flipped, VQ_ROW_TEXT_BYTES_MAX, "", &buf);
    }
    return vq_arena_take(&m->stage_memory, &buf, ret_text);
}

enum vq_status vq_vibecheck_method_list(struct vq_vibecheck_method *m, bool carried,
                                        struct vq_span *ret_text)
{
    struct vq_axis *axes;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, axes, m->vibes_count));
    bool all = m->in.config->vibecheck.carried == VQ_CARRIED_ALL;
    size_t n = 0;
    for (size_t v = 0; v < m->vibes_count; v++) {
        if ((all || m->vibes[v].kept) == carried) {
            axes[n++] = m->vibes[v].axis;
        }
    }
    return vq_prompt_axes(&m->stage_memory, axes, n, ret_text);
}

static enum vq_status rejected_text(struct vq_vibecheck_method *m, struct vq_span *ret_text)
{
    return m->in.config->vibecheck.list_rejected
               ? vq_vibecheck_method_list(m, false, ret_text)
               : vq_prompt_axes(&m->stage_memory, NULL, 0, ret_text);
}

static bool calls_twice(const struct vq_vibecheck_method *m)
{
    return m->iteration == 0 && m->in.config->vibecheck.discovery_calls == 2;
}

static enum vq_status proposals_read(struct vq_vibecheck_method *m, struct vq_error *err);
static enum vq_status differences_read(struct vq_vibecheck_method *m, struct vq_error *err);

static enum vq_status ask_batches(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    struct vq_stage_prompt *prompts;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, prompts, r->batches_count));
    struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
    enum vq_template_kind kind = m->iteration > 0 ? VQ_TEMPLATE_DISCOVER_AGAIN
                                 : calls_twice(m) ? VQ_TEMPLATE_DIFFERENCES
                                                  : VQ_TEMPLATE_DISCOVER;
    VQ_TRY(vq_vibecheck_method_list(m, true, &values[VQ_PLACEHOLDER_AXES]));
    VQ_TRY(rejected_text(m, &values[VQ_PLACEHOLDER_REJECTED]));
    for (uint32_t b = 0; b < r->batches_count; b++) {
        r->batch_of[b] = b;
        VQ_TRY(rows_text(m, &r->batches[b], &values[VQ_PLACEHOLDER_ROWS]));
        VQ_TRY(vq_prompt_render(m, kind, values, 0, &prompts[b], err));
    }
    const char *name = vq_arena_printf(
        &m->stage_memory, "%s %u", calls_twice(m) ? "differences" : "discover", m->iteration + 1);
    return name == NULL ? VQ_NOMEM
                        : vq_prompt_ask(m, name, VQ_ROLE_PROPOSER, prompts, r->batches_count,
                                        calls_twice(m) ? differences_read : proposals_read);
}

enum vq_status vq_discover_begin(struct vq_vibecheck_method *m, struct vq_error *err)
{
    vq_arena_clear(&m->round_memory);
    m->round = (struct vq_vibecheck_method_round){.first_proposal = (uint32_t)m->proposals_count,
                                                  .embeds = m->in.embedder};
    m->result.iterations_count = m->iteration + 1;
    VQ_TRY(make_batches(m));
    return ask_batches(m, err);
}

/* ---- answers ---- */

static enum vq_status differences_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    struct vq_stage_prompt *prompts;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, prompts, r->batches_count));
    uint32_t n = 0, failed = 0;
    for (uint32_t b = 0; b < r->batches_count; b++) {
        struct vq_span text = vq_lists_whole(m, b);
        failed += text.at == NULL;
        if (text.at == NULL || vq_axes_none(text)) {
            continue;
        }
        struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
        values[VQ_PLACEHOLDER_ANSWER] = text;
        VQ_TRY(vq_prompt_render(m, VQ_TEMPLATE_FORMALISE, values, 0, &prompts[n], err));
        r->batch_of[n++] = b;
    }
    r->failed = failed;
    r->nothing = r->batches_count - n - failed;
    r->asked = n;
    if (n == 0) {
        m->then = discover_end;
        return VQ_OK;
    }
    const char *name =
        vq_arena_printf(&m->stage_memory, "formalise differences %u", m->iteration + 1);
    return name == NULL ? VQ_NOMEM
                        : vq_prompt_ask(m, name, VQ_ROLE_PROPOSER, prompts, n, proposals_read);
}

static enum vq_status add_proposal(struct vq_vibecheck_method *m, const struct vq_axis *axis,
                                   uint32_t batch)
{
    void *all = m->proposals;
    VQ_TRY(vq_grow(&all, &m->proposals_cap, m->proposals_count + 1, sizeof(*m->proposals),
                   VQ_PROPOSALS_MAX));
    m->proposals = all;
    struct vq_proposal p = {.iteration = m->iteration,
                            .batch = batch,
                            .rows = m->round.batches[batch].rows,
                            .rows_count = m->round.batches[batch].rows_count};
    VQ_TRY(vq_vibecheck_method_axis_copy(&m->memory, axis, &p.axis));
    m->proposals[m->proposals_count++] = p;
    m->round.proposals_count++;
    return VQ_OK;
}

static enum vq_status add_axes(struct vq_vibecheck_method *m, const struct vq_axes *axes,
                               uint32_t batch)
{
    for (size_t i = 0; i < axes->count; i++) {
        if (m->proposals_count == VQ_PROPOSALS_MAX) {
            m->round.over += (uint32_t)(axes->count - i);
            return VQ_OK;
        }
        VQ_TRY(add_proposal(m, &axes->items[i], batch));
    }
    m->round.over += (uint32_t)axes->over;
    m->round.rejected += (uint32_t)axes->rejected.count;
    return VQ_OK;
}

static enum vq_status proposals_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_vibecheck_method_round *r = &m->round;
    uint32_t asked = calls_twice(m) ? r->asked : r->batches_count;
    for (uint32_t i = 0; i < asked; i++) {
        struct vq_span text = vq_lists_whole(m, i);
        if (text.at == NULL) {
            r->failed++;
            continue;
        }
        if (vq_axes_none(text)) {
            r->nothing++;
            continue;
        }
        struct vq_axes axes;
        VQ_TRY(vq_axes_parse(text, &axes));
        r->unread += axes.count == 0;
        enum vq_status status = add_axes(m, &axes, r->batch_of[i]);
        vq_axes_free(&axes);
        VQ_TRY(status);
    }
    m->then = discover_end;
    return VQ_OK;
}

static enum vq_status say(struct vq_vibecheck_method *m)
{
    const struct vq_vibecheck_method_round *r = &m->round;
    uint32_t number = m->iteration + 1;
    VQ_TRY(vq_vibecheck_method_note(
        m, "iteration %u: axes proposed: %u, from %u rows in %u batches", number,
        r->proposals_count, m->iterations[m->iteration].rows_shown, r->batches_count));
    if (r->nothing + r->failed + r->unread > 0) {
        VQ_TRY(vq_vibecheck_method_note(
            m,
            "iteration %u: batches without a difference: %u, without an answer: "
            "%u, with an answer without an axis: %u",
            number, r->nothing, r->failed, r->unread));
    }
    if (r->rejected > 0) {
        VQ_TRY(vq_vibecheck_method_note(
            m,
            "iteration %u: proposed items without a name, a low or a high end, "
            "not used: %u",
            number, r->rejected));
    }
    return r->over == 0 ? VQ_OK
                        : vq_vibecheck_method_note(
                              m, "iteration %u: proposed axes over the limit, not used: %u", number,
                              r->over);
}

static enum vq_status discover_end(struct vq_vibecheck_method *m, struct vq_error *err)
{
    const struct vq_vibecheck_method_round *r = &m->round;
    m->iterations[m->iteration].proposed = r->proposals_count;
    VQ_TRY(say(m));
    if (r->proposals_count > 0) {
        m->then = vq_reduce_begin;
        return VQ_OK;
    }
    if (m->iteration == 0 && r->failed + r->unread > 0) {
        return vq_fail(
            err, VQ_INVALID,
            "no axis could be read in the proposer's answers: of %u batches %u have no "
            "answer, %u an answer without an axis, and %u show no difference; look at the "
            "answers (vibeq export RUN calls), or name another proposer",
            r->batches_count, r->failed, r->unread, r->nothing);
    }
    m->then = vq_iterate_no_new;
    return VQ_OK;
}
