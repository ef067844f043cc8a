/* The frame of a page: nothing of its texts can end an element or a script, and the policy allows
 * only what is ours. */
#include "common/base/alloc.h"
#include "methods/report/html/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#define HOSTILE "</script><script>alert(1)</script><img src=x onerror=alert(2)>"

static char *escaped(const char *text, size_t bytes)
{
    struct vq_buf out;
    vq_buf_init(&out, 1u << 16);
    vq_buf_puts(&out, "");
    vq_page_escape(&out, vq_span(text, bytes));
    assert_int_equal(out.status, VQ_OK);
    return out.at;
}

static void expect(const char *text, const char *html)
{
    char *got = escaped(text, strlen(text));
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
    expect("\xe2\x80\xae", "&lt;U+202E&gt;");
    expect("", "");
}

static void every_byte_is_harmless(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        char *got = escaped(&byte, 1);
        assert_non_null(got);
        assert_true(strpbrk(got, "<>\"'") == NULL);
        assert_true(strchr(got, '&') == NULL || strchr(got, ';') != NULL);
        vq_free(got);
    }
}

static size_t count_of(const char *page, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(page, what); at != NULL; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}

static void whole(const char *text, const struct vq_span *script, size_t bytes_max,
                  struct vq_buf *out)
{
    struct vq_page page;
    vq_page_init(&page, script);
    vq_buf_puts(&page.title, text);
    vq_buf_puts(&page.plain, text);
    vq_buf_printf(&page.json, "{\"a\":\"%s\"}", text);
    vq_buf_init(out, bytes_max);
    vq_page_finish(&page, out);
}

static void hostile_text_stays_text(void **state)
{
    (void)state;
    struct vq_buf out;
    whole(HOSTILE, &vq_page_vibecheck_js, VQ_PAGE_BYTES_MAX, &out);
    vq_buf_putc(&out, '\0');
    assert_int_equal(out.status, VQ_OK);
    assert_int_equal(count_of(out.at, "<script"), 2); /* the data and our own */
    assert_int_equal(count_of(out.at, "</script"), 2);
    assert_null(strstr(out.at, "<img"));
    vq_buf_free(&out);
}

static void the_policy_lets_nothing_in(void **state)
{
    (void)state;
    static const char *const never[] = {"unsafe-",   "https://",  " style=\"",
                                        "innerHTML", "\nimport ", "\nexport "};
    const struct vq_span *const scripts[] = {&vq_page_vibecheck_js, &vq_page_rubric_js,
                                             &vq_page_persona_js};
    for (size_t k = 0; k < VQ_COUNT(scripts); k++) {
        struct vq_buf out;
        whole("t", scripts[k], VQ_PAGE_BYTES_MAX, &out);
        vq_buf_putc(&out, '\0');
        assert_non_null(strstr(out.at, "content=\"default-src 'none'; style-src 'sha256-"));
        assert_non_null(strstr(out.at, "'; script-src 'sha256-"));
        for (size_t i = 0; i < VQ_COUNT(never); i++) {
            if (strstr(out.at, never[i]) != NULL) {
                fail_msg("the page has %s", never[i]);
            }
        }
        vq_buf_free(&out);
    }
}

static void running_out_of_room_is_said(void **state)
{
    (void)state;
    struct vq_buf out;
    whole("t", &vq_page_vibecheck_js, 5000, &out);
    assert_int_equal(out.status, VQ_LIMIT);
    vq_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_becomes_text),         cmocka_unit_test(every_byte_is_harmless),
        cmocka_unit_test(hostile_text_stays_text),     cmocka_unit_test(the_policy_lets_nothing_in),
        cmocka_unit_test(running_out_of_room_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
