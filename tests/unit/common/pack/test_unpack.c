/* gzip and zstd, whole, cut, damaged and larger than the limit; formats that are named. */
#include "tests/unit/test.h"

#include "common/pack/unpack.h"

#include "common/base/alloc.h"

#include <zlib.h>
#include <zstd.h>

#define TEXT_BYTES 700000u /* several pieces */

static char text[TEXT_BYTES];
static char packed[TEXT_BYTES + 4096];

static size_t gzip(size_t n, size_t at)
{
    z_stream z = {.zalloc = NULL};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)text;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)packed + at;
    z.avail_out = (uInt)(sizeof(packed) - at);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t bytes = z.total_out;
    (void)deflateEnd(&z);
    return at + bytes;
}

static size_t zstd(size_t n, size_t at)
{
    size_t bytes = ZSTD_compress(packed + at, sizeof(packed) - at, text, n, 1);
    assert_false(ZSTD_isError(bytes));
    return at + bytes;
}

static enum vq_status unpack(size_t bytes, size_t bytes_max, struct vq_buf *work,
                             struct vq_error *err)
{
    struct vq_span got = {NULL, 0};
    vq_buf_init(work, bytes_max);
    enum vq_status status = vq_unpack(vq_span(packed, bytes), "d.gz", work, &got, err);
    assert_true(status != VQ_OK || got.at == work->at);
    return status;
}

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEXT_BYTES; i++) {
        text[i] = (char)('a' + (i * 2654435761u >> 13) % 26);
    }
    return 0;
}

TEST(test_both_forms)
{
    size_t (*const forms[])(size_t, size_t) = {gzip, zstd};
    for (size_t f = 0; f < VQ_COUNT(forms); f++) {
        static const size_t sizes[] = {0, 1, 256u << 10, TEXT_BYTES};
        struct vq_error err = {.text = ""};
        struct vq_buf work;
        for (size_t i = 0; i < VQ_COUNT(sizes); i++) {
            size_t n = forms[f](sizes[i], 0);
            assert_int_equal(unpack(n, TEXT_BYTES + 1, &work, &err), VQ_OK);
            assert_true(vq_span_eq(vq_buf_span(&work), vq_span(text, sizes[i])));
            vq_buf_free(&work);
        }
        size_t n = forms[f](3, 0);
        n = forms[f](2, n); /* a second member */
        assert_int_equal(unpack(n, 100, &work, &err), VQ_OK);
        assert_memory_equal(work.at, text, 3);
        assert_memory_equal(work.at + 3, text, 2);
        assert_int_equal(work.bytes, 5);
        vq_buf_free(&work);
        n = forms[f](TEXT_BYTES, 0);
        assert_int_equal(unpack(n, TEXT_BYTES / 2, &work, &err), VQ_LIMIT);
        assert_non_null(strstr(err.text, "d.gz unpacks to more than 350000 bytes"));
        vq_buf_free(&work);
        assert_int_equal(unpack(n - 9, TEXT_BYTES + 1, &work, &err), VQ_INVALID);
        assert_non_null(strstr(err.text, "cut off"));
        vq_buf_free(&work);
        memset(packed + n / 2, 0x55, 40);
        enum vq_status damaged = unpack(n, TEXT_BYTES + 1, &work, &err);
        assert_true(f == 1 || damaged != VQ_OK); /* zstd has no checksum here */
        vq_buf_free(&work);
    }
}

TEST(test_plain_text_is_handed_back)
{
    struct vq_buf work;
    struct vq_span got, text_in = vq_span_str("a,b\n1,2\n");
    struct vq_error err = {.text = ""};
    vq_buf_init(&work, 10);
    assert_int_equal(vq_unpack(text_in, "d.csv", &work, &got, &err), VQ_OK);
    assert_ptr_equal(got.at, text_in.at);
    assert_int_equal(vq_unpack(vq_span("", 0), "d.csv", &work, &got, &err), VQ_OK);
    assert_int_equal(got.bytes, 0);
    vq_buf_free(&work);
}

TEST(test_formats_that_are_named)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *says[2];
    } cases[] = {
        {"PAR1\x15\x04\x00", 7, {"d is a Parquet file", "read_parquet"}},
        {"ARROW1\0\0", 8, {"Arrow", "read_feather"}},
        {"PK\x03\x04", 4, {"zip archive", "save it as CSV"}},
        {"BZh91AY", 7, {"bzip2", "bunzip2"}},
        {"\xfd"
         "7zXZ\0",
         6,
         {"xz", "unxz"}},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_buf work;
        struct vq_span got;
        struct vq_error err = {.text = ""};
        vq_buf_init(&work, 10);
        assert_int_equal(vq_unpack(vq_span(cases[i].bytes, cases[i].n), "d", &work, &got, &err),
                         VQ_INVALID);
        for (size_t s = 0; s < 2; s++) {
            if (strstr(err.text, cases[i].says[s]) == NULL) {
                fail_msg("\"%s\" is not in: %s", cases[i].says[s], err.text);
            }
        }
        vq_buf_free(&work);
    }
}

TEST_GROUP(fill, NULL)
