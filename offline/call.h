/* One HTTP request, as the service gets it. All of it is borrowed for the duration of the call. */
#pragma once

#include "common/base/buf.h"

/* Longer bodies get the answer 413. */
#define VQ_CALL_BODY_BYTES_MAX       (32u << 20)
#define VQ_CALL_BATCH_BODY_BYTES_MAX (288u << 20) /* of a batch or an upload */

struct vq_call {
    const char *method;
    const char *path;
    /* the header that has the key in this path's dialect; NULL: none. It is read, but not stored */
    const char *authorization;
    const char *api_version; /* of the query; NULL: none */
    const char *client_id;   /* X-Client-Request-Id; NULL: none */
    struct vq_span body;
    bool too_large; /* the body was longer than the limit, and dropped */
    /* Other headers and fields of the query; NULL: there is none of this name. Both function
     * pointers may be NULL. */
    const char *(*header)(const void *peer, const char *name);
    const char *(*query)(const void *peer, const char *name);
    const void *peer;
};

static inline const char *vq_call_header(const struct vq_call *call, const char *name)
{
    return call->header == NULL ? NULL : call->header(call->peer, name);
}

static inline const char *vq_call_query(const struct vq_call *call, const char *name)
{
    return call->query == NULL ? NULL : call->query(call->peer, name);
}
