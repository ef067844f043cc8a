/* Counts how many times each body came: a counting table by hash. */
#pragma once

#include "common/base/hash.h"

/* remembered request bodies; every further body counts as a first try */
#define VQ_TRIES_MAX (4u << 20)

struct vq_tries {
    struct vq_tries_slot *slots;
    size_t cap; /* 0 or a power of two */
    size_t n;
};

/* 1 for the first time. Up to VQ_TRIES_MAX no body is forgotten; without memory a new body counts
 * as a first try. */
uint64_t vq_tries_count(struct vq_tries *tries, const struct vq_hash *hash);
void vq_tries_free(struct vq_tries *tries);
