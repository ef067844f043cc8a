/* Reads values of JSON that other programs wrote, and reports unexpected values: file, place,
 * field, expected, found. */
#pragma once

#include "common/base/buf.h"

struct json_t;

/* Where a value is: "FILE, line 3" or "FILE, request_states[2]". */
struct vq_shape {
    const char *file;
    /* the path of the list in its document; NULL: `number` counts lines; "": the document is the
     * list */
    const char *list;
    uint64_t number;
    const char *format; /* its name, for the advice in errors */
    struct vq_error *err;
};

enum vq_shape_kind {
    VQ_A_TEXT = 1 << 0, /* a string */
    VQ_A_LIST = 1 << 1,
    VQ_A_OBJECT = 1 << 2,
    VQ_A_NUMBER = 1 << 3,
    VQ_A_NULL = 1 << 4,
};

/* The value at `path` ("choices.0.turns": keys and numbers of elements), or NULL. */
const struct json_t *vq_shape_look(const struct json_t *from, const char *path);

/* The same, for a value of one of `kinds`. VQ_INVALID: the error calls the wanted value
 * `expected`. */
enum vq_status vq_shape_need(const struct vq_shape *at, const struct json_t *from, const char *path,
                             unsigned kinds, const char *expected,
                             const struct json_t **ret_value) VQ_WARN_UNUSED;

/* Returns VQ_INVALID. The error names `path`, `expected` and the found value: `found`, or if NULL
 * the kind of the value. */
enum vq_status vq_shape_fail(const struct vq_shape *at, const struct json_t *from, const char *path,
                             const char *expected, const char *found) VQ_WARN_UNUSED;

/* Appends a value as text: a string literally; a number or boolean as in JSON; all texts of a list
 * of content parts ({"text": ...} or strings); another object or list as JSON; nothing for null and
 * NULL. A failure sets out->status. */
void vq_shape_text(const struct json_t *value, struct vq_buf *out);
