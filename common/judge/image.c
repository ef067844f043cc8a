/* Types of images, and their data: URIs. sodium encodes base64. Not its job: reading files (the
 * coordinator), and the form of a provider's request (the dialects). */
#include "common/judge/image.h"

#include <sodium.h>

static const char scheme[] = "data:";
static const char encoding[] = ";base64,";

const char *vq_image_type(struct vq_span bytes)
{
    if (vq_span_begins(bytes, "\x89PNG\r\n\x1a\n")) {
        return "image/png";
    }
    if (vq_span_begins(bytes, "\xff\xd8\xff")) {
        return "image/jpeg";
    }
    if (vq_span_begins(bytes, "GIF87a") || vq_span_begins(bytes, "GIF89a")) {
        return "image/gif";
    }
    bool webp =
        bytes.bytes >= 12 && vq_span_begins(bytes, "RIFF") && memcmp(bytes.at + 8, "WEBP", 4) == 0;
    return webp ? "image/webp" : NULL;
}

bool vq_image_is_url(struct vq_span image)
{
    return vq_span_begins(image, "https://") || vq_span_begins(image, "http://");
}

bool vq_image_split(struct vq_span image, struct vq_span *ret_type, struct vq_span *ret_base64)
{
    static const size_t front = sizeof(scheme) - 1, middle = sizeof(encoding) - 1;
    if (!vq_span_begins(image, "data:image/")) {
        return false;
    }
    const char *comma = memmem(image.at, image.bytes, encoding, middle);
    if (comma == NULL) {
        return false;
    }
    *ret_type = vq_span(image.at + front, (size_t)(comma - image.at) - front);
    size_t at = (size_t)(comma - image.at) + middle;
    *ret_base64 = vq_span(image.at + at, image.bytes - at);
    return ret_base64->bytes > 0;
}

enum vq_status vq_image_uri(struct vq_span bytes, struct vq_buf *out)
{
    const char *type = vq_image_type(bytes);
    if (type == NULL) {
        return VQ_INVALID;
    }
    if (bytes.bytes > VQ_IMAGE_BYTES_MAX) {
        return VQ_LIMIT;
    }
    vq_buf_printf(out, "%s%s%s", scheme, type, encoding);
    size_t room = sodium_base64_encoded_len(bytes.bytes, sodium_base64_VARIANT_ORIGINAL);
    char *at = vq_buf_reserve(out, room);
    if (at == NULL) {
        return out->status;
    }
    (void)sodium_bin2base64(at, room, (const unsigned char *)bytes.at, bytes.bytes,
                            sodium_base64_VARIANT_ORIGINAL);
    out->bytes += room - 1;
    return out->status;
}
