/* Copies of the inputs of a run: `inputs/NAME`, and one line per copy in `inputs/HASHES` (hash,
 * name, origin). */
#pragma once

#include "coordinator/store/rundir/run_dir.h"

#define VQ_RUN_INPUTS_BYTES_MAX (1u << 20) /* of HASHES */

/* `name`: a file name. `came_from`: an absolute path; "": built in. */
enum vq_status vq_run_dir_keep(const struct vq_run_dir *run, const char *name, struct vq_span bytes,
                               const char *came_from, struct vq_error *err) VQ_WARN_UNUSED;
/* Call it before the first copy: removes the copies of a start that was interrupted. */
enum vq_status vq_run_dir_forget_kept(const struct vq_run_dir *run,
                                      struct vq_error *err) VQ_WARN_UNUSED;
/* For a resume. VQ_CORRUPT: a copy is missing or damaged. VQ_INVALID: an original has changed (err
 * names it). An original that no longer exists is fine: the copy is used. */
enum vq_status vq_run_dir_check_kept(const struct vq_run_dir *run,
                                     struct vq_error *err) VQ_WARN_UNUSED;
