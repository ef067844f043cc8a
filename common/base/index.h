/* An intrusive hash table: each item contains its node. It uses chaining and grows by doubling. The
 * owner of the items compares their keys. */
#pragma once

#include "common/base/list.h"
#include "common/base/status.h"

struct vq_index_node {
    struct vq_index_node *next;
    uint64_t hash;
};

struct vq_index {
    struct vq_index_node **buckets; /* their number is a power of two; or NULL */
    size_t buckets_count;
    size_t count;
};

/* spreads a key over all 64 bits; a bijection, so distinct keys have distinct results */
uint64_t vq_index_mix(uint64_t key);

/* VQ_NOMEM: unchanged. The node must not be in a table. */
enum vq_status vq_index_add(struct vq_index *table, struct vq_index_node *node,
                            uint64_t hash) VQ_WARN_UNUSED;
void vq_index_remove(struct vq_index *table, struct vq_index_node *node);
/* Iterates over the nodes of this hash; NULL at the end. */
struct vq_index_node *vq_index_find(const struct vq_index *table, uint64_t hash);
struct vq_index_node *vq_index_again(const struct vq_index_node *node);
void vq_index_free(struct vq_index *table); /* the buckets, not the nodes */
