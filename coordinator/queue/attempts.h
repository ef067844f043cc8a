/* Counts the sends of a task that gave no answer, and decides when they are enough. Pure. */
#pragma once

#include "common/base/buf.h"
#include "common/judge/verdict.h"
#include "proto/messages.h"

enum vq_attempt_class {
#define VQ_ATTEMPT(name, key, end, outcome) VQ_ATTEMPT_##name,
#include "coordinator/queue/attempts.def"
#undef VQ_ATTEMPT
    VQ_ATTEMPT__COUNT
};

struct vq_attempts { /* of one task; each count stops at 255 */
    uint8_t of[VQ_ATTEMPT__COUNT];
};

struct vq_attempt_caps { /* 0: no limit */
    uint32_t all;
    uint32_t of[VQ_ATTEMPT__COUNT];
};

const char *vq_attempt_name(enum vq_attempt_class attempt); /* "provider" */
/* Counts a call that ended this way. Answers, refusals for lack of capacity and ends that fail the
 * task at once change nothing. */
void vq_attempts_count(struct vq_attempts *attempts, enum vq_call_end end);
/* NONE: the task may be sent again. Otherwise how it fails: by the first class that has reached its
 * cap, or, at the cap of all classes together, by the class with the highest count. */
enum vq_outcome vq_attempts_over(const struct vq_attempts *attempts,
                                 const struct vq_attempt_caps *caps);
/* "provider 12, lost 3" */
void vq_attempts_text(const struct vq_attempts *attempts, struct vq_buf *out);
