/* What a planned run would cost, and how long it would take, if its calls went into batches. */
#pragma once

#include "methods/plan/forecast.h"

struct vq_forecast_batches {
    bool possible;        /* false: no line can go into a batch, or all do already; the rest is 0 */
    bool configured;      /* the run has batch pools; false: as if each pool had one beside it */
    bool price_assumed;   /* half of the interactive price */
    bool time_assumed;    /* of a batch of at least one model */
    uint32_t in_sequence; /* the longest chain of batches that follow each other */
    struct vq_forecast_sums all;
    struct vq_range seconds;
};

/* Of a forecast with its figures, which stays as it is. VQ_NOMEM. */
enum vq_status vq_forecast_as_batches(const struct vq_forecast *forecast,
                                      struct vq_forecast_batches *ret_batches) VQ_WARN_UNUSED;
