/* The pools for SPEC and authority. Invariant: every list here has the order of `uses`. Not its
 * job: keys (the workers have them), the pools of a judge (common/conf/pools.h). */
#include "coordinator/pools/run_pools.h"

#include "common/base/alloc.h"
#include "common/conf/batches.h"
#include "common/conf/tiers.h"

#include <math.h>

#define CACHE_WRITE_FACTOR 1.25 /* of the price of input, for a cache of five minutes */

#define BATCH_BYTES_MAX UINT64_C(64000000) /* a worker holds the document in memory */

#define URL_BYTES_MAX 4096
#define NANO_A_TOKEN  1000.0 /* for dollars per million tokens */

static enum vq_status texts_of(const struct vq_conf_use *use, char **ret_url, char **ret_identity)
{
    struct vq_buf url, identity;
    vq_buf_init(&url, URL_BYTES_MAX);
    vq_buf_init(&identity, URL_BYTES_MAX);
    vq_buf_puts(&url, use->base_url);
    if (use->api_version != NULL) {
        vq_buf_printf(&url, "?api-version=%s", use->api_version);
    }
    vq_conf_identity(use->identity, use->base_url, use->api_version, &identity);
    if (url.status != VQ_OK || identity.status != VQ_OK) {
        vq_buf_free(&url);
        vq_buf_free(&identity);
        return VQ_NOMEM;
    }
    *ret_url = url.at;
    *ret_identity = identity.at;
    return VQ_OK;
}

enum vq_status vq_run_pools_create(const struct vq_config *config, struct vq_run_pools *ret_pools,
                                   struct vq_error *err)
{
    struct vq_run_pools pools = {.urls = NULL};
    enum vq_status status = vq_conf_uses_of(config, &pools.uses, err);
    if (status == VQ_OK) {
        pools.urls = vq_alloc(pools.uses.count, sizeof(*pools.urls));
        pools.identities = vq_alloc(pools.uses.count, sizeof(*pools.identities));
        status = pools.urls == NULL || pools.identities == NULL ? VQ_NOMEM : VQ_OK;
    }
    for (uint32_t i = 0; status == VQ_OK && i < pools.uses.count; i++) {
        if (pools.uses.uses[i].base_url != NULL) {
            status = texts_of(&pools.uses.uses[i], &pools.urls[i], &pools.identities[i]);
        }
    }
    if (status != VQ_OK) {
        vq_run_pools_free(&pools);
        return status;
    }
    *ret_pools = pools;
    return VQ_OK;
}

void vq_run_pools_free(struct vq_run_pools *pools)
{
    for (uint32_t i = 0; i < pools->uses.count; i++) {
        if (pools->urls != NULL) {
            vq_free(pools->urls[i]);
        }
        if (pools->identities != NULL) {
            vq_free(pools->identities[i]);
        }
    }
    vq_free(pools->urls);
    vq_free(pools->identities);
    vq_conf_uses_free(&pools->uses);
    *pools = (struct vq_run_pools){.urls = NULL};
}

static double price(double usd)
{
    return usd < 0 ? 0 : usd;
}

double vq_run_pool_written_usd(const struct vq_conf_use *use)
{
    const struct vq_conf_limits *l = &use->limits;
    double factor = strcmp(use->dialect, "anthropic") == 0 ? CACHE_WRITE_FACTOR : 1;
    return price(l->price_cache_write_usd < 0 ? l->price_input_usd * factor
                                              : l->price_cache_write_usd);
}

enum vq_status vq_run_pools_spec(const struct vq_run_pools *pools, const char *offline_url,
                                 struct vq_spec_pool **ret_list, struct vq_span **ret_keys)
{
    uint32_t keys_count = 0;
    for (uint32_t i = 0; i < pools->uses.count; i++) {
        keys_count += pools->uses.uses[i].keys_count;
    }
    struct vq_spec_pool *list = vq_alloc(pools->uses.count, sizeof(*list));
    struct vq_span *keys = vq_alloc(keys_count + 1, sizeof(*keys));
    if (list == NULL || keys == NULL) {
        vq_free(list);
        vq_free(keys);
        return VQ_NOMEM;
    }
    struct vq_span *key = keys;
    for (uint32_t i = 0; i < pools->uses.count; i++) {
        const struct vq_conf_use *u = &pools->uses.uses[i];
        const struct vq_conf_limits *l = &u->limits;
        bool built_in = u->base_url == NULL;
        double times = vq_conf_batch_price(u->batch);
        struct vq_conf_batch_limits batch;
        bool gathers = vq_conf_batch_limits(u, &batch);
        list[i] = (struct vq_spec_pool){
            .name = vq_span_str(u->name),
            .dialect = vq_span_str(u->dialect),
            .base_url = vq_span_str(built_in ? offline_url : pools->urls[i]),
            .model = vq_span_str(u->sent),
            .max_tokens_field = vq_span_str(u->max_tokens_field == NULL ? "" : u->max_tokens_field),
            .keys = key,
            .keys_count = u->keys_count,
            .allow_http = u->allow_http,
            .refuses_temperature = u->refuses_temperature,
            .refuses_seed = u->refuses_seed,
            .priced = built_in || l->price_input_usd >= 0,
            .input_usd = price(l->price_input_usd) * times,
            .cached_usd =
                price(l->price_cached_usd < 0 ? l->price_input_usd : l->price_cached_usd) * times,
            .written_usd = vq_run_pool_written_usd(u) * times,
            .output_usd = price(l->price_output_usd) * times,
            .window_ms = l->window_s * 1000,
            .connect_timeout_ms = u->connect_timeout_ms,
            .first_byte_timeout_ms = u->first_byte_timeout_ms,
            .total_timeout_ms = u->total_timeout_ms,
            .service_tier = vq_span_str(l->service_tier == NULL ? "" : l->service_tier),
            .tier_price = vq_tier_price(l),
            .tier_tries = l->service_tier_tries,
            .batch_calls = gathers ? batch.requests : 0,
            .batch_bytes = batch.bytes < BATCH_BYTES_MAX ? batch.bytes : BATCH_BYTES_MAX,
            .batch_wait_ms = gathers ? u->batch->wait_s * 1000 : 0,
            .batch_poll_ms = gathers ? u->batch->poll_s * 1000 : 0};
        for (uint32_t k = 0; k < u->keys_count; k++) {
            *key++ = vq_span_str(u->keys[k]);
        }
    }
    *ret_list = list;
    *ret_keys = keys;
    return VQ_OK;
}

void vq_run_pools_limits(const struct vq_conf_use *use, struct vq_authority_pool *ret_pool)
{
    const struct vq_conf_limits *l = &use->limits;
    double input_usd = fmax(price(l->price_input_usd), price(l->price_cached_usd));
    double tier = fmax(vq_tier_price(l), 1);
    uint32_t calls = (uint32_t)floor(l->limit.concurrency * l->share);
    *ret_pool = (struct vq_authority_pool){
        .name = use->name,
        .model = use->sent,
        .account = use->account,
        .share = l->share,
        .limit = {.rates = vq_rates_part(&l->limit.rates, l->share),
                  .concurrency = l->limit.concurrency > 0 && calls == 0 ? 1 : calls},
        .day_requests = (uint64_t)((double)l->requests_per_day * l->share),
        .day_tokens = (uint64_t)((double)l->tokens_per_day * l->share),
        .priced = true, /* without a price it costs nothing, also by its worker's count */
        .input_nano = input_usd * tier * NANO_A_TOKEN,
        .output_nano = price(l->price_output_usd) * tier * NANO_A_TOKEN,
        .window_ms = l->window_s * 1000};
}
