/* The words for how an answer ended: each row of endings.def, other spellings, and the table of
 * docs/use/providers.md. */

#include "tests/unit/test.h"

#include "common/judge/ending.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *word, *name, *who;
    enum vq_ending ending;
} rows[] = {
#define VQ_ENDING(word, ending, who) {word, #ending, who, VQ_ENDING_##ending},
#include "common/judge/endings.def"
#undef VQ_ENDING
};

TEST(test_every_word_and_its_spellings)
{
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        char upper[64] = " FinishReason.", plain[64] = "";
        size_t n = strlen(upper), m = 0;
        for (const char *c = rows[i].word; *c != '\0'; c++) {
            upper[n++] = *c >= 'a' && *c <= 'z' ? (char)(*c - 0x20) : *c;
            if (*c != '_') {
                plain[m++] = *c;
            }
        }
        assert_int_equal(vq_ending_of(vq_span_str(rows[i].word), false), rows[i].ending);
        assert_int_equal(vq_ending_of(vq_span_str(upper), false), rows[i].ending);
        assert_int_equal(vq_ending_of(vq_span_str(plain), false), rows[i].ending);
        assert_int_equal(vq_ending_of(vq_span_str(rows[i].word), true), VQ_ENDING_REFUSED);
    }
}

TEST(test_other_words_are_unknown)
{
    static const char *const words[] = {
        "abort", "tool_calls", "stopped_by_user", "max_output_tokens", "timeout",
        "error", "sto",        "stop2",           "time_limit",        "2",
        "load",  "other"};
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        assert_int_equal(vq_ending_of(vq_span_str(words[i]), false), VQ_ENDING_UNKNOWN);
    }
    assert_int_equal(vq_ending_of(vq_span_str(""), false), VQ_ENDING_ORDINARY);
    assert_int_equal(vq_ending_of(vq_span_str(" "), false), VQ_ENDING_ORDINARY);
    assert_int_equal(vq_ending_of(vq_span(NULL, 0), false), VQ_ENDING_ORDINARY);
    assert_int_equal(vq_ending_of(vq_span("stop\0", 5), false), VQ_ENDING_UNKNOWN);
}

TEST(test_an_explanation_names_the_word)
{
    char line[256], longer[300];
    struct vq_span word;
    vq_ending_explain(vq_span_str("abort"), line, sizeof(line));
    assert_true(vq_ending_explained(vq_span_str(line), &word));
    assert_true(vq_span_eq(word, vq_span_str("abort")));
    memset(longer, 'x', sizeof(longer));
    vq_ending_explain(vq_span(longer, sizeof(longer)), line, sizeof(line));
    assert_true(vq_ending_explained(vq_span_str(line), &word));
    assert_int_equal(word.bytes, VQ_ENDING_WORD_BYTES_MAX);
    assert_false(vq_ending_explained(vq_span_str("the answer is empty"), &word));
    assert_false(vq_ending_explained(vq_span("", 0), &word));
}

TEST(test_table_of_the_documentation)
{
    static char page[256 * 1024];
    FILE *file = fopen(VQ_SOURCE_DIR "/docs/use/providers.md", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
    (void)fclose(file);
    char *from = strstr(page, "| word | ending | who says so |\n");
    assert_non_null(from);
    *strstr(from, "\n\n") = '\0';
    size_t count = 0;
    for (const char *at = from; (at = strstr(at, "\n| `")) != NULL; at++) {
        count++;
    }
    assert_int_equal(count, VQ_COUNT(rows));
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        char row[256];
        const char *name = rows[i].ending == VQ_ENDING_ORDINARY ? "ordinary"
                           : rows[i].ending == VQ_ENDING_CUT    ? "cut"
                                                                : "refused";
        (void)snprintf(row, sizeof(row), "| `%s` | %s | %s |", rows[i].word, name, rows[i].who);
        if (strstr(from, row) == NULL) {
            fail_msg("docs/use/providers.md has no row %s", row);
        }
    }
}
