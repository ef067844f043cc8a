/* People's labels of vibes, from the file that the configuration names (`human`). */
#pragma once

#include "common/conf/config.h"
#include "coordinator/store/rundir/run_dir.h"
#include "methods/vibecheck/labels.h"

#define VQ_HUMAN_BYTES_MAX ((size_t)256 << 20)
#define VQ_HUMAN_COPY      "human"

struct vq_human_job { /* all empty if the key is missing */
    struct vq_buf bytes;
    struct vq_table *table;
    char sha256[65];
};

/* Reads the file, or the run's copy of it, and checks every line. A label of a vibe that is not in
 * the frame is refused, unless the frame allows it. VQ_INVALID names file, line and column;
 * VQ_NOT_FOUND, VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_human_load(struct vq_human_job *human, const struct vq_config *config,
                             const struct vq_label_frame *frame, const struct vq_run_dir *run,
                             struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_human_keep(const struct vq_human_job *human, const struct vq_config *config,
                             const struct vq_run_dir *run, struct vq_error *err) VQ_WARN_UNUSED;
/* Writes the labels to `people` (as vq_labels_read). *ret_others: number of labels of vibes that
 * the frame does not have. Does nothing if the key is missing. */
enum vq_status vq_human_apply(const struct vq_human_job *human, const struct vq_config *config,
                              const struct vq_label_frame *frame, int8_t *people,
                              uint32_t *ret_others, struct vq_error *err) VQ_WARN_UNUSED;
void vq_human_free(struct vq_human_job *human);

/* All cells are VQ_LABEL_NONE; NULL if there is no memory. */
int8_t *vq_human_cells(const struct vq_label_frame *frame) VQ_WARN_UNUSED;
