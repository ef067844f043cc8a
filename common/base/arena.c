/* A list of blocks. Invariant: every block in the list was allocated by vq_alloc or vq_buf and is
 * released exactly once, by vq_arena_clear. Not its job: reuse of memory, alignment beyond that of
 * vq_alloc. */
#include "common/base/arena.h"

#include "common/base/alloc.h"

#include <stdio.h>

/* Takes ownership of the block, also on failure. */
static void *keep(struct vq_arena *arena, void *block)
{
    if (block == NULL ||
        VQ_GROW(arena->blocks, &arena->cap, arena->count + 1, VQ_ARENA_BLOCKS_MAX) != VQ_OK) {
        vq_free(block);
        arena->failed = true;
        return NULL;
    }
    arena->blocks[arena->count++] = block;
    return block;
}

void *vq_arena_alloc(struct vq_arena *arena, size_t n, size_t size)
{
    return keep(arena, vq_alloc(n, size));
}

enum vq_status vq_arena_alloc_at(struct vq_arena *arena, void *pointer, size_t n, size_t size)
{
    void *block = vq_arena_alloc(arena, n, size);
    memcpy(pointer, &block, sizeof(block));
    return block == NULL ? VQ_NOMEM : VQ_OK;
}

void *vq_arena_copy(struct vq_arena *arena, const void *from, size_t n, size_t size)
{
    void *to = vq_arena_alloc(arena, n, size);
    if (to != NULL && n * size > 0) {
        memcpy(to, from, n * size);
    }
    return to;
}

char *vq_arena_text(struct vq_arena *arena, struct vq_span text)
{
    return keep(arena, vq_strndup(text.at == NULL ? "" : text.at, text.bytes));
}

char *vq_arena_printf(struct vq_arena *arena, const char *fmt, ...)
{
    va_list list, again;
    va_start(list, fmt);
    va_copy(again, list);
    int bytes = vsnprintf(NULL, 0, fmt, list);
    va_end(list);
    char *text = NULL;
    if (bytes >= 0 && (size_t)bytes < VQ_ARENA_TEXT_BYTES_MAX) {
        text = vq_arena_alloc(arena, (size_t)bytes + 1, 1);
    }
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)bytes + 1, fmt, again);
    }
    va_end(again);
    return text;
}

enum vq_status vq_arena_take(struct vq_arena *arena, struct vq_buf *buf, struct vq_span *ret_text)
{
    enum vq_status status = buf->status;
    if (status == VQ_OK) {
        size_t bytes = buf->bytes;
        const char *text = vq_arena_text(arena, vq_buf_span(buf));
        if (text != NULL) {
            *ret_text = vq_span(text, bytes);
        } else {
            status = VQ_NOMEM;
        }
    }
    vq_buf_free(buf);
    return status;
}

void vq_arena_clear(struct vq_arena *arena)
{
    for (size_t i = 0; i < arena->count; i++) {
        vq_free(arena->blocks[i]);
    }
    vq_free(arena->blocks);
    *arena = (struct vq_arena){0};
}
