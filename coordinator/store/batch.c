/* Results that wait for one commit, copied into an arena whose blocks never move, so that spans
 * stay valid while it fills.
 * Invariant: a batch is filled by one thread and read by another, never both at once: the caller
 * hands it over. Its results are copies of its own, or all of them lent.
 * Not its job: checking what a result says. */
#include "coordinator/store/batch.h"

#include "common/base/alloc.h"

#define BLOCK_BYTES (1u << 20)

struct block {
    struct block *next;
    size_t bytes;
    size_t cap;
    char at[];
};

enum vq_status vq_batch_create(struct vq_batch **ret_batch)
{
    struct vq_batch *batch = vq_alloc(1, sizeof(*batch));
    if (batch == NULL) {
        return VQ_NOMEM;
    }
    *ret_batch = batch;
    return VQ_OK;
}

static void drop_blocks(struct vq_batch *batch)
{
    while (batch->blocks != NULL) {
        struct block *next = batch->blocks->next;
        vq_free(batch->blocks);
        batch->blocks = next;
    }
}

void vq_batch_destroy(struct vq_batch **batch)
{
    if (*batch == NULL) {
        return;
    }
    drop_blocks(*batch);
    vq_free((*batch)->own_results);
    vq_free((*batch)->own_workers);
    vq_free((*batch)->failures);
    vq_free((*batch)->reopened);
    vq_free(*batch);
    *batch = NULL;
}

void vq_batch_clear(struct vq_batch *batch)
{
    batch->results = batch->own_results;
    batch->workers = batch->own_workers;
    batch->results_count = 0;
    batch->failures_count = 0;
    batch->reopened_count = 0;
    batch->bytes = 0;
    /* One block is kept, the common case; the rest was a burst. */
    while (batch->blocks != NULL && batch->blocks->next != NULL) {
        struct block *next = batch->blocks->next;
        vq_free(batch->blocks);
        batch->blocks = next;
    }
    if (batch->blocks != NULL) {
        batch->blocks->bytes = 0;
    }
}

static char *arena_take(struct vq_batch *batch, size_t bytes)
{
    struct block *block = batch->blocks;
    if (block == NULL || block->cap - block->bytes < bytes) {
        size_t cap = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = vq_alloc(1, sizeof(*block) + cap);
        if (block == NULL) {
            return NULL;
        }
        block->cap = cap;
        block->next = batch->blocks;
        batch->blocks = block;
    }
    char *at = block->at + block->bytes;
    block->bytes += bytes;
    return at;
}

static size_t text_bytes(const struct vq_result *result)
{
    return result->pool.bytes + result->answer.bytes + result->finish_reason.bytes +
           result->model.bytes + result->fingerprint.bytes + result->error.bytes +
           result->label_logprobs.bytes;
}

/* Moves the texts of `result` into `to`, which has room for them. */
static void keep_texts(struct vq_result *result, char *to)
{
    struct vq_span *texts[] = {&result->pool,          &result->answer,      &result->finish_reason,
                               &result->model,         &result->fingerprint, &result->error,
                               &result->label_logprobs};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        if (texts[i]->bytes > 0) {
            memcpy(to, texts[i]->at, texts[i]->bytes);
        }
        texts[i]->at = to;
        to += texts[i]->bytes;
    }
}

enum vq_status vq_batch_add(struct vq_batch *batch, const struct vq_result *result,
                            struct vq_span worker)
{
    if (worker.bytes > VQ_WORKER_NAME_BYTES) {
        worker.bytes = VQ_WORKER_NAME_BYTES;
    }
    VQ_ASSERT(batch->results == batch->own_results); /* nothing is lent */
    size_t texts = text_bytes(result);
    size_t bytes = texts + worker.bytes;
    if (bytes > VQ_BATCH_BYTES_MAX - batch->bytes) {
        return VQ_LIMIT;
    }
    size_t n = batch->results_count;
    void *results = batch->own_results;
    VQ_TRY(vq_grow(&results, &batch->results_cap, n + 1, sizeof(*batch->own_results),
                   VQ_BATCH_RESULTS_MAX));
    batch->results = batch->own_results = results;
    void *workers = batch->own_workers;
    VQ_TRY(vq_grow(&workers, &batch->workers_cap, n + 1, sizeof(*batch->own_workers),
                   VQ_BATCH_RESULTS_MAX));
    batch->workers = batch->own_workers = workers;
    char *at = arena_take(batch, bytes);
    if (at == NULL) {
        return VQ_NOMEM;
    }
    struct vq_result *kept = &batch->own_results[n];
    *kept = *result;
    keep_texts(kept, at);
    if (worker.bytes > 0) {
        memcpy(at + texts, worker.at, worker.bytes);
    }
    batch->own_workers[n] = vq_span(at + texts, worker.bytes);
    batch->results_count++;
    batch->bytes += bytes;
    return VQ_OK;
}

enum vq_status vq_batch_lend(struct vq_batch *batch, const struct vq_result *results,
                             const struct vq_span *workers, size_t count)
{
    VQ_ASSERT(batch->results_count == 0);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += text_bytes(&results[i]);
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

size_t vq_batch_results(const struct vq_batch *batch)
{
    return batch->results_count;
}

size_t vq_batch_bytes(const struct vq_batch *batch)
{
    return batch->bytes;
}

const struct vq_result *vq_batch_at(const struct vq_batch *batch, size_t i)
{
    VQ_ASSERT(i < batch->results_count);
    return &batch->results[i];
}
