/* Bounded growing buffer. Invariant: bytes <= bytes_max, and one byte beyond `bytes` is always a
 * NUL. */
#include "common/base/buf.h"

#include "common/base/alloc.h"

#include <stdio.h>

bool vq_span_begins_like(struct vq_span text, const char *lower)
{
    size_t n = strlen(lower);
    for (size_t i = 0; i < n && i < text.bytes; i++) {
        if (vq_lower(text.at[i]) != lower[i]) {
            return false;
        }
    }
    return text.bytes >= n;
}

struct vq_span vq_span_trim(struct vq_span text)
{
    while (text.bytes > 0 && vq_is_blank(text.at[0])) {
        text.at++;
        text.bytes--;
    }
    while (text.bytes > 0 && vq_is_blank(text.at[text.bytes - 1])) {
        text.bytes--;
    }
    return text;
}

void vq_buf_init(struct vq_buf *buf, size_t bytes_max)
{
    VQ_ASSERT(bytes_max < SIZE_MAX / 2);
    *buf = (struct vq_buf){.bytes_max = bytes_max};
}

void vq_buf_free(struct vq_buf *buf)
{
    vq_free(buf->at);
    *buf = (struct vq_buf){.bytes_max = buf->bytes_max};
}

void vq_buf_clear(struct vq_buf *buf)
{
    buf->bytes = 0;
    buf->status = VQ_OK;
    if (buf->at != NULL) {
        buf->at[0] = '\0';
    }
}

char *vq_buf_reserve(struct vq_buf *buf, size_t n)
{
    if (buf->status != VQ_OK) {
        return NULL;
    }
    if (n > buf->bytes_max - buf->bytes) {
        buf->status = VQ_LIMIT;
        return NULL;
    }
    if (buf->bytes + n < buf->cap) { /* the usual case */
        return buf->at + buf->bytes;
    }
    enum vq_status status = VQ_GROW(buf->at, &buf->cap, buf->bytes + n + 1, buf->bytes_max + 1);
    if (status != VQ_OK) {
        buf->status = status;
        return NULL;
    }
    return buf->at + buf->bytes;
}

void vq_buf_append(struct vq_buf *buf, const void *bytes, size_t n)
{
    char *to = vq_buf_reserve(buf, n);
    if (to == NULL) {
        return;
    }
    if (n > 0) {
        memcpy(to, bytes, n);
    }
    buf->bytes += n;
    buf->at[buf->bytes] = '\0';
}

void vq_buf_puts(struct vq_buf *buf, const char *text)
{
    vq_buf_append(buf, text, strlen(text));
}

void vq_buf_putc(struct vq_buf *buf, char c)
{
    vq_buf_append(buf, &c, 1);
}

void vq_buf_printf(struct vq_buf *buf, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int need = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (need >= 0) {
        char *to = vq_buf_reserve(buf, (size_t)need);
        if (to != NULL) {
            (void)vsnprintf(to, (size_t)need + 1, fmt, again);
            buf->bytes += (size_t)need;
        }
    } else if (buf->status == VQ_OK) {
        buf->status = VQ_BUG;
    }
    va_end(again);
}

void vq_buf_put_percent(struct vq_buf *buf, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        bool plain = vq_is_alnum(*c) || strchr("-._~", *c) != NULL;
        vq_buf_printf(buf, plain ? "%c" : "%%%02X", (unsigned char)*c);
    }
}
