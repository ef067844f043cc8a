/* The pools of a configuration: what each provider's limits belong to, and which of them serve which model that is asked. A `pools`
 * entry is an account: each of its models is one pool. A judge (or any other role) that names an endpoint of its own is one too; two
 * roles with the same endpoint, model as sent and key are one pool, whose limits are the lower ones. The list's order depends on the
 * configuration alone, so that it is the same in all stages. Pure; reads no key. */
#ifndef VQ_CONF_POOLS_H
#define VQ_CONF_POOLS_H

#include "common/conf/config.h"

#define VQ_POOLS_MAX     256u
#define VQ_POOL_KEYS_MAX 64u

struct
    vq_conf_use { /* a pool as it is used; everything is borrowed from the configuration but `name` */
    char *
        name; /* owned: the account's, and "/model" behind it where it has more than one; a judge's own */
    const char *model; /* as judges name it */
    const char *sent;  /* as this provider calls it */
    const char *dialect;
    const char *base_url;    /* NULL: the built-in server */
    const char *api_version; /* NULL: none */
    const char *identity;    /* as given; NULL: host and path of base_url */
    const char *const *keys; /* references; keys_count of them */
    uint32_t keys_count;
    double share; /* of the limits, for this run: 0 < share <= 1 */
    double requests_per_minute, input_tokens_per_minute, output_tokens_per_minute,
        tokens_per_minute;                     /* 0: unknown; share not taken off */
    uint64_t requests_per_day, tokens_per_day; /* 0: none */
    uint32_t concurrency;                      /* 0: unknown */
    uint32_t window_s;                         /* 60 */
    double price_input_usd, price_cached_usd,
        price_output_usd;         /* per million; negative: not set; cached not set: as input */
    const char *max_tokens_field; /* NULL: the judge's */
    bool refuses_temperature, refuses_seed;
    uint32_t connect_timeout_ms, first_byte_timeout_ms, total_timeout_ms;
};

struct vq_conf_uses {
    struct vq_conf_use *uses;
    uint32_t count;
};

/* VQ_NOMEM, VQ_LIMIT (err). A loaded configuration is consistent: every model is served. */
enum vq_status vq_conf_uses_of(const struct vq_config *config, struct vq_conf_uses *ret_uses,
                               struct vq_error *err) VQ_WARN_UNUSED;
void vq_conf_uses_free(struct vq_conf_uses *uses);

/* The pools that may answer for `judge` (of any role), ascending, into ret_pools (room for VQ_POOLS_MAX); how many. */
uint32_t vq_conf_uses_serve(const struct vq_conf_uses *uses, const struct vq_conf_judge *judge,
                            uint32_t *ret_pools);

#endif
