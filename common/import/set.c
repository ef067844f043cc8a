/* The rows that readers fill, and the iteration over a file's records. Invariants: all pieces of a
 * row are in set->text; an added row is complete. Ownership: the set owns rows and text, and
 * borrows names. Not its job: the content of a record (read_*.c). */
#include "common/import/reader.h"

#include "common/base/alloc.h"
#include "common/text/json.h"
#include "common/text/json_load.h"
#include "common/text/json_mend.h"
#include "common/text/utf8.h"

#include <stdio.h>
#include <string.h>

const struct vq_import_format vq_import_formats[] = {
#define VQ_IMPORT_FORMAT(name, word, list, about) {word, about, list, vq_import_##name},
#include "common/import/formats.def"
#undef VQ_IMPORT_FORMAT
    {.name = NULL}};

const struct vq_import_format *vq_import_format_find(const char *name)
{
    for (const struct vq_import_format *f = vq_import_formats; f->name != NULL; f++) {
        if (strcmp(f->name, name) == 0) {
            return f;
        }
    }
    return NULL;
}

void vq_import_set_init(struct vq_import_set *set)
{
    *set = (struct vq_import_set){.rows_count = 0};
    vq_buf_init(&set->text, VQ_IMPORT_BYTES_MAX);
}

void vq_import_set_free(struct vq_import_set *set)
{
    vq_buf_free(&set->text);
    vq_free(set->rows);
    *set = (struct vq_import_set){.rows_count = 0};
}

struct vq_span vq_import_part(const struct vq_import_set *set, const struct vq_import_row *row,
                              enum vq_import_part part)
{
    return row->bytes[part] == 0 ? vq_span("", 0)
                                 : vq_span(set->text.at + row->at[part], row->bytes[part]);
}

/* ---- a row ---- */

void vq_import_begin(struct vq_import_item *item, enum vq_import_part part)
{
    item->row.at[part] = item->set->text.bytes;
}

void vq_import_end(struct vq_import_item *item, enum vq_import_part part)
{
    item->row.bytes[part] = item->set->text.bytes - item->row.at[part];
}

void vq_import_put(struct vq_import_item *item, enum vq_import_part part, const json_t *value)
{
    vq_import_begin(item, part);
    vq_shape_text(value, &item->set->text);
    vq_import_end(item, part);
}

enum vq_status vq_import_add(struct vq_import_item *item)
{
    struct vq_import_set *set = item->set;
    VQ_TRY(set->text.status);
    VQ_TRY(VQ_GROW(set->rows, &set->rows_cap, set->rows_count + 1, VQ_IMPORT_ROWS_MAX));
    set->rows[set->rows_count++] = item->row;
    return VQ_OK;
}

/* ---- a file ---- */

struct walk {
    const struct vq_import_format *format;
    struct vq_import_set *set;
    const char *name;
    uint32_t file;
    struct vq_error *err;
};

static enum vq_status take(const struct walk *w, const json_t *document, const json_t *value,
                           const char *list, uint64_t number)
{
    struct vq_import_item item = {.document = document,
                                  .value = value,
                                  .at = {.file = w->name,
                                         .list = list,
                                         .number = number,
                                         .format = w->format->name,
                                         .err = w->err},
                                  .set = w->set,
                                  .row = {.file = w->file}};
    if (!json_is_object(value)) {
        return vq_shape_fail(&item.at, value, "", "an object", NULL);
    }
    return w->format->read(&item);
}

static enum vq_status take_list(const struct walk *w, const json_t *document, const json_t *list,
                                const char *path)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        VQ_TRY(take(w, document, json_array_get(list, i), path, i));
    }
    return VQ_OK;
}

/* `what`: ", line 3" or "". */
static enum vq_status load(const struct walk *w, struct vq_span text, const char *what,
                           json_t **ret_value)
{
    if (vq_json_exceeds(text, VQ_IMPORT_DEPTH_MAX, 0)) {
        return vq_fail(w->err, VQ_LIMIT, "%s%s is nested deeper than %u", w->name, what,
                       VQ_IMPORT_DEPTH_MAX);
    }
    struct vq_json_mended counts = {.surrogates = 0};
    struct vq_buf work;
    json_error_t error;
    vq_buf_init(&work, VQ_IMPORT_BYTES_MAX);
    enum vq_status status = vq_json_mend(text, &work, &counts, &text);
    if (status == VQ_OK) {
        status = vq_json_load(text, JSON_REJECT_DUPLICATES, ret_value, &error);
        if (status == VQ_INVALID) {
            status = vq_fail(w->err, status, "%s%s, column %d: %s; it must be JSON", w->name, what,
                             error.column, error.text);
        }
    }
    vq_buf_free(&work);
    return status;
}

static enum vq_status read_lines(const struct walk *w, struct vq_span text)
{
    enum vq_status status = VQ_OK;
    for (uint64_t number = 1; text.bytes > 0 && status == VQ_OK; number++) {
        const char *lf = memchr(text.at, '\n', text.bytes);
        size_t n = lf == NULL ? text.bytes : (size_t)(lf - text.at) + 1;
        struct vq_span line = vq_span(text.at, n);
        text = vq_span(text.at + n, text.bytes - n);
        if (vq_span_trim(line).bytes == 0) {
            continue;
        }
        char what[40];
        json_t *value = NULL;
        (void)snprintf(what, sizeof(what), ", line %llu", (unsigned long long)number);
        status = load(w, line, what, &value);
        if (status == VQ_OK) {
            status = take(w, NULL, value, NULL, number);
        }
        json_decref(value);
    }
    return status;
}

/* Reads a document that has a list at a path, or is a list. */
static enum vq_status read_document(const struct walk *w, struct vq_span text)
{
    json_t *document = NULL;
    VQ_TRY(load(w, text, "", &document));
    const char *path = json_is_array(document) || w->format->list == NULL ? "" : w->format->list;
    const json_t *list = vq_shape_look(document, path);
    if (!json_is_array(list) && json_is_array(json_object_get(document, "results"))) {
        path = "results"; /* promptfoo's older form */
        list = json_object_get(document, path);
    }
    enum vq_status status;
    if (json_is_array(list)) {
        status = take_list(w, document, list, path);
    } else {
        struct vq_shape at = {
            .file = w->name, .list = "document", .format = w->format->name, .err = w->err};
        status = vq_shape_fail(&at, document, path, "a list", NULL);
    }
    json_decref(document);
    return status;
}

enum vq_status vq_import_read(const struct vq_import_format *format, struct vq_span text,
                              const char *name, struct vq_import_set *set, struct vq_error *err)
{
    if (set->files_count == VQ_IMPORT_FILES_MAX) {
        return vq_fail(err, VQ_LIMIT, "more than %u files", VQ_IMPORT_FILES_MAX);
    }
    struct walk w = {format, set, name, set->files_count, err};
    set->files[set->files_count++] = name;
    if (text.bytes >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0) {
        text = vq_span(text.at + 3, text.bytes - 3);
    }
    size_t valid = vq_utf8_valid_bytes(text), before = set->rows_count;
    if (valid < text.bytes) {
        return vq_fail(err, VQ_INVALID, "%s: the byte at offset %zu is not valid UTF-8", name,
                       valid);
    }
    struct vq_span bare = vq_span_trim(text);
    bool lines = format->list == NULL && (bare.bytes == 0 || bare.at[0] != '[');
    enum vq_status status = lines ? read_lines(&w, text) : read_document(&w, bare);
    if (status == VQ_LIMIT || status == VQ_NOMEM) {
        if (err->text[0] == '\0') {
            (void)vq_fail(err, status, "%s: %s", name,
                          status == VQ_NOMEM ? "no memory for its texts"
                                             : "too many answers or texts");
        }
        return status;
    }
    if (status == VQ_OK && set->rows_count == before) {
        return vq_fail(err, VQ_INVALID, "%s holds no records of the format %s", name, format->name);
    }
    return status;
}
