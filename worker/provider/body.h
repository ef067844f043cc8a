/* Private to this folder: JSON bodies of responses, read within bounds. Includes jansson: for .c
 * files only. */
#pragma once

#include "common/base/buf.h"
#include "common/judge/vectors.h"
#include "common/text/json_load.h"

#include <jansson.h>

#define VQ_BODY_DEPTH_MAX  32
#define VQ_BODY_VALUES_MAX 100000 /* bounds the memory for a hostile body of brackets */
#define VQ_BODY_VECTOR_VALUES_MAX                                                                  \
    (VQ_EMBED_BATCH_MAX * VQ_VECTORS_DIMS_MAX + 10000) /* of a body with vectors */

/* Parses a body. Numbers are read as reals; the last of equal keys counts. If a body is not quite
 * JSON, it is repaired and parsed once more: lone surrogates and bytes that are not UTF-8 become
 * U+FFFD; bare control characters in strings are escaped, and so is a backslash that begins no
 * escape; NaN and Infinity become null. So a mistake of the server's encoder does not lose a paid
 * answer. VQ_INVALID, VQ_LIMIT (depth, values), VQ_NOMEM. The caller owns *ret_root (json_decref);
 * it must not live longer than the room. */
enum vq_status vq_body_load(struct vq_span body, size_t values_max, struct vq_json_room *room,
                            json_t **ret_root) VQ_WARN_UNUSED;

/* Members of an object. If `object` is not an object or the member is of another kind: NULL, empty,
 * or `otherwise`. Spans live as long as the object. */
json_t *vq_body_get(const json_t *object, const char *key);
struct vq_span vq_body_get_string(const json_t *object, const char *key);
int64_t vq_body_get_count(const json_t *object, const char *key, int64_t otherwise);
