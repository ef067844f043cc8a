/* Private to the store: the inside of a batch. The public functions are in commit.h. */
#ifndef VQ_COORDINATOR_STORE_CALLS_BATCH_H
#define VQ_COORDINATOR_STORE_CALLS_BATCH_H

#include "coordinator/store/calls/commit.h"

struct vq_batch_failure {
    uint64_t task;
    uint8_t outcome;
};

struct vq_batch {
    uint64_t *reopened; /* tasks */
    size_t reopened_count, reopened_cap;
    const struct vq_result *results; /* lent */
    const struct vq_span *workers;   /* by result */
    size_t results_count;
    struct vq_batch_failure *failures;
    size_t failures_count, failures_cap;
    size_t bytes; /* of texts */
};

#endif
