/* Adds calls up. Invariant: the buckets of a pool sum to `timed`. A call that was never sent, or
 * whose end was not seen, has no duration. */
#include "coordinator/web/call_tally.h"

#include "common/base/sum.h"

const uint32_t vq_tally_bounds_ms[VQ_TALLY_BUCKETS] = {
    50, 100, 250, 500, 1000, 2500, 5000, 10000, 20000, 30000, 60000, 120000, 300000, 600000};

void vq_call_tally_init(struct vq_call_tally *tally, uint32_t pools)
{
    VQ_ASSERT(pools <= VQ_POOLS_MAX);
    *tally = (struct vq_call_tally){.pools = pools};
}

void vq_call_tally_add(struct vq_call_tally *tally, const struct vq_tally_call *call)
{
    struct vq_tally_pool *p = &tally->pool[call->pool < tally->pools ? call->pool : tally->pools];
    if (call->end >= VQ_CALL_ENDS) {
        return; /* written by a later vibeq */
    }
    p->ends[call->end]++;
    vq_sum_to(&p->tokens_in, call->tokens_in);
    vq_sum_to(&p->tokens_cached, call->tokens_cached);
    vq_sum_to(&p->tokens_out, call->tokens_out);
    vq_sum_to(&p->cost_nano, call->cost_nano);
    if (call->end == VQ_END_NETWORK || call->end == VQ_END_UNKNOWN ||
        call->end == VQ_END_CANCELLED) {
        return;
    }
    size_t b = 0;
    while (b < VQ_TALLY_BUCKETS && call->latency_ms > vq_tally_bounds_ms[b]) {
        b++;
    }
    p->buckets[b]++;
    p->timed++;
    vq_sum_to(&p->timed_ms, call->latency_ms);
}
