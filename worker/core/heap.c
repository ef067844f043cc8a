/* The heap of asks, ordered by their place in a queue or by the time before which they must not be
 * sent.
 *
 * Invariant: nodes[i]->at == i for every i, and no node sorts before its parent. The heap owns only
 * its array. */
#include "worker/core/heap.h"

#include "common/base/alloc.h"
#include "worker/core/limits.h"

static bool before(const struct vq_work_node *a, const struct vq_work_node *b)
{
    return a->first != b->first ? a->first < b->first : a->second < b->second;
}

static void place(struct vq_work_heap *heap, size_t at, struct vq_work_node *node)
{
    heap->nodes[at] = node;
    node->at = at;
}

static void sift_up(struct vq_work_heap *heap, size_t at, struct vq_work_node *node)
{
    while (at > 0 && before(node, heap->nodes[(at - 1) / 2])) {
        place(heap, at, heap->nodes[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(heap, at, node);
}

static void sift_down(struct vq_work_heap *heap, size_t at, struct vq_work_node *node)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count && before(heap->nodes[child + 1], heap->nodes[child])) {
            child++;
        }
        if (!before(heap->nodes[child], node)) {
            break;
        }
        place(heap, at, heap->nodes[child]);
        at = child;
    }
    place(heap, at, node);
}

void vq_work_heap_free(struct vq_work_heap *heap)
{
    vq_free(heap->nodes);
    *heap = (struct vq_work_heap){0};
}

enum vq_status vq_work_heap_reserve(struct vq_work_heap *heap, size_t count)
{
    VQ_TRY(VQ_GROW(heap->nodes, &heap->cap, count, VQ_WORK_ASKS_MAX * 2u));
    return VQ_OK;
}

void vq_work_heap_push(struct vq_work_heap *heap, struct vq_work_node *node)
{
    VQ_ASSERT(heap->count < heap->cap && node->at == VQ_WORK_HEAP_NOWHERE);
    heap->count++;
    sift_up(heap, heap->count - 1, node);
}

struct vq_work_node *vq_work_heap_peek(const struct vq_work_heap *heap)
{
    return heap->count == 0 ? NULL : heap->nodes[0];
}

void vq_work_heap_remove(struct vq_work_heap *heap, struct vq_work_node *node)
{
    VQ_ASSERT(node->at < heap->count && heap->nodes[node->at] == node);
    size_t at = node->at;
    struct vq_work_node *last = heap->nodes[--heap->count];
    node->at = VQ_WORK_HEAP_NOWHERE;
    if (last == node) {
        return;
    }
    if (at > 0 && before(last, heap->nodes[(at - 1) / 2])) {
        sift_up(heap, at, last);
    } else {
        sift_down(heap, at, last);
    }
}
