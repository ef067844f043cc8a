/* Gemini's files, the inputs and outputs of its batches. */
#pragma once

#include "offline/batch/http.h"

/* Calls of /upload/v1beta/files and /v1beta/files. */
enum vq_status vq_offline_batch_gemini_files(struct vq_offline_batch_http *http,
                                             struct vq_offline_reply *reply) VQ_WARN_UNUSED;
