/* Commands about pools and money, for the table in ctl.c. Each acts on the run's authority; its
 * slices follow within a second. ctl_settings_run.c applies these settings again to a resumed run,
 * unless its --set overrides them. */
#pragma once

#include "coordinator/run/ctl.h"

/* values: NAME, then the limits in the order of vq_ctl_pool_args. */
enum vq_status vq_ctl_check_pool(const char *const *values, struct vq_error *err);
enum vq_status vq_ctl_do_pool(struct vq_run *run, const char *const *values, struct vq_buf *said,
                              struct vq_error *err);
enum vq_status vq_ctl_do_park(struct vq_run *run, const char *const *values, struct vq_buf *said,
                              struct vq_error *err);
enum vq_status vq_ctl_do_unpark(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                struct vq_error *err);
enum vq_status vq_ctl_check_budget(const char *const *values, struct vq_error *err);
enum vq_status vq_ctl_do_budget(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                struct vq_error *err);
/* values: N, then a pool's name or NULL for all. */
enum vq_status vq_ctl_check_concurrency(const char *const *values, struct vq_error *err);
enum vq_status vq_ctl_do_concurrency(struct vq_run *run, const char *const *values,
                                     struct vq_buf *said, struct vq_error *err);
