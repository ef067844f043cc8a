/* Pools of keys and models, each with limits and the counters of its accounts. Invariants: names
 * are different; the bytes of a key are read only to make its fingerprint. Not its job: the meaning
 * of limits (limits.c), counting (limiter.c). */
#include "offline/faults/pools.h"

#include "common/base/alloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum vq_status vq_pool_key_of(const char *reference, char ret_hex[VQ_FINGERPRINT_HEX],
                              struct vq_error *err)
{
    uint8_t print[VQ_FINGERPRINT_BYTES];
    struct vq_secret *secret = NULL;
    if (strchr(reference, ':') != NULL) {
        VQ_TRY(vq_secret_load(reference, &secret, err));
        vq_secret_fingerprint(secret, print);
        vq_secret_destroy(&secret);
    } else if (vq_unhex(vq_span_str(reference), print, sizeof(print)) != VQ_OK) {
        /* The value may be a key, given by mistake, so the message does not repeat it. */
        return vq_fail(err, VQ_INVALID,
                       "a key must be env:NAME, file:PATH or a fingerprint of %d hex digits",
                       2 * VQ_FINGERPRINT_BYTES);
    }
    vq_hex(print, sizeof(print), ret_hex);
    return VQ_OK;
}

static enum vq_status add_key(struct vq_pool *pool, const char *reference, struct vq_error *err)
{
    if (pool->keys_n == VQ_POOL_MEMBERS_MAX) {
        return vq_fail(err, VQ_LIMIT, "at most %d keys in a pool", VQ_POOL_MEMBERS_MAX);
    }
    VQ_TRY(vq_pool_key_of(reference, pool->keys[pool->keys_n], err));
    pool->keys_n++;
    return VQ_OK;
}

static enum vq_status add_model(struct vq_pool *pool, const char *name, struct vq_error *err)
{
    if (pool->models_n == VQ_POOL_MEMBERS_MAX || strlen(name) >= VQ_POOL_MODEL_BYTES) {
        return vq_fail(err, VQ_LIMIT, "at most %d models of under %d bytes in a pool",
                       VQ_POOL_MEMBERS_MAX, VQ_POOL_MODEL_BYTES);
    }
    (void)snprintf(pool->models[pool->models_n++], VQ_POOL_MODEL_BYTES, "%s", name);
    return VQ_OK;
}

static enum vq_status add_members(struct vq_pool *pool, char *list,
                                  enum vq_status (*add)(struct vq_pool *, const char *,
                                                        struct vq_error *),
                                  struct vq_error *err)
{
    char *rest = NULL;
    for (char *member = strtok_r(list, "+", &rest); member != NULL;
         member = strtok_r(NULL, "+", &rest)) {
        VQ_TRY(add(pool, member, err));
    }
    return VQ_OK;
}

static enum vq_status set_pair(struct vq_pool *pool, char *pair, struct vq_error *err)
{
    char *value = strchr(pair, '=');
    if (value != NULL) {
        *value++ = '\0';
    }
    bool is_key = value != NULL && strcmp(pair, "keys") == 0;
    bool is_model = value != NULL && strcmp(pair, "models") == 0;
    if ((is_key || is_model) && vq_pool_is_named(pool)) {
        return add_members(pool, value, is_key ? add_key : add_model, err);
    }
    if (value == NULL || vq_limits_set(&pool->limits, pair, value) != VQ_OK) {
        return vq_fail(err, VQ_INVALID,
                       "\"%s\" is not a limit, or its value is none; write for example "
                       "rpm=60,tpm=90000,concurrency=4,window_ms=60000,per=key",
                       is_key ? "keys" : pair);
    }
    return VQ_OK;
}

static enum vq_status fill_pool(struct vq_pool *pool, char *pairs, struct vq_error *err)
{
    char *rest = NULL;
    for (char *pair = strtok_r(pairs, ",", &rest); pair != NULL;
         pair = strtok_r(NULL, ",", &rest)) {
        VQ_TRY(set_pair(pool, pair, err));
    }
    VQ_TRY(vq_limits_finish(&pool->limits, err));
    return vq_limits_any(&pool->limits) ? vq_limiter_create(&pool->limits, &pool->limiter) : VQ_OK;
}

bool vq_pool_is_named(const struct vq_pool *pool)
{
    return pool->name[0] != '\0';
}

static bool is_name(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || (text[n] != '\0' && strchr("-_.", text[n]) != NULL)) {
        n++;
    }
    return n > 0 && n < VQ_POOL_NAME_BYTES && text[n] == '\0' &&
           strcmp(text, VQ_POOL_FALLBACK) != 0;
}

static enum vq_status add_named(struct vq_pools *pools, const char *name, char *pairs,
                                struct vq_error *err)
{
    for (size_t i = 0; i < pools->n; i++) {
        if (strcmp(pools->list[i]->name, name) == 0) {
            return vq_fail(err, VQ_INVALID, "the pool %s is there already", name);
        }
    }
    if (!is_name(name) || pools->n == VQ_POOLS_MAX) {
        return vq_fail(err, VQ_INVALID,
                       "at most %d pools, each with a name of under %d letters, digits and -_. "
                       "that is not \"" VQ_POOL_FALLBACK "\"",
                       VQ_POOLS_MAX, VQ_POOL_NAME_BYTES);
    }
    struct vq_pool *pool;
    VQ_TRY(VQ_ALLOC(pool, 1));
    (void)snprintf(pool->name, sizeof(pool->name), "%s", name);
    vq_limits_init(&pool->limits);
    pool->limits.per_key = false; /* the keys of one account share its limits */
    enum vq_status status = fill_pool(pool, pairs, err);
    if (status != VQ_OK) {
        vq_limiter_destroy(&pool->limiter);
        vq_free(pool);
        return status;
    }
    pools->list[pools->n++] = pool;
    return VQ_OK;
}

static enum vq_status set_fallback(struct vq_pools *pools, char *pairs, struct vq_error *err)
{
    struct vq_pool pool = {.name = ""};
    vq_limits_init(&pool.limits);
    VQ_TRY(fill_pool(&pool, pairs, err));
    vq_limiter_destroy(&pools->fallback.limiter);
    pools->fallback = pool;
    return VQ_OK;
}

enum vq_status vq_pools_add(struct vq_pools *pools, const char *text, struct vq_error *err)
{
    char *copy;
    VQ_TRY(vq_copy(text, &copy));
    size_t name_bytes = strcspn(copy, ":=,");
    enum vq_status status = VQ_OK;
    if (copy[name_bytes] == ':') {
        copy[name_bytes] = '\0';
        status = add_named(pools, copy, copy + name_bytes + 1, err);
    } else {
        status = set_fallback(pools, copy, err);
    }
    vq_free(copy);
    return status;
}

void vq_pools_free(struct vq_pools *pools)
{
    for (size_t i = 0; i < pools->n; i++) {
        vq_limiter_destroy(&pools->list[i]->limiter);
        vq_free(pools->list[i]);
    }
    vq_limiter_destroy(&pools->fallback.limiter);
    *pools = (struct vq_pools){.n = 0};
}

static bool fits(const struct vq_pool *pool, const char *key_hex, const char *model)
{
    bool key_fits = pool->keys_n == 0;
    for (size_t i = 0; i < pool->keys_n && !key_fits; i++) {
        key_fits = strcmp(pool->keys[i], key_hex) == 0;
    }
    bool model_fits = pool->models_n == 0;
    for (size_t i = 0; i < pool->models_n && !model_fits; i++) {
        model_fits = strcmp(pool->models[i], model) == 0;
    }
    return key_fits && model_fits;
}

struct vq_pool *vq_pools_find(struct vq_pools *pools, const char *key_hex, const char *model)
{
    for (size_t i = 0; i < pools->n; i++) {
        if (fits(pools->list[i], key_hex, model)) {
            return pools->list[i];
        }
    }
    return &pools->fallback;
}

void vq_pool_label(const struct vq_pool *pool, const char *key_hex, const char *model,
                   char *ret_label)
{
    bool by_key = pool->limits.per_key && key_hex[0] != '\0';
    bool by_model = pool->limits.per_model;
    (void)snprintf(ret_label, VQ_POOL_LABEL_BYTES, "%s%s%s%s%s",
                   vq_pool_is_named(pool) ? pool->name : VQ_POOL_FALLBACK, by_key ? "/" : "",
                   by_key ? key_hex : "", by_model ? "/" : "", by_model ? model : "");
}
