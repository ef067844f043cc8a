/* A chat response of any bytes in the dialect openai; the first one chooses the status. */
#include "tests/fuzz/reply_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && size <= VQ_RESPONSE_BODY_BYTES_MAX) {
        check_response("openai", data[0], vq_span((const char *)data + 1, size - 1));
    }
    return 0;
}
