/* The marks of thinking: each row of thinking_marks.def opens and closes, a mention does not, and
 * docs/method/verdicts.md has the same rows. */

#include "tests/unit/test.h"

#include "common/judge/thinking.h"
#include "common/judge/thinking_marks.h"
#include "tests/unit/page.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = {
#define VQ_THINKING_WORD(word) word,
#include "common/judge/thinking_marks.def"
#undef VQ_THINKING_WORD
};

static const struct {
    const char *front, *back;
    bool alone;
} brackets[] = {
#define VQ_THINKING_BRACKETS(front, back, alone) {front, back, alone},
#include "common/judge/thinking_marks.def"
#undef VQ_THINKING_BRACKETS
};

static const struct {
    const char *family, *open, *close, *opens;
} marks[] = {
#define VQ_THINKING_MARK(family, open, close, opens) {family, open, close, #opens},
#include "common/judge/thinking_marks.def"
#undef VQ_THINKING_MARK
};

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

TEST(test_every_word_in_all_brackets)
{
    for (size_t b = 0; b < VQ_COUNT(brackets); b++) {
        for (size_t w = 0; w < VQ_COUNT(words); w++) {
            const char *f = brackets[b].front, *k = brackets[b].back, *word = words[w];
            char text[256];
            (void)snprintf(text, sizeof(text), "%s%s%s\nA?\n%s/%s%s\nB", f, word, k, f, word, k);
            assert_plain(text, "B");
            (void)snprintf(text, sizeof(text), " %s my_%s %s A?%send of my-%s%sB", f, word, k, f,
                           word, k);
            assert_plain(text, "B");
            (void)snprintf(text, sizeof(text), "A? %s/%s%s\nB", f, word, k);
            assert_plain(text, "B");
            (void)snprintf(text, sizeof(text), "%s%s%s\nA?", f, word, k);
            if (brackets[b].alone) {
                assert_plain(text, "");
            }
            (void)snprintf(text, sizeof(text), "B shows a raw %s%s%s tag", f, word, k);
            assert_plain(text, text);
        }
    }
}

TEST(test_every_other_mark)
{
    for (size_t i = 0; i < VQ_COUNT(marks); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), "%sA?\n%s\nB", marks[i].open, marks[i].close);
        assert_plain(text, "B");
        (void)snprintf(text, sizeof(text), "A?\n%s\nB", marks[i].close);
        assert_plain(text, "B");
        (void)snprintf(text, sizeof(text), "%sA?", marks[i].open);
        assert_plain(text, strcmp(marks[i].opens, "PAIR") == 0 ? text : "");
    }
}

TEST(test_a_mark_and_its_bytes)
{
    static const struct {
        const char *text;
        size_t bytes;
        bool closes;
        enum vq_thinking_opens opens;
    } rows[] = {
        {"<think>x", 7, false, VQ_THINKING_ALONE},
        {"</ THINK >x", 10, true, VQ_THINKING_ALONE},
        {"<think a=\"1\" b=2>x", 17, false, VQ_THINKING_ALONE},
        {"[ thought ]", 11, false, VQ_THINKING_PAIR},
        {"<chain of thought>", 18, false, VQ_THINKING_ALONE},
        {"<thinking process>", 18, false, VQ_THINKING_ALONE},
        {"<think about it>", 0, false, VQ_THINKING_ALONE},
        {"<unthinkable>", 0, false, VQ_THINKING_ALONE},
        {"<a b c thought>", 15, false, VQ_THINKING_ALONE},
        {"<think", 0, false, VQ_THINKING_ALONE},
        {"think>", 0, false, VQ_THINKING_ALONE},
        {"", 0, false, VQ_THINKING_ALONE},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_thinking_mark mark = {.bytes = 0};
        bool found = vq_thinking_mark_at(vq_span_str(rows[i].text), &mark);
        if (found != (rows[i].bytes > 0) || mark.bytes != rows[i].bytes ||
            mark.closes != rows[i].closes || (found && mark.opens != rows[i].opens)) {
            fail_msg("`%s`: %zu bytes, closes %d, opens %d", rows[i].text, mark.bytes, mark.closes,
                     (int)mark.opens);
        }
    }
}

/* ---- the documentation ---- */

static void put_cell(char *out, size_t cap, const char *text)
{
    size_t n = strlen(out);
    for (; *text != '\0' && n + 5 < cap; text++) {
        n += (size_t)snprintf(out + n, cap - n, *text == '|' ? "\\x7c" : "%c", *text);
    }
}

static void put_row(char *row, size_t cap, const char *first, const char *a, const char *b,
                    const char *last)
{
    (void)snprintf(row, cap, "| %s | `", first);
    put_cell(row, cap, a);
    (void)snprintf(row + strlen(row), cap - strlen(row), "` | `");
    put_cell(row, cap, b);
    (void)snprintf(row + strlen(row), cap - strlen(row), "` | %s |\n", last);
}

static const char *said(const char *opens)
{
    return strcmp(opens, "ALONE") == 0 ? "a block"
           : strcmp(opens, "WHOLE") == 0
               ? "a block at the front of the answer, before a capital letter"
               : "text";
}

TEST(test_tables_of_the_documentation)
{
    static char page[256 * 1024];
    FILE *file = fopen(VQ_SOURCE_DIR "/docs/method/verdicts.md", "r");
    assert_non_null(file);
    size_t n = fread(page, 1, sizeof(page) - 1, file);
    page[n] = '\0';
    (void)fclose(file);
    char *from = strstr(page, "\n## Marks of thinking\n");
    assert_non_null(from);
    *strstr(from + 1, "\n## ") = '\0';
    struct vq_buf list, item;
    vq_buf_init(&list, 4096);
    vq_buf_init(&item, 4096);
    for (size_t w = 0; w < VQ_COUNT(words); w++) {
        vq_buf_printf(&list, "%s*%s*", w == 0 ? "" : ", ", words[w]);
    }
    assert_int_equal(list.status, VQ_OK);
    page_item(&item, list.at);
    assert_int_equal(item.status, VQ_OK);
    assert_non_null(strstr(from, item.at));
    vq_buf_free(&list);
    vq_buf_free(&item);
    size_t rows = 0;
    for (const char *at = from; (at = strstr(at, "\n| ")) != NULL; at++) {
        rows++;
    }
    assert_int_equal(rows, VQ_COUNT(brackets) + VQ_COUNT(marks) + 4);
    char row[512];
    for (size_t b = 0; b < VQ_COUNT(brackets); b++) {
        put_row(row, sizeof(row), "brackets", brackets[b].front, brackets[b].back,
                brackets[b].alone ? "a block" : "text");
        assert_non_null(strstr(from, row));
    }
    for (size_t i = 0; i < VQ_COUNT(marks); i++) {
        put_row(row, sizeof(row), marks[i].family, marks[i].open, marks[i].close,
                said(marks[i].opens));
        if (strstr(from, row) == NULL) {
            fail_msg("docs/method/verdicts.md has no row %s", row);
        }
    }
}
