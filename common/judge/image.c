/* Types of images, and their data: URIs. sodium encodes base64. Not its job: reading files (the
 * coordinator), and the form of a provider's request (the dialects). */
#include "common/judge/image.h"

#include <sodium.h>

static const char scheme[] = "data:";
static const char encoding[] = ";base64,";

static bool begins(struct vq_span text, const char *with, size_t n)
{
    return text.bytes >= n && memcmp(text.at, with, n) == 0;
}

const char *vq_image_type(struct vq_span bytes)
{
    if (begins(bytes, "\x89PNG\r\n\x1a\n", 8)) {
        return "image/png";
    }
    if (begins(bytes, "\xff\xd8\xff", 3)) {
        return "image/jpeg";
    }
    if (begins(bytes, "GIF87a", 6) || begins(bytes, "GIF89a", 6)) {
        return "image/gif";
    }
    bool webp =
        bytes.bytes >= 12 && begins(bytes, "RIFF", 4) && memcmp(bytes.at + 8, "WEBP", 4) == 0;
    return webp ? "image/webp" : NULL;
}

bool vq_image_is_url(struct vq_span image)
{
    return begins(image, "https://", 8) || begins(image, "http://", 7);
}

bool vq_image_split(struct vq_span image, struct vq_span *ret_type, struct vq_span *ret_base64)
{
    static const size_t front = sizeof(scheme) - 1, middle = sizeof(encoding) - 1;
    if (!begins(image, "data:image/", front + 6)) {
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
