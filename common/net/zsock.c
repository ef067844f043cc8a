/* A ZeroMQ socket on the loop. ZMQ_FD is edge-triggered, and any send, receive or read of
 * ZMQ_EVENTS may reset the edge. So the poll handle's callback only ends the sleep. The loop drains
 * every socket once per turn (step 2). Before it sleeps, it reads ZMQ_EVENTS again, and does not
 * sleep if there is more.
 *
 * Invariants: the poll handle is closed before its socket; ZMQ_FD is only used for waking up. */
#include "common/base/alloc.h"
#include "common/net/zsock_private.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* for two threads with an epoll and an eventfd each, for sockets, and for a connection and its
 * successor */
#define FILES_NEEDED 16

static bool files_are_left(void)
{
    int fds[FILES_NEEDED];
    int n = 0;
    while (n < FILES_NEEDED && (fds[n] = eventfd(0, EFD_CLOEXEC)) >= 0) {
        n++;
    }
    bool enough = n == FILES_NEEDED;
    while (n > 0) {
        (void)close(fds[--n]);
    }
    return enough;
}

enum vq_status vq_zsock_context(void **ret_context, struct vq_error *err)
{
    if (!files_are_left()) {
        return vq_fail(err, VQ_IO,
                       "too many open files: less than %d more can be opened (%s); raise the limit "
                       "(ulimit -n)",
                       FILES_NEEDED, strerror(errno));
    }
    void *context = zmq_ctx_new();
    if (context == NULL) {
        return vq_fail(err, VQ_NOMEM, "cannot make a ZeroMQ context: %s", zmq_strerror(errno));
    }
    *ret_context = context;
    return VQ_OK;
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    (void)handle; /* its only effect is the end of the sleep */
    (void)status;
    (void)events;
}

static void free_poll(uv_handle_t *handle)
{
    vq_free(handle);
}

enum vq_status vq_zpoll_open(struct vq_zpoll *z, struct vq_loop *loop, void *take_socket,
                             struct vq_source source, struct vq_error *err)
{
    int fd = -1;
    size_t bytes = sizeof(fd);
    int code = UV_ENOMEM;
    uv_poll_t *poll = vq_alloc(1, sizeof(*poll));
    if (poll != NULL && zmq_getsockopt(take_socket, ZMQ_FD, &fd, &bytes) == 0) {
        code = uv_poll_init(vq_loop_uv(loop), poll, fd);
    }
    if (code != 0) {
        vq_free(poll);
        (void)zmq_close(take_socket); /* fails only if it is not a socket */
        return vq_fail(err, VQ_IO, "cannot watch a socket: %s", uv_strerror(code));
    }
    code = uv_poll_start(poll, UV_READABLE, on_poll);
    VQ_ASSERT(code == 0); /* a fresh handle */
    *z = (struct vq_zpoll){.socket = take_socket, .poll = poll, .source = source, .loop = loop};
    vq_loop_add_source(loop, &z->source);
    return VQ_OK;
}

void vq_zpoll_close(struct vq_zpoll *z)
{
    if (z->socket == NULL) {
        return;
    }
    vq_loop_remove_source(z->loop, &z->source);
    uv_close((uv_handle_t *)z->poll, free_poll);
    (void)zmq_close(z->socket);
    z->socket = NULL;
}

int vq_zpoll_events(const struct vq_zpoll *z)
{
    int events = 0;
    size_t bytes = sizeof(events);
    while (zmq_getsockopt(z->socket, ZMQ_EVENTS, &events, &bytes) != 0) {
        if (errno != EINTR) {
            return 0;
        }
    }
    return events;
}

enum vq_status vq_zsock_set(void *socket, const struct vq_zoption *options, size_t count,
                            struct vq_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (zmq_setsockopt(socket, options[i].name, &options[i].value, sizeof(int)) != 0) {
            return vq_fail(err, VQ_BUG, "libzmq refuses socket option %d: %s", options[i].name,
                           zmq_strerror(errno));
        }
    }
    return VQ_OK;
}

enum vq_status vq_zsock_set_common(void *socket, struct vq_error *err)
{
    static const struct vq_zoption options[] = {
        {ZMQ_SNDHWM, VQ_ZSOCK_HWM},
        {ZMQ_RCVHWM, VQ_ZSOCK_HWM},
        {ZMQ_HANDSHAKE_IVL, VQ_ZSOCK_HANDSHAKE_MS},
        {ZMQ_HEARTBEAT_IVL, VQ_ZSOCK_HEARTBEAT_MS},
        {ZMQ_HEARTBEAT_TIMEOUT, VQ_ZSOCK_HEARTBEAT_DEAD_MS},
        {ZMQ_HEARTBEAT_TTL, VQ_ZSOCK_HEARTBEAT_DEAD_MS},
        {ZMQ_LINGER, VQ_ZSOCK_LINGER_MS},
        {ZMQ_IPV6, 1},
        {ZMQ_IMMEDIATE, 1},
        {ZMQ_TCP_KEEPALIVE, 1},
    };
    VQ_TRY(vq_zsock_set(socket, options, VQ_COUNT(options), err));
    /* the limit includes the bytes that CURVE adds to a frame */
    int64_t bytes_max = VQ_ZSOCK_FRAME_BYTES_MAX + 1024;
    if (zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &bytes_max, sizeof(bytes_max)) != 0) {
        return vq_fail(err, VQ_BUG, "libzmq refuses ZMQ_MAXMSGSIZE: %s", zmq_strerror(errno));
    }
    return VQ_OK;
}

static enum vq_status set_secret_key(void *socket, struct vq_span bytes)
{
    char text[VQ_CURVE_KEY_CHARS + 1] = {0};
    if (bytes.bytes != VQ_CURVE_KEY_CHARS) {
        return VQ_INVALID;
    }
    memcpy(text, bytes.at, VQ_CURVE_KEY_CHARS);
    int code = zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, text, sizeof(text));
    vq_wipe(text, sizeof(text));
    return code == 0 ? VQ_OK : VQ_INVALID;
}

enum vq_status vq_zsock_set_keys(void *socket, const struct vq_keypair *keys, struct vq_error *err)
{
    if (zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys->public_key, sizeof(keys->public_key)) !=
            0 ||
        vq_secret_expose(keys->secret_key, set_secret_key, socket) != VQ_OK) {
        return vq_fail(err, VQ_INVALID, "libzmq refuses the key pair (is it built with CURVE?)");
    }
    return VQ_OK;
}

int vq_zsock_send_part(void *socket, struct vq_span part, int flags)
{
    zmq_msg_t message;
    if (zmq_msg_init_size(&message, part.bytes) != 0) {
        return ENOMEM;
    }
    if (part.bytes > 0) {
        memcpy(zmq_msg_data(&message), part.at, part.bytes);
    }
    int code;
    do {
        code = zmq_msg_send(&message, socket, flags | ZMQ_DONTWAIT);
    } while (code < 0 && errno == EINTR);
    int failed = code < 0 ? errno : 0;
    if (failed != 0) {
        (void)zmq_msg_close(&message);
    }
    return failed;
}

/* ---- frames that wait ---- */

struct vq_zframe {
    struct vq_zframe *next;
    size_t bytes;
    char at[];
};

enum vq_status vq_zqueue_put(struct vq_zqueue *queue, struct vq_span frame)
{
    if (queue->frames >= VQ_ZSOCK_QUEUE_FRAMES_MAX ||
        frame.bytes > VQ_ZSOCK_QUEUE_BYTES_MAX - queue->bytes) {
        return VQ_LIMIT;
    }
    struct vq_zframe *copy = vq_alloc(1, sizeof(*copy) + frame.bytes);
    if (copy == NULL) {
        return VQ_NOMEM;
    }
    copy->bytes = frame.bytes;
    if (frame.bytes > 0) {
        memcpy(copy->at, frame.at, frame.bytes);
    }
    if (queue->last != NULL) {
        queue->last->next = copy;
    } else {
        queue->first = copy;
    }
    queue->last = copy;
    queue->frames++;
    queue->bytes += frame.bytes;
    return VQ_OK;
}

struct vq_span vq_zqueue_first(const struct vq_zqueue *queue)
{
    return queue->first == NULL ? vq_span(NULL, 0) : vq_span(queue->first->at, queue->first->bytes);
}

void vq_zqueue_drop_first(struct vq_zqueue *queue)
{
    struct vq_zframe *frame = queue->first;
    queue->first = frame->next;
    if (queue->first == NULL) {
        queue->last = NULL;
    }
    queue->frames--;
    queue->bytes -= frame->bytes;
    vq_free(frame);
}

void vq_zqueue_clear(struct vq_zqueue *queue)
{
    while (queue->first != NULL) {
        vq_zqueue_drop_first(queue);
    }
}
