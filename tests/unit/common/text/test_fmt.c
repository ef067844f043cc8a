/* Human units, bars, padding, and the small name finder. */
#include "tests/unit/test.h"

#include "common/text/fmt.h"
#include "common/text/intern.h"
#include "common/text/url.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

TEST(test_units)
{
    char t[VQ_FMT_BYTES];
    assert_string_equal(vq_fmt_count(0, t), "0");
    assert_string_equal(vq_fmt_count(999, t), "999");
    assert_string_equal(vq_fmt_count(1000, t), "1,000");
    assert_string_equal(vq_fmt_count(UINT64_MAX, t), "18,446,744,073,709,551,615");
    assert_string_equal(vq_fmt_bytes(17, t), "17 B");
    assert_string_equal(vq_fmt_bytes(1536, t), "1.5 KiB");
    assert_string_equal(vq_fmt_bytes(UINT64_MAX, t), "16.0 EiB");
    assert_string_equal(vq_fmt_duration(-5, t), "0 ms");
    assert_string_equal(vq_fmt_duration(85000000, t), "85 ms");
    assert_string_equal(vq_fmt_duration(4290000000, t), "4.2 s");
    assert_string_equal(vq_fmt_duration(INT64_C(185) * 1000000000, t), "3 min 05 s");
    assert_string_equal(vq_fmt_duration(INT64_C(7620) * 1000000000, t), "2 h 07 min");
    assert_string_equal(vq_fmt_duration(INT64_C(273600) * 1000000000, t), "3 d 04 h");
    assert_string_equal(vq_fmt_duration(INT64_MAX, t), "106751 d 23 h");
    assert_string_equal(vq_fmt_rate(0.25, t), "0.25/s");
    assert_string_equal(vq_fmt_rate(3.14, t), "3.1/s");
    assert_string_equal(vq_fmt_rate(1250.4, t), "1,250/s");
    assert_string_equal(vq_fmt_rate(NAN, t), "-/s");
    assert_string_equal(vq_fmt_rate(INFINITY, t), "-/s");
    assert_string_equal(vq_fmt_dollars(0, t), "$0.00");
    assert_string_equal(vq_fmt_dollars(0.0012, t), "$0.0012");
    assert_string_equal(vq_fmt_dollars(3.4, t), "$3.40");
    assert_string_equal(vq_fmt_dollars(1249.999, t), "$1,250.00");
    assert_string_equal(vq_fmt_dollars(NAN, t), "$-");
}

TEST(test_bar_and_padding)
{
    static const struct {
        double value;
        const char *bar;
    } bars[] = {{0, "----------"},    {1, "-----#####"}, {-1, "#####-----"}, {0.4, "-----##---"},
                {-0.6, "--###-----"}, {9, "-----#####"}, {NAN, "----------"}};
    struct vq_buf out;
    vq_buf_init(&out, 1000);
    for (size_t i = 0; i < VQ_COUNT(bars); i++) {
        vq_buf_clear(&out);
        vq_fmt_signed_bar(&out, bars[i].value, 10, true);
        assert_string_equal(out.at, bars[i].bar);
    }
    vq_buf_clear(&out);
    vq_fmt_pad(&out, vq_span_str("h\xc3\xa9"), 4);
    vq_fmt_pad(&out, vq_span_str("too long"), 6);
    vq_fmt_pad(&out, vq_span_str("abc"), 2);
    assert_string_equal(out.at, "h\xc3\xa9  too.....");
    vq_buf_free(&out);
}

/* Of a terminal's sequences nothing is left that it would act on. */
TEST(test_plain_text)
{
    struct vq_buf out;
    vq_buf_init(&out, 1000);
    vq_fmt_plain(&out, vq_span("a\x1b[31mb\0c\n\x7f\xc2\x9b\x9b\xc3\xa9", 16));
    assert_int_equal(out.bytes, 16 - 1 + 2); /* U+009B is one space, a lone byte U+FFFD */
    assert_string_equal(out.at, "a [31mb c   \xef\xbf\xbd\xc3\xa9");
    vq_buf_clear(&out);
    vq_fmt_plain(&out, vq_span(NULL, 0));
    assert_int_equal(out.bytes, 0);
    vq_fmt_pad(&out, vq_span_str("\x1b]0;x\a"), 8);
    assert_string_equal(out.at, " ]0;x   ");
    vq_buf_free(&out);
}

/* A control that turns the text around it is named: what is shown is what is stored. */
TEST(test_controls_of_direction)
{
    struct vq_buf out;
    vq_buf_init(&out, 1000);
    vq_fmt_plain(&out, vq_span_str("a\xe2\x80\xae"
                                   "b\xd8\x9c\xe2\x81\xa6\xe2\x80\x8f"));
    assert_string_equal(out.at, "a<U+202E>b<U+061C><U+2066><U+200F>");
    vq_buf_clear(&out);
    vq_fmt_pad(&out, vq_span_str("a\xe2\x80\xae"), 12);
    assert_string_equal(out.at, "a<U+202E>   ");
    vq_buf_clear(&out);
    vq_fmt_pad(&out,
               vq_span_str("abc\xe2\x80\xae"
                           "def"),
               10);
    assert_string_equal(out.at, "abc...    ");
    vq_buf_free(&out);
}

TEST(test_terminal_of_a_pipe_has_no_colour)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct vq_terminal t = {.is_tty = true, .color = true};
    vq_terminal_of(ends[1], &t);
    assert_false(t.is_tty || t.color);
    assert_int_equal(t.columns, 80);
    assert_string_equal(vq_color(&t, VQ_COLOR_RED), "");
    t.color = true;
    assert_string_equal(vq_color(&t, VQ_COLOR_RESET), "\033[0m");
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
}

TEST(test_nearest_name)
{
    const struct vq_span names[] = {vq_span_str("question"), vq_span_str("model_a"),
                                    vq_span_str("model_b"), vq_span_str("x"), vq_span_str("alpha")};
    static const struct {
        const char *name;
        uint32_t nearest;
    } cases[] = {{"qestion", 0},       {"Question", 0},       {"questions", 0},
                 {"quest", 0},         {"modelb", 2},         {"zebra", VQ_INTERN_NONE},
                 {"", VQ_INTERN_NONE}, {"y", VQ_INTERN_NONE}, {"alhpa", 4}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        assert_int_equal(vq_nearest_name(vq_span_str(cases[i].name), names, VQ_COUNT(names)),
                         cases[i].nearest);
    }
}

TEST(test_interned_names_are_dense)
{
    enum {
        N = 5000
    };
    static char texts[N][8];
    struct vq_intern intern;
    vq_intern_init(&intern);
    assert_int_equal(vq_intern_find(&intern, vq_span_str("0")), VQ_INTERN_NONE);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < N; i++) {
            size_t n = 0;
            for (uint32_t v = i; v > 0 || n == 0; v /= 10) {
                texts[i][n++] = (char)('0' + v % 10);
            }
            uint32_t id = 0;
            assert_int_equal(vq_intern_add(&intern, vq_span(texts[i], n), &id), VQ_OK);
            assert_int_equal(id, i);
        }
    }
    assert_int_equal(intern.count, N);
    assert_int_equal(vq_intern_find(&intern, vq_span_str("x")), VQ_INTERN_NONE);
    vq_intern_free(&intern);
}

TEST(test_url_parts)
{
    struct vq_url url;
    struct vq_error err;
    assert_int_equal(vq_url_parse("https://api.example.com/v1/x", &url, &err), VQ_OK);
    assert_true(url.https && !url.local && url.port == 443);
    assert_true(vq_span_eq(url.host, vq_span_str("api.example.com")));
    assert_true(vq_span_eq(url.path, vq_span_str("/v1/x")));
    assert_int_equal(vq_url_parse("http://[::1]:8080", &url, &err), VQ_OK);
    assert_true(!url.https && url.local && url.port == 8080);
    assert_true(vq_span_eq(url.host, vq_span_str("::1")));
    assert_int_equal(url.path.bytes, 0);
    assert_int_equal(vq_url_parse("http://h:12x", &url, &err), VQ_INVALID);
    assert_int_equal(vq_url_parse("http://[::1]x", &url, &err), VQ_INVALID);
    assert_int_equal(vq_url_parse("http:///v1", &url, &err), VQ_INVALID);
}

TEST(test_forms_after_a_number)
{
    assert_string_equal(vq_fmt_plural(1), "");
    assert_string_equal(vq_fmt_plural(0), "s");
    assert_string_equal(vq_fmt_plural(UINT64_MAX), "s");
    assert_string_equal(vq_fmt_form(1, " is", "s are"), " is");
    assert_string_equal(vq_fmt_form(2, " is", "s are"), "s are");
}
