/* A table by the hash's first eight bytes. It owns its nodes. */
#include "offline/tries.h"

#include "common/base/alloc.h"

struct vq_try {
    struct vq_index_node node;
    uint64_t count;
};

uint64_t vq_tries_count(struct vq_index *tries, const struct vq_hash *hash)
{
    uint64_t key = vq_hash_u64(hash);
    struct vq_index_node *node = vq_index_find(tries, key);
    if (node != NULL) {
        return ++VQ_CONTAINER_OF(node, struct vq_try, node)->count;
    }
    struct vq_try *fresh = tries->count < VQ_TRIES_MAX ? vq_alloc(1, sizeof(*fresh)) : NULL;
    if (fresh != NULL && vq_index_add(tries, &fresh->node, key) == VQ_OK) {
        fresh->count = 1;
    } else {
        vq_free(fresh);
    }
    return 1;
}

void vq_tries_free(struct vq_index *tries)
{
    for (size_t i = 0; i < tries->buckets_count; i++) {
        while (tries->buckets[i] != NULL) {
            struct vq_index_node *node = tries->buckets[i];
            vq_index_remove(tries, node);
            vq_free(VQ_CONTAINER_OF(node, struct vq_try, node));
        }
    }
    vq_index_free(tries);
}
