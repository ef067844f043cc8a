/* How many workers a run can use: for an autoscaler. Pure. */
#pragma once

#include "coordinator/pools/authority.h"

#define VQ_WANTED_MAX 4096u /* no run has more workers (VQ_COORD_SESSIONS_MAX) */

/* A pool that may be asked. What is unknown is 0: it limits nothing. */
struct vq_wanted_pool {
    struct vq_limit limit;        /* in force */
    double call_s;                /* duration of a call, mean */
    double tokens_in, tokens_out; /* of a call, mean */
};

/* Calls in flight that the pool has room for; infinite: nothing known limits it. */
double vq_wanted_room(const struct vq_wanted_pool *pool);

/* Of the calls in flight that `open` tasks of one judge could be, those that its pools have room
 * for. Takes them from `room`, which is by pool: what another judge takes later is left. */
double vq_wanted_take(uint64_t open, const uint32_t *pools, uint32_t count, double *room);

/* The number of workers that carry `calls` in flight, if one worker carries at most `carried` at
 * once; `carried` 0: no call was seen yet, and one worker shows it. */
uint32_t vq_workers_wanted(double calls, uint32_t carried);
