/* A forecast for people and for programs. */
#pragma once

#include "common/text/fmt.h"
#include "methods/plan/batches.h"
#include "methods/plan/files/forecast.h"

#include <time.h>

#define VQ_PLAN_FORMAT 1

struct vq_plan_shown {
    const struct vq_job *job;
    const struct vq_forecast *forecast;
    bool has_store;
    bool has_budget, has_deadline;
    double budget_usd;
    time_t now, deadline;
    struct vq_forecast_batches batches;
    struct vq_forecast_bounded budget, by_deadline; /* if there is one */
};

/* With a deadline: the latest end of batches that still lets the interactive pools answer
 * everything (coordinator/pools/deadline.h). 0: no batch pools, prices or time. */
time_t vq_plan_batches_until(const struct vq_plan_shown *plan);

/* Both append; failures stick in out->status. */
void vq_plan_table(const struct vq_plan_shown *plan, const struct vq_terminal *terminal,
                   struct vq_buf *out);
void vq_plan_json(const struct vq_plan_shown *plan, struct vq_buf *out);
