/* Marks of Markdown go, words stay. */
#include "methods/report/html/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void marks_go_and_words_stay(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"**Model: A**", "Model: A"},
        {"**Bold *and* more**, then `code` and __this__", "Bold and more, then code and this"},
        {"## Verdict\nA is *warmer*.\n", "Verdict\nA is warmer.\n"},
        {"#no heading\n####### seven", "#no heading\n####### seven"},
        {"2 * 3 * 4, a_b_c, 5 ** 2", "2 * 3 * 4, a_b_c, 5 ** 2"},
        {"an open **mark", "an open **mark"},
        {"```\ncode * x\n```\nafter", "code * x\nafter"},
        {"- a list\n* another", "- a list\n* another"},
        {"**<script>alert(1)</script>**", "<script>alert(1)</script>"},
        {"****", "****"},
        {"*", "*"},
        {"`", "`"},
    };
    for (size_t i = 0; i < VQ_COUNT(pairs); i++) {
        struct vq_buf out;
        vq_buf_init(&out, 1024);
        vq_plain_of_markdown(vq_span_str(pairs[i][0]), &out);
        assert_string_equal(out.at == NULL ? "" : out.at, pairs[i][1]);
        vq_buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(marks_go_and_words_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
