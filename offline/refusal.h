/* Replies that refuse: requested errors, and errors of the rate limit, with their headers. */
#pragma once

#include "offline/faults/limiter.h"
#include "offline/reply.h"

/* The error of a rule whose fault is of stage ERROR. `unix_ms` is for Retry-After as a date. */
void vq_refusal_of_rule(struct vq_offline_reply *reply, const struct vq_fault_rule *rule,
                        int64_t since_start_ms, int64_t unix_ms);

/* The error of a refused admission; it replaces the reply. `organisation` names the owner of the
 * limit. */
void vq_refusal_of_limit(struct vq_offline_reply *reply, const struct vq_limits *limits,
                         const struct vq_admission *admission, const char *model,
                         const char *organisation);

/* Adds headers with the remaining amounts, to admitted and refused calls: the limits are per
 * minute, the remaining amounts are those of the window. */
void vq_refusal_add_limits(struct vq_offline_reply *reply, const struct vq_limits *limits,
                           const struct vq_admission *admission);
