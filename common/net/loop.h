/* The event loop: one per process. One thread runs it and owns all state; only that thread may call
 * these functions. The `work` function of vq_loop_work runs in other threads.
 *
 * A turn has a fixed order, so that the messages of a peer are read before a deadline fires, even
 * after this process was suspended: 1. sockets, calls, finished work, signals, children; 2. frames
 * of ZeroMQ sockets; 3. due timers; 4. deferred functions; 5. the turn hook, the place to commit;
 * 6. sleep until something happens. */
#pragma once

#include "common/base/list.h"
#include "common/base/status.h"

struct vq_loop;

enum vq_status vq_loop_create(struct vq_loop **ret_loop, struct vq_error *err) VQ_WARN_UNUSED;
/* Everything that was created on the loop must be destroyed first. Waits for running work of the
 * thread pool and calls its done functions. *loop may be NULL. */
void vq_loop_destroy(struct vq_loop **loop);

/* Runs turns until vq_loop_stop; returns at once if that was called before. VQ_OK. */
enum vq_status vq_loop_run(struct vq_loop *loop) VQ_WARN_UNUSED;
void vq_loop_stop(struct vq_loop *loop); /* after this turn */
/* Runs turns until `done(ctx)` is true (VQ_OK; checked after each turn), timeout_ms have passed
 * (VQ_TIMEOUT), or the loop is stopped (VQ_AGAIN). For start, stop and tests. */
enum vq_status vq_loop_run_until(struct vq_loop *loop, bool (*done)(void *ctx), void *ctx,
                                 uint32_t timeout_ms) VQ_WARN_UNUSED;

/* Sets the hook of step 5, one per loop; NULL removes it. The hook may send, start calls and work,
 * and defer functions. */
void vq_loop_on_turn(struct vq_loop *loop, void (*hook)(void *ctx), void *ctx);
/* Skips the next sleep, because there is more to do. */
void vq_loop_again(struct vq_loop *loop);

/* ---- timers ---- */

struct vq_timer;
enum vq_status vq_timer_create(struct vq_loop *loop, void (*fire)(void *ctx), void *ctx,
                               struct vq_timer **ret_timer) VQ_WARN_UNUSED;
/* Fires once after first_ms, then every repeat_ms (0: once). Restarts a running timer. A
 * repeating timer that is late fires once and continues from now: it does not catch up. */
void vq_timer_start(struct vq_timer *timer, uint64_t first_ms, uint64_t repeat_ms);
/* Fires once when the monotonic clock reaches due_ns; INT64_MAX stops it. */
void vq_timer_start_at(struct vq_timer *timer, int64_t due_ns);
void vq_timer_stop(struct vq_timer *timer);
bool vq_timer_is_running(const struct vq_timer *timer);
/* May be called from its own callback. The timer never fires afterwards. */
void vq_timer_destroy(struct vq_timer **timer);

/* ---- deferred functions ---- */

/* A member of its owner's struct, zeroed at first. The owner sets fn and ctx; the other members are
 * the loop's. */
struct vq_deferred {
    void (*fn)(void *ctx);
    void *ctx;
    struct vq_link link; /* while it is queued */
};

/* Runs the function once in step 4: of this turn if called from steps 1 to 3, else of the next. No
 * effect if it is already queued. Cannot fail. */
void vq_loop_defer(struct vq_loop *loop, struct vq_deferred *deferred);
void vq_deferred_cancel(struct vq_deferred *deferred);

/* ---- the thread pool ---- */

/* `work` runs in a thread of the pool, then `done` on the loop: each exactly once. Until `done`,
 * the memory that ctx points to belongs to `work`. VQ_NOMEM: neither runs. */
enum vq_status vq_loop_work(struct vq_loop *loop, void (*work)(void *ctx), void (*done)(void *ctx),
                            void *ctx) VQ_WARN_UNUSED;

/* ---- statistics ---- */

struct vq_loop_stats {
    uint64_t turns;
    int64_t busy_ns;     /* total time outside sleep */
    int64_t busy_ns_max; /* the longest turn since the last take: the longest delay of other work */
    /* the largest delay of a timer since the last take, including time in which the process was
     * stopped */
    int64_t late_ns_max;
};

/* Returns the statistics and resets the maxima. */
struct vq_loop_stats vq_loop_stats_take(struct vq_loop *loop);

/* Raises RLIMIT_NOFILE to the hard limit and returns the new limit. For the start of a program. */
uint64_t vq_loop_raise_files(void);
