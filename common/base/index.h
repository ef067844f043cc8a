/* A hash table through a member of the items: chained, grown by doubling. The owner of the items
 * compares their keys. */
#pragma once

#include "common/base/list.h"
#include "common/base/status.h"

struct vq_index_node {
    struct vq_index_node *next;
    uint64_t hash;
};

struct vq_index {
    struct vq_index_node **buckets; /* a power of two of them, or NULL */
    size_t buckets_count;
    size_t count;
};

uint64_t
vq_index_mix(uint64_t key); /* spreads a key over all 64 bits; a bijection: no two keys meet */

/* VQ_NOMEM: unchanged. The node must not be in a table. */
enum vq_status vq_index_add(struct vq_index *table, struct vq_index_node *node,
                            uint64_t hash) VQ_WARN_UNUSED;
void vq_index_remove(struct vq_index *table, struct vq_index_node *node);
/* The nodes of this hash, one after another; NULL at the end. */
struct vq_index_node *vq_index_find(const struct vq_index *table, uint64_t hash);
struct vq_index_node *vq_index_again(const struct vq_index_node *node);
void vq_index_free(struct vq_index *table); /* the buckets, not the nodes */
