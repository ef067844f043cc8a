/* Gives the loop of a run its view of a job. Not its job: the loop, the contents of the results. */
#include "methods/files/job_work.h"

#include "common/base/alloc.h"
#include "methods/files/method_type.h"
#include "methods/files/results.h"

#include <stdio.h>

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

/* The stages that `vibeq plan` shows before the first answer. */
static uint32_t expected_of(const void *ctx, struct vq_expected_stage *ret_stages)
{
    const struct vq_job_work *work = ctx;
    const struct vq_method_type *type = work->method.type;
    struct vq_forecast_stage *stages = vq_alloc(VQ_FORECAST_STAGES_MAX, sizeof(*stages));
    struct vq_forecast_seen seen = {.iteration = 1};
    uint32_t count = 0;
    uint32_t all = stages == NULL || type->stages == NULL
                       ? 0
                       : type->stages(work->job, work->method.state, &seen, stages);
    for (uint32_t i = 0; i < all && count < VQ_EXPECTED_MAX; i++) {
        if (stages[i].cells.expected + stages[i].unread.expected > 0 &&
            work->job->cast[stages[i].role].count > 0) {
            (void)snprintf(ret_stages[count].name, sizeof(ret_stages[count].name), "%s",
                           stages[i].name);
            ret_stages[count].calls =
                (uint64_t)(stages[i].cells.expected + stages[i].swaps.expected);
            count++;
        }
    }
    vq_free(stages);
    return count;
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
                                      .expected = expected_of,
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
