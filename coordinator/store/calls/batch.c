/* What waits for one commit: results that are lent, failures and reopened tasks that are its own.
 * Invariant: a batch is filled by one thread and read by another, never both at once: the caller
 * hands it over.
 * Not its job: checking what a result says. */
#include "coordinator/store/calls/batch.h"

#include "common/base/alloc.h"
#include "proto/result.h"

enum vq_status vq_batch_create(struct vq_batch **ret_batch)
{
    struct vq_batch *batch = vq_alloc(1, sizeof(*batch));
    if (batch == NULL) {
        return VQ_NOMEM;
    }
    *ret_batch = batch;
    return VQ_OK;
}

void vq_batch_destroy(struct vq_batch **batch)
{
    if (*batch == NULL) {
        return;
    }
    vq_free((*batch)->failures);
    vq_free((*batch)->reopened);
    vq_free(*batch);
    *batch = NULL;
}

void vq_batch_clear(struct vq_batch *batch)
{
    batch->results = NULL;
    batch->workers = NULL;
    batch->results_count = 0;
    batch->failures_count = 0;
    batch->reopened_count = 0;
    batch->bytes = 0;
}

enum vq_status vq_batch_lend(struct vq_batch *batch, const struct vq_result *results,
                             const struct vq_span *workers, size_t count)
{
    VQ_ASSERT(batch->results_count == 0);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += vq_result_texts_bytes(&results[i]);
    }
    if (count > VQ_BATCH_RESULTS_MAX || bytes > VQ_BATCH_BYTES_MAX) {
        return VQ_LIMIT;
    }
    batch->results = results;
    batch->workers = workers;
    batch->results_count = count;
    batch->bytes = bytes;
    return VQ_OK;
}

enum vq_status vq_batch_fail(struct vq_batch *batch, uint64_t task, enum vq_outcome failure)
{
    VQ_ASSERT(vq_outcome_is_failed(failure));
    void *failures = batch->failures;
    VQ_TRY(vq_grow(&failures, &batch->failures_cap, batch->failures_count + 1,
                   sizeof(*batch->failures), VQ_BATCH_RESULTS_MAX));
    batch->failures = failures;
    batch->failures[batch->failures_count++] =
        (struct vq_batch_failure){.task = task, .outcome = (uint8_t)failure};
    return VQ_OK;
}

enum vq_status vq_batch_reopen(struct vq_batch *batch, uint64_t task)
{
    void *reopened = batch->reopened;
    VQ_TRY(vq_grow(&reopened, &batch->reopened_cap, batch->reopened_count + 1,
                   sizeof(*batch->reopened), VQ_BATCH_RESULTS_MAX));
    batch->reopened = reopened;
    batch->reopened[batch->reopened_count++] = task;
    return VQ_OK;
}
