/* Calls on the wire.
 *
 * A slot lives from vq_caller_start to its reply and owns the request's body; slots are used again, with their buffers. The
 * HTTP client ends every exchange exactly once; an exchange that could not begin is ended by a deferred function, so that a
 * reply never comes from inside a start. The key reaches the HTTP client as a vq_secret and is looked for in what comes back:
 * some servers repeat it in their errors. Not its job: when to call, retries, what an answer says. */
#include "worker/shell/caller.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "worker/provider/provider.h"

#include <stdio.h>

#define HEADERS_MAX       8
#define KEEP_BYTES        (256u << 10) /* a larger body buffer is given back after its call */
#define ERROR_BYTES_MAX   1024
#define CALL_ID_HEX_BYTES VQ_HEX_BYTES(VQ_ID_BYTES)

struct judge {
    const struct vq_work_judge *judge;
    const struct vq_provider *provider; /* NULL: closed */
    bool embeds;                        /* its stage is one of vectors */
    bool shares;                        /* its calls come in groups with a common front */
    const struct vq_secret *key;        /* NULL: none */
    struct vq_buf url;
};

struct slot {
    struct vq_caller *caller;
    struct slot *next; /* of the free ones, or of those that wait for their deferred reply */
    struct vq_id call;
    const struct judge *judge;
    int64_t started_unix_ms;
    uint32_t texts; /* of a batch to be embedded */
    struct vq_buf body;
    enum vq_call_end end; /* deferred */
    enum vq_pool_state pool;
    char error[ERROR_BYTES_MAX];
};

struct vq_caller {
    struct vq_caller_options options;
    struct vq_http *http;
    struct judge
        *judges; /* those of the last SPEC; earlier ones stay until their calls have ended */
    uint32_t judges_count;
    struct judges_past {
        struct judge *judges;
        uint32_t count;
        struct judges_past *next;
    } * past;
    struct slot *slots_free;
    struct slot *refused, **refused_end;
    struct vq_deferred deferred;
    struct vq_buf system, user;
    struct vq_reply reply;
    bool closing;
};

/* ---- life ---- */

static void refused_reply(void *ctx);

enum vq_status vq_caller_create(const struct vq_caller_options *options,
                                struct vq_caller **ret_caller, struct vq_error *err)
{
    struct vq_caller *caller = vq_alloc(1, sizeof(*caller));
    if (caller == NULL) {
        return VQ_NOMEM;
    }
    caller->options = *options;
    caller->refused_end = &caller->refused;
    caller->deferred = (struct vq_deferred){.fn = refused_reply, .ctx = caller};
    vq_buf_init(&caller->system, VQ_REQUEST_BODY_BYTES_MAX);
    vq_buf_init(&caller->user, VQ_REQUEST_BODY_BYTES_MAX);
    vq_reply_init(&caller->reply);
    struct vq_http_options http = {.calls_max = options->calls_max, .ca_file = options->ca_file};
    enum vq_status status = vq_http_create(options->loop, &http, &caller->http, err);
    if (status != VQ_OK) {
        vq_caller_destroy(&caller);
        return status;
    }
    *ret_caller = caller;
    return VQ_OK;
}

static void judges_free(struct judge *judges, uint32_t count)
{
    for (uint32_t i = 0; judges != NULL && i < count; i++) {
        vq_buf_free(&judges[i].url);
    }
    vq_free(judges);
}

static void slots_free(struct slot *slot)
{
    while (slot != NULL) {
        struct slot *next = slot->next;
        vq_buf_free(&slot->body);
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
    vq_http_destroy(&c->http); /* ends what is in flight: the slots come back */
    vq_deferred_cancel(c->options.loop, &c->deferred);
    slots_free(c->refused);
    slots_free(c->slots_free);
    judges_free(c->judges, c->judges_count);
    while (c->past != NULL) {
        struct judges_past *past = c->past;
        c->past = past->next;
        judges_free(past->judges, past->count);
        vq_free(past);
    }
    vq_buf_free(&c->system);
    vq_buf_free(&c->user);
    vq_reply_free(&c->reply);
    vq_free(c);
    *caller = NULL;
}

/* ---- judges ---- */

static bool url_is_safe(const char *url)
{
    return strncasecmp(url, "https://", 8) == 0 ||
           (strncasecmp(url, "http://", 7) == 0 && vq_http_url_is_local(url));
}

/* What the core is told of a judge: open, or closed with a sentence in `err`. */
static enum vq_pool_state judge_ready(struct vq_caller *caller, struct judge *judge,
                                      struct vq_error *err)
{
    const struct vq_work_judge *j = judge->judge;
    const struct vq_provider *provider = vq_provider_find(j->judge.dialect);
    if (provider == NULL) {
        (void)vq_fail(err, VQ_NOT_FOUND, "this worker does not speak the dialect \"%s\"",
                      j->judge.dialect);
        return VQ_POOL_NO_MODEL;
    }
    enum vq_status (*url)(const struct vq_judge *, const char *, struct vq_buf *) =
        judge->embeds ? provider->embed_url : provider->url;
    if (url == NULL) {
        (void)vq_fail(err, VQ_NOT_FOUND,
                      "the dialect \"%s\" has no embeddings; name another embedder",
                      j->judge.dialect);
        return VQ_POOL_NO_MODEL;
    }
    if (!url_is_safe(j->base_url) || url(&j->judge, j->base_url, &judge->url) != VQ_OK) {
        (void)vq_fail(err, VQ_INVALID,
                      "%s is not https and not on this machine: no key and no text is sent there",
                      j->base_url);
        return VQ_POOL_NO_MODEL;
    }
    if (vq_keyring_find(caller->options.keys, j->judge.name, j->key, &judge->key, err) != VQ_OK) {
        return VQ_POOL_NO_KEY;
    }
    judge->provider = provider;
    return VQ_POOL_OPEN;
}

/* Calls in flight may speak of the judges before: they are kept until the end. */
static enum vq_status judges_replace(struct vq_caller *caller, uint32_t count)
{
    struct judge *judges = vq_alloc(count, sizeof(*judges));
    struct judges_past *past = caller->judges == NULL ? NULL : vq_alloc(1, sizeof(*past));
    if (judges == NULL || (caller->judges != NULL && past == NULL)) {
        vq_free(judges);
        vq_free(past);
        return VQ_NOMEM;
    }
    if (past != NULL) {
        *past = (struct judges_past){caller->judges, caller->judges_count, caller->past};
        caller->past = past;
    }
    caller->judges = judges;
    caller->judges_count = count;
    return VQ_OK;
}

enum vq_status vq_caller_judges(struct vq_caller *caller, const struct vq_work_spec *spec,
                                void (*key)(void *ctx, const struct vq_work_key *key), void *ctx)
{
    VQ_TRY(judges_replace(caller, spec->judges_count));
    for (uint32_t i = 0; i < spec->judges_count; i++) {
        struct judge *judge = &caller->judges[i];
        struct vq_error err = {""};
        judge->judge = &spec->judges[i];
        judge->embeds = spec->kind == VQ_STAGE_EMBED;
        judge->shares = spec->kind == VQ_STAGE_RANK && spec->axes_count > 1;
        vq_buf_init(&judge->url, VQ_HTTP_URL_BYTES_MAX);
        struct vq_work_key say = {.judge = i, .state = judge_ready(caller, judge, &err)};
        say.text = vq_span_str(err.text);
        if (judge->key != NULL) {
            say.has_fingerprint = true;
            vq_secret_fingerprint(judge->key, say.fingerprint);
        }
        key(ctx, &say);
    }
    return VQ_OK;
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
        vq_buf_init(&slot->body, VQ_REQUEST_BODY_BYTES_MAX);
    }
    slot->next = NULL;
    slot->call = call->id;
    slot->judge = call->judge < caller->judges_count ? &caller->judges[call->judge] : NULL;
    slot->started_unix_ms = started_unix_ms;
    slot->error[0] = '\0';
    return slot;
}

static void slot_give(struct slot *slot)
{
    struct vq_caller *caller = slot->caller;
    if (slot->body.cap > KEEP_BYTES) {
        vq_buf_free(&slot->body);
        vq_buf_init(&slot->body, VQ_REQUEST_BODY_BYTES_MAX);
    }
    slot->next = caller->slots_free;
    caller->slots_free = slot;
}

/* Its reply comes in a later step. */
static void slot_refuse(struct slot *slot, enum vq_call_end end, const char *why)
{
    struct vq_caller *caller = slot->caller;
    slot->end = end;
    slot->pool = VQ_POOL_NO_MODEL;
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
                                      .pool = slot->pool,
                                      .retry_after_ms = -1,
                                      .started_unix_ms = slot->started_unix_ms,
                                      .error = vq_span_str(slot->error)};
        caller->options.reply(caller->options.ctx, &reply);
        slot_give(slot);
        slot = next;
    }
}

/* ---- the end of a call ---- */

static uint64_t tokens(int64_t reported)
{
    return reported < 0 ? 0 : (uint64_t)reported;
}

static enum vq_status hide(void *ctx, struct vq_span key)
{
    vq_reply_hide(ctx, key);
    return VQ_OK;
}

/* Reads the exchange into caller->reply. VQ_NOMEM. */
static enum vq_status read_response(struct vq_caller *caller, const struct slot *slot,
                                    const struct vq_http_response *response)
{
    const struct judge *judge = slot->judge;
    struct vq_reply *reply = &caller->reply;
    vq_reply_free(reply);
    if (response->transport != VQ_TRANSPORT_OK) {
        vq_reply_from_transport(response->transport, response->sent, reply);
        return VQ_OK;
    }
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    for (uint32_t i = 0; i < response->headers_count; i++) {
        vq_reply_headers_add(&headers, response->headers[i].name, response->headers[i].value);
    }
    struct vq_response whole = {.status = response->status,
                                .headers = &headers,
                                .body = response->body,
                                .now_unix_s = vq_clock_unix_ms() / 1000};
    enum vq_status status = judge->embeds ? judge->provider->embed_read(&whole, slot->texts, reply)
                                          : judge->provider->read(&whole, reply);
    if (status == VQ_OK && judge->key != NULL) {
        status = vq_secret_expose(judge->key, hide, reply);
    }
    return status;
}

static void say_reply(struct slot *slot, const struct vq_http_response *response)
{
    struct vq_caller *caller = slot->caller;
    const struct vq_reply *got = &caller->reply;
    enum vq_call_end end = vq_reply_end(got);
    if (end != VQ_END_ANSWER) {
        bool shown = got->error_message[0] != '\0';
        (void)snprintf(slot->error, sizeof(slot->error), "%s%s%s%s",
                       shown ? got->error_message : "no answer",
                       got->error_code[0] != '\0' ? " (" : "", got->error_code,
                       got->error_code[0] != '\0' ? ")" : "");
    }
    int64_t latency_ms = response->total_ns / VQ_NS_PER_MS;
    struct vq_work_reply reply = {.call = slot->call,
                                  .end = end,
                                  .pool = vq_reply_pool(got),
                                  .retry_after_ms = got->retry_after_ms,
                                  .parks = got->parks,
                                  .refusal = got->refusal,
                                  .http_status = got->status > 0 ? (uint32_t)got->status : 0,
                                  .latency_ms =
                                      latency_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)latency_ms,
                                  .started_unix_ms = slot->started_unix_ms,
                                  .tokens_in = tokens(got->tokens_in),
                                  .tokens_cached = tokens(got->tokens_cached),
                                  .tokens_out = tokens(got->tokens_out),
                                  .answer = vq_buf_span(&got->content),
                                  .finish_reason = vq_span_str(got->finish_reason),
                                  .model = vq_span_str(got->model),
                                  .fingerprint = vq_span_str(got->system_fingerprint),
                                  .error = vq_span_str(slot->error)};
    if (end != VQ_END_ANSWER) {
        reply.answer = vq_span(NULL, 0);
    }
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
    if (read_response(caller, slot, response) != VQ_OK) {
        vq_reply_free(&caller->reply); /* no memory for it: as if the response had not come */
        vq_reply_from_transport(VQ_TRANSPORT_RESET, true, &caller->reply);
    }
    say_reply(slot, response);
    slot_give(slot);
}

/* ---- the start of a call ---- */

static enum vq_status render(struct vq_caller *caller, const struct vq_work_call *call,
                             struct slot *slot)
{
    struct vq_prompt prompt = {.shared_bytes = 0};
    if (call->kind == VQ_CALL_ASK) {
        prompt.shared_bytes = slot->judge->shares
                                  ? vq_request_shared_bytes(call->asker, call->sample, call->order,
                                                            call->output_bytes_max)
                                  : 0;
        VQ_TRY(vq_request_render(call->asker, call->sample, call->axis, call->order,
                                 call->output_bytes_max, &caller->system, &caller->user));
    } else {
        VQ_TRY(vq_repair_render(call->asker, call->answer, &caller->system, &caller->user));
    }
    if (slot->judge->embeds) {
        return slot->judge->provider->embed_body(
            &slot->judge->judge->judge, vq_buf_span(&caller->user), &slot->body, &slot->texts);
    }
    prompt.system = vq_buf_span(&caller->system);
    prompt.user = vq_buf_span(&caller->user);
    return slot->judge->provider->body(&slot->judge->judge->judge, &prompt, &slot->body);
}

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
    const struct judge *judge = slot->judge;
    char call_id[CALL_ID_HEX_BYTES];
    struct vq_http_header headers[HEADERS_MAX];
    vq_hex(slot->call.b, VQ_ID_BYTES, call_id);
    struct vq_http_request request = {
        .method = VQ_HTTP_POST,
        .url = judge->url.at,
        .headers = headers,
        .headers_count = headers_fill(judge->provider, call_id, headers),
        .secret = judge->key,
        .secret_header = judge->provider->auth_header,
        .secret_prefix = judge->provider->auth_prefix,
        .body = vq_buf_span(&slot->body),
        .connect_ms = judge->judge->connect_timeout_ms,
        .first_byte_ms = judge->judge->first_byte_timeout_ms,
        .total_ms = judge->judge->total_timeout_ms,
        .slow_bytes_per_s = VQ_CALLER_SLOW_BYTES_PER_S,
        .slow_s = VQ_CALLER_SLOW_S,
        .body_bytes_max = judge->embeds ? VQ_EMBED_BODY_BYTES_MAX : VQ_RESPONSE_BODY_BYTES_MAX,
        .done = call_done,
        .ctx = slot};
    return vq_http_start(slot->caller->http, &request, NULL, err);
}

enum vq_status vq_caller_start(struct vq_caller *caller, const struct vq_work_call *call,
                               int64_t started_unix_ms)
{
    struct slot *slot = slot_take(caller, call, started_unix_ms);
    if (slot == NULL) {
        return VQ_NOMEM;
    }
    if (slot->judge == NULL || slot->judge->provider == NULL) {
        slot_refuse(slot, VQ_END_CLOSED, "the judge is not open here");
        return VQ_OK;
    }
    struct vq_error err = {""};
    enum vq_status status = render(caller, call, slot);
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
    if (status !=
        VQ_OK) { /* a full client is a matter of time; anything else is the judge's address or key */
        slot_refuse(slot, status == VQ_LIMIT ? VQ_END_NETWORK : VQ_END_CLOSED, err.text);
    }
    return VQ_OK;
}

enum vq_status vq_caller_refuse(struct vq_caller *caller, const struct vq_work_call *call,
                                int64_t started_unix_ms, const char *why)
{
    struct slot *slot = slot_take(caller, call, started_unix_ms);
    if (slot == NULL) {
        return VQ_NOMEM;
    }
    slot_refuse(slot, VQ_END_NETWORK, why);
    return VQ_OK;
}
