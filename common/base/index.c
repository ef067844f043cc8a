/* Chained hashing. Invariant: there are at most as many items as buckets, because the table doubles
 * before. Not its job: owning or comparing the items. */
#include "common/base/index.h"

#include "common/base/alloc.h"

#define BUCKETS_MIN 64u

uint64_t vq_index_mix(uint64_t key)
{
    key ^= key >> 32;
    key *= UINT64_C(0x9fb21c651e98df25);
    key ^= key >> 29;
    key *= UINT64_C(0xd6e8feb86659fd93);
    return key ^ (key >> 32);
}

static enum vq_status grow(struct vq_index *table)
{
    size_t count = table->buckets_count == 0 ? BUCKETS_MIN : table->buckets_count * 2;
    struct vq_index_node **buckets;
    VQ_TRY(VQ_ALLOC(buckets, count));
    for (size_t i = 0; i < table->buckets_count; i++) {
        struct vq_index_node *node = table->buckets[i];
        while (node != NULL) {
            struct vq_index_node *next = node->next;
            struct vq_index_node **bucket = &buckets[node->hash & (count - 1)];
            node->next = *bucket;
            *bucket = node;
            node = next;
        }
    }
    vq_free(table->buckets);
    table->buckets = buckets;
    table->buckets_count = count;
    return VQ_OK;
}

enum vq_status vq_index_add(struct vq_index *table, struct vq_index_node *node, uint64_t hash)
{
    if (table->count >= table->buckets_count) {
        VQ_TRY(grow(table));
    }
    struct vq_index_node **bucket = &table->buckets[hash & (table->buckets_count - 1)];
    node->hash = hash;
    node->next = *bucket;
    *bucket = node;
    table->count++;
    return VQ_OK;
}

void vq_index_remove(struct vq_index *table, struct vq_index_node *node)
{
    struct vq_index_node **at = &table->buckets[node->hash & (table->buckets_count - 1)];
    while (*at != node) {
        VQ_ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = node->next;
    node->next = NULL;
    table->count--;
}

struct vq_index_node *vq_index_find(const struct vq_index *table, uint64_t hash)
{
    if (table->buckets_count == 0) {
        return NULL;
    }
    struct vq_index_node *node = table->buckets[hash & (table->buckets_count - 1)];
    while (node != NULL && node->hash != hash) {
        node = node->next;
    }
    return node;
}

struct vq_index_node *vq_index_again(const struct vq_index_node *node)
{
    struct vq_index_node *next = node->next;
    while (next != NULL && next->hash != node->hash) {
        next = next->next;
    }
    return next;
}

void vq_index_free(struct vq_index *table)
{
    vq_free(table->buckets);
    *table = (struct vq_index){0};
}
