/* Parses JSON with jansson. This header only declares jansson's types; a source that reads a value
 * includes jansson. */
#pragma once

#include "common/base/buf.h"

#define VQ_JSON_ROOM_BYTES 16384u

struct json_t;
struct json_error_t;

/* Parses `text` as one value; `flags` are jansson's. VQ_NOMEM; VQ_INVALID: see `error` (nullable).
 * The caller first checks depth and number of values (vq_json_exceeds). The caller owns *ret_value
 * (json_decref). */
enum vq_status vq_json_load(struct vq_span text, size_t flags, struct json_t **ret_value,
                            struct json_error_t *error) VQ_WARN_UNUSED;

/* Memory on the caller's stack for a small value that is dropped soon. It saves about 60 heap
 * blocks for a short response. */
struct vq_json_room {
    size_t used; /* 0 at first */
    _Alignas(16) char bytes[VQ_JSON_ROOM_BYTES];
};

/* As vq_json_load. Values are allocated in `room` until it is full, then on the heap. The caller
 * must drop them before the room goes out of scope. `room` NULL: all on the heap. */
enum vq_status vq_json_load_in(struct vq_json_room *room, struct vq_span text, size_t flags,
                               struct json_t **ret_value,
                               struct json_error_t *error) VQ_WARN_UNUSED;

/* Appends an object or an array to `out` as compact JSON. VQ_NOMEM, VQ_LIMIT (of `out`). */
enum vq_status vq_json_dump(const struct json_t *value, struct vq_buf *out) VQ_WARN_UNUSED;
