/* The rated things, as stages of a rubric judge: turns of dialogues by the criteria of turns,
 * answers after their beginnings by the criteria of their data set. The list of rated things has
 * everything that the plan rates, once, in its order. Each thing has the place where it is asked,
 * or is blocked if an answer is missing. Invariant: a thing and its place never change while the
 * persona lives. */
#include "common/base/alloc.h"
#include "methods/persona/script.h"

#include <stdio.h>

#define INPUT_BYTES_MAX ((size_t)16 << 20)

/* Rows of one kind, before they become stages. */
struct layout {
    enum vq_stage_kind kind;
    char name[VQ_FORECAST_NAME_BYTES];
    struct vq_axis *axes;
    uint32_t *rubrics; /* rubric of each axis */
    uint32_t axes_count;
    uint32_t count;          /* number of rows */
    struct vq_sample *items; /* one per row; undefined if the row is blocked */
    uint8_t *asks;           /* [row * axes + axis]: enum vq_cell_asks, also for blocked rows */
    uint8_t *there;          /* [row]: 1 if it is not blocked */
    struct vq_persona_rated *rated; /* one per row: all members but criterion and position */
    /* Ratings of stored answers: the source of each row's texts, which are read again when an item
     * is needed */
    const struct vq_persona_answer *rows;
    uint32_t set;
};

void vq_persona_part_name(const char *set, bool pairwise, enum vq_persona_reference reference,
                          char ret_name[VQ_FORECAST_NAME_BYTES])
{
    (void)snprintf(ret_name, VQ_FORECAST_NAME_BYTES, "%.28s rated%s%s", set, pairwise ? ": " : "",
                   pairwise ? vq_persona_reference_name(reference) : "");
}

enum vq_stage_kind vq_persona_stage_kind(enum vq_rating_kind kind)
{
    switch (kind) {
    case VQ_RATING_LIKERT: return VQ_STAGE_LIKERT;
    case VQ_RATING_BINARY: return VQ_STAGE_BINARY;
    case VQ_RATING_PAIRWISE: break;
    }
    return VQ_STAGE_PAIRWISE;
}

/* The axes of `kind` among rubrics [first, first + count). */
static enum vq_status fill_axes(struct vq_persona *p, uint32_t first, uint32_t count,
                                struct layout *l)
{
    VQ_TRY(VQ_ARENA_ALLOC(&p->keep, l->axes, count));
    VQ_TRY(VQ_ARENA_ALLOC(&p->of_stage, l->rubrics, count));
    for (uint32_t i = first; i < first + count; i++) {
        const struct vq_criterion *text = p->in.rubrics[i].text;
        if (vq_persona_stage_kind(text->kind) == l->kind) {
            l->axes[l->axes_count] = (struct vq_axis){text->name, text->rubric, ""};
            l->rubrics[l->axes_count++] = i;
        }
    }
    return VQ_OK;
}

static enum vq_status make_rows(struct vq_persona *p, size_t count, struct layout *l)
{
    if (count > VQ_PERSONA_ROWS_MAX) {
        return VQ_LIMIT;
    }
    l->count = (uint32_t)count;
    l->items = vq_arena_alloc(&p->of_stage, count, sizeof(*l->items));
    l->asks = vq_arena_alloc(&p->of_stage, count * l->axes_count, 1);
    l->there = vq_arena_alloc(&p->of_stage, count, 1);
    l->rated = vq_arena_alloc(&p->of_stage, count, sizeof(*l->rated));
    return l->items == NULL || l->asks == NULL || l->there == NULL || l->rated == NULL ? VQ_NOMEM
                                                                                       : VQ_OK;
}

/* ---- from rows to stages ---- */

static enum vq_status add_thing(struct vq_persona *p, const struct vq_persona_rated *rated,
                                const struct vq_persona_place *place)
{
    size_t n = p->rated_count + 1;
    VQ_TRY(vq_grow((void **)&p->rated, &p->rated_cap, n, sizeof(*p->rated), VQ_PERSONA_ROWS_MAX));
    VQ_TRY(
        vq_grow((void **)&p->places, &p->places_cap, n, sizeof(*p->places), VQ_PERSONA_ROWS_MAX));
    p->rated[n - 1] = *rated;
    p->places[n - 1] = *place;
    p->rated_count = n;
    return VQ_OK;
}

/* Lists one thing per axis and order of a row. `place`: the place of its item. */
static enum vq_status list_row(struct vq_persona *p, const struct layout *l, uint32_t row,
                               struct vq_persona_place place)
{
    for (uint32_t a = 0; a < l->axes_count; a++) {
        uint8_t asks = l->asks[(size_t)row * l->axes_count + a];
        for (uint8_t order = 0; order < 2; order++) {
            bool is = asks == VQ_CELL_ASKED ? l->kind == VQ_STAGE_PAIRWISE || order == 0
                                            : asks == VQ_CELL_ORDER_0 + order;
            if (!is || asks == VQ_CELL_UNASKED) {
                continue;
            }
            struct vq_persona_rated rated = l->rated[row];
            rated.criterion = l->rubrics[a];
            rated.position = order;
            place.axis = (uint16_t)a;
            place.order = order;
            VQ_TRY(add_thing(p, &rated, &place));
        }
    }
    return VQ_OK;
}

static enum vq_status remake(void *ctx, uint32_t item, const struct vq_reader *reader,
                             struct vq_sample *ret_item, struct vq_error *err);

/* Adds the stage of the rows with twin[row] == is_twin. */
static enum vq_status add_part(struct vq_persona *p, const struct layout *l,
                               const struct vq_sample_id *ids, const uint8_t *twin, bool is_twin,
                               uint32_t count)
{
    uint32_t judges = p->in.judges_count, n = 0;
    size_t each = (size_t)judges * l->axes_count;
    bool again = l->rows != NULL && p->from_store;
    struct vq_sample *items = vq_arena_alloc(&p->of_stage, again ? 0 : count, sizeof(*items));
    uint32_t *row_of = vq_arena_alloc(&p->of_stage, count, sizeof(*row_of));
    struct vq_sample_id *own = vq_arena_alloc(&p->keep, count, sizeof(*own));
    uint8_t *cells = vq_arena_alloc(&p->keep, count * each, 1);
    char *name = vq_arena_printf(&p->keep, "%.50s%s", l->name, is_twin ? ", shared" : "");
    VQ_TRY(vq_arena_status(&p->of_stage));
    VQ_TRY(vq_arena_status(&p->keep));
    for (uint32_t row = 0; row < l->count; row++) {
        if (!l->there[row] || (twin[row] != 0) != is_twin) {
            continue;
        }
        if (!again) {
            items[n] = l->items[row];
        }
        row_of[n] = row;
        own[n] = ids[row];
        for (uint32_t j = 0; j < judges; j++) {
            memcpy(cells + n * each + (size_t)j * l->axes_count,
                   l->asks + (size_t)row * l->axes_count, l->axes_count);
        }
        n++;
    }
    struct vq_stage stage = {.name = name,
                             .kind = l->kind,
                             .role = VQ_ROLE_JUDGE,
                             .axes = l->axes,
                             .axes_count = l->axes_count,
                             .items = again ? NULL : items,
                             .items_count = n,
                             .item_ids = own,
                             .remake = again ? remake : NULL,
                             .remake_ctx = p,
                             .cells = cells,
                             .retries = p->in.retries};
    VQ_TRY(vq_grow((void **)&p->parts, &p->parts_cap, (size_t)p->parts_count + 1, sizeof(*p->parts),
                   VQ_PERSONA_ROWS_MAX));
    struct vq_persona_pending *pending = vq_persona_enqueue(p, &stage);
    pending->part = p->parts_count;
    pending->rows = l->rows;
    pending->row_of = row_of;
    pending->set = l->set;
    p->parts[p->parts_count] = (struct vq_persona_part){.stage = pending->stage};
    p->parts[p->parts_count].stage.items = NULL;
    p->parts[p->parts_count].stage.remake = NULL;
    p->parts_count++;
    return VQ_OK;
}

static enum vq_status lay(struct vq_persona *p, const struct layout *l)
{
    struct vq_sample_id *ids;
    VQ_TRY(VQ_ARENA_ALLOC(&p->of_stage, ids, l->count));
    uint8_t *twin;
    VQ_TRY(VQ_ARENA_ALLOC(&p->of_stage, twin, l->count));
    for (uint32_t row = 0; row < l->count; row++) {
        if (l->there[row]) {
            vq_sample_identify(&l->items[row], &ids[row]);
        }
    }
    VQ_TRY(vq_persona_twins(p, ids, NULL, l->there, l->count, twin));
    uint32_t first[2] = {0, 0}; /* number of asked items in each part */
    for (uint32_t row = 0; row < l->count; row++) {
        first[twin[row]] += l->there[row];
    }
    uint32_t part[2] = {p->parts_count, p->parts_count + (first[0] > 0)};
    uint32_t at[2] = {0, 0};
    for (uint32_t row = 0; row < l->count; row++) {
        struct vq_persona_place place = {.part = VQ_PERSONA_NONE, .blocked = true};
        if (l->there[row]) {
            place = (struct vq_persona_place){.part = part[twin[row]], .item = at[twin[row]]++};
        }
        VQ_TRY(list_row(p, l, row, place));
    }
    for (int i = 0; i < 2; i++) {
        if (first[i] > 0) {
            VQ_TRY(add_part(p, l, ids, twin, i == 1, first[i]));
        }
    }
    return VQ_OK;
}

/* ---- texts of a row ---- */

/* The text is usually a part of the answer; then it is not copied. */
static enum vq_status said(struct vq_persona *p, struct vq_span answer, struct vq_span *ret_text)
{
    struct vq_buf out;
    vq_buf_init(&out, INPUT_BYTES_MAX);
    vq_persona_judged_answer(answer, &out);
    const char *within = out.status != VQ_OK || out.bytes == 0
                             ? NULL
                             : memmem(answer.at, answer.bytes, out.at, out.bytes);
    if (within == NULL) {
        return vq_arena_take(&p->of_stage, &out, ret_text);
    }
    *ret_text = vq_span(within, out.bytes);
    vq_buf_free(&out);
    return VQ_OK;
}

/* `as` NONE: the query alone. A text is the same after every beginning, so it is stored once. */
static enum vq_status asked(struct vq_persona *p, uint32_t as, struct vq_span query,
                            struct vq_span *ret_text)
{
    struct vq_buf out;
    vq_buf_init(&out, INPUT_BYTES_MAX);
    vq_persona_judged_question(as == VQ_PERSONA_NONE ? NULL : &p->in.personas[as], query, &out);
    uint32_t id =
        out.status == VQ_OK ? vq_intern_find(&p->prompts, vq_buf_span(&out)) : VQ_INTERN_NONE;
    if (id != VQ_INTERN_NONE) {
        *ret_text = p->prompts.keys[id];
        vq_buf_free(&out);
        return VQ_OK;
    }
    VQ_TRY(vq_arena_take(&p->of_stage, &out, ret_text));
    return vq_intern_add(&p->prompts, *ret_text, &id);
}

/* ---- turns ---- */

static enum vq_status fill_turn(struct vq_persona *p, const struct vq_persona_turn *turn,
                                uint32_t row, struct layout *l)
{
    const struct vq_persona_chain *chain = &p->in.plan->chains[turn->chain];
    size_t at = (size_t)turn->chain * p->in.plan->design.rounds + turn->turn;
    l->rated[row] = (struct vq_persona_rated){.model = chain->model,
                                              .persona = chain->persona,
                                              .script = chain->script,
                                              .as = turn->as,
                                              .point = turn->turn,
                                              .item = VQ_PERSONA_NONE,
                                              .order = chain->order};
    memset(l->asks + (size_t)row * l->axes_count, VQ_CELL_ASKED, l->axes_count);
    l->items[row] = (struct vq_sample){.b = vq_span("", 0)};
    if (turn->turn >= p->turns[turn->chain]) {
        return VQ_OK;
    }
    VQ_TRY(said(p, p->answers[at], &l->items[row].a));
    l->there[row] = l->items[row].a.bytes > 0;
    return asked(p, turn->as, p->queries[at], &l->items[row].prompt);
}

static enum vq_status lay_turns_of(struct vq_persona *p, enum vq_stage_kind kind,
                                   const struct vq_persona_turn *turns, size_t count)
{
    struct layout l = {.kind = kind};
    (void)snprintf(l.name, sizeof(l.name), "turns rated%s",
                   kind == VQ_STAGE_BINARY ? ", yes or no" : "");
    VQ_TRY(fill_axes(p, 0, p->in.turn_rubrics, &l));
    if (l.axes_count == 0) {
        return VQ_OK;
    }
    VQ_TRY(make_rows(p, count, &l));
    for (uint32_t row = 0; row < l.count; row++) {
        VQ_TRY(fill_turn(p, &turns[row], row, &l));
    }
    return lay(p, &l);
}

enum vq_status vq_persona_lay_turns(struct vq_persona *p)
{
    struct vq_persona_turn *turns;
    size_t count;
    VQ_TRY(vq_persona_turns(p->in.plan, &turns, &count));
    enum vq_status status = lay_turns_of(p, VQ_STAGE_LIKERT, turns, count);
    if (status == VQ_OK) {
        status = lay_turns_of(p, VQ_STAGE_BINARY, turns, count);
    }
    vq_free(turns);
    return status;
}

/* ---- answers after a beginning ---- */

/* ret_text->at is NULL if there is no answer. */
static enum vq_status answer_to(const struct vq_persona *p, uint32_t set, uint32_t prefix,
                                uint32_t item, struct vq_span *ret_text)
{
    const struct vq_persona_set *of = &p->in.plan->design.sets[set];
    bool baseline = vq_persona_is_baseline(p->in.plan, p->in.plan->prefixes[prefix].persona);
    size_t at = (size_t)prefix * p->columns + vq_persona_column(of, item, baseline);
    *ret_text = vq_span(NULL, 0);
    if (!p->from_store) {
        *ret_text = p->said[at];
    } else if (p->refs[at].stage != VQ_PERSONA_NONE) {
        VQ_ASSERT(p->reader != NULL);
        VQ_TRY(
            p->reader->text(p->reader->ctx, p->refs[at].stage, p->refs[at].cell, ret_text, NULL));
    }
    return VQ_OK;
}

/* The question that was asked, for the judge's prompt. */
static const char *question_of(const struct vq_persona *p, uint32_t set,
                               const struct vq_persona_answer *row)
{
    const struct vq_persona_probe *probe = &p->in.probes[set];
    bool bare = row->as == VQ_PERSONA_NONE;
    uint32_t column = vq_persona_column(&p->in.plan->design.sets[set], row->item, bare);
    return column < probe->bound->count ? probe->file->items[probe->bound->source[column]].text
                                        : probe->bound->questions[column - probe->bound->count];
}

static enum vq_persona_label label_of(enum vq_item_label label)
{
    return label == VQ_ITEM_SAFE     ? VQ_PERSONA_SAFE
           : label == VQ_ITEM_UNSAFE ? VQ_PERSONA_UNSAFE
                                     : VQ_PERSONA_UNLABELLED;
}

/* Of a pair, output A is the reference, so order 0 shows it first. */
static enum vq_status fill_texts(struct vq_persona *p, uint32_t set,
                                 const struct vq_persona_answer *row,
                                 const struct vq_conf_item *item, bool pairwise,
                                 struct vq_sample *ret_item, uint8_t *ret_there)
{
    struct vq_span answer, other = {0};
    *ret_item = (struct vq_sample){.b = vq_span("", 0)};
    VQ_TRY(answer_to(p, set, row->prefix, row->item, &answer));
    if (pairwise && row->other == VQ_PERSONA_NONE) {
        other = vq_span_str(item->reference);
    } else if (pairwise) {
        VQ_TRY(answer_to(p, set, row->other, row->item, &other));
    }
    if (answer.at == NULL || (pairwise && other.at == NULL)) {
        return VQ_OK;
    }
    VQ_TRY(said(p, answer, &answer));
    if (pairwise) {
        VQ_TRY(said(p, other, &other));
    }
    ret_item->a = pairwise ? other : answer;
    ret_item->b = pairwise ? answer : vq_span("", 0);
    *ret_there = answer.bytes > 0 && (!pairwise || other.bytes > 0);
    return asked(p, row->as, vq_span_str(question_of(p, set, row)), &ret_item->prompt);
}

static enum vq_status fill_answer(struct vq_persona *p, uint32_t set,
                                  enum vq_persona_reference reference,
                                  const struct vq_persona_answer *row, uint32_t at,
                                  struct layout *l)
{
    const struct vq_persona_probe *probe = &p->in.probes[set];
    const struct vq_persona_prefix *prefix = &p->in.plan->prefixes[row->prefix];
    const struct vq_conf_item *item = &probe->file->items[probe->bound->source[row->item]];
    bool pairwise = l->kind == VQ_STAGE_PAIRWISE;
    uint8_t *asks = l->asks + (size_t)at * l->axes_count;
    l->rated[at] = (struct vq_persona_rated){.model = prefix->model,
                                             .persona = prefix->persona,
                                             .script = prefix->script,
                                             .as = row->as,
                                             .point = prefix->checkpoint,
                                             .item = row->item,
                                             .reference = reference,
                                             .label = label_of(item->label)};
    for (uint32_t a = 0; a < l->axes_count; a++) {
        bool own = l->axes_count == 1 || a == item->trait;
        asks[a] = own ? (uint8_t)row->orders : VQ_CELL_UNASKED;
    }
    return fill_texts(p, set, row, item, pairwise, &l->items[at], &l->there[at]);
}

static enum vq_status lay_answers_to(struct vq_persona *p, uint32_t set,
                                     enum vq_persona_reference reference,
                                     const struct vq_persona_answer *rows, size_t count)
{
    const struct vq_persona_probe *probe = &p->in.probes[set];
    struct layout l = {.kind = vq_persona_stage_kind(p->in.plan->design.sets[set].rating)};
    bool pairwise = l.kind == VQ_STAGE_PAIRWISE;
    vq_persona_part_name(probe->name, pairwise, reference, l.name);
    VQ_TRY(fill_axes(p, probe->first_rubric, probe->rubrics, &l));
    VQ_ASSERT(l.axes_count == probe->rubrics);
    VQ_TRY(make_rows(p, count, &l));
    for (uint32_t i = 0; i < l.count; i++) {
        VQ_TRY(fill_answer(p, set, reference, &rows[i], i, &l));
    }
    l.set = set;
    l.rows = p->from_store ? vq_arena_copy(&p->of_stage, rows, count, sizeof(*rows)) : NULL;
    return p->from_store && l.rows == NULL ? VQ_NOMEM : lay(p, &l);
}

/* Called only for an item of the stage that is being asked. */
static enum vq_status remake(void *ctx, uint32_t item, const struct vq_reader *reader,
                             struct vq_sample *ret_item, struct vq_error *err)
{
    struct vq_persona *p = ctx;
    const struct vq_persona_pending *at = &p->queue[p->first];
    VQ_ASSERT(p->first < p->queued && at->rows != NULL && item < at->stage.items_count);
    const struct vq_persona_answer *row = &at->rows[at->row_of[item]];
    const struct vq_persona_probe *probe = &p->in.probes[at->set];
    uint8_t there;
    p->reader = reader;
    enum vq_status status =
        fill_texts(p, at->set, row, &probe->file->items[probe->bound->source[row->item]],
                   at->stage.kind == VQ_STAGE_PAIRWISE, ret_item, &there);
    p->reader = NULL;
    return status == VQ_OK ? VQ_OK
                           : vq_fail(err, status, "the rated answers cannot be read again: %s",
                                     vq_status_text(status));
}

enum vq_status vq_persona_lay_answers(struct vq_persona *p, uint32_t set)
{
    const struct vq_persona_set *of = &p->in.plan->design.sets[set];
    enum vq_persona_reference reference = (enum vq_persona_reference)p->piece++;
    bool is = of->rating == VQ_RATING_PAIRWISE ? of->references[reference]
                                               : reference == VQ_PERSONA_DATASET;
    if (!of->rated || !is) {
        return VQ_OK;
    }
    struct vq_persona_answer *rows;
    size_t count;
    VQ_TRY(vq_persona_answers(p->in.plan, of, reference, &rows, &count));
    enum vq_status status = lay_answers_to(p, set, reference, rows, count);
    vq_free(rows);
    return status;
}
