/* Private to this folder: the meaning of an error response, by error_rules.def. */
#pragma once

#include "worker/provider/provider.h"

enum vq_error_field {
    VQ_ERROR_CODE,
    VQ_ERROR_IN_CODE,
    VQ_ERROR_TYPE,
    VQ_ERROR_MESSAGE,
    VQ_ERROR_ANY
};

enum vq_error_wait {
    VQ_ERROR_WAIT_SAID, /* as the response asks, or with growing waits */
    VQ_ERROR_WAIT_TEN_MINUTES,
    VQ_ERROR_WAIT_DAY,   /* until 00:00 US Pacific, even if the response asks for another time */
    VQ_ERROR_WAIT_MONTH, /* until the first of the next month, UTC */
};

struct vq_error_rule {
    const char *dialects; /* names with spaces between, or "*" */
    int status_min;
    int status_max;
    enum vq_error_field field;
    const char *text;
    enum vq_reply_class class;
    enum vq_error_wait wait;
};

/* The table, in its order. */
const struct vq_error_rule *vq_error_rules(size_t *ret_count);

/* Whether `dialect` is one of the names in `dialects`, or `dialects` is "*". */
bool vq_error_names(const char *dialects, const char *dialect);

/* The first matching row; the last row matches everything. Strings may be empty, not NULL. */
const struct vq_error_rule *vq_error_decide(const char *dialect, int status, const char *code,
                                            const char *type, const char *message);
