/* Several vibes in one call. A ranking becomes prompts, one for each row, order and group of vibes,
 * and every judge is asked each prompt, in stages of texts. The verdicts are read by number and
 * stored in the cells of single calls, so later parts see no difference. If repair is on, cells
 * without a verdict are asked again one by one; else they stay unparseable, or have the outcome of
 * the joint call.
 *
 * Prompts are rendered before they are asked, so a ranking is asked in stages of a bounded size,
 * cut wherever the bound is reached. Prompt p shows row p / groups / orders, order p / groups %
 * orders, group p % groups. So the prompts of a row come together, and prompts that begin alike are
 * neighbours. Not its job: the choice of vibes and rows (rank.c). */
#include "common/base/alloc.h"
#include "common/judge/verdict_many.h"
#include "methods/vibecheck/steps/prompts.h"

#include <stdlib.h>

#define STAGE_BYTES_MAX                                                                            \
    ((size_t)64 << 20) /* of the prompts of one stage; the last prompt may exceed it */
#define STAGE_PROMPTS_MAX UINT64_C(100000)
#define LIST_BYTES_MAX    ((size_t)1 << 20)
#define JOINTS_MAX        ((size_t)4096) /* rankings of a method */

static enum vq_status next_part(struct vq_vibecheck_method *m, struct vq_error *err);

static uint32_t group_size(const struct vq_vibecheck_method *m)
{
    return m->in.config->judging.vibes_per_call;
}

static uint32_t group_count(const struct vq_vibecheck_method *m, uint32_t group)
{
    uint32_t left = m->joint.axes_count - group * group_size(m);
    return left < group_size(m) ? left : group_size(m);
}

static size_t cell_of(const struct vq_vibecheck_method *m, uint32_t row, uint32_t judge,
                      uint32_t axis)
{
    const struct vq_vibecheck_method_joint *j = &m->joint;
    return ((size_t)row * m->in.judges_count + judge) * j->axes_count + axis;
}

/* ---- asking ---- */

static enum vq_status list_group(struct vq_vibecheck_method *m, uint32_t group)
{
    struct vq_vibecheck_method_joint *j = &m->joint;
    struct vq_buf buf;
    vq_buf_init(&buf, LIST_BYTES_MAX);
    for (uint32_t k = 0; k < group_count(m, group); k++) {
        const struct vq_axis *axis = &j->axes[group * group_size(m) + k];
        vq_buf_printf(&buf, "%s%u. Name: %s\n   Low: %s\n   High: %s", k == 0 ? "" : "\n", k + 1,
                      axis->name, axis->low, axis->high);
    }
    return vq_arena_take(&m->memory, &buf, &j->lists[group]);
}

static void fill_values(const struct vq_vibecheck_method *m, uint32_t row, uint32_t order,
                        struct vq_span list, struct vq_span values[VQ_PLACEHOLDER__COUNT])
{
    const struct vq_sample *s = &m->in.samples[row];
    values[VQ_PLACEHOLDER_PROMPT] = s->prompt;
    values[VQ_PLACEHOLDER_OUTPUT_A] = order == 0 ? s->a : s->b;
    values[VQ_PLACEHOLDER_OUTPUT_B] = order == 0 ? s->b : s->a;
    values[VQ_PLACEHOLDER_AXES] = list;
    values[VQ_PLACEHOLDER_IMAGE] = vq_template_image_words(s->image.bytes > 0);
}

static enum vq_status render(struct vq_vibecheck_method *m, uint64_t prompt,
                             struct vq_stage_prompt *ret_prompt, struct vq_error *err)
{
    const struct vq_vibecheck_method_joint *j = &m->joint;
    uint32_t group = (uint32_t)(prompt % j->groups);
    uint32_t order = (uint32_t)(prompt / j->groups % j->orders);
    struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
    uint32_t row = j->rows[prompt / j->groups / j->orders];
    fill_values(m, row, order, j->lists[group], values);
    VQ_TRY(vq_prompt_render(m, VQ_TEMPLATE_JUDGE_MANY, values, 0, ret_prompt, err));
    ret_prompt->image = m->in.samples[row].image;
    return VQ_OK;
}

/* ---- answers ---- */

/* The outcome of a call without an answer. */
static enum vq_outcome end_of(const struct vq_vibecheck_method *m, size_t text)
{
    enum vq_outcome end = (enum vq_outcome)m->text_ends[text];
    bool known = vq_outcome_is_terminal(end) && !vq_outcome_is_good(end);
    return known ? end : VQ_OUTCOME_UNPARSEABLE;
}

static enum vq_ending ending_of(const struct vq_vibecheck_method *m, size_t text)
{
    return m->text_endings == NULL ? VQ_ENDING_ORDINARY : (enum vq_ending)m->text_endings[text];
}

static enum vq_status read_answer(struct vq_vibecheck_method *m, uint64_t prompt, uint32_t judge,
                                  size_t text)
{
    struct vq_vibecheck_method_joint *j = &m->joint;
    uint32_t group = (uint32_t)(prompt % j->groups);
    uint32_t order = (uint32_t)(prompt / j->groups % j->orders);
    uint32_t row = (uint32_t)(prompt / j->groups / j->orders);
    uint32_t count = group_count(m, group);
    enum vq_outcome verdicts[VQ_VERDICTS_MAX];
    uint32_t votes = 0;
    if (m->texts[text].at != NULL) {
        VQ_TRY(vq_verdicts_many(m->texts[text], ending_of(m, text), count, verdicts, &votes));
    } else {
        for (uint32_t k = 0; k < count; k++) {
            verdicts[k] = end_of(m, text);
        }
    }
    j->unread += count - votes;
    for (uint32_t k = 0; k < count; k++) {
        size_t cell = cell_of(m, row, judge, group * group_size(m) + k);
        j->outcomes[cell * 2 + order] = (uint8_t)verdicts[k];
    }
    return VQ_OK;
}

static enum vq_status all_read(struct vq_vibecheck_method *m)
{
    m->outcomes = m->joint.outcomes;
    m->then = m->joint.then;
    return VQ_OK;
}

/* ---- one by one ---- */

static bool is_unread(uint8_t outcome)
{
    return !vq_outcome_is_vote((enum vq_outcome)outcome) && outcome != VQ_OUTCOME_NOT_NEEDED;
}

static enum vq_cell_asks asks_again(const uint8_t both[2])
{
    if (is_unread(both[0]) && is_unread(both[1])) {
        return VQ_CELL_ASKED;
    }
    return is_unread(both[0])   ? VQ_CELL_ORDER_0
           : is_unread(both[1]) ? VQ_CELL_ORDER_1
                                : VQ_CELL_UNASKED;
}

static enum vq_status again_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    (void)err;
    struct vq_vibecheck_method_joint *j = &m->joint;
    const uint8_t *from = m->outcomes;
    for (uint32_t i = 0; i < j->again_rows_count; i++) {
        for (uint32_t judge = 0; judge < m->in.judges_count; judge++) {
            for (uint32_t k = 0; k < j->again_axes_count; k++, from += 2) {
                uint8_t *to =
                    j->outcomes + 2 * cell_of(m, j->again_rows[i], judge, j->again_axes[k]);
                for (unsigned order = 0; order < 2; order++) {
                    to[order] = is_unread(to[order]) ? from[order] : to[order];
                }
            }
        }
    }
    return all_read(m);
}

/* Finds the rows and axes that have a cell to ask again. */
static enum vq_status again_find(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_joint *j = &m->joint;
    bool *of_axis;
    VQ_TRY(VQ_ARENA_ALLOC(&j->memory, of_axis, j->axes_count));
    VQ_TRY(VQ_ARENA_ALLOC(&j->memory, j->again_rows, j->rows_count));
    VQ_TRY(VQ_ARENA_ALLOC(&j->memory, j->again_axes, j->axes_count));
    for (uint32_t i = 0; i < j->rows_count; i++) {
        bool of_row = false;
        for (size_t c = cell_of(m, i, 0, 0); c < cell_of(m, i + 1, 0, 0); c++) {
            bool again = asks_again(j->outcomes + 2 * c) != VQ_CELL_UNASKED;
            of_row |= again;
            of_axis[c % j->axes_count] |= again;
        }
        if (of_row) {
            j->again_rows[j->again_rows_count++] = i;
        }
    }
    for (uint32_t v = 0; v < j->axes_count; v++) {
        if (of_axis[v]) {
            j->again_axes[j->again_axes_count++] = v;
        }
    }
    return VQ_OK;
}

static enum vq_status again_ask(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_joint *j = &m->joint;
    VQ_TRY(again_find(m));
    size_t cells = (size_t)j->again_rows_count * m->in.judges_count * j->again_axes_count;
    uint32_t *rows = vq_arena_alloc(&j->memory, j->again_rows_count, sizeof(*rows));
    struct vq_axis *axes = vq_arena_alloc(&j->memory, j->again_axes_count, sizeof(*axes));
    uint8_t *asks = vq_arena_alloc(&j->memory, cells, 1);
    const char *name = vq_arena_printf(&j->memory, "%s, one by one", j->name);
    VQ_TRY(vq_arena_status(&j->memory));
    uint8_t *to = asks;
    for (uint32_t k = 0; k < j->again_axes_count; k++) {
        axes[k] = j->axes[j->again_axes[k]];
    }
    for (uint32_t i = 0; i < j->again_rows_count; i++) {
        rows[i] = j->rows[j->again_rows[i]];
        for (uint32_t judge = 0; judge < m->in.judges_count; judge++) {
            for (uint32_t k = 0; k < j->again_axes_count; k++) {
                size_t cell = cell_of(m, j->again_rows[i], judge, j->again_axes[k]);
                *to++ = (uint8_t)asks_again(j->outcomes + 2 * cell);
            }
        }
    }
    struct vq_stage stage = {.name = name,
                             .kind = VQ_STAGE_RANK,
                             .role = VQ_ROLE_JUDGE,
                             .rows = rows,
                             .rows_count = j->again_rows_count,
                             .axes = axes,
                             .axes_count = j->again_axes_count,
                             .cells = asks};
    return vq_vibecheck_method_ask(m, &stage, again_read);
}

/* ---- stages of a ranking ---- */

static enum vq_status part_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_joint *j = &m->joint;
    uint32_t judges = m->in.judges_count;
    for (uint64_t p = j->first; p < j->next; p++) {
        for (uint32_t judge = 0; judge < judges; judge++) {
            VQ_TRY(read_answer(m, p, judge, (size_t)(p - j->first) * judges + judge));
        }
    }
    if (j->next < j->prompts) {
        return next_part(m, err);
    }
    if (j->unread == 0) {
        return all_read(m);
    }
    bool repair = m->in.config->judging.repair;
    VQ_TRY(vq_vibecheck_method_note(
        m, "%s: %llu of %llu verdicts could not be read in joint answers%s", j->name,
        (unsigned long long)j->unread,
        (unsigned long long)(cell_of(m, j->rows_count, 0, 0) * j->orders),
        repair ? "; they are asked one by one" : ""));
    return repair ? again_ask(m) : all_read(m);
}

static enum vq_status next_part(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_joint *j = &m->joint;
    uint64_t left = j->prompts - j->next;
    uint64_t cap = left < STAGE_PROMPTS_MAX ? left : STAGE_PROMPTS_MAX;
    struct vq_stage_prompt *prompts;
    VQ_TRY(VQ_ARENA_ALLOC(&m->stage_memory, prompts, cap));
    uint32_t count = 0;
    size_t bytes = 0;
    j->first = j->next;
    for (; count < cap && bytes < STAGE_BYTES_MAX; count++, j->next++) {
        VQ_TRY(render(m, j->next, &prompts[count], err));
        bytes += prompts[count].system.bytes + prompts[count].user.bytes;
    }
    return vq_prompt_ask(m, j->name, VQ_ROLE_JUDGE, prompts, count, part_read);
}

/* The cells before any answer: an order that is not asked is not needed. */
static enum vq_status outcomes_begin(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_joint *j = &m->joint;
    size_t tasks = cell_of(m, j->rows_count, 0, 0) * 2;
    VQ_TRY(VQ_ARENA_ALLOC(&j->memory, j->outcomes, tasks));
    memset(j->outcomes, VQ_OUTCOME_NOT_NEEDED, tasks);
    return VQ_OK;
}

static enum vq_status remember(struct vq_vibecheck_method *m)
{
    const struct vq_vibecheck_method_joint *j = &m->joint;
    void *joints = m->joints;
    VQ_TRY(vq_grow(&joints, &m->joints_cap, m->joints_count + 1, sizeof(*m->joints), JOINTS_MAX));
    m->joints = joints;
    m->joints[m->joints_count++] = (struct vq_vibecheck_method_joint_asked){
        j->rows, j->axes, j->rows_count, j->axes_count, j->lists};
    return VQ_OK;
}

enum vq_status vq_rank_ask(struct vq_vibecheck_method *m, const struct vq_stage *stage,
                           enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                  struct vq_error *err),
                           struct vq_error *err)
{
    const struct vq_conf_judging *judging = &m->in.config->judging;
    if (m->in.config->cascade != NULL) {
        return vq_cascade_ask(m, stage, then);
    }
    if (judging->vibes_per_call <= 1) {
        return vq_vibecheck_method_ask(m, stage, then);
    }
    struct vq_vibecheck_method_joint *j = &m->joint;
    vq_arena_clear(&j->memory);
    *j = (struct vq_vibecheck_method_joint){
        .rows_count = stage->rows_count,
        .axes_count = stage->axes_count,
        .orders = judging->pair_rule == VQ_PAIR_FORWARD ? 1 : 2,
        .groups = (stage->axes_count + judging->vibes_per_call - 1) / judging->vibes_per_call,
        .then = then};
    j->prompts = (uint64_t)j->rows_count * j->orders * j->groups;
    j->name = vq_arena_text(&j->memory, vq_span_str(stage->name));
    j->rows = vq_arena_copy(&m->memory, stage->rows, j->rows_count, sizeof(*j->rows));
    j->axes = vq_arena_copy(&m->memory, stage->axes, j->axes_count, sizeof(*j->axes));
    j->lists = vq_arena_alloc(&m->memory, j->groups, sizeof(*j->lists));
    VQ_TRY(vq_arena_status(&j->memory));
    VQ_TRY(vq_arena_status(&m->memory));
    for (uint32_t g = 0; g < j->groups; g++) {
        VQ_TRY(list_group(m, g));
    }
    VQ_TRY(outcomes_begin(m));
    VQ_TRY(remember(m));
    return next_part(m, err);
}

/* ---- looking up joint calls later ---- */

static int by_row(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool render_again(const struct vq_vibecheck_method *m, uint32_t row, uint32_t order,
                         struct vq_span list, struct vq_buf *system, struct vq_buf *user)
{
    const struct vq_template *t = m->in.templates[VQ_TEMPLATE_JUDGE_MANY];
    struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{0}};
    fill_values(m, row, order, list, values);
    return vq_template_render(t, VQ_TEMPLATE_SYSTEM, values, system) == VQ_OK &&
           vq_template_render(t, VQ_TEMPLATE_USER, values, user) == VQ_OK;
}

bool vq_vibecheck_method_joint_prompt(const struct vq_vibecheck_method *m, uint32_t row,
                                      uint32_t vibe, uint32_t order, struct vq_buf *system,
                                      struct vq_buf *user, uint32_t *ret_number)
{
    const char *name = m->vibes[vibe].axis.name; /* texts are shared, so pointers can be compared */
    for (size_t i = 0; i < m->joints_count; i++) {
        const struct vq_vibecheck_method_joint_asked *a = &m->joints[i];
        if (bsearch(&row, a->rows, a->rows_count, sizeof(row), by_row) == NULL) {
            continue;
        }
        for (uint32_t v = 0; v < a->axes_count; v++) {
            if (a->axes[v].name != name) {
                continue;
            }
            *ret_number = v % group_size(m) + 1;
            return system == NULL ||
                   render_again(m, row, order, a->lists[v / group_size(m)], system, user);
        }
    }
    return false;
}
