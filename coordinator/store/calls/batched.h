/* Calls that wait in batches at providers, and the records of those batches. */
#pragma once

#include "coordinator/queue/batch.h"
#include "coordinator/store/calls/env.h"

/* The call waits from now on; `value` is scratch. VQ_NOMEM and the statuses of writing. */
enum vq_status vq_batched_put(struct vq_write *w, const struct vq_id *run,
                              const struct vq_result *draft, struct vq_buf *value,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* The call's result came: it waits no more. A call that did not wait is no error. */
enum vq_status vq_batched_drop(struct vq_write *w, const struct vq_id *run,
                               const struct vq_id *call, struct vq_error *err) VQ_WARN_UNUSED;
/* Replaces the record of the batch. */
enum vq_status vq_batched_put_batch(struct vq_write *w, const struct vq_id *run,
                                    const struct vq_batch_report *said, struct vq_buf *value,
                                    struct vq_error *err) VQ_WARN_UNUSED;

/* Calls `each` for every waiting call of the run, by call id; `name`: of this batch only; NULL: of
 * all. Another status than VQ_OK ends the scan and is returned. Records are borrowed. */
typedef enum vq_status (*vq_batched_fn)(void *ctx, const struct vq_result *draft);
enum vq_status vq_batched_each(struct vq_view *view, const struct vq_id *run, const char *name,
                               vq_batched_fn each, void *ctx, struct vq_error *err) VQ_WARN_UNUSED;
/* Every batch of the run, also those that are over. */
typedef enum vq_status (*vq_batched_batch_fn)(void *ctx, const struct vq_batch_report *said);
enum vq_status vq_batched_each_batch(struct vq_view *view, const struct vq_id *run,
                                     vq_batched_batch_fn each, void *ctx,
                                     struct vq_error *err) VQ_WARN_UNUSED;
