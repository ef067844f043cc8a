/* An image as it goes through a run: one text, either the URL under which the judge's provider
 * fetches it, or a data: URI that holds it. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_IMAGE_BYTES_MAX     (5u << 20) /* of a file: no more do all providers take */
#define VQ_IMAGE_URI_BYTES_MAX (VQ_IMAGE_BYTES_MAX / 3 * 4 + 64)
#define VQ_IMAGE_URL_BYTES_MAX 2048u

/* "image/png", "image/jpeg", "image/gif", "image/webp", by the first bytes; NULL: none of these. */
const char *vq_image_type(struct vq_span bytes);

bool vq_image_is_url(struct vq_span image); /* http:// or https:// */
/* Of a data: URI its type and its base64; both point into it. False: it is none of an image in
 * base64. */
bool vq_image_split(struct vq_span image, struct vq_span *ret_type, struct vq_span *ret_base64);

/* Appends the data: URI of an image's bytes. VQ_INVALID: not an image of a known type; VQ_LIMIT,
 * VQ_NOMEM. */
enum vq_status vq_image_uri(struct vq_span bytes, struct vq_buf *out) VQ_WARN_UNUSED;
