/* The loop over libuv. libuv runs timers first and does not know ZeroMQ's edges, so this file
 * orders a turn: libuv's poll phase is step 1, a check handle runs steps 2 to 5, and a prepare
 * handle decides whether and how long the loop may sleep. Timers are in a heap of this file;
 * libuv's timer only ends the sleep.
 *
 * Invariants: the heap has room for every timer that exists, so that starting one cannot fail; a
 * callback may destroy its own timer, deferred function or source; other threads touch this state
 * only through libuv's work queue. Not its job: the work of callbacks and their duration, which it
 * only measures. */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/heap.h"
#include "common/net/loop_private.h"

#include <signal.h>
#include <sys/resource.h>

#define TIMERS_MAX    65536
#define CLOSING_TURNS 100 /* closed handles need one or two; more means that one was left open */

struct vq_timer {
    struct vq_loop *loop;
    void (*fire)(void *ctx);
    void *ctx;
    uint64_t repeat_ms;
    /* (time, order): of two with the same due time, the one that was started earlier fires first */
    struct vq_heap_node due;
};

struct vq_loop {
    uv_loop_t uv;
    uv_prepare_t before_sleep;
    uv_check_t after_sleep;
    uv_idle_t awake; /* active: libuv does not sleep */
    uv_timer_t sleep_end;
    struct vq_heap running; /* timers */
    size_t timers;          /* all timers, running or not */
    uint64_t starts;
    struct vq_link sources;
    /* of the current iteration; moves to the next one if its source is removed */
    struct vq_link *next_source;
    struct vq_link deferred;
    void (*hook)(void *ctx);
    void *hook_ctx;
    size_t work_out;
    bool again;
    bool stopping;
    int64_t turn_from_ns;
    uint64_t idle_ns;
    struct vq_loop_stats stats;
};

uv_loop_t *vq_loop_uv(struct vq_loop *loop)
{
    return &loop->uv;
}

void vq_loop_add_source(struct vq_loop *loop, struct vq_source *source)
{
    vq_list_push(loop->sources.next, &source->link); /* the newest is the first */
}

void vq_loop_remove_source(struct vq_loop *loop, struct vq_source *source)
{
    if (loop->next_source == &source->link) {
        loop->next_source = source->link.next;
    }
    vq_unlink(&source->link);
}

/* ---- timers ---- */

enum vq_status vq_timer_create(struct vq_loop *loop, void (*fire)(void *ctx), void *ctx,
                               struct vq_timer **ret_timer)
{
    VQ_TRY(vq_heap_reserve(&loop->running, loop->timers + 1, TIMERS_MAX));
    struct vq_timer *timer;
    VQ_TRY(VQ_ALLOC(timer, 1));
    *timer = (struct vq_timer){.loop = loop, .fire = fire, .ctx = ctx};
    loop->timers++;
    *ret_timer = timer;
    return VQ_OK;
}

static void timer_set(struct vq_timer *timer, uint64_t ms)
{
    struct vq_loop *loop = timer->loop;
    int64_t now = vq_clock_mono_ns();
    uint64_t most = (uint64_t)((INT64_MAX - now) / VQ_NS_PER_MS);
    timer->due.first = ms >= most ? INT64_MAX : now + (int64_t)ms * VQ_NS_PER_MS;
    timer->due.second = loop->starts++;
    vq_heap_push(&loop->running, &timer->due);
}

void vq_timer_start(struct vq_timer *timer, uint64_t first_ms, uint64_t repeat_ms)
{
    vq_timer_stop(timer);
    timer->repeat_ms = repeat_ms;
    timer_set(timer, first_ms);
}

void vq_timer_start_at(struct vq_timer *timer, int64_t due_ns)
{
    if (due_ns == INT64_MAX) {
        vq_timer_stop(timer);
        return;
    }
    int64_t now_ns = vq_clock_mono_ns();
    int64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    vq_timer_start(timer, (uint64_t)((left_ns + VQ_NS_PER_MS - 1) / VQ_NS_PER_MS), 0);
}

void vq_timer_stop(struct vq_timer *timer)
{
    if (vq_timer_is_running(timer)) {
        vq_heap_remove(&timer->loop->running, &timer->due);
    }
}

bool vq_timer_is_running(const struct vq_timer *timer)
{
    return timer->due.place != 0;
}

void vq_timer_destroy(struct vq_timer **timer)
{
    if (*timer != NULL) {
        vq_timer_stop(*timer);
        (*timer)->loop->timers--;
        vq_free(*timer);
        *timer = NULL;
    }
}

static void fire_due(struct vq_loop *loop)
{
    int64_t now = vq_clock_mono_ns();
    struct vq_heap_node *due;
    while ((due = vq_heap_peek(&loop->running)) != NULL && due->first <= now) {
        struct vq_timer *timer = VQ_CONTAINER_OF(due, struct vq_timer, due);
        int64_t late = now - due->first;
        if (late > loop->stats.late_ns_max) {
            loop->stats.late_ns_max = late;
        }
        vq_timer_stop(timer);
        if (timer->repeat_ms > 0) {
            timer_set(timer, timer->repeat_ms);
        }
        timer->fire(timer->ctx); /* may destroy the timer */
    }
}

/* ---- deferred functions ---- */

void vq_loop_defer(struct vq_loop *loop, struct vq_deferred *deferred)
{
    if (!vq_linked(&deferred->link)) {
        vq_list_push(&loop->deferred, &deferred->link);
    }
}

void vq_deferred_cancel(struct vq_deferred *deferred)
{
    vq_unlink(&deferred->link);
}

/* Runs only the functions that are queued now: a function that queues itself again runs in the next
 * turn. */
static void run_deferred(struct vq_loop *loop)
{
    struct vq_link end = {0};
    vq_list_push(&loop->deferred, &end);
    struct vq_link *first;
    while ((first = loop->deferred.next) != &end) {
        struct vq_deferred *deferred = VQ_CONTAINER_OF(first, struct vq_deferred, link);
        vq_unlink(first);
        deferred->fn(deferred->ctx);
    }
    vq_unlink(&end);
}

/* ---- the turn ---- */

static void drain_sources(struct vq_loop *loop)
{
    for (struct vq_link *l = loop->sources.next; l != &loop->sources; l = loop->next_source) {
        loop->next_source = l->next;
        struct vq_source *source = VQ_CONTAINER_OF(l, struct vq_source, link);
        source->drain(source->ctx);
    }
}

static bool any_source_ready(struct vq_loop *loop)
{
    bool ready = false;
    for (struct vq_link *l = loop->sources.next; l != &loop->sources; l = l->next) {
        struct vq_source *source = VQ_CONTAINER_OF(l, struct vq_source, link);
        ready = source->ready(source->ctx) || ready;
    }
    return ready;
}

static void on_after_sleep(uv_check_t *handle)
{
    struct vq_loop *loop = handle->data;
    loop->again = false;
    drain_sources(loop);
    fire_due(loop);
    run_deferred(loop);
    if (loop->hook != NULL) {
        loop->hook(loop->hook_ctx);
    }
    loop->stats.turns++;
}

static void on_sleep_end(uv_timer_t *handle)
{
    (void)handle; /* due timers fire in step 3 */
}

static void on_awake(uv_idle_t *handle)
{
    (void)handle; /* it only has to be active */
}

static void measure_turn(struct vq_loop *loop)
{
    int64_t now = vq_clock_mono_ns();
    uint64_t idle = uv_metrics_idle_time(&loop->uv);
    if (loop->turn_from_ns != 0) {
        int64_t busy = now - loop->turn_from_ns - (int64_t)(idle - loop->idle_ns);
        busy = busy < 0 ? 0 : busy;
        loop->stats.busy_ns += busy;
        if (busy > loop->stats.busy_ns_max) {
            loop->stats.busy_ns_max = busy;
        }
    }
    loop->turn_from_ns = now;
    loop->idle_ns = idle;
}

static void on_before_sleep(uv_prepare_t *handle)
{
    struct vq_loop *loop = handle->data;
    measure_turn(loop);
    bool stay =
        any_source_ready(loop) || loop->again || !vq_list_empty(&loop->deferred) || loop->stopping;
    uint64_t sleep_ms = UINT64_MAX;
    const struct vq_heap_node *next = vq_heap_peek(&loop->running);
    if (next != NULL) {
        int64_t wait = next->first - loop->turn_from_ns;
        sleep_ms = wait <= 0 ? 0 : (uint64_t)((wait - 1) / VQ_NS_PER_MS + 1);
    }
    if (stay || sleep_ms == 0) {
        (void)uv_idle_start(&loop->awake, on_awake); /* fails only without a callback */
        return;
    }
    (void)uv_idle_stop(&loop->awake);
    if (sleep_ms == UINT64_MAX) {
        (void)uv_timer_stop(&loop->sleep_end);
    } else {
        uv_update_time(&loop->uv);
        (void)uv_timer_start(&loop->sleep_end, on_sleep_end, sleep_ms, 0);
    }
}

static enum vq_status fail_uv(struct vq_error *err, const char *what, int code)
{
    return vq_fail(err, code == UV_ENOMEM ? VQ_NOMEM : VQ_IO, "%s: %s", what, uv_strerror(code));
}

enum vq_status vq_loop_create(struct vq_loop **ret_loop, struct vq_error *err)
{
    struct vq_loop *loop = vq_alloc(1, sizeof(*loop));
    if (loop == NULL) {
        return vq_fail(err, VQ_NOMEM, "no memory for the event loop");
    }
    int code = uv_loop_init(&loop->uv);
    if (code != 0) {
        vq_free(loop);
        return fail_uv(err, "cannot make an event loop", code);
    }
    /* None of these allocates or fails on a fresh loop. */
    (void)uv_loop_configure(&loop->uv, UV_METRICS_IDLE_TIME);
    (void)uv_prepare_init(&loop->uv, &loop->before_sleep);
    (void)uv_check_init(&loop->uv, &loop->after_sleep);
    (void)uv_idle_init(&loop->uv, &loop->awake);
    (void)uv_timer_init(&loop->uv, &loop->sleep_end);
    vq_list_init(&loop->sources);
    vq_list_init(&loop->deferred);
    loop->before_sleep.data = loop;
    loop->after_sleep.data = loop;
    (void)uv_prepare_start(&loop->before_sleep, on_before_sleep);
    (void)uv_check_start(&loop->after_sleep, on_after_sleep);
    (void)signal(SIGPIPE, SIG_IGN); /* a disconnected peer gives an error code instead of SIGPIPE */
    *ret_loop = loop;
    return VQ_OK;
}

void vq_loop_destroy(struct vq_loop **ret_loop)
{
    struct vq_loop *loop = *ret_loop;
    if (loop == NULL) {
        return;
    }
    while (loop->work_out > 0) {
        (void)uv_run(&loop->uv, UV_RUN_ONCE);
    }
    VQ_ASSERT(loop->timers == 0 && vq_list_empty(&loop->sources));
    uv_close((uv_handle_t *)&loop->before_sleep, NULL);
    uv_close((uv_handle_t *)&loop->after_sleep, NULL);
    uv_close((uv_handle_t *)&loop->awake, NULL);
    uv_close((uv_handle_t *)&loop->sleep_end, NULL);
    for (int i = 0; i < CLOSING_TURNS && uv_run(&loop->uv, UV_RUN_NOWAIT) != 0; i++) {
    }
    VQ_ASSERT(uv_loop_close(&loop->uv) == 0);
    vq_heap_free(&loop->running);
    vq_free(loop);
    *ret_loop = NULL;
}

enum vq_status vq_loop_run(struct vq_loop *loop)
{
    while (!loop->stopping) {
        (void)uv_run(&loop->uv, UV_RUN_ONCE);
    }
    loop->stopping = false;
    return VQ_OK;
}

void vq_loop_stop(struct vq_loop *loop)
{
    loop->stopping = true;
}

static void on_time_up(void *ctx)
{
    *(bool *)ctx = true;
}

enum vq_status vq_loop_run_until(struct vq_loop *loop, bool (*done)(void *ctx), void *ctx,
                                 uint32_t timeout_ms)
{
    bool time_up = false;
    struct vq_timer *timer;
    VQ_TRY(vq_timer_create(loop, on_time_up, &time_up, &timer));
    vq_timer_start(timer, timeout_ms, 0);
    enum vq_status status = VQ_OK;
    while (!done(ctx)) {
        if (time_up || loop->stopping) {
            status = time_up ? VQ_TIMEOUT : VQ_AGAIN;
            break;
        }
        (void)uv_run(&loop->uv, UV_RUN_ONCE);
    }
    loop->stopping = false;
    vq_timer_destroy(&timer);
    return status;
}

void vq_loop_on_turn(struct vq_loop *loop, void (*hook)(void *ctx), void *ctx)
{
    loop->hook = hook;
    loop->hook_ctx = ctx;
}

void vq_loop_again(struct vq_loop *loop)
{
    loop->again = true;
}

/* ---- the thread pool ---- */

struct work {
    uv_work_t uv;
    struct vq_loop *loop;
    void (*work)(void *ctx);
    void (*done)(void *ctx);
    void *ctx;
};

static void on_work(uv_work_t *uv)
{
    struct work *work = uv->data;
    work->work(work->ctx);
}

static void on_work_done(uv_work_t *uv, int status)
{
    (void)status; /* work is never cancelled */
    struct work *work = uv->data;
    work->loop->work_out--;
    work->done(work->ctx);
    vq_free(work);
}

enum vq_status vq_loop_work(struct vq_loop *loop, void (*work_fn)(void *ctx),
                            void (*done)(void *ctx), void *ctx)
{
    struct work *work;
    VQ_TRY(VQ_ALLOC(work, 1));
    *work = (struct work){.loop = loop, .work = work_fn, .done = done, .ctx = ctx};
    work->uv.data = work;
    int code = uv_queue_work(&loop->uv, &work->uv, on_work, on_work_done);
    VQ_ASSERT(code == 0); /* fails only without a function */
    loop->work_out++;
    return VQ_OK;
}

/* ---- statistics ---- */

struct vq_loop_stats vq_loop_stats_take(struct vq_loop *loop)
{
    struct vq_loop_stats stats = loop->stats;
    loop->stats.busy_ns_max = 0;
    loop->stats.late_ns_max = 0;
    return stats;
}

uint64_t vq_loop_raise_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    if (limit.rlim_cur < limit.rlim_max) {
        struct rlimit raised = {limit.rlim_max, limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) {
            return raised.rlim_cur;
        }
    }
    return limit.rlim_cur;
}
