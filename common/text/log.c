/* Log lines. A line is built completely on the stack and written by one write(2), so lines of
 * threads do not mix. Invariants: each KEY=CONVERSION pair takes its own va_arg, so the type of a
 * value decides how it is written; a full or broken stream never stops the program. A small table
 * counts the repeats of events, under the same mutex. Not its job: log files, rotation, the choice
 * of events. */
#include "common/text/log.h"

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/text/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_TRACKED 128

struct repeats {
    const char *event; /* compared by content */
    int64_t second;
    uint32_t written;
    uint64_t dropped;
};

static struct {
    pthread_mutex_t mutex;
    int fd;
    enum vq_log_level level;
    bool json;
    bool opened;
    struct repeats repeats[EVENTS_TRACKED];
} logger = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO, .level = VQ_LOG_INFO};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void vq_log_to(int fd, enum vq_log_level level, enum vq_log_format format)
{
    (void)pthread_mutex_lock(&logger.mutex);
    logger.fd = fd;
    logger.level = level;
    logger.json = format == VQ_LOG_JSON || (format == VQ_LOG_AUTO && (fd < 0 || isatty(fd) != 1));
    logger.opened = true;
    memset(logger.repeats, 0, sizeof(logger.repeats));
    (void)pthread_mutex_unlock(&logger.mutex);
}

/* A line that is being built. Fields that do not fit are dropped, and the end of the line has a
 * mark. */
struct line {
    char at[VQ_LOG_LINE_BYTES_MAX];
    size_t bytes;
    bool json;
    bool full;
};

static void put(struct line *line, const char *bytes, size_t n)
{
    /* 64 bytes are reserved for the end of the line */
    size_t room = sizeof(line->at) - 64 - line->bytes;
    if (line->full || n > room) {
        line->full = true;
        return;
    }
    memcpy(line->at + line->bytes, bytes, n);
    line->bytes += n;
}

static void puts_line(struct line *line, const char *text)
{
    put(line, text, strlen(text));
}

static bool is_bare(struct vq_span text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7F) {
            return false;
        }
    }
    return text.bytes > 0;
}

static void put_quoted(struct line *line, struct vq_span text)
{
    char piece[VQ_LOG_VALUE_BYTES_MAX * 2];
    size_t used = 0;
    piece[used++] = '"';
    struct vq_span cut = vq_utf8_cut(text, VQ_LOG_VALUE_BYTES_MAX);
    size_t pos = 0;
    while (pos < cut.bytes && used + 16 < sizeof(piece)) {
        uint32_t point = vq_utf8_next(cut, &pos);
        if (point == '"' || point == '\\') {
            piece[used++] = '\\';
            piece[used++] = (char)point;
        } else if (point == '\n') {
            piece[used++] = '\\';
            piece[used++] = 'n';
        } else if (point < 0x20 || (point >= 0x7F && point < 0xA0)) {
            /* also the C1 range: a terminal may act on it */
            used += (size_t)snprintf(piece + used, sizeof(piece) - used, "\\u%04x", point);
        } else {
            used += vq_utf8_put(point, piece + used);
        }
    }
    if (pos < text.bytes) {
        memcpy(piece + used, "...", 3);
        used += 3;
    }
    piece[used++] = '"';
    put(line, piece, used);
}

static void put_text(struct line *line, struct vq_span text)
{
    if (!line->json && is_bare(text) && text.bytes <= VQ_LOG_VALUE_BYTES_MAX) {
        put(line, text.at, text.bytes);
        return;
    }
    put_quoted(line, text);
}

static void put_key(struct line *line, struct vq_span key)
{
    if (line->json) {
        puts_line(line, ",\"");
        put(line, key.at, key.bytes);
        puts_line(line, "\":");
    } else {
        puts_line(line, " ");
        put(line, key.at, key.bytes);
        puts_line(line, "=");
    }
}

/* One conversion of the format: '%' flags width .precision length letter. */
struct conversion {
    int precision; /* -1: none */
    bool precision_arg;
    char length; /* 0, 'l', 'L' (ll), 'z', 'j', 'h' */
    char letter;
    const char *end;
};

static struct conversion parse_conversion(const char *at)
{
    struct conversion c = {.precision = -1};
    at++; /* the percent sign */
    while (*at != '\0' && strchr("-+ #0123456789", *at) != NULL) {
        at++;
    }
    if (*at == '.') {
        at++;
        c.precision = 0;
        if (*at == '*') {
            c.precision_arg = true;
            at++;
        }
        while (isdigit((unsigned char)*at) && c.precision < 1000) {
            c.precision = c.precision * 10 + (*at++ - '0');
        }
    }
    while (*at != '\0' && strchr("lzjh", *at) != NULL) {
        c.length = c.length == 'l' && *at == 'l' ? 'L' : *at;
        at++;
    }
    c.letter = *at;
    c.end = *at == '\0' ? at : at + 1;
    return c;
}

static void put_integer(struct line *line, const struct conversion *c, va_list *args)
{
    char text[32];
    bool is_signed = c->letter == 'd' || c->letter == 'i';
    unsigned long long u;
    switch (c->length) {
    case 'l': u = va_arg(*args, unsigned long); break;
    case 'L': u = va_arg(*args, unsigned long long); break;
    case 'z': u = va_arg(*args, size_t); break;
    case 'j': u = va_arg(*args, uintmax_t); break;
    default:
        u = is_signed ? (unsigned long long)va_arg(*args, int) : va_arg(*args, unsigned);
        break;
    }
    if (c->letter == 'x') {
        (void)snprintf(text, sizeof(text), line->json ? "\"%llx\"" : "%llx", u);
    } else {
        (void)snprintf(text, sizeof(text), is_signed ? "%lld" : "%llu", u);
    }
    puts_line(line, text);
}

static void put_string(struct line *line, const struct conversion *c, va_list *args)
{
    int precision = c->precision_arg ? va_arg(*args, int) : c->precision;
    const char *text = va_arg(*args, const char *);
    if (text == NULL) {
        puts_line(line, line->json ? "null" : "-");
        return;
    }
    size_t n = precision < 0 ? strlen(text) : strnlen(text, (size_t)precision);
    put_text(line, vq_span(text, n));
}

static const char *put_value(struct line *line, const char *at, va_list *args)
{
    if (*at != '%') {
        size_t n = strcspn(at, " ");
        put_text(line, vq_span(at, n));
        return at + n;
    }
    struct conversion c = parse_conversion(at);
    char text[64];
    switch (c.letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'x': put_integer(line, &c, args); break;
    case 's': put_string(line, &c, args); break;
    case 'f':
    case 'g': {
        double value = va_arg(*args, double);
        int precision = c.precision < 0 || c.precision > 17 ? 6 : c.precision;
        (void)snprintf(text, sizeof(text), "%.*g", precision, value);
        if (c.letter == 'f' && value > -1e15 && value < 1e15) {
            (void)snprintf(text, sizeof(text), "%.*f", precision, value);
        }
        bool number = value - value == 0; /* JSON has no NaN and no infinity */
        puts_line(line, number || !line->json ? text : "null");
        break;
    }
    case 'c':
        text[0] = (char)va_arg(*args, int);
        put_text(line, vq_span(text, 1));
        break;
    default: vq_assert_failed("a conversion that vq_log knows", __FILE__, __LINE__);
    }
    return c.end;
}

static void put_fields(struct line *line, const char *fields, va_list *args)
{
    const char *at = fields;
    while (*at != '\0') {
        if (*at == ' ') {
            at++;
            continue;
        }
        size_t key = strcspn(at, "= ");
        VQ_ASSERT(at[key] == '=' && key > 0);
        size_t before = line->bytes;
        put_key(line, vq_span(at, key));
        at = put_value(line, at + key + 1, args);
        if (line->full) {
            line->bytes = before; /* a field is complete or dropped */
        }
    }
}

static void put_head(struct line *line, enum vq_log_level level, const char *event)
{
    int64_t unix_ms = vq_clock_unix_ms();
    int64_t mono_ms = vq_clock_mono_ns() / VQ_NS_PER_MS;
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc);
    char text[192];
    const char *fmt = line->json
                          ? "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\",\"mono_ms\":%lld,"
                            "\"level\":\"%s\",\"event\":\"%.64s\""
                          : "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ mono_ms=%lld level=%s event=%.64s";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* one of the two literals above */
    (void)snprintf(text, sizeof(text), fmt, utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                   utc.tm_hour, utc.tm_min, utc.tm_sec, (int)(unix_ms % 1000), (long long)mono_ms,
                   level_names[level], event);
#pragma GCC diagnostic pop
    puts_line(line, text);
}

/* Whether this event may write a line now. *ret_dropped: the lines that were dropped since its last
 * one. The caller holds the mutex. */
static bool admit(const char *event, uint64_t *ret_dropped)
{
    uint32_t hash = 2166136261u;
    for (const char *at = event; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    }
    struct repeats *slot = &logger.repeats[hash % EVENTS_TRACKED];
    int64_t second = vq_clock_mono_ns() / VQ_NS_PER_S;
    if (slot->event == NULL || strcmp(slot->event, event) != 0) {
        *slot = (struct repeats){
            /* an event that takes another event's slot loses the count, which is harmless */
            .event = event};
    }
    if (slot->second != second) {
        slot->second = second;
        slot->written = 0;
    }
    if (slot->written >= VQ_LOG_REPEATS_PER_SECOND) {
        slot->dropped++;
        return false;
    }
    slot->written++;
    *ret_dropped = slot->dropped;
    slot->dropped = 0;
    return true;
}

static void put_end(struct line *line, uint64_t dropped)
{
    /* At most 60 of the 64 reserved bytes. */
    char text[64];
    int n = snprintf(text, sizeof(text), "%s",
                     line->full ? line->json ? ",\"cut\":true" : " cut=true" : "");
    if (dropped > 0) {
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      line->json ? ",\"dropped\":%llu" : " dropped=%llu",
                      (unsigned long long)dropped);
    }
    n += snprintf(text + n, sizeof(text) - (size_t)n, line->json ? "}\n" : "\n");
    memcpy(line->at + line->bytes, text, (size_t)n);
    line->bytes += (size_t)n;
}

void vq_log(enum vq_log_level level, const char *event, const char *fields, ...)
{
    (void)pthread_mutex_lock(&logger.mutex);
    if (!logger.opened) {
        logger.opened = true;
        logger.json = isatty(logger.fd) != 1;
    }
    uint64_t dropped = 0;
    int fd = logger.fd;
    if (fd >= 0 && level <= logger.level && admit(event, &dropped)) {
        struct line line;
        line.bytes = 0;
        line.json = logger.json;
        line.full = false;
        va_list args;
        va_start(args, fields);
        put_head(&line, level, event);
        put_fields(&line, fields, &args);
        va_end(args);
        put_end(&line, dropped);
        ssize_t put_bytes;
        do {
            put_bytes = write(fd, line.at, line.bytes);
        } while (put_bytes < 0 &&
                 errno == EINTR); /* other failures are ignored: a log must not stop a run */
    }
    (void)pthread_mutex_unlock(&logger.mutex);
}
