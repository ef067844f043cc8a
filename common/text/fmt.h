/* Numbers for people (counts, bytes, durations, rates, dollars), and the abilities of the
 * terminal. */
#pragma once

#include "common/base/buf.h"

#define VQ_FMT_BYTES 32

/* Each function writes into the caller's array and returns it, so the call can be a printf
 * argument. */
const char *vq_fmt_count(uint64_t n, char ret_text[VQ_FMT_BYTES]); /* "1,234,567" */
const char *vq_fmt_bytes(uint64_t n,
                         char ret_text[VQ_FMT_BYTES]); /* "17 B", "1.5 KiB", "2.0 GiB" */
const char *vq_fmt_duration(
    int64_t ns,
    char ret_text[VQ_FMT_BYTES]); /* "85 ms", "4.2 s", "3 min 05 s", "2 h 07 min", "3 d 04 h" */
const char *vq_fmt_rate(double per_second,
                        char ret_text[VQ_FMT_BYTES]); /* "0.25/s", "3.1/s", "1,250/s" */
const char *vq_fmt_dollars(double usd,
                           char ret_text[VQ_FMT_BYTES]); /* "$0.0012", "$3.40", "$1,250.00" */
/* The form of a word after the number n. */
static inline const char *vq_fmt_form(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}
/* The ending of a noun after the number n: "" or "s". */
static inline const char *vq_fmt_plural(uint64_t n)
{
    return vq_fmt_form(n, "", "s");
}

/* A bar of `width` cells with its zero in the middle: value in [-1, 1], negative to the left. Block
 * characters, or '#' and '-' when `ascii`. Appends exactly `width` columns. */
void vq_fmt_signed_bar(struct vq_buf *out, double value, uint32_t width, bool ascii);

/* Appends an untrusted text as a part of one line. Control characters, also those of Latin-1,
 * become spaces, since a terminal may act on them. Bidi controls become their names, such as
 * <U+202E>. Invalid UTF-8 becomes U+FFFD. */
void vq_fmt_plain(struct vq_buf *out, struct vq_span text);

/* The same, cut or padded with spaces to `columns` code points ("..." as the last one if cut). */
void vq_fmt_pad(struct vq_buf *out, struct vq_span text, uint32_t columns);

enum vq_color {
    VQ_COLOR_RESET,
    VQ_COLOR_BOLD,
    VQ_COLOR_DIM,
    VQ_COLOR_RED,
    VQ_COLOR_GREEN,
    VQ_COLOR_YELLOW,
    VQ_COLOR_BLUE,
};

/* The abilities of the stream `fd`. columns is 80 if it is not a terminal or its width is unknown.
 * Colour needs a terminal, a TERM that is not "dumb", and no NO_COLOR (any non-empty value switches
 * it off); unicode needs a UTF-8 locale name. */
struct vq_terminal {
    bool is_tty;
    bool color;
    bool unicode;
    uint32_t columns;
};
void vq_terminal_of(int fd, struct vq_terminal *ret_terminal);
/* Whether the other end was closed: of a terminal (writes then fail with EIO) or of a pipe
 * (EPIPE). */
bool vq_terminal_is_gone(int fd);

/* The escape sequence; "" if the terminal has no colour. */
const char *vq_color(const struct vq_terminal *terminal, enum vq_color color);
