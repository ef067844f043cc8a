/* The cost and the time of a planned run if its calls went into batches. */
#pragma once

#include "methods/plan/forecast.h"

struct vq_forecast_batches {
    /* false: no line can go into a batch, or all do already; all other members are 0 */
    bool possible;
    bool configured;      /* the run has batch pools; false: the figures assume one for each pool */
    bool price_assumed;   /* the figures assume half of the interactive price */
    bool time_assumed;    /* the time of some model's batches is assumed */
    uint32_t in_sequence; /* length of the longest chain of batches that follow each other */
    struct vq_forecast_sums all;
    struct vq_range seconds;
};

/* Does not change `forecast`, whose figures must be computed. VQ_NOMEM. */
enum vq_status vq_forecast_as_batches(const struct vq_forecast *forecast,
                                      struct vq_forecast_batches *ret_batches) VQ_WARN_UNUSED;
