/* Asks texts of the proposer and the reducer again if they were cut at the token limit: with twice
 * the output tokens, at most VQ_LIST_RETRIES times. If the last answer is cut too, the reducer's
 * text counts as no answer, and the proposer's is used up to its last whole line. Invariant: when
 * the part that requested the texts reads its answers, m->texts, m->text_ends and m->text_cuts are
 * those of its prompts, in their order. Not its job: the number of tokens for a stage's `room` (the
 * stage grid knows the models). */
#include "common/judge/ending.h"
#include "methods/vibecheck/steps/prompts.h"

static enum vq_status lists_read(struct vq_vibecheck_method *m, struct vq_error *err);

void vq_lists_begin(struct vq_vibecheck_method *m, const char *name, enum vq_role role,
                    uint32_t count,
                    enum vq_status (*then)(struct vq_vibecheck_method *m, struct vq_error *err))
{
    vq_arena_clear(&m->lists.memory);
    m->lists = (struct vq_vibecheck_method_lists){
        .memory = m->lists.memory, .name = name, .role = role, .count = count, .then = then};
}

static enum vq_status keep_name(struct vq_vibecheck_method *m)
{
    if (m->lists.room > 0) {
        return VQ_OK;
    }
    m->lists.name = vq_arena_text(&m->lists.memory, vq_span_str(m->lists.name));
    return m->lists.name == NULL ? VQ_NOMEM : VQ_OK;
}

enum vq_status vq_lists_ask(struct vq_vibecheck_method *m, const struct vq_stage *stage)
{
    VQ_TRY(keep_name(m));
    return vq_vibecheck_method_ask(m, stage, lists_read);
}

static enum vq_status keep_prompt(struct vq_arena *memory, const struct vq_stage_prompt *from,
                                  struct vq_stage_prompt *ret_prompt)
{
    struct vq_stage_prompt copy = {
        .system = vq_span(vq_arena_text(memory, from->system), from->system.bytes),
        .user = vq_span(vq_arena_text(memory, from->user), from->user.bytes),
        .again = from->again};
    VQ_TRY(vq_arena_status(memory));
    *ret_prompt = copy;
    return VQ_OK;
}

static enum vq_status first_answers(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_lists *l = &m->lists;
    VQ_TRY(VQ_ARENA_ALLOC(&l->memory, l->texts, l->count));
    VQ_TRY(VQ_ARENA_ALLOC(&l->memory, l->ends, l->count));
    VQ_TRY(VQ_ARENA_ALLOC(&l->memory, l->cut, l->count));
    VQ_TRY(VQ_ARENA_ALLOC(&l->memory, l->asked, l->count));
    VQ_TRY(VQ_ARENA_ALLOC(&l->memory, l->prompts, l->count));
    for (uint32_t i = 0; i < l->count; i++) {
        l->asked[i] = i;
    }
    l->asked_count = l->count;
    return VQ_OK;
}

/* An answer replaces the earlier one. A call without an answer does not. */
static enum vq_status take_answer(struct vq_vibecheck_method_lists *l, uint32_t to,
                                  struct vq_span text, uint8_t end, bool cut)
{
    if (text.at == NULL && l->texts[to].at != NULL) {
        return VQ_OK;
    }
    if (text.at != NULL) {
        text.at = vq_arena_text(&l->memory, text);
        VQ_TRY(vq_arena_status(&l->memory));
    }
    l->texts[to] = text;
    l->ends[to] = end;
    l->cut[to] = cut || (text.at == NULL && l->room > 0);
    return VQ_OK;
}

enum vq_status vq_lists_take(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_lists *l = &m->lists;
    if (l->room == 0) {
        VQ_TRY(first_answers(m));
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->asked_count; i++) {
        uint32_t to = l->asked[i];
        bool cut = m->text_endings != NULL && m->text_endings[i] == VQ_ENDING_CUT;
        VQ_TRY(take_answer(l, to, m->texts[i], m->text_ends[i], cut));
        if (l->cut[to]) {
            struct vq_stage_prompt prompt;
            VQ_TRY(keep_prompt(&l->memory, &m->stage.prompts[i], &prompt));
            l->prompts[n] = prompt;
            l->asked[n++] = to;
        }
    }
    l->asked_count = n;
    return VQ_OK;
}

/* Adds a note about the texts that are still cut. */
static enum vq_status give_up(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_lists *l = &m->lists;
    bool reducer = l->role == VQ_ROLE_REDUCER;
    uint32_t refused = 0, shortened = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (!l->cut[i]) {
            continue;
        }
        if (reducer || l->texts[i].at == NULL) {
            l->texts[i] = vq_span(NULL, 0);
            l->ends[i] = VQ_OUTCOME_TRUNCATED;
            refused++;
        } else {
            shortened++;
        }
    }
    m->result.cut.refused += refused;
    m->result.cut.shortened += shortened;
    return refused + shortened == 0
               ? VQ_OK
               : vq_vibecheck_method_note(
                     m,
                     "%s: of %u answers that were cut at the token limit again, %u are "
                     "not used and %u are used up to their last whole line; set a larger "
                     "%s.max_tokens",
                     l->name, refused + shortened, refused, shortened,
                     reducer ? "reducer" : "proposer");
}

static enum vq_status lists_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_vibecheck_method_lists *l = &m->lists;
    if (l->asked_count > 0 && l->room < VQ_LIST_RETRIES) {
        l->room++;
        m->result.cut.asked_again += l->asked_count;
        VQ_TRY(vq_vibecheck_method_note(
            m,
            "%s: %u of %u answers were cut at the token limit and are asked again "
            "with %u times the output tokens",
            l->name, l->asked_count, l->count, 1U << l->room));
        const char *name = vq_arena_printf(&l->memory, "%s, room x%u", l->name, 1U << l->room);
        struct vq_stage stage = {.name = name,
                                 .kind = VQ_STAGE_TEXT,
                                 .role = l->role,
                                 .room = l->room,
                                 .prompts = l->prompts,
                                 .prompts_count = l->asked_count};
        return name == NULL ? VQ_NOMEM : vq_lists_ask(m, &stage);
    }
    VQ_TRY(give_up(m));
    m->texts = l->texts;
    m->text_ends = l->ends;
    m->text_cuts = l->cut;
    m->then = l->then;
    return VQ_OK;
}

struct vq_span vq_lists_whole(const struct vq_vibecheck_method *m, uint32_t i)
{
    struct vq_span text = m->texts[i];
    if (m->text_cuts == NULL || !m->text_cuts[i] || text.at == NULL) {
        return text;
    }
    while (text.bytes > 0 && text.at[text.bytes - 1] != '\n') {
        text.bytes--;
    }
    return text;
}
