/* API keys of this process: loaded once by reference, kept in locked memory, found by judge. */
#ifndef VQ_WORKER_KEYRING_H
#define VQ_WORKER_KEYRING_H

#include "common/base/secret.h"
#include "worker/shell/options.h"

#define VQ_KEYRING_MAX 512

struct vq_keyring;

enum vq_status vq_keyring_create(const struct vq_worker_options *options,
                                 struct vq_keyring **ret_ring) VQ_WARN_UNUSED;
void vq_keyring_destroy(struct vq_keyring **ring);

/* Loads every --key now, so that its environment variables can go; a missing one is an error that names it. */
enum vq_status vq_keyring_load(struct vq_keyring *ring, struct vq_error *err) VQ_WARN_UNUSED;
/* The name of a --key that is none of these judges; NULL: all are. */
const char *vq_keyring_stray(const struct vq_keyring *ring, const char *const *judges,
                             size_t count);

/* The key of a judge: by --key, else by the run's `hint`. *ret_secret is the ring's; NULL: the judge needs none. An
 * environment variable is taken out of the environment when it was read. VQ_NOT_FOUND, VQ_DENIED, VQ_INVALID with a
 * sentence for people. */
enum vq_status vq_keyring_find(struct vq_keyring *ring, const char *judge, const char *hint,
                               const struct vq_secret **ret_secret,
                               struct vq_error *err) VQ_WARN_UNUSED;

#endif
