/* A chat response of any bytes in the other dialects: the first byte's low three bits choose the
 * status, the others the dialect. */
#include "tests/fuzz/reply_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const dialects[] = {"anthropic", "gemini", "azure"};
    if (size > 0 && size <= VQ_RESPONSE_BODY_BYTES_MAX) {
        check_response(dialects[(data[0] >> 3) % 3], data[0],
                       vq_span((const char *)data + 1, size - 1));
    }
    return 0;
}
