/* The destination of this worker's calls: for each pool of the SPEC the dialect, the address and
 * the keys. Both the caller and the batcher use it. */
#pragma once

#include "common/net/loop.h"
#include "proto/wire.h"
#include "worker/core/work.h"
#include "worker/provider/provider.h"
#include "worker/shell/keyring.h"

struct vq_shell_pools;

struct vq_shell_key {
    const struct vq_secret *secret;
    bool refused;
};

/* For reading. It lives as long as vq_shell_pools; `at` only while its SPEC is in force. */
struct vq_shell_pool {
    const struct vq_work_endpoint *at;
    char name[VQ_WIRE_NAME_BYTES_MAX + 1];
    const struct vq_provider *provider; /* NULL: closed */
    bool embeds;                        /* its stage embeds texts */
    bool shares;                        /* its calls come in groups with a common prefix */
    bool fewer_keys;                    /* the core does not know yet */
    struct vq_shell_key *keys;
    uint32_t keys_count; /* 0: no key is sent */
    uint32_t turn;
    struct vq_buf url;                   /* of a single call */
    char model[VQ_REPLY_NAME_BYTES_MAX]; /* for messages: cut */
    char why[VQ_ERROR_BYTES_MAX];        /* the problem of the pool, or of one of its keys */
};

/* `key` is called from the loop when a key was refused and the pool continues with others; and from
 * vq_shell_pools_take. */
struct vq_shell_pools_options {
    struct vq_loop *loop;
    struct vq_keyring *keys;
    bool announce_keys; /* the log names each key and the host that it is sent to */
    void (*key)(void *ctx, const struct vq_work_key *key);
    void *ctx;
};
enum vq_status vq_shell_pools_create(const struct vq_shell_pools_options *options,
                                     struct vq_shell_pools **ret_pools) VQ_WARN_UNUSED;
void vq_shell_pools_destroy(struct vq_shell_pools **pools);

/* Prepares the pools of a SPEC (borrowed until the next one). Calls `key` for each. A key that was
 * refused before stays refused. VQ_NOMEM. */
enum vq_status vq_shell_pools_take(struct vq_shell_pools *pools,
                                   const struct vq_work_spec *spec) VQ_WARN_UNUSED;

/* A pool of the SPEC in force; NULL: no pool has this number or name. */
struct vq_shell_pool *vq_shell_pools_at(const struct vq_shell_pools *pools, uint32_t p);
struct vq_shell_pool *vq_shell_pools_named(const struct vq_shell_pools *pools, struct vq_span name);

/* The next good key in turn, or the first good one; NULL: the pool needs no key. false: the pool
 * has keys, but none is good. */
bool vq_shell_pool_key(struct vq_shell_pool *pool, bool in_turn,
                       const struct vq_secret **ret_secret);
/* Reports the pool's keys to the core again, from the loop. */
void vq_shell_pools_report(struct vq_shell_pools *pools, struct vq_shell_pool *pool);
/* The certificates to trust: `given`, or the file of SSL_CERT_FILE; NULL: the system's. */
const char *vq_shell_ca_file(const char *given);
/* The provider refused this key; true: the pool continues with another one. */
bool vq_shell_pools_refused(struct vq_shell_pools *pools, struct vq_shell_pool *pool,
                            const struct vq_secret *secret, const char *why);
