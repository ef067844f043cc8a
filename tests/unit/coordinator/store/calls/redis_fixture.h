/* A private Redis server, a connection and a way to wait, for the tests that need a real one. */
#pragma once

#include "fixture.h"

#include "common/net/redis.h"
#include "coordinator/store/state/redis_server.h"
#include "coordinator/store/state/run_state.h"

#define RX_WAIT_MS 30000

struct rx {
    char dir[64];
    struct vq_error err;
    struct vq_loop *loop;
    struct vq_redis_server *server;
    unsigned ready; /* how often it became ready */
    enum vq_redis_server_state last;
    char text[256];
    struct vq_redis_address address;
    struct vq_redis *redis;
    bool up;
    unsigned downs;
};

static VQ_UNUSED void rx_changed(void *ctx, enum vq_redis_server_state state, const char *text)
{
    struct rx *rx = ctx;
    rx->last = state;
    rx->ready += state == VQ_REDIS_SERVER_READY ? 1 : 0;
    (void)snprintf(rx->text, sizeof(rx->text), "%s", text);
}

static VQ_UNUSED void rx_up(void *ctx)
{
    ((struct rx *)ctx)->up = true;
}

static VQ_UNUSED void rx_down(void *ctx, const char *why)
{
    (void)why;
    struct rx *rx = ctx;
    rx->up = false;
    rx->downs++;
}

static VQ_UNUSED void rx_wait(struct rx *rx, bool (*done)(void *ctx), void *ctx)
{
    enum vq_status status = vq_loop_run_until(rx->loop, done, ctx, RX_WAIT_MS);
    if (status != VQ_OK) {
        fail_msg("waited in vain: %s; server: %s", vq_status_name(status), rx->text);
    }
}

static VQ_UNUSED bool rx_is_ready(void *ctx)
{
    const struct rx *rx = ctx;
    return rx->last == VQ_REDIS_SERVER_READY || rx->last == VQ_REDIS_SERVER_FAILED;
}

static VQ_UNUSED bool rx_is_up(void *ctx)
{
    return ((struct rx *)ctx)->up;
}

static VQ_UNUSED void rx_start(struct rx *rx, const struct vq_id *uid)
{
    struct vq_redis_server_options options = {
        .run_dir = rx->dir, .uid = uid, .changed = rx_changed, .ctx = rx};
    rx->last = VQ_REDIS_SERVER_WAITING;
    assert_ok(vq_redis_server_create(rx->loop, &options, &rx->server, &rx->err), &rx->err);
}

static VQ_UNUSED void rx_connect(struct rx *rx)
{
    struct vq_redis_options options = {
        .address = &rx->address, .on_up = rx_up, .on_down = rx_down, .ctx = rx};
    (void)snprintf(rx->address.unix_path, sizeof(rx->address.unix_path), "%s",
                   vq_redis_server_socket(rx->server));
    assert_ok(vq_redis_create(rx->loop, &options, &rx->redis, &rx->err), &rx->err);
    rx_wait(rx, rx_is_up, rx);
}

static VQ_UNUSED struct rx *rx_new(void)
{
    struct rx *rx = vq_alloc(1, sizeof(*rx));
    assert_non_null(rx);
    fx_folder(rx->dir);
    assert_ok(vq_loop_create(&rx->loop, &rx->err), &rx->err);
    return rx;
}

static VQ_UNUSED void rx_free(struct rx *rx)
{
    vq_redis_destroy(&rx->redis);
    vq_redis_server_destroy(&rx->server);
    vq_loop_destroy(&rx->loop);
    fx_remove(rx->dir);
    vq_free(rx);
}

/* One command, its answer as text; integers in decimal, "(nil)", items of an array joined by
 * spaces. */
struct rx_reply {
    bool done;
    enum vq_status status;
    char text[512];
};

static VQ_UNUSED void rx_on_reply(void *ctx, enum vq_status status,
                                  const struct vq_redis_reply *reply)
{
    struct rx_reply *r = ctx;
    struct vq_buf out;
    r->done = true;
    r->status = status;
    if (status != VQ_OK) {
        return;
    }
    vq_buf_init(&out, sizeof(r->text) - 1);
    size_t n = reply->type == VQ_REDIS_ARRAY ? reply->items : 1;
    for (size_t i = 0; i < n; i++) {
        struct vq_redis_reply item =
            reply->type == VQ_REDIS_ARRAY ? vq_redis_reply_item(reply, i) : *reply;
        vq_buf_puts(&out, i == 0 ? "" : " ");
        if (item.type == VQ_REDIS_INTEGER) {
            vq_buf_printf(&out, "%lld", (long long)item.integer);
        } else if (item.type == VQ_REDIS_NIL) {
            vq_buf_puts(&out, "(nil)");
        } else {
            vq_buf_append(&out, item.text.at, item.text.bytes);
        }
    }
    (void)snprintf(r->text, sizeof(r->text), "%s", out.at == NULL ? "" : out.at);
    vq_buf_free(&out);
}

static VQ_UNUSED bool rx_reply_done(void *ctx)
{
    return ((struct rx_reply *)ctx)->done;
}

static VQ_UNUSED const char *rx_command(struct rx *rx, const char *a, const char *b, const char *c)
{
    static struct rx_reply reply;
    reply = (struct rx_reply){0};
    assert_int_equal(vq_redis_words(rx->redis, rx_on_reply, &reply, a, b, c, NULL), VQ_OK);
    rx_wait(rx, rx_reply_done, &reply);
    assert_int_equal(reply.status, VQ_OK);
    return reply.text;
}
