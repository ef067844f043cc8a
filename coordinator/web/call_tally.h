/* The calls of a run by pool, for metrics: ends, durations, costs. Pure: the shell fills it from
 * the ledger at the start and then from each durable commit, so it counts the calls of the run, not
 * only of the process. */
#pragma once

#include "common/conf/pools.h"
#include "proto/messages.h"

#define VQ_TALLY_BUCKETS 14u

/* The upper bounds of the buckets of durations, ascending. */
extern const uint32_t vq_tally_bounds_ms[VQ_TALLY_BUCKETS];

struct vq_tally_pool {
    uint64_t ends[VQ_CALL_ENDS];
    uint64_t buckets[VQ_TALLY_BUCKETS + 1]; /* not cumulative; the last one: above all bounds */
    uint64_t timed, timed_ms;               /* calls with a duration, and their sum */
    uint64_t tokens_in, tokens_cached, tokens_out; /* cached ones are part of the input */
    uint64_t cost_nano;
};

/* One entry per pool, in the order of the configuration; the last one is for all former pools. */
struct vq_call_tally {
    struct vq_tally_pool pool[VQ_POOLS_MAX + 1];
    uint32_t pools;
};

struct vq_tally_call {
    uint32_t pool; /* `pools` or above: not a pool of the configuration */
    enum vq_call_end end;
    uint32_t latency_ms;
    uint64_t tokens_in, tokens_cached, tokens_out, cost_nano;
};

void vq_call_tally_init(struct vq_call_tally *tally, uint32_t pools);
void vq_call_tally_add(struct vq_call_tally *tally, const struct vq_tally_call *call);
