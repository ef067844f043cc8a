/* The images that a data file names. Invariant: each file is read once, and a run stores the bytes
 * that were read beside its copy of the data. */
#pragma once

#include "common/base/arena.h"
#include "common/judge/image.h"
#include "common/text/intern.h"
#include "coordinator/store/rundir/run_dir.h"

#define VQ_IMAGES_BYTES_MAX ((size_t)1 << 30) /* of all images, as data: URIs */

struct vq_images { /* zeroed: empty */
    struct vq_intern names;
    struct vq_span *uris; /* by name */
    size_t uris_cap;
    size_t bytes;
    struct vq_arena memory;
    uint32_t urls; /* number of images given as URLs */
};

/* The place that names an image: the data file (its path, its number in the run), and the line. */
struct vq_image_from {
    const char *data_path;
    unsigned file;
    uint64_t line;
};

/* Reads the run's copies. It is no error if there are none. VQ_CORRUPT, VQ_NOMEM. */
enum vq_status vq_images_recall(struct vq_images *images, const struct vq_run_dir *run,
                                struct vq_error *err) VQ_WARN_UNUSED;
/* Replaces a cell by the text that is sent for it, which lives as long as `images` and the table. A
 * path is relative to the data file's folder. VQ_INVALID, VQ_LIMIT, VQ_NOT_FOUND ...: err names the
 * line, the file and the expected form. */
enum vq_status vq_images_load(struct vq_images *images, const struct vq_image_from *from,
                              struct vq_span *cell, struct vq_error *err) VQ_WARN_UNUSED;
/* Writes the run's copies, if there are any images. */
enum vq_status vq_images_keep(const struct vq_images *images, const struct vq_run_dir *run,
                              struct vq_error *err) VQ_WARN_UNUSED;
void vq_images_free(struct vq_images *images);
