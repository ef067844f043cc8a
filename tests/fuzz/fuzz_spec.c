/* Any bytes as a spec (the body of SPEC) and as a result (a record of the spool): no crash, and
 * what is accepted can be encoded again. Corpus: vq-wire-corpus. */
#include "proto/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vq_decoder *decoder;
    if (decoder == NULL && vq_decoder_create(&decoder) != VQ_OK) {
        abort();
    }
    struct vq_span bytes = vq_span((const char *)data, size);
    struct vq_buf again;
    vq_buf_init(&again, 2 * VQ_FRAME_BYTES_MAX);
    struct vq_spec spec;
    struct vq_result result;
    if (vq_spec_decode(decoder, bytes, &spec, NULL) == VQ_OK &&
        vq_spec_encode(&spec, &again) != VQ_OK) {
        abort();
    }
    if (vq_result_decode(decoder, bytes, &result, NULL) == VQ_OK &&
        vq_result_encode(&result, &again) != VQ_OK) {
        abort();
    }
    vq_buf_free(&again);
    return 0;
}
