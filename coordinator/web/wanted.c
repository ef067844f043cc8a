/* Calls in flight by Little's law: a pool that allows r calls per second of d seconds each has room
 * for r * d calls at once. Invariant: more room or more work never leads to fewer workers. */
#include "coordinator/web/wanted.h"

#include <math.h>

#define MINUTE_S 60.0

/* Calls in flight that a limit `most` per minute allows, if each call uses `each` of it. */
static double by_rate(double most, double each, double call_s)
{
    bool known = most > 0 && each > 0 && call_s > 0;
    return known ? most / each / MINUTE_S * call_s : (double)INFINITY;
}

double vq_wanted_room(const struct vq_wanted_pool *p)
{
    double room = p->limit.concurrency > 0 ? (double)p->limit.concurrency : (double)INFINITY;
    const double each[VQ_RATE__COUNT] = {[VQ_RATE_REQUESTS] = 1,
                                         [VQ_RATE_INPUT] = p->tokens_in,
                                         [VQ_RATE_OUTPUT] = p->tokens_out,
                                         [VQ_RATE_TOKENS] = p->tokens_in + p->tokens_out};
    for (int r = 0; r < VQ_RATE__COUNT; r++) {
        double most = p->limit.rates.of[r];
        room = fmin(room, by_rate(most, each[r], p->call_s));
    }
    return fmax(room, 1); /* a slow pool has a call in flight from time to time */
}

double vq_wanted_take(uint64_t open, const uint32_t *pools, uint32_t count, double *room)
{
    double left = (double)open;
    for (uint32_t i = 0; i < count && left > 0; i++) {
        double taken = fmin(left, room[pools[i]]);
        left -= taken;
        room[pools[i]] -= taken;
    }
    return (double)open - left;
}

uint32_t vq_workers_wanted(double calls, uint32_t carried)
{
    if (!(calls > 0)) {
        return 0;
    }
    double workers = carried == 0 ? 1 : ceil(calls / carried);
    return (uint32_t)fmin(workers, VQ_WANTED_MAX);
}
