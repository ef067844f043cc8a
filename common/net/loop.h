/* The event loop: one a process, run by the one thread that owns all state. Everything below is
 * for that thread only, except the `work` function of vq_loop_work.
 *
 * A turn has a fixed order, so that the messages of a peer are read before a deadline fires, also
 * after this process was suspended: 1. sockets, calls, finished work, signals, children; 2. frames
 * of ZeroMQ sockets; 3. due timers; 4. deferred functions; 5. the turn hook, the place to
 * commit; 6. sleep until something happens. */
#pragma once

#include "common/base/status.h"

struct vq_loop;

enum vq_status vq_loop_create(struct vq_loop **ret_loop, struct vq_error *err) VQ_WARN_UNUSED;
/* Everything made on the loop must have been destroyed before; waits for work that still runs in
 * the thread pool (its done functions run). NULL inside is fine. */
void vq_loop_destroy(struct vq_loop **loop);

/* Turns until vq_loop_stop; a stop before the run ends it at once. VQ_OK. */
enum vq_status vq_loop_run(struct vq_loop *loop) VQ_WARN_UNUSED;
void vq_loop_stop(struct vq_loop *loop); /* after this turn */
/* Turns until `done(ctx)` holds (VQ_OK; asked after each turn) or timeout_ms have passed
 * (VQ_TIMEOUT) or the loop was stopped (VQ_AGAIN). For starting, stopping and tests. */
enum vq_status vq_loop_run_until(struct vq_loop *loop, bool (*done)(void *ctx), void *ctx,
                                 uint32_t timeout_ms) VQ_WARN_UNUSED;

/* The hook of step 5; one a loop, NULL takes it away. It may send, start calls and work, and
 * defer. */
void vq_loop_on_turn(struct vq_loop *loop, void (*hook)(void *ctx), void *ctx);
/* The next sleep is skipped: there is more to do. */
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
/* Also from its own callback. It never fires afterwards. */
void vq_timer_destroy(struct vq_timer **timer);

/* ---- deferred functions ---- */

/* Lives in its owner's struct; set fn and ctx, the rest is the loop's. Zero-initialise. */
struct vq_deferred {
    void (*fn)(void *ctx);
    void *ctx;
    struct vq_deferred *next;
    struct vq_deferred *prev;
    bool queued;
};

/* Runs it once in step 4, of this turn when called from steps 1 to 3, else of the next. Queued
 * already: nothing. Cannot fail. */
void vq_loop_defer(struct vq_loop *loop, struct vq_deferred *deferred);
void vq_deferred_cancel(struct vq_loop *loop, struct vq_deferred *deferred);

/* ---- the thread pool ---- */

/* `work` runs in a thread of the pool, then `done` on the loop: each exactly once. What ctx
 * points to belongs to `work` in between. VQ_NOMEM: neither runs. */
enum vq_status vq_loop_work(struct vq_loop *loop, void (*work)(void *ctx), void (*done)(void *ctx),
                            void *ctx) VQ_WARN_UNUSED;

/* ---- how the loop is doing ---- */

struct vq_loop_stats {
    uint64_t turns;
    int64_t busy_ns;     /* time outside sleep, altogether */
    int64_t busy_ns_max; /* the longest turn since the last take: what others had to wait */
    int64_t late_ns_max; /* the latest a timer fired since the last take: a stopped process too */
};

/* Reads the numbers and begins new maxima. */
struct vq_loop_stats vq_loop_stats_take(struct vq_loop *loop);

/* RLIMIT_NOFILE up to the hard limit; returns what it is now. At the start of a program. */
uint64_t vq_loop_raise_files(void);
