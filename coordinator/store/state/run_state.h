/* A run's state in Redis: its owner, the number of the last commit, and for the present stage one
 * byte per task and a tally by outcome. All of it can be rebuilt from the call store. Keys, RUN
 * being NAME.UID8:
 *   vibeq:{RUN}:owner         uid, epoch, nonce in hex
 *   vibeq:{RUN}:commit        STAGE:n; absent while the columns are being filled
 *   vibeq:{RUN}:tally         outcome -> tasks
 *   vibeq:{RUN}:columns       the names of the blocks
 *   vibeq:{RUN}:STAGE:BLOCK   outcomes of VQ_STATE_BLOCK_TASKS tasks each
 * Redis has the columns of one stage. Each stage has its own state on the same connection: if begin
 * finds data of another stage, it returns "rebuild", and wipe removes that data. n continues from
 * stage to stage.
 *
 * Each write is one script that checks owner and n first. Asynchronous on the loop. Every operation
 * calls back exactly once, also when the state is destroyed (VQ_UNAVAILABLE), and never from inside
 * the call that started it.
 *
 * Statuses of every callback: VQ_OK. VQ_UNAVAILABLE: Redis is unreachable or too slow, and it is
 * unknown whether the operation was done: pause, and call begin again after the reconnection.
 * VQ_STALE: another coordinator owns the run: stop. VQ_CORRUPT: the data in Redis is not what was
 * written (a lost tail, a flushed server): call begin again, which returns "rebuild". */
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

/* `redis` is borrowed, outlives the state, and was created on `loop`; `run_name` is copied;
 * `tasks`: the number of tasks of the stage. */
enum vq_status vq_run_state_create(struct vq_loop *loop, struct vq_redis *redis,
                                   const char *run_name, const struct vq_owner *mine,
                                   uint32_t stage, uint64_t tasks, struct vq_run_state **ret_state,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_run_state_destroy(struct vq_run_state **state);

enum vq_sync {
    VQ_SYNC_EQUAL, /* Redis is at n: continue */
    /* Redis is at n - 1: apply commit n if the caller still has it, otherwise rebuild */
    VQ_SYNC_BEHIND,
    VQ_SYNC_REBUILD, /* wipe, fill, fill_end */
};

typedef void (*vq_state_done_fn)(void *ctx, enum vq_status status, const char *text);
typedef void (*vq_state_sync_fn)(void *ctx, enum vq_status status, enum vq_sync sync,
                                 const char *text);
/* `outcomes`: one byte per task, borrowed during the call. */
typedef void (*vq_state_read_fn)(void *ctx, enum vq_status status, const uint8_t *outcomes,
                                 uint64_t tasks, const char *text);

/* At the start and after every reconnection: compares Redis with the ledger. If they agree, it
 * takes the run over from `before` (the owner of the previous start; NULL: none). No other write
 * may start before its callback. */
void vq_run_state_begin(struct vq_run_state *state, const struct vq_owner *before, uint64_t n,
                        vq_state_sync_fn done, void *ctx);
/* Rebuild: wipe makes this run's keys again, with `mine` as the owner; fill puts the outcomes of
 * tasks first..first+count-1 (each task at most once); fill_end sets n. A crash in between leaves
 * no n, so that the next begin returns "rebuild". */
void vq_run_state_wipe(struct vq_run_state *state, vq_state_done_fn done, void *ctx);
void vq_run_state_fill(struct vq_run_state *state, uint64_t first, const uint8_t *outcomes,
                       uint32_t count, vq_state_done_fn done, void *ctx);
void vq_run_state_fill_end(struct vq_run_state *state, uint64_t n, vq_state_done_fn done,
                           void *ctx);
/* The Redis part of commit n. Applying it a second time does nothing. `standing` names each task at
 * most once, and is copied. */
void vq_run_state_apply(struct vq_run_state *state, uint64_t n, const struct vq_settled *standing,
                        size_t count, vq_state_done_fn done, void *ctx);
/* Whether this coordinator still owns the run. For renewals and slices. */
void vq_run_state_check(struct vq_run_state *state, vq_state_done_fn done, void *ctx);
/* Reads the whole stage's column, together with owner and n. */
void vq_run_state_read(struct vq_run_state *state, uint64_t n, vq_state_read_fn done, void *ctx);
