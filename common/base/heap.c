/* Invariant: nodes[i]->place == i + 1 for every i, and no node sorts before its parent. The heap
 * owns only its array. */
#include "common/base/heap.h"

#include "common/base/alloc.h"

static bool before(const struct vq_heap_node *a, const struct vq_heap_node *b)
{
    return a->first != b->first ? a->first < b->first : a->second < b->second;
}

static void put(struct vq_heap *heap, size_t at, struct vq_heap_node *node)
{
    heap->nodes[at] = node;
    node->place = at + 1;
}

static void sift_up(struct vq_heap *heap, size_t at, struct vq_heap_node *node)
{
    while (at > 0 && before(node, heap->nodes[(at - 1) / 2])) {
        put(heap, at, heap->nodes[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(heap, at, node);
}

static void sift_down(struct vq_heap *heap, size_t at, struct vq_heap_node *node)
{
    for (size_t child = 2 * at + 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && before(heap->nodes[child + 1], heap->nodes[child])) {
            child++;
        }
        if (!before(heap->nodes[child], node)) {
            break;
        }
        put(heap, at, heap->nodes[child]);
        at = child;
    }
    put(heap, at, node);
}

void vq_heap_free(struct vq_heap *heap)
{
    vq_free(heap->nodes);
    *heap = (struct vq_heap){0};
}

enum vq_status vq_heap_reserve(struct vq_heap *heap, size_t count, size_t max)
{
    return VQ_GROW(heap->nodes, &heap->cap, count, max);
}

void vq_heap_push(struct vq_heap *heap, struct vq_heap_node *node)
{
    VQ_ASSERT(heap->count < heap->cap && node->place == 0);
    heap->count++;
    sift_up(heap, heap->count - 1, node);
}

struct vq_heap_node *vq_heap_peek(const struct vq_heap *heap)
{
    return heap->count == 0 ? NULL : heap->nodes[0];
}

void vq_heap_remove(struct vq_heap *heap, struct vq_heap_node *node)
{
    VQ_ASSERT(node->place > 0 && node->place <= heap->count);
    VQ_ASSERT(heap->nodes[node->place - 1] == node);
    size_t at = node->place - 1;
    struct vq_heap_node *last = heap->nodes[--heap->count];
    node->place = 0;
    if (last == node) {
        return;
    }
    if (at > 0 && before(last, heap->nodes[(at - 1) / 2])) {
        sift_up(heap, at, last);
    } else {
        sift_down(heap, at, last);
    }
}
