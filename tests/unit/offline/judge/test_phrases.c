

#include "tests/unit/test.h"

#include "offline/judge/axis_list.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static size_t words_in(const char *text)
{
    size_t words = 0;
    for (const char *at = text; *at != '\0'; at++) {
        words += !isspace((unsigned char)*at) && (at == text || isspace((unsigned char)at[-1]));
    }
    return words;
}

/* What is written is read back as what was meant, in the right direction, by both judges. */
TEST(every_phrase_reads_back_as_its_topic_alone)
{
    for (size_t t = 0; t < VQ_TOPIC__COUNT; t++) {
        const struct vq_phrase *phrases = NULL;
        size_t n = vq_phrases_of((enum vq_topic)t, &phrases);
        assert_in_range(n, 2, 3);
        for (size_t i = 0; i < 2 * n; i++) {
            const struct vq_phrase *p = &phrases[i / 2];
            struct vq_axis_reading reading;
            vq_axis_understand((enum vq_judge_kind)(i % 2), vq_span_str(p->name),
                               vq_span_str(p->low), vq_span_str(p->high), &reading);
            for (size_t other = 0; other < VQ_TOPIC__COUNT; other++) {
                bool good =
                    other == t ? reading.topics[other] > 0 : fabs(reading.topics[other]) <= 0;
                if (!good) {
                    fail_msg("\"%s\" of topic %zu weighs topic %zu by %f", p->name, t, other,
                             reading.topics[other]);
                }
            }
            assert_in_range(words_in(p->name), 1, 5);
            assert_in_range(words_in(p->low), 1, 10);
            assert_in_range(words_in(p->high), 1, 10);
        }
    }
}

TEST(swapping_the_ends_of_a_phrase_negates_every_weight)
{
    for (size_t t = 0; t < VQ_TOPIC__COUNT; t++) {
        const struct vq_phrase *p = vq_phrase_pick((enum vq_topic)t, t);
        struct vq_axis_weights straight;
        struct vq_axis_weights turned;
        vq_axis_read(VQ_JUDGE_KIND_A, vq_span_str(p->name), vq_span_str(p->low),
                     vq_span_str(p->high), &straight);
        vq_axis_read(VQ_JUDGE_KIND_A, vq_span_str(p->name), vq_span_str(p->high),
                     vq_span_str(p->low), &turned);
        assert_true(straight.any);
        for (size_t m = 0; m < VQ_MEASURE__COUNT; m++) {
            assert_true(fabs(straight.at[m] + turned.at[m]) < 1e-12);
        }
    }
}

static struct vq_listed_axis axis(const char *name, const char *low, const char *high)
{
    struct vq_listed_axis axis = {.text = {vq_span_str(name), vq_span_str(low), vq_span_str(high)}};
    vq_axis_understand(VQ_JUDGE_KIND_A, axis.text.name, axis.text.low, axis.text.high,
                       &axis.reading);
    return axis;
}

TEST(axes_are_the_same_by_what_they_measure)
{
    struct vq_listed_axis length = axis("Length", "brief", "long");
    struct vq_listed_axis terse = axis("Conciseness", "rambling", "succinct, few words");
    struct vq_listed_axis mirror = axis("Brevity", "lengthy", "short");
    struct vq_listed_axis humour = axis("Humour", "serious", "jokes");
    struct vq_listed_axis blue = axis("Blueness", "red", "blue");
    struct vq_listed_axis blue_too = axis("blueness!", "green", "sky");
    assert_true(vq_listed_same(&length, &terse));
    assert_true(vq_listed_same(&length, &mirror));
    assert_false(vq_listed_same(&length, &humour));
    assert_int_equal(blue.reading.main, VQ_TOPIC__COUNT);
    assert_false(vq_listed_same(&blue, &humour));
    assert_true(vq_listed_same(&blue, &blue_too));
    assert_false(vq_axis_same(&blue.reading, &blue_too.reading));
}

static void assert_span(struct vq_span span, const char *text)
{
    assert_int_equal(span.bytes, strlen(text));
    assert_memory_equal(span.at, text, span.bytes);
}

TEST(lists_are_read_with_bullets_numbers_and_lines_of_their_own)
{
    struct vq_axis_list list = {0};
    const char *text = "- Tone: High: warm Low: cold\n\n7. Size: Low: short; High: long\n"
                       "Form\n  High: lists\n  Low: plain prose\nOnly a name";
    assert_int_equal(vq_axis_list_read(VQ_JUDGE_KIND_A, vq_span_str(text), &list), VQ_OK);
    assert_int_equal(list.n, 4);
    assert_span(list.axes[0].text.name, "Tone");
    assert_span(list.axes[0].text.high, "warm");
    assert_span(list.axes[0].text.low, "cold");
    assert_int_equal(list.axes[0].number, 1);
    assert_int_equal(list.axes[1].number, 7);
    assert_span(list.axes[1].text.low, "short");
    assert_span(list.axes[2].text.name, "Form");
    assert_span(list.axes[2].text.low, "plain prose");
    assert_span(list.axes[3].text.name, "Only a name");
    assert_int_equal(list.axes[3].text.low.bytes, 0);
    vq_axis_list_free(&list);
    assert_int_equal(vq_axis_list_read(VQ_JUDGE_KIND_A, vq_span_str(" \n"), &list), VQ_OK);
    assert_int_equal(list.n, 0);
    vq_axis_list_free(&list);
}

TEST(the_list_is_bounded)
{
    struct vq_buf text;
    vq_buf_init(&text, 1 << 20);
    for (size_t i = 0; i < VQ_AXIS_LIST_MAX + 50; i++) {
        vq_buf_printf(&text, "N%zu: High: a Low: b\n", i);
    }
    struct vq_axis_list list = {0};
    assert_int_equal(vq_axis_list_read(VQ_JUDGE_KIND_A, vq_buf_span(&text), &list), VQ_OK);
    assert_int_equal(list.n, VQ_AXIS_LIST_MAX);
    vq_axis_list_free(&list);
    vq_buf_free(&text);
}

TEST(forms_look_as_said)
{
    static const struct {
        const char *form;
        const char *text;
    } cases[] = {
        {"low_first", "- N: Low: l; High: h\n- M: Low: k; High: i"},
        {"high_first", "- N: High: h Low: l\n- M: High: i Low: k"},
        {"headings", "**N**\n  High: h\n  Low: l\n**M**\n  High: i\n  Low: k"},
        {"numbered", "1. N:\n   Low: l\n   High: h\n2. M:\n   Low: k\n   High: i"},
        {"quoted", "- \"N: High: h Low: l\"\n- \"M: High: i Low: k\""},
        {"sub_bullets", "- N:\n    - High: h\n    - Low: l\n- M:\n    - High: i\n    - Low: k"},
        {"preamble", "Here is what I see in these texts:\n\n- N: Low: l; High: h\n- M: Low: k; "
                     "High: i"},
        {"fence", "```\n- N: High: h Low: l\n- M: High: i Low: k\n```"},
        {"json", "[\"N: High: h Low: l\", \"M: High: i Low: k\"]"},
        {"bold", "* **N:** **Low:** l; **High:** h\n* **M:** **Low:** k; **High:** i"},
    };
    const struct vq_axis_text axes[] = {{vq_span_str("N"), vq_span_str("l"), vq_span_str("h")},
                                        {vq_span_str("M"), vq_span_str("k"), vq_span_str("i")}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        enum vq_axes_form form;
        struct vq_buf text;
        vq_buf_init(&text, 4096);
        assert_int_equal(vq_axes_form_find(cases[i].form, &form), VQ_OK);
        vq_axes_write(axes, VQ_COUNT(axes), form, &text);
        assert_string_equal(text.at, cases[i].text);
        vq_buf_free(&text);
    }
    assert_int_equal(VQ_COUNT(cases), VQ_FORM__COUNT);
}
