/* A binary heap of points in time, embedded in their owners. */
#pragma once

#include "common/base/status.h"

struct vq_deadline {
    int64_t at_ns;
    size_t place; /* in the heap, from 1; 0: not in it */
    void *owner;
};

struct vq_deadlines {
    struct vq_deadline **heap;
    size_t n;
    size_t cap;
};

/* `deadline` must not be in the heap; its owner is set by the caller. VQ_NOMEM. */
enum vq_status vq_deadlines_add(struct vq_deadlines *heap, struct vq_deadline *deadline,
                                int64_t at_ns) VQ_WARN_UNUSED;
/* does nothing if it is not in the heap */
void vq_deadlines_remove(struct vq_deadlines *heap, struct vq_deadline *deadline);
/* Removes and returns the earliest one if it is due; else NULL. */
struct vq_deadline *vq_deadlines_due(struct vq_deadlines *heap, int64_t now_ns);
/* INT64_MAX: there is none. */
int64_t vq_deadlines_next_ns(const struct vq_deadlines *heap);
void vq_deadlines_free(struct vq_deadlines *heap);
