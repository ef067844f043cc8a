/* Tables that are joined on a column. The default names of prompt and output are tried in order.
 * Pure. */
#include "common/import/reader.h"

#include "common/text/table.h"
#include "common/text/utf8.h"

#define COLUMNS_SHOWN 12u
#define NAME_SHOWN    40u

static const char *const prompts[] = {"question", "prompt", "instruction", "input", NULL};
static const char *const outputs[] = {"output",     "response", "answer", "completion",
                                      "generation", "text",     NULL};

static enum vq_status missing(const struct vq_table *t, const char *name, const char *what,
                              const char *option, struct vq_error *err)
{
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX);
    for (uint32_t i = 0; i < t->columns_count && i < COLUMNS_SHOWN; i++) {
        struct vq_span s = vq_utf8_cut(t->columns[i], NAME_SHOWN);
        vq_buf_printf(&list, "%s%.*s", i == 0 ? "" : ", ", (int)s.bytes, s.at);
    }
    enum vq_status status = vq_fail(
        err, VQ_INVALID, "%.200s: expected %s, found the columns %s%s; name it with %s", name, what,
        list.at == NULL ? "" : list.at, t->columns_count > COLUMNS_SHOWN ? ", ..." : "", option);
    vq_buf_free(&list);
    return status;
}

/* The index of the column; UINT32_MAX: the table has no such column. */
static uint32_t column(const struct vq_table *t, const char *given, const char *const *usual)
{
    if (given != NULL) {
        return vq_table_column(t, vq_span_str(given));
    }
    uint32_t found = UINT32_MAX;
    for (size_t i = 0; usual[i] != NULL && found == UINT32_MAX; i++) {
        found = vq_table_column(t, vq_span_str(usual[i]));
    }
    return found;
}

static void put(struct vq_import_item *item, enum vq_import_part part, struct vq_span cell)
{
    vq_import_begin(item, part);
    vq_buf_append(&item->set->text, cell.at, cell.bytes);
    vq_import_end(item, part);
}

enum vq_status vq_import_table(const struct vq_table *t, const struct vq_import_columns *c,
                               const char *name, struct vq_import_set *set, struct vq_error *err)
{
    if (set->files_count == VQ_IMPORT_FILES_MAX) {
        return vq_fail(err, VQ_LIMIT, "more than %u files", VQ_IMPORT_FILES_MAX);
    }
    struct vq_import_item item = {.set = set, .row = {.file = set->files_count}};
    set->files[set->files_count++] = name;
    uint32_t key = vq_table_column(t, vq_span_str(c->key));
    uint32_t prompt = column(t, c->prompt, prompts), output = column(t, c->output, outputs);
    if (key == UINT32_MAX) {
        return missing(t, name, "the column that both files share", "--key", err);
    }
    if (output == UINT32_MAX) {
        return missing(t, name, "a column of outputs", "--column", err);
    }
    for (uint32_t row = 0; row < t->rows_count; row++) {
        put(&item, VQ_IMPORT_KEY, vq_table_cell(t, row, key));
        put(&item, VQ_IMPORT_PROMPT,
            prompt == UINT32_MAX ? vq_span("", 0) : vq_table_cell(t, row, prompt));
        put(&item, VQ_IMPORT_OUTPUT, vq_table_cell(t, row, output));
        VQ_TRY(vq_import_add(&item));
    }
    return VQ_OK;
}
