/* Shared by ROUTER, DEALER and the ZAP handler: a ZeroMQ socket on the loop. Private, because it
 * includes libzmq. */
#pragma once

#include "common/net/loop_private.h"
#include "common/net/zsock.h"

#include <zmq.h>

/* A socket, its poll handle and its place among the loop's sources. */
struct vq_zpoll {
    void *socket;
    uv_poll_t *poll; /* freed later, when libuv has closed it */
    struct vq_source source;
    struct vq_loop *loop;
};

/* Takes ownership of the socket, also on failure. ready and drain as in struct vq_source. */
enum vq_status vq_zpoll_open(struct vq_zpoll *z, struct vq_loop *loop, void *take_socket,
                             struct vq_source source, struct vq_error *err) VQ_WARN_UNUSED;
void vq_zpoll_close(struct vq_zpoll *z); /* *z may be zeroed */
/* ZMQ_POLLIN | ZMQ_POLLOUT; reading them resets the edge-triggered wake-up */
int vq_zpoll_events(const struct vq_zpoll *z);

struct vq_zoption {
    int name;
    int value;
};

/* Sets int options and the options of all vibeq's TCP sockets. VQ_BUG: the error names the
 * option. */
enum vq_status vq_zsock_set(void *socket, const struct vq_zoption *options, size_t count,
                            struct vq_error *err) VQ_WARN_UNUSED;
/* Makes a context. VQ_IO: too few descriptors for its threads and some sockets, without which
 * libzmq would end the process. VQ_NOMEM. */
enum vq_status vq_zsock_context(void **ret_context, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_zsock_set_common(void *socket, struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_zsock_set_keys(void *socket, const struct vq_keypair *keys,
                                 struct vq_error *err) VQ_WARN_UNUSED;

/* Frames that wait until libzmq accepts them: first in, first out, bounded in number and bytes. */
struct vq_zframe;
struct vq_zqueue {
    struct vq_zframe *first;
    struct vq_zframe *last;
    size_t frames;
    size_t bytes;
};

enum vq_status vq_zqueue_put(struct vq_zqueue *queue, struct vq_span frame) VQ_WARN_UNUSED;
struct vq_span vq_zqueue_first(const struct vq_zqueue *queue); /* `at` NULL: empty */
void vq_zqueue_drop_first(struct vq_zqueue *queue);
void vq_zqueue_clear(struct vq_zqueue *queue);

/* Copies and sends one message part. Returns the errno of zmq_msg_send; 0: accepted. */
int vq_zsock_send_part(void *socket, struct vq_span part, int flags);

/* ---- the ZAP handler ---- */

#define VQ_ZAP_DOMAIN "vibeq"

struct vq_zap;
/* Serves inproc://zeromq.zap.01 of `context`: must be created before any bind. */
enum vq_status vq_zap_create(struct vq_loop *loop, void *context, struct vq_zap **ret_zap,
                             struct vq_error *err) VQ_WARN_UNUSED;
void vq_zap_destroy(struct vq_zap **zap);
void vq_zap_close(struct vq_zap *zap); /* answers no more handshakes; the list of keys stays */
enum vq_status vq_zap_allow(struct vq_zap *zap, const char *public_key) VQ_WARN_UNUSED;
void vq_zap_forbid(struct vq_zap *zap, const char *public_key);
bool vq_zap_allows(const struct vq_zap *zap, const char *public_key);
uint64_t vq_zap_refusals(const struct vq_zap *zap);
