/* Advice about failed calls (hints.def): the key of the configuration to set. */
#pragma once

#include "proto/messages.h"

struct vq_hint {
    int end; /* enum vq_call_end; -1: all */
    uint32_t status_min, status_max;
    const char *text;
    const char *advice; /* sentences, the last one without its full stop */
};

/* The table, in its order. */
const struct vq_hint *vq_hints(size_t *ret_count);

/* The advice of the first row that matches; NULL: none. `error` is the error text of the call
 * record; for an answer without a verdict, the name of its outcome ("truncated"). */
const char *vq_hint_of(enum vq_call_end end, uint32_t http_status, struct vq_span error);
