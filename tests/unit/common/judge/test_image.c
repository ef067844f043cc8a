/* Types by the first bytes, data: URIs there and apart again. */

#include "tests/unit/test.h"

#include "common/judge/image.h"

TEST(test_types_by_the_first_bytes)
{
    static const struct {
        struct vq_span bytes;
        const char *type;
    } rows[] = {
        {{"\x89PNG\r\n\x1a\nrest", 12}, "image/png"},
        {{"\xff\xd8\xff\xe0", 4}, "image/jpeg"},
        {{"GIF89a", 6}, "image/gif"},
        {{"GIF87a", 6}, "image/gif"},
        {{"RIFF\1\2\3\4WEBPVP8 ", 16}, "image/webp"},
        {{"RIFF\1\2\3\4WAVEfmt ", 16}, NULL},
        {{"RIFF\1\2\3\4WEB", 11}, NULL},
        {{"GIF88a", 6}, NULL},
        {{"<svg/>", 6}, NULL},
        {{"", 0}, NULL},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        const char *type = vq_image_type(rows[i].bytes);
        if (rows[i].type == NULL) {
            assert_null(type);
        } else {
            assert_string_equal(type, rows[i].type);
        }
    }
}

TEST(test_a_uri_and_its_parts)
{
    struct vq_buf out;
    struct vq_span type, base64;
    vq_buf_init(&out, VQ_IMAGE_URI_BYTES_MAX);
    assert_int_equal(vq_image_uri(vq_span("\x89PNG\r\n\x1a\n\0\1", 10), &out), VQ_OK);
    assert_string_equal(out.at, "data:image/png;base64,iVBORw0KGgoAAQ==");
    assert_true(vq_image_split(vq_buf_span(&out), &type, &base64));
    assert_true(vq_span_eq(type, vq_span_str("image/png")));
    assert_true(vq_span_eq(base64, vq_span_str("iVBORw0KGgoAAQ==")));
    assert_int_equal(vq_image_uri(vq_span_str("text"), &out), VQ_INVALID);
    vq_buf_free(&out);
    static const char *const none[] = {"", "data:text/plain;base64,aaaa", "data:image/png,aaaa",
                                       "data:image/png;base64,", "https://x/y.png"};
    for (size_t i = 0; i < VQ_COUNT(none); i++) {
        assert_false(vq_image_split(vq_span_str(none[i]), &type, &base64));
    }
    assert_true(vq_image_is_url(vq_span_str("https://x/y.png")));
    assert_true(vq_image_is_url(vq_span_str("http://x/y.png")));
    assert_false(vq_image_is_url(vq_span_str("httpx")));
    assert_false(vq_image_is_url(vq_span_str("pics/http://x")));
}
