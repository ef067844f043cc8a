/* Who is played, by name and description or by a system message, and what texts show of it. */

#include "tests/unit/test.h"

#include "offline/persona/character.h"

#define ABOUT                                                                                      \
    "You keep the lighthouse at Gull Point. You are curious and imaginative. You are a little "    \
    "shy."

static struct vq_character read(const char *name, const char *description)
{
    struct vq_character c;
    vq_character_read(vq_span_str(name), vq_span_str(description), &c);
    return c;
}

TEST(test_profile_by_trait_words)
{
    struct vq_character c = read("Ada", ABOUT);
    assert_true(c.exists);
    assert_int_equal(c.profile[VQ_TRAIT_OPENNESS], 2);
    assert_int_equal(c.profile[VQ_TRAIT_EXTRAVERSION], -1);
    assert_int_equal(c.profile[VQ_TRAIT_CONSCIENTIOUSNESS], 0);
    c = read("", " \n");
    assert_false(c.exists);
}

/* So that a description of any words has a manner, and always the same. */
TEST(test_a_profile_where_no_word_gives_one)
{
    unsigned used = 0;
    for (char name[] = "A"; name[0] <= 'Z'; name[0]++) {
        struct vq_character c = read(name, "You live in a house.");
        struct vq_character again = read(name, "You live in a house.");
        unsigned n = 0;
        for (size_t t = 0; t < VQ_TRAIT__COUNT; t++) {
            assert_int_equal(c.profile[t], again.profile[t]);
            n += c.profile[t] != 0;
            used |= (unsigned)(c.profile[t] != 0) << t;
        }
        assert_int_equal(n, 1);
    }
    assert_int_equal(used, (1u << VQ_TRAIT__COUNT) - 1);
}

TEST(test_system_messages)
{
    static const struct {
        const char *system;
        const char *name;
        const char *description;
    } all[] = {
        {"You take on the role of Ada Quill. You keep a light.\nYou mend nets.\n\n**Being Ada "
         "Quill means:**\n1. x",
         "Ada Quill", "You keep a light.\nYou mend nets."},
        {"detailed thinking: off\n\nPlay The Role Of Dr. No. You own an island.", "Dr. No",
         "You own an island."},
        {"the role of Ada", "Ada", ""},
        {"the role of Ada\nYou sing.", "Ada", "You sing."},
    };
    struct vq_character c;
    for (size_t i = 0; i < VQ_COUNT(all); i++) {
        vq_character_of_system(vq_span_str(all[i].system), &c);
        assert_true(c.exists);
        assert_true(vq_span_eq(c.name, vq_span_str(all[i].name)));
        assert_true(vq_span_eq(c.description, vq_span_str(all[i].description)));
    }
    vq_character_of_system(vq_span_str("detailed thinking: off"), &c);
    assert_false(c.exists);
    vq_character_of_system(vq_span("", 0), &c);
    assert_false(c.exists);
}

TEST(test_what_a_text_shows)
{
    struct vq_character c = read("Ada Quill", ABOUT);
    struct vq_showing s;
    vq_character_showing(
        &c, vq_span_str("Where do you live?"),
        vq_span_str("I keep a lighthouse. Ada Quill, that is me. How curious! I was "
                    "trained on text about a lighthouse at Gull Point. I cannot do "
                    "it. The sky is blue. I laugh at parties."),
        &s);
    assert_int_equal(s.sentences, 7);
    assert_int_equal(s.facts, 2);
    assert_int_equal(s.manner, 1);
    assert_int_equal(s.outside, 1);
    assert_int_equal(s.refusals, 1);
    assert_int_equal(s.traits[VQ_TRAIT_OPENNESS], 1);
    assert_int_equal(s.traits[VQ_TRAIT_EXTRAVERSION], 1);
    /* what the question says already is no fact */
    vq_character_showing(&c, vq_span_str("Do you keep a lighthouse?"),
                         vq_span_str("I keep a lighthouse."), &s);
    assert_int_equal(s.facts, 0);
    vq_character_showing(&c, vq_span("", 0), vq_span("", 0), &s);
    assert_int_equal(s.sentences, 0);
}
