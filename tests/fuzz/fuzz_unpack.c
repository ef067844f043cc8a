/* Packed data: whatever is damaged is refused, and no text is longer than the limit. */
#include "common/pack/unpack.h"

#define BYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vq_buf work;
    struct vq_span text;
    struct vq_error err = {.text = ""};
    vq_buf_init(&work, BYTES_MAX);
    if (vq_unpack(vq_span((const char *)data, size), "f", &work, &text, &err) == VQ_OK) {
        VQ_ASSERT(text.at == (const char *)data || text.bytes <= BYTES_MAX);
    } else {
        VQ_ASSERT(err.text[0] != '\0');
    }
    vq_buf_free(&work);
    return 0;
}
