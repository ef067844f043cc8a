/* Private to this folder: what chat and batches of the Gemini dialect share. */
#pragma once

#include "common/base/buf.h"

/* BASE/models/MODEL and the method (":generateContent"). A model with a slash is taken as it is:
 * "tunedModels/mine". `url` is cleared first. VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_gemini_url(const char *model, const char *base_url, const char *method,
                             struct vq_buf *url) VQ_WARN_UNUSED;
