/* Limits and price of a batch pool, from `batch` of a pool's model. Not its job: rules about batch
 * pools (rules_batches.c), and the requests of the batch APIs (worker/provider). */
#include "common/conf/batches.h"

#include <string.h>

#define OPENAI_REQUESTS    50000u
#define OPENAI_BYTES       UINT64_C(200000000)
#define ANTHROPIC_REQUESTS 100000u
#define ANTHROPIC_BYTES    UINT64_C(256000000)
#define GEMINI_REQUESTS    100000u
#define GEMINI_BYTES       UINT64_C(200000000)

static const struct {
    const char *dialect;
    struct vq_conf_batch_limits limits;
} providers[] = {
    {"openai", {OPENAI_REQUESTS, OPENAI_BYTES}},
    {"azure", {OPENAI_REQUESTS, OPENAI_BYTES}},
    {"anthropic", {ANTHROPIC_REQUESTS, ANTHROPIC_BYTES}},
    {"gemini", {GEMINI_REQUESTS, GEMINI_BYTES}},
};

bool vq_conf_batch_provider(const char *dialect, struct vq_conf_batch_limits *ret_limits)
{
    for (size_t i = 0; i < VQ_COUNT(providers); i++) {
        if (strcmp(providers[i].dialect, dialect) == 0) {
            *ret_limits = providers[i].limits;
            return true;
        }
    }
    *ret_limits = (struct vq_conf_batch_limits){.requests = 0};
    return false;
}

bool vq_conf_batch_limits(const struct vq_conf_use *use, struct vq_conf_batch_limits *ret_limits)
{
    *ret_limits = (struct vq_conf_batch_limits){.requests = 0};
    if (use->batch == NULL || !vq_conf_batch_provider(use->dialect, ret_limits)) {
        return false;
    }
    if (use->batch->max_requests > 0) {
        ret_limits->requests = use->batch->max_requests;
    }
    if (use->batch->max_bytes > 0) {
        ret_limits->bytes = use->batch->max_bytes;
    }
    return true;
}

double vq_conf_batch_price(const struct vq_conf_batch *batch)
{
    if (batch == NULL) {
        return 1;
    }
    return batch->price < 0 ? VQ_CONF_BATCH_PRICE : batch->price;
}

bool vq_conf_model_is_batch(const struct vq_conf_pool_model *model)
{
    return model->batch != NULL && model->batch->enabled;
}
