/* The two ends of the wire on the loop: a ROUTER for the coordinator and a DEALER for a worker,
 * always with CURVE. A frame is one message of bytes. Not its job: the meaning of a frame (proto).
 *
 * Only the CURVE key decides whether a client is admitted: every handshake checks a list of allowed
 * client keys. A routing id that a peer chose itself is not accepted: this side gives each
 * connection a number, and a new connection is a new peer. */
#pragma once

#include "common/base/buf.h"
#include "common/net/cert.h"
#include "common/net/loop.h"

#define VQ_ZSOCK_ENDPOINT_BYTES_MAX 256
#define VQ_ZSOCK_FRAME_BYTES_MAX    (16u << 20) /* a longer frame drops the peer's connection */
#define VQ_ZSOCK_HWM                1000        /* frames in libzmq's queue of one peer, each way */
#define VQ_ZSOCK_QUEUE_FRAMES_MAX   65536       /* frames waiting above that, of one peer */
#define VQ_ZSOCK_QUEUE_BYTES_MAX    (256u << 20) /* bytes of waiting frames, of one peer */
#define VQ_ZSOCK_PEERS_MAX          4096         /* peers with waiting frames */
#define VQ_ZSOCK_ALLOWED_MAX        4096         /* client keys */
#define VQ_ZSOCK_FRAMES_PER_TURN    1000         /* after them, other sockets are read */
#define VQ_ZSOCK_HANDSHAKE_MS       3000
#define VQ_ZSOCK_HEARTBEAT_MS                                                                      \
    5000 /* ZMTP's own ping; a dead connection is closed after the timeout */
#define VQ_ZSOCK_HEARTBEAT_DEAD_MS 15000
/* the longest wait of a destroy function for unsent frames */
#define VQ_ZSOCK_LINGER_MS        1000
#define VQ_ZSOCK_RECONNECT_MS     100
#define VQ_ZSOCK_RECONNECT_MAX_MS 500

struct vq_zsock_stats {
    uint64_t frames_in, bytes_in;
    uint64_t frames_out, bytes_out; /* handed to libzmq */
    uint64_t frames_waiting;        /* in the queues of this module now */
    /* unsent when their peer disconnected, or from a peer that chose its routing id */
    uint64_t frames_dropped;
    uint64_t peers_refused; /* handshakes with an unknown key */
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
/* "tcp://127.0.0.1:0", "tcp://[::]:5555": port 0 takes a free one. The real endpoint is written to
 * `ret_endpoint`. May be called for several addresses. VQ_EXISTS: the port is in use; VQ_INVALID:
 * not an address of this machine. */
enum vq_status vq_router_bind(struct vq_router *router, const char *endpoint,
                              char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX],
                              struct vq_error *err) VQ_WARN_UNUSED;
/* Copies the frame. VQ_OK: sent, or queued in order. VQ_NOT_FOUND: the peer has disconnected.
 * VQ_LIMIT: the peer's queue is full, because it reads too slowly. VQ_NOMEM. */
enum vq_status vq_router_send(struct vq_router *router, uint64_t peer,
                              struct vq_span frame) VQ_WARN_UNUSED;
/* Adds a client key. VQ_EXISTS, VQ_LIMIT, VQ_INVALID. */
enum vq_status vq_router_allow(struct vq_router *router, const char *public_key) VQ_WARN_UNUSED;
/* Admits no new connection with this key. An open connection stays, and its frames still arrive. */
void vq_router_forbid(struct vq_router *router, const char *public_key);
bool vq_router_allows(const struct vq_router *router, const char *public_key);
/* Admits no new client from now on; open connections stay. */
void vq_router_close_door(struct vq_router *router);
/* Only inside on_message: the client key (Z85) of the sender, which the handshake has proved. */
const char *vq_router_sender_key(const struct vq_router *router);
struct vq_zsock_stats vq_router_stats(const struct vq_router *router);
/* Waits up to VQ_ZSOCK_LINGER_MS for frames that libzmq has not sent yet. Must not be called from
 * on_message. */
void vq_router_destroy(struct vq_router **router);

/* ---- DEALER ---- */

struct vq_dealer;

struct vq_dealer_options {
    const char *endpoint;                                /* "tcp://host:port" */
    const char *server_key;                              /* public key of the ROUTER (Z85) */
    const struct vq_keypair *keys;                       /* the client's; borrowed for the call */
    void (*on_message)(void *ctx, struct vq_span frame); /* borrowed for the call */
    void *ctx;
};

/* Connects in the background and retries for ever: a missing listener is not an error. After a
 * ROUTER refused the key, it retries only after vq_dealer_reconnect. */
enum vq_status vq_dealer_create(struct vq_loop *loop, const struct vq_dealer_options *options,
                                struct vq_dealer **ret_dealer, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_OK: sent, or queued (also without a connection). VQ_LIMIT: the queue is full. VQ_NOMEM. */
enum vq_status vq_dealer_send(struct vq_dealer *dealer, struct vq_span frame) VQ_WARN_UNUSED;
/* Drops the unsent frames and the connection, and reconnects: for a new HELLO after silence. On
 * failure (no memory, no descriptors) there is no connection; the caller may try again. Must not be
 * called from on_message. */
enum vq_status vq_dealer_reconnect(struct vq_dealer *dealer, struct vq_error *err) VQ_WARN_UNUSED;
/* Sets the endpoint for the next vq_dealer_reconnect. An endpoint that is too long is ignored.
 * False: the endpoint is unchanged. */
bool vq_dealer_move(struct vq_dealer *dealer, const char *endpoint);
void vq_dealer_destroy(struct vq_dealer **dealer); /* must not be called from on_message */
