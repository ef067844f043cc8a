/* Rules 7 and 18: one coordinator holds a pool. Locked is each provider key that workers hold for
 * the pool (identity of the provider and fingerprint): by files under RUNS/pools (pool_file.h), and
 * on a shared Redis also by a key vibeq:pool:HASH, for runs on other machines. A share below 1
 * leaves the rest to runs that take their shares; together they never have more than the whole. A
 * pool is ours while all its keys are. The built-in server needs no lock: do not call
 * vq_pool_locks_want for it. A limit: a shared Redis that lost its data gives a key away at once;
 * the holder learns this with its next renewal. */
#pragma once

#include "common/net/redis.h"
#include "coordinator/pools/authority.h"

#define VQ_POOL_LOCKS_MAX     4096u /* keys of all pools together */
#define VQ_POOL_LOCK_RETRY_NS INT64_C(1000000000)

struct vq_pool_locks;

struct vq_pool_locks_options {
    const char *dir;      /* RUNS/pools; made if needed. Copied */
    const char *run_name; /* copied */
    struct vq_id run;
    struct vq_id nonce; /* of this start of the coordinator */
    uint32_t term_ms;   /* of this run's slices */
    /* NULL: no shared Redis. Borrowed: it outlives the last tick and release */
    struct vq_redis *redis;
    /* Called by tick only: a pool is ours now, is no longer ours, or another run has it now.
     * sentence: which run, and what happens next; NULL if the pool is ours. Fits
     * vq_authority_lock. */
    void (*changed)(void *ctx, uint32_t pool, bool ours, const char *sentence);
    void *ctx;
};

enum vq_status vq_pool_locks_create(const struct vq_pool_locks_options *options,
                                    struct vq_pool_locks **ret_locks) VQ_WARN_UNUSED;

/* Pool (below VQ_AUTHORITY_POOLS_MAX) uses this key (0: it needs none). The next tick takes it. A
 * known key changes nothing, except with a larger share. Pools with the same key are locked
 * together; the largest share counts. A pool is not ours until all its keys are. share: above 0; 1
 * or more: alone. VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_pool_locks_want(struct vq_pool_locks *locks, uint32_t pool, const char *identity,
                                  uint64_t fingerprint, double share) VQ_WARN_UNUSED;
/* Tries keys that are not ours (each once per second), renews those that are, and reports
 * changes. */
void vq_pool_locks_tick(struct vq_pool_locks *locks, int64_t now_ns);
/* The latest time of the next tick; INT64_MIN: now. A reply of the shared Redis makes it
 * earlier. */
int64_t vq_pool_locks_wake_ns(const struct vq_pool_locks *locks);
bool vq_pool_locks_ours(const struct vq_pool_locks *locks, uint32_t pool); /* as last reported */
/* No call of this run is out any more: gives all keys back, without reports. Keys that are wanted
 * afterwards are taken again. Without this call (the process is killed) others wait for the
 * term. */
void vq_pool_locks_release(struct vq_pool_locks *locks);
/* Leaves the keys that were not released as if the process had died now. May be called before or
 * after the connection is closed. */
void vq_pool_locks_destroy(struct vq_pool_locks **locks);
