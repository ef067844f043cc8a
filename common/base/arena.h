/* An arena: blocks and texts are allocated one by one and released all at once. */
#pragma once

#include "common/base/buf.h"

#define VQ_ARENA_BLOCKS_MAX     ((size_t)1 << 24)
#define VQ_ARENA_TEXT_BYTES_MAX ((size_t)16 << 20) /* one formatted text */

struct vq_arena { /* zeroed: empty */
    void **blocks;
    size_t count, cap;
    bool failed; /* an allocation failed */
};

/* VQ_NOMEM: an allocation failed; else VQ_OK. Check it once, after several blocks. */
static inline enum vq_status vq_arena_status(const struct vq_arena *arena)
{
    return arena->failed ? VQ_NOMEM : VQ_OK;
}

/* The arena owns the returned blocks and texts. Blocks are zeroed, as by vq_alloc. NULL: no
 * memory. */
void *vq_arena_alloc(struct vq_arena *arena, size_t n, size_t size) VQ_WARN_UNUSED;
void *vq_arena_copy(struct vq_arena *arena, const void *from, size_t n, size_t size) VQ_WARN_UNUSED;
char *vq_arena_text(struct vq_arena *arena, struct vq_span text) VQ_WARN_UNUSED;
char *vq_arena_printf(struct vq_arena *arena, const char *fmt, ...) VQ_PRINTF(2, 3) VQ_WARN_UNUSED;
/* The same with a status, as VQ_ALLOC of alloc.h. */
#define VQ_ARENA_ALLOC(arena, pointer, n)                                                          \
    vq_arena_alloc_at((arena), (void *)&(pointer), (n), sizeof(*(pointer)))
enum vq_status vq_arena_alloc_at(struct vq_arena *arena, void *pointer, size_t n,
                                 size_t size) VQ_WARN_UNUSED;
/* Copies the buffer's text into the arena and frees the buffer, also on failure. Fails with the
 * buffer's status, or VQ_NOMEM. */
enum vq_status vq_arena_take(struct vq_arena *arena, struct vq_buf *buf,
                             struct vq_span *ret_text) VQ_WARN_UNUSED;
void vq_arena_clear(struct vq_arena *arena); /* releases everything */
