/* Small values that the wire, the spool and the ledger share: ids and fences. */
#pragma once

#include "common/base/hash.h"
#include "common/base/index.h"

#define VQ_ID_BYTES 16

/* of a run, a worker process, or a call (8 random bytes of its worker, then a counter) */
struct vq_id {
    uint8_t b[VQ_ID_BYTES];
};

static inline bool vq_id_eq(const struct vq_id *a, const struct vq_id *b)
{
    return memcmp(a->b, b->b, VQ_ID_BYTES) == 0;
}

static inline uint64_t vq_id_hash(const struct vq_id *id) /* for a vq_index */
{
    uint64_t half[2];
    memcpy(half, id->b, sizeof(half));
    return vq_index_mix(half[0] ^ vq_index_mix(half[1]));
}

/* A fence decides which lease of a shard may start calls: the coordinator's epoch, then a counter.
 * It is independent of the tries of a task. */
struct vq_fence {
    uint64_t epoch;
    uint64_t n;
};

static inline bool vq_fence_eq(struct vq_fence a, struct vq_fence b)
{
    return a.epoch == b.epoch && a.n == b.n;
}
