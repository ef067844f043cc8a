/* UTF-8: every code point there and back, every kind of bad sequence, cuts. */
#include "tests/unit/test.h"

#include "common/text/utf8.h"

TEST(test_every_code_point_there_and_back)
{
    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        char bytes[VQ_UTF8_BYTES_MAX];
        size_t n = vq_utf8_put(point, bytes);
        struct vq_span text = vq_span(bytes, n);
        size_t pos = 0;
        uint32_t back = vq_utf8_next(text, &pos);
        if (back != (surrogate ? VQ_UTF8_REPLACEMENT : point) || pos != n ||
            vq_utf8_valid_bytes(text) != n || vq_utf8_count(text) != 1) {
            fail_msg("U+%04X", point);
        }
    }
    char bytes[VQ_UTF8_BYTES_MAX];
    assert_int_equal(vq_utf8_put(0x110000, bytes), 3);
    assert_memory_equal(bytes, "\xef\xbf\xbd", 3);
}

TEST(test_bad_sequences)
{
    static const struct {
        const char *text;
        size_t valid; /* bytes before the first bad one */
        size_t points;
    } cases[] = {
        {"abcdefghijk\xff", 11, 12},              /* behind the eight-byte step */
        {"\x80", 0, 1},                           /* a continuation alone */
        {"\xc0\xaf", 0, 2},                       /* overlong */
        {"\xe0\x80\xaf", 0, 3},                   /* overlong */
        {"\xf0\x80\x80\xaf", 0, 4},               /* overlong */
        {"\xed\xa0\x80", 0, 3},                   /* a surrogate */
        {"\xf4\x90\x80\x80", 0, 4},               /* above U+10FFFF */
        {"\xf5\x80\x80\x80", 0, 4},               /* no such lead */
        {"a\xe2\x82", 1, 2},                      /* cut at the end */
        {"a\xe2\x82z", 1, 3},                     /* cut in the middle: the rest is read on */
        {"1234567\xc3\xa9 12345678\xe2", 18, 18}, /* across eight bytes, and after them */
        {"\xc3\xa9\xe2\x28\xa1", 2, 4},           /* good, then bad, '(', bad */
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_span text = vq_span_str(cases[i].text);
        assert_int_equal(vq_utf8_valid_bytes(text), cases[i].valid);
        assert_int_equal(vq_utf8_count(text), cases[i].points);
    }
    assert_int_equal(vq_utf8_valid_bytes(vq_span("", 0)), 0);
    assert_int_equal(vq_utf8_valid_bytes(vq_span("a\0b", 3)), 3);
}

TEST(test_cuts_fall_between_code_points)
{
    struct vq_span text = vq_span_str("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"); /* 1 2 3 4 1 */
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t most = 0; most < VQ_COUNT(expected); most++) {
        assert_int_equal(vq_utf8_cut(text, most).bytes, expected[most]);
    }
}
