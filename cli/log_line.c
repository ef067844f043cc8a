/* JSON in, a sentence out. Invariant: the output has at most one line, and no bytes that a terminal
 * would interpret. Not its job: files (verbs/log.c). */
#include "cli/log_line.h"

#include "common/text/json.h"
#include "common/text/json_load.h"

#include <jansson.h>
#include <stdio.h>
#include <time.h>

#define DEPTH_MAX    4u
#define VALUES_MAX   256u
#define EVENT_COLUMN 18u

static const char *const level_names[] = {"error", "warn", "info", "debug"};

enum vq_status vq_log_level_of(const char *name, enum vq_log_level *ret_level)
{
    for (size_t i = 0; name != NULL && i < VQ_COUNT(level_names); i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *ret_level = (enum vq_log_level)i;
            return VQ_OK;
        }
    }
    return VQ_INVALID;
}

static struct vq_span text_of(const json_t *value)
{
    return vq_span(json_string_value(value), json_string_length(value));
}

/* "2026-11-27T20:53:01.123Z" as local time; any other text unchanged. */
static void put_time(const json_t *value, struct vq_buf *out)
{
    const char *text = json_string_value(value);
    struct tm utc = {.tm_isdst = 0};
    struct tm local;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
    time_t at = rest == NULL ? -1 : timegm(&utc);
    if (at == -1 || localtime_r(&at, &local) == NULL) {
        vq_fmt_plain(out, text_of(value));
        return;
    }
    char when[64];
    (void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
    vq_buf_puts(out, when);
    if (*rest == '.' && strlen(rest) >= 4) {
        vq_fmt_plain(out, vq_span(rest, 4));
    }
}

static void put_value(const json_t *value, struct vq_buf *out)
{
    switch (json_typeof(value)) {
    case JSON_STRING: vq_fmt_plain(out, text_of(value)); break;
    case JSON_INTEGER: vq_buf_printf(out, "%lld", (long long)json_integer_value(value)); break;
    case JSON_REAL: vq_buf_printf(out, "%.6g", json_real_value(value)); break;
    case JSON_TRUE: vq_buf_puts(out, "yes"); break;
    case JSON_FALSE: vq_buf_puts(out, "no"); break;
    case JSON_NULL: vq_buf_puts(out, "-"); break;
    case JSON_ARRAY:
    case JSON_OBJECT: vq_buf_puts(out, "..."); break; /* vq_log writes none */
    }
}

/* The fields with sentences come last and without their names. */
static bool is_sentence(const char *key)
{
    return strcmp(key, "text") == 0 || strcmp(key, "why") == 0 || strcmp(key, "note") == 0;
}

static bool is_head(const char *key)
{
    return strcmp(key, "time") == 0 || strcmp(key, "mono_ms") == 0 || strcmp(key, "level") == 0 ||
           strcmp(key, "event") == 0;
}

static void put_fields(json_t *record, bool sentences, struct vq_buf *out)
{
    const char *key;
    json_t *value;
    json_object_foreach(record, key, value)
    {
        if (is_head(key) || is_sentence(key) != sentences) {
            continue;
        }
        vq_buf_puts(out, sentences ? ": " : " ");
        if (!sentences) {
            vq_fmt_plain(out, vq_span_str(key));
            vq_buf_putc(out, '=');
        }
        put_value(value, out);
    }
}

static enum vq_color color_of(enum vq_log_level level)
{
    return level == VQ_LOG_ERROR  ? VQ_COLOR_RED
           : level == VQ_LOG_WARN ? VQ_COLOR_YELLOW
                                  : VQ_COLOR_DIM;
}

/* Events are ASCII: one byte is one column. */
static void put_event(struct vq_span event, struct vq_buf *out)
{
    vq_fmt_plain(out, event);
    for (size_t at = event.bytes; at < EVENT_COLUMN; at++) {
        vq_buf_putc(out, ' ');
    }
}

static void put_record(json_t *record, enum vq_log_level level, const struct vq_terminal *terminal,
                       struct vq_buf *out)
{
    put_time(json_object_get(record, "time"), out);
    vq_buf_printf(out, "  %s%-5s%s  ", vq_color(terminal, color_of(level)), level_names[level],
                  vq_color(terminal, VQ_COLOR_RESET));
    put_event(text_of(json_object_get(record, "event")), out);
    put_fields(record, false, out);
    put_fields(record, true, out);
    vq_buf_putc(out, '\n');
}

void vq_log_line_put(struct vq_span line, enum vq_log_level level,
                     const struct vq_terminal *terminal, struct vq_buf *out)
{
    json_t *record = NULL;
    enum vq_log_level its = VQ_LOG_ERROR;
    if (line.bytes == 0) {
        return;
    }
    bool parses = !vq_json_exceeds(line, DEPTH_MAX, VALUES_MAX) &&
                  vq_json_load(line, JSON_REJECT_DUPLICATES, &record, NULL) == VQ_OK;
    if (parses && json_is_string(json_object_get(record, "time")) &&
        json_is_string(json_object_get(record, "event")) &&
        vq_log_level_of(json_string_value(json_object_get(record, "level")), &its) == VQ_OK) {
        if (its <= level) {
            put_record(record, its, terminal, out);
        }
    } else {
        vq_fmt_plain(out, line);
        vq_buf_putc(out, '\n');
    }
    json_decref(record);
}
