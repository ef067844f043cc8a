/* A run's state in Redis: who owns it, the number of the last commit, and of the stage that goes on
 * one byte a task and a tally by outcome. All of it can be rebuilt from the call store. Keys, RUN
 * being NAME.UID8:
 *   vibeq:{RUN}:owner         uid, epoch, nonce in hex
 *   vibeq:{RUN}:commit        STAGE:n; absent while the columns are being filled
 *   vibeq:{RUN}:tally         outcome -> tasks
 *   vibeq:{RUN}:columns       the names of the blocks
 *   vibeq:{RUN}:STAGE:BLOCK   outcomes of VQ_STATE_BLOCK_TASKS tasks each
 * Redis holds the columns of one stage. Each stage has a state of its own on the same connection:
 * what it finds of another stage makes begin say rebuild, and its wipe removes that. n goes on
 * counting from stage to stage.
 *
 * Each write is one script that checks owner and n first. Asynchronous on the loop; every operation
 * calls back exactly once, also when the state is destroyed (VQ_UNAVAILABLE), never from inside the
 * call that started it.
 *
 * Statuses of every callback: VQ_OK. VQ_UNAVAILABLE: Redis is away or too slow, whether it was
 * done is unknown: pause, begin again when it is back. VQ_STALE: another coordinator owns the
 * run: stop. VQ_CORRUPT: Redis holds something else than was written (a lost tail, a flushed
 * server): begin again, which says rebuild. */
#pragma once

#include "coordinator/store/calls/commit.h"

#define VQ_STATE_BLOCK_TASKS (1u << 20)
#define VQ_STATE_FILL_MAX    (1u << 20) /* tasks in one vq_run_state_fill */

struct vq_loop;
struct vq_redis;
struct vq_run_state;

struct vq_owner {
    struct vq_id uid;
    uint64_t epoch;
    struct vq_id nonce;
};

/* `redis` is borrowed and outlives the state, and was made on `loop`; `run_name` is copied; `tasks`
 * of the stage. */
enum vq_status vq_run_state_create(struct vq_loop *loop, struct vq_redis *redis,
                                   const char *run_name, const struct vq_owner *mine,
                                   uint32_t stage, uint64_t tasks, struct vq_run_state **ret_state,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_run_state_destroy(struct vq_run_state **state);

enum vq_sync {
    VQ_SYNC_EQUAL,   /* Redis is at n: go on */
    VQ_SYNC_BEHIND,  /* Redis is at n - 1: apply commit n, if it is still at hand, else rebuild */
    VQ_SYNC_REBUILD, /* wipe, fill, fill_end */
};

typedef void (*vq_state_done_fn)(void *ctx, enum vq_status status, const char *text);
typedef void (*vq_state_sync_fn)(void *ctx, enum vq_status status, enum vq_sync sync,
                                 const char *text);
/* `outcomes`: one byte a task, borrowed for the call. */
typedef void (*vq_state_read_fn)(void *ctx, enum vq_status status, const uint8_t *outcomes,
                                 uint64_t tasks, const char *text);

/* At the start and after every reconnection: compares Redis with the ledger and takes the run
 * over from `before` (the owner of the previous start, NULL: none) when they agree. Nothing else
 * may be written before this said so. */
void vq_run_state_begin(struct vq_run_state *state, const struct vq_owner *before, uint64_t n,
                        vq_state_sync_fn done, void *ctx);
/* Rebuild: wipe makes this run's keys again, owned by me; fill puts outcomes of tasks
 * first..first+count-1 (each task at most once), fill_end sets n. A crash in between leaves no
 * n, so that the next begin says rebuild. */
void vq_run_state_wipe(struct vq_run_state *state, vq_state_done_fn done, void *ctx);
void vq_run_state_fill(struct vq_run_state *state, uint64_t first, const uint8_t *outcomes,
                       uint32_t count, vq_state_done_fn done, void *ctx);
void vq_run_state_fill_end(struct vq_run_state *state, uint64_t n, vq_state_done_fn done,
                           void *ctx);
/* The Redis half of commit n. Applying it twice does nothing the second time. `standing` names each
 * task at most once, and is copied. */
void vq_run_state_apply(struct vq_run_state *state, uint64_t n, const struct vq_settled *standing,
                        size_t count, vq_state_done_fn done, void *ctx);
/* Is the run still mine? For renewals and slices. */
void vq_run_state_check(struct vq_run_state *state, vq_state_done_fn done, void *ctx);
/* The whole stage's column, read together with owner and n. */
void vq_run_state_read(struct vq_run_state *state, uint64_t n, vq_state_read_fn done, void *ctx);
