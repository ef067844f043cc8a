/* Calls on the wire.
 *
 * A slot lives from vq_caller_start to its reply and owns the request's body; slots are used again,
 * with their buffers. The HTTP client ends every exchange exactly once; an exchange that could not
 * begin is ended by a deferred function, so that a reply never comes from inside a start. The key
 * reaches the HTTP client as a vq_secret and is looked for in what comes back: some servers repeat
 * it in their errors. A pool's keys take turns; one that is refused is left out from then on, and
 * as long as another is left the core hears of it as such: the call is asked again, the pool stays
 * open.
 *
 * Before a call is sent there is memory to read a response: one that has wholly come is not lost
 * for want of it. What cannot be received for want of it ends as lost, and says so.
 *
 * A request is the judge's, sent as the pool wants it: its dialect, its address, its name for the
 * model, without what it refuses. Not its job: when to call, retries, what an answer says. */
#include "worker/shell/caller.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/text/log.h"
#include "common/text/url.h"
#include "proto/limits.h"
#include "proto/params.h"
#include "proto/pool.h"
#include "worker/core/limits.h"
#include "worker/shell/render.h"

#include <stdio.h>
#include <stdlib.h>

#define HEADERS_MAX        8
#define STATUS_UNAVAILABLE 503
#define SPARE_BYTES        (16u << 20)  /* to read a response of the longest kind */
#define KEEP_BYTES         (256u << 10) /* a larger body buffer is given back after its call */
#define ERROR_BYTES_MAX    1024
#define CALL_ID_HEX_BYTES  VQ_HEX_BYTES(VQ_ID_BYTES)

struct key {
    const struct vq_secret *secret;
    bool refused;
};

struct pool {
    const struct vq_work_endpoint *at; /* while its SPEC is in force */
    char name[VQ_WIRE_NAME_BYTES_MAX + 1];
    const struct vq_provider *provider; /* NULL: closed */
    bool embeds;                        /* its stage is one of vectors */
    bool shares;                        /* its calls come in groups with a common front */
    bool fewer_keys;                    /* the core does not know yet */
    struct key *keys;
    uint32_t keys_count; /* 0: none is sent */
    uint32_t turn;
    struct vq_buf url;
    char why[VQ_ERROR_BYTES_MAX]; /* what is wrong with it, or with one of its keys */
};

struct slot {
    struct vq_caller *caller;
    struct slot *next; /* of the free ones, or of those that wait for their deferred reply */
    struct vq_id call;
    struct pool *pool;              /* NULL: none */
    const struct vq_secret *secret; /* NULL: none */
    int64_t started_unix_ms;
    struct vq_rendered request;
    enum vq_call_end end; /* deferred */
    bool late;
    enum vq_pool_state state;
    char answer_field[VQ_ANSWER_FIELD_BYTES_MAX + 1];
    char error[ERROR_BYTES_MAX];
};

struct vq_caller {
    struct vq_caller_options options;
    struct vq_http *http;
    struct pools {
        struct pool *list;
        uint32_t count;
        struct pools *next;
    } * pools; /* those of the last SPEC, then earlier ones, whose calls may be in flight */
    struct slot *slots_free;
    struct slot *refused, **refused_end;
    struct vq_deferred deferred, keys_deferred;
    struct vq_render rendering;
    /* memory for reading a response, should there be no other; got before a call is sent */
    void *spare;
    struct vq_reply reply;
    bool closing;
};

/* ---- life ---- */

static void refused_reply(void *ctx);
static void keys_say(void *ctx);

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
    caller->keys_deferred = (struct vq_deferred){.fn = keys_say, .ctx = caller};
    vq_render_init(&caller->rendering);
    vq_reply_init(&caller->reply);
    const char *told = getenv("SSL_CERT_FILE");
    struct vq_http_options http = {.calls_max = options->calls_max, .ca_file = options->ca_file};
    if (http.ca_file == NULL && told != NULL && told[0] != '\0') {
        http.ca_file = told;
    }
    enum vq_status status = vq_http_create(options->loop, &http, &caller->http, err);
    if (status != VQ_OK) {
        vq_caller_destroy(&caller);
        return status;
    }
    *ret_caller = caller;
    return VQ_OK;
}

static void pools_free(struct pools *pools)
{
    while (pools != NULL) {
        struct pools *next = pools->next;
        for (uint32_t i = 0; i < pools->count; i++) {
            vq_buf_free(&pools->list[i].url);
            vq_free(pools->list[i].keys);
        }
        vq_free(pools->list);
        vq_free(pools);
        pools = next;
    }
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
    vq_http_destroy(&c->http); /* ends what is in flight: the slots come back */
    vq_deferred_cancel(c->options.loop, &c->deferred);
    vq_deferred_cancel(c->options.loop, &c->keys_deferred);
    slots_free(c->refused);
    slots_free(c->slots_free);
    pools_free(c->pools);
    vq_render_free(&c->rendering);
    vq_free(c->spare);
    vq_reply_free(&c->reply);
    vq_free(c);
    *caller = NULL;
}

/* ---- pools ---- */

static bool url_is_safe(const struct vq_work_endpoint *at)
{
    const char *url = at->base_url;
    return strncasecmp(url, "https://", 8) == 0 ||
           (strncasecmp(url, "http://", 7) == 0 && (at->allow_http || vq_http_url_is_local(url)));
}

/* The dialect and the URL; NO_MODEL with a sentence when there is none. */
static enum vq_pool_state pool_address(struct pool *pool, struct vq_error *err)
{
    static const struct vq_judge any = {.max_tokens_field = ""};
    struct vq_judge judge = vq_render_judge(&any, pool->at, 0);
    const struct vq_provider *provider = vq_provider_find(pool->at->dialect);
    if (provider == NULL) {
        (void)vq_fail(err, VQ_NOT_FOUND, "this worker does not speak the dialect \"%s\"",
                      pool->at->dialect);
        return VQ_POOL_NO_MODEL;
    }
    enum vq_status (*url)(const struct vq_judge *, const char *, struct vq_buf *) =
        pool->embeds ? provider->embed_url : provider->url;
    if (url == NULL) {
        (void)vq_fail(err, VQ_NOT_FOUND,
                      "the dialect \"%s\" has no embeddings; name another embedder",
                      pool->at->dialect);
        return VQ_POOL_NO_MODEL;
    }
    if (pool->at->base_url[0] == '\0') { /* the built-in server, which no judge of this run needs */
        return VQ_POOL_NO_KEY;
    }
    if (!url_is_safe(pool->at) || url(&judge, pool->at->base_url, &pool->url) != VQ_OK) {
        (void)vq_fail(
            err, VQ_INVALID,
            "%s is not https and not on this machine: no key and no text is sent there. If it "
            "is in a network that you trust, set allow_http: true for this pool",
            pool->at->base_url);
        return VQ_POOL_NO_MODEL;
    }
    pool->provider = provider;
    return VQ_POOL_OPEN;
}

/* The names of the judges that pool p serves; how many. */
static uint32_t judges_of(const struct vq_work_spec *spec, uint32_t p,
                          const char *ret_names[VQ_WORK_JUDGES_MAX])
{
    uint32_t count = 0;
    for (uint32_t j = 0; j < spec->judges_count; j++) {
        const struct vq_work_judge *judge = &spec->judges[j];
        for (uint32_t i = 0; i < judge->pools_count; i++) {
            if (judge->pools[i] == p) {
                ret_names[count++] = judge->judge.name;
                break;
            }
        }
    }
    return count;
}

static bool was_refused(const struct pools *before, const char *pool,
                        const struct vq_secret *secret)
{
    for (uint32_t i = 0; before != NULL && i < before->count; i++) {
        const struct pool *was = &before->list[i];
        for (uint32_t k = 0; strcmp(was->name, pool) == 0 && k < was->keys_count; k++) {
            if (was->keys[k].secret == secret) {
                return was->keys[k].refused;
            }
        }
    }
    return false;
}

/* The log of a worker from elsewhere says which key goes to which host, before the first call. */
static void key_announce(struct vq_caller *caller, const struct pool *pool,
                         const struct vq_secret *secret)
{
    struct vq_url url;
    if (!caller->options.announce_keys || vq_url_parse(pool->at->base_url, &url, NULL) != VQ_OK) {
        return;
    }
    const char *reference = vq_keyring_first_use(caller->options.keys, secret, url.host);
    if (reference != NULL) {
        vq_log(VQ_LOG_INFO, "key.used", "key=%s host=%.*s pool=%s", reference, (int)url.host.bytes,
               url.host.at, pool->name);
    }
}

/* VQ_NOMEM; what else is wrong is in *ret_state and `err`. */
static enum vq_status pool_keys(struct vq_caller *caller, const struct vq_work_spec *spec,
                                uint32_t p, const struct pools *before, struct pool *pool,
                                enum vq_pool_state *ret_state, struct vq_error *err)
{
    const char *judges[VQ_WORK_JUDGES_MAX];
    const struct vq_secret *secrets[VQ_WIRE_KEYS_MAX];
    struct vq_keyring_pool asked = {.name = pool->at->name,
                                    .judges = judges,
                                    .judges_count = judges_of(spec, p, judges),
                                    .hints = pool->at->keys,
                                    .hints_count = pool->at->keys_count};
    uint32_t count = 0;
    if (vq_keyring_find(caller->options.keys, &asked, secrets, &count, err) != VQ_OK) {
        *ret_state = VQ_POOL_NO_KEY;
        pool->provider = NULL;
        return VQ_OK;
    }
    pool->keys = vq_alloc(count, sizeof(*pool->keys));
    if (pool->keys == NULL) {
        return VQ_NOMEM;
    }
    pool->keys_count = count;
    for (uint32_t k = 0; k < count; k++) {
        pool->keys[k] = (struct key){secrets[k], was_refused(before, pool->at->name, secrets[k])};
        key_announce(caller, pool, secrets[k]);
    }
    return VQ_OK;
}

/* Reports the pool's good keys to the core. */
static void key_say(struct vq_caller *caller, uint32_t p, enum vq_pool_state state)
{
    struct pool *pool = &caller->pools->list[p];
    uint64_t good[VQ_WIRE_KEYS_MAX];
    struct vq_work_key say = {
        .pool = p, .state = state, .keys = good, .text = vq_span_str(pool->why)};
    for (uint32_t k = 0; k < pool->keys_count; k++) {
        uint8_t fingerprint[VQ_FINGERPRINT_BYTES];
        if (!pool->keys[k].refused) {
            vq_secret_fingerprint(pool->keys[k].secret, fingerprint);
            memcpy(&good[say.keys_count++], fingerprint, sizeof(good[0]));
        }
    }
    if (state == VQ_POOL_OPEN && pool->keys_count > 0 && say.keys_count == 0) {
        say.state = VQ_POOL_BAD_KEY;
    }
    caller->options.key(caller->options.ctx, &say);
}

static void keys_say(void *ctx)
{
    struct vq_caller *caller = ctx;
    for (uint32_t p = 0; p < caller->pools->count; p++) {
        if (caller->pools->list[p].fewer_keys) {
            caller->pools->list[p].fewer_keys = false;
            key_say(caller, p, VQ_POOL_OPEN);
        }
    }
}

/* Calls in flight may speak of the pools before: they are kept until the end. */
static enum vq_status pools_add(struct vq_caller *caller, uint32_t count)
{
    struct pools *pools = vq_alloc(1, sizeof(*pools));
    struct pool *list = vq_alloc(count, sizeof(*list));
    if (pools == NULL || list == NULL) {
        vq_free(pools);
        vq_free(list);
        return VQ_NOMEM;
    }
    *pools = (struct pools){list, count, caller->pools};
    caller->pools = pools;
    return VQ_OK;
}

enum vq_status vq_caller_pools(struct vq_caller *caller, const struct vq_work_spec *spec)
{
    VQ_TRY(pools_add(caller, spec->pools_count));
    for (uint32_t p = 0; p < spec->pools_count; p++) {
        struct pool *pool = &caller->pools->list[p];
        struct vq_error err = {""};
        pool->at = &spec->pools[p];
        (void)snprintf(pool->name, sizeof(pool->name), "%s", pool->at->name);
        pool->embeds = spec->kind == VQ_STAGE_EMBED;
        pool->shares = (vq_stage_has_axes(spec->kind) || vq_stage_chains(spec->kind)) &&
                       spec->axes_count > 1 && spec->prefix_cache != VQ_PREFIX_OFF;
        vq_buf_init(&pool->url, VQ_HTTP_URL_BYTES_MAX);
        enum vq_pool_state state = pool_address(pool, &err);
        if (state == VQ_POOL_OPEN) {
            VQ_TRY(pool_keys(caller, spec, p, caller->pools->next, pool, &state, &err));
        }
        (void)snprintf(pool->why, sizeof(pool->why), "%s", err.text);
        key_say(caller, p, state);
    }
    return VQ_OK;
}

/* The next good key in turn; false: there are keys, and none is good. */
static bool key_take(struct pool *pool, const struct vq_secret **ret_secret)
{
    *ret_secret = NULL;
    for (uint32_t n = 0; n < pool->keys_count; n++) {
        const struct key *key = &pool->keys[pool->turn++ % pool->keys_count];
        if (!key->refused) {
            *ret_secret = key->secret;
            return true;
        }
    }
    return pool->keys_count == 0;
}

/* The key was refused: true when the pool goes on with another one. */
static bool key_refused(struct slot *slot)
{
    struct pool *pool = slot->pool;
    uint32_t number = 0, good = 0;
    for (uint32_t k = 0; k < pool->keys_count; k++) {
        if (pool->keys[k].secret == slot->secret) {
            pool->fewer_keys = pool->fewer_keys || !pool->keys[k].refused;
            pool->keys[k].refused = true;
            number = k + 1;
        }
        good += pool->keys[k].refused ? 0 : 1;
    }
    if (good == 0) {
        return false;
    }
    (void)snprintf(pool->why, sizeof(pool->why), "key %u of %u was refused: %.*s", number,
                   pool->keys_count, VQ_ERROR_BYTES_MAX / 2, slot->error);
    vq_loop_defer(slot->caller->options.loop, &slot->caller->keys_deferred);
    return true;
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
    slot->pool = caller->pools != NULL && call->pool < caller->pools->count
                     ? &caller->pools->list[call->pool]
                     : NULL;
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

/* Its reply comes in a later step. */
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

static uint64_t tokens(int64_t reported)
{
    return reported < 0 ? 0 : (uint64_t)reported;
}

static enum vq_status hide(void *ctx, struct vq_span key)
{
    vq_reply_hide(ctx, key);
    return VQ_OK;
}

/* What is known besides: why a certificate is not trusted, which address did not answer. Nothing of
 * the request is in it. */
static void explain(struct vq_reply *reply, const char *why)
{
    size_t said = strlen(reply->error_message);
    if (why[0] != '\0') {
        (void)snprintf(reply->error_message + said, sizeof(reply->error_message) - said, ": %s",
                       why);
    }
}

/* Reads the exchange into caller->reply. VQ_NOMEM. */
static enum vq_status read_response(struct vq_caller *caller, const struct slot *slot,
                                    const struct vq_http_response *response)
{
    const struct pool *pool = slot->pool;
    struct vq_reply *reply = &caller->reply;
    vq_reply_free(reply);
    if (response->transport != VQ_TRANSPORT_OK) {
        vq_reply_from_transport(response->transport, response->sent, reply);
        explain(reply, response->error);
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
                                .now_unix_s = vq_clock_unix_ms() / 1000,
                                .answer_field = slot->answer_field};
    enum vq_status status = pool->embeds
                                ? pool->provider->embed_read(&whole, slot->request.texts, reply)
                                : pool->provider->read(&whole, reply);
    if (status == VQ_OK && slot->secret != NULL) {
        status = vq_secret_expose(slot->secret, hide, reply);
    }
    return status;
}

/* Which address was asked, and for which model, where that may be what is wrong. */
static void say_where(struct slot *slot, const struct vq_reply *got)
{
    size_t said = strlen(slot->error);
    bool model = got->class == VQ_REPLY_MODEL;
    if (model || got->class == VQ_REPLY_BLOCKED || got->class == VQ_REPLY_BAD_RESPONSE) {
        (void)snprintf(slot->error + said, sizeof(slot->error) - said, " (asked: %.400s%s%.100s)",
                       slot->pool->url.at, model ? ", model " : "",
                       model ? slot->pool->at->model : "");
    }
}

/* Gemini says so with the status of a server that is overloaded. */
static bool says_no_capacity(const struct vq_reply *got)
{
    return got->class == VQ_REPLY_CAPACITY ||
           (got->class == VQ_REPLY_PROVIDER && got->status == STATUS_UNAVAILABLE);
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
    } else {
        (void)snprintf(slot->error, sizeof(slot->error), "%s", got->error_message);
    }
    say_where(slot, got);
    bool others = got->class == VQ_REPLY_KEY && key_refused(slot);
    uint32_t learned = end == VQ_END_BAD_REQUEST ? got->params_refused & slot->request.params : 0;
    if (learned != 0) { /* asked again without it: the pool is fine */
        end = VQ_END_CLOSED;
        others = true;
    }
    int64_t latency_ms = response->total_ns / VQ_NS_PER_MS;
    struct vq_work_reply reply = {
        .call = slot->call,
        .end = end,
        .pool = others ? VQ_POOL_OPEN : vq_reply_pool(got),
        .params_refused = learned,
        .retry_after_ms = got->retry_after_ms,
        .parks = got->parks,
        .slowed = got->class == VQ_REPLY_SLOW_DOWN,
        .no_capacity = says_no_capacity(got),
        .park_unix_s = got->park_until_unix_s > 0 ? got->park_until_unix_s : 0,
        .said = vq_reply_said(got),
        .cap = got->cap,
        .organisation = got->organisation,
        .refusal = got->refusal,
        .http_status = got->status > 0 ? (uint32_t)got->status : 0,
        .latency_ms = latency_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)latency_ms,
        .started_unix_ms = slot->started_unix_ms,
        .tokens_in = tokens(got->tokens_in),
        .tokens_cached = tokens(got->tokens_cached),
        .tokens_cache_written = tokens(got->tokens_cache_written),
        .tokens_cache_written_long = tokens(got->tokens_cache_written_long),
        .tokens_uncounted = tokens(got->tokens_uncounted),
        .tokens_out = tokens(got->tokens_out),
        .provider_nano = (uint64_t)(got->cost_usd * VQ_NANO_PER_USD),
        .prompt_chars = slot->request.prompt_chars,
        .answer = vq_buf_span(&got->content),
        .finish_reason = vq_span_str(got->finish_reason),
        .model = vq_span_str(got->model),
        .fingerprint = vq_span_str(got->system_fingerprint),
        .label_logprobs = vq_span_str(got->label_logprobs),
        .tier = vq_span_str(got->service_tier),
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
    VQ_CRASH_POINT(worker_answer_arrived);
    enum vq_status status = read_response(caller, slot, response);
    if (status != VQ_OK) { /* no memory: now what was kept for it */
        vq_free(caller->spare);
        caller->spare = NULL;
        status = read_response(caller, slot, response);
    }
    if (status != VQ_OK) { /* as if the response had not come */
        vq_reply_free(&caller->reply);
        vq_reply_from_transport(VQ_TRANSPORT_RESET, true, &caller->reply);
        explain(&caller->reply, "no memory to read the response");
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
    const struct pool *pool = slot->pool;
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
        caller->spare = vq_alloc(1, SPARE_BYTES); /* untouched, it takes none of the machine's */
    }
    struct slot *slot = caller->spare == NULL ? NULL : slot_take(caller, call, started_unix_ms);
    if (slot == NULL) {
        return VQ_NOMEM;
    }
    if (slot->pool == NULL || slot->pool->provider == NULL) {
        slot_refuse(slot, VQ_END_CLOSED, "the pool is not open here");
        return VQ_OK;
    }
    if (!key_take(slot->pool, &slot->secret)) {
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
    if (status !=
        VQ_OK) { /* a full client is a matter of time; anything else is the pool's address or key */
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
