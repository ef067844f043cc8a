/* From a 128-bit key (a call id, or a shard or sample as {0, n}) to a pointer. Open addressing; grows, never shrinks. */
#ifndef VQ_WORKER_TABLE_H
#define VQ_WORKER_TABLE_H

#include "proto/id.h"

struct vq_work_key128 {
    uint64_t hi, lo;
};

struct vq_work_slot {
    struct vq_work_key128 key;
    void *value; /* NULL: empty */
};

struct vq_work_table {
    struct vq_work_slot *slots;
    size_t cap; /* power of two, or 0 */
    size_t count;
};

static inline struct vq_work_key128 vq_work_key_u64(uint64_t n)
{
    return (struct vq_work_key128){0, n};
}
struct vq_work_key128 vq_work_key_id(const struct vq_id *id);

/* Zeroed is empty. */
void vq_work_table_free(struct vq_work_table *table); /* not the values */
void *vq_work_table_get(const struct vq_work_table *table,
                        struct vq_work_key128 key); /* NULL: none */
/* The key is not in there. VQ_NOMEM; nothing changed then. */
enum vq_status vq_work_table_put(struct vq_work_table *table, struct vq_work_key128 key,
                                 void *value) VQ_WARN_UNUSED;
void vq_work_table_remove(struct vq_work_table *table,
                          struct vq_work_key128 key); /* none: nothing */

#endif
