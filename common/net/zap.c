/* Decides for each CURVE handshake of libzmq whether the client's key is admitted (ZAP, RFC 27), by
 * a list. It runs on the loop: while it does not answer, no client is admitted. Without a handler
 * and without an enforced domain, libzmq admits every client. So the handler is bound before any
 * other socket of its context, and router.c enforces the domain.
 *
 * Invariant: a request gets exactly one reply, 200 only for a CURVE key on the list, with the key
 * as the user id. */
#include "common/base/alloc.h"
#include "common/net/zsock_private.h"

#include <errno.h>
#include <stdio.h>

#define ZAP_PARTS          7
#define ZAP_PART_BYTES_MAX 255
#define REQUESTS_PER_TURN  256
#define CURVE_KEY_BYTES    32

struct part {
    char at[ZAP_PART_BYTES_MAX + 1];
    size_t bytes;
};

struct vq_zap {
    struct vq_zpoll z;
    char (*allowed)[VQ_CURVE_KEY_CHARS + 1];
    size_t allowed_cap;
    size_t allowed_count;
    uint64_t refusals;
};

static bool allows(const struct vq_zap *zap, const char *public_key)
{
    for (size_t i = 0; i < zap->allowed_count; i++) {
        if (strcmp(zap->allowed[i], public_key) == 0) {
            return true;
        }
    }
    return false;
}

uint64_t vq_zap_refusals(const struct vq_zap *zap)
{
    return zap->refusals;
}

enum vq_status vq_zap_allow(struct vq_zap *zap, const char *public_key)
{
    if (strlen(public_key) != VQ_CURVE_KEY_CHARS) {
        return VQ_INVALID;
    }
    if (allows(zap, public_key)) {
        return VQ_EXISTS;
    }
    VQ_TRY(VQ_GROW(zap->allowed, &zap->allowed_cap, zap->allowed_count + 1, VQ_ZSOCK_ALLOWED_MAX));
    memcpy(zap->allowed[zap->allowed_count++], public_key, VQ_CURVE_KEY_CHARS + 1);
    return VQ_OK;
}

void vq_zap_forbid(struct vq_zap *zap, const char *public_key)
{
    for (size_t i = 0; i < zap->allowed_count; i++) {
        if (strcmp(zap->allowed[i], public_key) == 0) {
            memmove(zap->allowed[i], zap->allowed[--zap->allowed_count], VQ_CURVE_KEY_CHARS + 1);
            return;
        }
    }
}

bool vq_zap_allows(const struct vq_zap *zap, const char *public_key)
{
    return allows(zap, public_key);
}

/* Receives all parts of one request and returns their number; -1: no request. A part that is too
 * long is cut, and then refused. */
static int receive(void *socket, struct part parts[ZAP_PARTS])
{
    int count = 0;
    int more = 1;
    while (more != 0) {
        zmq_msg_t message;
        (void)zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket, ZMQ_DONTWAIT) < 0) {
            (void)zmq_msg_close(&message);
            return -1;
        }
        more = zmq_msg_more(&message);
        if (count < ZAP_PARTS) {
            struct part *part = &parts[count];
            size_t bytes = zmq_msg_size(&message);
            part->bytes = bytes > ZAP_PART_BYTES_MAX ? ZAP_PART_BYTES_MAX : bytes;
            memcpy(part->at, zmq_msg_data(&message), part->bytes);
            part->at[part->bytes] = '\0';
        }
        count++;
        (void)zmq_msg_close(&message);
    }
    return count;
}

static bool is(const struct part *part, const char *text)
{
    return vq_span_eq(vq_span(part->at, part->bytes), vq_span_str(text));
}

/* Whether the request may pass; then `ret_key` is its key as text. Parts: version, request id,
 * domain, address, routing id, mechanism, credentials. */
static bool may_pass(const struct vq_zap *zap, const struct part *parts, int count,
                     char ret_key[VQ_CURVE_KEY_CHARS + 1])
{
    if (count != ZAP_PARTS || !is(&parts[0], "1.0") || !is(&parts[2], VQ_ZAP_DOMAIN) ||
        !is(&parts[5], "CURVE") || parts[6].bytes != CURVE_KEY_BYTES) {
        return false;
    }
    char key[VQ_CURVE_KEY_CHARS + 1];
    if (zmq_z85_encode(key, (const uint8_t *)parts[6].at, CURVE_KEY_BYTES) == NULL ||
        !allows(zap, key)) {
        return false;
    }
    memcpy(ret_key, key, sizeof(key));
    return true;
}

static void answer(struct vq_zap *zap, const struct part *parts, int count)
{
    char key[VQ_CURVE_KEY_CHARS + 1] = "";
    bool pass = may_pass(zap, parts, count, key);
    if (!pass) {
        zap->refusals++;
    }
    const struct vq_span reply[] = {
        vq_span_str("1.0"),
        count > 1 ? vq_span(parts[1].at, parts[1].bytes) : vq_span("", 0),
        vq_span_str(pass ? "200" : "400"),
        vq_span_str(pass ? "OK" : "unknown key"),
        vq_span_str(key),
        vq_span("", 0),
    };
    for (size_t i = 0; i < VQ_COUNT(reply); i++) {
        /* a lost reply makes the handshake time out: it admits no client */
        if (vq_zsock_send_part(zap->z.socket, reply[i],
                               i + 1 < VQ_COUNT(reply) ? ZMQ_SNDMORE : 0) != 0) {
            return;
        }
    }
}

static bool on_ready(void *ctx)
{
    struct vq_zap *zap = ctx;
    return (vq_zpoll_events(&zap->z) & ZMQ_POLLIN) != 0;
}

static void on_drain(void *ctx)
{
    struct vq_zap *zap = ctx;
    struct part parts[ZAP_PARTS] = {0};
    for (int i = 0; i < REQUESTS_PER_TURN; i++) {
        int count = receive(zap->z.socket, parts);
        if (count < 0) {
            return;
        }
        answer(zap, parts, count);
    }
}

enum vq_status vq_zap_create(struct vq_loop *loop, void *context, struct vq_zap **ret_zap,
                             struct vq_error *err)
{
    struct vq_zap *zap = vq_alloc(1, sizeof(*zap));
    void *socket = zap == NULL ? NULL : zmq_socket(context, ZMQ_REP);
    if (socket == NULL) {
        vq_free(zap);
        return vq_fail(err, VQ_NOMEM, "cannot make the ZAP handler");
    }
    const struct vq_zoption options[] = {{ZMQ_LINGER, 0}};
    enum vq_status status = vq_zsock_set(socket, options, VQ_COUNT(options), err);
    if (status == VQ_OK && zmq_bind(socket, "inproc://zeromq.zap.01") != 0) {
        status = vq_fail(err, VQ_BUG, "cannot bind the ZAP handler: %s", zmq_strerror(errno));
    }
    if (status != VQ_OK) {
        (void)zmq_close(socket);
        vq_free(zap);
        return status;
    }
    struct vq_source source = {.ready = on_ready, .drain = on_drain, .ctx = zap};
    status = vq_zpoll_open(&zap->z, loop, socket, source, err);
    if (status != VQ_OK) {
        vq_free(zap);
        return status;
    }
    *ret_zap = zap;
    return VQ_OK;
}

void vq_zap_close(struct vq_zap *zap)
{
    vq_zpoll_close(&zap->z);
}

void vq_zap_destroy(struct vq_zap **zap)
{
    if (*zap != NULL) {
        vq_zap_close(*zap);
        vq_free((*zap)->allowed);
        vq_free(*zap);
        *zap = NULL;
    }
}
