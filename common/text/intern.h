/* Numbers distinct byte strings 0, 1, 2 ... in the order they first appear: column names,
 * questions, labels. */
#pragma once

#include "common/base/buf.h"

#define VQ_INTERN_NONE UINT32_MAX

struct vq_intern {
    struct vq_span *keys; /* by id; borrowed bytes, which must outlive the table */
    uint32_t count;
    uint32_t *slots; /* id + 1, 0 is free; a power of two of them */
    size_t slots_count;
    size_t keys_cap;
};

/* All-zero is an empty table too. */
void vq_intern_init(struct vq_intern *intern);
void vq_intern_free(struct vq_intern *intern);

/* The id of `key`, a new one if it was not seen before. VQ_NOMEM, VQ_LIMIT above 2^31 keys. */
enum vq_status vq_intern_add(struct vq_intern *intern, struct vq_span key,
                             uint32_t *ret_id) VQ_WARN_UNUSED;
/* Its id, or VQ_INTERN_NONE. */
uint32_t vq_intern_find(const struct vq_intern *intern, struct vq_span key);

/* The known name nearest to a mistyped one: least edit distance (two letters that changed places
 * are one edit), ASCII case ignored, at most a third of the longer name, or one the beginning of
 * the other. VQ_INTERN_NONE when nothing is near. For messages; names above 64 bytes are never
 * near. */
uint32_t vq_nearest_name(struct vq_span name, const struct vq_span *names, uint32_t names_count);
