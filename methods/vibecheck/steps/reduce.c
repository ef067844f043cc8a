/* From many proposals to at most K axes: groups of similar proposals (by embeddings), for each
 * group a summary, and the summary as a list; then all lists are merged into one, which is
 * shortened while it is too long. Invariant: a step whose answer is missing or has no axis changes
 * nothing: its input is used further, and a note reports this. Not its job: the support of an
 * axis. */
#include "common/base/alloc.h"
#include "common/judge/axes.h"
#include "methods/stats/cluster/cluster.h"
#include "methods/vibecheck/steps/prompts.h"

#define GROUP_AXES_MAX 100u /* axes in one summary prompt */
#define REDUCE_TRIES   3u

static const struct vq_axis *proposal(const struct vq_vibecheck_method *m, uint32_t i)
{
    return &m->proposals[m->round.first_proposal + i].axis;
}

/* ---- groups ---- */

static enum vq_status summaries_ask(struct vq_vibecheck_method *m, struct vq_error *err);

static enum vq_status one_group(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_round *r = &m->round;
    r->groups_count = 1;
    r->group_of = vq_arena_alloc(&m->round_memory, r->proposals_count, sizeof(*r->group_of));
    m->then = summaries_ask;
    return r->group_of == NULL ? VQ_NOMEM : VQ_OK;
}

static enum vq_cluster_linkage linkage(enum vq_conf_linkage linkage)
{
    switch (linkage) {
    case VQ_CONF_LINKAGE_WARD: return VQ_CLUSTER_WARD;
    case VQ_CONF_LINKAGE_AVERAGE: return VQ_CLUSTER_AVERAGE;
    case VQ_CONF_LINKAGE_COMPLETE: return VQ_CLUSTER_COMPLETE;
    }
    return VQ_CLUSTER_WARD;
}

static enum vq_status cluster(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    const struct vq_conf_vibecheck *c = &m->in.config->vibecheck;
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, r->group_of, r->proposals_count));
    struct vq_vectors x = {r->proposal_vectors, r->proposals_count, r->dims};
    struct vq_cluster_tree tree;
    VQ_TRY(vq_cluster_build(x, linkage(c->linkage), &tree, err));
    r->groups_count = c->clusters < r->proposals_count ? c->clusters : r->proposals_count;
    enum vq_status status = vq_cluster_cut_count(&tree, r->groups_count, r->group_of, err);
    vq_cluster_tree_free(&tree);
    VQ_TRY(status);
    m->then = summaries_ask;
    return vq_vibecheck_method_note(m, "iteration %u: the %u proposed axes fall into %u groups",
                                    m->iteration + 1, r->proposals_count, r->groups_count);
}

static enum vq_status groups_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    if (m->vectors == NULL) {
        r->embeds = false;
        VQ_TRY(vq_vibecheck_method_note(
            m,
            "iteration %u: the axes could not be embedded, so that all of them "
            "are one group",
            m->iteration + 1));
        return one_group(m);
    }
    r->dims = m->dims;
    r->proposal_vectors = vq_arena_copy(&m->round_memory, m->vectors,
                                        (size_t)r->proposals_count * m->dims, sizeof(float));
    return r->proposal_vectors == NULL ? VQ_NOMEM : cluster(m, err);
}

enum vq_status vq_reduce_begin(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_vibecheck_method_round *r = &m->round;
    const struct vq_conf_vibecheck *c = &m->in.config->vibecheck;
    bool many = r->proposals_count >= c->cluster_threshold;
    bool wanted =
        c->clustering == VQ_CLUSTERING_ALWAYS || (c->clustering == VQ_CLUSTERING_AUTO && many);
    if (!wanted) {
        return one_group(m);
    }
    if (!r->embeds) {
        VQ_TRY(vq_vibecheck_method_note(
            m, "iteration %u: without an embedder the %u proposed axes are one group",
            m->iteration + 1, r->proposals_count));
        return one_group(m);
    }
    struct vq_span *texts;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, texts, r->proposals_count));
    for (uint32_t i = 0; i < r->proposals_count; i++) {
        VQ_TRY(vq_vibecheck_method_axis_text(m, proposal(m, i), &texts[i]));
    }
    const char *name = vq_arena_printf(&m->stage_memory, "embed proposals %u", m->iteration + 1);
    return name == NULL
               ? VQ_NOMEM
               : vq_vibecheck_method_ask_vectors(m, name, texts, r->proposals_count, groups_read);
}

/* ---- a summary of each group ---- */

/* The group's axes in order; if there are more than GROUP_AXES_MAX, a random draw of them. */
static enum vq_status group_axes(struct vq_vibecheck_method *m, uint32_t group, struct vq_rng *rng,
                                 struct vq_axis *ret_axes, uint32_t *ret_count)
{
    const struct vq_vibecheck_method_round *r = &m->round;
    uint32_t left = 0, n = 0;
    for (uint32_t i = 0; i < r->proposals_count; i++) {
        left += r->group_of[i] == group;
    }
    uint32_t all = left;
    for (uint32_t i = 0; i < r->proposals_count; i++) {
        if (r->group_of[i] != group) {
            continue;
        }
        uint32_t room = GROUP_AXES_MAX - n;
        /* each subset has the same probability */
        if (left <= room || vq_rng_below(rng, left) < room) {
            ret_axes[n++] = *proposal(m, i);
        }
        left--;
    }
    *ret_count = n;
    return n == all ? VQ_OK
                    : vq_vibecheck_method_note(
                          m,
                          "iteration %u: a group of %u axes is summarised from %u of "
                          "them, drawn at random",
                          m->iteration + 1, all, n);
}

static enum vq_status summaries_read(struct vq_vibecheck_method *m, struct vq_error *err);
static enum vq_status lists_read(struct vq_vibecheck_method *m, struct vq_error *err);

static enum vq_status summaries_ask(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    uint32_t n = r->groups_count;
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, r->group_axes, n));
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, r->group_counts, n));
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, r->summaries, n));
    struct vq_stage_prompt *prompts;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, prompts, n));
    struct vq_rng rng;
    vq_vibecheck_method_rng(m, VQ_VIBECHECK_SEED_GROUPS, &rng);
    for (uint32_t g = 0; g < n; g++) {
        r->group_axes[g] =
            vq_arena_alloc(&m->round_memory, GROUP_AXES_MAX, sizeof(**r->group_axes));
        VQ_TRY(vq_arena_status(&m->round_memory));
        VQ_TRY(group_axes(m, g, &rng, r->group_axes[g], &r->group_counts[g]));
        struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
        VQ_TRY(vq_prompt_axes(&m->stage_memory, r->group_axes[g], r->group_counts[g],
                              &values[VQ_PLACEHOLDER_AXES]));
        VQ_TRY(vq_prompt_render(m, VQ_TEMPLATE_SUMMARISE, values, 0, &prompts[g], err));
    }
    const char *name = vq_arena_printf(&m->stage_memory, "summarise %u", m->iteration + 1);
    return name == NULL ? VQ_NOMEM
                        : vq_prompt_ask(m, name, VQ_ROLE_REDUCER, prompts, n, summaries_read);
}

static enum vq_status summaries_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    struct vq_stage_prompt *prompts;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, prompts, r->groups_count));
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, r->group_of_prompt, r->groups_count));
    uint32_t n = 0;
    for (uint32_t g = 0; g < r->groups_count; g++) {
        if (m->texts[g].at == NULL) {
            continue;
        }
        r->summaries[g] = vq_span(vq_arena_text(&m->round_memory, m->texts[g]), m->texts[g].bytes);
        VQ_TRY(vq_arena_status(&m->round_memory));
        struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
        values[VQ_PLACEHOLDER_ANSWER] = r->summaries[g];
        VQ_TRY(vq_prompt_render(m, VQ_TEMPLATE_FORMALISE, values, 0, &prompts[n], err));
        r->group_of_prompt[n++] = g;
    }
    r->asked = n;
    if (n == 0) {
        m->then = lists_read;
        return VQ_OK;
    }
    const char *name =
        vq_arena_printf(&m->stage_memory, "formalise summaries %u", m->iteration + 1);
    return name == NULL ? VQ_NOMEM
                        : vq_prompt_ask(m, name, VQ_ROLE_REDUCER, prompts, n, lists_read);
}

/* ---- one list ---- */

/* Appends copies of axes to a list that vq_axes owns, so that their origin has no influence. */
static enum vq_status append(struct vq_axes *list, const struct vq_axis *axes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum vq_status status = vq_axes_add(list, vq_span_str(axes[i].name),
                                            vq_span_str(axes[i].low), vq_span_str(axes[i].high));
        if (status != VQ_OK && status != VQ_LIMIT && status != VQ_INVALID) {
            return status;
        }
    }
    return VQ_OK;
}

static bool has_word_axis(const char *folded)
{
    for (const char *at = folded; (at = strstr(at, "axis")) != NULL; at += 4) {
        bool begins = at == folded || at[-1] == ' ';
        if (begins && (at[4] == '\0' || at[4] == ' ')) {
            return true;
        }
    }
    return false;
}

static enum vq_status is_heading(const struct vq_axis *axis, bool *ret_heading)
{
    struct vq_buf name;
    vq_buf_init(&name, VQ_AXES_TEXT_BYTES_MAX);
    vq_axes_name_fold(vq_span_str(axis->name), &name);
    enum vq_status status = name.status;
    *ret_heading = status == VQ_OK && name.at != NULL && has_word_axis(name.at);
    vq_buf_free(&name);
    return status;
}

static bool same(const struct vq_axis *a, const struct vq_axis *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->low, b->low) == 0 &&
           strcmp(a->high, b->high) == 0;
}

/* Makes `list` the round's list, without its repeated axes. */
static enum vq_status take_list(struct vq_vibecheck_method *m, const struct vq_axes *list,
                                bool headings, uint32_t *ret_headings)
{
    struct vq_vibecheck_method_round *r = &m->round;
    struct vq_axis *axes;
    VQ_TRY(VQ_ARENA_ALLOC(&m->round_memory, axes, list->count));
    uint32_t n = 0;
    *ret_headings = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool known = false, heading = false;
        for (uint32_t k = 0; k < n && !known; k++) {
            known = same(&axes[k], &list->items[i]);
        }
        if (!headings) {
            VQ_TRY(is_heading(&list->items[i], &heading));
        }
        *ret_headings += heading;
        if (!known && !heading) {
            VQ_TRY(vq_vibecheck_method_axis_copy(&m->round_memory, &list->items[i], &axes[n++]));
        }
    }
    r->axes = axes;
    r->axes_count = n;
    return VQ_OK;
}

/* Appends the axes of the group: those in its list, else those in its summary, else the proposals
 * themselves. */
static enum vq_status append_group(struct vq_vibecheck_method *m, uint32_t group,
                                   struct vq_span answer, struct vq_axes *list,
                                   uint32_t *kept_as_they_were)
{
    const struct vq_vibecheck_method_round *r = &m->round;
    const struct vq_span sources[2] = {answer, r->summaries[group]};
    for (size_t s = 0; s < VQ_COUNT(sources); s++) {
        if (sources[s].at == NULL) {
            continue;
        }
        struct vq_axes axes;
        VQ_TRY(vq_axes_parse(sources[s], &axes));
        size_t n = axes.count;
        enum vq_status status = append(list, axes.items, n);
        vq_axes_free(&axes);
        if (status != VQ_OK || n > 0) {
            return status;
        }
    }
    (*kept_as_they_were)++;
    return append(list, r->group_axes[group], r->group_counts[group]);
}

static enum vq_status simplify_ask(struct vq_vibecheck_method *m, struct vq_error *err);

static enum vq_status lists_join(struct vq_vibecheck_method *m, struct vq_axes *list)
{
    struct vq_vibecheck_method_round *r = &m->round;
    uint32_t as_they_were = 0, headings = 0, prompt = 0;
    for (uint32_t g = 0; g < r->groups_count; g++) {
        bool asked = prompt < r->asked && r->group_of_prompt[prompt] == g;
        struct vq_span answer = asked ? m->texts[prompt] : (struct vq_span){NULL, 0};
        prompt += asked;
        VQ_TRY(append_group(m, g, answer, list, &as_they_were));
    }
    VQ_TRY(take_list(m, list, false, &headings));
    if (as_they_were > 0) {
        VQ_TRY(vq_vibecheck_method_note(
            m,
            "iteration %u: %u of %u groups have no summary that could be read; "
            "their axes stay unchanged",
            m->iteration + 1, as_they_were, r->groups_count));
    }
    if (headings > 0) {
        VQ_TRY(vq_vibecheck_method_note(
            m, "iteration %u: items named \"Axis\", taken for headings: %u", m->iteration + 1,
            headings));
    }
    return VQ_OK;
}

static enum vq_status lists_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_axes list = {0};
    enum vq_status status = lists_join(m, &list);
    vq_axes_free(&list);
    VQ_TRY(status);
    m->round.tries = 0;
    m->then = m->round.axes_count > 0 ? simplify_ask : vq_iterate_no_new;
    return VQ_OK;
}

/* ---- simpler, and fewer ---- */

static enum vq_status
ask_for_list(struct vq_vibecheck_method *m, enum vq_template_kind kind, const char *what,
             enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err),
             struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    struct vq_stage_prompt *prompt = vq_arena_alloc(&m->stage_memory, 1, sizeof(*prompt));
    const char *name = vq_arena_printf(&m->stage_memory, "%s %u", what, m->iteration + 1);
    const char *count = vq_arena_printf(&m->stage_memory, "%u", m->in.config->vibecheck.k);
    VQ_TRY(vq_arena_status(&m->stage_memory));
    struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
    values[VQ_PLACEHOLDER_COUNT] = vq_span_str(count);
    VQ_TRY(vq_prompt_axes(&m->stage_memory, r->axes, r->axes_count, &values[VQ_PLACEHOLDER_AXES]));
    VQ_TRY(vq_prompt_render(m, kind, values, r->tries, prompt, err));
    return vq_prompt_ask(m, name, VQ_ROLE_REDUCER, prompt, 1, then);
}

/* Makes the answer the new list, if it contains one. */
static enum vq_status replace_list(struct vq_vibecheck_method *m, bool *ret_replaced)
{
    *ret_replaced = false;
    if (m->texts[0].at == NULL) {
        return VQ_OK;
    }
    struct vq_axes list;
    VQ_TRY(vq_axes_parse(m->texts[0], &list));
    uint32_t headings;
    *ret_replaced = list.count > 0;
    enum vq_status status = list.count > 0 ? take_list(m, &list, true, &headings) : VQ_OK;
    vq_axes_free(&list);
    return status;
}

static enum vq_status fewer_read(struct vq_vibecheck_method *m, struct vq_error *err);

static enum vq_status fewer(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_round *r = &m->round;
    if (r->axes_count > m->in.config->vibecheck.k && r->tries < REDUCE_TRIES) {
        return ask_for_list(m, VQ_TEMPLATE_REDUCE, "reduce", fewer_read, err);
    }
    m->iterations[m->iteration].reduced = r->axes_count;
    m->then = vq_support_begin;
    return VQ_OK;
}

static enum vq_status fewer_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    bool replaced;
    VQ_TRY(replace_list(m, &replaced));
    m->round.tries++;
    m->then = fewer;
    return VQ_OK;
}

static enum vq_status simplify_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_vibecheck_method_round *r = &m->round;
    bool replaced;
    VQ_TRY(replace_list(m, &replaced));
    if (!replaced && r->tries == 0) {
        r->tries = 1;
        m->then = simplify_ask;
        return VQ_OK;
    }
    if (!replaced) {
        VQ_TRY(vq_vibecheck_method_note(
            m,
            "iteration %u: no simplified list could be read, so that the %u axes "
            "stay unchanged",
            m->iteration + 1, r->axes_count));
    }
    r->tries = 0;
    m->then = fewer;
    return VQ_OK;
}

static enum vq_status simplify_ask(struct vq_vibecheck_method *m, struct vq_error *err)
{
    return ask_for_list(m, VQ_TEMPLATE_SIMPLIFY,
                        m->round.tries == 0 ? "simplify" : "simplify again", simplify_read, err);
}
