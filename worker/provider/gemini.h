/* Private to this folder: the common part of chat and batches in the Gemini dialect. */
#pragma once

#include "common/base/buf.h"

/* BASE/models/MODEL and the method (":generateContent"). A model with a slash, such as
 * "tunedModels/mine", is used as it is. `url` is cleared first. VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_gemini_url(const char *model, const char *base_url, const char *method,
                             struct vq_buf *url) VQ_WARN_UNUSED;
