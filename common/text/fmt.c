/* Numbers for people, and abilities of the terminal. Pure, except vq_terminal_of, which reads the
 * environment and the terminal. Invariant: every text fits VQ_FMT_BYTES. Not its job: printing. */
#include "common/text/fmt.h"

#include "common/base/clock.h"
#include "common/text/utf8.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BIDI_COLUMNS    8 /* "<U+202E>" */
#define COLUMNS_DEFAULT 80

const char *vq_fmt_count(uint64_t n, char ret_text[VQ_FMT_BYTES])
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            ret_text[at++] = ',';
        }
        ret_text[at++] = digits[i];
    }
    ret_text[at] = '\0';
    return ret_text;
}

const char *vq_fmt_bytes(uint64_t n, char ret_text[VQ_FMT_BYTES])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)n;
    while (value >= 1024 && unit + 1 < VQ_COUNT(units)) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(ret_text, VQ_FMT_BYTES, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return ret_text;
}

const char *vq_fmt_duration(int64_t ns, char ret_text[VQ_FMT_BYTES])
{
    if (ns < 0) {
        ns = 0;
    }
    long long s = ns / VQ_NS_PER_S;
    if (ns < VQ_NS_PER_S) {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "%lld ms", (long long)(ns / VQ_NS_PER_MS));
    } else if (s < 60) {
        long long tenths = ns / (VQ_NS_PER_S / 10);
        (void)snprintf(ret_text, VQ_FMT_BYTES, "%lld.%lld s", tenths / 10, tenths % 10);
    } else if (s < 3600) {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "%lld min %02lld s", s / 60, s % 60);
    } else if (s < 2 * 86400) {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "%lld h %02lld min", s / 3600, s % 3600 / 60);
    } else {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "%lld d %02lld h", s / 86400, s % 86400 / 3600);
    }
    return ret_text;
}

/* Rounded to whole units with separators; "-" if above 2^63 or not finite. */
static const char *whole(double value, char ret_text[VQ_FMT_BYTES])
{
    if (!(value >= 0 && value < 9e18)) {
        return "-";
    }
    return vq_fmt_count((uint64_t)llround(value), ret_text);
}

const char *vq_fmt_rate(double per_second, char ret_text[VQ_FMT_BYTES])
{
    char count[VQ_FMT_BYTES];
    if (per_second >= 99.95) {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "%s/s", whole(per_second, count));
    } else if (per_second >= 0) {
        (void)snprintf(ret_text, VQ_FMT_BYTES, per_second < 0.995 ? "%.2f/s" : "%.1f/s",
                       per_second);
    } else {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "-/s");
    }
    return ret_text;
}

const char *vq_fmt_dollars(double usd, char ret_text[VQ_FMT_BYTES])
{
    char count[VQ_FMT_BYTES];
    if (!(usd >= 0 && usd < 9e15)) {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "$-");
    } else if (usd > 0 && usd < 0.01) {
        (void)snprintf(ret_text, VQ_FMT_BYTES, "$%.4f", usd);
    } else {
        uint64_t cents = (uint64_t)llround(usd * 100);
        (void)snprintf(ret_text, VQ_FMT_BYTES, "$%s.%02u", vq_fmt_count(cents / 100, count),
                       (unsigned)(cents % 100));
    }
    return ret_text;
}

void vq_fmt_signed_bar(struct vq_buf *out, double value, uint32_t width, bool ascii)
{
    uint32_t left = width / 2;
    uint32_t right = width - left;
    double share = isfinite(value) ? fmin(1, fmax(-1, value)) : 0;
    uint32_t filled_left = share < 0 ? (uint32_t)lround(-share * left) : 0;
    uint32_t filled_right = share > 0 ? (uint32_t)lround(share * right) : 0;
    const char *full = ascii ? "#" : "\xe2\x96\x88";
    const char *empty = ascii ? "-" : "\xe2\x94\x80";
    for (uint32_t i = 0; i < width; i++) {
        bool on = i < left ? i >= left - filled_left : i - left < filled_right;
        vq_buf_puts(out, on ? full : empty);
    }
}

static void put_plain(struct vq_buf *out, uint32_t point)
{
    char bytes[VQ_UTF8_BYTES_MAX];
    if (vq_utf8_is_bidi(point)) {
        vq_buf_printf(out, "<U+%04X>", point);
        return;
    }
    bool control = point < ' ' || (point >= 0x7F && point < 0xA0);
    vq_buf_append(out, bytes, vq_utf8_put(control ? ' ' : point, bytes));
}

void vq_fmt_plain(struct vq_buf *out, struct vq_span text)
{
    for (size_t pos = 0; pos < text.bytes;) {
        put_plain(out, vq_utf8_next(text, &pos));
    }
}

/* Columns that a code point takes. */
static size_t width(uint32_t point)
{
    return vq_utf8_is_bidi(point) ? BIDI_COLUMNS : 1;
}

static size_t widths(struct vq_span text)
{
    size_t sum = 0;
    for (size_t pos = 0; pos < text.bytes;) {
        sum += width(vq_utf8_next(text, &pos));
    }
    return sum;
}

void vq_fmt_pad(struct vq_buf *out, struct vq_span text, uint32_t columns)
{
    size_t count = widths(text);
    size_t keep = count <= columns ? count : columns >= 3 ? columns - 3 : 0;
    size_t pos = 0, used = 0;
    while (used < keep) {
        uint32_t point = vq_utf8_next(text, &pos);
        if (used + width(point) > keep) {
            break;
        }
        used += width(point);
        put_plain(out, point);
    }
    size_t dots = used + 3;
    for (; count > columns && used < columns && used < dots; used++) {
        vq_buf_putc(out, '.');
    }
    for (; used < columns; used++) {
        vq_buf_putc(out, ' ');
    }
}

static bool env_has(const char *name, const char *part)
{
    const char *value = getenv(name);
    return value != NULL && strstr(value, part) != NULL;
}

static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"}; /* the first that is set */
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0') {
            return env_has(names[i], "UTF-8") || env_has(names[i], "utf8") ||
                   env_has(names[i], "UTF8") || env_has(names[i], "utf-8");
        }
    }
    return false;
}

void vq_terminal_of(int fd, struct vq_terminal *ret_terminal)
{
    struct vq_terminal t = {.columns = COLUMNS_DEFAULT};
    t.is_tty = isatty(fd) == 1;
    t.unicode = locale_is_utf8();
    if (t.is_tty) {
        const char *term = getenv("TERM");
        const char *no_color = getenv("NO_COLOR");
        t.color =
            term != NULL && strcmp(term, "dumb") != 0 && (no_color == NULL || no_color[0] == '\0');
        struct winsize size;
        if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
            t.columns = size.ws_col;
        }
    }
    *ret_terminal = t;
}

bool vq_terminal_is_gone(int fd)
{
    struct pollfd out = {.fd = fd, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

const char *vq_color(const struct vq_terminal *terminal, enum vq_color color)
{
    static const char *const codes[] = {
        [VQ_COLOR_RESET] = "\033[0m", [VQ_COLOR_BOLD] = "\033[1m",   [VQ_COLOR_DIM] = "\033[2m",
        [VQ_COLOR_RED] = "\033[31m",  [VQ_COLOR_GREEN] = "\033[32m", [VQ_COLOR_YELLOW] = "\033[33m",
        [VQ_COLOR_BLUE] = "\033[34m",
    };
    return terminal->color ? codes[color] : "";
}
