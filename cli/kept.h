/* A run that is over (or stopped), opened with its own data, templates and answers, for verbs that look at it again. */
#ifndef VQ_CLI_KEPT_H
#define VQ_CLI_KEPT_H

#include "cli/opts.h"
#include "coordinator/shell/job/job.h"
#include "coordinator/shell/run/run.h"
#include "coordinator/store/calls.h"

/* The options in common; a verb's own struct begins with one. */
struct vq_kept_words {
    const char *runs;
    struct vq_opt_list set;
};

struct vq_kept {
    char *runs_dir;
    struct vq_run_dir *run; /* locked */
    struct vq_job *job;
    struct vq_calls *calls;
};

/* VQ_NOT_FOUND, VQ_LOCKED (it is running), VQ_CORRUPT with a sentence. The caller closes *ret_kept. */
enum vq_status vq_kept_open(const struct vq_kept_words *words, const char *name,
                            struct vq_kept *ret_kept, struct vq_error *err) VQ_WARN_UNUSED;
/* The same without the run's lock, so also of a run that goes on: for reading only. */
enum vq_status vq_kept_look(const struct vq_kept_words *words, const char *name,
                            struct vq_kept *ret_kept, struct vq_error *err) VQ_WARN_UNUSED;
void vq_kept_close(struct vq_kept *kept);

/* Asks what is missing with the settings that `kept` was opened with, like `vibeq resume`, and writes the results into `folder`
 * of the run. The exit code; everything worth saying was said. Closes the store. */
int vq_kept_buy(struct vq_kept *kept, const char *folder, bool quiet, bool json);

/* Asks what a script wants to know about the run, into the same store; its own accounting goes into `folder`, and the run's files
 * stay as they are. The caller looks at *ret_end, and at the script for the answers. Closes the store. */
enum vq_status vq_kept_ask(struct vq_kept *kept, const struct vq_script *script, const char *folder,
                           bool quiet, enum vq_run_end *ret_end,
                           struct vq_error *err) VQ_WARN_UNUSED;

#endif
