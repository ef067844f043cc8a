/* Runs in which no call got an answer that counts. */
#pragma once

#include "coordinator/store/calls/calls.h"

enum vq_unanswered {
    VQ_UNANSWERED,     /* no call of the run got one */
    VQ_UNANSWERED_NOT, /* at least one did */
    /* none is known, but its workers may hold some: the run did not stop cleanly */
    VQ_UNANSWERED_NOT_CLEAN,
};

/* For a run that is not active. VQ_UNANSWERED: all its failures are lifted, and its state in Redis
 * becomes invalid (commit_n rises), so that it may be asked again in any form. Otherwise nothing
 * changes. A run that the store does not know has no answers. */
enum vq_status vq_unanswered_reset(struct vq_calls *calls, const struct vq_id *run, int64_t unix_ms,
                                   enum vq_unanswered *ret_found,
                                   struct vq_error *err) VQ_WARN_UNUSED;
