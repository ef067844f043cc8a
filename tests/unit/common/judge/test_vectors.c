/* Packed vectors: the bytes as documented, there and back, and everything that is refused. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/vectors.h"
#include "common/judge/verdict.h"

#include <float.h>
#include <math.h>

static const float some[6] = {1.0F, -2.5F, 0.0F, FLT_MAX, FLT_MIN, -1e-40F};

static void encode(struct vq_buf *buf, const float *values, uint32_t count, uint32_t dims)
{
    vq_buf_init(buf, VQ_ANSWER_BYTES_MAX);
    assert_int_equal(vq_vectors_encode(values, count, dims, buf), VQ_OK);
}

static enum vq_status decode(const void *bytes, size_t n)
{
    float *values = NULL;
    uint32_t count = 77;
    uint32_t dims = 77;
    enum vq_status status = vq_vectors_decode(vq_span(bytes, n), &values, &count, &dims);
    assert_true(status == VQ_OK ? values != NULL : values == NULL && count == 77 && dims == 77);
    vq_free(values);
    return status;
}

TEST(test_bytes_are_the_documented_ones)
{
    static const char expected[] = "vqf32\n\x01\0\0\0\x02\0\0\0\0\0\x80\x3f\0\0\x20\xc0";
    struct vq_buf buf;
    encode(&buf, some, 1, 2);
    assert_int_equal(buf.bytes, sizeof(expected) - 1);
    assert_memory_equal(buf.at, expected, buf.bytes);
    vq_buf_free(&buf);
}

TEST(test_there_and_back)
{
    struct vq_buf buf;
    encode(&buf, some, 2, 3);
    float *values;
    uint32_t count;
    uint32_t dims;
    assert_int_equal(vq_vectors_decode(vq_buf_span(&buf), &values, &count, &dims), VQ_OK);
    assert_int_equal(count, 2);
    assert_int_equal(dims, 3);
    assert_memory_equal(values, some, sizeof(some));
    vq_free(values);
    vq_buf_free(&buf);
}

TEST(test_the_largest_batch_is_an_answer)
{
    size_t numbers = (size_t)VQ_EMBED_BATCH_MAX * VQ_VECTORS_DIMS_MAX;
    float *values = vq_alloc(numbers, sizeof(*values));
    assert_non_null(values);
    struct vq_buf buf;
    encode(&buf, values, VQ_EMBED_BATCH_MAX, VQ_VECTORS_DIMS_MAX);
    assert_int_equal(decode(buf.at, buf.bytes), VQ_OK);
    vq_buf_clear(&buf);
    assert_int_equal(vq_vectors_encode(values, VQ_EMBED_BATCH_MAX + 1, 1, &buf), VQ_LIMIT);
    assert_int_equal(vq_vectors_encode(values, 1, VQ_VECTORS_DIMS_MAX + 1, &buf), VQ_LIMIT);
    assert_int_equal(buf.bytes, 0);
    vq_buf_free(&buf);
    vq_free(values);
}

TEST(test_what_is_no_vector_is_not_written)
{
    struct vq_buf buf;
    vq_buf_init(&buf, 64);
    const float bad[][2] = {{1.0F, NAN}, {INFINITY, 0.0F}, {0.0F, -INFINITY}};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        assert_int_equal(vq_vectors_encode(bad[i], 1, 2, &buf), VQ_INVALID);
    }
    assert_int_equal(vq_vectors_encode(some, 0, 3, &buf), VQ_INVALID);
    assert_int_equal(vq_vectors_encode(some, 3, 0, &buf), VQ_INVALID);
    assert_int_equal(buf.bytes, 0);
    vq_buf_free(&buf);
    vq_buf_init(&buf, VQ_VECTORS_HEADER_BYTES + 4);
    assert_int_equal(vq_vectors_encode(some, 1, 2, &buf), VQ_LIMIT);
    assert_int_equal(buf.bytes, 0);
    vq_buf_free(&buf);
}

TEST(test_any_other_length_is_refused)
{
    struct vq_buf buf;
    encode(&buf, some, 2, 3);
    for (size_t n = 0; n < buf.bytes; n++) {
        assert_int_equal(decode(buf.at, n), VQ_INVALID);
    }
    vq_buf_putc(&buf, '\0');
    assert_int_equal(decode(buf.at, buf.bytes), VQ_INVALID);
    vq_buf_free(&buf);
    assert_int_equal(decode(NULL, 0), VQ_INVALID);
}

TEST(test_hostile_headers_are_refused)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
        {"vqf64\n\x01\0\0\0\x01\0\0\0\0\0\0\0", 18},       /* another magic */
        {"vqf32\n\0\0\0\0\x01\0\0\0", 14},                 /* no vector */
        {"vqf32\n\x01\0\0\0\0\0\0\0", 14},                 /* of no number */
        {"vqf32\n\x21\0\0\0\x01\0\0\0", 14},               /* 33 vectors */
        {"vqf32\n\xff\xff\xff\xff\xff\xff\xff\xff", 14},   /* a product that wraps */
        {"vqf32\n\0\0\0\x40\x04\0\0\0", 14},               /* another */
        {"vqf32\n\x01\0\0\0\x01\0\0\0\0\0\xc0\x7f", 18},   /* NaN */
        {"vqf32\n\x01\0\0\0\x01\0\0\0\0\0\x80\xff", 18},   /* -inf */
        {"vqf32\n\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0", 20}, /* more than it says */
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        assert_int_equal(decode(cases[i].bytes, cases[i].n), VQ_INVALID);
    }
    assert_int_equal(decode("vqf32\n\x01\0\0\0\x01\0\0\0\0\0\x80\x3f", 18), VQ_OK);
}

TEST(test_no_memory_is_said)
{
    struct vq_buf buf;
    encode(&buf, some, 2, 3);
    vq_alloc_fail_at(1);
    assert_int_equal(decode(buf.at, buf.bytes), VQ_NOMEM);
    vq_buf_free(&buf);
    vq_buf_init(&buf, 64);
    vq_alloc_fail_at(1);
    assert_int_equal(vq_vectors_encode(some, 2, 3, &buf), VQ_NOMEM);
    vq_alloc_fail_at(0);
    vq_buf_free(&buf);
}
