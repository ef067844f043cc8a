/* `vibeq ctl RUN distrust WORKER`: from now on this run refuses the worker, and throws its answers
 * away. The run's folder has the list of such workers. */
#pragma once

#include "common/base/buf.h"

#define VQ_DISTRUSTED_FILE      "distrusted" /* in the run's folder: a name per line */
#define VQ_DISTRUSTED_BYTES_MAX 65536u
#define VQ_DISTRUST_WHY         "this run distrusts this worker (vibeq ctl RUN distrust)"

struct vq_run;

/* For the table of commands (ctl.h). */
enum vq_status vq_distrust_check(const char *const *values, struct vq_error *err);
enum vq_status vq_distrust_do(struct vq_run *run, const char *const *values, struct vq_buf *said,
                              struct vq_error *err);
enum vq_status vq_distrust_do_stopped(const char *runs_dir, const char *name,
                                      const char *const *values, struct vq_buf *said,
                                      struct vq_error *err);
