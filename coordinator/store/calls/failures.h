/* Failure rows of a run: read, lifted, walked over. A lifted row settles nothing any more and
 * remembers which call failed. */
#pragma once

#include "common/judge/verdict.h"
#include "coordinator/store/calls/calls.h"

struct vq_failure_row {
    enum vq_outcome outcome; /* NONE: it was lifted; the request is open, or what its answers say */
    struct vq_id call;       /* zero: no call */
    int64_t unix_ms;         /* of the failure, or of its lifting */
};

/* Calls `row` for each failure row of the run, lifted ones too, ascending by request. A status
 * other than VQ_OK ends the walk and is returned. */
typedef enum vq_status (*vq_failure_row_fn)(void *ctx, const struct vq_hash *request,
                                            const struct vq_failure_row *row);
enum vq_status vq_failures_scan(struct vq_view *view, const struct vq_id *run,
                                vq_failure_row_fn row, void *ctx,
                                struct vq_error *err) VQ_WARN_UNUSED;

/* Lifts all failures of a run that does not run, for one of these reasons (vq_outcome_failure_bit),
 * in one transaction; commit_n rises if there were any, so that Redis is rebuilt. Again, it finds
 * none. *ret_count: how many. */
enum vq_status vq_failures_lift(struct vq_calls *calls, const struct vq_id *run, uint32_t failures,
                                int64_t unix_ms, size_t *ret_count,
                                struct vq_error *err) VQ_WARN_UNUSED;
