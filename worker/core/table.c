/* The lookup table of calls, results, leases and samples.
 *
 * Linear probing; a removal moves later slots of the same run back, so there are no tombstones. At most two thirds full.
 * Keys come from the peer in part (shards, samples), but a flood of them is bounded by the leases a worker holds. */
#include "worker/core/table.h"

#include "common/base/alloc.h"

/* Every bit of the key reaches the low bits (splitmix64's last steps): ids differ in a counter that stands in the highest byte
 * of `lo`, from where a multiplication alone brings nothing down. */
static size_t home(const struct vq_work_table *table, struct vq_work_key128 key)
{
    uint64_t x = key.hi ^ (key.lo * UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (size_t)x & (table->cap - 1);
}

static bool same(struct vq_work_key128 a, struct vq_work_key128 b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

/* The slot of the key, or the empty one where it would go. There is always an empty one. */
static size_t find(const struct vq_work_table *table, struct vq_work_key128 key)
{
    size_t at = home(table, key);
    while (table->slots[at].value != NULL && !same(table->slots[at].key, key)) {
        at = (at + 1) & (table->cap - 1);
    }
    return at;
}

struct vq_work_key128 vq_work_key_id(const struct vq_id *id)
{
    struct vq_work_key128 key;
    memcpy(&key.hi, id->b, sizeof(key.hi));
    memcpy(&key.lo, id->b + sizeof(key.hi), sizeof(key.lo));
    return key;
}

void vq_work_table_free(struct vq_work_table *table)
{
    vq_free(table->slots);
    *table = (struct vq_work_table){0};
}

void *vq_work_table_get(const struct vq_work_table *table, struct vq_work_key128 key)
{
    return table->cap == 0 ? NULL : table->slots[find(table, key)].value;
}

static enum vq_status grow(struct vq_work_table *table)
{
    struct vq_work_table bigger = {.cap = table->cap == 0 ? 64 : table->cap * 2,
                                   .count = table->count};
    bigger.slots = vq_alloc(bigger.cap, sizeof(struct vq_work_slot));
    if (bigger.slots == NULL) {
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < table->cap; i++) {
        if (table->slots[i].value != NULL) {
            bigger.slots[find(&bigger, table->slots[i].key)] = table->slots[i];
        }
    }
    vq_free(table->slots);
    *table = bigger;
    return VQ_OK;
}

enum vq_status vq_work_table_put(struct vq_work_table *table, struct vq_work_key128 key,
                                 void *value)
{
    VQ_ASSERT(value != NULL);
    if ((table->count + 1) * 3 > table->cap * 2) {
        VQ_TRY(grow(table));
    }
    size_t at = find(table, key);
    VQ_ASSERT(table->slots[at].value == NULL);
    table->slots[at] = (struct vq_work_slot){key, value};
    table->count++;
    return VQ_OK;
}

void vq_work_table_remove(struct vq_work_table *table, struct vq_work_key128 key)
{
    if (table->cap == 0) {
        return;
    }
    size_t hole = find(table, key);
    if (table->slots[hole].value == NULL) {
        return;
    }
    table->slots[hole].value = NULL;
    table->count--;
    size_t mask = table->cap - 1;
    for (size_t at = (hole + 1) & mask; table->slots[at].value != NULL; at = (at + 1) & mask) {
        size_t want = home(table, table->slots[at].key);
        if (((at - want) & mask) >= ((at - hole) & mask)) { /* the hole lies on its way from home */
            table->slots[hole] = table->slots[at];
            table->slots[at].value = NULL;
            hole = at;
        }
    }
}
