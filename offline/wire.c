/* Spoiled answers. The whole answer is written as bytes, then cut, padded or slowed down; a table
 * has the way for each fault. A reset is made by connect(AF_UNSPEC), which drops the connection at
 * once; the descriptor remains for the HTTP library that owns it. Not its job: deciding which
 * answer is spoiled (service.c). */
#include "offline/wire.h"

#include "common/base/clock.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_BYTES_HUGE  (UINT64_C(1) << 30)
#define FULL_WAIT_NS     (2 * VQ_NS_PER_MS) /* until the next try at a full socket */
#define BYTES_A_STEP_MAX (1u << 20)         /* so that one connection does not delay the others */
#define DRIP_NS          VQ_NS_PER_S
#define GARBAGE_BYTES    512
#define HEAD_SLACK       4096
#define FILLER_BYTES_MAX 65536

static const char filler_text[] = "The quick brown fox jumps over the lazy dog and goes on. ";
static const char filler_header[] = "X-Filler: the quick brown fox jumps over the lazy dog\r\n";

/* The value of the Content-Length header, if there is one. */
enum length {
    LENGTH_RIGHT,
    LENGTH_NONE,
    LENGTH_SHORT,
    LENGTH_LONG,
    LENGTH_FILLED
};

static void write_head(const struct vq_offline_reply *reply, enum length length,
                       uint64_t body_bytes, struct vq_buf *out)
{
    vq_buf_printf(out, "HTTP/1.1 %u OK\r\nContent-Type: %s\r\n", reply->status,
                  reply->content_type);
    for (size_t i = 0; i < reply->headers_n; i++) {
        vq_buf_printf(out, "%s: %s\r\n", reply->headers[i].name, reply->headers[i].value);
    }
    if (reply->fault == VQ_FAULT_BAD_CHUNK) {
        vq_buf_puts(out, "Transfer-Encoding: chunked\r\n");
    }
    unsigned long long bytes = body_bytes;
    switch (length) {
    case LENGTH_NONE: break;
    case LENGTH_SHORT: vq_buf_printf(out, "Content-Length: %llu\r\n", bytes / 2); break;
    case LENGTH_LONG: vq_buf_printf(out, "Content-Length: %llu\r\n", bytes + 1000); break;
    case LENGTH_RIGHT:
    case LENGTH_FILLED: vq_buf_printf(out, "Content-Length: %llu\r\n", bytes); break;
    }
}

static void keep(struct vq_buf *bytes, size_t n)
{
    if (n < bytes->bytes) {
        bytes->bytes = n;
        bytes->at[n] = '\0';
    }
}

/* Whole copies of the text, so that the repetition has no visible seam. */
static void fill(struct vq_wire *wire, const char *text)
{
    while (wire->filler.status == VQ_OK &&
           wire->filler.bytes + strlen(text) <= FILLER_BYTES_MAX / 2) {
        vq_buf_puts(&wire->filler, text);
    }
}

static void plan_huge(const struct vq_offline_reply *reply, struct vq_wire *wire)
{
    static const char head[] = "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,"
                               "\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\","
                               "\"content\":\"";
    static const char tail[] = "\\nModel: A\"}}]}";
    fill(wire, filler_text);
    wire->filler_left = reply->fault_bytes > 0 ? reply->fault_bytes : BODY_BYTES_HUGE;
    uint64_t body = sizeof(head) - 1 + wire->filler_left + sizeof(tail) - 1;
    write_head(reply, LENGTH_FILLED, body, &wire->bytes);
    vq_buf_puts(&wire->bytes, "\r\n");
    vq_buf_puts(&wire->bytes, head);
    vq_buf_puts(&wire->tail, tail);
}

static void plan_garbage(const struct vq_offline_reply *reply, struct vq_wire *wire)
{
    uint64_t state = reply->n * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < GARBAGE_BYTES; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        vq_buf_putc(&wire->bytes, (char)(state >> 32));
    }
}

static void plan_endless_headers(const struct vq_offline_reply *reply, struct vq_wire *wire)
{
    write_head(reply, LENGTH_NONE, 0, &wire->bytes);
    fill(wire, filler_header);
    wire->filler_left = reply->fault_bytes > 0 ? reply->fault_bytes : BODY_BYTES_HUGE;
}

static void plan_bad_chunk(const struct vq_offline_reply *reply, struct vq_wire *wire)
{
    write_head(reply, LENGTH_NONE, 0, &wire->bytes);
    vq_buf_printf(&wire->bytes, "\r\n%zx\r\n", reply->body.bytes);
    vq_buf_append(&wire->bytes, reply->body.at, reply->body.bytes);
    vq_buf_puts(&wire->bytes, "\r\nthis is no size\r\n");
}

/* Head and body with the given length header, cut to a percentage: of the head (below 100), or of
 * head and body. */
static void plan_plain(const struct vq_offline_reply *reply, struct vq_wire *wire,
                       enum length length, unsigned head_percent, unsigned body_percent)
{
    write_head(reply, length, reply->body.bytes, &wire->bytes);
    if (head_percent < 100) {
        keep(&wire->bytes, wire->bytes.bytes * head_percent / 100);
        return;
    }
    vq_buf_puts(&wire->bytes, "\r\n");
    vq_buf_append(&wire->bytes, reply->body.at, reply->body.bytes * body_percent / 100);
}

enum vq_status vq_wire_plan(const struct vq_offline_reply *reply, struct vq_wire *ret_wire)
{
    struct vq_wire *wire = ret_wire;
    *wire = (struct vq_wire){.end = VQ_WIRE_CLOSE};
    vq_buf_init(&wire->bytes, VQ_REPLY_BYTES_MAX + HEAD_SLACK);
    vq_buf_init(&wire->tail, HEAD_SLACK);
    vq_buf_init(&wire->filler, FILLER_BYTES_MAX);
    switch ((int)reply->fault) {
    case VQ_FAULT_HANG_BEFORE_HEADERS: wire->end = VQ_WIRE_HANG; break;
    case VQ_FAULT_HANG_MID_HEADERS:
        plan_plain(reply, wire, LENGTH_RIGHT, 50, 0);
        wire->end = VQ_WIRE_HANG;
        break;
    case VQ_FAULT_HANG_MID_BODY:
        plan_plain(reply, wire, LENGTH_RIGHT, 100, 50);
        wire->end = VQ_WIRE_HANG;
        break;
    case VQ_FAULT_HANG_AFTER_BODY:
        plan_plain(reply, wire, LENGTH_NONE, 100, 100);
        wire->end = VQ_WIRE_HANG;
        break;
    case VQ_FAULT_CLOSE: break;
    case VQ_FAULT_RESET:
    case VQ_FAULT_LOST_ANSWER: wire->end = VQ_WIRE_RESET; break;
    case VQ_FAULT_CUT_BODY: plan_plain(reply, wire, LENGTH_RIGHT, 100, 50); break;
    case VQ_FAULT_RESET_MID_BODY:
        plan_plain(reply, wire, LENGTH_RIGHT, 100, 50);
        wire->end = VQ_WIRE_RESET;
        break;
    case VQ_FAULT_SHORT_LENGTH: plan_plain(reply, wire, LENGTH_SHORT, 100, 100); break;
    case VQ_FAULT_LONG_LENGTH: plan_plain(reply, wire, LENGTH_LONG, 100, 100); break;
    case VQ_FAULT_GARBAGE: plan_garbage(reply, wire); break;
    case VQ_FAULT_BAD_CHUNK: plan_bad_chunk(reply, wire); break;
    case VQ_FAULT_DRIP:
        plan_plain(reply, wire, LENGTH_RIGHT, 100, 100);
        wire->is_whole = true;
        wire->step_bytes = 1;
        wire->step_ns =
            reply->fault_interval_ms > 0 ? reply->fault_interval_ms * VQ_NS_PER_MS : DRIP_NS;
        break;
    case VQ_FAULT_HUGE_BODY:
        plan_huge(reply, wire);
        wire->is_whole = true;
        break;
    case VQ_FAULT_ENDLESS_HEADERS: plan_endless_headers(reply, wire); break;
    default: VQ_ASSERT(false);
    }
    enum vq_status status = wire->bytes.status != VQ_OK ? wire->bytes.status : wire->filler.status;
    if (status != VQ_OK) {
        vq_wire_free(wire);
        return status;
    }
    return VQ_OK;
}

void vq_wire_free(struct vq_wire *wire)
{
    vq_buf_free(&wire->bytes);
    vq_buf_free(&wire->tail);
    vq_buf_free(&wire->filler);
}

/* The next bytes to send; 0: all are sent. */
static size_t next_bytes(const struct vq_wire *wire, const char **ret_at)
{
    size_t n = 0;
    if (wire->done < wire->bytes.bytes) {
        *ret_at = wire->bytes.at + wire->done;
        n = wire->bytes.bytes - wire->done;
    } else if (wire->filler_left > 0) {
        *ret_at = wire->filler.at + wire->filler_at;
        size_t rest = wire->filler.bytes - wire->filler_at;
        n = rest < wire->filler_left ? rest : (size_t)wire->filler_left;
    } else if (wire->tail_done < wire->tail.bytes) {
        *ret_at = wire->tail.at + wire->tail_done;
        n = wire->tail.bytes - wire->tail_done;
    }
    return wire->step_bytes > 0 && n > wire->step_bytes ? wire->step_bytes : n;
}

static void advance(struct vq_wire *wire, size_t n)
{
    if (wire->done < wire->bytes.bytes) {
        wire->done += n;
    } else if (wire->filler_left > 0) {
        wire->filler_left -= n;
        wire->filler_at = (wire->filler_at + n) % wire->filler.bytes;
    } else {
        wire->tail_done += n;
    }
}

enum vq_wire_state vq_wire_step(struct vq_wire *wire, int fd, int64_t *ret_wait_ns)
{
    size_t sent = 0;
    *ret_wait_ns = wire->step_ns;
    for (;;) {
        const char *at = NULL;
        size_t n = next_bytes(wire, &at);
        if (n == 0) {
            return VQ_WIRE_DONE;
        }
        ssize_t wrote = send(fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            *ret_wait_ns = wire->step_ns > 0 ? wire->step_ns : FULL_WAIT_NS;
            return VQ_WIRE_MORE;
        }
        if (wrote < 0) {
            return VQ_WIRE_LOST;
        }
        advance(wire, (size_t)wrote);
        sent += (size_t)wrote;
        if (wire->step_bytes > 0 || sent >= BYTES_A_STEP_MAX) {
            return VQ_WIRE_MORE;
        }
    }
}

void vq_wire_reset(int fd)
{
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    (void)connect(fd, &none, sizeof(none)); /* if the peer has disconnected, no reset is needed */
}
