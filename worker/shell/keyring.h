/* API keys of this process: loaded once by reference, stored in locked memory, found by pool. */
#pragma once

#include "common/base/secret.h"
#include "worker/shell/options.h"

#define VQ_KEYRING_MAX 512

struct vq_keyring;

enum vq_status vq_keyring_create(const struct vq_worker_options *options,
                                 struct vq_keyring **ret_ring) VQ_WARN_UNUSED;
void vq_keyring_destroy(struct vq_keyring **ring);

/* Loads every --key now, so that its environment variables can be removed. If a key is missing, the
 * error names it. */
enum vq_status vq_keyring_load(struct vq_keyring *ring, struct vq_error *err) VQ_WARN_UNUSED;
/* The name of a --key that is not in `names`; NULL: all are. */
const char *vq_keyring_stray(const struct vq_keyring *ring, const char *const *names, size_t count);

/* The keys of a pool: by --key with its name, else by --key with the name of one of its judges,
 * else by the run's hints. The ring owns the secrets; `ret_secrets` has room for VQ_WIRE_KEYS_MAX.
 * VQ_OK and none: the pool needs no key. An environment variable is removed from the environment
 * after it was read. A worker on another machine follows hints only to variables of --allow-env.
 * Keys that cannot be loaded are left out, and *err has the reason for the first one. If none can
 * be loaded: VQ_NOT_FOUND, VQ_DENIED, VQ_INVALID with a sentence for people. */
struct vq_keyring_pool {
    const char *name;
    const char *const *judges; /* the judges that the pool serves */
    uint32_t judges_count;
    const char *const *hints;
    uint32_t hints_count;
};
enum vq_status vq_keyring_find(struct vq_keyring *ring, const struct vq_keyring_pool *pool,
                               const struct vq_secret **ret_secrets, uint32_t *ret_count,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* The reference of a secret of vq_keyring_find at the first call with this host; NULL at later
 * ones. */
const char *vq_keyring_first_use(struct vq_keyring *ring, const struct vq_secret *secret,
                                 struct vq_span host);
