/* A file that holds a list of axes, in the form of the key `vibes` of a configuration. */
#pragma once

#include "common/base/arena.h"
#include "common/judge/request.h"

struct vq_axes_file {
    struct vq_axis *axes; /* with their texts in `memory` */
    uint32_t count;
    struct vq_arena memory;
};

/* YAML, or JSON: a list, or a map with such a list as its only item, `vibes`. Each axis has the
 * form of a configuration: a map of name, low and high (or property), or one text "Name: High: ...
 * Low: ...". VQ_INVALID with NAME, line and column; VQ_LIMIT above VQ_VIBES_MAX; VQ_NOMEM. The
 * caller frees *ret_file. */
enum vq_status vq_axes_file_parse(struct vq_span text, const char *name,
                                  struct vq_axes_file *ret_file,
                                  struct vq_error *err) VQ_WARN_UNUSED;
void vq_axes_file_free(struct vq_axes_file *file);

/* Appends the list under the key `vibes`. A configuration may contain the text, and
 * vq_axes_file_parse reads it. */
enum vq_status vq_axes_file_write(const struct vq_axis *axes, uint32_t count,
                                  struct vq_buf *out) VQ_WARN_UNUSED;
