/* Private to the registration of the VibeCheck method (job.c): the hooks that other files
 * define. */
#pragma once

#include "common/text/json.h"
#include "methods/files/results.h"
#include "methods/plan/forecast.h"

/* results.c */
enum vq_status vq_vibecheck_results(const struct vq_results *of, bool *ret_missing,
                                    struct vq_error *err) VQ_WARN_UNUSED;

/* shown.c: as in struct vq_method_type */
void vq_vibecheck_show_size(const struct vq_job *job, struct vq_buf *out);
void vq_vibecheck_show_size_json(const struct vq_job *job, struct vq_json *json);
void vq_vibecheck_show_data(const struct vq_job *job, struct vq_buf *out);
void vq_vibecheck_show_calls(const struct vq_job *job, const struct vq_forecast *f,
                             struct vq_buf *out);
