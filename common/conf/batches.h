/* Batch pools: the limits of the provider's batch API, and the price of a call in a batch. Pure.
 * The limits are those of the worker's dialects (worker/provider/batch*.c); a test compares
 * them. */
#pragma once

#include "common/conf/pools.h"

#define VQ_CONF_BATCH_PRICE    0.5    /* of the interactive price, if the configuration has none */
#define VQ_CONF_BATCH_WINDOW_S 86400u /* providers promise the results within it */
/* of the price; a call does not wait for another batch if it gains less */
#define VQ_CONF_BATCH_GAIN      0.04
#define VQ_CONF_BATCH_BYTES_MIN UINT64_C(65536)

struct vq_conf_batch_limits {
    uint32_t requests; /* in one batch */
    uint64_t bytes;    /* of its document */
};

/* The limits of the provider. False: the dialect has no batch API. */
bool vq_conf_batch_provider(const char *dialect, struct vq_conf_batch_limits *ret_limits);

/* The configured limits of a batch pool, else the provider's. False: an interactive pool; the
 * limits are 0. */
bool vq_conf_batch_limits(const struct vq_conf_use *use, struct vq_conf_batch_limits *ret_limits);

/* The price of a call, as a multiple of the interactive price; 1 for an interactive pool. */
double vq_conf_batch_price(const struct vq_conf_batch *batch);

bool vq_conf_model_is_batch(const struct vq_conf_pool_model *model);
