/* The limits of a call: named pools of keys and models, and one pool for all other calls. The
 * values of --limits are read here. Keys are known only by their fingerprints. */
#pragma once

#include "common/base/hash.h"
#include "common/base/secret.h"
#include "offline/faults/limiter.h"

#define VQ_FINGERPRINT_HEX  VQ_HEX_BYTES(VQ_FINGERPRINT_BYTES)
#define VQ_POOLS_MAX        64
#define VQ_POOL_NAME_BYTES  33
#define VQ_POOL_MEMBERS_MAX 32
#define VQ_POOL_MODEL_BYTES 128
#define VQ_POOL_LABEL_BYTES (VQ_POOL_NAME_BYTES + VQ_FINGERPRINT_HEX + VQ_POOL_MODEL_BYTES)
#define VQ_POOL_FALLBACK    "default"

struct vq_pool {
    char name[VQ_POOL_NAME_BYTES];
    char keys[VQ_POOL_MEMBERS_MAX][VQ_FINGERPRINT_HEX]; /* none: any */
    size_t keys_n;
    char models[VQ_POOL_MEMBERS_MAX][VQ_POOL_MODEL_BYTES]; /* none: any */
    size_t models_n;
    struct vq_limits limits;
    struct vq_limiter *limiter; /* owned; NULL: there are no limits */
};

/* All zeros is a set without limits. */
struct vq_pools {
    struct vq_pool *list[VQ_POOLS_MAX]; /* owned; a call belongs to the first pool that it fits */
    size_t n;
    struct vq_pool fallback; /* for calls that fit no other; its limits are per key by default */
};

/* "rpm=600,tpm=90000,..." for the fallback, "NAME:keys=K+K,models=M+M,rpm=600,..." for a pool. A
 * key is a fingerprint, env:NAME or file:PATH. VQ_INVALID with a sentence that contains no key;
 * VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_pools_add(struct vq_pools *pools, const char *text,
                            struct vq_error *err) VQ_WARN_UNUSED;
void vq_pools_free(struct vq_pools *pools);

/* `key_hex` "" without a key. Never NULL. */
struct vq_pool *vq_pools_find(struct vq_pools *pools, const char *key_hex, const char *model);
bool vq_pool_is_named(const struct vq_pool *pool);

/* The name of a set of counters: "NAME", "NAME/model", "default/0123456789abcdef" ... into
 * VQ_POOL_LABEL_BYTES. */
void vq_pool_label(const struct vq_pool *pool, const char *key_hex, const char *model,
                   char *ret_label);

/* Reads "env:NAME", "file:PATH" or a fingerprint; returns the fingerprint. */
enum vq_status vq_pool_key_of(const char *reference, char ret_hex[VQ_FINGERPRINT_HEX],
                              struct vq_error *err) VQ_WARN_UNUSED;
