/* The price of a call in the pools of a judge, for decisions between batches and single calls.
 * Pure. */
#pragma once

#include "common/conf/pools.h"

struct vq_pool_prices { /* per call, at the cheapest pool; INFINITY: there is none */
    double interactive, batch;
};

/* In the service tier of each pool, and of a batch at its batch price: in millionths of a dollar.
 * If a pool has no price, the prices are multiples of an unknown one. */
void vq_pool_prices_of(const struct vq_conf_use *const *pools, uint32_t count, double tokens_in,
                       double tokens_out, struct vq_pool_prices *ret_prices);
