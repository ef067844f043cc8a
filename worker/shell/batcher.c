/* Passes the core's actions for batches to worker/batches, and turns its actions into replies,
 * results and exchanges. The core must not be stepped while its actions are carried out: events
 * that follow from an action of the core come from a deferred function. Not its job: the life of a
 * batch (worker/batches), and the exchanges (batch_http.c). */
#include "worker/shell/batcher.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/text/log.h"
#include "worker/batches/batches.h"
#include "worker/shell/batch_http.h"
#include "worker/shell/render.h"
#include "worker/shell/reply.h"

#include <stdio.h>
#include <stdlib.h>

/* For tests against a server whose list does not lag: used instead of both settle times. */
#define SETTLE_VARIABLE "VIBEQ_BATCH_SETTLE_MS"

/* The reply of a GATHER that waits for the loop. */
struct gathered {
    struct gathered *next;
    struct vq_work_reply reply;
    char error[VQ_RESULT_BATCH_BYTES + 64];
};

struct vq_batcher {
    struct vq_batcher_options options;
    struct vq_batches *batches;
    struct vq_batch_http *http;
    struct vq_deferred deferred;
    struct vq_timer *timer;
    struct gathered *replies, **replies_end;
    uint64_t failed; /* the last batch that failed as a whole */
    struct vq_render rendering;
    struct vq_rendered request;
    struct vq_reply reply;
};

static int64_t now_ms(void)
{
    return vq_clock_mono_ns() / VQ_NS_PER_MS;
}

/* ---- the end of a call ---- */

static void collected(struct vq_batcher *batcher, const struct vq_result *draft,
                      struct vq_work_reply *reply)
{
    int64_t took_ms = vq_clock_unix_ms() - draft->started_unix_ms;
    struct vq_work_collected event = {.draft = draft, .reply = reply};
    reply->call = draft->call;
    reply->started_unix_ms = draft->started_unix_ms;
    reply->prompt_chars = draft->prompt_chars;
    reply->latency_ms = took_ms < 0 ? 0 : took_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)took_ms;
    batcher->options.collected(batcher->options.ctx, &event);
    VQ_CRASH_POINT(worker_batch_delivered);
}

static const char *answer_field(const struct vq_batcher *batcher, const struct vq_result *draft)
{
    const struct vq_work_spec *spec = vq_work_spec(batcher->options.work);
    return spec != NULL && spec->stage == draft->stage && draft->judge < spec->judges_count
               ? spec->judges[draft->judge].judge.answer_field
               : NULL;
}

/* Reads the result like the reply to a single call. The parameters of the request are not stored:
 * the provider refuses only parameters that were sent. */
static void deliver(struct vq_batcher *batcher, const struct vq_batches_action *action)
{
    static char error[VQ_REPLY_ERROR_BYTES_MAX];
    const struct vq_shell_pool *pool = vq_shell_pools_named(batcher->options.pools, action->pool);
    struct vq_reply *got = &batcher->reply;
    vq_reply_free(got);
    if (vq_batch_reply(action->dialect, action->line, vq_clock_unix_ms() / 1000,
                       answer_field(batcher, action->draft), got) != VQ_OK) {
        batcher->options.no_memory(batcher->options.ctx);
        return;
    }
    vq_reply_error(got, pool == NULL || pool->url.at == NULL ? "" : pool->url.at,
                   pool == NULL ? "" : pool->model, error);
    struct vq_work_reply reply = vq_reply_for_core(got, error, false, UINT32_MAX);
    collected(batcher, action->draft, &reply);
}

static void give_up(struct vq_batcher *batcher, const struct vq_batches_action *action)
{
    bool limited = action->why == VQ_BATCH_WHY_LIMITED;
    struct vq_work_reply reply = {
        .end = VQ_END_NETWORK, .retry_after_ms = -1, .error = vq_span_str(action->text)};
    if ((limited || action->why == VQ_BATCH_WHY_FAILED) && batcher->failed != action->batch) {
        batcher->failed = action->batch; /* once per batch */
        reply.end = limited ? VQ_END_RATE : VQ_END_BAD_REQUEST;
        struct vq_work_refused refused = {.pool = action->pool, .reply = &reply};
        batcher->options.refused(batcher->options.ctx, &refused);
    }
    /* a temporary refusal and an ordered cancel use up no attempt */
    reply.end = limited ? VQ_END_RATE : action->ordered ? VQ_END_CANCELLED : VQ_END_NETWORK;
    collected(batcher, action->draft, &reply);
}

/* ---- actions ---- */

static void log_progress(const struct vq_msg_batch *progress)
{
    static const char *const states[] = {"gathers", "submitted", "created", "over"};
    vq_log(VQ_LOG_INFO, "batch", "name=%.*s pool=%.*s state=%s id=%.*s calls=%u ended=%u",
           (int)progress->name.bytes, progress->name.at, (int)progress->pool.bytes,
           progress->pool.at, states[progress->state], (int)progress->id.bytes,
           progress->id.bytes == 0 ? "" : progress->id.at, progress->calls, progress->ended);
}

static void act(struct vq_batcher *batcher, const struct vq_batches_action *action)
{
    switch (action->type) {
    case VQ_BATCHES_DO:
        if (vq_batch_http_do(batcher->http, action) != VQ_OK) {
            batcher->options.no_memory(batcher->options.ctx);
        }
        break;
    case VQ_BATCHES_DELIVER: deliver(batcher, action); break;
    case VQ_BATCHES_GIVE_UP: give_up(batcher, action); break;
    case VQ_BATCHES_TELL:
        log_progress(&action->progress);
        batcher->options.progress(batcher->options.ctx, &action->progress);
        break;
    case VQ_BATCHES_NOTE: vq_log(VQ_LOG_WARN, "batch.results", "what=%s", action->text); break;
    }
}

static void take_actions(void *ctx)
{
    struct vq_batcher *batcher = ctx;
    struct vq_batches_action action;
    while (vq_batches_next(batcher->batches, &action)) {
        act(batcher, &action);
    }
    int64_t wake_ms = vq_batches_wake_ms(batcher->batches);
    vq_timer_start_at(batcher->timer, wake_ms == INT64_MAX ? wake_ms : wake_ms * VQ_NS_PER_MS);
}

static void reply_all(struct vq_batcher *batcher)
{
    struct gathered *reply = batcher->replies;
    batcher->replies = NULL;
    batcher->replies_end = &batcher->replies;
    while (reply != NULL) {
        struct gathered *next = reply->next;
        batcher->options.reply(batcher->options.ctx, &reply->reply);
        vq_free(reply);
        reply = next;
    }
}

static void on_deferred(void *ctx)
{
    reply_all(ctx);
    take_actions(ctx);
}

static void on_timer(void *ctx)
{
    struct vq_batcher *batcher = ctx;
    take_actions(batcher); /* a tick is an event: all actions must be taken before it */
    vq_batches_tick(batcher->batches, now_ms());
    take_actions(batcher);
}

static void on_refused(void *ctx, const struct vq_work_refused *refused)
{
    struct vq_batcher *batcher = ctx;
    batcher->options.refused(batcher->options.ctx, refused);
}

static int64_t create_until_ns(void *ctx)
{
    const struct vq_batcher *batcher = ctx;
    return vq_work_create_until_ns(batcher->options.work);
}

/* ---- life ---- */

static uint32_t settle_ms(void)
{
    const char *given = getenv(SETTLE_VARIABLE);
    long ms = given == NULL ? 0 : strtol(given, NULL, 10);
    return ms > 0 && ms < INT32_MAX ? (uint32_t)ms : 0;
}

static enum vq_status make(struct vq_batcher *batcher, struct vq_error *err)
{
    const struct vq_batcher_options *options = &batcher->options;
    struct vq_batches_options batches = {
        .worker = options->worker, .settle_ms = settle_ms(), .foreign_settle_ms = settle_ms()};
    VQ_TRY(vq_batches_create(&batches, &batcher->batches));
    VQ_TRY(vq_timer_create(options->loop, on_timer, batcher, &batcher->timer));
    struct vq_batch_http_options http = {.loop = options->loop,
                                         .pools = options->pools,
                                         .batches = batcher->batches,
                                         .ca_file = options->ca_file,
                                         .create_until_ns = create_until_ns,
                                         .refused = on_refused,
                                         .changed = take_actions,
                                         .ctx = batcher};
    return vq_batch_http_create(&http, &batcher->http, err);
}

enum vq_status vq_batcher_create(const struct vq_batcher_options *options,
                                 struct vq_batcher **ret_batcher, struct vq_error *err)
{
    struct vq_batcher *batcher;
    VQ_TRY(VQ_ALLOC(batcher, 1));
    batcher->options = *options;
    batcher->replies_end = &batcher->replies;
    batcher->deferred = (struct vq_deferred){.fn = on_deferred, .ctx = batcher};
    vq_render_init(&batcher->rendering);
    vq_buf_init(&batcher->request.body, VQ_REQUEST_BODY_BYTES_MAX);
    vq_reply_init(&batcher->reply);
    enum vq_status status = make(batcher, err);
    if (status != VQ_OK) {
        vq_batcher_destroy(&batcher);
        return status;
    }
    *ret_batcher = batcher;
    return VQ_OK;
}

void vq_batcher_destroy(struct vq_batcher **batcher)
{
    struct vq_batcher *b = *batcher;
    if (b == NULL) {
        return;
    }
    vq_batch_http_destroy(&b->http);
    vq_deferred_cancel(&b->deferred);
    vq_timer_destroy(&b->timer);
    while (b->replies != NULL) {
        struct gathered *next = b->replies->next;
        vq_free(b->replies);
        b->replies = next;
    }
    vq_batches_destroy(&b->batches);
    vq_render_free(&b->rendering);
    vq_buf_free(&b->request.body);
    vq_reply_free(&b->reply);
    vq_free(b);
    *batcher = NULL;
}

/* ---- actions of the core ---- */

static bool pool_of(const struct vq_shell_pool *pool, struct vq_batches_pool *ret_pool)
{
    const struct vq_batch_dialect *dialect =
        pool == NULL || pool->provider == NULL ? NULL : vq_batch_find(pool->at->dialect);
    if (dialect == NULL) {
        return false;
    }
    *ret_pool = (struct vq_batches_pool){.name = vq_span_str(pool->name),
                                         .at = {dialect, pool->at->base_url, pool->at->model},
                                         .calls_max = pool->at->batch_calls,
                                         .bytes_max = pool->at->batch_bytes,
                                         .wait_ms = pool->at->batch_wait_ms,
                                         .poll_ms = pool->at->batch_poll_ms};
    return true;
}

/* Renders the call and adds it to its batch; on failure `reply` has its end. */
static enum vq_status add(struct vq_batcher *batcher, const struct vq_work_call *call,
                          int64_t started_unix_ms, struct gathered *reply)
{
    struct vq_shell_pool *pool = vq_shell_pools_at(batcher->options.pools, call->pool);
    struct vq_batches_pool to;
    if (!pool_of(pool, &to)) {
        reply->reply.end = VQ_END_CLOSED;
        reply->reply.pool = VQ_POOL_NO_MODEL;
        (void)snprintf(reply->error, sizeof(reply->error), "the pool takes no batches here");
        return VQ_OK;
    }
    struct vq_render_for render = {pool->at, pool->provider, pool->embeds, pool->shares,
                                   call->params_refused};
    batcher->request.prompt_chars = 0;
    enum vq_status status = vq_render_call(&batcher->rendering, &render, call, &batcher->request);
    struct vq_result draft = vq_work_call_sent(call);
    draft.started_unix_ms = started_unix_ms;
    draft.prompt_chars = reply->reply.prompt_chars = batcher->request.prompt_chars;
    reply->reply.end = VQ_END_BATCHED;
    if (status == VQ_OK) {
        status = vq_batches_add(batcher->batches, &to, &draft, vq_buf_span(&batcher->request.body),
                                now_ms(), reply->error);
    }
    return status;
}

enum vq_status vq_batcher_gather(struct vq_batcher *batcher, const struct vq_work_call *call,
                                 int64_t started_unix_ms)
{
    struct gathered *reply;
    VQ_TRY(VQ_ALLOC(reply, 1));
    reply->reply = (struct vq_work_reply){
        .call = call->id, .retry_after_ms = -1, .started_unix_ms = started_unix_ms};
    enum vq_status status = add(batcher, call, started_unix_ms, reply);
    if (status == VQ_NOMEM) {
        vq_free(reply);
        return VQ_NOMEM;
    }
    if (status == VQ_AGAIN) {
        reply->reply.end = VQ_END_NETWORK;
        reply->reply.late = true; /* it will be retried, and this is no failure of the pool */
        (void)snprintf(reply->error, sizeof(reply->error), "this worker has too many batches");
    } else if (status != VQ_OK) {
        reply->reply.end = status == VQ_LIMIT ? VQ_END_TOO_LONG : VQ_END_BAD_REQUEST;
        (void)snprintf(reply->error, sizeof(reply->error), "%s",
                       status == VQ_LIMIT ? "the request is too large for a batch"
                                          : "the request cannot be part of a batch");
    }
    reply->reply.error = vq_span_str(reply->error);
    *batcher->replies_end = reply;
    batcher->replies_end = &reply->next;
    vq_loop_defer(batcher->options.loop, &batcher->deferred);
    return VQ_OK;
}

void vq_batcher_gathered(struct vq_batcher *batcher, const struct vq_id *call)
{
    vq_batches_gathered(batcher->batches, call, now_ms());
    vq_loop_defer(batcher->options.loop, &batcher->deferred);
}

void vq_batcher_restart(struct vq_batcher *batcher)
{
    vq_batches_restart(batcher->batches, now_ms());
    vq_loop_defer(batcher->options.loop, &batcher->deferred);
}

enum vq_status vq_batcher_collect(struct vq_batcher *batcher, const struct vq_msg_collect *message)
{
    struct vq_batches_pool pool;
    enum vq_status status = VQ_NOT_FOUND;
    if (pool_of(vq_shell_pools_named(batcher->options.pools, message->pool), &pool)) {
        status = vq_batches_collect(batcher->batches, message, &pool, now_ms());
    }
    if (status == VQ_NOMEM) {
        return VQ_NOMEM;
    }
    if (status != VQ_OK) {
        vq_log(VQ_LOG_WARN, "batch.collect", "name=%.*s pool=%.*s why=%s", (int)message->name.bytes,
               message->name.at, (int)message->pool.bytes, message->pool.at,
               status == VQ_NOT_FOUND ? "the pool is not open here"
               : status == VQ_AGAIN   ? "this worker has too many batches"
                                      : "the message is not sound");
    }
    vq_loop_defer(batcher->options.loop, &batcher->deferred);
    return VQ_OK;
}
