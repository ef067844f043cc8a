/* Gemini's files, which its batches read and write. */
#ifndef VQ_OFFLINE_BATCH_GEMINI_H
#define VQ_OFFLINE_BATCH_GEMINI_H

#include "offline/batch/http.h"

/* Calls of /upload/v1beta/files and /v1beta/files. */
enum vq_status vq_offline_batch_gemini_files(struct vq_offline_batch_http *http,
                                             struct vq_offline_reply *reply) VQ_WARN_UNUSED;

#endif
