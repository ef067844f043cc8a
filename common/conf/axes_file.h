/* A list of axes as a file: what stands under `vibes:` in a configuration, alone. */
#pragma once

#include "common/base/arena.h"
#include "common/judge/request.h"

struct vq_axes_file {
    struct vq_axis *axes; /* they and their texts are in `memory` */
    uint32_t count;
    struct vq_arena memory;
};

/* YAML, or JSON: a list, or a map with such a list as its only item, `vibes`. Each axis is a map of
 * name, low and high (or property), or one text "Name: High: ... Low: ...", as in a configuration.
 * VQ_INVALID with NAME, line and column; VQ_LIMIT above VQ_VIBES_MAX; VQ_NOMEM. The caller frees
 * *ret_file. */
enum vq_status vq_axes_file_parse(struct vq_span text, const char *name,
                                  struct vq_axes_file *ret_file,
                                  struct vq_error *err) VQ_WARN_UNUSED;
void vq_axes_file_free(struct vq_axes_file *file);

/* Appends the list under `vibes:`, so that it can be pasted into a configuration and is read by the
 * function above. */
enum vq_status vq_axes_file_write(const struct vq_axis *axes, uint32_t count,
                                  struct vq_buf *out) VQ_WARN_UNUSED;
