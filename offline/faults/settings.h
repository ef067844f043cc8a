/* Settings in text, NAME=VALUE: a table of names, kinds and places in a struct reads each list. Not
 * its job: the effect of a setting. */
#pragma once

#include "common/base/status.h"

enum vq_setting_kind {
    VQ_SETTING_COUNT,   /* a whole number, to 64 bits */
    VQ_SETTING_NS,      /* whole milliseconds, at least one, to nanoseconds in 64 bits */
    VQ_SETTING_USD,     /* dollars to billionths in 64 bits */
    VQ_SETTING_PRICE,   /* dollars per million tokens to billionths per token in 64 bits */
    VQ_SETTING_REAL,    /* to a double */
    VQ_SETTING_FLAG,    /* on, true or 1; off, false or 0: to a bool */
    VQ_SETTING_TEXT,    /* of under `most` bytes, to a char array of `most` bytes */
    VQ_SETTING_LATENCY, /* to a struct vq_latency */
};

struct vq_setting {
    const char *name; /* NULL ends a table */
    enum vq_setting_kind kind;
    size_t offset;
    double most; /* of a number in text */
};

/* VQ_INVALID with a sentence: the name or the value is not valid. */
enum vq_status vq_setting_read(const struct vq_setting *table, void *to, const char *name,
                               const char *value, struct vq_error *err) VQ_WARN_UNUSED;
/* Reads "NAME=VALUE,NAME=VALUE.."; the text is changed (cut into pieces). */
enum vq_status vq_settings_read(const struct vq_setting *table, void *to, char *pairs,
                                struct vq_error *err) VQ_WARN_UNUSED;
