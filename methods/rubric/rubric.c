/* The stages of a rubric run, all planned at the start. A criterion takes the place of a vibe; an
 * output of a row (for pairwise criteria, a row) takes the place of a sample; a repeat has request
 * numbers of its own. Cells that are not to be asked are masked: a missing output, and the order
 * that `alternate` leaves out. Owns its arrays; texts belong to the input. Not its job: the
 * contents of answers (numbers.c). */
#include "methods/rubric/rubric.h"

#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "proto/grid.h"

#include <stdio.h>

#define KINDS     3u
#define SLOTS_MAX ((size_t)1 << 34)

struct kind_part { /* the stages of a kind share this */
    enum vq_stage_kind kind;
    struct vq_axis *axes;
    uint32_t *criteria; /* [axis]: number of its criterion */
    uint32_t axes_count;
    struct vq_sample *items;
    uint32_t items_count;
    uint8_t *cells; /* NULL: all cells are asked */
};

struct vq_rubric {
    struct vq_rubric_input in;
    struct vq_arena memory;
    struct kind_part parts[KINDS];
    struct vq_stage *stages;
    uint32_t stages_count;
    uint32_t taken;
    size_t *first_slots; /* [criterion] */
    size_t slots;
    uint8_t *outcomes;
};

static enum vq_stage_kind stage_kind(enum vq_rating_kind kind)
{
    switch (kind) {
    case VQ_RATING_LIKERT: return VQ_STAGE_LIKERT;
    case VQ_RATING_BINARY: return VQ_STAGE_BINARY;
    case VQ_RATING_PAIRWISE: break;
    }
    return VQ_STAGE_PAIRWISE;
}

uint32_t vq_rubric_rated_outputs(const struct vq_rubric_input *in, uint32_t criterion)
{
    return in->criteria[criterion].kind == VQ_RATING_PAIRWISE ? 1 : in->outputs_count;
}

/* The number of the output that a sample of a stage is; 0 for a pairwise one. */
static uint32_t output_of(const struct vq_rubric *rubric, enum vq_stage_kind kind, uint32_t sample,
                          uint32_t *ret_row)
{
    uint32_t outputs = kind == VQ_STAGE_PAIRWISE ? 1 : rubric->in.outputs_count;
    *ret_row = sample / outputs;
    return sample % outputs;
}

/* ---- planning ---- */

static enum vq_status fill_axes(struct vq_rubric *r, struct kind_part *p)
{
    const struct vq_rubric_input *in = &r->in;
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, p->axes, in->criteria_count));
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, p->criteria, in->criteria_count));
    for (uint32_t c = 0; c < in->criteria_count; c++) {
        if (stage_kind(in->criteria[c].kind) == p->kind) {
            p->axes[p->axes_count] =
                (struct vq_axis){in->criteria[c].name, in->criteria[c].rubric, ""};
            p->criteria[p->axes_count++] = c;
        }
    }
    return VQ_OK;
}

static enum vq_status fill_items(struct vq_rubric *r, struct kind_part *p)
{
    const struct vq_rubric_input *in = &r->in;
    bool pairwise = p->kind == VQ_STAGE_PAIRWISE;
    uint64_t n = (uint64_t)in->rows_count * (pairwise ? 1 : in->outputs_count);
    if (n > UINT32_MAX) {
        return VQ_LIMIT;
    }
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, p->items, n));
    p->items_count = (uint32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row;
        uint32_t output = output_of(r, p->kind, i, &row);
        const struct vq_rubric_row *from = &in->rows[row];
        p->items[i] = (struct vq_sample){.prompt = from->prompt,
                                         .a = from->outputs[output],
                                         .b = pairwise ? from->outputs[1] : vq_span("", 0),
                                         .image = from->image};
    }
    return VQ_OK;
}

static uint8_t asks(const struct vq_rubric *r, const struct kind_part *p, uint32_t item)
{
    uint32_t row;
    uint32_t output = output_of(r, p->kind, item, &row);
    const struct vq_rubric_row *from = &r->in.rows[row];
    if (p->kind != VQ_STAGE_PAIRWISE) {
        return from->outputs[output].bytes == 0 ? VQ_CELL_UNASKED : VQ_CELL_ASKED;
    }
    if (from->outputs[0].bytes == 0 || from->outputs[1].bytes == 0) {
        return VQ_CELL_UNASKED;
    }
    return r->in.rating.positions == VQ_POSITIONS_BOTH ? VQ_CELL_ASKED
           : from->record % 2 == 1                     ? VQ_CELL_ORDER_0
                                                       : VQ_CELL_ORDER_1;
}

static enum vq_status fill_cells(struct vq_rubric *r, struct kind_part *p)
{
    bool all = true;
    for (uint32_t i = 0; all && i < p->items_count; i++) {
        all = asks(r, p, i) == VQ_CELL_ASKED;
    }
    if (all) {
        return VQ_OK;
    }
    size_t each = (size_t)r->in.judges_count * p->axes_count;
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, p->cells, p->items_count * each));
    for (uint32_t i = 0; i < p->items_count; i++) {
        memset(p->cells + i * each, asks(r, p, i), each);
    }
    return VQ_OK;
}

static enum vq_status add_stage(struct vq_rubric *r, const struct kind_part *p, uint32_t repeat)
{
    static const char *const names[] = {[VQ_STAGE_LIKERT] = "likert",
                                        [VQ_STAGE_BINARY] = "binary",
                                        [VQ_STAGE_PAIRWISE] = "pairwise"};
    const char *name = repeat == 0
                           ? names[p->kind]
                           : vq_arena_printf(&r->memory, "%s %u", names[p->kind], repeat + 1);
    VQ_TRY(vq_arena_status(&r->memory));
    r->stages[r->stages_count] =
        (struct vq_stage){.no = r->stages_count,
                          .name = name,
                          .kind = p->kind,
                          .role = VQ_ROLE_JUDGE,
                          .axes = p->axes,
                          .axes_count = p->axes_count,
                          .cells = p->cells,
                          .items = p->items,
                          .items_count = p->items_count,
                          .repeat = repeat,
                          .retries = r->in.rating.policy == VQ_RATING_STRICT ? 1 : 0};
    r->stages_count++;
    return VQ_OK;
}

static enum vq_status fill_slots(struct vq_rubric *r)
{
    const struct vq_rubric_input *in = &r->in;
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, r->first_slots, in->criteria_count));
    for (uint32_t c = 0; c < in->criteria_count; c++) {
        r->first_slots[c] = r->slots;
        r->slots += (size_t)in->rows_count * vq_rubric_rated_outputs(in, c) * in->judges_count *
                    in->rating.repeats * 2;
        if (r->slots > SLOTS_MAX) {
            return VQ_LIMIT;
        }
    }
    return VQ_ARENA_ALLOC(&r->memory, r->outcomes, r->slots);
}

static enum vq_status lay_out(struct vq_rubric *r)
{
    static const enum vq_stage_kind kinds[KINDS] = {VQ_STAGE_LIKERT, VQ_STAGE_BINARY,
                                                    VQ_STAGE_PAIRWISE};
    VQ_TRY(VQ_ARENA_ALLOC(&r->memory, r->stages, (size_t)KINDS * r->in.rating.repeats));
    for (uint32_t k = 0; k < KINDS; k++) {
        struct kind_part *p = &r->parts[k];
        p->kind = kinds[k];
        VQ_TRY(fill_axes(r, p));
        if (p->axes_count > 0) {
            VQ_TRY(fill_items(r, p));
            VQ_TRY(fill_cells(r, p));
        }
    }
    for (uint32_t repeat = 0; repeat < r->in.rating.repeats; repeat++) {
        for (uint32_t k = 0; k < KINDS; k++) {
            if (r->parts[k].axes_count > 0) {
                VQ_TRY(add_stage(r, &r->parts[k], repeat));
            }
        }
    }
    return fill_slots(r);
}

enum vq_status vq_rubric_create(const struct vq_rubric_input *input, struct vq_rubric **ret_rubric,
                                struct vq_error *err)
{
    VQ_ASSERT(input->criteria_count > 0 && input->judges_count > 0 && input->rating.repeats > 0 &&
              input->outputs_count > 0 && input->outputs_count <= VQ_RUBRIC_OUTPUTS_MAX);
    struct vq_rubric *r;
    VQ_TRY(VQ_ALLOC(r, 1));
    r->in = *input;
    enum vq_status status = lay_out(r);
    if (status != VQ_OK) {
        vq_rubric_destroy(&r);
        return vq_fail(err, status,
                       status == VQ_LIMIT ? "rows x outputs x criteria x judges x repeats is more "
                                            "than one run can hold; use data.limit"
                                          : "out of memory");
    }
    *ret_rubric = r;
    return VQ_OK;
}

void vq_rubric_destroy(struct vq_rubric **rubric)
{
    struct vq_rubric *r = *rubric;
    if (r == NULL) {
        return;
    }
    vq_arena_clear(&r->memory);
    vq_free(r);
    *rubric = NULL;
}

/* ---- queries ---- */

const struct vq_rubric_input *vq_rubric_input(const struct vq_rubric *rubric)
{
    return &rubric->in;
}

uint32_t vq_rubric_stages_count(const struct vq_rubric *rubric)
{
    return rubric->stages_count;
}

const struct vq_stage *vq_rubric_stage(const struct vq_rubric *rubric, uint32_t stage)
{
    VQ_ASSERT(stage < rubric->stages_count);
    return &rubric->stages[stage];
}

const struct vq_stage *vq_rubric_stage_of(const struct vq_rubric *rubric, uint32_t criterion)
{
    uint32_t i = 0;
    while (rubric->stages[i].kind != stage_kind(rubric->in.criteria[criterion].kind)) {
        i++;
    }
    return &rubric->stages[i];
}

static struct vq_grid grid_of(const struct vq_rubric *r, const struct vq_stage *s)
{
    return (struct vq_grid){s->items_count, r->in.judges_count, s->axes_count};
}

struct vq_rubric_place vq_rubric_place(const struct vq_rubric *rubric, uint32_t stage,
                                       uint64_t task)
{
    const struct vq_stage *s = vq_rubric_stage(rubric, stage);
    struct vq_grid grid = grid_of(rubric, s);
    struct vq_cell cell = vq_grid_cell(&grid, task);
    const uint32_t *criteria = NULL;
    for (uint32_t k = 0; k < KINDS; k++) {
        criteria = rubric->parts[k].kind == s->kind ? rubric->parts[k].criteria : criteria;
    }
    VQ_ASSERT(criteria != NULL);
    struct vq_rubric_place place = {.criterion = criteria[cell.vibe],
                                    .judge = cell.judge,
                                    .repeat = s->repeat,
                                    .order = cell.order};
    place.output = output_of(rubric, s->kind, cell.sample, &place.row);
    return place;
}

uint64_t vq_rubric_task(const struct vq_rubric *rubric, const struct vq_rubric_place *place,
                        uint32_t *ret_stage)
{
    enum vq_stage_kind kind = stage_kind(rubric->in.criteria[place->criterion].kind);
    uint32_t stage = 0, axis = 0;
    while (rubric->stages[stage].kind != kind || rubric->stages[stage].repeat != place->repeat) {
        stage++;
    }
    for (uint32_t c = 0; c < place->criterion; c++) {
        axis += stage_kind(rubric->in.criteria[c].kind) == kind;
    }
    struct vq_grid grid = grid_of(rubric, &rubric->stages[stage]);
    uint32_t outputs = vq_rubric_rated_outputs(&rubric->in, place->criterion);
    *ret_stage = stage;
    return vq_grid_task(&grid, (struct vq_cell){place->row * outputs + place->output, place->judge,
                                                axis, place->order});
}

size_t vq_rubric_slots(const struct vq_rubric *rubric)
{
    return rubric->slots;
}

size_t vq_rubric_slot(const struct vq_rubric *rubric, const struct vq_rubric_place *place)
{
    const struct vq_rubric_input *in = &rubric->in;
    size_t at = (size_t)place->row * vq_rubric_rated_outputs(in, place->criterion) + place->output;
    at = at * in->judges_count + place->judge;
    at = at * in->rating.repeats + place->repeat;
    return rubric->first_slots[place->criterion] + at * 2 + place->order;
}

const uint8_t *vq_rubric_outcomes(const struct vq_rubric *rubric)
{
    return rubric->outcomes;
}

/* ---- the script ---- */

static enum vq_status next(void *ctx, const struct vq_stage **ret_stage, struct vq_error *err)
{
    (void)err;
    const struct vq_rubric *r = ctx;
    *ret_stage = r->taken < r->stages_count ? &r->stages[r->taken] : NULL;
    return VQ_OK;
}

static enum vq_status take_outcomes(void *ctx, const uint8_t *outcomes, size_t count,
                                    struct vq_error *err)
{
    struct vq_rubric *r = ctx;
    const struct vq_stage *s = r->taken < r->stages_count ? &r->stages[r->taken] : NULL;
    struct vq_grid grid = {0};
    if (s != NULL) {
        grid = grid_of(r, s);
    }
    if (s == NULL || count != vq_grid_tasks(&grid)) {
        return vq_fail(err, VQ_BUG, "%zu answers to stage \"%s\"", count,
                       s == NULL ? "(none)" : s->name);
    }
    for (uint64_t t = 0; t < count; t++) {
        struct vq_rubric_place place = vq_rubric_place(r, r->taken, t);
        r->outcomes[vq_rubric_slot(r, &place)] = outcomes[t];
    }
    r->taken++;
    return VQ_OK;
}

static uint32_t notes(const void *ctx, const char *const **ret_notes)
{
    (void)ctx;
    *ret_notes = NULL;
    return 0;
}

struct vq_script vq_rubric_script(struct vq_rubric *rubric)
{
    static const struct vq_script_ops ops = {
        .next = next, .take_outcomes = take_outcomes, .notes = notes};
    return (struct vq_script){&ops, rubric};
}
