/* Calls over HTTP.
 *
 * A slot lives from vq_caller_start to its reply and owns the request's body; slots are used again,
 * with their buffers. The HTTP client ends every exchange exactly once. A deferred function ends an
 * exchange that could not start, so a reply never comes from inside a start. The key reaches the
 * HTTP client as a vq_secret. Responses are searched for it, because some servers repeat it in
 * their errors. If a key is refused while the pool has another one, the core is informed of that:
 * it repeats the call, and the pool stays open.
 *
 * Before a call is sent, there is memory to read a response: a response that arrived as a whole is
 * not lost because memory is missing. If there is no memory to receive a response, the call ends as
 * lost, with this reason.
 *
 * The request of a judge is adapted to the pool: its dialect, its address, its name for the model,
 * without the parameters that it refuses. Not its job: when to call, retries, the meaning of an
 * answer. */
#include "worker/shell/caller.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "worker/shell/render.h"
#include "worker/shell/reply.h"

#include <stdio.h>

#define HEADERS_MAX       8
#define SPARE_BYTES       (16u << 20)  /* to read a response of the maximum size */
#define KEEP_BYTES        (256u << 10) /* a larger body buffer is freed after its call */
#define CALL_ID_HEX_BYTES VQ_HEX_BYTES(VQ_ID_BYTES)

struct slot {
    struct vq_caller *caller;
    /* in the list of free slots, or of slots that wait for their deferred reply */
    struct slot *next;
    struct vq_id call;
    struct vq_shell_pool *pool;     /* NULL: none */
    const struct vq_secret *secret; /* NULL: none */
    int64_t started_unix_ms;
    struct vq_rendered request;
    enum vq_call_end end; /* deferred */
    bool late;
    enum vq_pool_state state;
    char answer_field[VQ_ANSWER_FIELD_BYTES_MAX + 1];
    char error[VQ_REPLY_ERROR_BYTES_MAX];
};

struct vq_caller {
    struct vq_caller_options options;
    struct vq_http *http;
    struct vq_shell_pools *pools;
    struct slot *slots_free;
    struct slot *refused, **refused_end;
    struct vq_deferred deferred;
    struct vq_render rendering;
    /* reserved memory for reading a response; allocated before a call is sent */
    void *spare;
    struct vq_reply reply;
    bool closing;
};

/* ---- life ---- */

static void refused_reply(void *ctx);

enum vq_status vq_caller_create(const struct vq_caller_options *options,
                                struct vq_caller **ret_caller, struct vq_error *err)
{
    struct vq_caller *caller;
    VQ_TRY(VQ_ALLOC(caller, 1));
    caller->options = *options;
    caller->refused_end = &caller->refused;
    caller->deferred = (struct vq_deferred){.fn = refused_reply, .ctx = caller};
    vq_render_init(&caller->rendering);
    vq_reply_init(&caller->reply);
    struct vq_http_options http = {.calls_max = options->calls_max,
                                   .ca_file = vq_shell_ca_file(options->ca_file)};
    struct vq_shell_pools_options pools = {.loop = options->loop,
                                           .keys = options->keys,
                                           .announce_keys = options->announce_keys,
                                           .key = options->key,
                                           .ctx = options->ctx};
    enum vq_status status = vq_shell_pools_create(&pools, &caller->pools);
    if (status == VQ_OK) {
        status = vq_http_create(options->loop, &http, &caller->http, err);
    }
    if (status != VQ_OK) {
        vq_caller_destroy(&caller);
        return status;
    }
    *ret_caller = caller;
    return VQ_OK;
}

static void slots_free(struct slot *slot)
{
    while (slot != NULL) {
        struct slot *next = slot->next;
        vq_buf_free(&slot->request.body);
        vq_free(slot);
        slot = next;
    }
}

void vq_caller_destroy(struct vq_caller **caller)
{
    struct vq_caller *c = *caller;
    if (c == NULL) {
        return;
    }
    c->closing = true;
    vq_http_destroy(&c->http); /* ends the calls in flight: their slots are returned */
    vq_deferred_cancel(&c->deferred);
    slots_free(c->refused);
    slots_free(c->slots_free);
    vq_shell_pools_destroy(&c->pools);
    vq_render_free(&c->rendering);
    vq_free(c->spare);
    vq_reply_free(&c->reply);
    vq_free(c);
    *caller = NULL;
}

/* ---- pools ---- */

enum vq_status vq_caller_pools(struct vq_caller *caller, const struct vq_work_spec *spec)
{
    return vq_shell_pools_take(caller->pools, spec);
}

struct vq_shell_pools *vq_caller_shell_pools(const struct vq_caller *caller)
{
    return caller->pools;
}

/* ---- slots ---- */

static struct slot *slot_take(struct vq_caller *caller, const struct vq_work_call *call,
                              int64_t started_unix_ms)
{
    struct slot *slot = caller->slots_free;
    if (slot != NULL) {
        caller->slots_free = slot->next;
    } else {
        slot = vq_alloc(1, sizeof(*slot));
        if (slot == NULL) {
            return NULL;
        }
        slot->caller = caller;
        vq_buf_init(&slot->request.body, VQ_REQUEST_BODY_BYTES_MAX);
    }
    slot->next = NULL;
    slot->call = call->id;
    slot->pool = vq_shell_pools_at(caller->pools, call->pool);
    slot->secret = NULL;
    slot->request.prompt_chars = 0;
    slot->request.params = 0;
    slot->started_unix_ms = started_unix_ms;
    slot->error[0] = '\0';
    const char *field = call->asker->judge->answer_field;
    (void)snprintf(slot->answer_field, sizeof(slot->answer_field), "%s",
                   field == NULL ? "" : field);
    return slot;
}

static void slot_give(struct slot *slot)
{
    struct vq_caller *caller = slot->caller;
    if (slot->request.body.cap > KEEP_BYTES) {
        vq_buf_free(&slot->request.body);
        vq_buf_init(&slot->request.body, VQ_REQUEST_BODY_BYTES_MAX);
    }
    slot->next = caller->slots_free;
    caller->slots_free = slot;
}

/* The reply of the slot comes in a later step. */
static void slot_refuse(struct slot *slot, enum vq_call_end end, const char *why)
{
    struct vq_caller *caller = slot->caller;
    slot->end = end;
    slot->late = false;
    slot->state = VQ_POOL_NO_MODEL;
    (void)snprintf(slot->error, sizeof(slot->error), "%s", why);
    slot->next = NULL;
    *caller->refused_end = slot;
    caller->refused_end = &slot->next;
    vq_loop_defer(caller->options.loop, &caller->deferred);
}

static void refused_reply(void *ctx)
{
    struct vq_caller *caller = ctx;
    struct slot *slot = caller->refused;
    caller->refused = NULL;
    caller->refused_end = &caller->refused;
    while (slot != NULL) {
        struct slot *next = slot->next;
        struct vq_work_reply reply = {.call = slot->call,
                                      .end = slot->end,
                                      .pool = slot->state,
                                      .late = slot->late,
                                      .retry_after_ms = -1,
                                      .started_unix_ms = slot->started_unix_ms,
                                      .error = vq_span_str(slot->error)};
        caller->options.reply(caller->options.ctx, &reply);
        slot_give(slot);
        slot = next;
    }
}

/* ---- the end of a call ---- */

/* Reads the exchange into caller->reply. VQ_NOMEM. */
static enum vq_status read_response(struct vq_caller *caller, const struct slot *slot,
                                    const struct vq_http_response *response)
{
    const struct vq_shell_pool *pool = slot->pool;
    struct vq_reply *reply = &caller->reply;
    vq_reply_free(reply);
    if (response->transport != VQ_TRANSPORT_OK) {
        vq_reply_from_transport(response->transport, response->sent, reply);
        vq_reply_explain(reply, response->error);
        return VQ_OK;
    }
    struct vq_reply_headers headers;
    vq_reply_headers_of(response, &headers);
    struct vq_response whole = {.status = response->status,
                                .headers = &headers,
                                .body = response->body,
                                .now_unix_s = vq_clock_unix_ms() / 1000,
                                .answer_field = slot->answer_field};
    enum vq_status status = pool->embeds
                                ? pool->provider->embed_read(&whole, slot->request.texts, reply)
                                : pool->provider->read(&whole, reply);
    return status == VQ_OK ? vq_reply_hide_secret(reply, slot->secret) : status;
}

static void say_reply(struct slot *slot, const struct vq_http_response *response)
{
    struct vq_caller *caller = slot->caller;
    const struct vq_reply *got = &caller->reply;
    vq_reply_error(got, slot->pool->url.at, slot->pool->model, slot->error);
    bool others = got->class == VQ_REPLY_KEY &&
                  vq_shell_pools_refused(caller->pools, slot->pool, slot->secret, slot->error);
    int64_t latency_ms = response->total_ns / VQ_NS_PER_MS;
    struct vq_work_reply reply = vq_reply_for_core(got, slot->error, others, slot->request.params);
    reply.call = slot->call;
    reply.latency_ms = latency_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)latency_ms;
    reply.started_unix_ms = slot->started_unix_ms;
    reply.prompt_chars = slot->request.prompt_chars;
    caller->options.reply(caller->options.ctx, &reply);
}

static void call_done(void *ctx, const struct vq_http_response *response)
{
    struct slot *slot = ctx;
    struct vq_caller *caller = slot->caller;
    if (caller->closing) {
        slot_give(slot);
        return;
    }
    VQ_CRASH_POINT(worker_answer_arrived);
    enum vq_status status = read_response(caller, slot, response);
    if (status != VQ_OK) { /* no memory: use the reserved memory now */
        vq_free(caller->spare);
        caller->spare = NULL;
        status = read_response(caller, slot, response);
    }
    if (status != VQ_OK) { /* like a response that did not come */
        vq_reply_free(&caller->reply);
        vq_reply_from_transport(VQ_TRANSPORT_RESET, true, &caller->reply);
        vq_reply_explain(&caller->reply, "no memory to read the response");
    }
    say_reply(slot, response);
    slot_give(slot);
}

/* ---- the start of a call ---- */

/* The dialect's headers and the call id. */
static uint32_t headers_fill(const struct vq_provider *provider, const char *call_id,
                             struct vq_http_header headers[HEADERS_MAX])
{
    uint32_t count = 0;
    VQ_ASSERT(provider->headers_count < HEADERS_MAX);
    for (size_t i = 0; i < provider->headers_count; i++) {
        headers[count++] = (struct vq_http_header){vq_span_str(provider->headers[i].name),
                                                   vq_span_str(provider->headers[i].value)};
    }
    headers[count++] =
        (struct vq_http_header){vq_span_str(provider->call_id_header), vq_span_str(call_id)};
    return count;
}

static enum vq_status send_it(struct slot *slot, struct vq_error *err)
{
    const struct vq_shell_pool *pool = slot->pool;
    char call_id[CALL_ID_HEX_BYTES];
    struct vq_http_header headers[HEADERS_MAX];
    vq_hex(slot->call.b, VQ_ID_BYTES, call_id);
    struct vq_http_request request = {
        .method = VQ_HTTP_POST,
        .url = pool->url.at,
        .allow_http = pool->at->allow_http,
        .headers = headers,
        .headers_count = headers_fill(pool->provider, call_id, headers),
        .secret = slot->secret,
        .secret_header = pool->provider->auth_header,
        .secret_prefix = pool->provider->auth_prefix,
        .body = vq_buf_span(&slot->request.body),
        .connect_ms = pool->at->connect_timeout_ms,
        .first_byte_ms = pool->at->first_byte_timeout_ms,
        .total_ms = pool->at->total_timeout_ms,
        .slow_bytes_per_s = VQ_CALLER_SLOW_BYTES_PER_S,
        .slow_s = VQ_CALLER_SLOW_S,
        .body_bytes_max = pool->embeds ? VQ_EMBED_BODY_BYTES_MAX : VQ_RESPONSE_BODY_BYTES_MAX,
        .done = call_done,
        .ctx = slot};
    return vq_http_start(slot->caller->http, &request, NULL, err);
}

enum vq_status vq_caller_start(struct vq_caller *caller, const struct vq_work_call *call,
                               int64_t started_unix_ms)
{
    if (caller->spare == NULL) {
        /* the system provides its pages only when they are used */
        caller->spare = vq_alloc(1, SPARE_BYTES);
    }
    struct slot *slot = caller->spare == NULL ? NULL : slot_take(caller, call, started_unix_ms);
    if (slot == NULL) {
        return VQ_NOMEM;
    }
    if (slot->pool == NULL || slot->pool->provider == NULL) {
        slot_refuse(slot, VQ_END_CLOSED, "the pool is not open here");
        return VQ_OK;
    }
    if (!vq_shell_pool_key(slot->pool, true, &slot->secret)) {
        slot_refuse(slot, VQ_END_CLOSED, "every key was refused");
        slot->state = VQ_POOL_BAD_KEY;
        return VQ_OK;
    }
    struct vq_error err = {""};
    struct vq_render_for to = {slot->pool->at, slot->pool->provider, slot->pool->embeds,
                               slot->pool->shares, call->params_refused};
    enum vq_status status = vq_render_call(&caller->rendering, &to, call, &slot->request);
    if (status == VQ_LIMIT) {
        slot_refuse(slot, VQ_END_TOO_LONG, "the request is over the size limit");
        return VQ_OK;
    }
    if (status == VQ_INVALID) {
        slot_refuse(slot, VQ_END_BAD_REQUEST, "the texts to be embedded are no list of texts");
        return VQ_OK;
    }
    if (status == VQ_OK) {
        status = send_it(slot, &err);
    }
    if (status == VQ_NOMEM) {
        slot_give(slot);
        return VQ_NOMEM;
    }
    /* a full client has room later; any other failure concerns the pool's address or key */
    if (status != VQ_OK) {
        slot_refuse(slot, status == VQ_LIMIT ? VQ_END_NETWORK : VQ_END_CLOSED, err.text);
    }
    return VQ_OK;
}

enum vq_status vq_caller_refuse(struct vq_caller *caller, const struct vq_work_call *call,
                                int64_t started_unix_ms, const char *why, bool late)
{
    struct slot *slot = slot_take(caller, call, started_unix_ms);
    if (slot == NULL) {
        return VQ_NOMEM;
    }
    slot_refuse(slot, VQ_END_NETWORK, why);
    slot->late = late;
    return VQ_OK;
}
