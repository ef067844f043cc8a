/* The reader of packed vectors on any bytes. What must hold: what is read is bounded and finite,
 * and written again gives the same bytes. */
#include "common/base/alloc.h"
#include "common/judge/vectors.h"
#include "common/judge/verdict.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vq_span answer = vq_span((const char *)data, size);
    float *values;
    uint32_t count;
    uint32_t dims;
    if (vq_vectors_decode(answer, &values, &count, &dims) != VQ_OK) {
        return 0;
    }
    VQ_ASSERT(count >= 1 && count <= VQ_EMBED_BATCH_MAX && dims >= 1 &&
              dims <= VQ_VECTORS_DIMS_MAX);
    for (size_t i = 0; i < (size_t)count * dims; i++) {
        VQ_ASSERT(isfinite(values[i]));
    }
    struct vq_buf buf;
    vq_buf_init(&buf, VQ_ANSWER_BYTES_MAX);
    VQ_ASSERT(vq_vectors_encode(values, count, dims, &buf) == VQ_OK);
    VQ_ASSERT(vq_span_eq(vq_buf_span(&buf), answer));
    vq_buf_free(&buf);
    vq_free(values);
    return 0;
}
