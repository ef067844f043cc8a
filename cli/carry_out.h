/* Carries out an open run by the words of `vibeq run` or `vibeq resume`. */
#pragma once

#include "cli/run_words.h"
#include "coordinator/store/rundir/run_dir.h"
#include "methods/files/job.h"

/* Another status than VQ_OK: the run could not start, and nothing was sent. */
enum vq_status vq_carry_out(const struct vq_run_words *words, struct vq_job *job,
                            struct vq_run_dir *run, const char *runs_dir, bool resumed,
                            enum vq_run_end *ret_end, struct vq_error *err) VQ_WARN_UNUSED;
/* The exit code of a start that failed, after its message. With --or-resume an address that another
 * program uses is no usage error: it may be free at a later start. */
int vq_carry_out_fail(const struct vq_run_words *words, enum vq_status status,
                      const struct vq_error *err);
/* vq_carry_out for a run that exists. Returns the exit code; failures were printed. */
int vq_carry_out_resumed(const struct vq_run_words *words, struct vq_job *job,
                         struct vq_run_dir *run, const char *runs_dir);
