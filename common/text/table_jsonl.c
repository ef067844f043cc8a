/* JSON lines through jansson, one object per line. Records may have different keys, so cells are
 * first collected as (column, text) with the first index of each row, and the table is made at the
 * end. Invariants: duplicate keys, NUL characters and deep nesting are refused before a value is
 * used. */
#include "common/text/table_build.h"

#include "common/base/alloc.h"
#include "common/text/json.h"
#include "common/text/json_load.h"
#include "common/text/json_mend.h"
#include "common/text/utf8.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

struct loose_cell {
    uint32_t column;
    struct vq_span text;
};

struct jsonl_reader {
    struct vq_table_build *build;
    struct loose_cell *cells;
    size_t cells_count;
    size_t cells_cap;
    size_t *firsts; /* by row: the index of its first cell */
    size_t firsts_cap;
    uint64_t line;
    struct vq_buf mended; /* the current line, if it was repaired */
};

static enum vq_status bad_line(struct jsonl_reader *r, enum vq_status status, const char *key,
                               const char *what)
{
    struct vq_span cut = vq_utf8_cut(vq_span_str(key == NULL ? "" : key), 80);
    return vq_fail(r->build->err, status, "%s, line %llu%s%.*s%s: %s", r->build->name,
                   (unsigned long long)r->line, key == NULL ? "" : ", field \"", (int)cut.bytes,
                   cut.at, key == NULL ? "" : "\"", what);
}

/* The shortest of 15, 16 or 17 digits that reads back equal. */
static struct vq_span real_text(double value, char ret_text[40])
{
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(ret_text, 40, "%.*g", digits, value);
        if (strtod(ret_text, NULL) == value) {
            break;
        }
    }
    return vq_span_str(ret_text);
}

static enum vq_status keep_dump(struct jsonl_reader *r, const json_t *value,
                                struct vq_span *ret_text)
{
    struct vq_buf text;
    vq_buf_init(&text, VQ_TABLE_FIELD_BYTES_MAX);
    enum vq_status status = vq_json_dump(value, &text);
    if (status == VQ_OK) {
        status = vq_table_keep(r->build, vq_buf_span(&text), ret_text);
    }
    vq_buf_free(&text);
    return status;
}

/* With `unwrap_lists`, replaces a list of one string by that string. */
static const json_t *unwrapped(struct jsonl_reader *r, const json_t *value)
{
    bool one = r->build->options.unwrap_lists && json_array_size(value) == 1 &&
               json_is_string(json_array_get(value, 0));
    r->build->mended.unwrapped += one;
    return one ? json_array_get(value, 0) : value;
}

static enum vq_status keep_value(struct jsonl_reader *r, const json_t *value,
                                 struct vq_span *ret_text)
{
    char number[40];
    switch (json_typeof(value)) {
    case JSON_STRING:
        return vq_table_keep_cell(
            r->build, vq_span(json_string_value(value), json_string_length(value)), ret_text);
    case JSON_INTEGER:
        (void)snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
        return vq_table_keep(r->build, vq_span_str(number), ret_text);
    case JSON_REAL:
        return vq_table_keep(r->build, real_text(json_real_value(value), number), ret_text);
    case JSON_TRUE: *ret_text = vq_span_str("true"); return VQ_OK;
    case JSON_FALSE: *ret_text = vq_span_str("false"); return VQ_OK;
    case JSON_NULL: *ret_text = vq_span("", 0); return VQ_OK;
    case JSON_OBJECT:
    case JSON_ARRAY: return keep_dump(r, value, ret_text);
    }
    return VQ_BUG;
}

/* Records the first line whose value in this column is an object or an array. */
static enum vq_status note_nested(struct jsonl_reader *r, uint32_t column)
{
    size_t known = r->build->nested_cap;
    VQ_TRY(VQ_GROW(r->build->nested_lines, &r->build->nested_cap, (size_t)column + 1,
                   VQ_TABLE_COLUMNS_MAX));
    uint64_t *nested = r->build->nested_lines;
    memset(nested + known, 0, (r->build->nested_cap - known) * sizeof(*nested));
    nested[column] = nested[column] == 0 ? r->line : nested[column];
    return VQ_OK;
}

static enum vq_status add_field(struct jsonl_reader *r, const char *key, const json_t *value)
{
    struct loose_cell cell;
    value = unwrapped(r, value);
    VQ_TRY(vq_table_add_column(r->build, vq_span_str(key), r->line, &cell.column));
    enum vq_status status = keep_value(r, value, &cell.text);
    if (status == VQ_LIMIT) {
        return bad_line(r, status, key, "the value is too long");
    }
    VQ_TRY(status);
    if (json_is_object(value) || json_is_array(value)) {
        VQ_TRY(note_nested(r, cell.column));
    }
    if (cell.text.bytes > VQ_TABLE_FIELD_BYTES_MAX) {
        return bad_line(r, VQ_LIMIT, key, "the value is too long");
    }
    status = VQ_GROW(r->cells, &r->cells_cap, r->cells_count + 1, VQ_TABLE_CELLS_MAX);
    if (status == VQ_LIMIT) {
        return bad_line(r, status, NULL, "the file has too many fields");
    }
    VQ_TRY(status);
    r->cells[r->cells_count++] = cell;
    return VQ_OK;
}

static enum vq_status add_object(struct jsonl_reader *r, json_t *object)
{
    VQ_TRY(VQ_GROW(r->firsts, &r->firsts_cap, (size_t)r->build->rows_count + 1,
                   (size_t)VQ_TABLE_ROWS_MAX + 1));
    r->firsts[r->build->rows_count] = r->cells_count;
    VQ_TRY(vq_table_add_row(r->build, r->line));
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        VQ_TRY(add_field(r, key, value));
    }
    return VQ_OK;
}

/* For a cut line, jansson reports a column after the line end, which it counts from 0 again. So the
 * column is computed from the offset. */
static enum vq_status bad_json(const struct jsonl_reader *r, struct vq_span line,
                               const json_error_t *error)
{
    while (line.bytes > 0 && strchr("\r\n", line.at[line.bytes - 1]) != NULL) {
        line.bytes--;
    }
    size_t at = error->position < 0 ? 0 : (size_t)error->position;
    bool cut = at > line.bytes || json_error_code(error) == json_error_premature_end_of_input;
    uint64_t column = vq_utf8_count(vq_span(line.at, cut ? line.bytes : at));
    return vq_fail(r->build->err, VQ_INVALID,
                   "%s, line %llu, column %llu: %s%s; every line must be one JSON object",
                   r->build->name, (unsigned long long)r->line,
                   (unsigned long long)(column > 0 ? column : 1),
                   cut ? "the line ends in the middle: " : "", error->text);
}

static enum vq_status mend(struct jsonl_reader *r, struct vq_span line, struct vq_span *ret_line)
{
    struct vq_json_mended counts = {.surrogates = 0};
    struct vq_table_mended *all = &r->build->mended;
    vq_buf_clear(&r->mended);
    VQ_TRY(vq_json_mend(line, &r->mended, &counts, ret_line));
    all->not_numbers_line = all->not_numbers == 0 ? r->line : all->not_numbers_line;
    all->surrogates_line = all->surrogates == 0 ? r->line : all->surrogates_line;
    all->not_numbers += counts.not_numbers;
    all->surrogates += counts.surrogates;
    return VQ_OK;
}

static enum vq_status read_line(struct jsonl_reader *r, struct vq_span line)
{
    size_t blank = 0;
    while (blank < line.bytes && strchr(" \t\r\n", line.at[blank]) != NULL) {
        blank++;
    }
    if (blank == line.bytes) {
        return VQ_OK;
    }
    if (vq_json_exceeds(line, VQ_TABLE_JSON_DEPTH_MAX, 0)) {
        return bad_line(r, VQ_LIMIT, NULL, "the value is nested too deeply");
    }
    VQ_TRY(mend(r, line, &line));
    json_error_t error;
    json_t *value = NULL;
    enum vq_status status = vq_json_load(line, JSON_REJECT_DUPLICATES, &value, &error);
    if (status != VQ_OK) {
        return status == VQ_NOMEM ? status : bad_json(r, line, &error);
    }
    status = json_is_object(value)
                 ? add_object(r, value)
                 : bad_line(r, VQ_INVALID, NULL, "not a JSON object; every line must be one");
    json_decref(value);
    return status;
}

static enum vq_status lay_out(struct jsonl_reader *r)
{
    struct vq_table_build *build = r->build;
    size_t columns = build->columns.count;
    size_t count = (size_t)build->rows_count * columns;
    if (count > VQ_TABLE_CELLS_MAX) {
        return vq_fail(
            build->err, VQ_LIMIT, "%s: %u records of %zu different keys are more than %llu fields",
            build->name, build->rows_count, columns, (unsigned long long)VQ_TABLE_CELLS_MAX);
    }
    struct vq_span *cells;
    VQ_TRY(VQ_ALLOC(cells, count));
    for (size_t i = 0; i < count; i++) {
        cells[i] = vq_span("", 0);
    }
    for (uint32_t row = 0; row < build->rows_count; row++) {
        size_t end = row + 1 < build->rows_count ? r->firsts[row + 1] : r->cells_count;
        for (size_t i = r->firsts[row]; i < end; i++) {
            cells[(size_t)row * columns + r->cells[i].column] = r->cells[i].text;
        }
    }
    build->cells = cells;
    build->cells_count = count;
    build->cells_cap = count;
    return VQ_OK;
}

enum vq_status vq_table_read_jsonl(struct vq_table_build *build, struct vq_span bytes)
{
    struct jsonl_reader reader = {.build = build};
    vq_buf_init(&reader.mended, VQ_TABLE_BYTES_MAX);
    enum vq_status status = VQ_OK;
    while (bytes.bytes > 0 && status == VQ_OK) {
        const char *lf = memchr(bytes.at, '\n', bytes.bytes);
        size_t n = lf == NULL ? bytes.bytes : (size_t)(lf - bytes.at) + 1;
        reader.line++;
        status = read_line(&reader, vq_span(bytes.at, n));
        bytes = vq_span(bytes.at + n, bytes.bytes - n);
    }
    if (status == VQ_OK) {
        status = lay_out(&reader);
    }
    vq_buf_free(&reader.mended);
    vq_free(reader.cells);
    vq_free(reader.firsts);
    return status;
}
