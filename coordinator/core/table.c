/* The hash table of the coordinator's core: chained, intrusive, grown by doubling so that chains stay near one node.
 * Not its job: owning or comparing what the nodes stand in. */
#include "coordinator/core/table.h"

#include "common/base/alloc.h"

#define BUCKETS_MIN 64u

uint64_t vq_coord_mix(uint64_t key)
{
    key ^= key >> 32;
    key *= UINT64_C(0x9fb21c651e98df25);
    key ^= key >> 29;
    key *= UINT64_C(0xd6e8feb86659fd93);
    return key ^ (key >> 32);
}

static enum vq_status grow(struct vq_coord_table *table)
{
    size_t count = table->buckets_count == 0 ? BUCKETS_MIN : table->buckets_count * 2;
    struct vq_coord_node **buckets = vq_alloc(count, sizeof(*buckets));
    if (buckets == NULL) {
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < table->buckets_count; i++) {
        struct vq_coord_node *node = table->buckets[i];
        while (node != NULL) {
            struct vq_coord_node *next = node->next;
            struct vq_coord_node **bucket = &buckets[node->hash & (count - 1)];
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

enum vq_status vq_coord_table_add(struct vq_coord_table *table, struct vq_coord_node *node,
                                  uint64_t hash)
{
    if (table->count >= table->buckets_count) {
        VQ_TRY(grow(table));
    }
    struct vq_coord_node **bucket = &table->buckets[hash & (table->buckets_count - 1)];
    node->hash = hash;
    node->next = *bucket;
    *bucket = node;
    table->count++;
    return VQ_OK;
}

void vq_coord_table_remove(struct vq_coord_table *table, struct vq_coord_node *node)
{
    struct vq_coord_node **at = &table->buckets[node->hash & (table->buckets_count - 1)];
    while (*at != node) {
        VQ_ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = node->next;
    node->next = NULL;
    table->count--;
}

struct vq_coord_node *vq_coord_table_find(const struct vq_coord_table *table, uint64_t hash)
{
    if (table->buckets_count == 0) {
        return NULL;
    }
    struct vq_coord_node *node = table->buckets[hash & (table->buckets_count - 1)];
    while (node != NULL && node->hash != hash) {
        node = node->next;
    }
    return node;
}

struct vq_coord_node *vq_coord_table_again(const struct vq_coord_node *node)
{
    struct vq_coord_node *next = node->next;
    while (next != NULL && next->hash != node->hash) {
        next = next->next;
    }
    return next;
}

void vq_coord_table_free(struct vq_coord_table *table)
{
    vq_free(table->buckets);
    *table = (struct vq_coord_table){0};
}
