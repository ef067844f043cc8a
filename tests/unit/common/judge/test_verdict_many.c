/* The forms of "Several vibes in one answer" in docs/method/verdicts.md. */
#include "tests/unit/test.h"

#include "common/judge/verdict_many.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <string.h>

#define COUNT 5u

/* Verdicts as signs: A B = N ? - for A, B, equal, N/A, unsure, none. */
static void check_ended(const char *answer, enum vq_ending ending, const char *want)
{
    static const char signs[] = {
        [VQ_OUTCOME_FIRST] = 'A',   [VQ_OUTCOME_SECOND] = 'B',   [VQ_OUTCOME_EQUAL] = '=',
        [VQ_OUTCOME_NA] = 'N',      [VQ_OUTCOME_UNSURE] = '?',   [VQ_OUTCOME_UNPARSEABLE] = '-',
        [VQ_OUTCOME_REFUSED] = 'r', [VQ_OUTCOME_TRUNCATED] = '.'};
    enum vq_outcome verdicts[VQ_VERDICTS_MAX];
    char got[COUNT + 1] = "";
    uint32_t votes, counted = 0;
    assert_int_equal(vq_verdicts_many(vq_span_str(answer), ending, COUNT, verdicts, &votes), VQ_OK);
    for (uint32_t k = 0; k < COUNT; k++) {
        assert_true(verdicts[k] < VQ_COUNT(signs) && signs[verdicts[k]] != '\0');
        got[k] = signs[verdicts[k]];
        counted += vq_outcome_is_vote(verdicts[k]);
    }
    if (strcmp(got, want) != 0) {
        fail_msg("%s\nreads as %s, not %s", answer, got, want);
    }
    assert_int_equal(votes, counted);
}

static void check(const char *answer, const char *want)
{
    check_ended(answer, VQ_ENDING_ORDINARY, want);
}

static void cut(const char *answer, const char *want)
{
    check_ended(answer, VQ_ENDING_CUT, want);
}

TEST(the_form_that_is_asked_for)
{
    check("Analysis 1: x\nProperty 1: A\nAnalysis 2: y\nProperty 2: equal\nAnalysis 3: z\n"
          "Property 3: N/A\nAnalysis 4: z\nProperty 4: unsure\nAnalysis 5: z\nProperty 5: B",
          "A=N?B");
    check("Property 5: A\nProperty 1: B", "B---A"); /* in any order */
    check("Property 1: A\nAnalysis: over\nmore\nthan one line\nProperty 2: B", "AB---");
    check("", "-----");
    check("The two texts are of different kinds.", "-----");
}

TEST(labels_by_the_rules_of_one_verdict)
{
    check("Property 1: Output A\nProperty 2: [B]\nProperty 3: {A}\nProperty 4: tie\n"
          "Property 5: neither",
          "ABA==");
    check("Property 1: a\nProperty 2: a lot\nProperty 3: Both\nProperty 4: Best is A\n"
          "Property 5: A or B",
          "A-=--");
    check("Property 1: EQUAL\nProperty 2: UNSURE\nProperty 3: not A\nProperty 4: none\n"
          "Property 5: A, as it is warmer",
          "=?-NA");
    check("Property 1: B\nProperty 1: A", "A----"); /* the last one counts */
    check("Property 1: A\nSo much for Property 1: B", "A----");
}

TEST(marks_around_and_names_behind)
{
    check("**Property 1:** A\n**Property 2**: B\n### Property 3: A\n- Property 4: B\n"
          "> `Property 5`: A",
          "ABABA");
    check("Property 1 (Formality): A\nProperty 2 - Warmth: B\nProperty 3: Tone: equal\n"
          "Property #4: A\nproperty_5 = B",
          "AB=AB");
    check("Axis 1: A\nVibe 2: B\nDimension 3: A\nVerdict 4: B\nModel 5: A", "ABABA");
    check("1. Property 1: A\n2. Property 2: B", "AB---");
    check("Property 1: Model: A\nProperty 2: Analysis: longer. Model: B", "AB---");
    check("Property 1: A, Property 2: B; Property 3: equal", "AB=--");
    check("In short: Property 1: A and Property 2: B", "AB---");
}

TEST(blocks)
{
    check("Property 1: Formality\nAnalysis: x\nModel: A\n\nProperty 2: Warmth\nModel: B", "AB---");
    check("Property 1\nA\nProperty 2:\n**B**\n", "AB---");
    check("### 1. Formality\nModel: A\n### 2. Warmth\nLabel: B", "AB---");
    check("Property 1:\nAnalysis 1:\n1. long\n2. A is warm\nModel: B", "B----");
    check("Property 1: A\nModel: B", "A----"); /* a verdict that stands is not taken over */
}

TEST(bare_numbers)
{
    check("1. A\n2) Model: B\n(3) equal\n**4.** unsure\n5: N/A", "AB=?N");
    check("1: A, 2: B, 3: equal, 4: A, 5: B", "AB=AB");
    check("1. Formality: A\n2. Warmth: B", "AB---");
    check("1. A uses more words\n2. B is short", "-----"); /* a list of remarks */
    check("Property 1: A\n2. B", "A----");                 /* beside real ones they mean nothing */
}

TEST(json)
{
    check("{\"1\": \"A\", \"2\": \"B\", \"5\": \"equal\"}", "AB--=");
    check("```json\n{\"Property 1\": \"A\", \"property_2\": {\"label\": \"B\"}}\n```", "AB---");
    check("[\"A\", \"B\", \"equal\", \"N/A\", \"unsure\"]", "AB=N?");
    check("[\"A\", \"B\"]", "-----"); /* which of the five? */
    check("[{\"property\": 1, \"model\": \"A\"}, {\"model\": \"B\", \"property\": \"Property 2\"}]",
          "AB---");
    check("Here:\n{\"verdicts\": [{\"axis\": 3, \"verdict\": \"B\", \"analysis\": \"Property 1: "
          "A\"}]}",
          "--B--");
    check("{\"1\": \"A\", \"1\": \"B\"}\n", "B----");
    check("{\"1\": \"A or B\", \"2\": null, \"3\": 1, \"9\": \"A\"}", "-----");
    check("{\"1\": \"A\", \"2\": \"Bo", "A----"); /* cut off */
    check("{\n\"Property 1\": \"A\",\n\"Property 2\": \"eq", "A----");
}

TEST(thoughts_and_numbers_that_are_none)
{
    check("<think>Property 1: A</think>Property 2: B", "-B---");
    check("<think>\n[\"B\",\"B\",\"B\",\"B\",\"B\"]</think>\nProperty 1: A", "A----");
    check("<think>Property 1: A", "-----");
    check("Property 0: A\nProperty 6: B\nProperty 12: A\nProperty 3rd: A\nProperty 1.5: A",
          "-----");
    check("Properties 1: A\nProperty one: B", "-----");
    check("Analysis 2: unlike Property 1: B is longer\nProperty 1: A", "A----");
}

TEST(a_cut_answer_gives_what_is_over)
{
    cut("Analysis 1: x\nProperty 1: A\nAnalysis 2: y\nProperty 2: equal\nAnalysis 3: z", "A=...");
    cut("Property 1: A\nProperty 2: B", "AB..."); /* the last one is whole */
    cut("Property 1: A\nProperty 2:", "A....");
    cut("Property 1: A\nProperty 2: B or", "A....");
    cut("Property 1: A\nProperty 2: B?", "A....");
    cut("Property 1: A\nProperty 2: Model", "A....");
    cut("Property 1: A\nProperty 2: B, as it is\nProperty 3: B, as it", "AB...");
    cut("Property 1: A\nProperty 2: **B", "A....");
    cut("Property 1\nModel: A\nProperty 2\nModel: B", "AB...");
    cut("Property 1\nModel: A\nProperty 2\nModel: B is", "A....");
    cut("I would say Property 1: A here\nProperty 2: B\n", ".B..."); /* inside a line */
    cut("Analysis 1: A actually answers.\nProperty 1: A\nAnalysis 2: but", "A....");
    cut("1. A\n2. B\n3. eq", "AB...");
    cut("", ".....");
    cut("<think>Property 1: A\nProperty 2: B\n", ".....");
    cut("<think>Property 1: A</think>Property 1: B\nProp", "B....");
}

TEST(a_cut_answer_that_may_have_changed_its_mind)
{
    cut("Property 1: A\nProperty 2: B\nWait, the second text is warmer", ".....");
    cut("Property 1: A\nBut B is warmer, so\nProperty 2: B\n", ".B...");
    cut("Draft:\nProperty 1: A\nProperty 2: B\n", ".....");
    cut("Property 1: A (draft)\nProperty 2: B\n", ".....");
    cut("Draft:\nProperty 1: A\nProperty 2: B\nFinal:\nProperty 1: B\nProp", "B....");
    cut("Property 1: A\nProperty 2: B\nProperty 1: A\nProper", "A....");
    cut("1: A\n2: B\n3: A\n1: B", "B....");
}

TEST(cut_json)
{
    cut("{\"1\": \"A\", \"2\": \"B\", \"3\": \"A", "AB...");
    cut("{\"1\": \"A\", \"2\": \"B\"", "AB...");
    cut("{\"1\": \"A\", \"2\": \"B\"}", "AB...");
    cut("```json\n{\"1\": \"A\", \"2\": \"B\"}\n```\n", "AB...");
    cut("{\n  \"1\": \"A\",\n  \"2\": \"eq", "A....");
    cut("[\"A\", \"B\", \"A\", \"A\"", ".....");
    cut("{\"1\": \"A\"}\nWait, this was a", ".....");
}

TEST(other_endings)
{
    check_ended("Property 1: A\nProperty 2: B\n", VQ_ENDING_UNKNOWN, ".....");
    check_ended("Property 1: A\nProperty 2: B\n", VQ_ENDING_REFUSED, "rrrrr");
}

/* A long answer takes no longer than its length. */
TEST(long_answers)
{
    static const char *const parts[] = {
        "Property 1 (", "Property 1: ", "1. ,",
        "{[",           "a: ",          "[{\"property\": 1, \"model\": \"A\"},\n"};
    char *text = vq_alloc(1, VQ_ANSWER_BYTES_MAX + 1);
    assert_non_null(text);
    for (size_t k = 0; k < VQ_COUNT(parts); k++) {
        size_t bytes = strlen(parts[k]);
        for (size_t at = 0; at < VQ_ANSWER_BYTES_MAX; at++) {
            text[at] = parts[k][at % bytes];
        }
        enum vq_outcome verdicts[VQ_VERDICTS_MAX];
        uint32_t votes;
        assert_int_equal(vq_verdicts_many(vq_span(text, VQ_ANSWER_BYTES_MAX),
                                          k % 2 == 0 ? VQ_ENDING_ORDINARY : VQ_ENDING_CUT,
                                          VQ_VERDICTS_MAX, verdicts, &votes),
                         VQ_OK);
        assert_true(votes <= VQ_VERDICTS_MAX);
    }
    vq_free(text);
}
