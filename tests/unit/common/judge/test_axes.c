/* One test for each form of a list of axes that is understood, for each fault that is not copied,
 * and for what names, lines and matches are read from. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/conf/config.h"
#include "common/judge/axes.h"
#include "common/judge/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(VQ_AXES_NAME_BYTES_MAX == VQ_NAME_BYTES_MAX, "what is found can be configured");
_Static_assert(VQ_AXES_TEXT_BYTES_MAX == VQ_AXIS_BYTES_MAX, "what is found can be configured");

static struct vq_axes parse(const char *answer)
{
    struct vq_axes axes;
    assert_int_equal(vq_axes_parse(vq_span_str(answer), &axes), VQ_OK);
    return axes;
}

/* Every axis of the answer as "name|high|low", one a line, then each rejected item behind a "!". */
static void expect(const char *answer, const char *expected)
{
    struct vq_axes axes = parse(answer);
    struct vq_buf said;
    vq_buf_init(&said, 1 << 16);
    vq_buf_puts(&said, "");
    for (size_t i = 0; i < axes.count; i++) {
        vq_buf_printf(&said, "%s|%s|%s\n", axes.items[i].name, axes.items[i].high,
                      axes.items[i].low);
    }
    for (size_t i = 0; i < axes.rejected.count; i++) {
        vq_buf_printf(&said, "!%s\n", axes.rejected.items[i]);
    }
    if (strcmp(said.at, expected) != 0) {
        print_error("answer:\n%s\n", answer);
    }
    assert_string_equal(said.at, expected);
    vq_buf_free(&said);
    vq_axes_free(&axes);
}

#define TONE "Tone|warm|cold\n"
#define BOTH TONE "Length|long|short\n"

TEST(test_headings_with_lines_below)
{
    expect("- Tone:\n  High: warm\n  Low: cold\n- Length:\n  Low: short\n  High: long\n", BOTH);
    expect("* Tone\n    High: warm\n    Low: cold\n* Length\n    High: long\n    Low: short\n",
           BOTH);
    expect("1. Tone\nHigh: warm\nLow: cold\n2. Length\nLow: short\nHigh: long\n", BOTH);
    expect("1) Tone:\n   High: warm\n   Low: cold\n2) Length:\n   High: long\n   Low: short\n",
           BOTH);
    expect("**Tone**\nHigh: warm\nLow: cold\n\n**Length:**\nHigh: long\nLow: short\n", BOTH);
    expect("### Tone\nHigh: warm\nLow: cold\n### 2. Length\nHigh: long\nLow: short\n", BOTH);
    expect(
        "- **Tone**:\n\n  High: warm\n\n  Low: cold\n\n- **Length**\n  High: long\n  Low: short\n",
        BOTH);
    expect("\xE2\x80\xA2 Tone\n\tHigh: warm\n\tLow: cold\r\n\xE2\x80\xA2 Length\r\nHigh: "
           "long\r\nLow: short\r\n",
           BOTH);
}

TEST(test_headings_without_marks)
{
    expect("Tone\nHigh: warm\nLow: cold\nLength\nHigh: long\nLow: short\n", BOTH);
    expect("Tone:\nHigh: warm\nLow: cold\n\nLength:\nHigh: long\nLow: short\n", BOTH);
    expect("tone\nHigh: warm\nLow: cold\nlength\nHigh: long\nLow: short\n",
           "tone|warm|cold\nlength|long|short\n");
}

TEST(test_bullets_below)
{
    expect("- Tone:\n  - High: warm\n  - Low: cold\n- Length:\n  - Low: short\n  - High: long\n",
           BOTH);
    expect("1. **Tone**\n   * **High:** warm\n   * **Low:** cold\n2. **Length**\n   * **High**: "
           "long\n   "
           "* **Low**: short\n",
           BOTH);
    expect("- Tone\n- High: warm\n- Low: cold\n- Length\n- High: long\n- Low: short\n", BOTH);
    expect("- Tone\n  - High:\n    - warm\n  - Low:\n    - cold\n", TONE);
}

TEST(test_one_line)
{
    expect("Tone: High: warm Low: cold\nLength: Low: short; High: long\n", BOTH);
    expect("- Tone: High: warm Low: cold\n- Length: Low: short; High: long", BOTH);
    expect("1. Tone: Low: cold, High: warm\n2. **Length**: **High:** long **Low:** short", BOTH);
    expect("- Tone: 'High': 'warm', 'Low': 'cold'\n- \"Length\": \"High\": \"long\", \"Low\": "
           "\"short\"",
           BOTH);
    expect("- Tone: {'high': 'warm', 'low': 'cold'}", TONE);
    expect("- Tone (High: warm; Low: cold)\n- Length | High: long | Low: short |", BOTH);
    expect("\"Tone: High: warm Low: cold\",\n\"Length: High: long Low: short\",\n", BOTH);
    expect("Tone: High: warm\nLow: cold\nLength: Low: short\nHigh: long\n", BOTH);
}

TEST(test_lists)
{
    expect("[\"Tone: High: warm Low: cold\", \"Length: Low: short; High: long\"]", BOTH);
    expect("['Tone: High: warm Low: cold', 'Length: Low: short; High: long',]", BOTH);
    expect("axes = ['Tone: High: warm Low: cold',\n        \"Length: High: long Low: short\"]\n",
           BOTH);
    expect("[{\"name\":\"Tone\",\"low\":\"cold\",\"high\":\"warm\"},"
           "{\"NAME\":\"Length\",\"High\":\"long\",\"LOW\":\"short\"}]",
           BOTH);
    expect("Here it is:\n```json\n[\n  {\"name\": \"Tone\", \"high\": \"warm\", \"low\": "
           "\"cold\"}\n]\n```\nDone.",
           TONE);
    expect("{\"axes\": [{\"axis\": \"Tone\", \"high_end\": \"warm\", \"low_end\": \"cold\"}], "
           "\"n\": 1}",
           TONE);
    expect("{\"Tone\": {\"high\": \"warm\", \"low\": \"cold\"}, \"Length\": \"High: long Low: "
           "short\"}",
           BOTH);
    expect("{\"name\":\"Tone\",\"high\":\"warm\",\"low\":\"cold\"}\n{\"name\":\"Length\",\"high\":"
           "\"long\",\"low\":\"short\"}",
           BOTH);
    expect("[\"Tone: High: it\\u0027s \\\"warm\\\" \\ud83d\\ude00 Low: cold\"]",
           "Tone|it's \"warm\" \xF0\x9F\x98\x80|cold\n");
    expect("['Tone: High: it's warm Low: it isn't']", "Tone|it's warm|it isn't\n");
    expect("[{\"name\":\"Tone\",\"high\":\"warm\",\"low\":\"cold\"},{\"name\":\"Len", TONE);
    expect("[{\"name\":\"Tone\",\"high\":\"warm\",\"low\":\"cold\"},{\"name\":\"X\",\"low\":\"y\"},"
           " \"plain\"]",
           TONE "!{\"name\":\"X\",\"low\":\"y\"}\n!plain\n");
}

TEST(test_labels_in_other_dress)
{
    expect("- Tone\n  HIGH: warm\n  low - cold\n", TONE);
    expect("- Tone\n  High end: warm\n  Low End: cold\n", TONE);
    expect("- Tone: High \xE2\x80\x93 warm; Low \xE2\x80\x93 cold\n", TONE);
    expect("- Tone\xEF\xBC\x9AHigh\xEF\xBC\x9Awarm Low\xEF\xBC\x9A"
           "cold\n",
           TONE);
    expect("- Tone\n  High (+1): warm\n  Low (-1): cold\n", TONE);
    expect("- Name: Tone\n  High: warm\n  Low: cold\n", TONE);
    expect("Axis 1: Tone\nHigh: warm\nLow: cold\nAxis 2: Length\nHigh: long\nLow: short", BOTH);
    expect("Name: High: warm Low: cold", "Name|warm|cold\n");
    expect("- Name: Tone; High: warm; Low: cold\n- Axis: Length, Low: short, High: long\n", BOTH);
    expect("- name: Tone\n  low: \"cold\"\n  high: \"warm\"\n", TONE);
}

TEST(test_labels_are_words)
{
    expect("- High-quality prose: High: polished, below: no slip Low: sloppy\n",
           "High-quality prose|polished, below: no slip|sloppy\n");
    expect("- Tone\n  High: keeps the bar low: always\n  Low: cold\n",
           "Tone|keeps the bar low: always|cold\n");
    expect("- Tone: high: warm low: cold\n", TONE);
    expect("- Highlights: High: many Low: few\n", "Highlights|many|few\n");
    expect("- Tone (Low \xE2\x80\x93 High): Low: cold \xE2\x80\x93 High: warm\n",
           "Tone (Low \xE2\x80\x93 High)|warm|cold\n");
    expect("- Tone: cold to warm. Low: cold / High: warm\n", TONE);
    expect("- Slow burn: High: builds up Low: flat\n", "Slow burn|builds up|flat\n");
}

TEST(test_decoration_is_taken_off)
{
    expect("- *Tone*: High: **warm**, Low: 'cold';\n", TONE);
    expect("- `Tone`: High: \xE2\x80\x9Cwarm\xE2\x80\x9D Low: \"cold\",\n", TONE);
    expect("- Tone: High: says \"yes\" or \"no\" Low: the users'\n",
           "Tone|says \"yes\" or \"no\"|the users'\n");
    expect("- Sums: High: 2 * 3 * 4 (*) Low: uses **bold** words\n",
           "Sums|2 * 3 * 4 (*)|uses bold words\n");
    expect("- Tone: High: warm\t  and\x01 kind (mostly) Low: cold\n",
           "Tone|warm and kind (mostly)|cold\n");
    expect("- Tone: High: w\xFF"
           "arm Low: cold\n",
           "Tone|w\xEF\xBF\xBD"
           "arm|cold\n");
}

TEST(test_wrapped_lines_belong_to_the_text_before)
{
    expect(
        "- Tone: High: warm and\n  kind Low: cold\n  and stiff\n- Length: High: long Low: short\n",
        "Tone|warm and kind|cold and stiff\nLength|long|short\n");
    expect("- Tone\n  High: warm\n  and kind\n  Low: cold\n  and\n  stiff\n",
           "Tone|warm and kind|cold and stiff\n");
    expect("- Tone\n  High:\n    warm\n  Low:\n    cold\n", TONE);
}

/* The faults of the published reader: each of these came out wrong there. */

TEST(test_a_preamble_is_no_axis)
{
    expect("Here are the axes on which they differ:\n- Tone: High: warm Low: cold\n", TONE);
    expect("Each axis has a name, High: and Low: ends.\n\n- Tone: High: warm Low: cold\n", TONE);
    expect("New Axes:\n- Tone:\n  High: warm\n  Low: cold\n", TONE);
    expect("### New Axes\n\n1. Tone: High: warm Low: cold\n", TONE);
    expect("**New Axes:**\n- Tone: High: warm Low: cold\n", TONE);
    expect("New Axes: - Tone: High: warm Low: cold\n", TONE);
}

TEST(test_ends_are_no_axes_of_their_own)
{
    expect("- Tone\n- High: warm\n- Low: cold\n", TONE);
    expect("- High: warm\n- Low: cold\n", "!High: warm Low: cold\n");
}

TEST(test_the_last_axis_needs_no_line_end)
{
    expect("- Tone:\n  High: warm\n  Low: cold\n- Length:\n  High: long\n  Low: short", BOTH);
    expect("New Axes:\n- Tone: Low: cold; High: warm\n- Length: Low: short; High: long", BOTH);
}

TEST(test_texts_hold_no_labels)
{
    expect("- Tone: 'High': 'warm', 'Low': 'cold'", TONE);
}

TEST(test_a_trailing_remark_is_no_axis)
{
    expect("- Tone: High: warm Low: cold\n\nThese are the clearest ones.\n", TONE);
    expect("- Tone: High: warm Low: cold\nThese are the clearest ones.\n", TONE);
    expect("- Tone\n  High: warm\n  Low: cold\n\nNote that High: and Low: may be swapped.", TONE);
    expect("- Tone: High: warm Low: cold\n---\nLet me know!", TONE);
}

TEST(test_items_without_both_ends_are_rejected)
{
    expect("- Tone: High: warm\n- Length: High: long Low: short\n- Pace\n- : High: a Low: b\n",
           "Length|long|short\n!Tone: High: warm\n!Pace\n!High: a Low: b\n");
    expect("- Tone: how warm it is\n", "!Tone: how warm it is\n");
    expect("- Tone: High: Low: cold\n", "!Tone: High: Low: cold\n");
    expect("I see nothing to report.\nReally.", "");
    expect("", "");
}

TEST(test_a_description_behind_a_name_is_left_out)
{
    expect("- Tone: how it sounds\n  High: warm\n  Low: cold\n", TONE);
    expect("**Tone**\nHow it sounds.\n\n- High: warm\n- Low: cold\n", TONE);
}

TEST(test_exact_repeats_collapse)
{
    expect(
        "- Tone: High: warm Low: cold\n- TONE!: High: warm Low: cold\n- Tone: High: hot Low: cold\n"
        "- Mood: High: warm Low: cold\n",
        TONE "Tone|hot|cold\nMood|warm|cold\n");
}

TEST(test_thinking_is_no_answer)
{
    expect("<think>\n- Pace: High: fast Low: slow\n</think>\n- Tone: High: warm Low: cold", TONE);
    expect("- Pace: High: fast Low: slow\n</think>- Tone: High: warm Low: cold", TONE);
    expect("- Tone: High: warm Low: cold\n<think>- Pace: High: fast Low: slow", "");
    expect("<think>no</think>No differences found.", "");
}

TEST(test_no_differences)
{
    static const char *const none[] = {"No differences found",
                                       "No differences found.",
                                       "  no differences found\n",
                                       "**No differences found.**",
                                       "No difference found.",
                                       "NO DIFFERENCES FOUND in these rows, so none.",
                                       "<think>- x</think>\nNo differences found."};
    static const char *const some[] = {"",
                                       "no",
                                       "There are no differences found",
                                       "Some differences found here",
                                       "<think>No differences found.",
                                       "- Tone: High: warm Low: cold"};
    for (size_t i = 0; i < VQ_COUNT(none); i++) {
        assert_true(vq_axes_none(vq_span_str(none[i])));
        expect(none[i], "");
    }
    for (size_t i = 0; i < VQ_COUNT(some); i++) {
        assert_false(vq_axes_none(vq_span_str(some[i])));
    }
    assert_false(vq_axes_none(vq_span(NULL, 0)));
}

TEST(test_texts_are_cut_between_characters)
{
    struct vq_buf answer;
    vq_buf_init(&answer, 1 << 20);
    vq_buf_puts(&answer, "- x");
    for (int i = 0; i < 300; i++) {
        vq_buf_puts(&answer, "\xC3\xA9");
    }
    vq_buf_puts(&answer, ": High: y");
    for (int i = 0; i < 3000; i++) {
        vq_buf_puts(&answer, "\xC3\xA9");
    }
    vq_buf_puts(&answer, " Low: cold");
    struct vq_axes axes = parse(answer.at);
    assert_int_equal(axes.count, 1);
    assert_int_equal(strlen(axes.items[0].name), VQ_AXES_NAME_BYTES_MAX - 1);
    assert_int_equal(strlen(axes.items[0].high), VQ_AXES_TEXT_BYTES_MAX - 1);
    assert_string_equal(axes.items[0].low, "cold");
    vq_axes_free(&axes);
    vq_buf_free(&answer);
}

TEST(test_too_many_are_counted)
{
    struct vq_buf answer;
    vq_buf_init(&answer, 1 << 20);
    for (unsigned i = 0; i < VQ_AXES_MAX + 7; i++) {
        vq_buf_printf(&answer, "- N%u: High: h%u Low: l\n", i, i);
    }
    struct vq_axes axes = parse(answer.at);
    assert_int_equal(axes.count, VQ_AXES_MAX);
    assert_int_equal(axes.over, 7);
    struct vq_span x = vq_span_str("x");
    assert_int_equal(vq_axes_add(&axes, x, x, x), VQ_LIMIT);
    vq_axes_free(&axes);
    vq_buf_free(&answer);
}

TEST(test_one_is_added)
{
    struct vq_axes axes = {.count = 0};
    assert_int_equal(
        vq_axes_add(&axes, vq_span_str(" Tone "), vq_span_str("cold,"), vq_span_str("\"warm\"")),
        VQ_OK);
    assert_int_equal(vq_axes_add(&axes, vq_span_str("Tone"), vq_span_str(" "), vq_span_str("warm")),
                     VQ_INVALID);
    assert_int_equal(axes.count, 1);
    assert_string_equal(axes.items[0].name, "Tone");
    assert_string_equal(axes.items[0].low, "cold");
    assert_string_equal(axes.items[0].high, "warm");
    vq_axes_free(&axes);
    assert_int_equal(axes.count, 0);
}

TEST(test_what_is_written_is_read_again)
{
    static const struct vq_axis axes[] = {{.name = "Tone", .low = "cold", .high = "warm"},
                                          {.name = "Length", .low = "short", .high = "long"}};
    struct vq_buf buf;
    vq_buf_init(&buf, 4096);
    vq_axes_line(&axes[0], &buf);
    assert_string_equal(buf.at, "Tone: High: warm Low: cold");
    vq_buf_clear(&buf);
    vq_axes_format(axes, 2, VQ_AXES_DASHED, &buf);
    assert_string_equal(buf.at, "- Tone: High: warm Low: cold\n- Length: High: long Low: short");
    expect(buf.at, BOTH);
    vq_buf_clear(&buf);
    vq_axes_format(axes, 2, VQ_AXES_NUMBERED, &buf);
    assert_string_equal(buf.at, "1. Tone: High: warm Low: cold\n2. Length: High: long Low: short");
    expect(buf.at, BOTH);
    vq_buf_free(&buf);
}

/* ---- names, lines, matches ---- */

static void expect_lines(enum vq_status (*read)(struct vq_span, struct vq_lines *),
                         const char *answer, const char *expected)
{
    struct vq_lines lines;
    struct vq_buf said;
    assert_int_equal(read(vq_span_str(answer), &lines), VQ_OK);
    vq_buf_init(&said, 1 << 16);
    vq_buf_puts(&said, "");
    for (size_t i = 0; i < lines.count; i++) {
        vq_buf_printf(&said, "%s%s", i > 0 ? "|" : "", lines.items[i]);
    }
    if (strcmp(said.at, expected) != 0) {
        print_error("answer:\n%s\n", answer);
    }
    assert_string_equal(said.at, expected);
    vq_buf_free(&said);
    vq_lines_free(&lines);
}

TEST(test_names)
{
    static const char *const same[] = {
        "Tone\nPace of speech\n",
        "- Tone\n\n- Pace of speech\n\n",
        "1. \"Tone\"\n2) 'Pace of speech',",
        "**Tone**\n**Pace of speech**",
        "- **Tone**: differs most\n- Pace of speech: High: fast Low: slow",
        "Tone: High: warm Low: cold\nPace of speech:\n  High: fast\n  Low: slow",
        "[\"Tone\", \"Pace of speech\"]",
        "[{\"name\": \"Tone\", \"high\": \"w\", \"low\": \"c\"}, {\"name\": \"Pace of speech\"}]",
        "<think>none?</think>\nTone\r\nPace of speech\r\n",
        "Worth keeping:\n\n- Tone\n- Pace of speech\n\nThe others repeat.",
    };
    for (size_t i = 0; i < VQ_COUNT(same); i++) {
        expect_lines(vq_axes_names_parse, same[i], "Tone|Pace of speech");
    }
    static const char *const none[] = {"none", "None.", "**none**", "", "\n\n", "<think>Tone"};
    for (size_t i = 0; i < VQ_COUNT(none); i++) {
        expect_lines(vq_axes_names_parse, none[i], "");
    }
}

TEST(test_names_fold)
{
    static const char *const pairs[][2] = {
        {"Tone", "tone"},
        {"  Humor & Playfulness! ", "humor playfulness"},
        {"Self-Reference", "self reference"},
        {"\"\xC3\x89lan\xE2\x80\x9D", "\xC3\x89lan"},
        {"***", ""},
    };
    struct vq_buf buf;
    vq_buf_init(&buf, 256);
    for (size_t i = 0; i < VQ_COUNT(pairs); i++) {
        vq_buf_clear(&buf);
        vq_axes_name_fold(vq_span_str(pairs[i][0]), &buf);
        assert_true(vq_span_eq(vq_buf_span(&buf), vq_span_str(pairs[i][1])));
    }
    vq_buf_free(&buf);
}

TEST(test_lines)
{
    static const char *const same[] = {
        "- asks for code\n- asks for advice",
        "* **asks for code**\n\n* \"asks for advice\"\n",
        "1. asks for code\n2. asks for\n   advice\n",
        "Kinds of prompts:\n- asks for code\n- asks for advice\n\nThat is all.",
        "asks for code\nasks for advice\n",
        "[\"asks for code\", \"asks for advice\"]",
        "<think>- x</think>- asks for code\n- asks for advice",
    };
    for (size_t i = 0; i < VQ_COUNT(same); i++) {
        expect_lines(vq_lines_parse, same[i], "asks for code|asks for advice");
    }
    static const char *const none[] = {
        "no pattern", "No pattern.", "**No pattern** stands out.", "none", "", "<think>- x"};
    for (size_t i = 0; i < VQ_COUNT(none); i++) {
        expect_lines(vq_lines_parse, none[i], "");
    }
}

/* What the answer says over a list of five: a number, 0 for none, -1 for neither. */
static int match_of(const char *answer)
{
    uint32_t number = 77;
    bool read = vq_match_parse(vq_span_str(answer), 5, &number);
    assert_true(read ? number <= 5 : number == 77);
    return read ? (int)number : -1;
}

TEST(test_matches)
{
    static const struct {
        const char *answer;
        int number;
    } cases[] = {
        {"Analysis: both speak of warmth.\nMatch: 3", 3},
        {"Match:3", 3},
        {"**Match:** 3.", 3},
        {"Match: #3", 3},
        {"Match: [3]", 3},
        {"Match: axis 3 (Tone)", 3},
        {"Match: Number 3", 3},
        {"{\"analysis\": \"x\", \"match\": 3}", 3},
        {"{\"match\": \"none\"}", 0},
        {"Match: none", 0},
        {"Match: None of them", 0},
        {"Match: no match", 0},
        {"Analysis: Match: 2 is near.\nMatch: 3", 3},
        {"Match: 1\nMatch: 3", 3},
        {"Match:\n3", 3},
        {"They say the same.\n\n3", 3},
        {"none", 0},
        {"<think>Match: 2</think>Match: 3", 3},
        {"Match: <think>2?</think> 3", 3},
        {"Match\xEF\xBC\x9A"
         "3",
         3},
        {"So the match: 3", 3},
        {"Match: 0", -1},
        {"Match: 6", -1},
        {"Match: 33333333333333333333", -1},
        {"Match: 3 or 4", -1},
        {"Match: 3, none", -1},
        {"Match: not 3", -1},
        {"Match: 3rd", -1},
        {"Match: the third", -1},
        {"Match:", -1},
        {"3 of them are near", -1},
        {"", -1},
        {"<think>Match: 3", -1},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        int number = match_of(cases[i].answer);
        if (number != cases[i].number) {
            print_error("\"%s\"\n", cases[i].answer);
        }
        assert_int_equal(number, cases[i].number);
    }
}

/* ---- any bytes, any memory ---- */

TEST(test_hostile_texts_are_linear)
{
    static const char *const units[] = {
        "- ",
        "-\n",
        "High:",
        "- High: ",
        "Low: high: ",
        "x high ",
        "[",
        "{",
        "[\"",
        "['a",
        "{\"a\":",
        "[[\"a\"",
        "{\"x\":{",
        "(((",
        "\"\"",
        "*",
        "::",
        "- x\n\n",
        "x\n",
        "x\n\n",
        "**",
        "**x**\n",
        "name: ",
        "1. ",
        "Match:",
        "match: 3 ",
        "\\u",
        "\n",
        "high (",
        "High\n",
        "</think>x",
        "a: High: b Low: c\n",
        "- a: High: b\n",
        "\xE2\x80\x98",
        "= [",
        "\"' ",
    };
    size_t bytes = VQ_ANSWER_BYTES_MAX / 4;
    char *text = vq_alloc(bytes, 1);
    assert_non_null(text);
    for (size_t u = 0; u < VQ_COUNT(units); u++) {
        size_t unit_bytes = strlen(units[u]);
        for (size_t i = 0; i < bytes; i++) {
            text[i] = units[u][i % unit_bytes];
        }
        struct vq_span answer = vq_span(text, bytes);
        struct vq_axes axes;
        struct vq_lines lines;
        uint32_t number = 0;
        assert_int_equal(vq_axes_parse(answer, &axes), VQ_OK);
        vq_axes_free(&axes);
        assert_int_equal(vq_axes_names_parse(answer, &lines), VQ_OK);
        vq_lines_free(&lines);
        assert_int_equal(vq_lines_parse(answer, &lines), VQ_OK);
        vq_lines_free(&lines);
        assert_true(!vq_match_parse(answer, 9, &number) || number <= 9);
    }
    vq_free(text);
}

TEST(test_no_memory_at_any_point)
{
    static const char *const answers[] = {
        "- Tone:\n  High: warm\n  Low: cold\n- Tone!: High: warm Low: cold\n- Pace\n",
        "[{\"name\": \"Tone\", \"high\": \"warm\", \"low\": \"cold\"}, \"P: High: a Low: b\", "
        "\"x\"]",
    };
    for (size_t i = 0; i < VQ_COUNT(answers); i++) {
        struct vq_span answer = vq_span_str(answers[i]);
        struct vq_axes axes = {.count = 0};
        struct vq_lines lines = {.count = 0};
        uint64_t n = 1;
        for (enum vq_status status = VQ_NOMEM; status != VQ_OK; n++) {
            vq_alloc_fail_at(n);
            status = vq_axes_parse(answer, &axes);
            vq_alloc_fail_at(0);
            assert_true(status == VQ_OK || (status == VQ_NOMEM && axes.count == 0));
        }
        assert_true(n > 5);
        assert_true(axes.count >= 1);
        vq_axes_free(&axes);
        for (n = 1; n < 12; n++) {
            vq_alloc_fail_at(n);
            enum vq_status status = vq_axes_names_parse(answer, &lines);
            vq_alloc_fail_at(0);
            assert_true(status == VQ_OK || status == VQ_NOMEM);
            vq_lines_free(&lines);
        }
        for (n = 1; n < 12; n++) {
            vq_alloc_fail_at(n);
            enum vq_status status = vq_lines_parse(answer, &lines);
            vq_alloc_fail_at(0);
            assert_true(status == VQ_OK || status == VQ_NOMEM);
            vq_lines_free(&lines);
        }
    }
}
