/* The program's log: one line per event, with key=value fields. Only shells and mains call it;
 * libraries return a status and a message instead. */
#pragma once

#include "common/base/status.h"

#define VQ_LOG_LINE_BYTES_MAX     8192 /* longer lines are cut and marked */
#define VQ_LOG_VALUE_BYTES_MAX    2048
#define VQ_LOG_REPEATS_PER_SECOND 10 /* lines of one event; further lines are only counted */

enum vq_log_level {
    VQ_LOG_ERROR,
    VQ_LOG_WARN,
    VQ_LOG_INFO,
    VQ_LOG_DEBUG,
};

enum vq_log_format {
    VQ_LOG_AUTO, /* logfmt on a terminal, JSON lines otherwise */
    VQ_LOG_LOGFMT,
    VQ_LOG_JSON,
};

/* Sets the destination of the log: `fd` is borrowed and must outlive the logging; -1: no output.
 * The default is standard error, level info, format auto. */
void vq_log_to(int fd, enum vq_log_level level, enum vq_log_format format);

/* `event` is a constant such as "lease.granted". `fields` is printf-like and checked by the
 * compiler, but read as space-separated KEY=CONVERSION: "shard=%u worker=%s share=%.2f text=%.*s".
 * Each value is quoted and escaped by its type, so a value with spaces, quotes or newlines stays
 * one value. Conversions: d i u x (with l, ll, z, j), s, .*s, f g, c; one per key. A value without
 * a conversion is written as it is. There is no conversion for a secret. A line has the wall time,
 * the monotonic time, the level and the event. Thread-safe. */
void vq_log(enum vq_log_level level, const char *event, const char *fields, ...) VQ_PRINTF(3, 4);
