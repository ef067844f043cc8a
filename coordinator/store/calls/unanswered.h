/* Runs in which no call was answered with something that counts. */
#pragma once

#include "coordinator/store/calls/calls.h"

enum vq_unanswered {
    VQ_UNANSWERED,     /* no call of the run was answered so */
    VQ_UNANSWERED_NOT, /* one was, at least */
    /* none is known of, but its workers may hold some: it did not stop in order */
    VQ_UNANSWERED_NOT_CLEAN,
};

/* Of a run that does not run. VQ_UNANSWERED: all its failures are lifted, and what Redis holds of
 * it is not valid any more (commit_n rises), so that it may be asked again in any form. Otherwise
 * nothing is changed. A run that the store does not know has no answers. */
enum vq_status vq_unanswered_reset(struct vq_calls *calls, const struct vq_id *run, int64_t unix_ms,
                                   enum vq_unanswered *ret_found,
                                   struct vq_error *err) VQ_WARN_UNUSED;
