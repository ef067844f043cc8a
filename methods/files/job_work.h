/* A job as the work of a run: its method's script, and its results at the end; or a script beside
 * the run. */
#pragma once

#include "methods/files/job.h"
#include "methods/files/method_script.h"
#include "methods/grid/work.h"

struct vq_job_work {
    struct vq_job *job;             /* borrowed; its generation becomes that of the run */
    struct vq_method_script method; /* closed: a script beside the run */
    const char *folder;             /* borrowed: in the run's, for the results; NULL: "results" */
    bool json;                      /* the results on standard output instead of the table */
    struct vq_run_work work;
};

/* Points into itself, so it stays where it is. The caller closes *work, also after a failure. What
 * the method says. */
enum vq_status vq_job_work_open(struct vq_job *job, struct vq_job_work *work,
                                struct vq_error *err) VQ_WARN_UNUSED;
/* Asks `script` instead of the job's method; nothing is written. There is nothing to close. */
void vq_job_work_beside(struct vq_job *job, const struct vq_script *script,
                        struct vq_job_work *work);
void vq_job_work_close(struct vq_job_work *work);
