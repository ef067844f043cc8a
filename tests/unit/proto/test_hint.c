/* Hints: the table is that of docs/use/hints.md, each row is met by what it describes, and errors as servers write them lead to the key that helps. */
#include "proto/hint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_page_has_the_same_rows(void **state)
{
    (void)state;
    size_t count = 0, n = 0;
    const struct vq_hint *hints = vq_hints(&count);
    FILE *file = fopen(VQ_SOURCE_DIR "/docs/use/hints.md", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, file) > 0) {
        if (line[0] != '|' || strncmp(line, "| ---", 5) == 0 || strncmp(line, "| call |", 8) == 0) {
            continue;
        }
        assert_true(n < count);
        const struct vq_hint *h = &hints[n++];
        char status[32] = "any", expected[512], text[128] = "";
        if (h->status_max < 999) {
            (void)snprintf(status, sizeof(status), h->status_min == h->status_max ? "%u" : "%u-%u",
                           h->status_min, h->status_max);
        }
        if (h->text[0] != '\0') {
            (void)snprintf(text, sizeof(text), "`%s`", h->text);
        }
        (void)snprintf(expected, sizeof(expected), "| %s | %s | %s | %s. |\n",
                       h->end < 0 ? "any" : vq_call_end_word((enum vq_call_end)h->end), status,
                       text, h->advice);
        assert_string_equal(line, expected);
    }
    free(line);
    (void)fclose(file);
    assert_int_equal(n, count);
}

static void each_row_is_met(void **state)
{
    (void)state;
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

static void errors_lead_to_the_key_that_helps(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_has_the_same_rows),
        cmocka_unit_test(each_row_is_met),
        cmocka_unit_test(errors_lead_to_the_key_that_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
