/* The number of workers that a run can use, for an autoscaler. Pure. */
#pragma once

#include "coordinator/pools/authority.h"

#define VQ_WANTED_MAX 4096u /* no run has more workers (VQ_COORD_SESSIONS_MAX) */

/* A pool that takes calls. Unknown values are 0: they limit nothing. */
struct vq_wanted_pool {
    struct vq_limit limit;        /* in force */
    double call_s;                /* mean duration of a call */
    double tokens_in, tokens_out; /* per call, mean */
};

/* Calls in flight for which the pool has room; infinite: no known limit. */
double vq_wanted_room(const struct vq_wanted_pool *pool);

/* The calls in flight for `open` tasks of one judge, as far as its pools have room. Takes them from
 * `room` (one per pool), so that the rest is for other judges. */
double vq_wanted_take(uint64_t open, const uint32_t *pools, uint32_t count, double *room);

/* The number of workers for `calls` in flight, if one worker has at most `carried` at once;
 * `carried` 0: no call was seen yet, and one worker is enough to measure it. */
uint32_t vq_workers_wanted(double calls, uint32_t carried);
