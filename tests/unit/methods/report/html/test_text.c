/* The writer that all text of others goes through: nothing of it can end an element, an attribute
 * or a script. */
#include "common/base/alloc.h"
#include "methods/report/html/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

static char *escaped(const char *text, size_t bytes, size_t bytes_max)
{
    struct vq_buf out;
    vq_buf_init(&out, 1u << 16);
    struct vq_html h = {.out = &out};
    vq_buf_puts(&out, "");
    vq_html_span(&h, vq_span(text, bytes), bytes_max);
    assert_int_equal(out.status, VQ_OK);
    return out.at;
}

static void expect(const char *text, const char *html)
{
    char *got = escaped(text, strlen(text), 1000);
    assert_string_equal(got == NULL ? "" : got, html);
    vq_free(got);
}

static void markup_becomes_text(void **state)
{
    (void)state;
    expect("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
    expect("\" onload='x' & co", "&quot; onload=&#39;x&#39; &amp; co");
    expect("gr\xc3\xbc\xc3\x9f\n\tdich", "gr\xc3\xbc\xc3\x9f\n\tdich");
    expect("bell\x07 and \xc2\x85 and \x7f", "bell\xef\xbf\xbd and \xef\xbf\xbd and \xef\xbf\xbd");
    expect("\xff<\xc3", "\xef\xbf\xbd&lt;\xef\xbf\xbd");
    expect("", "");
}

static void every_byte_is_harmless(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        char *got = escaped(&byte, 1, 10);
        assert_non_null(got);
        assert_true(strpbrk(got, "<>\"'") == NULL);
        assert_true(strchr(got, '&') == NULL || strchr(got, ';') != NULL);
        vq_free(got);
    }
}

static void long_text_is_cut_at_a_letter_and_marked(void **state)
{
    (void)state;
    char *got = escaped("\xc3\xbc\xc3\xbc\xc3\xbc", 6, 5);
    assert_string_equal(got, "\xc3\xbc\xc3\xbc\xe2\x80\xa6");
    vq_free(got);
}

static void numbers_have_a_true_minus_and_no_minus_zero(void **state)
{
    (void)state;
    static const struct {
        double value;
        bool with_sign;
        const char *html;
    } cases[] = {{-0.456, true,
                  "\xe2\x88\x92"
                  "0.46"},
                 {0.456, true, "+0.46"},
                 {0.456, false, "0.46"},
                 {-0.001, true, "0.00"},
                 {0.0, true, "0.00"},
                 {NAN, true, "<span class=\"na\">n/a</span>"}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_buf out;
        vq_buf_init(&out, 1000);
        struct vq_html h = {.out = &out};
        if (cases[i].with_sign) {
            vq_html_signed(&h, cases[i].value, 2);
        } else {
            vq_html_number(&h, cases[i].value, 2);
        }
        assert_string_equal(out.at, cases[i].html);
        vq_buf_free(&out);
    }
}

static void a_bar_stays_in_its_track(void **state)
{
    (void)state;
    struct vq_buf out;
    vq_buf_init(&out, 1000);
    struct vq_html h = {.out = &out};
    vq_html_bar(&h, -5, (struct vq_interval){-9, 7}, 1, "coef");
    assert_non_null(strstr(out.at, "class=\"neg\" x=\"-60.00\" y=\"4\" width=\"60.00\""));
    assert_non_null(strstr(out.at, "M-60.00 9H60.00"));
    vq_buf_clear(&out);
    vq_html_bar(&h, NAN, (struct vq_interval){NAN, NAN}, 0, "coef");
    assert_null(strstr(out.at, "nan"));
    vq_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_becomes_text),
        cmocka_unit_test(every_byte_is_harmless),
        cmocka_unit_test(long_text_is_cut_at_a_letter_and_marked),
        cmocka_unit_test(numbers_have_a_true_minus_and_no_minus_zero),
        cmocka_unit_test(a_bar_stays_in_its_track),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
