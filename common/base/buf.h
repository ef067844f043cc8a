/* A growing byte buffer with a fixed maximum size, and borrowed spans of bytes. */
#pragma once

#include "common/base/status.h"

#include <string.h>

/* Borrowed bytes, not NUL-terminated. */
struct vq_span {
    const char *at;
    size_t bytes;
};

static inline struct vq_span vq_span(const char *at, size_t bytes)
{
    return (struct vq_span){at, bytes};
}

static inline struct vq_span vq_span_str(const char *text)
{
    return (struct vq_span){text, text == NULL ? 0 : strlen(text)};
}

static inline bool vq_span_eq(struct vq_span a, struct vq_span b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.at, b.at, a.bytes) == 0);
}

static inline bool vq_span_begins(struct vq_span text, const char *with)
{
    size_t n = strlen(with);
    return text.bytes >= n && (n == 0 || memcmp(text.at, with, n) == 0);
}

bool vq_span_begins_like(struct vq_span text, const char *lower); /* in any case of letters */

static inline bool vq_span_ends_with(struct vq_span text, const char *end)
{
    size_t n = strlen(end);
    return text.bytes >= n && (n == 0 || memcmp(text.at + text.bytes - n, end, n) == 0);
}

static inline struct vq_span vq_span_after(struct vq_span text, size_t bytes)
{
    return vq_span(bytes == 0 ? text.at : text.at + bytes, text.bytes - bytes); /* not NULL + 0 */
}

/* ASCII only, whatever the locale is. */
static inline bool vq_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool vq_is_gap(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool vq_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool vq_is_alnum(char c)
{
    unsigned letter = ((unsigned char)c | 0x20u) - 'a';
    return letter < 26 || vq_is_digit(c);
}

static inline char vq_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

struct vq_span vq_span_trim(struct vq_span text); /* without blanks at both ends */

static inline bool vq_span_is_blank(struct vq_span text)
{
    return vq_span_trim(text).bytes == 0;
}

/* `at` is NUL-terminated whenever it is not NULL. The first failed append sets `status`, and later
 * appends do nothing, so a writer checks it once at the end. */
struct vq_buf {
    char *at;
    size_t bytes;
    size_t cap;
    size_t bytes_max;
    enum vq_status status;
};

void vq_buf_init(struct vq_buf *buf, size_t bytes_max);
void vq_buf_free(struct vq_buf *buf);
void vq_buf_clear(struct vq_buf *buf); /* keeps the memory; resets `status` */
void vq_buf_append(struct vq_buf *buf, const void *bytes, size_t n);
void vq_buf_puts(struct vq_buf *buf, const char *text);
void vq_buf_putc(struct vq_buf *buf, char c);
void vq_buf_printf(struct vq_buf *buf, const char *fmt, ...) VQ_PRINTF(2, 3);
/* As a part of a URL: all bytes except letters, digits and "-._~" as %XX. */
void vq_buf_put_percent(struct vq_buf *buf, const char *text);
/* Makes room for n more bytes and returns their place; the caller writes them and adds n to
 * `bytes`. NULL: over the limit. */
char *vq_buf_reserve(struct vq_buf *buf, size_t n);
static inline struct vq_span vq_buf_span(const struct vq_buf *buf)
{
    return vq_span(buf->at, buf->bytes);
}
