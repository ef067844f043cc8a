/* The two ends of the wire on the loop: a ROUTER for the coordinator, a DEALER for a worker,
 * CURVE always on. A frame is one message of bytes; what it means is proto's matter.
 *
 * Who may talk is decided by the CURVE key alone: a list of allowed client keys, asked in every
 * handshake. Routing ids that a peer chose for itself are not accepted; a peer is known by a
 * number that this side gave its connection, and a new connection is a new peer. */
#pragma once

#include "common/base/buf.h"
#include "common/net/cert.h"
#include "common/net/loop.h"

#define VQ_ZSOCK_ENDPOINT_BYTES_MAX 256
#define VQ_ZSOCK_FRAME_BYTES_MAX    (16u << 20) /* a longer frame drops the peer's connection */
#define VQ_ZSOCK_HWM                1000        /* frames in libzmq's queue of one peer, each way */
#define VQ_ZSOCK_QUEUE_FRAMES_MAX   65536       /* frames waiting above that, of one peer */
#define VQ_ZSOCK_QUEUE_BYTES_MAX    (256u << 20) /* bytes of them, of one peer */
#define VQ_ZSOCK_PEERS_MAX          4096         /* peers with waiting frames */
#define VQ_ZSOCK_ALLOWED_MAX        4096         /* client keys */
#define VQ_ZSOCK_FRAMES_PER_TURN    1000         /* then other sockets have their turn */
#define VQ_ZSOCK_HANDSHAKE_MS       3000
#define VQ_ZSOCK_HEARTBEAT_MS                                                                      \
    5000 /* ZMTP's own ping; a dead connection is dropped after the timeout */
#define VQ_ZSOCK_HEARTBEAT_DEAD_MS 15000
#define VQ_ZSOCK_LINGER_MS         1000 /* how long destroying may wait for frames that were sent */
#define VQ_ZSOCK_RECONNECT_MS      100
#define VQ_ZSOCK_RECONNECT_MAX_MS  500

struct vq_zsock_stats {
    uint64_t frames_in, bytes_in;
    uint64_t frames_out, bytes_out; /* handed to libzmq */
    uint64_t frames_waiting;        /* in our own queues now */
    uint64_t frames_dropped; /* waiting when their peer vanished, or of a peer that named itself */
    uint64_t peers_refused;  /* handshakes with an unknown key */
};

/* ---- ROUTER ---- */

struct vq_router;

struct vq_router_options {
    const struct vq_keypair *keys; /* the server's; borrowed for the call */
    const char *const *allowed;    /* client public keys (Z85), copied */
    uint32_t allowed_count;        /* 0: no client is admitted before vq_router_allow */
    void (*on_message)(void *ctx, uint64_t peer, struct vq_span frame); /* borrowed for the call */
    void *ctx;
};

enum vq_status vq_router_create(struct vq_loop *loop, const struct vq_router_options *options,
                                struct vq_router **ret_router, struct vq_error *err) VQ_WARN_UNUSED;
/* "tcp://127.0.0.1:0", "tcp://[::]:5555": port 0 takes a free one. The real endpoint is written
 * to `ret_endpoint`. May be called for several addresses. VQ_EXISTS: the port is taken;
 * VQ_INVALID: no such address. */
enum vq_status vq_router_bind(struct vq_router *router, const char *endpoint,
                              char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX],
                              struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_OK: sent, or waiting in order for its turn (it is copied). VQ_NOT_FOUND: no such peer any
 * more. VQ_LIMIT: the peer does not keep up, its queue is full. VQ_NOMEM. */
enum vq_status vq_router_send(struct vq_router *router, uint64_t peer,
                              struct vq_span frame) VQ_WARN_UNUSED;
/* Adds a client key. VQ_EXISTS, VQ_LIMIT, VQ_INVALID. */
enum vq_status vq_router_allow(struct vq_router *router, const char *public_key) VQ_WARN_UNUSED;
/* No new connection with this key is admitted; an open one stays, and its frames still come. */
void vq_router_forbid(struct vq_router *router, const char *public_key);
bool vq_router_allows(const struct vq_router *router, const char *public_key);
/* From now on no new client is admitted; open connections stay. */
void vq_router_close_door(struct vq_router *router);
/* Inside on_message: the client key (Z85) of the peer that sent this frame, as the handshake
 * proved it. */
const char *vq_router_sender_key(const struct vq_router *router);
struct vq_zsock_stats vq_router_stats(const struct vq_router *router);
/* Frames that were sent get VQ_ZSOCK_LINGER_MS to leave. Not from on_message. */
void vq_router_destroy(struct vq_router **router);

/* ---- DEALER ---- */

struct vq_dealer;

struct vq_dealer_options {
    const char *endpoint;                                /* "tcp://host:port" */
    const char *server_key;                              /* public key of the ROUTER (Z85) */
    const struct vq_keypair *keys;                       /* ours; borrowed for the call */
    void (*on_message)(void *ctx, struct vq_span frame); /* borrowed for the call */
    void *ctx;
};

/* Connects in the background and retries for ever: a missing listener is no error. After a ROUTER
 * refused our key, it retries only after vq_dealer_reconnect. */
enum vq_status vq_dealer_create(struct vq_loop *loop, const struct vq_dealer_options *options,
                                struct vq_dealer **ret_dealer, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_OK: sent, or waiting (also for a connection). VQ_LIMIT: the queue is full. VQ_NOMEM. */
enum vq_status vq_dealer_send(struct vq_dealer *dealer, struct vq_span frame) VQ_WARN_UNUSED;
/* Drops the unsent frames and the connection, and reconnects: for a new HELLO after silence.
 * On failure (no memory, no descriptors) there is no connection, and it may be tried again. Not
 * from on_message. */
enum vq_status vq_dealer_reconnect(struct vq_dealer *dealer, struct vq_error *err) VQ_WARN_UNUSED;
/* Where the next vq_dealer_reconnect goes. One that is too long is not taken. False: that is where
 * it goes anyway. */
bool vq_dealer_move(struct vq_dealer *dealer, const char *endpoint);
void vq_dealer_destroy(struct vq_dealer **dealer); /* not from on_message */
