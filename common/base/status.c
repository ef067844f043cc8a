/* Names, texts and classes of statuses from status.def, and the two ways to report a failure: an
 * error message, or an abort for a bug of vibeq. Not its job: logging. */
#include "common/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
    enum vq_status_class class;
} statuses[VQ_STATUS__COUNT] = {
#define VQ_STATUS(name, class, text) [VQ_##name] = {#name, text, VQ_CLASS_##class},
#include "common/base/status.def"
#undef VQ_STATUS
};

const char *vq_status_name(enum vq_status status)
{
    return (unsigned)status < VQ_STATUS__COUNT ? statuses[status].name : "UNKNOWN";
}

const char *vq_status_text(enum vq_status status)
{
    return (unsigned)status < VQ_STATUS__COUNT ? statuses[status].text : "unknown status";
}

enum vq_status_class vq_status_class(enum vq_status status)
{
    return (unsigned)status < VQ_STATUS__COUNT ? statuses[status].class : VQ_CLASS_BUG;
}

enum vq_status vq_fail(struct vq_error *err, enum vq_status status, const char *fmt, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(err->text, sizeof(err->text), fmt, args);
        va_end(args);
    }
    return status;
}

void vq_error_prefix(struct vq_error *err, const char *fmt, ...)
{
    if (err == NULL) {
        return;
    }
    struct vq_error old = *err;
    va_list args;
    va_start(args, fmt);
    int used = vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    if (used < 0 || (size_t)used >= sizeof(err->text)) {
        return;
    }
    (void)snprintf(err->text + used, sizeof(err->text) - (size_t)used, ": %s", old.text);
}

_Noreturn void vq_assert_failed(const char *cond, const char *file, int line)
{
    fprintf(stderr, "vibeq: internal error: %s does not hold (%s:%d)\n", cond, file, line);
    fflush(stderr);
    abort();
}
