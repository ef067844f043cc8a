/* The ring of samples (coordinator/web/history.h) in the run's folder: history.bin. */
#pragma once

#include "coordinator/store/rundir/run_dir.h"
#include "coordinator/web/history.h"

#define VQ_HISTORY_FILE "history.bin"

struct vq_history_file {
    struct vq_history *history;
    int fd; /* -1: the file cannot be written; the samples are only in memory */
};

/* Reads the samples of the file. A file that cannot be read or written is logged and does no harm.
 * The only error is VQ_NOMEM. */
enum vq_status vq_history_file_open(const struct vq_run_dir *run, struct vq_history_file *ret_file,
                                    struct vq_error *err) VQ_WARN_UNUSED;
void vq_history_file_add(struct vq_history_file *file, const struct vq_history_sample *sample);
void vq_history_file_close(struct vq_history_file *file);
