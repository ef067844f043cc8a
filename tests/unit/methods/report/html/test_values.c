/* Values of a page's JSON: they cannot end their script, are cut where they are too long, and are
 * no larger than was said. */
#include "methods/report/html/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>

static void json_cannot_end_its_script(void **state)
{
    (void)state;
    struct vq_buf out;
    vq_buf_init(&out, 1000);
    const char *json = "[\"</script><!--&\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\x93\"]";
    vq_page_json(&out, vq_span_str(json));
    assert_string_equal(out.at,
                        "[\"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\\u2029\xe2\x80\x93\"]");
    json_t *same = json_loads(out.at, 0, NULL);
    json_t *before = json_loads(json, 0, NULL);
    assert_true(json_equal(same, before));
    json_decref(same);
    json_decref(before);
    vq_buf_free(&out);
}

static void json_size_is_never_more_than_said(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "plain", "<<<&&&>>>", "\"\\\n\x01", "\xe2\x80\xa8\xe2\x80\xa9", "\xff\xfe", "\x7f\x1f"};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        struct vq_buf text, out;
        vq_buf_init(&text, 1000);
        vq_buf_init(&out, 1000);
        struct vq_json j;
        vq_json_init(&j, &text, 0);
        vq_json_str(&j, texts[i]);
        vq_page_json(&out, vq_buf_span(&text));
        assert_true(out.bytes <= vq_page_json_bytes(vq_span_str(texts[i])));
        vq_buf_free(&text);
        vq_buf_free(&out);
    }
}

/* One value in an array; the caller's. */
static json_t *written(void (*put)(struct vq_json *j, struct vq_span text), const char *text)
{
    struct vq_buf out;
    struct vq_json j;
    vq_buf_init(&out, 1u << 20);
    vq_json_init(&j, &out, 0);
    vq_json_array(&j);
    put(&j, vq_span_str(text));
    vq_json_array_end(&j);
    json_t *value = json_loadb(out.at, out.bytes, 0, NULL);
    assert_non_null(value);
    vq_buf_free(&out);
    return value;
}

static void five_bytes(struct vq_json *j, struct vq_span text)
{
    vq_page_put_text(j, text, 5);
}

static void a_long_text_is_cut_at_a_letter_and_keeps_its_length(void **state)
{
    (void)state;
    json_t *value = written(five_bytes, "\xc3\xbc\xc3\xbc\xc3\xbc");
    json_t *cut = json_array_get(value, 0);
    assert_string_equal(json_string_value(json_array_get(cut, 0)), "\xc3\xbc\xc3\xbc");
    assert_int_equal(json_integer_value(json_array_get(cut, 1)), 6);
    json_decref(value);
    value = written(five_bytes, "short");
    assert_string_equal(json_string_value(json_array_get(value, 0)), "short");
    json_decref(value);
}

static void answer(struct vq_json *j, struct vq_span text)
{
    assert_true(vq_page_put_answer(j, text) >= 2);
}

static void an_answer_has_no_marks_of_markdown(void **state)
{
    (void)state;
    json_t *value = written(answer, "## Verdict\n**A** is <b>better</b>");
    assert_string_equal(json_string_value(json_array_get(value, 0)), "Verdict\nA is <b>better</b>");
    json_decref(value);
}

static void image(struct vq_json *j, struct vq_span text)
{
    vq_json_object(j);
    vq_page_put_image(j, text);
    vq_json_object_end(j);
}

static const char *shown_image(json_t *value)
{
    return json_string_value(json_object_get(json_array_get(value, 0), "image"));
}

static void an_image_is_shown_named_or_too_large(void **state)
{
    (void)state;
    json_t *value = written(image, "data:image/gif;base64,AAAA");
    assert_string_equal(shown_image(value), "data:image/gif;base64,AAAA");
    json_decref(value);
    value = written(image, "https://example.org/x.png");
    assert_string_equal(shown_image(value), "https://example.org/x.png");
    json_decref(value);
    static char large[VQ_PAGE_IMAGE_BYTES_MAX + 100] = "data:image/png;base64,";
    memset(large + strlen(large), 'A', sizeof(large) - strlen(large) - 1);
    value = written(image, large);
    assert_string_equal(shown_image(value), "The image is too large for this page.");
    json_decref(value);
    value = written(image, "");
    assert_null(shown_image(value));
    json_decref(value);
}

static void results(const void *report, struct vq_buf *out)
{
    vq_buf_puts(out, report);
}

static void calls_have_a_cost_only_with_prices(void **state)
{
    (void)state;
    struct vq_report_calls calls = {.planned = 7, .sent = 5, .cost_usd = 1.5};
    for (int priced = 0; priced < 2; priced++) {
        struct vq_page page;
        struct vq_json j;
        struct vq_buf out;
        calls.priced = priced == 1;
        vq_page_init(&page, &vq_page_vibecheck_js);
        vq_page_begin_json(&page, &j, results, "{\"format\": 1}\n", &calls);
        vq_json_object_end(&j);
        json_t *root = json_loadb(page.json.at, page.json.bytes, 0, NULL);
        json_t *of = json_object_get(root, "calls");
        assert_int_equal(
            json_integer_value(json_object_get(json_object_get(root, "results"), "format")), 1);
        assert_int_equal(json_integer_value(json_object_get(of, "sent")), 5);
        assert_true(json_is_null(json_object_get(of, "cost_usd")) == !calls.priced);
        json_decref(root);
        vq_buf_init(&out, VQ_PAGE_BYTES_MAX);
        vq_page_finish(&page, &out);
        vq_buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_cannot_end_its_script),
        cmocka_unit_test(json_size_is_never_more_than_said),
        cmocka_unit_test(a_long_text_is_cut_at_a_letter_and_keeps_its_length),
        cmocka_unit_test(an_answer_has_no_marks_of_markdown),
        cmocka_unit_test(an_image_is_shown_named_or_too_large),
        cmocka_unit_test(calls_have_a_cost_only_with_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
