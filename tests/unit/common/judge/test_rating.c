/* Ratings: forms that judges write, under both policies, and hostile bytes. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/rating.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *answer, *finish;
    enum vq_rating_status status;
    int64_t value;
};

static struct vq_rating read_as(enum vq_rating_kind kind, enum vq_rating_policy policy,
                                const char *answer, const char *finish)
{
    struct vq_rating_reader reader = {.kind = kind, .policy = policy, .score_of = true, .seed = 5};
    struct vq_rating rating;
    vq_rating_read(&reader, vq_span_str(answer), vq_span_str(finish), false, &rating);
    return rating;
}

static void check(enum vq_rating_kind kind, enum vq_rating_policy policy, const struct row *rows,
                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct vq_rating got = read_as(kind, policy, rows[i].answer, rows[i].finish);
        bool same = got.status == rows[i].status && (!got.has_value || got.value == rows[i].value);
        bool counts = policy == VQ_RATING_PAPER || got.has_value == (got.status == VQ_RATING_OK);
        if (!same || !counts) {
            fail_msg("`%s` (%s): %s %lld, not %s %lld", rows[i].answer, rows[i].finish,
                     vq_rating_status_name(got.status), (long long)got.value,
                     vq_rating_status_name(rows[i].status), (long long)rows[i].value);
        }
    }
}

TEST(likert_strict)
{
    static const struct row rows[] = {
        {"**Reasoning:** fits.\n\n**Result:** 4", "stop", VQ_RATING_OK, 4},
        {"Result: 5", "stop", VQ_RATING_OK, 5},
        {"**Result: 1**", "stop", VQ_RATING_OK, 1},
        {"## Result:\n\n3\n", "stop", VQ_RATING_OK, 3},
        {"**RESULT:** 4/5", "stop", VQ_RATING_OK, 4},
        {"**Result:** 4 out of 5.", "stop", VQ_RATING_OK, 4},
        {"**Result:** a score of 2", "stop", VQ_RATING_OK, 2},
        {"**Result:** 5 (strongly so)", "stop", VQ_RATING_OK, 5},
        {"**Result:** 2\n\nI gave 2 since 3 facets are missing.", "stop", VQ_RATING_OK, 2},
        {"**Result:** 2\n**Result:** 3", "stop", VQ_RATING_OK, 3},
        {"<think>**Result:** 1</think>\n**Result:** 4", "stop", VQ_RATING_OK, 4},
        {"**Result:** 4", "length", VQ_RATING_OK, 4},
        {"**Result:** 0", "stop", VQ_RATING_OUT_OF_RANGE, 0},
        {"**Result:** 6", "stop", VQ_RATING_OUT_OF_RANGE, 0},
        {"**Result:** 45", "stop", VQ_RATING_OUT_OF_RANGE, 0},
        {"**Result:** -1", "stop", VQ_RATING_OUT_OF_RANGE, 0},
        {"**Result:** 99999999999999999999999999", "stop", VQ_RATING_OUT_OF_RANGE, 0},
        {"**Result:** 4.5", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** 4-5", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** 4 or 5", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** between 3 and 4", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** 4th", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** high", "stop", VQ_RATING_MISSING, 0},
        {"**Result:**", "stop", VQ_RATING_MISSING, 0},
        {"It deserves a score of 4.", "stop", VQ_RATING_MISSING, 0},
        {"", "stop", VQ_RATING_MISSING, 0},
        {"4", "stop", VQ_RATING_MISSING, 0},
        {"The result is 4 of 5 facets.", "stop", VQ_RATING_MISSING, 0},
        {"<think>**Result:** 4", "stop", VQ_RATING_MISSING, 0},
        {"**Reasoning:** it goes on and", "length", VQ_RATING_TRUNCATED, 0},
        {"**Result:** 4", "content_filter", VQ_RATING_REFUSED, 0},
    };
    check(VQ_RATING_LIKERT, VQ_RATING_STRICT, rows, VQ_COUNT(rows));
}

TEST(binary_strict)
{
    static const struct row rows[] = {
        {"**Result:** Yes", "stop", VQ_RATING_OK, 1},
        {"**Result:** no.", "stop", VQ_RATING_OK, 0},
        {"**Result:** \"Yes\"", "stop", VQ_RATING_OK, 1},
        {"**Result:** Yes, it leaves no doubt", "stop", VQ_RATING_OK, 1},
        {"**Reasoning:** No refusal.\n**Result:** No", "stop", VQ_RATING_OK, 0},
        {"**Result:** Not sure", "stop", VQ_RATING_MISSING, 0},
        {"**Result:** Nothing of it", "stop", VQ_RATING_MISSING, 0},
        {"**Result:** Yesterday", "stop", VQ_RATING_MISSING, 0},
        {"**Result:** Yes or no", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** Yes/No", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** It is not yes", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"I'm sorry, but I can't assist with that.", "stop", VQ_RATING_MISSING, 0},
    };
    check(VQ_RATING_BINARY, VQ_RATING_STRICT, rows, VQ_COUNT(rows));
}

static const char runaway[] =
    "**Reasoning:** Both try.\n\n**Result:** A cannot be chosen as it is wrong. Yet, between B "
    "and A, B is more apt. Yet, A is livelier. Yet, B is more apt.";

TEST(pairwise_strict)
{
    static const struct row rows[] = {
        {"**Result:** A", "stop", VQ_RATING_OK, 0},
        {"**Result:** B", "stop", VQ_RATING_OK, 1},
        {"**Result:** Response B", "stop", VQ_RATING_OK, 1},
        {"**Reasoning:** Response A is better.\n**Result:** B.", "stop", VQ_RATING_OK, 1},
        {"**Result:** Both", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** Neither", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** A tie", "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** A or B", "stop", VQ_RATING_AMBIGUOUS, 0},
        {runaway, "length", VQ_RATING_AMBIGUOUS, 0},
        {runaway, "stop", VQ_RATING_AMBIGUOUS, 0},
        {"**Result:** Apples", "stop", VQ_RATING_MISSING, 0},
        {"I prefer the first.", "stop", VQ_RATING_MISSING, 0},
    };
    check(VQ_RATING_PAIRWISE, VQ_RATING_STRICT, rows, VQ_COUNT(rows));
}

TEST(as_the_paper_read_it)
{
    static const struct row likert[] = {
        {"**Result:** 4", "stop", VQ_RATING_OK, 4},
        {"**result:**\n\n4", "stop", VQ_RATING_OK, 4},
        {"**Result:** 4 or 5", "stop", VQ_RATING_OK, 4},
        {"**Result:** 2\n**Result:** 3", "stop", VQ_RATING_OK, 2},
        {"**Result:** 45", "stop", VQ_RATING_OUT_OF_RANGE, 45},
        {"Result: 4, a score of 3", "stop", VQ_RATING_FALLBACK, 3},
        {"**Result:**4", "stop", VQ_RATING_MISSING, 0},
        {"**Result:** four **Result:** 4", "stop", VQ_RATING_OK, 4},
        {"<think>**Result:** 1</think>**Result:** 4", "stop", VQ_RATING_OK, 1},
    };
    static const struct row binary[] = {
        {"**Result:** Not sure", "stop", VQ_RATING_OK, 0},
        {"**Result:** Yesterday", "stop", VQ_RATING_OK, 1},
        {"**Result:** Maybe", "stop", VQ_RATING_MISSING, 0},
    };
    static const struct row pairwise[] = {
        {"**Result:** Both", "stop", VQ_RATING_OK, 1},
        {"**Result:** A tie", "stop", VQ_RATING_OK, 0},
        {runaway, "length", VQ_RATING_OK, 0},
    };
    check(VQ_RATING_LIKERT, VQ_RATING_PAPER, likert, VQ_COUNT(likert));
    check(VQ_RATING_BINARY, VQ_RATING_PAPER, binary, VQ_COUNT(binary));
    check(VQ_RATING_PAIRWISE, VQ_RATING_PAPER, pairwise, VQ_COUNT(pairwise));
    assert_false(read_as(VQ_RATING_BINARY, VQ_RATING_PAPER, "Maybe", "stop").has_value);
    assert_true(read_as(VQ_RATING_LIKERT, VQ_RATING_PAPER, "**Result:** 45", "stop").has_value);
}

/* The paper drew what it could not read: about half and half, and the same again for the same
 * seed. */
TEST(a_draw_is_fair_and_repeats)
{
    uint32_t seconds = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct vq_rating_reader reader = {
            .kind = VQ_RATING_PAIRWISE, .policy = VQ_RATING_PAPER, .seed = seed};
        struct vq_rating a, b;
        vq_rating_read(&reader, vq_span_str("Neither."), vq_span_str("stop"), false, &a);
        vq_rating_read(&reader, vq_span_str("Neither."), vq_span_str("stop"), false, &b);
        assert_int_equal(a.status, VQ_RATING_MISSING);
        assert_true(a.has_value && a.value == b.value && (a.value == 0 || a.value == 1));
        seconds += (uint32_t)a.value;
    }
    assert_in_range(seconds, 430, 570);
    struct vq_rating strict = read_as(VQ_RATING_PAIRWISE, VQ_RATING_STRICT, "Neither.", "stop");
    assert_false(strict.has_value);
}

TEST(reasoning_stands_beside)
{
    static const struct {
        const char *answer, *reasoning;
    } rows[] = {
        {"**Reasoning:** It fits.\nWell.\n\n**Result:** 4", "It fits.\nWell."},
        {"It fits.\n**Result:** 4", "It fits."},
        {"Reasoning: It fits.", "It fits."},
        {"**Result:** 4", ""},
        {"", ""},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_rating got = read_as(VQ_RATING_LIKERT, VQ_RATING_STRICT, rows[i].answer, "stop");
        assert_int_equal(got.reasoning.bytes, strlen(rows[i].reasoning));
        assert_memory_equal(got.reasoning.at == NULL ? "" : got.reasoning.at, rows[i].reasoning,
                            got.reasoning.bytes);
    }
}

/* Every cut of an answer reads something, and never more than it holds. */
TEST(every_prefix_is_read)
{
    static const char answer[] = "<think>x</think>**Reasoning:** \xe2\x80\x9cno\xe2\x80\x9d\n"
                                 "**Result:** 4 out of 5\n**Result:** Yes/No, A or B";
    for (size_t n = 0; n < sizeof(answer); n++) {
        char *copy = vq_strndup(answer, n); /* its own block: a read past the end is seen */
        assert_non_null(copy);
        for (int kind = 0; kind <= VQ_RATING_PAIRWISE; kind++) {
            for (int policy = 0; policy <= VQ_RATING_PAPER; policy++) {
                struct vq_rating_reader reader = {.kind = (enum vq_rating_kind)kind,
                                                  .policy = (enum vq_rating_policy)policy,
                                                  .score_of = true};
                struct vq_rating got;
                vq_rating_read(&reader, vq_span(copy, n), vq_span_str("stop"), false, &got);
                assert_true(got.status < VQ_RATING__COUNT);
                assert_true(got.reasoning.bytes <= n);
            }
        }
        vq_free(copy);
    }
}

/* ---- the table of docs/method/verdicts.md ---- */

/* Takes \n, \t, \\, \- (nothing) and \xNN out of a cell's text, in place. Returns its length. */
static size_t unescape(char *text)
{
    char *to = text;
    for (char *from = text; *from != '\0'; from++) {
        if (*from != '\\') {
            *to++ = *from;
            continue;
        }
        switch (*++from) {
        case 'n': *to++ = '\n'; break;
        case 't': *to++ = '\t'; break;
        case '\\': *to++ = '\\'; break;
        case '-': break;
        case 'x': {
            char hex[3] = {from[1], from[2], '\0'};
            *to++ = (char)strtol(hex, NULL, 16);
            from += 2;
            break;
        }
        default: fail_msg("unknown escape in the table: \\%c", *from);
        }
    }
    return (size_t)(to - text);
}

static const char *said(enum vq_rating_kind kind, const struct vq_rating *rating, char number[24])
{
    if (!rating->has_value) {
        return vq_rating_status_name(rating->status);
    }
    (void)snprintf(number, 24, "%lld", (long long)rating->value);
    return kind == VQ_RATING_LIKERT   ? number
           : kind == VQ_RATING_BINARY ? (rating->value == 1 ? "yes" : "no")
                                      : (rating->value == 1 ? "B" : "A");
}

static unsigned run_row(enum vq_rating_kind kind, char *row, unsigned line, unsigned *failures)
{
    char *cells[3];
    for (int i = 0; i < 3; i++) {
        cells[i] = row;
        row = strstr(row, " |");
        assert_non_null(row);
        *row = '\0';
        row += 2;
        cells[i] += strspn(cells[i], " ");
    }
    struct vq_rating_reader reader = {.kind = kind, .policy = VQ_RATING_STRICT};
    unsigned count = 0;
    for (char *open = strchr(cells[0], '`'); open != NULL; count++) {
        char *close = strchr(open + 1, '`');
        assert_non_null(close);
        char *next = strchr(close + 1, '`');
        *close = '\0';
        char shown[256], number[24];
        (void)snprintf(shown, sizeof(shown), "%s", open + 1);
        struct vq_rating rating;
        vq_rating_read(&reader, vq_span(open + 1, unescape(open + 1)), vq_span_str(cells[1]), false,
                       &rating);
        const char *got = said(kind, &rating, number);
        if (strcmp(got, cells[2]) != 0) {
            print_error("docs/method/verdicts.md:%u: `%s` (%s) is %s, not %s\n", line, shown,
                        cells[1], got, cells[2]);
            (*failures)++;
        }
        open = next;
    }
    return count;
}

TEST(table_of_the_documentation)
{
    static const char *const fronts[] = {
        [VQ_RATING_LIKERT] = "| 1 to 5 | ",
        [VQ_RATING_BINARY] = "| yes or no | ",
        [VQ_RATING_PAIRWISE] = "| A or B | ",
    };
    FILE *file = fopen(VQ_SOURCE_DIR "/docs/method/verdicts.md", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0;
    unsigned number = 0, answers = 0, failures = 0;
    while (getline(&line, &cap, file) > 0) {
        number++;
        for (size_t kind = 0; kind < VQ_COUNT(fronts); kind++) {
            size_t n = strlen(fronts[kind]);
            if (strncmp(line, fronts[kind], n) == 0) {
                answers += run_row((enum vq_rating_kind)kind, line + n, number, &failures);
            }
        }
    }
    free(line);
    (void)fclose(file);
    assert_int_equal(failures, 0);
    assert_true(answers >= 100);
}
