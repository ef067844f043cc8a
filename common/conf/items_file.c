/* Reads items of data sets from tables and trees, with one reader for each field. Invariant: an
 * unknown trait or label is an error; it never counts as missing. Not its job: the personas of a
 * run. */
#include "common/conf/items_file.h"

#include "common/base/alloc.h"
#include "common/conf/json_tree.h"
#include "common/text/table.h"

enum field {
    FIELD_TEXT,
    FIELD_ID,
    FIELD_PERSONA,
    FIELD_TRAIT,
    FIELD_LABEL,
    FIELD_REFERENCE,
    FIELDS
};

#define USUAL_MAX 8

static const char *const usual[FIELDS][USUAL_MAX] = {
    [FIELD_TEXT] = {"text", "question", "prompt", "item", "instruction", "input", "rewritten_en"},
    [FIELD_ID] = {"id"},
    [FIELD_PERSONA] = {"persona", "role"},
    [FIELD_TRAIT] = {"trait", "dimension"},
    [FIELD_LABEL] = {"label"},
    [FIELD_REFERENCE] = {"reference", "generated"},
};

struct reader {
    const char *name;
    const char *asked[FIELDS]; /* the caller's names; NULL: the default names */
    struct vq_error *err;
    struct vq_items_file file;
    size_t cap;
};

/* ---- one item ---- */

static enum vq_status wrong(const struct reader *r, uint64_t line, const char *field,
                            const char *what)
{
    return vq_fail(r->err, VQ_INVALID, "%s, line %llu, %.64s: %s", r->name,
                   (unsigned long long)line, field, what);
}

static enum vq_status keep(struct vq_span text, char **ret_text)
{
    return vq_copy_bytes(text.at, text.bytes, &*ret_text);
}

static enum vq_status take_label(const struct reader *r, struct vq_conf_item *item,
                                 const char *field, struct vq_span text)
{
    bool safe = text.bytes == 4 && strncasecmp(text.at, "safe", 4) == 0;
    bool unsafe = text.bytes == 6 && strncasecmp(text.at, "unsafe", 6) == 0;
    if (!safe && !unsafe) {
        return wrong(r, item->line, field, "a label is safe or unsafe");
    }
    item->label = safe ? VQ_ITEM_SAFE : VQ_ITEM_UNSAFE;
    return VQ_OK;
}

/* Reads one field of an item; `field` is its name in the file. An empty text counts as not
 * given. */
static enum vq_status take(const struct reader *r, struct vq_conf_item *item, enum field which,
                           const char *field, struct vq_span text)
{
    text = which == FIELD_REFERENCE ? text : vq_span_trim(text);
    if (text.bytes == 0) {
        return VQ_OK;
    }
    if (text.bytes > VQ_ITEM_BYTES_MAX) {
        return wrong(r, item->line, field, "a text of more than 1 MiB");
    }
    switch (which) {
    case FIELD_TEXT: return keep(text, &item->text);
    case FIELD_ID: return keep(text, &item->id);
    case FIELD_PERSONA: return keep(text, &item->persona);
    case FIELD_REFERENCE: return keep(text, &item->reference);
    case FIELD_TRAIT:
        return vq_big_five_find(text, &item->trait)
                   ? VQ_OK
                   : wrong(r, item->line, field,
                           "a trait is openness, conscientiousness, extraversion, agreeableness or "
                           "neuroticism");
    case FIELD_LABEL: return take_label(r, item, field, text);
    case FIELDS: break;
    }
    return VQ_BUG;
}

static void free_item(struct vq_conf_item *item)
{
    vq_free(item->text);
    vq_free(item->id);
    vq_free(item->persona);
    vq_free(item->reference);
}

/* Takes ownership of the item, also on failure. */
static enum vq_status add(struct reader *r, struct vq_conf_item *item, const char *text_field)
{
    enum vq_status status = VQ_OK;
    if (item->text == NULL) {
        status = wrong(r, item->line, text_field, "an item without text");
    }
    if (status == VQ_OK) {
        status = VQ_GROW(r->file.items, &r->cap, (size_t)r->file.count + 1, VQ_ITEMS_MAX);
        if (status == VQ_LIMIT) {
            (void)vq_fail(r->err, status, "%s: more than %u items", r->name, VQ_ITEMS_MAX);
        }
        if (status == VQ_OK) {
            r->file.items[r->file.count++] = *item;
            return VQ_OK;
        }
    }
    free_item(item);
    return status;
}

/* Reads the first of a JSON list of texts. */
static enum vq_status take_first(const struct reader *r, struct vq_conf_item *item,
                                 const char *field, const struct vq_node *list)
{
    if (list->kind != VQ_NODE_LIST || list->items_count == 0 ||
        list->items[0]->kind != VQ_NODE_SCALAR) {
        return wrong(r, item->line, field, "a reference is a text, or a list of texts");
    }
    return take(r, item, FIELD_REFERENCE, field, vq_span_str(list->items[0]->text));
}

/* ---- tables ---- */

static enum vq_status find_columns(struct reader *r, const struct vq_table *table,
                                   uint32_t ret_columns[FIELDS])
{
    for (int f = 0; f < FIELDS; f++) {
        ret_columns[f] = UINT32_MAX;
        if (r->asked[f] != NULL) {
            ret_columns[f] = vq_table_column(table, vq_span_str(r->asked[f]));
            if (ret_columns[f] == UINT32_MAX) {
                return vq_fail(r->err, VQ_INVALID, "%s has no column \"%.64s\"", r->name,
                               r->asked[f]);
            }
        }
        for (int i = 0; r->asked[f] == NULL && usual[f][i] != NULL && ret_columns[f] == UINT32_MAX;
             i++) {
            ret_columns[f] = vq_table_column(table, vq_span_str(usual[f][i]));
        }
    }
    if (ret_columns[FIELD_TEXT] == UINT32_MAX) {
        return vq_fail(
            r->err, VQ_INVALID,
            "%s has no column for the text of an item (text, question, prompt ...); name it",
            r->name);
    }
    return VQ_OK;
}

static enum vq_status take_list_cell(const struct reader *r, struct vq_conf_item *item,
                                     const char *field, struct vq_span json)
{
    struct vq_node *list;
    VQ_TRY(vq_tree_parse(json, r->name, &list, r->err));
    enum vq_status status = take_first(r, item, field, list);
    vq_node_destroy(&list);
    return status;
}

static enum vq_status take_row(struct reader *r, const struct vq_table *table, uint32_t row,
                               const uint32_t columns[FIELDS])
{
    struct vq_conf_item item = {.trait = VQ_BIG_FIVE, .line = table->lines[row]};
    enum vq_status status = VQ_OK;
    char field[VQ_TABLE_NAME_BYTES_MAX + 1] = "";
    for (int f = FIELDS - 1; f >= 0 && status == VQ_OK; f--) {
        if (columns[f] == UINT32_MAX) {
            continue;
        }
        struct vq_span cell = vq_table_cell(table, row, columns[f]);
        memcpy(field, table->columns[columns[f]].at, table->columns[columns[f]].bytes);
        field[table->columns[columns[f]].bytes] = '\0';
        bool list = f == FIELD_REFERENCE && cell.bytes > 0 && cell.at[0] == '[' &&
                    vq_table_nested_line(table, columns[f]) > 0;
        status = list ? take_list_cell(r, &item, field, cell)
                      : take(r, &item, (enum field)f, field, cell);
    }
    if (status != VQ_OK) {
        free_item(&item);
        return status;
    }
    return add(r, &item, field); /* the name of the text's column, which is read last */
}

static enum vq_status read_table(struct reader *r, struct vq_span text, enum vq_table_format format)
{
    struct vq_table *table;
    uint32_t columns[FIELDS];
    VQ_TRY(vq_table_parse(text, format, r->name, &table, r->err));
    enum vq_status status = find_columns(r, table, columns);
    for (uint32_t row = 0; row < table->rows_count && status == VQ_OK; row++) {
        status = take_row(r, table, row, columns);
    }
    vq_table_destroy(&table);
    return status;
}

/* ---- trees ---- */

static const struct vq_node *field_of(const struct reader *r, const struct vq_node *map,
                                      enum field which)
{
    if (r->asked[which] != NULL) {
        return vq_node_get(map, r->asked[which]);
    }
    const struct vq_node *found = NULL;
    for (int i = 0; usual[which][i] != NULL && found == NULL; i++) {
        found = vq_node_get(map, usual[which][i]);
    }
    return found;
}

static enum vq_status take_node(struct reader *r, const struct vq_node *node)
{
    if (node->kind != VQ_NODE_MAP) {
        return vq_tree_wrong(node, r->name, "", r->err, "an item is a map with its text");
    }
    struct vq_conf_item item = {.trait = VQ_BIG_FIVE, .line = node->line};
    enum vq_status status = VQ_OK;
    for (int f = 0; f < FIELDS && status == VQ_OK; f++) {
        const struct vq_node *value = field_of(r, node, (enum field)f);
        if (value == NULL || vq_node_is_null(value)) {
            continue;
        }
        if (f == FIELD_REFERENCE && value->kind == VQ_NODE_LIST) {
            status = take_first(r, &item, value->key, value);
        } else if (value->kind != VQ_NODE_SCALAR) {
            status = wrong(r, item.line, value->key, "expected a text");
        } else {
            status = take(r, &item, (enum field)f, value->key, vq_span_str(value->text));
        }
    }
    if (status != VQ_OK) {
        free_item(&item);
        return status;
    }
    return add(r, &item, r->asked[FIELD_TEXT] == NULL ? "text" : r->asked[FIELD_TEXT]);
}

static enum vq_status read_tree(struct reader *r, struct vq_span text)
{
    struct vq_node *root;
    VQ_TRY(vq_tree_parse(text, r->name, &root, r->err));
    const struct vq_node *list = vq_node_get(root, "questions");
    list = list == NULL ? vq_node_get(root, "items") : list;
    list = list == NULL ? root : list;
    enum vq_status status = VQ_OK;
    if (list->kind == VQ_NODE_SCALAR || (list == root && root->kind == VQ_NODE_MAP)) {
        status = vq_tree_wrong(root, r->name, "", r->err,
                               "expected a list of items, or one under questions: or items:");
    }
    for (uint32_t i = 0; status == VQ_OK && i < list->items_count; i++) {
        status = take_node(r, list->items[i]);
    }
    vq_node_destroy(&root);
    return status;
}

enum vq_status vq_items_file_parse(struct vq_span text, const char *name,
                                   const struct vq_items_columns *columns,
                                   struct vq_items_file *ret_file, struct vq_error *err)
{
    struct reader r = {.name = name,
                       .asked = {columns->text, columns->id, columns->persona, columns->trait,
                                 columns->label, columns->reference},
                       .err = err};
    enum vq_status status = VQ_OK;
    if (vq_name_ends_with(name, ".json") || vq_name_ends_with(name, ".yaml") ||
        vq_name_ends_with(name, ".yml")) {
        status = read_tree(&r, text);
    } else {
        bool jsonl = vq_name_ends_with(name, ".jsonl") || vq_name_ends_with(name, ".ndjson");
        status = read_table(&r, text, jsonl ? VQ_TABLE_JSONL : VQ_TABLE_CSV);
    }
    if (status == VQ_OK && r.file.count == 0) {
        status = vq_fail(err, VQ_INVALID, "%s has no items", name);
    }
    if (status != VQ_OK) {
        vq_items_file_free(&r.file);
        return status;
    }
    *ret_file = r.file;
    return VQ_OK;
}

void vq_items_file_free(struct vq_items_file *file)
{
    for (uint32_t i = 0; i < file->count; i++) {
        free_item(&file->items[i]);
    }
    vq_free(file->items);
    *file = (struct vq_items_file){.count = 0};
}
