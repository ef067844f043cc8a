/* The results of a batch in the form of its dialect, with the faults of their transfer. */
#pragma once

#include "common/text/json.h"
#include "offline/batch/store.h"

#define VQ_BATCH_RESULTS_BYTES_MAX (512u << 20)

/* The part of the results. */
enum vq_offline_batch_part {
    VQ_BATCH_PART_ALL,
    VQ_BATCH_PART_SUCCEEDED,
    VQ_BATCH_PART_OTHER,
};

/* As JSON lines, in the batch's order. A failure sticks in `out`. */
void vq_offline_batch_results_lines(const struct vq_offline_batches *batches,
                                    const struct vq_offline_batch *batch,
                                    enum vq_offline_batch_part part, struct vq_buf *out);
/* As the items of an open array. */
void vq_offline_batch_results_items(const struct vq_offline_batches *batches,
                                    const struct vq_offline_batch *batch, struct vq_json *json);
/* Makes the result files of the dialect, and names them in the batch. VQ_LIMIT: no room;
 * VQ_NOMEM. */
enum vq_status vq_offline_batch_results_files(struct vq_offline_batches *batches,
                                              struct vq_offline_batch *batch,
                                              int64_t now_ms) VQ_WARN_UNUSED;
