/* For tests in which every allocation of reading a response fails in turn: a body that no room
 * holds (VQ_JSON_ROOM_BYTES), so that what matters of it lies on the heap. */
#pragma once

#include "common/base/buf.h"

#define CROWD_VALUES 250

/* The object with another member in front. The caller frees *ret_body. */
static inline void crowd(struct vq_span object, struct vq_buf *ret_body)
{
    vq_buf_init(ret_body, object.bytes + (size_t)4 * CROWD_VALUES);
    vq_buf_puts(ret_body, "{\"crowd\":[0");
    for (int i = 1; i < CROWD_VALUES; i++) {
        vq_buf_puts(ret_body, ",0");
    }
    vq_buf_puts(ret_body, "],");
    vq_buf_append(ret_body, object.at + 1, object.bytes - 1);
}
