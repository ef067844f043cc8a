/* One ROUTER and its DEALERs on one loop, for the tests of both ends of the wire. */
#pragma once

#include "tests/unit/common/net/net_test.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/net/zsock.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#define LOOPBACK "tcp://127.0.0.1:0"

struct fixture {
    struct vq_loop *loop;
    struct vq_keypair server;
    struct vq_keypair client;
    struct vq_router *router;
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    /* what the router got */
    int got;
    uint64_t peer;
    char last[64];
    bool echo;
    char sender[VQ_CURVE_KEY_CHARS + 1];
};

struct client {
    struct vq_dealer *dealer;
    int got;
    char last[64];
    struct vq_span expected; /* at not NULL: every frame must be this */
};

static inline void on_router(void *ctx, uint64_t peer, struct vq_span frame)
{
    struct fixture *f = ctx;
    f->got++;
    f->peer = peer;
    copy_text(f->last, sizeof(f->last), frame);
    copy_text(f->sender, sizeof(f->sender), vq_span_str(vq_router_sender_key(f->router)));
    if (f->echo) {
        assert_ok(vq_router_send(f->router, peer, frame));
    }
}

static inline void on_dealer(void *ctx, struct vq_span frame)
{
    struct client *c = ctx;
    c->got++;
    copy_text(c->last, sizeof(c->last), frame);
    if (c->expected.at != NULL) {
        assert_true(vq_span_eq(frame, c->expected));
    }
}

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    *state = f;
    assert_ok(vq_loop_create(&f->loop, NULL));
    assert_ok(vq_keypair_create(&f->server));
    assert_ok(vq_keypair_create(&f->client));
    const char *allowed[] = {f->client.public_key};
    struct vq_router_options options = {.keys = &f->server,
                                        .allowed = allowed,
                                        .allowed_count = 1,
                                        .on_message = on_router,
                                        .ctx = f};
    assert_ok(vq_router_create(f->loop, &options, &f->router, NULL));
    assert_ok(vq_router_bind(f->router, LOOPBACK, f->endpoint, NULL));
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;
    vq_router_destroy(&f->router);
    vq_keypair_destroy(&f->server);
    vq_keypair_destroy(&f->client);
    vq_loop_destroy(&f->loop);
    free(f);
    return 0;
}

static inline void join_with(struct fixture *f, struct client *c, const struct vq_keypair *keys,
                             const char *server_key)
{
    struct vq_dealer_options options = {.endpoint = f->endpoint,
                                        .server_key = server_key,
                                        .keys = keys,
                                        .on_message = on_dealer,
                                        .ctx = c};
    assert_ok(vq_dealer_create(f->loop, &options, &c->dealer, NULL));
}

static inline void join(struct fixture *f, struct client *c)
{
    join_with(f, c, &f->client, f->server.public_key);
}

static inline void say(struct client *c, const char *text)
{
    assert_ok(vq_dealer_send(c->dealer, vq_span_str(text)));
}

/* A peer made with libzmq itself. */
struct raw {
    void *context;
    void *socket;
};

static inline void raw_open(struct raw *raw, int linger)
{
    raw->context = zmq_ctx_new();
    raw->socket = zmq_socket(raw->context, ZMQ_DEALER);
    assert_non_null(raw->socket);
    assert_int_equal(zmq_setsockopt(raw->socket, ZMQ_LINGER, &linger, sizeof(linger)), 0);
}

static inline enum vq_status set_raw_secret(void *ctx, struct vq_span bytes)
{
    char text[VQ_CURVE_KEY_CHARS + 1] = {0};
    memcpy(text, bytes.at, bytes.bytes);
    return zmq_setsockopt(ctx, ZMQ_CURVE_SECRETKEY, text, sizeof(text)) == 0 ? VQ_OK : VQ_BUG;
}

static inline void raw_keys(struct raw *raw, const struct fixture *f)
{
    assert_int_equal(zmq_setsockopt(raw->socket, ZMQ_CURVE_SERVERKEY, f->server.public_key, 41), 0);
    assert_int_equal(zmq_setsockopt(raw->socket, ZMQ_CURVE_PUBLICKEY, f->client.public_key, 41), 0);
    assert_ok(vq_secret_expose(f->client.secret_key, set_raw_secret, raw->socket));
}

static inline void raw_close(struct raw *raw)
{
    assert_int_equal(zmq_close(raw->socket), 0);
    assert_int_equal(zmq_ctx_term(raw->context), 0);
}
