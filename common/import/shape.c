/* Paths and kinds of JSON values, and the errors about them. Pure; owns nothing. Not its job: the
 * content of a format (read_*.c). */
#include "common/import/shape.h"

#include "common/text/json_load.h"
#include "common/text/utf8.h"

#include <jansson.h>
#include <stdio.h>

#define SEGMENT_BYTES 64
#define KEYS_SHOWN    8
#define KEY_SHOWN     40
#define FOUND_BYTES   400

/* Takes one step and moves *path after it. */
static const json_t *step(const json_t *from, const char **path)
{
    char segment[SEGMENT_BYTES];
    size_t n = strcspn(*path, ".");
    VQ_ASSERT(n > 0 && n < sizeof(segment)); /* paths are constants of vibeq */
    memcpy(segment, *path, n);
    segment[n] = '\0';
    *path += n + ((*path)[n] == '.');
    if (json_is_array(from) && segment[0] >= '0' && segment[0] <= '9') {
        return json_array_get(from, (size_t)(segment[0] - '0'));
    }
    return json_object_get(from, segment);
}

const json_t *vq_shape_look(const json_t *from, const char *path)
{
    while (from != NULL && *path != '\0') {
        from = step(from, &path);
    }
    return from;
}

static unsigned kind_of(const json_t *value)
{
    if (value == NULL) {
        return 0;
    }
    switch (json_typeof(value)) {
    case JSON_STRING: return VQ_A_TEXT;
    case JSON_ARRAY: return VQ_A_LIST;
    case JSON_OBJECT: return VQ_A_OBJECT;
    case JSON_INTEGER:
    case JSON_REAL: return VQ_A_NUMBER;
    case JSON_NULL: return VQ_A_NULL;
    case JSON_TRUE:
    case JSON_FALSE: return 0;
    }
    return 0;
}

static void put_keys(struct vq_buf *out, const json_t *object)
{
    const char *key;
    json_t *value;
    size_t n = 0;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (n == KEYS_SHOWN) {
            vq_buf_puts(out, ", ...");
            break;
        }
        struct vq_span s = vq_utf8_cut(vq_span_str(key), KEY_SHOWN);
        vq_buf_printf(out, "%s%.*s", n++ == 0 ? "" : ", ", (int)s.bytes, s.at);
    }
    if (n == 0) {
        vq_buf_puts(out, "none");
    }
}

/* Describes the found value at the path, or the part of the path that exists. */
static void put_found(struct vq_buf *out, const json_t *from, const char *path)
{
    const json_t *last = from;
    while (from != NULL && *path != '\0') {
        last = from;
        from = step(from, &path);
    }
    if (from != NULL) {
        switch (json_typeof(from)) {
        case JSON_STRING: vq_buf_puts(out, "a text"); return;
        case JSON_ARRAY: vq_buf_printf(out, "a list of %zu", json_array_size(from)); return;
        case JSON_OBJECT:
            vq_buf_puts(out, "an object with the keys ");
            put_keys(out, from);
            return;
        case JSON_INTEGER:
        case JSON_REAL: vq_buf_puts(out, "a number"); return;
        case JSON_TRUE:
        case JSON_FALSE: vq_buf_puts(out, "true or false"); return;
        case JSON_NULL: vq_buf_puts(out, "null"); return;
        }
    }
    if (json_is_object(last)) {
        vq_buf_puts(out, "nothing; the keys there are ");
        put_keys(out, last);
    } else if (json_is_array(last)) {
        vq_buf_printf(out, "nothing, in a list of %zu", json_array_size(last));
    } else {
        vq_buf_puts(out, "nothing");
    }
}

enum vq_status vq_shape_fail(const struct vq_shape *at, const json_t *from, const char *path,
                             const char *expected, const char *found)
{
    char place[SEGMENT_BYTES + 32] = "";
    if (at->list == NULL) {
        (void)snprintf(place, sizeof(place), ", line %llu", (unsigned long long)at->number);
    } else {
        (void)snprintf(place, sizeof(place), ", %s[%llu]",
                       at->list[0] == '\0' ? "record" : at->list, (unsigned long long)at->number);
    }
    struct vq_buf is;
    vq_buf_init(&is, FOUND_BYTES);
    if (found != NULL) {
        vq_buf_puts(&is, found);
    } else {
        put_found(&is, from, path);
    }
    enum vq_status status = vq_fail(
        at->err, VQ_INVALID,
        "%.200s%s%s%s: expected %s, found %s. docs/use/import.md shows the format %s", at->file,
        place, path[0] == '\0' ? "" : ", ", path, expected, is.at == NULL ? "" : is.at, at->format);
    vq_buf_free(&is);
    return status;
}

enum vq_status vq_shape_need(const struct vq_shape *at, const json_t *from, const char *path,
                             unsigned kinds, const char *expected, const json_t **ret_value)
{
    const json_t *value = vq_shape_look(from, path);
    if ((kind_of(value) & kinds) == 0) {
        return vq_shape_fail(at, from, path, expected, NULL);
    }
    *ret_value = value;
    return VQ_OK;
}

static void put_parts(const json_t *list, struct vq_buf *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *part = json_array_get(list, i);
        const json_t *text = json_is_string(part) ? part : json_object_get(part, "text");
        if (json_is_string(text)) {
            vq_buf_append(out, json_string_value(text), json_string_length(text));
        }
    }
}

static bool has_texts(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *part = json_array_get(list, i);
        if (json_is_string(part) || json_is_string(json_object_get(part, "text"))) {
            return true;
        }
    }
    return json_array_size(list) == 0;
}

void vq_shape_text(const json_t *value, struct vq_buf *out)
{
    if (value == NULL) {
        return;
    }
    switch (json_typeof(value)) {
    case JSON_STRING:
        vq_buf_append(out, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER: vq_buf_printf(out, "%lld", (long long)json_integer_value(value)); break;
    case JSON_REAL: vq_buf_printf(out, "%.15g", json_real_value(value)); break;
    case JSON_TRUE: vq_buf_puts(out, "true"); break;
    case JSON_FALSE: vq_buf_puts(out, "false"); break;
    case JSON_NULL: break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        if (json_is_array(value) && has_texts(value)) {
            put_parts(value, out);
        } else if (vq_json_dump(value, out) == VQ_NOMEM && out->status == VQ_OK) {
            out->status = VQ_NOMEM;
        }
        break;
    }
}
