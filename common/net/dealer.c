/* A worker's end: a DEALER with CURVE that connects for ever. Frames that libzmq has no connection or no room for wait here, in
 * order, so that a caller never has to try again.
 *
 * Invariants: no routing id is set, a new connection is a new peer to the other side; while frames wait, new ones wait
 * behind them. Not its job: to notice that the coordinator is gone (its HEARTBEATs tell). */
#include "common/base/alloc.h"
#include "common/net/zsock_private.h"

#include <errno.h>

#define CONNECT_MS 5000

struct vq_dealer {
    void *context;
    struct vq_zpoll z;
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    void (*on_message)(void *ctx, struct vq_span frame);
    void *ctx;
    struct vq_zqueue waiting;
    bool receiving;
    struct vq_zsock_stats stats;
};

static int send_now(struct vq_dealer *d, struct vq_span frame)
{
    int failed = vq_zsock_send_part(d->z.socket, frame, 0);
    if (failed == 0) {
        d->stats.frames_out++;
        d->stats.bytes_out += frame.bytes;
    }
    return failed;
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
    if (d->waiting.frames == 0) {
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
            d->stats.frames_in++;
            d->stats.bytes_in += zmq_msg_size(&message);
            d->receiving = true;
            d->on_message(d->ctx, vq_span(zmq_msg_data(&message), zmq_msg_size(&message)));
            d->receiving = false;
        } else {
            d->stats.frames_dropped++;
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

static enum vq_status set_options(void *socket, const struct vq_dealer_options *o,
                                  struct vq_error *err)
{
    static const struct vq_zoption options[] = {
        {ZMQ_RECONNECT_IVL, VQ_ZSOCK_RECONNECT_MS},
        {ZMQ_RECONNECT_IVL_MAX, VQ_ZSOCK_RECONNECT_MAX_MS},
        {ZMQ_CONNECT_TIMEOUT, CONNECT_MS},
    };
    VQ_TRY(vq_zsock_set_common(socket, err));
    VQ_TRY(vq_zsock_set(socket, options, VQ_COUNT(options), err));
    if (strlen(o->server_key) != VQ_CURVE_KEY_CHARS ||
        zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, o->server_key, VQ_CURVE_KEY_CHARS + 1) != 0) {
        return vq_fail(err, VQ_INVALID, "the coordinator's key is no CURVE key");
    }
    return vq_zsock_set_keys(socket, o->keys, err);
}

static enum vq_status connect_it(struct vq_dealer *d, struct vq_error *err)
{
    if (zmq_connect(d->z.socket, d->endpoint) != 0) {
        return vq_fail(err, VQ_INVALID, "cannot connect to %s: %s", d->endpoint,
                       zmq_strerror(errno));
    }
    return VQ_OK;
}

static enum vq_status open_socket(struct vq_dealer *d, struct vq_loop *loop,
                                  const struct vq_dealer_options *options, struct vq_error *err)
{
    void *socket = zmq_socket(d->context, ZMQ_DEALER);
    if (socket == NULL) {
        return vq_fail(err, VQ_IO, "cannot make a socket: %s", zmq_strerror(errno));
    }
    enum vq_status status = set_options(socket, options, err);
    if (status != VQ_OK) {
        (void)zmq_close(socket);
        return status;
    }
    struct vq_source source = {.ready = on_ready, .drain = on_drain, .ctx = d};
    VQ_TRY(vq_zpoll_open(&d->z, loop, socket, source, err));
    return connect_it(d, err);
}

enum vq_status vq_dealer_create(struct vq_loop *loop, const struct vq_dealer_options *options,
                                struct vq_dealer **ret_dealer, struct vq_error *err)
{
    size_t endpoint_bytes = strlen(options->endpoint);
    if (endpoint_bytes >= VQ_ZSOCK_ENDPOINT_BYTES_MAX) {
        return vq_fail(err, VQ_INVALID, "the address of the coordinator is too long");
    }
    struct vq_dealer *d = vq_alloc(1, sizeof(*d));
    if (d == NULL) {
        return vq_fail(err, VQ_NOMEM, "no memory for the worker's socket");
    }
    memcpy(d->endpoint, options->endpoint, endpoint_bytes + 1);
    d->on_message = options->on_message;
    d->ctx = options->ctx;
    d->context = zmq_ctx_new();
    enum vq_status status =
        d->context == NULL
            ? vq_fail(err, VQ_NOMEM, "cannot make a ZeroMQ context: %s", zmq_strerror(errno))
            : open_socket(d, loop, options, err);
    if (status != VQ_OK) {
        vq_dealer_destroy(&d);
        return status;
    }
    *ret_dealer = d;
    return VQ_OK;
}

enum vq_status vq_dealer_reconnect(struct vq_dealer *d, struct vq_error *err)
{
    VQ_ASSERT(!d->receiving);
    d->stats.frames_dropped += d->waiting.frames;
    vq_zqueue_clear(&d->waiting);
    (void)zmq_disconnect(d->z.socket,
                         d->endpoint); /* not connected: then there is nothing to end */
    return connect_it(d, err);
}

struct vq_zsock_stats vq_dealer_stats(const struct vq_dealer *d)
{
    struct vq_zsock_stats stats = d->stats;
    stats.frames_waiting = d->waiting.frames;
    return stats;
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
    if (d->context != NULL) {
        while (zmq_ctx_term(d->context) != 0 && errno == EINTR) {
        }
    }
    vq_free(d);
    *dealer = NULL;
}
