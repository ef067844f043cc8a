/* A binary min-heap of nodes that are embedded in their owners, so that any node can be removed.
 * Ordered by (first, second). */
#pragma once

#include "common/base/status.h"

#define VQ_WORK_HEAP_NOWHERE SIZE_MAX

struct vq_work_node {
    int64_t first;
    uint64_t second;
    size_t at; /* place in the heap; VQ_WORK_HEAP_NOWHERE: in none */
};

struct vq_work_heap {
    struct vq_work_node **nodes; /* borrowed nodes, owned array */
    size_t count, cap;
};

/* Zeroed is empty. */
void vq_work_heap_free(struct vq_work_heap *heap);
/* Room for `count` nodes, so that pushes up to it cannot fail. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_work_heap_reserve(struct vq_work_heap *heap, size_t count) VQ_WARN_UNUSED;
void vq_work_heap_push(struct vq_work_heap *heap,
                       struct vq_work_node *node);                       /* room was reserved */
struct vq_work_node *vq_work_heap_peek(const struct vq_work_heap *heap); /* NULL: empty */
void vq_work_heap_remove(struct vq_work_heap *heap, struct vq_work_node *node); /* it is in there */
