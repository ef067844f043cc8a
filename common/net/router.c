/* The coordinator's end: a ROUTER with CURVE. It identifies a peer by the routing id that libzmq
 * gave its connection (a zero byte and a counter). Frames of a peer that chose its own id are
 * dropped.
 *
 * Invariants: frames to one peer leave in the order of vq_router_send; while a peer has waiting
 * frames, new ones wait after them; a peer that libzmq does not know has no waiting frames. The
 * ROUTER has its own context, so that its ZAP handler is the only one. Not its job: sessions, and
 * the meaning of a frame. */
#include "common/base/alloc.h"
#include "common/net/zsock_private.h"

#include <errno.h>

#define ZAP_ENFORCE_DOMAIN                                                                         \
    93 /* a draft option, accepted by number: without it and a handler, all keys are admitted */
#define ROUTING_ID_BYTES 5
#define PEER_BIT         (UINT64_C(1) << 32) /* so that 0 is not a peer */
#define RETRY_MS         10

struct outbox {
    uint64_t peer;
    struct vq_zqueue queue;
};

struct vq_router {
    struct vq_loop *loop;
    void *context;
    struct vq_zap *zap;
    struct vq_zpoll z;
    void (*on_message)(void *ctx, uint64_t peer, struct vq_span frame);
    void *ctx;
    struct outbox *outboxes; /* of peers that read too slowly */
    size_t outboxes_cap;
    size_t outboxes_count;
    /* runs while there are outboxes, because ZMQ_EVENTS does not name the peers with room */
    struct vq_timer *retry;
    const char *sender_key; /* inside on_message */
    struct vq_zsock_stats stats;
};

/* ---- peers ---- */

static bool peer_of(const void *routing_id, size_t bytes, uint64_t *ret_peer)
{
    const uint8_t *b = routing_id;
    if (bytes != ROUTING_ID_BYTES || b[0] != 0) {
        return false;
    }
    *ret_peer = PEER_BIT | (uint64_t)b[1] << 24 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 8 | b[4];
    return true;
}

static void routing_id_of(uint64_t peer, char ret_id[ROUTING_ID_BYTES])
{
    ret_id[0] = 0;
    for (int i = 1; i < ROUTING_ID_BYTES; i++) {
        ret_id[i] = (char)(peer >> (8 * (ROUTING_ID_BYTES - 1 - i)) & 0xff);
    }
}

/* ---- sending ---- */

/* Sends a frame at once: VQ_OK, VQ_AGAIN (no room), VQ_NOT_FOUND, VQ_NOMEM. */
static enum vq_status send_now(struct vq_router *r, uint64_t peer, struct vq_span frame)
{
    char id[ROUTING_ID_BYTES];
    routing_id_of(peer, id);
    int failed = vq_zsock_send_part(r->z.socket, vq_span(id, sizeof(id)), ZMQ_SNDMORE);
    if (failed == 0) {
        failed = vq_zsock_send_part(r->z.socket, frame, 0);
    }
    switch (failed) {
    case 0:
        r->stats.frames_out++;
        r->stats.bytes_out += frame.bytes;
        return VQ_OK;
    case EAGAIN: return VQ_AGAIN;
    case EHOSTUNREACH: return VQ_NOT_FOUND;
    case ENOMEM: return VQ_NOMEM;
    default: return VQ_UNAVAILABLE;
    }
}

static struct outbox *find_outbox(struct vq_router *r, uint64_t peer)
{
    for (size_t i = 0; i < r->outboxes_count; i++) {
        if (r->outboxes[i].peer == peer) {
            return &r->outboxes[i];
        }
    }
    return NULL;
}

static void remove_outbox(struct vq_router *r, struct outbox *box)
{
    r->stats.frames_waiting -= box->queue.frames;
    vq_zqueue_clear(&box->queue);
    *box = r->outboxes[--r->outboxes_count];
    if (r->outboxes_count == 0) {
        vq_timer_stop(r->retry);
    }
}

static enum vq_status wait_in_line(struct vq_router *r, uint64_t peer, struct vq_span frame)
{
    struct outbox *box = find_outbox(r, peer);
    if (box == NULL) {
        VQ_TRY(VQ_GROW(r->outboxes, &r->outboxes_cap, r->outboxes_count + 1, VQ_ZSOCK_PEERS_MAX));
        struct outbox fresh = {.peer = peer};
        VQ_TRY(vq_zqueue_put(&fresh.queue, frame));
        r->outboxes[r->outboxes_count++] = fresh;
        vq_timer_start(r->retry, RETRY_MS, RETRY_MS);
    } else {
        VQ_TRY(vq_zqueue_put(&box->queue, frame));
    }
    r->stats.frames_waiting++;
    return VQ_OK;
}

enum vq_status vq_router_send(struct vq_router *r, uint64_t peer, struct vq_span frame)
{
    if (frame.bytes > VQ_ZSOCK_FRAME_BYTES_MAX) {
        return VQ_LIMIT;
    }
    enum vq_status status = VQ_AGAIN;
    if (r->outboxes_count == 0 || find_outbox(r, peer) == NULL) {
        status = send_now(r, peer, frame);
    }
    return status == VQ_AGAIN ? wait_in_line(r, peer, frame) : status;
}

/* True: the outbox is freed, because all frames are sent or its peer is disconnected. */
static bool flush_outbox(struct vq_router *r, struct outbox *box)
{
    enum vq_status status = VQ_OK;
    while (status == VQ_OK && box->queue.frames > 0) {
        status = send_now(r, box->peer, vq_zqueue_first(&box->queue));
        if (status == VQ_OK) {
            vq_zqueue_drop_first(&box->queue);
            r->stats.frames_waiting--;
        }
    }
    if (status == VQ_NOT_FOUND) {
        r->stats.frames_dropped += box->queue.frames;
    }
    if (status == VQ_OK || status == VQ_NOT_FOUND) {
        remove_outbox(r, box);
        return true;
    }
    return false;
}

static void flush(struct vq_router *r)
{
    for (size_t i = 0; i < r->outboxes_count;) {
        if (!flush_outbox(r, &r->outboxes[i])) {
            i++;
        }
    }
}

static void on_retry(void *ctx)
{
    flush(ctx);
}

/* ---- receiving ---- */

/* Receives the rest of a message whose first part was `more`; true: it was exactly one part. */
static bool receive_payload(void *socket, bool more, zmq_msg_t *payload)
{
    bool single = false;
    for (int parts = 0; more; parts++) {
        if (zmq_msg_recv(payload, socket, ZMQ_DONTWAIT) < 0) {
            return false;
        }
        more = zmq_msg_more(payload) != 0;
        single = parts == 0 && !more;
    }
    return single;
}

/* The client key that the handshake has proved. */
static bool key_of(zmq_msg_t *payload, const char **ret_key)
{
    *ret_key = zmq_msg_gets(payload, "User-Id");
    return *ret_key != NULL;
}

/* Receives one message. False: there is none. */
static bool receive_one(struct vq_router *r)
{
    zmq_msg_t id, payload;
    (void)zmq_msg_init(&id);
    (void)zmq_msg_init(&payload);
    bool got = zmq_msg_recv(&id, r->z.socket, ZMQ_DONTWAIT) >= 0;
    if (got) {
        uint64_t peer = 0;
        bool single = receive_payload(r->z.socket, zmq_msg_more(&id) != 0, &payload);
        if (single && peer_of(zmq_msg_data(&id), zmq_msg_size(&id), &peer) &&
            key_of(&payload, &r->sender_key)) {
            r->stats.frames_in++;
            r->stats.bytes_in += zmq_msg_size(&payload);
            r->on_message(r->ctx, peer, vq_span(zmq_msg_data(&payload), zmq_msg_size(&payload)));
        } else {
            r->stats.frames_dropped++;
        }
        r->sender_key = NULL;
    }
    (void)zmq_msg_close(&payload);
    (void)zmq_msg_close(&id);
    return got;
}

static bool on_ready(void *ctx)
{
    struct vq_router *r = ctx;
    return (vq_zpoll_events(&r->z) & ZMQ_POLLIN) != 0;
}

static void on_drain(void *ctx)
{
    struct vq_router *r = ctx;
    for (int i = 0; i < VQ_ZSOCK_FRAMES_PER_TURN && receive_one(r); i++) {
    }
    flush(r);
}

/* ---- life ---- */

static enum vq_status set_options(void *socket, const struct vq_keypair *keys, struct vq_error *err)
{
    static const struct vq_zoption options[] = {
        {ZMQ_ROUTER_MANDATORY, 1}, {ZMQ_ROUTER_HANDOVER, 0}, {ZMQ_CURVE_SERVER, 1},
        {ZAP_ENFORCE_DOMAIN, 1},   {ZMQ_BACKLOG, 512},
    };
    VQ_TRY(vq_zsock_set_common(socket, err));
    VQ_TRY(vq_zsock_set(socket, options, VQ_COUNT(options), err));
    if (zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, VQ_ZAP_DOMAIN, strlen(VQ_ZAP_DOMAIN)) != 0) {
        return vq_fail(err, VQ_BUG, "libzmq refuses the ZAP domain: %s", zmq_strerror(errno));
    }
    return vq_zsock_set_keys(socket, keys, err);
}

static enum vq_status open_socket(struct vq_router *r, const struct vq_keypair *keys,
                                  struct vq_error *err)
{
    void *socket = zmq_socket(r->context, ZMQ_ROUTER);
    if (socket == NULL) {
        return vq_fail(err, VQ_IO, "cannot make a socket: %s", zmq_strerror(errno));
    }
    enum vq_status status = set_options(socket, keys, err);
    if (status != VQ_OK) {
        (void)zmq_close(socket);
        return status;
    }
    struct vq_source source = {.ready = on_ready, .drain = on_drain, .ctx = r};
    return vq_zpoll_open(&r->z, r->loop, socket, source, err);
}

enum vq_status vq_router_create(struct vq_loop *loop, const struct vq_router_options *options,
                                struct vq_router **ret_router, struct vq_error *err)
{
    struct vq_router *r = vq_alloc(1, sizeof(*r));
    if (r == NULL) {
        return vq_fail(err, VQ_NOMEM, "no memory for the coordinator's socket");
    }
    r->loop = loop;
    r->on_message = options->on_message;
    r->ctx = options->ctx;
    enum vq_status status = vq_zsock_context(&r->context, err);
    if (status != VQ_OK) {
        goto fail;
    }
    status = vq_timer_create(loop, on_retry, r, &r->retry);
    if (status != VQ_OK) {
        goto fail;
    }
    status = vq_zap_create(loop, r->context, &r->zap, err);
    if (status != VQ_OK) {
        goto fail;
    }
    for (uint32_t i = 0; i < options->allowed_count; i++) {
        status = vq_zap_allow(r->zap, options->allowed[i]);
        if (status != VQ_OK && status != VQ_EXISTS) {
            (void)vq_fail(err, status, "client key %u of the list is refused", i);
            goto fail;
        }
    }
    status = open_socket(r, options->keys, err);
    if (status != VQ_OK) {
        goto fail;
    }
    *ret_router = r;
    return VQ_OK;
fail:
    vq_router_destroy(&r);
    return status;
}

void vq_router_destroy(struct vq_router **router)
{
    struct vq_router *r = *router;
    if (r == NULL) {
        return;
    }
    VQ_ASSERT(r->sender_key == NULL);
    if (r->z.socket != NULL) {
        flush(r);
        vq_zpoll_close(&r->z);
    }
    while (r->outboxes_count > 0) {
        remove_outbox(r, &r->outboxes[0]);
    }
    vq_zap_destroy(&r->zap);
    if (r->context != NULL) {
        while (zmq_ctx_term(r->context) != 0 && errno == EINTR) {
        }
    }
    vq_timer_destroy(&r->retry);
    vq_free(r->outboxes);
    vq_free(r);
    *router = NULL;
}

enum vq_status vq_router_bind(struct vq_router *r, const char *endpoint,
                              char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX], struct vq_error *err)
{
    /* an IPv4 address on an IPv6 socket would be reported as ::ffff:... */
    const struct vq_zoption family = {ZMQ_IPV6, strpbrk(endpoint, "[*") != NULL};
    VQ_TRY(vq_zsock_set(r->z.socket, &family, 1, err));
    if (zmq_bind(r->z.socket, endpoint) != 0) {
        if (errno == EADDRINUSE) {
            return vq_fail(err, VQ_EXISTS,
                           "cannot listen on %s: the port is taken by another program; "
                           "name another port, or 0 for a free one",
                           endpoint);
        }
        bool address = errno == EINVAL || errno == ENODEV || errno == EADDRNOTAVAIL ||
                       errno == EPROTONOSUPPORT;
        return vq_fail(err, address ? VQ_INVALID : VQ_IO, "cannot listen on %s: %s%s", endpoint,
                       zmq_strerror(errno), address ? "; name an address of this machine" : "");
    }
    char real[VQ_ZSOCK_ENDPOINT_BYTES_MAX] = "";
    size_t bytes = sizeof(real);
    if (zmq_getsockopt(r->z.socket, ZMQ_LAST_ENDPOINT, real, &bytes) != 0) {
        return vq_fail(err, VQ_IO, "cannot read the address of %s: %s", endpoint,
                       zmq_strerror(errno));
    }
    memcpy(ret_endpoint, real, sizeof(real));
    return VQ_OK;
}

enum vq_status vq_router_allow(struct vq_router *r, const char *public_key)
{
    return vq_zap_allow(r->zap, public_key);
}

void vq_router_forbid(struct vq_router *r, const char *public_key)
{
    vq_zap_forbid(r->zap, public_key);
}

bool vq_router_allows(const struct vq_router *r, const char *public_key)
{
    return vq_zap_allows(r->zap, public_key);
}

void vq_router_close_door(struct vq_router *r)
{
    /* without a handler libzmq refuses every client, because the domain is enforced */
    vq_zap_close(r->zap);
}

const char *vq_router_sender_key(const struct vq_router *r)
{
    return r->sender_key;
}

struct vq_zsock_stats vq_router_stats(const struct vq_router *r)
{
    struct vq_zsock_stats stats = r->stats;
    stats.peers_refused = vq_zap_refusals(r->zap);
    return stats;
}
