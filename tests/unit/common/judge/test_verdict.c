/* Runs every row of the tables in docs/method/verdicts.md, and what a table cannot say. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MIN 320 /* answers in the tables: fewer means that the reader below lost some */

static enum vq_outcome read_answer(const char *answer, const char *finish)
{
    return vq_verdict_ranker(vq_span_str(answer), vq_span_str(finish), false);
}

static char *trim(char *text)
{
    while (*text == ' ') {
        text++;
    }
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\n')) {
        text[--n] = '\0';
    }
    return text;
}

/* Takes \n, \r, \t, \\, \- (nothing) and \xNN out of a cell's text, in place. Returns its
 * length. */
static size_t unescape(char *text)
{
    char *to = text;
    for (char *from = text; *from != '\0'; from++) {
        if (*from != '\\') {
            *to++ = *from;
            continue;
        }
        from++;
        switch (*from) {
        case 'n': *to++ = '\n'; break;
        case 'r': *to++ = '\r'; break;
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

/* One row: | `answer` `answer` | finish | verdict |. Returns the number of its answers. */
static unsigned run_row(char *row, unsigned line, bool preference, unsigned *failures)
{
    enum vq_outcome (*verdict)(struct vq_span, struct vq_span, bool) =
        preference ? vq_verdict_preference : vq_verdict_ranker;
    char *cells[3];
    char *at = row + 1;
    for (int i = 0; i < 3; i++) {
        cells[i] = at;
        at = strchr(at, '|');
        assert_non_null(at);
        *at++ = '\0';
    }
    const char *finish = trim(cells[1]);
    const char *expected = trim(cells[2]);
    unsigned count = 0;
    for (char *open = strchr(cells[0], '`'); open != NULL; count++) {
        char *close = strchr(open + 1, '`');
        assert_non_null(close);
        char *next = strchr(close + 1, '`');
        *close = '\0';
        char shown[512];
        (void)snprintf(shown, sizeof(shown), "%s", open + 1);
        size_t bytes = unescape(open + 1);
        enum vq_outcome said = verdict(vq_span(open + 1, bytes), vq_span_str(finish), false);
        if (strcmp(vq_outcome_name(said), expected) != 0) {
            print_error("docs/method/verdicts.md:%u: `%s` (%s) is %s, not %s\n", line, shown,
                        finish, vq_outcome_name(said), expected);
            (*failures)++;
        }
        open = next;
    }
    return count;
}

TEST(test_tables_of_the_documentation)
{
    FILE *file = fopen(VQ_SOURCE_DIR "/docs/method/verdicts.md", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0;
    unsigned number = 0;
    unsigned rows = 0;
    unsigned failures = 0;
    bool preference = false;
    while (getline(&line, &cap, file) > 0) {
        number++;
        preference = preference || strcmp(line, "## Preference\n") == 0;
        if (strncmp(line, "| `", 3) == 0) {
            rows += run_row(line, number, preference, &failures);
        }
    }
    free(line);
    (void)fclose(file);
    assert_true(preference);
    assert_int_equal(failures, 0);
    assert_true(rows >= ROWS_MIN);
}

TEST(test_provider_refusal_is_refused)
{
    struct vq_span answer = vq_span_str("Model: A");
    assert_int_equal(vq_verdict_ranker(answer, vq_span_str("stop"), true), VQ_OUTCOME_REFUSED);
    assert_int_equal(vq_verdict_ranker(vq_span(NULL, 0), vq_span(NULL, 0), true),
                     VQ_OUTCOME_REFUSED);
    assert_int_equal(vq_verdict_ranker(vq_span(NULL, 0), vq_span(NULL, 0), false),
                     VQ_OUTCOME_EMPTY);
}

TEST(test_bytes_after_a_nul_are_read)
{
    static const char text[] = "x\0y\nModel: A\0";
    assert_int_equal(vq_verdict_ranker(vq_span(text, sizeof(text) - 1), vq_span_str("stop"), false),
                     VQ_OUTCOME_FIRST);
}

TEST(test_verdict_of_every_prefix_is_never_wrong)
{
    static const char text[] =
        "Analysis: Output B is terse, not warm.\n\n**Model:** \"Output A\"\n";
    for (size_t n = 0; n < sizeof(text); n++) {
        enum vq_outcome said = vq_verdict_ranker(vq_span(text, n), vq_span_str("length"), false);
        assert_true(said == VQ_OUTCOME_TRUNCATED || said == VQ_OUTCOME_FIRST);
    }
}

/* What would be slow with a parser that looks twice at what it has seen: a quadratic one does not
 * end in the time that a test is given. */
TEST(test_hostile_texts_are_linear)
{
    static const char *const units[] = {
        "model:",       "model: ",
        "\"model\":\"", "'model':'\"model\":",
        "model",        "<think>",
        "</think>",     "<think></think>",
        "Model: A ",    "\\\"model\":\"",
        "model:\n",     "n/",
        "\xE2\x80\x99", "model \"*_`",
        "a'",           "\"model\":\"\\",
        "[think]",      "< ",
        "final ",       "1.",
    };
    char *text = vq_alloc(VQ_ANSWER_BYTES_MAX, 1);
    assert_non_null(text);
    for (size_t u = 0; u < VQ_COUNT(units); u++) {
        size_t unit_bytes = strlen(units[u]);
        for (size_t i = 0; i < VQ_ANSWER_BYTES_MAX; i++) {
            text[i] = units[u][i % unit_bytes];
        }
        enum vq_outcome said =
            vq_verdict_ranker(vq_span(text, VQ_ANSWER_BYTES_MAX), vq_span_str("stop"), false);
        assert_true(vq_outcome_is_answered(said));
    }
    vq_free(text);
}

TEST(test_verdicts_allocate_nothing)
{
    uint64_t before = vq_alloc_count();
    assert_int_equal(read_answer("<think>B</think>{x} Model: A", "stop"), VQ_OUTCOME_FIRST);
    assert_int_equal(vq_alloc_count(), before);
}

TEST(test_outcomes_have_names_and_one_kind)
{
    static const struct {
        enum vq_outcome outcome;
        const char *name;
        bool vote, settles, answered, failed;
    } expected[] = {
        {VQ_OUTCOME_NONE, "open", false, false, false, false},
        {VQ_OUTCOME_FIRST, "A", true, false, true, false},
        {VQ_OUTCOME_SECOND, "B", true, false, true, false},
        {VQ_OUTCOME_EQUAL, "equal", true, true, true, false},
        {VQ_OUTCOME_NA, "N/A", true, true, true, false},
        {VQ_OUTCOME_UNSURE, "unsure", true, true, true, false},
        {VQ_OUTCOME_REFUSED, "refused", false, false, true, false},
        {VQ_OUTCOME_TRUNCATED, "truncated", false, false, true, false},
        {VQ_OUTCOME_UNPARSEABLE, "unparseable", false, false, true, false},
        {VQ_OUTCOME_EMPTY, "empty", false, false, true, false},
        {VQ_OUTCOME_NOT_NEEDED, "not_needed", false, false, false, false},
        {VQ_OUTCOME_BLOCKED, "blocked", false, false, false, false},
        {VQ_OUTCOME_ERROR, "error", false, false, false, true},
        {VQ_OUTCOME_TOO_LONG, "too_long", false, false, false, true},
        {VQ_OUTCOME_UNAVAILABLE, "unavailable", false, false, false, true},
        {VQ_OUTCOME_BAD_RESPONSE, "bad_response", false, false, false, true},
        {VQ_OUTCOME_WORKER_LOST, "worker_lost", false, false, false, true},
    };
    for (size_t i = 0; i < VQ_COUNT(expected); i++) {
        enum vq_outcome o = expected[i].outcome;
        assert_string_equal(vq_outcome_name(o), expected[i].name);
        assert_int_equal(vq_outcome_is_vote(o), expected[i].vote);
        assert_int_equal(vq_outcome_settles(o), expected[i].settles);
        assert_int_equal(vq_outcome_is_answered(o), expected[i].answered);
        assert_int_equal(vq_outcome_is_failed(o), expected[i].failed);
    }
    assert_string_equal(vq_outcome_name((enum vq_outcome)99), "?");
}

/* ---- by the kind of stage ---- */

static enum vq_outcome said(enum vq_stage_kind kind, const char *answer, const char *finish)
{
    return vq_verdict_of(kind, vq_span_str(answer), vq_span_str(finish), false);
}

TEST(test_by_the_kind_of_stage)
{
    assert_int_equal(said(VQ_STAGE_RANK, "Model: N/A", "stop"), VQ_OUTCOME_NA);
    assert_int_equal(said(VQ_STAGE_PREFER, "Model: tie", "stop"), VQ_OUTCOME_EQUAL);
    assert_int_equal(said(VQ_STAGE_TEXT, "Model: A", "stop"), VQ_OUTCOME_TEXT);
    assert_int_equal(said(VQ_STAGE_TEXT, "- a list that was c", "length"), VQ_OUTCOME_TEXT);
    assert_int_equal(said(VQ_STAGE_TEXT, " \r\n\t", "stop"), VQ_OUTCOME_UNPARSEABLE);
    assert_int_equal(said(VQ_STAGE_TEXT, "", "stop"), VQ_OUTCOME_UNPARSEABLE);
    assert_int_equal(said(VQ_STAGE_TEXT, "- a list", "content_filter"), VQ_OUTCOME_REFUSED);
    assert_int_equal(vq_verdict_of(VQ_STAGE_TEXT, vq_span_str("No."), vq_span_str(""), true),
                     VQ_OUTCOME_REFUSED);
    assert_int_equal(said(VQ_STAGE_EMBED, "a text", "stop"), VQ_OUTCOME_UNPARSEABLE);
    assert_int_equal(said(VQ_STAGE__COUNT, "Model: A", "stop"), VQ_OUTCOME_UNPARSEABLE);
    static const char one[] = "vqf32\n\1\0\0\0\2\0\0\0\0\0\x80\x3f\0\0\0\0";
    for (size_t bytes = 0; bytes < sizeof(one); bytes++) {
        assert_int_equal(vq_verdict_of(VQ_STAGE_EMBED, vq_span(one, bytes), vq_span_str(""), false),
                         bytes == sizeof(one) - 1 ? VQ_OUTCOME_TEXT : VQ_OUTCOME_UNPARSEABLE);
    }
    static const char infinite[] = "vqf32\n\1\0\0\0\1\0\0\0\0\0\x80\x7f";
    assert_int_equal(vq_verdict_of(VQ_STAGE_EMBED, vq_span(infinite, sizeof(infinite) - 1),
                                   vq_span_str(""), false),
                     VQ_OUTCOME_UNPARSEABLE);
    assert_true(vq_outcome_is_answered(VQ_OUTCOME_TEXT) && vq_outcome_is_good(VQ_OUTCOME_TEXT));
    assert_false(vq_outcome_is_vote(VQ_OUTCOME_TEXT) || vq_outcome_settles(VQ_OUTCOME_TEXT) ||
                 vq_outcome_is_failed(VQ_OUTCOME_TEXT));
    assert_string_equal(vq_outcome_name(VQ_OUTCOME_TEXT), "text");
}

/* One JSON object decides by its member alone; what else looks like one is text, and is read as
 * before. */
TEST(test_one_object_decides_alone)
{
    static const struct {
        const char *answer;
        enum vq_outcome ranker, preference;
    } cases[] = {
        {"{\"analysis\":\"x\",\"model\":\"B\"}", VQ_OUTCOME_SECOND, VQ_OUTCOME_SECOND},
        {"{\"model\":\"N/A\"}", VQ_OUTCOME_NA, VQ_OUTCOME_UNPARSEABLE},
        {"{\"model\":\"unsure\"}", VQ_OUTCOME_UNSURE, VQ_OUTCOME_UNPARSEABLE},
        {"{\"preference\":\"tie\",\"analysis\":\"Preference: A\"}", VQ_OUTCOME_UNPARSEABLE,
         VQ_OUTCOME_EQUAL},
        /* what the analysis quotes is no verdict, wherever it stands */
        {"{\"model\":\"A\",\"analysis\":\"it says 'model': 'B'\"}", VQ_OUTCOME_FIRST,
         VQ_OUTCOME_SECOND},
        {"{\"model\":\"A\",\n\"analysis\":\"Model: B\"}", VQ_OUTCOME_FIRST, VQ_OUTCOME_FIRST},
        {"{\"analysis\":\"\\nModel: B\\n\",\"model\":\"A\"}", VQ_OUTCOME_FIRST, VQ_OUTCOME_FIRST},
        {"{\"analysis\":\"{\\\"model\\\":\\\"B\\\"}\",\"model\":\"equal\"}", VQ_OUTCOME_EQUAL,
         VQ_OUTCOME_EQUAL},
        {"{\"model\":\"\\u0041\"}", VQ_OUTCOME_FIRST, VQ_OUTCOME_UNPARSEABLE},
        /* around it: blanks, a fence, thinking */
        {" \n{\"model\":\"B\"}\n ", VQ_OUTCOME_SECOND, VQ_OUTCOME_SECOND},
        {"```json\n{\"model\":\"B\"}\n```", VQ_OUTCOME_SECOND, VQ_OUTCOME_SECOND},
        {"<think>Model: A</think>{\"model\":\"B\"}", VQ_OUTCOME_SECOND, VQ_OUTCOME_SECOND},
        /* not one object with one label: text */
        {"{\"model\":\"A\"}{\"model\":\"B\"}", VQ_OUTCOME_SECOND, VQ_OUTCOME_SECOND},
        {"{\"model\":\"A\",\"model\":\"B\"}", VQ_OUTCOME_SECOND, VQ_OUTCOME_SECOND},
        {"{\"model\":\"gpt-4\",\"verdict\":\"A\"}", VQ_OUTCOME_FIRST, VQ_OUTCOME_FIRST},
        {"{\"model\":\"A or B\"}", VQ_OUTCOME_UNPARSEABLE, VQ_OUTCOME_UNPARSEABLE},
        {"{\"model\":null}", VQ_OUTCOME_UNPARSEABLE, VQ_OUTCOME_UNPARSEABLE},
        {"{\"model\":1}", VQ_OUTCOME_UNPARSEABLE, VQ_OUTCOME_UNPARSEABLE},
        {"{\"model\":[\"A\"]}", VQ_OUTCOME_FIRST, VQ_OUTCOME_FIRST},
        {"{\"analysis\":\"x\"}", VQ_OUTCOME_UNPARSEABLE, VQ_OUTCOME_UNPARSEABLE},
        {"{}", VQ_OUTCOME_UNPARSEABLE, VQ_OUTCOME_UNPARSEABLE},
        {"{", VQ_OUTCOME_UNPARSEABLE, VQ_OUTCOME_UNPARSEABLE},
        {"}", VQ_OUTCOME_UNPARSEABLE, VQ_OUTCOME_UNPARSEABLE},
        {"``````", VQ_OUTCOME_UNPARSEABLE, VQ_OUTCOME_UNPARSEABLE},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        enum vq_outcome said = read_answer(cases[i].answer, "stop");
        if (said != cases[i].ranker) {
            fail_msg("%s: %s", cases[i].answer, vq_outcome_name(said));
        }
        said = vq_verdict_preference(vq_span_str(cases[i].answer), vq_span_str("stop"), false);
        if (said != cases[i].preference) {
            fail_msg("preference of %s: %s", cases[i].answer, vq_outcome_name(said));
        }
    }
    assert_int_equal(read_answer("{\"analysis\":\"x", "length"), VQ_OUTCOME_TRUNCATED);
    char deep[20000];
    memset(deep, '[', sizeof(deep));
    memcpy(deep, "{\"model\":", 9);
    deep[sizeof(deep) - 2] = '}';
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(read_answer(deep, "stop"), VQ_OUTCOME_UNPARSEABLE);
}
