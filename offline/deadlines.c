/* Invariant: heap[i]->place == i + 1, and no deadline is earlier than its parent at (i - 1) / 2. */
#include "offline/deadlines.h"

#include "common/base/alloc.h"

#define DEADLINES_MAX (1u << 20)

static void put(struct vq_deadlines *heap, size_t i, struct vq_deadline *deadline)
{
    heap->heap[i] = deadline;
    deadline->place = i + 1;
}

static void rise(struct vq_deadlines *heap, size_t i)
{
    struct vq_deadline *moved = heap->heap[i];
    while (i > 0 && heap->heap[(i - 1) / 2]->at_ns > moved->at_ns) {
        put(heap, i, heap->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(heap, i, moved);
}

static void sink(struct vq_deadlines *heap, size_t i)
{
    struct vq_deadline *moved = heap->heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap->n) {
            break;
        }
        if (child + 1 < heap->n && heap->heap[child + 1]->at_ns < heap->heap[child]->at_ns) {
            child++;
        }
        if (heap->heap[child]->at_ns >= moved->at_ns) {
            break;
        }
        put(heap, i, heap->heap[child]);
        i = child;
    }
    put(heap, i, moved);
}

enum vq_status vq_deadlines_add(struct vq_deadlines *heap, struct vq_deadline *deadline,
                                int64_t at_ns)
{
    VQ_ASSERT(deadline->place == 0);
    VQ_TRY(VQ_GROW(heap->heap, &heap->cap, heap->n + 1, DEADLINES_MAX));
    deadline->at_ns = at_ns;
    heap->n++;
    put(heap, heap->n - 1, deadline);
    rise(heap, heap->n - 1);
    return VQ_OK;
}

void vq_deadlines_remove(struct vq_deadlines *heap, struct vq_deadline *deadline)
{
    if (deadline->place == 0) {
        return;
    }
    size_t i = deadline->place - 1;
    deadline->place = 0;
    struct vq_deadline *last = heap->heap[--heap->n];
    if (last != deadline) {
        put(heap, i, last);
        rise(heap, i);
        sink(heap, last->place - 1);
    }
}

struct vq_deadline *vq_deadlines_due(struct vq_deadlines *heap, int64_t now_ns)
{
    if (heap->n == 0 || heap->heap[0]->at_ns > now_ns) {
        return NULL;
    }
    struct vq_deadline *first = heap->heap[0];
    vq_deadlines_remove(heap, first);
    return first;
}

int64_t vq_deadlines_next_ns(const struct vq_deadlines *heap)
{
    return heap->n == 0 ? INT64_MAX : heap->heap[0]->at_ns;
}

void vq_deadlines_free(struct vq_deadlines *heap)
{
    vq_free(heap->heap);
    *heap = (struct vq_deadlines){0};
}
