/* What the other sources of this folder need of the loop. Private: it shows libuv. */
#pragma once

#include "common/net/loop.h"

#include <uv.h>

/* Something that is read in step 2 and whose wake-ups cannot be trusted alone (a ZeroMQ socket).
 * Lives in its owner. */
struct vq_source {
    bool (*ready)(void *ctx); /* asked before sleep: is there something to read or write? */
    void (*drain)(void *ctx);
    void *ctx;
    struct vq_source *next;
    struct vq_source *prev;
};

uv_loop_t *vq_loop_uv(struct vq_loop *loop);
void vq_loop_add_source(struct vq_loop *loop, struct vq_source *source);
void vq_loop_remove_source(struct vq_loop *loop, struct vq_source *source);
