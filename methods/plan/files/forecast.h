/* Estimates the calls of a run without sending any. It walks through the method from the call store
 * as far as stored answers lead, looks up every known task, and renders prompts for their size. It
 * estimates the rest from the results of earlier calls. */
#pragma once

#include "coordinator/store/calls/calls.h"
#include "methods/files/job.h"
#include "methods/plan/forecast.h"

/* `calls` NULL: the forecast assumes an empty store. The forecast borrows names from the job. The
 * caller destroys *ret_forecast. Statuses of the method and of the store, with their sentences. */
enum vq_status vq_forecast_make(const struct vq_job *job, struct vq_calls *calls,
                                struct vq_forecast **ret_forecast,
                                struct vq_error *err) VQ_WARN_UNUSED;
/* Sets the time of batches from the durations that earlier runs of the folder recorded, if there
 * are any: for each pool, those of its dialect and model. VQ_NOMEM. */
enum vq_status vq_forecast_batch_times(const char *runs_dir, const struct vq_job *job,
                                       struct vq_forecast *forecast) VQ_WARN_UNUSED;
void vq_forecast_destroy(struct vq_forecast **forecast);

/* Whether any model of the forecast is not served by the built-in server. */
bool vq_forecast_is_remote(const struct vq_job *job, const struct vq_forecast *forecast);
