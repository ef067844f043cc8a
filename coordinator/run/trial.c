/* Tries the parts of a run's start that need the network, in the order of the run: addresses first,
 * then Redis. Invariant: when it returns, its sockets, processes and folders are closed and
 * removed. A private server gets one attempt, because a person does not want to wait half a minute
 * for a server that fails to start. Not its job: keys, files and the data. */
#include "coordinator/run/trial.h"

#include "common/text/file.h"
#include "coordinator/run/listen.h"
#include "coordinator/run/parts.h"
#include "coordinator/store/rundir/run_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_BYTES_MAX                                                                              \
    (1u << 20) /* of the private server's log, which is read after a failed start */

/* ---- addresses ---- */

static void on_frame(void *ctx, uint64_t peer, struct vq_span frame)
{
    (void)ctx; /* no key is allowed in, so no frame comes */
    (void)peer;
    (void)frame;
}

static enum vq_status try_listen(struct vq_loop *loop, const struct vq_run_options *options,
                                 struct vq_error *err)
{
    struct vq_listen place;
    struct vq_keypair keys;
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    struct vq_router *router = NULL;
    VQ_TRY(vq_listen_of(options->listen, "", &place, err));
    VQ_TRY(options->cert == NULL ? VQ_OK : vq_cert_folder_check(options->cert, err));
    VQ_TRY(vq_keypair_create(&keys));
    struct vq_router_options of_router = {.keys = &keys, .on_message = on_frame};
    enum vq_status status = vq_router_create(loop, &of_router, &router, err);
    if (status == VQ_OK) {
        status = vq_router_bind(router, place.endpoint, endpoint, err);
    }
    if (status == VQ_OK && options->advertise != NULL) {
        char advertised[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
        status = vq_listen_advertised(options->advertise, endpoint, advertised, err);
    }
    vq_router_destroy(&router);
    vq_keypair_destroy(&keys);
    return status;
}

static enum vq_status try_http(struct vq_loop *loop, const struct vq_run_http *http,
                               struct vq_error *err)
{
    struct vq_http_server server = {0};
    struct vq_endpoint endpoint;
    enum vq_status status = vq_http_server_open(loop, http, NULL, 0, NULL, &server, &endpoint, err);
    vq_http_server_close(&server);
    vq_wipe(endpoint.token, sizeof(endpoint.token));
    return status;
}

/* ---- a shared Redis ---- */

struct shared {
    struct vq_redis *client;
    bool answers;
    enum vq_status status; /* it refuses us */
    struct vq_error *err;
    char why[VQ_ERROR_BYTES_MAX];
};

static void on_pong(void *ctx, enum vq_status status, const struct vq_redis_reply *reply)
{
    struct shared *s = ctx;
    if (status == VQ_OK && reply->type == VQ_REDIS_ERROR) {
        (void)snprintf(s->why, sizeof(s->why), "%.*s", (int)reply->text.bytes, reply->text.at);
    }
    s->answers = status == VQ_OK && reply->type != VQ_REDIS_ERROR;
}

static void on_up(void *ctx)
{
    struct shared *s = ctx;
    s->status = vq_redis_words(s->client, on_pong, s, "PING", NULL);
}

static void on_down(void *ctx, const char *why)
{
    struct shared *s = ctx;
    if (vq_run_redis_denies(why)) {
        s->status = vq_run_redis_denied(why, s->err);
    }
    (void)snprintf(s->why, sizeof(s->why), "%s", why);
}

static bool shared_settled(void *ctx)
{
    const struct shared *s = ctx;
    return s->answers || s->status != VQ_OK;
}

static enum vq_status try_shared(struct vq_loop *loop, const struct vq_config *c,
                                 struct vq_error *err)
{
    struct vq_redis_address address = {.port = 0};
    struct shared s = {.err = err, .why = "no reply to PING"};
    VQ_TRY(vq_redis_address_parse(c->redis_url, c->redis_ca, &address, err));
    struct vq_redis_options options = {
        .address = &address, .on_up = on_up, .on_down = on_down, .ctx = &s};
    enum vq_status status = vq_redis_create(loop, &options, &s.client, err);
    if (status == VQ_OK) {
        status = vq_loop_run_until(loop, shared_settled, &s, VQ_TRIAL_SHARED_MS);
        status = s.status != VQ_OK ? s.status
                 : s.answers       ? VQ_OK
                                   : vq_run_redis_silent(true, status, s.why, err);
    }
    vq_redis_destroy(&s.client);
    vq_redis_address_destroy(&address);
    return status;
}

/* ---- a private one ---- */

struct private
{
    bool ready, failed;
    char why[VQ_ERROR_BYTES_MAX];
};

static void on_server(void *ctx, enum vq_redis_server_state state, const char *text)
{
    struct private *p = ctx;
    if (p->ready || p->failed) {
        return;
    }
    p->ready = state == VQ_REDIS_SERVER_READY;
    p->failed = state == VQ_REDIS_SERVER_WAITING || state == VQ_REDIS_SERVER_FAILED;
    (void)snprintf(p->why, sizeof(p->why), "%s", text);
}

static bool private_settled(void *ctx)
{
    const struct private *p = ctx;
    return p->ready || p->failed;
}

/* The last line of the server's log, which is removed with its folder. */
static void add_log(struct private *p, const char *dir)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_buf text;
    vq_buf_init(&text, LOG_BYTES_MAX);
    int n = snprintf(path, sizeof(path), "%s/redis/log", dir);
    if (n > 0 && (size_t)n < sizeof(path) &&
        vq_file_read(path, LOG_BYTES_MAX, &text, NULL) == VQ_OK) {
        size_t to = text.bytes;
        while (to > 0 && text.at[to - 1] == '\n') {
            to--;
        }
        size_t from = to;
        while (from > 0 && text.at[from - 1] != '\n') {
            from--;
        }
        size_t bytes = strcspn(p->why, ";"); /* "; see LOG" */
        if (to > from) {
            (void)snprintf(p->why + bytes, sizeof(p->why) - bytes, ": %.*s", (int)(to - from),
                           text.at + from);
        }
    }
    vq_buf_free(&text);
}

static enum vq_status try_in(struct vq_loop *loop, const char *dir, struct vq_error *err)
{
    struct private p = {.why = "it did not start"};
    struct vq_id uid;
    struct vq_redis_server *server = NULL;
    vq_random_bytes(uid.b, sizeof(uid.b));
    struct vq_redis_server_options options = {
        .run_dir = dir, .uid = &uid, .changed = on_server, .ctx = &p};
    VQ_TRY(vq_redis_server_create(loop, &options, &server, err));
    enum vq_status status = vq_loop_run_until(loop, private_settled, &p, VQ_TRIAL_PRIVATE_MS);
    if (p.failed) {
        add_log(&p, dir);
    }
    status = p.ready    ? VQ_OK
             : p.failed ? vq_run_redis_failed(p.why, err)
                        : vq_run_redis_silent(false, status, p.why, err);
    vq_redis_server_destroy(&server);
    return status;
}

static enum vq_status try_private(struct vq_loop *loop, struct vq_error *err)
{
    char dir[VQ_RUN_PATH_BYTES_MAX];
    const char *temp = getenv("TMPDIR");
    int n =
        snprintf(dir, sizeof(dir), "%s/vibeq-dry-XXXXXX",
                 temp != NULL && *temp == '/' && access(temp, W_OK | X_OK) == 0 ? temp : "/tmp");
    if (n < 0 || (size_t)n >= sizeof(dir)) {
        return vq_fail(err, VQ_LIMIT, "TMPDIR: the path is too long");
    }
    if (mkdtemp(dir) == NULL) {
        return vq_fail(err, VQ_IO, "%s: no temporary folder can be made: %s", dir, strerror(errno));
    }
    enum vq_status status = try_in(loop, dir, err);
    struct vq_error ignored;
    if (vq_folder_remove(dir, &ignored) != VQ_OK && status == VQ_OK) {
        status = vq_fail(err, VQ_IO, "%s", ignored.text);
    }
    return status;
}

enum vq_status vq_trial_start(const struct vq_run_options *options, const struct vq_config *config,
                              struct vq_error *err)
{
    struct vq_loop *loop = NULL;
    VQ_TRY(vq_loop_create(&loop, err));
    enum vq_status status = try_listen(loop, options, err);
    if (status == VQ_OK) {
        status = config->redis_url != NULL ? try_shared(loop, config, err) : try_private(loop, err);
    }
    if (status == VQ_OK) {
        status = try_http(loop, &options->http, err);
    }
    vq_loop_destroy(&loop);
    return status;
}
