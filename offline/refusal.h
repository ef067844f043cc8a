/* Replies that refuse: the errors that were asked for, and those of the rate limit, with their
 * headers. */
#pragma once

#include "offline/faults/limiter.h"
#include "offline/reply.h"

/* The error of a rule whose fault is of stage ERROR. `unix_ms` is for Retry-After as a date. */
void vq_refusal_of_rule(struct vq_offline_reply *reply, const struct vq_fault_rule *rule,
                        int64_t since_start_ms, int64_t unix_ms);

/* The error of an admission that was refused, instead of what the reply was. `organisation` is
 * whose limit it is. */
void vq_refusal_of_limit(struct vq_offline_reply *reply, const struct vq_limits *limits,
                         const struct vq_admission *admission, const char *model,
                         const char *organisation);

/* What is left, on admitted and refused calls alike: limits are those a minute, the rest is what
 * the window has room for. */
void vq_refusal_add_limits(struct vq_offline_reply *reply, const struct vq_limits *limits,
                           const struct vq_admission *admission);
