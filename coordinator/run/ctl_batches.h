/* Commands about batches at providers, for the table in ctl.c. */
#pragma once

#include "coordinator/run/ctl.h"

/* One line per batch in which calls wait. No values. */
enum vq_status vq_ctl_do_batches(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                 struct vq_error *err);
/* values: NAME, or "all". */
enum vq_status vq_ctl_do_cancel(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                struct vq_error *err);
