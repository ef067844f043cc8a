/* Hints: the table is that of docs/use/hints.md, each row is met by what it describes, and errors
 * as servers write them lead to the key that helps. */
#include "tests/unit/test.h"

#include "proto/hint.h"

#include "common/text/file.h"
#include "tests/unit/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* When the row matches: "the status is 402 and the error contains `x`". */
static void describe_condition(struct vq_buf *out, const struct vq_hint *h)
{
    const char *joint = "";
    if (h->end >= 0) {
        vq_buf_printf(out, "the call ended as `%s`", vq_call_end_word((enum vq_call_end)h->end));
        joint = " and ";
    }
    if (h->status_max < 999) {
        vq_buf_printf(out, "%sthe status is %u", joint, h->status_min);
        if (h->status_max != h->status_min) {
            vq_buf_printf(out, " to %u", h->status_max);
        }
        joint = " and ";
    }
    if (h->text[0] != '\0') {
        vq_buf_printf(out, "%sthe error contains `%s`", joint, h->text);
    }
}

/* One item for each advice, with the conditions of the rows that give it. VQ_PRINT_HINTS=1 prints
 * the list for the page instead. */
TEST(the_page_has_the_same_rows)
{
    size_t count = 0;
    const struct vq_hint *hints = vq_hints(&count);
    struct vq_buf expected, page;
    struct vq_error err;
    vq_buf_init(&expected, 1u << 16);
    for (size_t i = 0; i < count;) {
        struct vq_buf item;
        vq_buf_init(&item, 1u << 12);
        const char *advice = hints[i].advice;
        vq_buf_puts(&item, "If ");
        for (size_t first = i; i < count && strcmp(hints[i].advice, advice) == 0; i++) {
            vq_buf_puts(&item, i == first ? "" : "; or ");
            describe_condition(&item, &hints[i]);
        }
        vq_buf_printf(&item, ": **%s.**", advice);
        assert_int_equal(item.status, VQ_OK);
        page_item(&expected, item.at);
        vq_buf_free(&item);
    }
    assert_int_equal(expected.status, VQ_OK);
    if (getenv("VQ_PRINT_HINTS") != NULL) {
        (void)fputs(expected.at, stdout);
        vq_buf_free(&expected);
        skip();
    }
    assert_int_equal(vq_file_read(VQ_SOURCE_DIR "/docs/use/hints.md", 1u << 20, &page, &err),
                     VQ_OK);
    const char *list = strstr(page.at, "\n- ");
    assert_non_null(list);
    assert_string_equal(list + 1, expected.at);
    vq_buf_free(&expected);
    vq_buf_free(&page);
}

TEST(each_row_is_met)
{
    size_t count = 0;
    const struct vq_hint *hints = vq_hints(&count);
    for (size_t i = 0; i < count; i++) {
        const struct vq_hint *h = &hints[i];
        char error[160];
        (void)snprintf(error, sizeof(error), "Sorry: %s!", h->text);
        uint32_t status = h->status_max < 999 ? h->status_max : 400;
        enum vq_call_end end = h->end < 0 ? VQ_END_CLOSED : (enum vq_call_end)h->end;
        const char *advice = vq_hint_of(end, status, vq_span_str(error));
        assert_non_null(advice);
        assert_string_equal(advice, h->advice);
    }
}

TEST(errors_lead_to_the_key_that_helps)
{
    static const struct {
        enum vq_call_end end;
        uint32_t status;
        const char *error, *key;
    } rows[] = {
        {VQ_END_CLOSED, 404, "Not Found (asked: https://x/v1/chat/completions/chat/completions)",
         "without `/chat/completions`"},
        {VQ_END_CLOSED, 404, "Not Found (asked: https://x/chat/completions)", "/v1"},
        {VQ_END_CLOSED, 404, "The model `gpt-9` does not exist", "`model`"},
        {VQ_END_CLOSED, 403, "<HTML><title>Attention</title>", "key is not the cause"},
        {VQ_END_CLOSED, 403, "Country, region, or territory not supported", "`base_url`"},
        {VQ_END_CLOSED, 429, "no more (insufficient_quota)", "credit"},
        {VQ_END_LOST, 0, "the first byte took longer than first_byte_timeout_ms",
         "`first_byte_timeout_ms`"},
        {VQ_END_TOO_LONG, 400, "too long", "`judging.truncate: true`"},
        {VQ_END_BAD_REQUEST, 400, "max_tokens is too large", "`max_tokens`"},
        {VQ_END_ANSWER, 200, "truncated", "`max_tokens`"},
        {VQ_END_BAD_RESPONSE, 200, "x", "`base_url`"},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        const char *advice = vq_hint_of(rows[i].end, rows[i].status, vq_span_str(rows[i].error));
        if (advice == NULL || strstr(advice, rows[i].key) == NULL) {
            fail_msg("%s: %s", rows[i].error, advice == NULL ? "nothing" : advice);
        }
    }
    assert_null(vq_hint_of(VQ_END_RATE, 429, vq_span_str("slow down")));
}
