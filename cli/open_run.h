/* A run that is over (or stopped), opened with its own data, templates and answers, for verbs that
 * look at it again. */
#pragma once

#include "cli/opts.h"
#include "coordinator/run/run.h"
#include "coordinator/store/calls/calls.h"
#include "methods/files/job.h"

/* The options in common; a verb's own struct begins with one. */
struct vq_open_run_words {
    const char *runs;
    struct vq_opt_list set;
};

struct vq_open_run {
    char *runs_dir;
    struct vq_run_dir *run; /* locked */
    struct vq_job *job;
    struct vq_calls *calls;
};

/* VQ_NOT_FOUND, VQ_LOCKED (it is running), VQ_CORRUPT with a sentence. The caller closes
 * *ret_kept. */
enum vq_status vq_open_run_begin(const struct vq_open_run_words *words, const char *name,
                                 struct vq_open_run *ret_kept, struct vq_error *err) VQ_WARN_UNUSED;
/* The same without the run's lock: for reading only, and possible while the run is active. */
enum vq_status vq_open_run_look(const struct vq_open_run_words *words, const char *name,
                                struct vq_open_run *ret_kept, struct vq_error *err) VQ_WARN_UNUSED;
void vq_open_run_close(struct vq_open_run *kept);

/* Asks what is missing with the settings that `kept` was opened with, like `vibeq resume`, and
 * writes the results into `folder` of the run. The exit code; every message was printed.
 * Closes the store. */
int vq_open_run_buy(struct vq_open_run *kept, const char *folder, bool quiet, bool json);

/* Asks what a script wants to know about the run, into the same store; its own accounting goes into
 * `folder`, and the run's files stay as they are. The caller looks at *ret_end, and at the script
 * for the answers. Closes the store. */
enum vq_status vq_open_run_ask(struct vq_open_run *kept, const struct vq_script *script,
                               const char *folder, bool quiet, enum vq_run_end *ret_end,
                               struct vq_error *err) VQ_WARN_UNUSED;
