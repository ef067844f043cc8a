/* Joins a job to what the loop of a run sees of it. Not its job: the loop, or what the results
 * say. */
#include "methods/files/job_work.h"

#include "methods/files/method_type.h"
#include "methods/files/results.h"

static enum vq_status write_results(void *ctx, const struct vq_run_answers *answers,
                                    bool *ret_missing, struct vq_error *err)
{
    const struct vq_job_work *work = ctx;
    work->job->generation = answers->generation;
    struct vq_results results = {.job = work->job,
                                 .method = &work->method,
                                 .calls = answers->calls,
                                 .run = answers->run,
                                 .dir = answers->dir,
                                 .folder = work->folder != NULL ? work->folder : "results",
                                 .own_account = work->folder != NULL,
                                 .json = work->json};
    return vq_results_write(&results, ret_missing, err);
}

static int64_t record_of(const void *ctx, const struct vq_stage_grid *stage, uint32_t sample)
{
    const struct vq_job_work *work = ctx;
    return vq_job_record(work->job, stage, sample);
}

static bool is_first_implied(const struct vq_job *job)
{
    return job->method->is_first_implied != NULL && job->method->is_first_implied(job);
}

enum vq_status vq_job_work_open(struct vq_job *job, struct vq_job_work *work, struct vq_error *err)
{
    work->job = job;
    VQ_TRY(vq_method_script_open(job, &work->method, err));
    work->work = (struct vq_run_work){.source = vq_job_source(job),
                                      .needs_offline = job->needs_offline,
                                      .script = work->method.script,
                                      .is_first_implied = is_first_implied(job),
                                      .write = write_results,
                                      .record = record_of,
                                      .ctx = work};
    return VQ_OK;
}

void vq_job_work_beside(struct vq_job *job, const struct vq_script *script,
                        struct vq_job_work *work)
{
    *work = (struct vq_job_work){.job = job};
    work->work = (struct vq_run_work){.source = vq_job_source(job),
                                      .needs_offline = job->needs_offline,
                                      .script = *script,
                                      .is_first_implied = is_first_implied(job)};
}

void vq_job_work_close(struct vq_job_work *work)
{
    vq_method_script_close(&work->method);
}
