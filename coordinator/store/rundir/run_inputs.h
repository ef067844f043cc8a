/* Copies of what a run was begun with: `inputs/NAME` and a line each in `inputs/HASHES` (hash,
 * name, where it came from). */
#pragma once

#include "coordinator/store/rundir/run_dir.h"

#define VQ_RUN_INPUTS_BYTES_MAX (1u << 20) /* of HASHES */

/* `name`: a file name. `came_from`: an absolute path, "" for what is built in. */
enum vq_status vq_run_dir_keep(const struct vq_run_dir *run, const char *name, struct vq_span bytes,
                               const char *came_from, struct vq_error *err) VQ_WARN_UNUSED;
/* Before the first of them: what a maker that was ended early kept. */
enum vq_status vq_run_dir_forget_kept(const struct vq_run_dir *run,
                                      struct vq_error *err) VQ_WARN_UNUSED;
/* At resume. VQ_CORRUPT: a copy is missing or damaged. VQ_INVALID: an original that is still
 * where it came from has changed (err names it). An original that is gone is fine: the copy is
 * used. */
enum vq_status vq_run_dir_check_kept(const struct vq_run_dir *run,
                                     struct vq_error *err) VQ_WARN_UNUSED;
