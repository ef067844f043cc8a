/* A job as the work of a run: its method's script with the results at the end, or a script beside
 * the run. */
#pragma once

#include "methods/files/job.h"
#include "methods/files/method_script.h"
#include "methods/grid/work.h"

struct vq_job_work {
    struct vq_job *job;             /* borrowed; its generation becomes that of the run */
    struct vq_method_script method; /* closed if a script beside the run is asked */
    /* borrowed: the results' folder within the run's; NULL: "results" */
    const char *folder;
    /* prints results.json on standard output instead of the table */
    bool json;
    struct vq_run_work work;
};

/* *work points into itself, so the caller must not move it. The caller closes *work, also after a
 * failure. Returns the method's statuses. */
enum vq_status vq_job_work_open(struct vq_job *job, struct vq_job_work *work,
                                struct vq_error *err) VQ_WARN_UNUSED;
/* Asks the questions of `script` instead of the method's. No results are written, and the caller
 * need not close *work. */
void vq_job_work_beside(struct vq_job *job, const struct vq_script *script,
                        struct vq_job_work *work);
void vq_job_work_close(struct vq_job_work *work);
