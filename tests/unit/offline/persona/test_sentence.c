/* Sentences and words of a text, and sets of words. */

#include "tests/unit/test.h"

#include "offline/persona/sentence.h"

TEST(test_sentences)
{
    static const char text[] = "Hello, \"old friend\"! It\xE2\x80\x99s 3.5 miles\xE2\x80\x94no "
                               "more. \n\n- role-play\n* 'So' it ends";
    static const char *const expected[] = {" hello old friend ", " it's 3 5 miles no more ",
                                           " role play ", " so it ends "};
    static const char *const raw[] = {"Hello, \"old friend\"!",
                                      "It\xE2\x80\x99s 3.5 miles\xE2\x80\x94no more."};
    struct vq_sentence s;
    size_t at = 0;
    for (size_t i = 0; i < VQ_COUNT(expected); i++) {
        assert_true(vq_sentence_next(vq_span_str(text), &at, &s));
        assert_string_equal(s.words, expected[i]);
        assert_int_equal(s.bytes, strlen(s.words));
        if (i < VQ_COUNT(raw)) {
            assert_true(vq_span_eq(s.raw, vq_span_str(raw[i])));
        }
    }
    assert_false(vq_sentence_next(vq_span_str(text), &at, &s));
    at = 0;
    assert_false(vq_sentence_next(vq_span_str(" ... !?\n-- "), &at, &s));
    at = 0;
    assert_false(vq_sentence_next(vq_span("", 0), &at, &s));
    assert_false(vq_sentence_next(vq_span(NULL, 0), &at, &s));
}

TEST(test_a_long_sentence_is_several)
{
    static char text[5 * VQ_SENTENCE_BYTES_MAX];
    memset(text, 'x', sizeof(text));
    struct vq_sentence s;
    size_t at = 0;
    size_t n = 0;
    size_t bytes = 0;
    while (vq_sentence_next(vq_span(text, sizeof(text)), &at, &s)) {
        assert_true(s.bytes <= VQ_SENTENCE_BYTES_MAX);
        bytes += s.raw.bytes;
        n++;
    }
    assert_in_range(n, 5, 6);
    assert_int_equal(bytes, sizeof(text));
}

TEST(test_words_that_stand_together)
{
    struct vq_sentence s;
    size_t at = 0;
    assert_true(vq_sentence_next(vq_span_str("As a language model, I cannot."), &at, &s));
    assert_true(vq_sentence_has(&s, "language model"));
    assert_true(vq_sentence_has(&s, "as"));
    assert_true(vq_sentence_has(&s, "cannot"));
    assert_false(vq_sentence_has(&s, "guage model"));
    assert_false(vq_sentence_has(&s, "language mode"));
    assert_false(vq_sentence_has(&s, "can"));
    size_t words = 0;
    struct vq_span word;
    for (size_t w = 0; vq_word_next(&s, &w, &word);) {
        words++;
    }
    assert_int_equal(words, s.words_n);
    assert_int_equal(words, 6);
}

TEST(test_sets_of_content_words)
{
    struct vq_word_set set = {.n = 0};
    vq_word_set_add_content(&set,
                            vq_span_str("You keep the Lighthouse, and keep nets. Lighthouses!"));
    assert_int_equal(set.n, 3); /* keep, lighthouse, nets */
    assert_true(vq_word_set_has(&set, vq_span_str("lighthouses")));
    assert_true(vq_word_set_has(&set, vq_span_str("lighthouse's")));
    assert_false(vq_word_set_has(&set, vq_span_str("you")));
    assert_int_equal(vq_word_set_shared(&set, vq_span_str("A net, a NET and a lighthouse.")), 1);
    assert_int_equal(vq_word_set_shared(&set, vq_span_str("Nets, nets and a lighthouse.")), 2);
    assert_false(vq_word_is_content(vq_span_str("the")));
    assert_false(vq_word_is_content(vq_span_str("about")));
    assert_true(vq_word_is_content(vq_span_str("brig")));
}

TEST(test_a_set_that_is_full_takes_no_more)
{
    struct vq_word_set set = {.n = 0};
    size_t added = 0;
    for (uint32_t i = 0; i < 2 * VQ_WORD_SET_MAX; i++) {
        added += vq_word_set_add(&set, vq_span((const char *)&i, sizeof(i)));
    }
    assert_int_equal(added, VQ_WORD_SET_MAX);
    assert_false(vq_word_set_has(&set, vq_span_str("nothing of it")));
}
