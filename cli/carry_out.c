/* Makes the run's options from the command's, and an exit code from the run's end. */
#include "cli/carry_out.h"

#include "cli/or_resume.h"
#include "cli/ui/beside.h"
#include "common/net/signals.h"
#include "coordinator/run/ctl.h"
#include "coordinator/run/machine.h"
#include "methods/files/job_work.h"

#include <signal.h>
#include <stdio.h>

int vq_cli_exit_of(enum vq_run_end end)
{
    switch (end) {
    case VQ_RUN_DONE: return VQ_EXIT_DONE;
    case VQ_RUN_MISSING: return VQ_EXIT_MISSING;
    case VQ_RUN_STOPPED: return VQ_EXIT_STOPPED;
    case VQ_RUN_FAILED:
    case VQ_RUN_AGAIN: return VQ_EXIT_INTERNAL;
    }
    return VQ_EXIT_INTERNAL;
}

/* From the first line that names the run, a request to stop ends it as a stopped run. Signals wait
 * until the loop of the run watches them. */
static enum vq_status announce(const struct vq_run_words *w, const struct vq_run_dir *run,
                               bool resumed, struct vq_error *err)
{
    if (vq_signal_keep(SIGINT) != VQ_OK || vq_signal_keep(SIGTERM) != VQ_OK) {
        return vq_fail(err, VQ_IO, "cannot watch for SIGINT and SIGTERM");
    }
    if (!resumed && !w->quiet) {
        fprintf(stderr, "Run %s\n", vq_run_dir_name(run));
    }
    return vq_or_resume_forget_end(run, err);
}

/* Shows the page of runs. A failure to serve it does not affect the run. */
static void show_page(const struct vq_run_words *w, const char *runs_dir, const char *name,
                      struct vq_ui_beside **ret_beside)
{
    struct vq_error err = {0};
    enum vq_status status = w->ui ? vq_ui_beside_start(runs_dir, ret_beside, &err) : VQ_OK;
    if (status != VQ_OK && status != VQ_LOCKED) {
        fprintf(stderr, "vibeq: --ui: %s; the run continues without it\n", err.text);
    }
    if (!w->quiet) {
        vq_ui_print_page(runs_dir, name);
    }
}

static enum vq_status carry_out_once(const struct vq_run_options *options, bool json,
                                     struct vq_job *job, struct vq_run_dir *run,
                                     enum vq_run_end *ret_end, struct vq_error *err)
{
    struct vq_job_work work = {.json = json};
    VQ_TRY(vq_job_work_open(job, &work, err));
    enum vq_status status = vq_run_carry_out(options, &work.work, run, ret_end, err);
    vq_job_work_close(&work);
    return status;
}

enum vq_status vq_carry_out(const struct vq_run_words *w, struct vq_job *job,
                            struct vq_run_dir *run, const char *runs_dir, bool resumed,
                            enum vq_run_end *ret_end, struct vq_error *err)
{
    struct vq_run_options options = {.runs_dir = runs_dir,
                                     .listen = w->listen,
                                     .advertise = w->advertise,
                                     .cert = w->cert,
                                     .http = vq_run_words_http(w),
                                     .workers = job->config->workers,
                                     .resumed = resumed,
                                     .retry_failed = w->retry_failed,
                                     .failures = w->class == NULL ? 0 : vq_ctl_failures(w->class),
                                     .set = w->set.items,
                                     .set_count = w->set.count,
                                     .quiet = w->quiet};
    struct vq_ui_beside *beside = NULL;
    enum vq_status status = announce(w, run, resumed, err);
    if (status == VQ_OK) {
        show_page(w, runs_dir, vq_run_dir_name(run), &beside);
        status = carry_out_once(&options, w->json, job, run, ret_end, err);
    }
    while (status == VQ_OK && *ret_end == VQ_RUN_AGAIN) {
        options.resumed = true;
        options.retry_failed = false;
        status = carry_out_once(&options, w->json, job, run, ret_end, err);
    }
    if (status == VQ_OK && vq_or_resume_keep_end(run, *ret_end, err) != VQ_OK) {
        fprintf(stderr, "vibeq: --or-resume will not find that the run is finished: %s\n",
                err->text);
    }
    vq_ui_beside_stop(&beside);
    return status;
}

int vq_carry_out_fail(const struct vq_run_words *w, enum vq_status status,
                      const struct vq_error *err)
{
    int code = vq_cli_fail(status, err);
    return w->or_resume && status == VQ_EXISTS ? VQ_EXIT_STOPPED : code;
}

int vq_carry_out_resumed(const struct vq_run_words *w, struct vq_job *job, struct vq_run_dir *run,
                         const char *runs_dir)
{
    struct vq_error err = {0};
    enum vq_run_end end = VQ_RUN_FAILED;
    enum vq_status status = vq_machine_check(&job->pools, job->config, &err);
    if (status == VQ_OK) {
        status = vq_carry_out(w, job, run, runs_dir, true, &end, &err);
    }
    return status == VQ_OK ? vq_cli_exit_of(end) : vq_carry_out_fail(w, status, &err);
}
