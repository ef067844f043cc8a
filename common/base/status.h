/* Status codes of every function that can fail, and the sentence that goes with a failure. */
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

/* What went wrong, where, and what to do, for a person. Embedded by the caller, empty at first. */
struct vq_error {
    char text[VQ_ERROR_BYTES_MAX];
};

/* Writes the sentence (cut at the limit) and returns `status`, so that a failure is one line. `err`
 * may be NULL. */
enum vq_status vq_fail(struct vq_error *err, enum vq_status status, const char *fmt, ...)
    VQ_PRINTF(3, 4);

/* Puts "PREFIX: " before the sentence; a helper for callers that know where. `err` may be NULL. */
void vq_error_prefix(struct vq_error *err, const char *fmt, ...) VQ_PRINTF(2, 3);

/* Our own bugs end the process, in release too. A peer's or a file's bytes must never reach one. */
#define VQ_ASSERT(cond) ((cond) ? (void)0 : vq_assert_failed(#cond, __FILE__, __LINE__))
_Noreturn void vq_assert_failed(const char *cond, const char *file, int line);

/* Returns from the enclosing function with the status when it is not VQ_OK. For functions with
 * nothing to clean up. */
#define VQ_TRY(call)                                                                               \
    do {                                                                                           \
        enum vq_status vq_try_status_ = (call);                                                    \
        if (vq_try_status_ != VQ_OK) {                                                             \
            return vq_try_status_;                                                                 \
        }                                                                                          \
    } while (0)
