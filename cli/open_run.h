/* Opens a finished (or stopped) run with its own data, templates and answers, for verbs that read
 * it again. */
#pragma once

#include "cli/opts.h"
#include "coordinator/run/run.h"
#include "coordinator/store/calls/calls.h"
#include "methods/files/job.h"

/* The common options; a verb's own struct begins with them. */
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

/* Makes the missing calls with the settings that `kept` was opened with, like `vibeq resume`, and
 * writes the results into `folder` of the run. Returns the exit code; every message was printed.
 * Closes the store. */
int vq_open_run_buy(struct vq_open_run *kept, const char *folder, bool quiet, bool json);

/* Makes the calls of a script about the run, into the same store. The script's accounting goes into
 * `folder`, and the run's files do not change. The caller checks *ret_end, and reads the answers
 * from the script. Closes the store. */
enum vq_status vq_open_run_ask(struct vq_open_run *kept, const struct vq_script *script,
                               const char *folder, bool quiet, enum vq_run_end *ret_end,
                               struct vq_error *err) VQ_WARN_UNUSED;
