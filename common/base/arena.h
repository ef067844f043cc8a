/* Memory that lives and dies together: blocks and texts are taken one by one and released all at
 * once. */
#pragma once

#include "common/base/buf.h"

#define VQ_ARENA_BLOCKS_MAX     ((size_t)1 << 24)
#define VQ_ARENA_TEXT_BYTES_MAX ((size_t)16 << 20) /* one formatted text */

struct vq_arena { /* zeroed: empty */
    void **blocks;
    size_t count, cap;
    bool failed; /* something was not given */
};

/* To be asked once, after several blocks: VQ_OK, or VQ_NOMEM. */
static inline enum vq_status vq_arena_status(const struct vq_arena *arena)
{
    return arena->failed ? VQ_NOMEM : VQ_OK;
}

/* All NULL without memory; zeroed like vq_alloc. The arena owns what they return. */
void *vq_arena_alloc(struct vq_arena *arena, size_t n, size_t size) VQ_WARN_UNUSED;
void *vq_arena_copy(struct vq_arena *arena, const void *from, size_t n, size_t size) VQ_WARN_UNUSED;
char *vq_arena_text(struct vq_arena *arena, struct vq_span text) VQ_WARN_UNUSED;
char *vq_arena_printf(struct vq_arena *arena, const char *fmt, ...) VQ_PRINTF(2, 3) VQ_WARN_UNUSED;
/* The same with a status, as VQ_ALLOC of alloc.h. */
#define VQ_ARENA_ALLOC(arena, pointer, n)                                                          \
    vq_arena_alloc_at((arena), (void *)&(pointer), (n), sizeof(*(pointer)))
enum vq_status vq_arena_alloc_at(struct vq_arena *arena, void *pointer, size_t n,
                                 size_t size) VQ_WARN_UNUSED;
/* A copy of the buffer's text; the buffer is freed, also on failure: what it failed with, or
 * VQ_NOMEM. */
enum vq_status vq_arena_take(struct vq_arena *arena, struct vq_buf *buf,
                             struct vq_span *ret_text) VQ_WARN_UNUSED;
void vq_arena_clear(struct vq_arena *arena); /* releases everything */
