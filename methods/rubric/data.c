/* Finds columns, draws the seeded sample, numbers questions, reads labels. Invariant: a label is a
 * value of its criterion's kind or empty; otherwise the file is refused, with the line, because a
 * mistyped label must not become a rating without notice. Not its job: parsing the file
 * (table.c). */
#include "methods/rubric/data.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/judge/request.h"
#include "common/text/intern.h"
#include "common/text/utf8.h"
#include "methods/data/cell_notes.h"
#include "methods/data/columns.h"
#include "methods/data/human_label.h"
#include "methods/data/questions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SHOWN_BYTES  60
#define LIMIT_STREAM 7 /* number of the random stream */

struct build {
    const struct vq_rubric_settings *settings;
    const struct vq_table *table;
    struct vq_rubric_data *data;
    uint32_t prompt, outputs[VQ_RUBRIC_OUTPUTS_MAX];
    uint32_t group; /* column number, or UINT32_MAX */
    uint32_t image; /* column number, or UINT32_MAX */
    struct vq_error *err;
};

/* ---- columns ---- */

/* Finds a column of texts. */
static enum vq_status need_column(const struct build *b, const char *name, const char *role,
                                  uint32_t *ret_column)
{
    VQ_TRY(vq_column_need(b->table, b->settings->file, name, role, ret_column, b->err));
    return vq_column_flat(b->table, b->settings->file, *ret_column, role, b->err);
}

static enum vq_status find_columns(struct build *b)
{
    static const char *const roles[] = {"the outputs (models[0])", "the outputs (models[1])"};
    const struct vq_config *c = b->settings->config;
    VQ_TRY(vq_column_prompt(b->table, b->settings->file, c->data.prompt, &b->prompt, b->err));
    VQ_TRY(vq_column_flat(b->table, b->settings->file, b->prompt, "the prompts", b->err));
    b->group = UINT32_MAX;
    if (c->data.group != NULL) {
        VQ_TRY(need_column(b, c->data.group, "the groups (data.group)", &b->group));
    }
    b->image = UINT32_MAX;
    if (c->data.image != NULL) {
        VQ_TRY(need_column(b, c->data.image, "the images (data.image)", &b->image));
    }
    for (uint32_t o = 0; o < c->models_count; o++) {
        VQ_TRY(need_column(b, c->models[o], roles[o], &b->outputs[o]));
        if (b->outputs[o] == b->prompt) {
            return vq_fail(b->err, VQ_INVALID,
                           "the column \"%.80s\" of %s is given as the prompts and as an output; "
                           "they must be different columns",
                           c->models[o], b->settings->file);
        }
    }
    return VQ_OK;
}

/* ---- rows ---- */

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Chooses rows of the table: all, or a seeded sample of data.limit. */
static enum vq_status choose(const struct build *b, uint32_t **ret_rows, uint32_t *ret_count)
{
    uint32_t n = b->table->rows_count, limit = b->settings->config->data.limit;
    uint32_t *rows;
    VQ_TRY(VQ_ARENA_ALLOC(&b->data->memory, rows, n));
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = i;
    }
    if (limit > 0 && limit < n) {
        struct vq_rng rng;
        vq_rng_seed(&rng, b->settings->config->seed * UINT64_C(1000003) + LIMIT_STREAM);
        vq_rng_shuffle_u32(&rng, rows, n);
        qsort(rows, limit, sizeof(*rows), ascending);
        n = limit;
    }
    *ret_rows = rows;
    *ret_count = n;
    return VQ_OK;
}

static enum vq_status fill_rows(struct build *b, const uint32_t *rows, uint32_t n)
{
    struct vq_rubric_data *d = b->data;
    struct vq_cell_notes notes = {.words = 0};
    struct vq_questions questions;
    VQ_TRY(VQ_ARENA_ALLOC(&d->memory, d->rows, n));
    d->rows_count = n;
    enum vq_status status = vq_questions_init(&questions, n);
    for (uint32_t i = 0; status == VQ_OK && i < n; i++) {
        struct vq_rubric_row *row = &d->rows[i];
        row->record = rows[i] + 1;
        row->prompt = vq_table_cell(b->table, rows[i], b->prompt);
        row->image = b->image == UINT32_MAX
                         ? vq_span("", 0)
                         : vq_span_trim(vq_table_cell(b->table, rows[i], b->image));
        for (uint32_t o = 0; o < d->outputs_count; o++) {
            row->outputs[o] = vq_table_cell(b->table, rows[i], b->outputs[o]);
            d->blank[o] += row->outputs[o].bytes == 0;
            vq_cell_notes_output(&notes, row->outputs[o], b->table->lines[rows[i]]);
        }
        vq_cell_notes_prompt(&notes, row->prompt, b->table->lines[rows[i]]);
        size_t bytes = row->prompt.bytes + row->outputs[0].bytes + row->outputs[1].bytes;
        if (bytes > VQ_SAMPLE_BYTES_MAX) {
            status = vq_fail(b->err, VQ_LIMIT,
                             "%s, line %llu: prompt and outputs have %zu bytes together; at most "
                             "%u can be judged. Leave the row out",
                             b->settings->file, (unsigned long long)b->table->lines[rows[i]], bytes,
                             VQ_SAMPLE_BYTES_MAX);
            break;
        }
        status = vq_questions_add(&questions, row->prompt, row->image, &row->question);
    }
    d->questions_count = vq_questions_count(&questions);
    vq_questions_free(&questions);
    d->warnings_count =
        vq_cell_notes_list(&notes, &b->table->mended, b->settings->file, "rated", d->warnings);
    return status;
}

/* ---- groups ---- */

struct group {
    struct vq_span text;
    uint32_t was, rows;
};

static int most_rows_first(const void *a, const void *b)
{
    const struct group *x = a;
    const struct group *y = b;
    int c = (x->rows < y->rows) - (x->rows > y->rows);
    return c != 0 ? c : (x->was > y->was) - (x->was < y->was);
}

/* Numbers the groups again, the largest first. */
static enum vq_status sort_groups(struct vq_rubric_data *d, const struct vq_intern *texts)
{
    struct group *groups;
    uint32_t *is;
    VQ_TRY(VQ_ARENA_ALLOC(&d->memory, groups, texts->count));
    VQ_TRY(VQ_ARENA_ALLOC(&d->memory, is, texts->count));
    VQ_TRY(VQ_ARENA_ALLOC(&d->memory, d->groups, texts->count));
    for (uint32_t g = 0; g < texts->count; g++) {
        groups[g] = (struct group){texts->keys[g], g, 0};
    }
    for (uint32_t i = 0; i < d->rows_count; i++) {
        groups[d->rows[i].group].rows++;
    }
    qsort(groups, texts->count, sizeof(*groups), most_rows_first);
    for (uint32_t g = 0; g < texts->count; g++) {
        d->groups[g] = groups[g].text;
        is[groups[g].was] = g;
    }
    for (uint32_t i = 0; i < d->rows_count; i++) {
        d->rows[i].group = is[d->rows[i].group];
    }
    d->groups_count = texts->count;
    return VQ_OK;
}

static enum vq_status read_groups(struct build *b)
{
    struct vq_rubric_data *d = b->data;
    struct vq_intern texts;
    if (b->group == UINT32_MAX) {
        return VQ_OK;
    }
    vq_intern_init(&texts);
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; status == VQ_OK && i < d->rows_count; i++) {
        struct vq_span text = vq_table_cell(b->table, d->rows[i].record - 1, b->group);
        status = vq_intern_add(&texts, text, &d->rows[i].group);
        if (status == VQ_OK && texts.count > VQ_RUBRIC_GROUPS_MAX) {
            status =
                vq_fail(b->err, VQ_INVALID,
                        "the column \"%.80s\" of %s (data.group) has more than %u different "
                        "values; name a column of topics or sources, or leave data.group out",
                        b->settings->config->data.group, b->settings->file, VQ_RUBRIC_GROUPS_MAX);
        }
    }
    if (status == VQ_OK) {
        status = sort_groups(d, &texts);
    }
    vq_intern_free(&texts);
    return status;
}

/* ---- labels ---- */

static enum vq_status bad_label(const struct build *b, uint32_t criterion, uint32_t row,
                                const char *column, struct vq_span label)
{
    const struct vq_config *c = b->settings->config;
    struct vq_span s = vq_utf8_cut(label, SHOWN_BYTES);
    char allowed[160] = "a whole number from 1 to 5";
    switch (b->settings->criteria[criterion].kind) {
    case VQ_RATING_LIKERT: break;
    case VQ_RATING_BINARY: (void)snprintf(allowed, sizeof(allowed), "yes or no"); break;
    case VQ_RATING_PAIRWISE:
        (void)snprintf(allowed, sizeof(allowed), "%.40s (or A), %.40s (or B) or tie", c->models[0],
                       c->models[1]);
        break;
    }
    return vq_fail(
        b->err, VQ_INVALID,
        "%s, line %llu: \"%.*s\" in column \"%.80s\" is not a label of criterion \"%.80s\", "
        "which is %s; write %s, or leave it empty for unlabelled",
        b->settings->file, (unsigned long long)b->table->lines[row], (int)s.bytes, s.at, column,
        b->settings->criteria[criterion].name,
        vq_criterion_kind_name(b->settings->criteria[criterion].kind), allowed);
}

static enum vq_status read_column(struct build *b, uint32_t criterion, uint32_t output)
{
    struct vq_rubric_data *d = b->data;
    const struct vq_config *c = b->settings->config;
    const char *name = c->criteria[criterion].human[output];
    double *to = d->human + ((size_t)criterion * d->outputs_count + output) * d->rows_count;
    const char *const models[2] = {c->models[0], c->models[1]};
    uint32_t column;
    VQ_TRY(need_column(b, name, "people's labels (human)", &column));
    for (uint32_t i = 0; i < d->rows_count; i++) {
        uint32_t row = d->rows[i].record - 1;
        struct vq_span label = vq_span_trim(vq_table_cell(b->table, row, column));
        if (label.bytes == 0) {
            continue;
        }
        if (!vq_human_label_read(b->settings->criteria[criterion].kind, models, label, &to[i])) {
            return bad_label(b, criterion, row, name, label);
        }
        d->labelled[criterion]++;
    }
    return VQ_OK;
}

static enum vq_status read_labels(struct build *b)
{
    struct vq_rubric_data *d = b->data;
    const struct vq_config *c = b->settings->config;
    size_t n = (size_t)c->criteria_count * d->outputs_count * d->rows_count;
    VQ_TRY(VQ_ARENA_ALLOC(&d->memory, d->human, n));
    VQ_TRY(VQ_ARENA_ALLOC(&d->memory, d->labelled, c->criteria_count));
    for (size_t i = 0; i < n; i++) {
        d->human[i] = NAN;
    }
    for (uint32_t k = 0; k < c->criteria_count; k++) {
        bool pairwise = b->settings->criteria[k].kind == VQ_RATING_PAIRWISE;
        uint32_t wants = pairwise ? 1 : d->outputs_count;
        if (c->criteria[k].human_count != 0 && c->criteria[k].human_count != wants) {
            return vq_fail(
                b->err, VQ_INVALID, "criterion \"%.80s\" is %s and has %u human columns; name %s",
                c->criteria[k].name, vq_criterion_kind_name(b->settings->criteria[k].kind),
                c->criteria[k].human_count, wants == 1 ? "one" : "two, one for each of the models");
        }
        for (uint32_t o = 0; o < c->criteria[k].human_count; o++) {
            if (c->criteria[k].human[o][0] != '\0') {
                VQ_TRY(read_column(b, k, o));
            }
        }
    }
    return VQ_OK;
}

/* ---- all of it ---- */

static enum vq_status build(struct build *b)
{
    uint32_t *rows, n;
    VQ_TRY(find_columns(b));
    VQ_TRY(choose(b, &rows, &n));
    VQ_TRY(fill_rows(b, rows, n));
    for (uint32_t o = 0; o < b->data->outputs_count; o++) {
        if (b->data->blank[o] == n) {
            return vq_fail(b->err, VQ_INVALID,
                           "%s: the column \"%.80s\" is empty in every row; name another column in "
                           "models",
                           b->settings->file, b->settings->config->models[o]);
        }
    }
    VQ_TRY(read_groups(b));
    return read_labels(b);
}

enum vq_status vq_rubric_data_create(const struct vq_rubric_settings *settings,
                                     const struct vq_table *table, struct vq_rubric_data **ret_data,
                                     struct vq_error *err)
{
    struct vq_rubric_data *d;
    VQ_TRY(VQ_ALLOC(d, 1));
    d->outputs_count = settings->config->models_count;
    d->records = table->rows_count;
    struct build b = {.settings = settings, .table = table, .data = d, .err = err};
    enum vq_status status = build(&b);
    if (status != VQ_OK) {
        vq_rubric_data_destroy(&d);
        return status;
    }
    *ret_data = d;
    return VQ_OK;
}

void vq_rubric_data_destroy(struct vq_rubric_data **data)
{
    if (*data != NULL) {
        vq_arena_clear(&(*data)->memory);
        vq_free(*data);
        *data = NULL;
    }
}
