/* The parts of the loop for the other sources of this folder. Private, because it includes
 * libuv. */
#pragma once

#include "common/net/loop.h"

#include <uv.h>

/* A source that is read in step 2 and whose wake-ups are not reliable (a ZeroMQ socket). A member
 * of its owner. */
struct vq_source {
    /* checked before sleep: whether there is something to read or write */
    bool (*ready)(void *ctx);
    void (*drain)(void *ctx);
    void *ctx;
    struct vq_link link;
};

uv_loop_t *vq_loop_uv(struct vq_loop *loop);
void vq_loop_add_source(struct vq_loop *loop, struct vq_source *source);
void vq_loop_remove_source(struct vq_loop *loop, struct vq_source *source);
