/* Numbers distinct byte strings 0, 1, 2 ... in the order they first appear: column names,
 * questions, labels. */
#pragma once

#include "common/base/buf.h"

#define VQ_INTERN_NONE UINT32_MAX

struct vq_intern {
    struct vq_span *keys; /* by id; borrowed bytes, which must outlive the table */
    uint32_t count;
    uint32_t *slots; /* id + 1, or 0: free; their number is a power of two */
    size_t slots_count;
    size_t keys_cap;
};

/* A zeroed struct is an empty table, too. */
void vq_intern_init(struct vq_intern *intern);
void vq_intern_free(struct vq_intern *intern);

/* The id of `key`; a new id if `key` is new. VQ_NOMEM, VQ_LIMIT above 2^31 keys. */
enum vq_status vq_intern_add(struct vq_intern *intern, struct vq_span key,
                             uint32_t *ret_id) VQ_WARN_UNUSED;
/* The id of `key`, or VQ_INTERN_NONE. */
uint32_t vq_intern_find(const struct vq_intern *intern, struct vq_span key);

/* The known name that is nearest to a mistyped one, for messages: the least edit distance, with a
 * swap of two letters as one edit, without ASCII case. The distance is at most 1 or a third of the
 * longer name, unless one name is the beginning of the other. VQ_INTERN_NONE: no name is near.
 * Names above 64 bytes are never near. */
uint32_t vq_nearest_name(struct vq_span name, const struct vq_span *names, uint32_t names_count);
