/* Batch pools: what the provider's batch API takes, and what a call in a batch costs. Pure. The
 * limits are those of the worker's dialects (worker/provider/batch*.c); a test compares them. */
#pragma once

#include "common/conf/pools.h"

#define VQ_CONF_BATCH_PRICE     0.5    /* of the interactive price, if none is given */
#define VQ_CONF_BATCH_WINDOW_S  86400u /* in which providers promise the results */
#define VQ_CONF_BATCH_GAIN      0.04   /* of the price; for less, no call waits for another batch */
#define VQ_CONF_BATCH_BYTES_MIN UINT64_C(65536)

struct vq_conf_batch_limits {
    uint32_t requests; /* in one batch */
    uint64_t bytes;    /* of its document */
};

/* What the provider takes. False: the dialect has no batch API. */
bool vq_conf_batch_provider(const char *dialect, struct vq_conf_batch_limits *ret_limits);

/* Of a batch pool: the configured limits, or the provider's. False: an interactive pool, whose
 * limits are 0. */
bool vq_conf_batch_limits(const struct vq_conf_use *use, struct vq_conf_batch_limits *ret_limits);

/* The price of a call, as a multiple of the interactive price; 1 for an interactive pool. */
double vq_conf_batch_price(const struct vq_conf_batch *batch);

bool vq_conf_model_is_batch(const struct vq_conf_pool_model *model);
