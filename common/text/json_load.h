/* JSON in, through jansson. Its own types are named, not included: who looks into a value includes
 * jansson. */
#pragma once

#include "common/base/buf.h"

#define VQ_JSON_ROOM_BYTES 16384u

struct json_t;
struct json_error_t;

/* One value of `text`; `flags` are jansson's. VQ_NOMEM; VQ_INVALID, and then `error` (nullable)
 * says what is wrong. Depth and number of values are the caller's to bound first (vq_json_exceeds).
 * The caller owns *ret_value (json_decref). */
enum vq_status vq_json_load(struct vq_span text, size_t flags, struct json_t **ret_value,
                            struct json_error_t *error) VQ_WARN_UNUSED;

/* Memory for a value that is small and soon dropped, on its owner's stack: of a short response 60
 * blocks less on the heap. */
struct vq_json_room {
    size_t used; /* 0 at first */
    _Alignas(16) char bytes[VQ_JSON_ROOM_BYTES];
};

/* As vq_json_load; the value, and all that is read into the room later, lies in it as far as it
 * goes, and is dropped before the room ends. NULL: no room. */
enum vq_status vq_json_load_in(struct vq_json_room *room, struct vq_span text, size_t flags,
                               struct json_t **ret_value,
                               struct json_error_t *error) VQ_WARN_UNUSED;

/* An object or an array, compact, behind what `out` holds. VQ_NOMEM, VQ_LIMIT (of `out`). */
enum vq_status vq_json_dump(const struct json_t *value, struct vq_buf *out) VQ_WARN_UNUSED;
