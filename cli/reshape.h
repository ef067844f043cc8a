/* Changes the questions of a run that has no answer yet. */
#ifndef VQ_CLI_RESHAPE_H
#define VQ_CLI_RESHAPE_H

#include "cli/opts.h"
#include "coordinator/store/rundir/run_dir.h"

/* Keeps in run.yaml what `set` changes of the judges' questions, so that every later command reads
 * the same. `refusal`: why not, if the run has an answer; VQ_INVALID then. Call it with the run
 * locked and before it starts. */
enum vq_status vq_cli_reshape(const struct vq_run_dir *run, const char *runs_dir,
                              const struct vq_opt_list *set, const struct vq_error *refusal,
                              struct vq_error *err) VQ_WARN_UNUSED;

#endif
