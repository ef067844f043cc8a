/* An image in a run is one text: the URL from which the judge's provider fetches it, or a data: URI
 * that contains it. Pure. */
#pragma once

#include "common/base/buf.h"

/* of a file: the largest size that all providers accept */
#define VQ_IMAGE_BYTES_MAX     (5u << 20)
#define VQ_IMAGE_URI_BYTES_MAX (VQ_IMAGE_BYTES_MAX / 3 * 4 + 64)
#define VQ_IMAGE_URL_BYTES_MAX 2048u

/* "image/png", "image/jpeg", "image/gif", "image/webp", by the first bytes; NULL: none of these. */
const char *vq_image_type(struct vq_span bytes);

bool vq_image_is_url(struct vq_span image); /* http:// or https:// */
/* Splits a data: URI into its type and its base64 text; both point into it. False: not a data: URI
 * of an image in base64. */
bool vq_image_split(struct vq_span image, struct vq_span *ret_type, struct vq_span *ret_base64);

/* Appends the data: URI of an image's bytes. VQ_INVALID: not an image of a known type; VQ_LIMIT,
 * VQ_NOMEM. */
enum vq_status vq_image_uri(struct vq_span bytes, struct vq_buf *out) VQ_WARN_UNUSED;
