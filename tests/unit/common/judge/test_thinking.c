/* Thinking blocks: where marks count, and hostile texts. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/thinking.h"

#include <stdio.h>
#include <string.h>

static void assert_plain(const char *answer, const char *plain)
{
    struct vq_buf buf;
    vq_buf_init(&buf, 4096);
    vq_thinking_strip(vq_span_str(answer), &buf);
    struct vq_span got = vq_span_trim(vq_buf_span(&buf));
    if (got.bytes != strlen(plain) || memcmp(got.bytes == 0 ? "" : got.at, plain, got.bytes) != 0) {
        fail_msg("`%s` without its thinking is `%.*s`, not `%s`", answer, (int)got.bytes, got.at,
                 plain);
    }
    assert_int_equal(vq_thinking_is_all(vq_span_str(answer)), plain[0] == '\0');
    vq_buf_free(&buf);
}

TEST(test_where_marks_stand)
{
    static const struct {
        const char *answer, *plain;
    } rows[] = {
        {"x\n<think>y</think>z", "x\n\nz"},
        {"x\r<think>y</think>z", "x\r\nz"},
        {"x <think>y</think> z", "x \n z"},
        {"<think>a `</think>` b</think>c", "c"},
        {"```\n<think>\n```\nx", "```\n<think>\n```\nx"},
        {"````\n```\n<think>\n````\nx", "````\n```\n<think>\n````\nx"},
        {"```\nx\n<think>y", ""},
        {"```<think>```\nx", "```<think>```\nx"},
        {"<think/>x", "<think/>x"},
        {"<thinker>x", "<thinker>x"},
        {"<think is a tag that x>y", "<think is a tag that x>y"},
        {"<think\n>x", "<think\n>x"},
        {"\xEF\xBB\xBF<think>x</think>y", "y"},
        {"a (</think>) b", "a (</think>) b"},
        {"a \xE2\x80\x9C</think>\xE2\x80\x9D b", "a \xE2\x80\x9C</think>\xE2\x80\x9D b"},
        {"it shows `x </think> y` here", "it shows `x </think> y` here"},
        {"a `b </think>\nc", "c"},
        {"a </think>, b", "a </think>, b"},
        {"a.</think> b", "b"},
        {"", ""},
        {"\n \t\n", ""},
        {"<think></think>", ""},
        {"x<think>y<cot>z</cot>", "x<think>y"},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        assert_plain(rows[i].answer, rows[i].plain);
    }
}

/* A quadratic reader does not end in the time that a test is given. */
TEST(test_hostile_texts_are_linear)
{
    static const char *const units[] = {
        "x<think></think>",
        "x<think>y<cot></cot>",
        "`</think>",
        " </think> a",
        "`</think>`",
        "[reason]\n",
        "<think",
        "<",
        "analysis",
        "a</think> b ",
        "```\n",
        "~~~~~\n````\n",
        "x<think>",
        "< think =",
        "\xE2\x97\x81",
        "&lt;",
        "<|channel|>analysis",
        "#",
        "{{",
        "\"</think>\"",
    };
    size_t bytes = (size_t)1 << 20;
    char *text = vq_alloc(bytes, 1);
    assert_non_null(text);
    for (size_t u = 0; u < VQ_COUNT(units); u++) {
        size_t n = strlen(units[u]);
        for (size_t i = 0; i < bytes; i++) {
            text[i] = units[u][i % n];
        }
        (void)vq_thinking_is_all(vq_span(text, bytes));
    }
    vq_free(text);
}

/* Every cut of a text is read within its bytes. */
TEST(test_every_prefix_is_read)
{
    static const char answer[] =
        "<think>x</think>`y`\n```\n</think>\n```\n<|channel|>analysis<|message|>z\xE2\x97\x81/think"
        "\xE2\x96\xB7 \xE2\x80\x9C</think>\xE2\x80\x9D &lt;think a=b&gt; <|end_of_thought|> v";
    for (size_t n = 0; n < sizeof(answer); n++) {
        char *copy = vq_strndup(answer, n); /* its own block: a read past the end is seen */
        assert_non_null(copy);
        (void)vq_thinking_is_all(vq_span(copy, n));
        vq_free(copy);
    }
}
