/* Counts how many times each body came. */
#pragma once

#include "common/base/hash.h"
#include "common/base/index.h"

/* remembered request bodies; every further body counts as a first try */
#define VQ_TRIES_MAX (4u << 20)

/* 1 for the first time. Up to VQ_TRIES_MAX no body is forgotten; without memory a new body counts
 * as a first try. `tries` is zeroed before its first use. */
uint64_t vq_tries_count(struct vq_index *tries, const struct vq_hash *hash);
void vq_tries_free(struct vq_index *tries);
