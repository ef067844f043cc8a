/* Calls that wait in batches at providers, and what is known of those batches. */
#pragma once

#include "coordinator/queue/batch.h"
#include "coordinator/store/calls/env.h"

/* The call waits from now on; `value` is scratch. VQ_NOMEM and what writing returns. */
enum vq_status vq_batched_put(struct vq_write *w, const struct vq_id *run,
                              const struct vq_result *draft, struct vq_buf *value,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* Its result came: it waits no more. One that did not wait is no error. */
enum vq_status vq_batched_drop(struct vq_write *w, const struct vq_id *run,
                               const struct vq_id *call, struct vq_error *err) VQ_WARN_UNUSED;
/* Replaces what was known of the batch. */
enum vq_status vq_batched_say(struct vq_write *w, const struct vq_id *run,
                              const struct vq_batch_said *said, struct vq_buf *value,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* Each call of the run that waits, by call id; of batch `name` alone, or NULL: of all. A status
 * other than VQ_OK ends the scan and is returned. Records are borrowed. */
typedef enum vq_status (*vq_batched_fn)(void *ctx, const struct vq_result *draft);
enum vq_status vq_batched_each(struct vq_view *view, const struct vq_id *run, const char *name,
                               vq_batched_fn each, void *ctx, struct vq_error *err) VQ_WARN_UNUSED;
/* Each batch of the run, also those that are over. */
typedef enum vq_status (*vq_batched_said_fn)(void *ctx, const struct vq_batch_said *said);
enum vq_status vq_batched_each_batch(struct vq_view *view, const struct vq_id *run,
                                     vq_batched_said_fn each, void *ctx,
                                     struct vq_error *err) VQ_WARN_UNUSED;
