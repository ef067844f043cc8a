/* Input files of OpenAI's batches. */
#pragma once

#include "offline/batch/store.h"

#define VQ_BATCH_OPENAI_REQUESTS_MAX 50000u
#define VQ_BATCH_OPENAI_BYTES_MAX    (200u * 1000 * 1000)

/* Reads the lines of `file` into the batch, whose endpoint is known. An error in the file is set as
 * the batch's problem: the batch will fail in its validation. VQ_NOMEM, VQ_LIMIT (of the server's
 * memory). */
enum vq_status vq_offline_batch_openai_read(struct vq_span file,
                                            struct vq_offline_batch *batch) VQ_WARN_UNUSED;
