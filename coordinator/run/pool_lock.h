/* Rules 7 and 18: a pool is held by one coordinator. What is locked is each provider key that
 * workers hold for it (identity of the provider and fingerprint): by files under RUNS/pools
 * (pool_file.h), and besides, on a shared Redis, by a key vibeq:pool:HASH for runs on other
 * machines. A share below 1 leaves the rest to runs that take theirs; together they never have more
 * than the whole. A pool is ours while all its keys are. The built-in server needs no lock: want
 * nothing for it. What it cannot know: a shared Redis that lost its data gives a key away at once;
 * the holder learns it with its next renewal. */
#pragma once

#include "common/net/redis.h"
#include "coordinator/pools/authority.h"

#define VQ_POOL_LOCKS_MAX     4096u /* keys of all pools together */
#define VQ_POOL_LOCK_RETRY_NS INT64_C(1000000000)

struct vq_pool_locks;

struct vq_pool_locks_options {
    const char *dir;      /* RUNS/pools; made when it is needed. Copied */
    const char *run_name; /* copied */
    struct vq_id run;
    struct vq_id nonce; /* of this start of the coordinator */
    uint32_t term_ms;   /* of this run's slices */
    /* NULL: no shared one. Borrowed: it outlives the last tick and release */
    struct vq_redis *redis;
    /* From tick alone: whether the pool is ours has changed, or which run has it. sentence: which
     * run, and what happens next; NULL when it is ours. Good for vq_authority_lock. */
    void (*changed)(void *ctx, uint32_t pool, bool ours, const char *sentence);
    void *ctx;
};

enum vq_status vq_pool_locks_create(const struct vq_pool_locks_options *options,
                                    struct vq_pool_locks **ret_locks) VQ_WARN_UNUSED;

/* Pool (below VQ_AUTHORITY_POOLS_MAX) is used with this key (0: it needs none). Takes nothing: the
 * next tick does. Known ones change nothing, but for a larger share. Pools with the same key are
 * locked together; the largest share counts. Until all its keys are there, a pool is not ours.
 * share: above 0; 1 or more: alone. VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_pool_locks_want(struct vq_pool_locks *locks, uint32_t pool, const char *identity,
                                  uint64_t fingerprint, double share) VQ_WARN_UNUSED;
/* Tries what is not ours (each once a second), renews what is, and says what has changed. */
void vq_pool_locks_tick(struct vq_pool_locks *locks, int64_t now_ns);
/* When the next tick is due at the latest; INT64_MIN: now. A reply of the shared Redis makes it
 * earlier. */
int64_t vq_pool_locks_wake_ns(const struct vq_pool_locks *locks);
bool vq_pool_locks_ours(const struct vq_pool_locks *locks, uint32_t pool); /* as reported last */
/* Nothing of this run is out any more: gives all back, says nothing. What is wanted afterwards is
 * taken again. Without it (the process is killed) others wait until the term is over. */
void vq_pool_locks_release(struct vq_pool_locks *locks);
/* Keeps what was not released as if the process had died here. May be called before or after the
 * connection's end. */
void vq_pool_locks_destroy(struct vq_pool_locks **locks);
