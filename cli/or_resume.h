/* `vibeq run --or-resume`: one command that starts a run or resumes it, for programs that start it
 * again after each end (systemd, Kubernetes). */
#pragma once

#include "cli/opts.h"
#include "common/conf/config.h"
#include "coordinator/run/run.h"
#include "coordinator/store/rundir/run_dir.h"

#include <time.h>

/* The keys whose values differ from the start of the run, in the form of --set: "workers=". Their
 * present values are in force, and override those of `vibeq ctl`. */
struct vq_or_resume_changes {
    char texts[VQ_OPT_LIST_MAX][VQ_CONFIG_KEY_BYTES + 1];
    struct vq_opt_list set; /* into `texts` */
};

/* `was`: from the run's folder. VQ_INVALID names the first differing key that a resumed run must
 * not change. The name of the run is not compared, because it led to the folder. */
enum vq_status vq_or_resume_check(const struct vq_config *was, const struct vq_config *now,
                                  struct vq_or_resume_changes *ret_changes,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* Adds the date to the deadline of `config`, so that it is the same time at each start. 07:00
 * becomes the next 07:00 after `now`, or the deadline of `was` if that is at 07:00. `was`: from the
 * run's folder; NULL: a new run. VQ_INVALID: another deadline is in the past; VQ_NOMEM. */
enum vq_status vq_or_resume_date(const struct vq_config *was, time_t now, struct vq_config *config,
                                 struct vq_error *err) VQ_WARN_UNUSED;

/* Opens and locks the run if it exists; else *ret_run is NULL. `now`: its deadline gets its date.
 * VQ_LOCKED: the run is active. */
enum vq_status vq_or_resume_open(const char *runs_dir, const char *name, struct vq_config *now,
                                 struct vq_run_dir **ret_run,
                                 struct vq_or_resume_changes *ret_changes,
                                 struct vq_error *err) VQ_WARN_UNUSED;

/* The file `ended` of a run's folder shows how the run ended. Each start removes it first, so it is
 * never older than the results. */
enum vq_status vq_or_resume_forget_end(const struct vq_run_dir *run,
                                       struct vq_error *err) VQ_WARN_UNUSED;
/* Only for an end that needs no further start: done, or done with missing answers. */
enum vq_status vq_or_resume_keep_end(const struct vq_run_dir *run, enum vq_run_end end,
                                     struct vq_error *err) VQ_WARN_UNUSED;
/* False: it has not ended in this way, or its file cannot be read. */
bool vq_or_resume_has_ended(const struct vq_run_dir *run, enum vq_run_end *ret_end);
