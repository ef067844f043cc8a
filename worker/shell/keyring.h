/* API keys of this process: loaded once by reference, kept in locked memory, found by pool. */
#pragma once

#include "common/base/secret.h"
#include "worker/shell/options.h"

#define VQ_KEYRING_MAX 512

struct vq_keyring;

enum vq_status vq_keyring_create(const struct vq_worker_options *options,
                                 struct vq_keyring **ret_ring) VQ_WARN_UNUSED;
void vq_keyring_destroy(struct vq_keyring **ring);

/* Loads every --key now, so that its environment variables can go; a missing one is an error that
 * names it. */
enum vq_status vq_keyring_load(struct vq_keyring *ring, struct vq_error *err) VQ_WARN_UNUSED;
/* The name of a --key that is none of these; NULL: all are. */
const char *vq_keyring_stray(const struct vq_keyring *ring, const char *const *names, size_t count);

/* The keys of a pool: by --key with its name, else by --key with the name of one of its judges,
 * else by the run's hints. The secrets are the ring's; `ret_secrets` has room for VQ_WIRE_KEYS_MAX.
 * VQ_OK and none: the pool needs none. An environment variable is taken out of the environment when
 * it was read. A worker from elsewhere follows hints only to variables of --allow-env. Of several,
 * those that cannot be had are left out: *err says the first one's reason. None of them can be had:
 * VQ_NOT_FOUND, VQ_DENIED, VQ_INVALID with a sentence for people. */
struct vq_keyring_pool {
    const char *name;
    const char *const *judges; /* that it serves */
    uint32_t judges_count;
    const char *const *hints;
    uint32_t hints_count;
};
enum vq_status vq_keyring_find(struct vq_keyring *ring, const struct vq_keyring_pool *pool,
                               const struct vq_secret **ret_secrets, uint32_t *ret_count,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* The reference of a secret of vq_keyring_find, if it was not asked about with this host before;
 * else NULL. */
const char *vq_keyring_first_use(struct vq_keyring *ring, const struct vq_secret *secret,
                                 struct vq_span host);
