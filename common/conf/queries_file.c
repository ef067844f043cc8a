/* Reads queries from tables, trees and plain lines. Not its job: the order and the number of a
 * dialogue's queries. */
#include "common/conf/queries_file.h"

#include "common/base/alloc.h"
#include "common/conf/json_tree.h"
#include "common/text/table.h"
#include "common/text/utf8.h"

#include <stdio.h>

#define PATH_BYTES 64

struct reader {
    const char *name;
    struct vq_error *err;
    struct vq_queries_file file;
    size_t cap;
};

/* The fault of a text, or NULL. */
static const char *fault(struct vq_span text)
{
    return vq_span_is_blank(text)            ? "a query without text"
           : text.bytes > VQ_QUERY_BYTES_MAX ? "a query of more than 256 KiB"
                                             : NULL;
}

static enum vq_status add(struct reader *r, struct vq_span text)
{
    enum vq_status status =
        VQ_GROW(r->file.questions, &r->cap, (size_t)r->file.count + 1, VQ_QUERIES_MAX);
    if (status == VQ_LIMIT) {
        return vq_fail(r->err, status, "%s: more than %u queries", r->name, VQ_QUERIES_MAX);
    }
    VQ_TRY(status);
    char *copy;
    VQ_TRY(vq_copy_bytes(text.at, text.bytes, &copy));
    r->file.questions[r->file.count++] = copy;
    return VQ_OK;
}

/* ---- lines ---- */

static enum vq_status add_line(struct reader *r, struct vq_span line, uint64_t number)
{
    while (line.bytes > 0 && strchr(" \t\r", line.at[line.bytes - 1]) != NULL) {
        line.bytes--;
    }
    const char *wrong = fault(line);
    return wrong == NULL ? add(r, line)
                         : vq_fail(r->err, VQ_LIMIT, "%s, line %llu: %s", r->name,
                                   (unsigned long long)number, wrong);
}

static enum vq_status read_lines(struct reader *r, struct vq_span text)
{
    if (text.bytes >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0) {
        text = vq_span(text.at + 3, text.bytes - 3);
    }
    if (vq_utf8_valid_bytes(text) < text.bytes ||
        (text.bytes > 0 && memchr(text.at, '\0', text.bytes) != NULL)) {
        return vq_fail(r->err, VQ_INVALID, "%s is not UTF-8 text; save it as UTF-8", r->name);
    }
    for (uint64_t number = 1; text.bytes > 0; number++) {
        const char *lf = memchr(text.at, '\n', text.bytes);
        struct vq_span line = vq_span(text.at, lf == NULL ? text.bytes : (size_t)(lf - text.at));
        size_t taken = line.bytes + (lf != NULL);
        text = vq_span(text.at + taken, text.bytes - taken);
        if (!vq_span_is_blank(line)) {
            VQ_TRY(add_line(r, line, number));
        }
    }
    return VQ_OK;
}

/* ---- tables ---- */

static uint32_t column_of(const struct vq_table *table)
{
    static const char *const names[] = {"question", "query", "prompt", "text"};
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        uint32_t column = vq_table_column(table, vq_span_str(names[i]));
        if (column != UINT32_MAX) {
            return column;
        }
    }
    return table->columns_count == 1 ? 0 : UINT32_MAX;
}

static enum vq_status take_table(struct reader *r, const struct vq_table *table)
{
    uint32_t column = column_of(table);
    if (column == UINT32_MAX) {
        return vq_fail(r->err, VQ_INVALID,
                       "%s has no column \"question\", \"query\", \"prompt\" or \"text\"", r->name);
    }
    for (uint32_t row = 0; row < table->rows_count; row++) {
        struct vq_span text = vq_table_cell(table, row, column);
        const char *wrong = fault(text);
        if (wrong != NULL) {
            return vq_fail(r->err, VQ_INVALID, "%s, line %llu, %.*s: %s", r->name,
                           (unsigned long long)table->lines[row],
                           (int)vq_utf8_cut(table->columns[column], 64).bytes,
                           table->columns[column].at, wrong);
        }
        VQ_TRY(add(r, text));
    }
    return VQ_OK;
}

static enum vq_status read_table(struct reader *r, struct vq_span text, enum vq_table_format format)
{
    struct vq_table *table;
    VQ_TRY(vq_table_parse(text, format, r->name, &table, r->err));
    enum vq_status status = take_table(r, table);
    vq_table_destroy(&table);
    return status;
}

/* ---- trees ---- */

static enum vq_status take_remark(struct reader *r, const struct vq_node *node, char **ret_remark)
{
    if (*ret_remark != NULL) {
        return vq_tree_wrong(node, r->name, node->key, r->err, "duplicate remark");
    }
    if (node->kind != VQ_NODE_SCALAR || strlen(node->text) > VQ_QUERY_BYTES_MAX) {
        return vq_tree_wrong(node, r->name, node->key, r->err, "a remark is a text");
    }
    if (vq_span_is_blank(vq_span_str(node->text)) || vq_node_is_null(node)) {
        return VQ_OK;
    }
    return vq_copy(node->text, &*ret_remark);
}

static enum vq_status take_list(struct reader *r, const struct vq_node *list)
{
    if (list->kind != VQ_NODE_LIST) {
        return vq_tree_wrong(list, r->name, "questions", r->err, "expected a list of texts");
    }
    for (uint32_t i = 0; i < list->items_count; i++) {
        const struct vq_node *item = list->items[i];
        char path[PATH_BYTES];
        (void)snprintf(path, sizeof(path), "questions[%u]", i);
        const char *wrong = item->kind != VQ_NODE_SCALAR || vq_node_is_null(item)
                                ? "a query is a text"
                                : fault(vq_span_str(item->text));
        if (wrong != NULL) {
            return vq_tree_wrong(item, r->name, path, r->err, "%s", wrong);
        }
        VQ_TRY(add(r, vq_span_str(item->text)));
    }
    return VQ_OK;
}

static enum vq_status take_map(struct reader *r, const struct vq_node *map)
{
    bool listed = false;
    for (uint32_t i = 0; i < map->items_count; i++) {
        const struct vq_node *item = map->items[i];
        if (strcmp(item->key, "questions") == 0 || strcmp(item->key, "queries") == 0) {
            if (listed) {
                return vq_tree_wrong(item, r->name, item->key, r->err, "a second list of queries");
            }
            listed = true;
            VQ_TRY(take_list(r, item));
        } else if (strcmp(item->key, "opening") == 0 ||
                   strcmp(item->key, "introductory_remark") == 0) {
            VQ_TRY(take_remark(r, item, &r->file.opening));
        } else if (strcmp(item->key, "closing") == 0 ||
                   strcmp(item->key, "concluding_remark") == 0) {
            VQ_TRY(take_remark(r, item, &r->file.closing));
        } else if (strcmp(item->key, "prompt") != 0) { /* the prompt that made the list */
            return vq_tree_wrong(item, r->name, "", r->err,
                                 "a list of queries has questions, opening and closing, not "
                                 "\"%.40s\"",
                                 item->key);
        }
    }
    return VQ_OK;
}

static enum vq_status read_tree(struct reader *r, struct vq_span text)
{
    struct vq_node *root;
    VQ_TRY(vq_tree_parse(text, r->name, &root, r->err));
    enum vq_status status = root->kind == VQ_NODE_MAP ? take_map(r, root) : take_list(r, root);
    vq_node_destroy(&root);
    return status;
}

enum vq_status vq_queries_file_parse(struct vq_span text, const char *name,
                                     struct vq_queries_file *ret_file, struct vq_error *err)
{
    struct reader r = {.name = name, .err = err};
    enum vq_status status = VQ_OK;
    if (vq_name_ends_with(name, ".csv")) {
        status = read_table(&r, text, VQ_TABLE_CSV);
    } else if (vq_name_ends_with(name, ".jsonl") || vq_name_ends_with(name, ".ndjson")) {
        status = read_table(&r, text, VQ_TABLE_JSONL);
    } else if (vq_name_ends_with(name, ".json") || vq_name_ends_with(name, ".yaml") ||
               vq_name_ends_with(name, ".yml")) {
        status = read_tree(&r, text);
    } else {
        status = read_lines(&r, text);
    }
    if (status == VQ_OK && r.file.count == 0) {
        status = vq_fail(err, VQ_INVALID, "%s has no queries", name);
    }
    if (status != VQ_OK) {
        vq_queries_file_free(&r.file);
        return status;
    }
    *ret_file = r.file;
    return VQ_OK;
}

void vq_queries_file_free(struct vq_queries_file *file)
{
    for (uint32_t i = 0; i < file->count; i++) {
        vq_free(file->questions[i]);
    }
    vq_free(file->questions);
    vq_free(file->opening);
    vq_free(file->closing);
    *file = (struct vq_queries_file){.count = 0};
}

void vq_remark_render(const char *remark, struct vq_span role, struct vq_buf *out)
{
    for (const char *mark; (mark = strstr(remark, VQ_ROLE_MARK)) != NULL;) {
        vq_buf_append(out, remark, (size_t)(mark - remark));
        vq_buf_append(out, role.at, role.bytes);
        remark = mark + strlen(VQ_ROLE_MARK);
    }
    vq_buf_puts(out, remark);
}
