/* hiredis (0.14 and later) on the loop, with the parts that it lacks: a deadline for every command,
 * reconnection with growing, jittered pauses, and an adapter that releases its descriptor before
 * hiredis closes it.
 *
 * Invariants: every accepted command completes exactly once, never from inside the call that sent
 * it; after the first lost or late reply the connection is closed, and the result of every command
 * in flight is unknown. Replies arrive in order, so only the oldest command can be late. The
 * password is copied only to hiredis' own output. Owns its connection and the list of commands
 * without a reply. Not its job: the meaning of a reply. */
#include "common/net/redis.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/net/loop_private.h"
#include "common/net/redis_tls.h"

#include <arpa/inet.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <stdio.h>

#define WATCH_MS  100
#define WHY_BYTES 256

enum state {
    STATE_DOWN,
    STATE_RESOLVING,
    STATE_CONNECTING, /* and authenticating */
    STATE_UP,
};

/* hiredis' view of the loop; it is freed after the context, when its handle is closed. */
struct adapter {
    uv_poll_t poll;
    struct vq_redis *redis;
    redisAsyncContext *context;
    int events;
};

struct pending {
    struct vq_redis *redis;
    vq_redis_fn fn;
    void *ctx;
    int64_t deadline_ns;
    struct pending *next;
};

/* A lookup of a host's address in the thread pool, because hiredis' own lookup would block the
 * loop. It may outlive its client. If a host has several addresses, they are tried in turn:
 * localhost is often ::1 and 127.0.0.1, and a server may listen on only one of them. */
struct lookup {
    struct vq_redis *redis; /* NULL: the result is no longer needed */
    uint32_t turn;
    char host[VQ_REDIS_HOST_BYTES_MAX];
    char address[INET6_ADDRSTRLEN];
    int failed; /* of getaddrinfo */
};

struct vq_redis {
    struct vq_loop *loop;
    struct vq_redis_options options;
    struct lookup *lookup; /* the running lookup */
    uint32_t turn;         /* look-ups so far */
    int64_t deadline_ns;   /* of a command, as a duration */
    redisAsyncContext *context;
    struct vq_redis_tls *tls; /* NULL: without TLS */
    enum state state;
    int64_t connect_until_ns;
    uint32_t greetings_left;
    struct pending *oldest, *newest;
    enum vq_status loss; /* the status of commands in flight when the connection closes */
    struct vq_timer *watch, *retry;
    struct vq_deferred gone, drop;
    uint64_t retry_ms;
    bool dropped; /* vq_redis_drop closed the last connection */
    struct vq_rng rng;
    char why[WHY_BYTES];
    struct vq_redis_stats stats;
};

static void connect_now(struct vq_redis *r);

/* ---- the adapter ---- */

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct adapter *a = poll->data;
    if (a->context != NULL && (status != 0 || (events & UV_READABLE) != 0)) {
        redisAsyncHandleRead(a->context);
    }
    if (a->context != NULL && (status != 0 || (events & UV_WRITABLE) != 0)) {
        redisAsyncHandleWrite(a->context);
    }
}

static void watch_events(struct adapter *a, int events)
{
    if (events == a->events) {
        return;
    }
    a->events = events;
    if (events != 0) {
        (void)uv_poll_start(&a->poll, events, on_poll);
    } else {
        (void)uv_poll_stop(&a->poll);
    }
}

static void add_read(void *data)
{
    struct adapter *a = data;
    watch_events(a, a->events | UV_READABLE);
}

static void del_read(void *data)
{
    struct adapter *a = data;
    watch_events(a, a->events & ~UV_READABLE);
}

static void add_write(void *data)
{
    struct adapter *a = data;
    watch_events(a, a->events | UV_WRITABLE);
}

static void del_write(void *data)
{
    struct adapter *a = data;
    watch_events(a, a->events & ~UV_WRITABLE);
}

static void on_adapter_closed(uv_handle_t *handle)
{
    vq_free(handle->data);
}

/* Called once when a context ends, for any reason, after the callbacks of all commands in
 * flight. */
static void cleanup(void *data)
{
    struct adapter *a = data;
    struct vq_redis *r = a->redis;
    if (r != NULL && r->context == a->context) {
        bool is_tls = r->tls != NULL && vq_redis_tls_why(r->tls, r->why, sizeof(r->why));
        if (!is_tls && r->why[0] == '\0') {
            (void)snprintf(r->why, sizeof(r->why), "%s",
                           a->context->errstr != NULL && a->context->errstr[0] != '\0'
                               ? a->context->errstr
                               : "the connection was closed");
        }
        r->context = NULL;
        r->state = STATE_DOWN;
        vq_loop_defer(r->loop, &r->gone);
    }
    a->context = NULL;
    (void)uv_poll_stop(&a->poll);
    uv_close((uv_handle_t *)&a->poll, on_adapter_closed);
}

static enum vq_status attach(struct vq_redis *r)
{
    struct adapter *a;
    VQ_TRY(VQ_ALLOC(a, 1));
    if (uv_poll_init(vq_loop_uv(r->loop), &a->poll, r->context->c.fd) != 0) {
        vq_free(a); /* was never on the loop */
        return VQ_IO;
    }
    a->poll.data = a;
    a->redis = r;
    a->context = r->context;
    r->context->ev.data = a;
    r->context->ev.addRead = add_read;
    r->context->ev.delRead = del_read;
    r->context->ev.addWrite = add_write;
    r->context->ev.delWrite = del_write;
    r->context->ev.cleanup = cleanup;
    return VQ_OK;
}

/* ---- replies ---- */

static struct vq_redis_reply view(const redisReply *reply)
{
    struct vq_redis_reply v = {.type = VQ_REDIS_NIL, .opaque = reply};
    switch (reply->type) {
    case REDIS_REPLY_STATUS: v.type = VQ_REDIS_STATUS; break;
    case REDIS_REPLY_ERROR: v.type = VQ_REDIS_ERROR; break;
    case REDIS_REPLY_INTEGER: v.type = VQ_REDIS_INTEGER; break;
    case REDIS_REPLY_STRING: v.type = VQ_REDIS_STRING; break;
    case REDIS_REPLY_ARRAY: v.type = VQ_REDIS_ARRAY; break;
    default: break;
    }
    if (v.type == VQ_REDIS_INTEGER) {
        v.integer = reply->integer;
    } else if (v.type == VQ_REDIS_ARRAY) {
        v.items = reply->elements;
    } else if (v.type != VQ_REDIS_NIL) {
        v.text = vq_span(reply->str, (size_t)reply->len);
    }
    return v;
}

struct vq_redis_reply vq_redis_reply_item(const struct vq_redis_reply *reply, size_t i)
{
    VQ_ASSERT(reply->type == VQ_REDIS_ARRAY && i < reply->items);
    return view(((const redisReply *)reply->opaque)->element[i]);
}

static void unlink_oldest(struct vq_redis *r, struct pending *p)
{
    VQ_ASSERT(r->oldest == p); /* replies come in the order of the commands */
    r->oldest = p->next;
    if (r->oldest == NULL) {
        r->newest = NULL;
    }
    r->stats.pending--;
}

static void on_reply(redisAsyncContext *context, void *data, void *private)
{
    (void)context;
    struct pending *p = private;
    struct vq_redis *r = p->redis;
    unlink_oldest(r, p);
    vq_redis_fn fn = p->fn;
    void *ctx = p->ctx;
    vq_free(p);
    if (data == NULL) {
        r->stats.timeouts += r->loss == VQ_TIMEOUT;
        if (fn != NULL) {
            fn(ctx, r->loss, NULL);
        }
        return;
    }
    r->stats.replies++;
    if (fn != NULL) {
        struct vq_redis_reply reply = view(data);
        fn(ctx, VQ_OK, &reply);
    }
}

/* ---- the connection ---- */

/* Closes the connection in a deferred step, because the caller may be a callback of hiredis. */
static void give_up(struct vq_redis *r, enum vq_status loss, const char *why)
{
    if (r->context == NULL || vq_linked(&r->drop.link)) {
        return;
    }
    r->loss = loss;
    (void)snprintf(r->why, sizeof(r->why), "%s", why);
    vq_loop_defer(r->loop, &r->drop);
}

static void drop_deferred(void *ctx)
{
    struct vq_redis *r = ctx;
    if (r->context != NULL) {
        redisAsyncFree(r->context); /* calls cleanup */
    }
}

static void gone_deferred(void *ctx)
{
    struct vq_redis *r = ctx;
    char why[WHY_BYTES];
    memcpy(why, r->why, sizeof(why));
    vq_timer_stop(r->watch);
    uint64_t pause = r->retry_ms / 2 + vq_rng_below(&r->rng, r->retry_ms / 2 + 1);
    r->retry_ms = r->retry_ms * 2 > VQ_REDIS_RETRY_MAX_MS ? VQ_REDIS_RETRY_MAX_MS : r->retry_ms * 2;
    vq_timer_start(r->retry, pause, 0);
    if (r->options.on_down != NULL) {
        r->options.on_down(r->options.ctx, why);
    }
}

static void on_greeted(redisAsyncContext *context, void *data, void *private)
{
    (void)context;
    struct vq_redis *r = private;
    const redisReply *reply = data;
    if (reply == NULL || r->state != STATE_CONNECTING) {
        return;
    }
    if (reply->type == REDIS_REPLY_ERROR) {
        char why[WHY_BYTES];
        (void)snprintf(why, sizeof(why), VQ_REDIS_REFUSES "%s", reply->str);
        give_up(r, VQ_UNAVAILABLE, why);
        return;
    }
    if (--r->greetings_left > 0) {
        return;
    }
    r->state = STATE_UP;
    if (!r->dropped) { /* after vq_redis_drop, the pauses continue to grow */
        r->retry_ms = VQ_REDIS_RETRY_MS;
    }
    r->dropped = false;
    r->stats.connects++;
    if (r->options.on_up != NULL) {
        r->options.on_up(r->options.ctx);
    }
}

/* Sends a command of the words that are not empty. */
static enum vq_status greet(struct vq_redis *r, const char *word, const char *first,
                            struct vq_span second)
{
    const char *argv[3] = {word};
    size_t bytes[3] = {strlen(word)};
    const struct vq_span words[] = {vq_span_str(first), second};
    int n = 1;
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        if (words[i].bytes > 0) {
            argv[n] = words[i].at;
            bytes[n++] = words[i].bytes;
        }
    }
    r->greetings_left++;
    return redisAsyncCommandArgv(r->context, on_greeted, r, n, argv, bytes) == REDIS_OK
               ? VQ_OK
               : VQ_UNAVAILABLE;
}

static enum vq_status greet_password(void *ctx, struct vq_span bytes)
{
    struct vq_redis *r = ctx;
    return greet(r, "AUTH", r->options.address->user, bytes);
}

static void on_connected(const redisAsyncContext *context, int status)
{
    struct adapter *a = context->ev.data;
    struct vq_redis *r = a->redis;
    if (status != REDIS_OK) {
        return; /* hiredis calls cleanup */
    }
    const struct vq_redis_address *to = r->options.address;
    r->greetings_left = 0;
    enum vq_status ok = VQ_OK;
    if (r->tls != NULL) {
        ok = vq_redis_tls_begin(r->tls, &r->context->c, to->host);
    }
    if (ok == VQ_OK && to->password != NULL) {
        ok = vq_secret_expose(to->password, greet_password, r);
    }
    if (ok == VQ_OK && to->db != 0) {
        char db[16];
        (void)snprintf(db, sizeof(db), "%u", to->db);
        ok = greet(r, "SELECT", db, vq_span(NULL, 0));
    }
    if (ok == VQ_OK) {
        /* a server that still loads its data replies with an error */
        ok = greet(r, "PING", "", vq_span(NULL, 0));
    }
    if (ok != VQ_OK) {
        give_up(r, VQ_UNAVAILABLE, "cannot greet the server");
    }
}

static void fail_to_connect(struct vq_redis *r, const char *why)
{
    r->state = STATE_DOWN;
    (void)snprintf(r->why, sizeof(r->why), "%s", why);
    vq_loop_defer(r->loop, &r->gone);
}

static void connect_to(struct vq_redis *r, const char *numeric_host)
{
    const struct vq_redis_address *to = r->options.address;
    redisAsyncContext *context = numeric_host == NULL ? redisAsyncConnectUnix(to->unix_path)
                                                      : redisAsyncConnect(numeric_host, to->port);
    if (context == NULL) {
        fail_to_connect(r, "out of memory");
        return;
    }
    if (context->err != 0) {
        fail_to_connect(r, context->errstr);
        redisAsyncFree(context);
        return;
    }
    r->context = context;
    r->state = STATE_CONNECTING;
    r->connect_until_ns = vq_clock_mono_ns() + r->deadline_ns;
    if (attach(r) != VQ_OK) {
        r->context = NULL;
        redisAsyncFree(context);
        fail_to_connect(r, "cannot watch the connection");
        return;
    }
    /* starts waiting for the connection */
    (void)redisAsyncSetConnectCallback(context, on_connected);
    vq_timer_start(r->watch, WATCH_MS, WATCH_MS);
}

static void look_up(void *ctx)
{
    struct lookup *l = ctx;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    l->failed = getaddrinfo(l->host, NULL, &hints, &found);
    if (l->failed != 0) {
        return;
    }
    uint32_t count = 0;
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) {
        count++;
    }
    const struct addrinfo *mine = found;
    for (uint32_t skip = l->turn % count; skip > 0; skip--) {
        mine = mine->ai_next;
    }
    l->failed = getnameinfo(mine->ai_addr, mine->ai_addrlen, l->address, sizeof(l->address), NULL,
                            0, NI_NUMERICHOST);
    freeaddrinfo(found);
}

static void looked_up(void *ctx)
{
    struct lookup *l = ctx;
    struct vq_redis *r = l->redis;
    if (r != NULL) {
        r->lookup = NULL;
        if (l->failed == 0) {
            connect_to(r, l->address);
        } else {
            fail_to_connect(r, gai_strerror(l->failed));
        }
    }
    vq_free(l);
}

static void connect_now(struct vq_redis *r)
{
    const struct vq_redis_address *to = r->options.address;
    struct in6_addr numeric;
    r->why[0] = '\0';
    r->loss = VQ_UNAVAILABLE;
    if (to->unix_path[0] != '\0') {
        connect_to(r, NULL);
        return;
    }
    if (inet_pton(AF_INET, to->host, &numeric) == 1 ||
        inet_pton(AF_INET6, to->host, &numeric) == 1) {
        connect_to(r, to->host);
        return;
    }
    struct lookup *l = vq_alloc(1, sizeof(*l));
    if (l != NULL) {
        l->redis = r;
        l->turn = r->turn++;
        memcpy(l->host, to->host, sizeof(l->host));
    }
    if (l == NULL || vq_loop_work(r->loop, look_up, looked_up, l) != VQ_OK) {
        vq_free(l);
        fail_to_connect(r, "out of memory");
        return;
    }
    r->lookup = l;
    r->state = STATE_RESOLVING;
}

static void on_retry(void *ctx)
{
    connect_now(ctx);
}

static void on_watch(void *ctx)
{
    struct vq_redis *r = ctx;
    int64_t now = vq_clock_mono_ns();
    if (r->state != STATE_CONNECTING && r->oldest == NULL) { /* nothing can be late */
        vq_timer_stop(r->watch);
    } else if (r->state == STATE_CONNECTING && now > r->connect_until_ns) {
        give_up(r, VQ_TIMEOUT, "no answer while connecting");
    } else if (r->oldest != NULL && now > r->oldest->deadline_ns) {
        give_up(r, VQ_TIMEOUT, "a command got no reply in time");
    }
}

/* ---- public functions ---- */

enum vq_status vq_redis_create(struct vq_loop *loop, const struct vq_redis_options *options,
                               struct vq_redis **ret_redis, struct vq_error *err)
{
    struct vq_redis *r = vq_alloc(1, sizeof(*r));
    if (r == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    uint64_t seed;
    vq_random_bytes(&seed, sizeof(seed));
    vq_rng_seed(&r->rng, seed);
    r->loop = loop;
    r->options = *options;
    uint32_t deadline_ms = options->deadline_ms != 0 ? options->deadline_ms : VQ_REDIS_DEADLINE_MS;
    r->deadline_ns = (int64_t)deadline_ms * VQ_NS_PER_MS;
    r->retry_ms = VQ_REDIS_RETRY_MS;
    r->gone = (struct vq_deferred){.fn = gone_deferred, .ctx = r};
    r->drop = (struct vq_deferred){.fn = drop_deferred, .ctx = r};
    enum vq_status status = VQ_OK;
    if (options->address->tls) {
        status = vq_redis_tls_create(options->address->ca_file, &r->tls, err);
    }
    if (status != VQ_OK) {
        vq_free(r);
        return status;
    }
    status = vq_timer_create(loop, on_watch, r, &r->watch);
    if (status == VQ_OK) {
        status = vq_timer_create(loop, on_retry, r, &r->retry);
    }
    if (status != VQ_OK) {
        vq_timer_destroy(&r->watch);
        vq_redis_tls_destroy(&r->tls);
        vq_free(r);
        return vq_fail(err, status, "cannot make a timer");
    }
    connect_now(r);
    *ret_redis = r;
    return VQ_OK;
}

void vq_redis_destroy(struct vq_redis **redis)
{
    struct vq_redis *r = *redis;
    if (r == NULL) {
        return;
    }
    if (r->context != NULL) {
        r->loss = VQ_UNAVAILABLE;
        redisAsyncFree(r->context);
    }
    if (r->lookup != NULL) {
        r->lookup->redis = NULL;
    }
    vq_deferred_cancel(&r->gone);
    vq_deferred_cancel(&r->drop);
    vq_timer_destroy(&r->watch);
    vq_timer_destroy(&r->retry);
    vq_redis_tls_destroy(&r->tls);
    vq_free(r);
    *redis = NULL;
}

bool vq_redis_is_up(const struct vq_redis *redis)
{
    return redis->state == STATE_UP && !vq_linked(&redis->drop.link);
}

void vq_redis_drop(struct vq_redis *redis, const char *why)
{
    redis->dropped = true;
    give_up(redis, VQ_UNAVAILABLE, why);
}

enum vq_status vq_redis_command(struct vq_redis *redis, const struct vq_span *args, uint32_t count,
                                vq_redis_fn fn, void *ctx)
{
    if (!vq_redis_is_up(redis)) {
        return VQ_UNAVAILABLE;
    }
    if (count == 0 || count > VQ_REDIS_ARGS_MAX || redis->stats.pending >= VQ_REDIS_PENDING_MAX) {
        return VQ_LIMIT;
    }
    const char *argv[64];
    size_t sizes[64];
    bool few = count <= VQ_COUNT(argv);
    const char **at = few ? argv : vq_alloc(count, sizeof(*at));
    size_t *bytes = few ? sizes : vq_alloc(count, sizeof(*bytes));
    struct pending *p = vq_alloc(1, sizeof(*p));
    enum vq_status status = at == NULL || bytes == NULL || p == NULL ? VQ_NOMEM : VQ_OK;
    size_t total = 0;
    for (uint32_t i = 0; i < count && status == VQ_OK; i++) {
        at[i] = args[i].bytes > 0 ? args[i].at : "";
        bytes[i] = args[i].bytes;
        total += bytes[i];
        status = total > VQ_REDIS_COMMAND_BYTES_MAX ? VQ_LIMIT : VQ_OK;
    }
    if (status == VQ_OK &&
        redisAsyncCommandArgv(redis->context, on_reply, p, (int)count, at, bytes) != REDIS_OK) {
        status = VQ_UNAVAILABLE;
    }
    if (!few) {
        vq_free(at);
        vq_free(bytes);
    }
    if (status != VQ_OK) {
        vq_free(p);
        return status;
    }
    *p = (struct pending){.redis = redis,
                          .fn = fn,
                          .ctx = ctx,
                          .deadline_ns = vq_clock_mono_ns() + redis->deadline_ns};
    *(redis->newest != NULL ? &redis->newest->next : &redis->oldest) = p;
    redis->newest = p;
    if (!vq_timer_is_running(redis->watch)) {
        vq_timer_start(redis->watch, WATCH_MS, WATCH_MS);
    }
    redis->stats.pending++;
    redis->stats.commands++;
    return VQ_OK;
}

enum vq_status vq_redis_words(struct vq_redis *redis, vq_redis_fn fn, void *ctx, const char *word,
                              ...)
{
    struct vq_span args[64];
    uint32_t count = 0;
    va_list more;
    va_start(more, word);
    for (const char *at = word; at != NULL && count < VQ_COUNT(args);
         at = va_arg(more, const char *)) {
        args[count++] = vq_span_str(at);
    }
    va_end(more);
    return vq_redis_command(redis, args, count, fn, ctx);
}

enum vq_status vq_redis_eval(struct vq_redis *redis, const struct vq_redis_script *script,
                             const struct vq_span *keys, uint32_t keys_count,
                             const struct vq_span *args, uint32_t args_count, vq_redis_fn fn,
                             void *ctx)
{
    uint32_t count = 3 + keys_count + args_count;
    if (keys_count > VQ_REDIS_ARGS_MAX || args_count > VQ_REDIS_ARGS_MAX ||
        count > VQ_REDIS_ARGS_MAX) {
        return VQ_LIMIT;
    }
    struct vq_span *all;
    VQ_TRY(VQ_ALLOC(all, count));
    char number[16];
    (void)snprintf(number, sizeof(number), "%u", keys_count);
    all[0] = vq_span_str("EVAL");
    all[1] = vq_span_str(script->text);
    all[2] = vq_span_str(number);
    for (uint32_t i = 0; i < keys_count; i++) {
        all[3 + i] = keys[i];
    }
    for (uint32_t i = 0; i < args_count; i++) {
        all[3 + keys_count + i] = args[i];
    }
    enum vq_status status = vq_redis_command(redis, all, count, fn, ctx);
    vq_free(all);
    return status;
}

struct vq_redis_stats vq_redis_stats(const struct vq_redis *redis)
{
    return redis->stats;
}
