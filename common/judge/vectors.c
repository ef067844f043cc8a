/* Packed vectors. The bytes are the same on every machine: numbers are encoded and decoded by
 * shifts. A decoder first checks the whole text: its length must match the header exactly, so the
 * only allocation is bounded by the answer. Not its job: requests for embeddings, distances. */
#include "common/judge/vectors.h"

#include "common/base/alloc.h"
#include "common/judge/verdict.h"

#include <math.h>

#define MAGIC       "vqf32\n"
#define MAGIC_BYTES (sizeof(MAGIC) - 1)
#define FLOAT_BYTES 4u

_Static_assert(sizeof(float) == FLOAT_BYTES, "floats are IEEE 754 binary32");
_Static_assert(MAGIC_BYTES + 2 * 4 == VQ_VECTORS_HEADER_BYTES, "the header as documented");
_Static_assert((uint64_t)VQ_EMBED_BATCH_MAX *VQ_VECTORS_DIMS_MAX *FLOAT_BYTES +
                       VQ_VECTORS_HEADER_BYTES <=
                   VQ_ANSWER_BYTES_MAX,
               "a full batch is an answer");

static void put_u32(char *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (char)(unsigned char)(value >> (8 * i));
    }
}

static uint32_t get_u32(const char *at)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++) {
        value |= (uint32_t)(unsigned char)at[i] << (8 * i);
    }
    return value;
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return false;
        }
    }
    return true;
}

enum vq_status vq_vectors_encode(const float *values, uint32_t count, uint32_t dims,
                                 struct vq_buf *buf)
{
    if (count > VQ_EMBED_BATCH_MAX || dims > VQ_VECTORS_DIMS_MAX) {
        return VQ_LIMIT;
    }
    size_t numbers = (size_t)count * dims;
    if (numbers == 0 || !all_finite(values, numbers)) {
        return VQ_INVALID;
    }
    size_t bytes = VQ_VECTORS_HEADER_BYTES + numbers * FLOAT_BYTES;
    char *at = vq_buf_reserve(buf, bytes);
    if (at == NULL) {
        return buf->status;
    }
    memcpy(at, MAGIC, MAGIC_BYTES);
    put_u32(at + MAGIC_BYTES, count);
    put_u32(at + MAGIC_BYTES + 4, dims);
    at += VQ_VECTORS_HEADER_BYTES;
    for (size_t i = 0; i < numbers; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        put_u32(at + i * FLOAT_BYTES, bits);
    }
    buf->bytes += bytes;
    buf->at[buf->bytes] = '\0';
    return VQ_OK;
}

bool vq_vectors_packed(struct vq_span answer)
{
    if (answer.bytes < VQ_VECTORS_HEADER_BYTES || answer.bytes > VQ_ANSWER_BYTES_MAX ||
        memcmp(answer.at, MAGIC, MAGIC_BYTES) != 0) {
        return false;
    }
    uint32_t count = get_u32(answer.at + MAGIC_BYTES);
    uint32_t dims = get_u32(answer.at + MAGIC_BYTES + 4);
    if (count == 0 || count > VQ_EMBED_BATCH_MAX || dims == 0 || dims > VQ_VECTORS_DIMS_MAX) {
        return false;
    }
    size_t numbers = (size_t)count * dims;
    if (answer.bytes != VQ_VECTORS_HEADER_BYTES + numbers * FLOAT_BYTES) {
        return false;
    }
    for (size_t i = 0; i < numbers; i++) {
        uint32_t bits = get_u32(answer.at + VQ_VECTORS_HEADER_BYTES + i * FLOAT_BYTES);
        float value;
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value)) {
            return false;
        }
    }
    return true;
}

enum vq_status vq_vectors_decode(struct vq_span answer, float **ret_values, uint32_t *ret_count,
                                 uint32_t *ret_dims)
{
    if (!vq_vectors_packed(answer)) {
        return VQ_INVALID;
    }
    uint32_t count = get_u32(answer.at + MAGIC_BYTES);
    uint32_t dims = get_u32(answer.at + MAGIC_BYTES + 4);
    size_t numbers = (size_t)count * dims;
    float *values;
    VQ_TRY(VQ_ALLOC(values, numbers));
    for (size_t i = 0; i < numbers; i++) {
        uint32_t bits = get_u32(answer.at + VQ_VECTORS_HEADER_BYTES + i * FLOAT_BYTES);
        memcpy(&values[i], &bits, sizeof(bits));
    }
    *ret_values = values;
    *ret_count = count;
    *ret_dims = dims;
    return VQ_OK;
}
