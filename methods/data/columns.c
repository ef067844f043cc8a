/* Names to columns, with the sentences that refuse. Not its job: which columns there have to be. */
#include "methods/data/columns.h"

#include "common/text/cell.h"
#include "common/text/intern.h"
#include "common/text/utf8.h"

#define SHOWN_BYTES   60 /* of a name in a sentence */
#define COLUMNS_SHOWN 12

static struct vq_span shown(struct vq_span text)
{
    return vq_utf8_cut(text, SHOWN_BYTES);
}

static enum vq_status no_such_column(const struct vq_table *table, const char *file,
                                     const char *name, const char *role, struct vq_error *err)
{
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX);
    for (uint32_t i = 0; i < table->columns_count && i < COLUMNS_SHOWN; i++) {
        struct vq_span s = shown(table->columns[i]);
        vq_buf_printf(&list, "%s\"%.*s\"", i == 0 ? "" : ", ", (int)s.bytes, s.at);
    }
    if (table->columns_count > COLUMNS_SHOWN) {
        vq_buf_printf(&list, " and %u more", table->columns_count - COLUMNS_SHOWN);
    }
    uint32_t near = vq_nearest_name(vq_span_str(name), table->columns, table->columns_count);
    struct vq_span s = near == VQ_INTERN_NONE ? vq_span("", 0) : shown(table->columns[near]);
    enum vq_status status =
        vq_fail(err, VQ_INVALID, "%s has no column \"%.80s\" for %s%s%.*s%s columns are %s", file,
                name, role, s.bytes == 0 ? "" : "; did you mean \"", (int)s.bytes, s.at,
                s.bytes == 0 ? "; its" : "\"? Its", list.at == NULL ? "(none)" : list.at);
    vq_buf_free(&list);
    return status;
}

enum vq_status vq_column_need(const struct vq_table *table, const char *file, const char *name,
                              const char *role, uint32_t *ret_column, struct vq_error *err)
{
    *ret_column = vq_table_column(table, vq_span_str(name));
    return *ret_column == VQ_COLUMN_NONE ? no_such_column(table, file, name, role, err) : VQ_OK;
}

enum vq_status vq_column_prompt(const struct vq_table *table, const char *file, const char *name,
                                uint32_t *ret_column, struct vq_error *err)
{
    if (name != NULL) {
        return vq_column_need(table, file, name, "the prompts (data.prompt)", ret_column, err);
    }
    *ret_column = vq_table_column(table, vq_span_str("question"));
    if (*ret_column == VQ_COLUMN_NONE) {
        *ret_column = vq_table_column(table, vq_span_str("prompt"));
    }
    return *ret_column == VQ_COLUMN_NONE
               ? no_such_column(table, file, "question",
                                "the prompts, nor \"prompt\" (name it with data.prompt)", err)
               : VQ_OK;
}

static const char *nested_advice(const struct vq_table *table, uint32_t column)
{
    uint64_t line = vq_table_nested_line(table, column);
    for (uint32_t row = 0; row < table->rows_count; row++) {
        if (table->lines[row] == line &&
            vq_cell_is_list_of_one(vq_table_cell(table, row, column), NULL)) {
            return "set data.unwrap_lists: true, which takes the text out of a list of one, or "
                   "name another column";
        }
    }
    return "write its text there (a list of messages as one string), or name another column";
}

enum vq_status vq_column_flat(const struct vq_table *table, const char *file, uint32_t column,
                              const char *role, struct vq_error *err)
{
    uint64_t line = vq_table_nested_line(table, column);
    if (line == 0) {
        return VQ_OK;
    }
    struct vq_span s = shown(table->columns[column]);
    return vq_fail(err, VQ_INVALID,
                   "%s, line %llu: \"%.*s\", which is %s, holds a JSON object or array; it must be "
                   "one text: %s",
                   file, (unsigned long long)line, (int)s.bytes, s.at, role,
                   nested_advice(table, column));
}
