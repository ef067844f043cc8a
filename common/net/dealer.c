/* A worker's end: a DEALER with CURVE that retries connecting for ever. Frames wait here, in order,
 * while libzmq has no connection or no room for them, so a caller never has to retry.
 *
 * Invariants: no routing id is set, so a new connection is a new peer for the ROUTER; while frames
 * wait, new ones wait after them. Not its job: detecting a lost coordinator (by missing
 * HEARTBEATs). */
#include "common/base/alloc.h"
#include "common/net/zsock_private.h"

#include <errno.h>

#define CONNECT_MS 5000

struct vq_dealer {
    struct vq_loop *loop;
    void *context;
    struct vq_zpoll z;
    struct vq_keypair keys; /* a copy, for each new socket */
    char server_key[VQ_CURVE_KEY_CHARS + 1];
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    void (*on_message)(void *ctx, struct vq_span frame);
    void *ctx;
    struct vq_zqueue waiting;
    bool receiving;
};

static int send_now(struct vq_dealer *d, struct vq_span frame)
{
    return vq_zsock_send_part(d->z.socket, frame, 0);
}

static void flush(struct vq_dealer *d)
{
    while (d->waiting.frames > 0 && send_now(d, vq_zqueue_first(&d->waiting)) == 0) {
        vq_zqueue_drop_first(&d->waiting);
    }
}

enum vq_status vq_dealer_send(struct vq_dealer *d, struct vq_span frame)
{
    if (frame.bytes > VQ_ZSOCK_FRAME_BYTES_MAX) {
        return VQ_LIMIT;
    }
    if (d->waiting.frames == 0 && d->z.socket != NULL) {
        int failed = send_now(d, frame);
        if (failed == 0) {
            return VQ_OK;
        }
        if (failed == ENOMEM) {
            return VQ_NOMEM;
        }
    }
    return vq_zqueue_put(&d->waiting, frame);
}

static bool on_ready(void *ctx)
{
    struct vq_dealer *d = ctx;
    int wanted = ZMQ_POLLIN | (d->waiting.frames > 0 ? ZMQ_POLLOUT : 0);
    return (vq_zpoll_events(&d->z) & wanted) != 0;
}

static bool receive_one(struct vq_dealer *d)
{
    zmq_msg_t message;
    (void)zmq_msg_init(&message);
    bool got = zmq_msg_recv(&message, d->z.socket, ZMQ_DONTWAIT) >= 0;
    if (got) {
        bool single = zmq_msg_more(&message) == 0;
        while (!single && zmq_msg_more(&message) != 0 &&
               zmq_msg_recv(&message, d->z.socket, ZMQ_DONTWAIT) >= 0) {
        }
        if (single) {
            d->receiving = true;
            d->on_message(d->ctx, vq_span(zmq_msg_data(&message), zmq_msg_size(&message)));
            d->receiving = false;
        }
    }
    (void)zmq_msg_close(&message);
    return got;
}

static void on_drain(void *ctx)
{
    struct vq_dealer *d = ctx;
    for (int i = 0; i < VQ_ZSOCK_FRAMES_PER_TURN && receive_one(d); i++) {
    }
    flush(d);
}

static enum vq_status set_options(void *socket, const struct vq_dealer *d, struct vq_error *err)
{
    static const struct vq_zoption options[] = {
        {ZMQ_RECONNECT_IVL, VQ_ZSOCK_RECONNECT_MS},
        {ZMQ_RECONNECT_IVL_MAX, VQ_ZSOCK_RECONNECT_MAX_MS},
        {ZMQ_CONNECT_TIMEOUT, CONNECT_MS},
    };
    VQ_TRY(vq_zsock_set_common(socket, err));
    VQ_TRY(vq_zsock_set(socket, options, VQ_COUNT(options), err));
    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, d->server_key, sizeof(d->server_key)) != 0) {
        return vq_fail(err, VQ_INVALID, "the coordinator's key is not a CURVE key");
    }
    return vq_zsock_set_keys(socket, &d->keys, err);
}

static enum vq_status open_socket(struct vq_dealer *d, struct vq_error *err)
{
    void *socket = zmq_socket(d->context, ZMQ_DEALER);
    if (socket == NULL) {
        return vq_fail(err, VQ_IO, "cannot make a socket: %s", zmq_strerror(errno));
    }
    enum vq_status status = set_options(socket, d, err);
    if (status == VQ_OK && zmq_connect(socket, d->endpoint) != 0) {
        status =
            vq_fail(err, VQ_INVALID, "cannot connect to %s: %s", d->endpoint, zmq_strerror(errno));
    }
    if (status != VQ_OK) {
        (void)zmq_close(socket);
        return status;
    }
    struct vq_source source = {.ready = on_ready, .drain = on_drain, .ctx = d};
    return vq_zpoll_open(&d->z, d->loop, socket, source, err);
}

static enum vq_status copy_secret(void *ctx, struct vq_span bytes)
{
    struct vq_dealer *d = ctx;
    return vq_secret_from_bytes(bytes, &d->keys.secret_key);
}

enum vq_status vq_dealer_create(struct vq_loop *loop, const struct vq_dealer_options *options,
                                struct vq_dealer **ret_dealer, struct vq_error *err)
{
    size_t endpoint_bytes = strlen(options->endpoint);
    if (endpoint_bytes >= VQ_ZSOCK_ENDPOINT_BYTES_MAX ||
        strlen(options->server_key) != VQ_CURVE_KEY_CHARS) {
        return vq_fail(err, VQ_INVALID, "the coordinator's address or key has a wrong length");
    }
    struct vq_dealer *d = vq_alloc(1, sizeof(*d));
    if (d == NULL) {
        return vq_fail(err, VQ_NOMEM, "no memory for the worker's socket");
    }
    d->loop = loop;
    memcpy(d->endpoint, options->endpoint, endpoint_bytes + 1);
    memcpy(d->server_key, options->server_key, sizeof(d->server_key));
    memcpy(d->keys.public_key, options->keys->public_key, sizeof(d->keys.public_key));
    d->on_message = options->on_message;
    d->ctx = options->ctx;
    enum vq_status status = vq_secret_expose(options->keys->secret_key, copy_secret, d);
    if (status != VQ_OK) {
        (void)vq_fail(err, status, "no memory for the worker's key");
        goto fail;
    }
    status = vq_zsock_context(&d->context, err);
    if (status != VQ_OK) {
        goto fail;
    }
    status = open_socket(d, err);
    if (status != VQ_OK) {
        goto fail;
    }
    *ret_dealer = d;
    return VQ_OK;
fail:
    vq_dealer_destroy(&d);
    return status;
}

/* Makes a new socket instead of disconnect and connect on the old one: a frame that is sent
 * directly after a disconnect may still go to the old connection's pipe and be lost. */
enum vq_status vq_dealer_reconnect(struct vq_dealer *d, struct vq_error *err)
{
    VQ_ASSERT(!d->receiving);
    static const struct vq_zoption at_once = {ZMQ_LINGER, 0};
    vq_zqueue_clear(&d->waiting);
    if (d->z.socket != NULL) {
        VQ_TRY(vq_zsock_set(d->z.socket, &at_once, 1, err));
        vq_zpoll_close(&d->z);
    }
    return open_socket(d, err);
}

bool vq_dealer_move(struct vq_dealer *d, const char *endpoint)
{
    if (strlen(endpoint) >= VQ_ZSOCK_ENDPOINT_BYTES_MAX || strcmp(endpoint, d->endpoint) == 0) {
        return false;
    }
    (void)snprintf(d->endpoint, sizeof(d->endpoint), "%s", endpoint);
    return true;
}

void vq_dealer_destroy(struct vq_dealer **dealer)
{
    struct vq_dealer *d = *dealer;
    if (d == NULL) {
        return;
    }
    VQ_ASSERT(!d->receiving);
    if (d->z.socket != NULL) {
        flush(d);
        vq_zpoll_close(&d->z);
    }
    vq_zqueue_clear(&d->waiting);
    vq_keypair_destroy(&d->keys);
    if (d->context != NULL) {
        while (zmq_ctx_term(d->context) != 0 && errno == EINTR) {
        }
    }
    vq_free(d);
    *dealer = NULL;
}
