/* Failure rows of a run: reading, lifting, scanning. A lifted row settles nothing any more; it
 * still names the call that failed. */
#pragma once

#include "common/judge/verdict.h"
#include "coordinator/store/calls/calls.h"

struct vq_failure_row {
    enum vq_outcome outcome; /* NONE: it was lifted; the request is open, or its answers decide */
    struct vq_id call;       /* zero: no call */
    int64_t unix_ms;         /* of the failure, or of the lifting */
};

/* Calls `row` for each failure row of the run, lifted ones too, ascending by request. Another
 * status than VQ_OK ends the scan and is returned. */
typedef enum vq_status (*vq_failure_row_fn)(void *ctx, const struct vq_hash *request,
                                            const struct vq_failure_row *row);
enum vq_status vq_failures_scan(struct vq_view *view, const struct vq_id *run,
                                vq_failure_row_fn row, void *ctx,
                                struct vq_error *err) VQ_WARN_UNUSED;

/* Lifts all failures of an inactive run that have one of these reasons (vq_outcome_failure_bit), in
 * one transaction; commit_n rises if there were any, so that Redis is rebuilt. A second call finds
 * none. *ret_count: their number. */
enum vq_status vq_failures_lift(struct vq_calls *calls, const struct vq_id *run, uint32_t failures,
                                int64_t unix_ms, size_t *ret_count,
                                struct vq_error *err) VQ_WARN_UNUSED;
