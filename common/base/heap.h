/* A binary min-heap of nodes that are embedded in their owners, so that any node can be removed.
 * Ordered by (first, second). */
#pragma once

#include "common/base/status.h"

struct vq_heap_node { /* zeroed: in no heap */
    int64_t first;
    uint64_t second;
    size_t place; /* in the heap, from 1; 0: in none */
};

struct vq_heap {
    struct vq_heap_node **nodes; /* borrowed nodes, owned array */
    size_t count, cap;
};

/* Zeroed is empty. */
void vq_heap_free(struct vq_heap *heap);
/* Room for `count` nodes, so that pushes up to it cannot fail. VQ_NOMEM; VQ_LIMIT: above `max`. */
enum vq_status vq_heap_reserve(struct vq_heap *heap, size_t count, size_t max) VQ_WARN_UNUSED;
void vq_heap_push(struct vq_heap *heap, struct vq_heap_node *node);   /* room was reserved */
struct vq_heap_node *vq_heap_peek(const struct vq_heap *heap);        /* NULL: empty */
void vq_heap_remove(struct vq_heap *heap, struct vq_heap_node *node); /* it is in there */
