/* The status codes of all functions that can fail, and the error message that describes a
 * failure. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VQ_WARN_UNUSED     __attribute__((warn_unused_result))
#define VQ_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))
#define VQ_UNUSED          __attribute__((unused))
#define VQ_COUNT(array)    (sizeof(array) / sizeof((array)[0]))

enum vq_status {
#define VQ_STATUS(name, class, text) VQ_##name,
#include "common/base/status.def"
#undef VQ_STATUS
    VQ_STATUS__COUNT
};

enum vq_status_class {
    VQ_CLASS_OK,
    VQ_CLASS_RETRY,
    VQ_CLASS_REFUSE,
    VQ_CLASS_FATAL,
    VQ_CLASS_BUG,
};

/* Name ("OK"), text ("ok") and class of a status; never NULL. */
const char *vq_status_name(enum vq_status status);
const char *vq_status_text(enum vq_status status);
enum vq_status_class vq_status_class(enum vq_status status);

#define VQ_ERROR_BYTES_MAX 1024

/* An error message for the user: what happened, where, and what to do. The caller owns it; it
 * starts empty. */
struct vq_error {
    char text[VQ_ERROR_BYTES_MAX];
};

/* Writes the message (cut at the limit) and returns `status`. `err` may be NULL. */
enum vq_status vq_fail(struct vq_error *err, enum vq_status status, const char *fmt, ...)
    VQ_PRINTF(3, 4);

/* Puts "PREFIX: " before the message, for callers that know the place of the error. `err` may be
 * NULL. */
void vq_error_prefix(struct vq_error *err, const char *fmt, ...) VQ_PRINTF(2, 3);

/* Ends the process at a bug of vibeq, in release builds too. Bytes of a peer or a file must never
 * make an assertion fail. */
#define VQ_ASSERT(cond) ((cond) ? (void)0 : vq_assert_failed(#cond, __FILE__, __LINE__))
_Noreturn void vq_assert_failed(const char *cond, const char *file, int line);

/* Returns from the enclosing function if the status is not VQ_OK. For functions without cleanup. */
#define VQ_TRY(call)                                                                               \
    do {                                                                                           \
        enum vq_status vq_try_status_ = (call);                                                    \
        if (vq_try_status_ != VQ_OK) {                                                             \
            return vq_try_status_;                                                                 \
        }                                                                                          \
    } while (0)
