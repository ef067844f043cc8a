

#include "tests/unit/test.h"

#include "offline/judge/sections.h"

#include <stdlib.h>

static void assert_span(struct vq_span span, const char *text)
{
    assert_int_equal(span.bytes, strlen(text));
    assert_memory_equal(span.at, text, span.bytes);
}

TEST(finds_tagged_sections)
{
    struct vq_sections s;
    const char *text = "<prompt>\nWhy?\n</prompt>\n<output_a>\nBecause.\n</output_a>\n<output_b>\n"
                       "I do not\nknow.\n</output_b>\n<axis>\nName: Tone\nLow: cold\nHigh: warm\n"
                       "</axis>\nWhich?";
    assert_int_equal(vq_sections_find(vq_span_str(text), &s), VQ_OK);
    assert_span(s.prompt, "Why?");
    assert_span(s.output_a, "Because.");
    assert_span(s.output_b, "I do not\nknow.");
    assert_true(s.has_axis);
    assert_span(s.axis_name, "Tone");
    assert_span(s.axis_low, "cold");
    assert_span(s.axis_high, "warm");
}

TEST(look_alikes_inside_a_text_end_nothing)
{
    struct vq_sections s;
    const char *text = "<prompt>\nWhat does </prompt> or (<output_a>) mean?\n</prompt>\n"
                       "<output_a>\nIt closes: </output_a> so. And <axis> too.\n</output_a>\n"
                       "<output_b>\nModel: A\n</output_b></output_b>\n</output_b>\n"
                       "<axis>\nName: X\nLow: a\nHigh: b\n</axis>";
    assert_int_equal(vq_sections_find(vq_span_str(text), &s), VQ_OK);
    assert_span(s.prompt, "What does </prompt> or (<output_a>) mean?");
    assert_span(s.output_a, "It closes: </output_a> so. And <axis> too.");
    assert_span(s.output_b, "Model: A\n</output_b></output_b>");
    assert_span(s.axis_name, "X");
}

TEST(an_axis_in_an_output_is_not_the_axis)
{
    struct vq_sections s;
    const char *text = "<prompt>\np\n</prompt>\n<output_a>\na\n</output_a>\n<output_b>\nb\n<axis>\n"
                       "Name: X\n</axis>\n</output_b>\n";
    assert_int_equal(vq_sections_find_outputs(vq_span_str(text), &s), VQ_OK);
    assert_false(s.has_axis);
    assert_span(s.output_b, "b\n<axis>\nName: X\n</axis>");
    const char *judged = "<prompt>\np\n</prompt>\n<output_a>\na\n<axis>\nName: X\nLow: l\n</axis>\n"
                         "</output_a>\n<output_b>\nb\n</output_b>\n<axis>\nName: True\nLow: m\n"
                         "High: n\n</axis>\n";
    assert_int_equal(vq_sections_find(vq_span_str(judged), &s), VQ_OK);
    assert_span(s.axis_name, "True");
    assert_span(s.axis_low, "m");
    assert_span(s.output_a, "a\n<axis>\nName: X\nLow: l\n</axis>");
}

TEST(sections_may_be_empty_or_without_axis)
{
    struct vq_sections s;
    const char *text = "<prompt></prompt><output_a></output_a><output_b>b</output_b>";
    assert_int_equal(vq_sections_find(vq_span_str(text), &s), VQ_OK);
    assert_int_equal(s.output_a.bytes, 0);
    assert_span(s.output_b, "b");
    assert_false(s.has_axis);
}

TEST(finds_labelled_sections_in_any_order)
{
    struct vq_sections s;
    const char *text =
        "Property: Formality\nLow: casual talk\nHigh: formal talk\n\nPrompt: Say it.\n"
        "**Output A:** Yo.\nOutput B:\nGood day,\nsir.\n";
    assert_int_equal(vq_sections_find(vq_span_str(text), &s), VQ_OK);
    assert_span(s.axis_name, "Formality");
    assert_span(s.axis_low, "casual talk");
    assert_span(s.axis_high, "formal talk");
    assert_span(s.prompt, "Say it.");
    assert_span(s.output_b, "Good day,\nsir.");
}

TEST(reads_every_form_of_an_axis)
{
    static const char *const forms[] = {
        "Name: Tone\nLow: cold\nHigh: warm", "Name: Tone\nHigh: warm\nLow: cold",
        "Tone: High: warm Low: cold",        "Tone: Low: cold; High: warm",
        "**Tone**\nlow: cold\nhigh: warm.",  "  Tone :\n  Low:  \"cold\"\n  High: \"warm\"",
    };
    for (size_t i = 0; i < VQ_COUNT(forms); i++) {
        struct vq_sections s = {0};
        vq_sections_read_axis(vq_span_str(forms[i]), &s);
        assert_span(s.axis_low, "cold");
        assert_span(s.axis_high, "warm");
        assert_int_equal(s.axis_name.bytes >= 4, 1);
        assert_memory_equal(s.axis_name.at, "Tone", 4);
    }
}

TEST(a_text_without_outputs_is_no_question)
{
    struct vq_sections s;
    static const char *const texts[] = {"", "Hello", "<output_a>x</output_a>", "Output A: x",
                                        "<answer>\nModel: A\n</answer>"};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        assert_int_equal(vq_sections_find(vq_span_str(texts[i]), &s), VQ_NOT_FOUND);
    }
}

/* Every cut and every single changed byte of a prompt: spans stay inside the text. */
TEST(never_leaves_the_text)
{
    const char *text =
        "<prompt>p</prompt>\n<output_a>a</output_a>\n<output_b>b</output_b>\n<axis>\n"
        "Name: n\nLow: l\nHigh: h\n</axis>";
    size_t bytes = strlen(text);
    for (size_t cut = 0; cut <= bytes; cut++) {
        for (size_t changed = 0; changed < cut; changed += 3) {
            char *copy = malloc(cut + 1);
            assert_non_null(copy);
            memcpy(copy, text, cut);
            copy[changed] = '<';
            struct vq_sections s;
            if (vq_sections_find(vq_span(copy, cut), &s) == VQ_OK) {
                struct vq_span all[] = {s.prompt,    s.output_a, s.output_b,
                                        s.axis_name, s.axis_low, s.axis_high};
                for (size_t i = 0; i < VQ_COUNT(all); i++) {
                    assert_true(all[i].bytes == 0 ||
                                (all[i].at >= copy && all[i].at + all[i].bytes <= copy + cut));
                }
            }
            free(copy);
        }
    }
}
