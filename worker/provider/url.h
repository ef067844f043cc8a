/* Private to this folder: makes the URL of a call from the configured one. */
#pragma once

#include "common/base/buf.h"

/* `base_url` without slashes at its end, then `path`, then the query of `base_url`. `url` is
 * cleared first. VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_url_join(const char *base_url, const char *path,
                           struct vq_buf *url) VQ_WARN_UNUSED;
/* Without query and fragment, and without slashes at the end. */
struct vq_span vq_url_base(const char *base_url);
