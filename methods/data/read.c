/* Columns, labels and texts of one table. Invariant: a label is a model, a tie word or empty;
 * otherwise the whole file is refused, with counts, because a mistyped model name must not become a
 * tie or a vote without notice. Case is ignored in tie words, and blanks around a label are
 * ignored. */
#include "methods/data/parts.h"

#include "common/base/alloc.h"
#include "common/judge/request.h"
#include "common/text/fmt.h"
#include "common/text/utf8.h"
#include "methods/data/cell_notes.h"

#include <stdio.h>
#include <strings.h>

#define SHOWN_BYTES    60 /* of a name or label in a message */
#define UNKNOWN_SHOWN  5
#define LABELS_TRACKED 1000u

static const char *const tie_words[] = {"equal", "tie", "N/A"};

static struct vq_span shown(struct vq_span text)
{
    return vq_utf8_cut(text, SHOWN_BYTES);
}

static bool is_tie_word(struct vq_span label)
{
    for (size_t i = 0; i < VQ_COUNT(tie_words); i++) {
        if (label.bytes == strlen(tie_words[i]) &&
            strncasecmp(label.at, tie_words[i], label.bytes) == 0) {
            return true;
        }
    }
    return false;
}

static enum vq_status check_roles(const struct vq_dataset_build *b, unsigned file,
                                  const struct vq_dataset_columns *c)
{
    struct {
        uint32_t column;
        const char *role;
    } roles[VQ_MODELS_MAX + 3];
    size_t n = 0;
    uint32_t models = b->set->models_count;
    for (uint32_t m = 0; m < models; m++, n++) {
        roles[n].column = c->model[m];
        roles[n].role = models > 2 ? "a model" : m == 0 ? "model A" : "model B";
    }
    const uint32_t others[] = {c->prompt, c->preference, c->image};
    static const char *const names[] = {"the prompts", "the preference", "the images"};
    for (size_t i = 0; i < VQ_COUNT(others); i++, n++) {
        roles[n].column = others[i];
        roles[n].role = names[i];
    }
    for (size_t i = 0; i < n; i++) {
        VQ_TRY(vq_column_flat(b->set->tables[file], vq_dataset_file_name(b, file), roles[i].column,
                              roles[i].role, b->err));
        for (size_t j = i + 1; j < n; j++) {
            if (roles[i].column == roles[j].column && roles[i].column != VQ_COLUMN_NONE) {
                struct vq_span s = shown(b->set->tables[file]->columns[roles[i].column]);
                return vq_fail(
                    b->err, VQ_INVALID,
                    "the column \"%.*s\" of %s is given as %s and as %s; they must be different "
                    "columns",
                    (int)s.bytes, s.at, vq_dataset_file_name(b, file), roles[i].role,
                    roles[j].role);
            }
        }
    }
    for (uint32_t m = 0; m < models && c->preference != VQ_COLUMN_NONE; m++) {
        if (is_tie_word(vq_span_str(b->settings->models[m]))) {
            return vq_fail(
                b->err, VQ_INVALID,
                "a model is called \"%s\", which in the preference column means a tie; rename the "
                "column",
                b->settings->models[m]);
        }
    }
    return VQ_OK;
}

enum vq_status vq_dataset_find_columns(struct vq_dataset_build *b, unsigned file)
{
    const struct vq_conf_data *data = b->settings->data;
    const struct vq_table *table = b->set->tables[file];
    const char *name = vq_dataset_file_name(b, file);
    struct vq_dataset_columns c = {
        .preference = VQ_COLUMN_NONE, .group = VQ_COLUMN_NONE, .image = VQ_COLUMN_NONE};
    for (uint32_t m = 0; m < b->set->models_count; m++) {
        char role[64];
        (void)snprintf(role, sizeof(role), "the outputs of model %c (models[%u])", 'A' + (int)m, m);
        VQ_TRY(vq_column_need(table, name, b->settings->models[m], role, &c.model[m], b->err));
    }
    VQ_TRY(vq_column_prompt(table, name, data->prompt, &c.prompt, b->err));
    if (data->preference != NULL) {
        VQ_TRY(vq_column_need(table, name, data->preference, "the preference (data.preference)",
                              &c.preference, b->err));
    } else {
        c.preference = vq_table_column(table, vq_span_str("preference"));
    }
    if (data->group != NULL) {
        VQ_TRY(
            vq_column_need(table, name, data->group, "the groups (data.group)", &c.group, b->err));
    }
    if (data->image != NULL) {
        VQ_TRY(
            vq_column_need(table, name, data->image, "the images (data.image)", &c.image, b->err));
    }
    VQ_TRY(check_roles(b, file, &c));
    b->set->columns[file] = c;
    b->set->has_preference = b->set->has_preference || c.preference != VQ_COLUMN_NONE;
    return VQ_OK;
}

/* The labels without a meaning, with their counts and first lines. */
struct unknown {
    struct vq_intern labels;
    uint32_t *counts;
    uint64_t *lines;
    uint32_t records;
};

static enum vq_status count_unknown(struct unknown *u, struct vq_span label, uint64_t line)
{
    if (u->counts == NULL) {
        VQ_TRY(VQ_ALLOC(u->counts, LABELS_TRACKED));
        VQ_TRY(VQ_ALLOC(u->lines, LABELS_TRACKED));
    }
    u->records++;
    uint32_t id = vq_intern_find(&u->labels, label);
    if (id == VQ_INTERN_NONE) {
        if (u->labels.count == LABELS_TRACKED) {
            return VQ_OK; /* counted in `records` only */
        }
        VQ_TRY(vq_intern_add(&u->labels, label, &id));
        u->lines[id] = line;
    }
    u->counts[id]++;
    return VQ_OK;
}

static void describe_unknown(const struct vq_dataset_build *b, const struct unknown *u, uint32_t id,
                             struct vq_buf *out)
{
    struct vq_span known[VQ_MODELS_MAX + VQ_COUNT(tie_words)];
    uint32_t known_count = b->set->models_count;
    for (uint32_t m = 0; m < known_count; m++) {
        known[m] = vq_span_str(b->settings->models[m]);
    }
    for (size_t i = 0; i < VQ_COUNT(tie_words); i++) {
        known[known_count++] = vq_span_str(tie_words[i]);
    }
    struct vq_span s = shown(u->labels.keys[id]);
    char count[VQ_FMT_BYTES];
    vq_buf_printf(out, "\"%.*s\" in %s record%s from line %llu", (int)s.bytes, s.at,
                  vq_fmt_count(u->counts[id], count), vq_fmt_plural(u->counts[id]),
                  (unsigned long long)u->lines[id]);
    uint32_t near = vq_nearest_name(u->labels.keys[id], known, known_count);
    if (near != VQ_INTERN_NONE) {
        struct vq_span n = shown(known[near]);
        vq_buf_printf(out, " (did you mean \"%.*s\"?)", (int)n.bytes, n.at);
    }
}

/* Names the most frequent labels first; labels with equal counts in order of appearance. Clears the
 * counts. */
static enum vq_status fail_unknown(const struct vq_dataset_build *b, unsigned file,
                                   struct unknown *u)
{
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX);
    uint32_t shown_count = u->labels.count < UNKNOWN_SHOWN ? u->labels.count : UNKNOWN_SHOWN;
    for (uint32_t k = 0; k < shown_count; k++) {
        uint32_t best = 0;
        for (uint32_t id = 1; id < u->labels.count; id++) {
            best = u->counts[id] > u->counts[best] ? id : best;
        }
        vq_buf_puts(&list, k == 0 ? "" : ", ");
        describe_unknown(b, u, best, &list);
        u->counts[best] = 0;
    }
    if (u->labels.count > shown_count) {
        vq_buf_printf(&list, " and %u more", u->labels.count - shown_count);
    }
    struct vq_span column = shown(b->set->tables[file]->columns[b->set->columns[file].preference]);
    char records[VQ_FMT_BYTES];
    struct vq_buf models;
    vq_buf_init(&models, VQ_ERROR_BYTES_MAX);
    for (uint32_t m = 0; m < b->set->models_count; m++) {
        vq_buf_printf(&models, "%s\"%.60s\"", m == 0 ? "" : ", ", b->settings->models[m]);
    }
    enum vq_status status = vq_fail(
        b->err, VQ_INVALID,
        "%s: %s of the labels in column \"%.*s\" are neither a model (%s) nor a tie (equal, tie, "
        "N/A): %s",
        vq_dataset_file_name(b, file), vq_fmt_count(u->records, records), (int)column.bytes,
        column.at, models.at == NULL ? "" : models.at, list.at == NULL ? "" : list.at);
    vq_buf_free(&models);
    vq_buf_free(&list);
    return status;
}

/* With more than two models: the record's preference is VQ_PREFER_A, and model[0] is the preferred
 * model. vq_dataset_expand then gives each row its own preference. */
static enum vq_status read_label(const struct vq_dataset_build *b, struct vq_span cell,
                                 uint64_t line, struct unknown *unknown, struct vq_data_row *row)
{
    struct vq_span label = vq_span_trim(cell);
    if (label.bytes == 0) {
        row->preference = VQ_PREFER_NONE;
        return VQ_OK;
    }
    bool two = b->set->models_count == 2;
    for (uint32_t m = 0; m < b->set->models_count; m++) {
        struct vq_span model = vq_span_str(b->settings->models[m]);
        if (vq_span_eq(cell, model) || vq_span_eq(label, vq_span_trim(model))) {
            row->preference = two && m == 1 ? VQ_PREFER_B : VQ_PREFER_A;
            row->model[0] = two ? 0 : (uint8_t)m;
            return VQ_OK;
        }
    }
    row->preference = VQ_PREFER_TIE;
    return is_tie_word(label) ? VQ_OK : count_unknown(unknown, label, line);
}

/* Bytes of the prompt and the two longest outputs, because any two outputs may be compared. */
static size_t sample_bytes(const struct vq_dataset_build *b, unsigned file, uint32_t at,
                           const struct vq_data_row *row)
{
    size_t longest[2] = {0, 0};
    for (uint32_t m = 0; m < b->set->models_count; m++) {
        size_t bytes =
            vq_table_cell(b->set->tables[file], at, b->set->columns[file].model[m]).bytes;
        if (bytes > longest[0]) {
            longest[1] = longest[0];
            longest[0] = bytes;
        } else if (bytes > longest[1]) {
            longest[1] = bytes;
        }
    }
    return row->prompt.bytes + longest[0] + longest[1];
}

static enum vq_status read_row(struct vq_dataset_build *b, unsigned file, uint32_t at,
                               struct unknown *unknown, struct vq_data_row *row)
{
    const struct vq_table *table = b->set->tables[file];
    const struct vq_dataset_columns *c = &b->set->columns[file];
    *row = (struct vq_data_row){
        .prompt = vq_table_cell(table, at, c->prompt),
        .a = vq_table_cell(table, at, c->model[0]),
        .b = vq_table_cell(table, at, c->model[1]),
        .image = c->image == VQ_COLUMN_NONE ? vq_span("", 0)
                                            : vq_span_trim(vq_table_cell(table, at, c->image)),
        .record = at + 1,
        .group = VQ_GROUP_NONE,
        .preference = VQ_PREFER_NONE,
        .file = (uint8_t)file,
        .model = {0, 1},
    };
    size_t bytes = sample_bytes(b, file, at, row);
    if (bytes > VQ_SAMPLE_BYTES_MAX) {
        char is[VQ_FMT_BYTES], most[VQ_FMT_BYTES];
        return vq_fail(
            b->err, VQ_LIMIT,
            "%s, line %llu, record %u: prompt and outputs have %s together; at most %s are allowed",
            vq_dataset_file_name(b, file), (unsigned long long)table->lines[at], row->record,
            vq_fmt_bytes(bytes, is), vq_fmt_bytes(VQ_SAMPLE_BYTES_MAX, most));
    }
    VQ_TRY(vq_questions_add(&b->questions, row->prompt, row->image, &row->question));
    if (c->group != VQ_COLUMN_NONE) {
        VQ_TRY(vq_intern_add(&b->groups, vq_table_cell(table, at, c->group), &row->group));
    }
    if (c->preference != VQ_COLUMN_NONE) {
        VQ_TRY(
            read_label(b, vq_table_cell(table, at, c->preference), table->lines[at], unknown, row));
    }
    return VQ_OK;
}

static const char *have(uint64_t n)
{
    return vq_fmt_form(n, " has", "s have");
}

static void warn_of_cells(const struct vq_dataset_build *b, unsigned file,
                          const struct vq_cell_notes *notes)
{
    char texts[VQ_CELL_NOTES_MAX][VQ_CELL_NOTE_BYTES_MAX];
    uint32_t n = vq_cell_notes_list(notes, &b->set->tables[file]->mended,
                                    vq_dataset_file_name(b, file), "judged", texts);
    for (uint32_t i = 0; i < n; i++) {
        vq_dataset_warn(b->set, "%s", texts[i]);
    }
}

enum vq_status vq_dataset_read_rows(struct vq_dataset_build *b, unsigned file)
{
    struct unknown unknown = {.records = 0};
    uint32_t empty_outputs = 0, empty_prompts = 0, no_images = 0;
    struct vq_cell_notes notes = {.words = 0};
    enum vq_status status = VQ_OK;
    uint32_t records = b->set->tables[file]->rows_count;
    for (uint32_t at = 0; at < records && status == VQ_OK; at++) {
        struct vq_data_row *row = &b->rows[b->count];
        status = read_row(b, file, at, &unknown, row);
        uint64_t line = b->set->tables[file]->lines[at];
        bool blank = false;
        for (uint32_t m = 0; m < b->set->models_count; m++) {
            struct vq_span output =
                vq_table_cell(b->set->tables[file], at, b->set->columns[file].model[m]);
            blank = blank || vq_span_is_blank(output);
            vq_cell_notes_output(&notes, output, line);
        }
        empty_outputs += blank;
        empty_prompts += vq_span_is_blank(row->prompt);
        no_images += row->image.bytes == 0;
        vq_cell_notes_prompt(&notes, row->prompt, line);
        b->count++;
    }
    if (status == VQ_OK && unknown.records > 0) {
        status = fail_unknown(b, file, &unknown);
    }
    vq_intern_free(&unknown.labels);
    vq_free(unknown.counts);
    vq_free(unknown.lines);
    VQ_TRY(status);
    b->set->records_read[file] = records;
    if (empty_outputs > 0) {
        vq_dataset_warn(
            b->set, "%s: %u record%s an empty output; %s", vq_dataset_file_name(b, file),
            empty_outputs, have(empty_outputs),
            vq_fmt_form(empty_outputs, "it is judged as it is", "they are judged as they are"));
    }
    if (empty_prompts > 0) {
        vq_dataset_warn(b->set, "%s: %u record%s an empty prompt", vq_dataset_file_name(b, file),
                        empty_prompts, have(empty_prompts));
    }
    if (no_images > 0 && b->set->columns[file].image != VQ_COLUMN_NONE) {
        vq_dataset_warn(b->set, "%s: %u record%s no image; %s judged without one",
                        vq_dataset_file_name(b, file), no_images, have(no_images),
                        vq_fmt_form(no_images, "it is", "they are"));
    }
    warn_of_cells(b, file, &notes);
    return VQ_OK;
}
