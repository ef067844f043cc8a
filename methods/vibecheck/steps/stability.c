/* Stability of discovery (vibecheck.repeats): the first round is repeated with other seeds, each
 * time by a separate method that ends with its list of axes. Then each final vibe is searched in
 * these lists, by the rule of `vibeq compare`. Invariant: the repeats do not change the vibes of
 * the run. A repeat that cannot continue counts as having found nothing, and a note reports this.
 * Invariant: while m->repeat exists, the current stage is its stage, under a number of this run. */
#include "methods/vibecheck/steps/parts.h"

#include "common/base/alloc.h"
#include "methods/vibecheck/recall.h"

#include <math.h>

static enum vq_status repeat_step(struct vq_vibecheck_method *m, struct vq_error *err);

/* The settings of a repeat: one round of discovery, without extra parts. */
static enum vq_status repeat_begin(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_stability *s = m->stability;
    struct vq_config *config;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, config, 1));
    *config = *m->in.config;
    config->seed = m->in.config->seed + UINT64_C(0x9e3779b97f4a7c15) * (s->done + 1);
    config->preference = VQ_PREFERENCE_DATA;
    config->vibecheck.iterations = 1;
    config->vibecheck.repeats = 0;
    config->vibecheck.compare_presets = config->vibecheck.question_types = false;
    config->judging.retest = 0;
    struct vq_vibecheck_method_input in = m->in;
    in.config = config;
    VQ_TRY(vq_vibecheck_method_create(&in, &m->repeat, err));
    m->repeat->lists_axes = true;
    m->then = repeat_step;
    return VQ_OK;
}

/* Takes over the repeat's axes, and starts the next repeat. */
static enum vq_status repeat_end(struct vq_vibecheck_method *m, const char *why_not)
{
    struct vq_stability *s = m->stability;
    struct vq_vibecheck_method *repeat = m->repeat;
    uint32_t n = why_not == NULL ? (uint32_t)repeat->vibes_count : 0;
    struct vq_axis *axes;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, axes, n));
    for (uint32_t i = 0; i < n; i++) {
        VQ_TRY(vq_vibecheck_method_axis_copy(&m->memory, &repeat->vibes[i].axis, &axes[i]));
    }
    s->axes[s->done] = axes;
    s->axes_count[s->done] = n;
    s->done++;
    m->result.cut.asked_again += repeat->result.cut.asked_again;
    m->result.cut.refused += repeat->result.cut.refused;
    m->result.cut.shortened += repeat->result.cut.shortened;
    vq_vibecheck_method_destroy(&m->repeat);
    m->then = vq_stability_next;
    return why_not == NULL ? vq_vibecheck_method_note(m, "repeat %u of %u: axes found: %u", s->done,
                                                      s->repeats, n)
                           : vq_vibecheck_method_note(m, "repeat %u of %u: nothing was found: %s",
                                                      s->done, s->repeats, why_not);
}

static enum vq_status repeat_step(struct vq_vibecheck_method *m, struct vq_error *err)
{
    const struct vq_stage *stage;
    struct vq_error why = {0};
    enum vq_status status = vq_vibecheck_method_next(m->repeat, &stage, &why);
    if (status == VQ_INVALID) {
        return repeat_end(m, why.text);
    }
    if (status != VQ_OK) {
        return vq_fail(err, status, "%s", why.text);
    }
    if (stage == NULL) {
        return repeat_end(m, NULL);
    }
    const char *name =
        vq_arena_printf(&m->stage_memory, "again %u: %s", m->stability->done + 1, stage->name);
    struct vq_stage own = *stage;
    own.name = name;
    own.proposer = vq_vibecheck_method_proposer(m->in.config, m->stability->done + 1);
    return name == NULL ? VQ_NOMEM : vq_vibecheck_method_ask(m, &own, repeat_step);
}

/* ---- matching ---- */

static enum vq_status match_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_stability *s = m->stability;
    m->then = vq_retest_begin;
    if (m->vectors == NULL) {
        return vq_vibecheck_method_note(
            m, "repeats: the axes could not be embedded, so they are not matched");
    }
    s->matched = true;
    size_t at = 2 * (size_t)s->vibes_count;
    for (uint32_t k = 0; k < s->repeats; k++) {
        for (uint32_t v = 0; v < s->vibes_count; v++) {
            double best = NAN;
            for (uint32_t i = 0; i < s->axes_count[k]; i++) {
                bool mirrored;
                double similarity = vq_recall_similarity(
                    m->vectors + 2 * (size_t)v * m->dims,
                    m->vectors + (at + 2 * (size_t)i) * m->dims, m->dims, &mirrored);
                best = fmax(best, similarity); /* NaN only before the first one */
            }
            s->nearest[v * s->repeats + k] = best;
            s->found[v] += best >= VQ_RECALL_THRESHOLD;
        }
        at += 2 * (size_t)s->axes_count[k];
    }
    return VQ_OK;
}

/* Embeds the two ends of each final vibe, then those of each axis of each repeat. */
static enum vq_status match_ask(struct vq_vibecheck_method *m)
{
    struct vq_stability *s = m->stability;
    uint32_t n = s->vibes_count, at = 0;
    for (uint32_t k = 0; k < s->repeats; k++) {
        n += s->axes_count[k];
    }
    struct vq_span *texts;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, texts, 2 * (size_t)n));
    for (uint32_t v = 0; v < s->vibes_count; v++, at += 2) {
        VQ_TRY(vq_recall_ends(&m->stage_memory, &m->vibes[s->vibes[v]].axis, texts + at));
    }
    for (uint32_t k = 0; k < s->repeats; k++) {
        for (uint32_t i = 0; i < s->axes_count[k]; i++, at += 2) {
            VQ_TRY(vq_recall_ends(&m->stage_memory, &s->axes[k][i], texts + at));
        }
    }
    return vq_vibecheck_method_ask_vectors(m, "match repeats", texts, at, match_read);
}

/* ---- all repeats ---- */

enum vq_status vq_stability_next(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_stability *s = m->stability;
    if (s->done < s->repeats) {
        return repeat_begin(m, err);
    }
    m->then = vq_retest_begin;
    return m->in.embedder
               ? match_ask(m)
               : vq_vibecheck_method_note(m, "repeats: no embedder is configured, so vibeq cannot "
                                             "match the axes of the repeats with the vibes");
}

enum vq_status vq_stability_begin(struct vq_vibecheck_method *m, struct vq_error *err)
{
    uint32_t repeats = m->in.config->vibecheck.repeats;
    m->then = vq_retest_begin;
    if (repeats == 0 || m->in.config->method != VQ_METHOD_DISCOVER || m->vibes_count == 0) {
        return VQ_OK;
    }
    struct vq_vibecheck *numbers;
    struct vq_stability *s;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, s, 1));
    VQ_TRY(vq_vibecheck_method_final(m, &s->vibes, &s->vibes_count, &numbers, err));
    vq_vibecheck_destroy(&numbers);
    if (s->vibes_count == 0) {
        return vq_vibecheck_method_note(
            m, "repeats: no vibe was kept, so that there is nothing to find again");
    }
    s->repeats = repeats;
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, s->axes, repeats));
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, s->axes_count, repeats));
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, s->found, s->vibes_count));
    VQ_TRY(VQ_ARENA_ALLOC(&m->memory, s->nearest, (size_t)s->vibes_count * repeats));
    m->stability = s;
    m->result.stability = s;
    return vq_stability_next(m, err);
}
