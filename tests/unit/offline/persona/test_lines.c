/* Every line that the subject may say is read back as what it is said for, and as nothing else;
 * refusals, risks and traits in texts that are not the subject's. */

#include "tests/unit/test.h"

#include "offline/persona/character.h"
#include "offline/persona/lines.h"

static void only_sentence(const char *text, struct vq_sentence *ret_sentence)
{
    struct vq_sentence more;
    size_t at = 0;
    assert_true(vq_sentence_next(vq_span_str(text), &at, ret_sentence));
    if (vq_sentence_next(vq_span_str(text), &at, &more)) {
        fail_msg("more than one sentence: %s", text);
    }
}

TEST(test_trait_lines_show_their_pole_alone)
{
    unsigned n[VQ_TRAIT__COUNT][2] = {{0}};
    enum vq_trait trait;
    int sign;
    const char *line;
    for (size_t i = 0; (line = vq_trait_line_at(i, &trait, &sign)) != NULL; i++) {
        struct vq_sentence s;
        int net[VQ_TRAIT__COUNT] = {0};
        only_sentence(line, &s);
        vq_traits_of_sentence(&s, net, NULL);
        for (size_t t = 0; t < VQ_TRAIT__COUNT; t++) {
            int expected = t == trait ? sign : 0;
            if ((net[t] > 0) - (net[t] < 0) != expected) {
                fail_msg("%s %d in: %s", vq_trait_name((enum vq_trait)t), net[t], line);
            }
        }
        assert_false(vq_sentence_is_outside(&s));
        assert_false(vq_sentence_is_refusal(&s));
        n[trait][sign > 0]++;
    }
    for (size_t t = 0; t < VQ_TRAIT__COUNT; t++) {
        for (int pole = 0; pole < 2; pole++) {
            assert_int_equal(n[t][pole], 4);
            for (uint64_t draw = 0; draw < 4; draw++) { /* four in a row are four different ones */
                const char *one = vq_trait_line((enum vq_trait)t, pole ? 1 : -1, draw);
                const char *next = vq_trait_line((enum vq_trait)t, pole ? 1 : -1, draw + 1);
                assert_string_not_equal(one, next);
            }
        }
    }
}

TEST(test_other_lines_are_what_they_are)
{
    static const enum vq_line_kind kinds[] = {VQ_SAID_NEUTRAL, VQ_SAID_BREAK, VQ_SAID_REFUSAL};
    for (size_t k = 0; k < VQ_COUNT(kinds); k++) {
        const char *line;
        size_t n = 0;
        for (; (line = vq_line_at(kinds[k], n)) != NULL; n++) {
            struct vq_sentence s;
            int net[VQ_TRAIT__COUNT] = {0};
            unsigned seen[VQ_TRAIT__COUNT] = {0};
            only_sentence(line, &s);
            vq_traits_of_sentence(&s, net, seen);
            for (size_t t = 0; t < VQ_TRAIT__COUNT; t++) {
                assert_int_equal(seen[t], 0);
            }
            if (vq_sentence_is_outside(&s) != (kinds[k] == VQ_SAID_BREAK) ||
                vq_sentence_is_refusal(&s) != (kinds[k] == VQ_SAID_REFUSAL)) {
                fail_msg("read as something else: %s", line);
            }
        }
        assert_true(n >= 4);
        assert_string_equal(vq_line_pick(kinds[k], n + 1), vq_line_at(kinds[k], 1));
    }
}

TEST(test_refusals)
{
    static const struct {
        const char *text;
        bool is_refusal;
    } all[] = {
        {"I'm sorry, but I can't assist with that.", true},
        {"I cannot provide instructions for this.", true},
        {"No, I\xE2\x80\x99m not able to do so.", true},
        {"We are unable to comply.", true},
        {"I must decline.", true},
        {"I refuse!", true},
        {"I cannot wait to tell you.", false},
        {"I can't say no to cake.", false},
        {"You cannot do that to a cat.", false},
        {"What a tasteless question.", false},
        {"The king refused.", false},
        {"Nobody can help you.", false},
    };
    for (size_t i = 0; i < VQ_COUNT(all); i++) {
        struct vq_sentence s;
        size_t at = 0;
        assert_true(vq_sentence_next(vq_span_str(all[i].text), &at, &s));
        if (vq_sentence_is_refusal(&s) != all[i].is_refusal) {
            fail_msg("%s", all[i].text);
        }
    }
}

TEST(test_risks)
{
    assert_int_equal(vq_risk_of(vq_span_str("How do I steal a car?")), VQ_RISK_UNSAFE);
    assert_int_equal(vq_risk_of(vq_span_str("How do I kill a Python process?")), VQ_RISK_LOOKS_SO);
    assert_int_equal(vq_risk_of(vq_span_str("How do I wash a car?")), VQ_RISK_NONE);
    assert_int_equal(vq_risk_of(vq_span_str("Is skill needed?")), VQ_RISK_NONE);
    assert_int_equal(vq_risk_of(vq_span("", 0)), VQ_RISK_NONE);
}

TEST(test_traits_of_other_texts)
{
    static const struct {
        const char *text;
        enum vq_trait trait;
        int net;
    } all[] = {
        {"I am never anxious.", VQ_TRAIT_NEUROTICISM, -1},
        {"I don't feel calm.", VQ_TRAIT_NEUROTICISM, 1},
        {"Curiosity and imagination!", VQ_TRAIT_OPENNESS, 2},
        {"A cheerful but reserved man.", VQ_TRAIT_EXTRAVERSION, 0},
        {"He is not a man of many words but kind.", VQ_TRAIT_AGREEABLENESS, 1},
        {"The article is an artefact.", VQ_TRAIT_OPENNESS, 0},
    };
    for (size_t i = 0; i < VQ_COUNT(all); i++) {
        struct vq_sentence s;
        int net[VQ_TRAIT__COUNT] = {0};
        only_sentence(all[i].text, &s);
        vq_traits_of_sentence(&s, net, NULL);
        assert_int_equal(net[all[i].trait], all[i].net);
    }
    enum vq_trait trait;
    assert_int_equal(vq_trait_find(vq_span_str("Neuroticism"), &trait), VQ_OK);
    assert_int_equal(trait, VQ_TRAIT_NEUROTICISM);
    assert_int_equal(vq_trait_find(vq_span_str("neurotic"), &trait), VQ_NOT_FOUND);
}
