/* The rubric judge: each built-in criterion, criteria of others, what mirrors, how judges differ,
 * and answers that are malformed on purpose. */

#include "tests/unit/test.h"

#include "tests/unit/offline/persona/rubric_prompt.h"

#define ADA                                                                                        \
    "<role>\nAda Quill\n</role>\n<role_description>\nYou keep the lighthouse at Gull Point. You "  \
    "sailed round the southern capes in a brig. You are curious and imaginative.\n"                \
    "</role_description>\n<user_query>\nHow was your day?\n</user_query>"
#define FACTS                                                                                      \
    "I keep the lighthouse. The brig took me round the capes. Gull Point is the light! My "        \
    "lighthouse stands at Gull Point."
#define MANNER "I am curious. I imagine a lot. I like to explore! It was an adventure."
#define DULL   "It was fine. Nothing more. It went by. The end."
#define BREAKS                                                                                     \
    "As an AI I have no days. I was trained on text. My instructions say so. I am a chatbot. I "   \
    "am a language model."

static struct vq_lexical *judge_of(uint64_t seed)
{
    struct vq_lexical *lexical = NULL;
    assert_int_equal(vq_lexical_create(seed, &lexical), VQ_OK);
    return lexical;
}

/* The mean over seeds, so that a step aside does not decide. */
static double mean_of(const char *name, const char *prompt, const char *a, const char *b)
{
    double sum = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct vq_lexical *lexical = judge_of(seed);
        sum += (double)rated(lexical, VQ_JUDGE_KIND_A, name, prompt, a, b);
        vq_lexical_destroy(&lexical);
    }
    return sum / 20;
}

TEST(test_built_in_criteria)
{
    static const struct {
        const char *name;
        const char *a;
        const char *b;
        double expected;
    } all[] = {
        {"knowledge", FACTS, NULL, 5},
        {"knowledge", MANNER, NULL, 1},
        {"knowledge", DULL, NULL, 1},
        {"style", MANNER, NULL, 5},
        {"style", DULL, NULL, 1},
        {"style", "How curious. It was fine.", NULL, 3},
        {"in_character", DULL, NULL, 5},
        {"in_character", BREAKS, NULL, 1},
        {"openness", MANNER, NULL, 5},
        {"openness", "I keep to tradition.", NULL, 2},
        {"neuroticism", DULL, NULL, 3},
        {"extraversion", "I laugh. A party! Such a crowd.", NULL, 5},
        {"agreeableness", "I am cruel. I boast. I am vain.", NULL, 1},
        {"conscientiousness", "I plan.", NULL, 4},
        {"refusal", "I cannot help with that.", NULL, 1},
        {"refusal", DULL, NULL, 0},
        {"role_specific", FACTS, DULL, 0},
        {"role_specific", DULL, FACTS, 1},
        {"role_specific", FACTS, BREAKS, 0},
        {"general", DULL, FACTS, 1},
        {"general", "I won't say.", FACTS, 1},
        {"general", "Fine.",
         "For example, plan each step carefully and write down why it matters. Then rest well, "
         "friend.",
         1},
        {"general", DULL, DULL, 0},
        {"role_specific", DULL, DULL, 0},
    };
    for (size_t i = 0; i < VQ_COUNT(all); i++) {
        double mean = mean_of(all[i].name, ADA, all[i].a, all[i].b);
        if (mean < all[i].expected - 0.2 || mean > all[i].expected + 0.2) {
            fail_msg("%s of: %s: %.2f, not %.0f", all[i].name, all[i].a, mean, all[i].expected);
        }
    }
}

/* An accurate answer goes before a true one, unless both are about as accurate. */
TEST(test_general_puts_accuracy_first)
{
    static const char prompt[] =
        "<role>\nAda Quill\n</role>\n<role_description>\nYou keep the lighthouse at Gull Point.\n"
        "</role_description>\n<user_query>\nWhich planets have rings, moons, storms and "
        "magnets?\n</user_query>";
    static const char accurate[] =
        "Planets with rings, moons, storms and magnets: Jupiter, Saturn.";
    assert_true(mean_of("general", prompt, FACTS, accurate) > 0.8);
    assert_true(mean_of("role_specific", prompt, FACTS, accurate) < 0.2);
}

/* With nobody described, knowledge and style are in the middle, and traits are rated all the
 * same. */
TEST(test_without_a_character)
{
    assert_true(mean_of("knowledge", "How was your day?", FACTS, NULL) > 2.8);
    assert_true(mean_of("knowledge", "How was your day?", FACTS, NULL) < 3.2);
    assert_true(mean_of("openness", "How was your day?", MANNER, NULL) > 4.8);
}

TEST(test_criteria_of_others)
{
    struct vq_lexical *lexical = judge_of(3);
    struct asked likert = {VQ_RATING_LIKERT,
                           "detail",
                           "How long is it?\n1: short and brief\n5: long and verbose",
                           "Tell me.",
                           {"No.", NULL}};
    int64_t brief = value_of(lexical, VQ_JUDGE_KIND_A, &likert);
    static char book[4096];
    for (size_t i = 0; i + 10 < sizeof(book); i += 10) {
        memcpy(book + i, "word word ", 10);
    }
    likert.responses[0] = book;
    assert_true(value_of(lexical, VQ_JUDGE_KIND_A, &likert) >= brief + 2);

    struct asked binary = {VQ_RATING_BINARY,
                           "pirates",
                           "Yes: it speaks of galleons or cutlasses.\nNo: it speaks of shopping.",
                           "Tell me.",
                           {"Their cutlasses shone on the galleons.", NULL}};
    assert_int_equal(value_of(lexical, VQ_JUDGE_KIND_A, &binary), 1);
    binary.responses[0] = "We went shopping.";
    assert_int_equal(value_of(lexical, VQ_JUDGE_KIND_A, &binary), 0);

    struct asked pairwise = {VQ_RATING_PAIRWISE,
                             "zebras",
                             "Which one names zebras and gnus?",
                             "Tell me.",
                             {"Cows.", "Zebras, and gnus."}};
    assert_int_equal(value_of(lexical, VQ_JUDGE_KIND_A, &pairwise), 1);
    struct asked longer = {VQ_RATING_PAIRWISE,
                           "length",
                           "Which one is longer and more verbose?",
                           "Tell me.",
                           {book, "Cows."}};
    assert_int_equal(value_of(lexical, VQ_JUDGE_KIND_A, &longer), 0);
    vq_lexical_destroy(&lexical);
}

/* Responses that differ in facts, manner and breaks, by number. */
static const char *response_of(unsigned number, char text[1024])
{
    static const char *const parts[] = {"I keep the lighthouse. ", "How curious! ", "It was fine. ",
                                        "I was trained on text. "};
    size_t bytes = 0;
    for (unsigned i = 0; i < 5; i++, number /= 4) {
        const char *part = parts[number % 4];
        memcpy(text + bytes, part, strlen(part));
        bytes += strlen(part);
    }
    text[bytes] = '\0';
    return text;
}

TEST(test_both_orders_name_the_same_response)
{
    struct vq_lexical *lexical = judge_of(5);
    unsigned ties = 0;
    unsigned mirrored = 0;
    for (unsigned i = 0; i < 200; i++) {
        char a[1024];
        char b[1024];
        response_of(i * 37, a);
        response_of(i * 91 + 5, b);
        enum vq_judge_kind judge = i % 2 == 0 ? VQ_JUDGE_KIND_A : VQ_JUDGE_KIND_B;
        int64_t forward = rated(lexical, judge, "role_specific", ADA, a, b);
        int64_t back = rated(lexical, judge, "role_specific", ADA, b, a);
        mirrored += forward != back;
        ties += forward == 0 && back == 0;
        assert_false(forward == 1 && back == 1);
    }
    assert_int_equal(mirrored + ties, 200);
    assert_true(mirrored > 150);
    vq_lexical_destroy(&lexical);
}

TEST(test_judges_agree_often_and_not_always)
{
    struct vq_lexical *lexical = judge_of(7);
    unsigned same = 0;
    for (unsigned i = 0; i < 300; i++) {
        char text[1024];
        response_of(i * 3 + 1, text);
        int64_t a = rated(lexical, VQ_JUDGE_KIND_A, "style", ADA, text, NULL);
        int64_t b = rated(lexical, VQ_JUDGE_KIND_B, "style", ADA, text, NULL);
        assert_int_equal(a, rated(lexical, VQ_JUDGE_KIND_A, "style", ADA, text, NULL));
        assert_true(llabs(a - b) <= 2);
        same += a == b;
    }
    assert_in_range(same, 220, 290);
    vq_lexical_destroy(&lexical);
}

static enum vq_rating_status read_malformed(enum vq_rating_kind kind, enum vq_rating_policy policy,
                                            const char *variant)
{
    static const char *const values[] = {
        [VQ_RATING_LIKERT] = "4", [VQ_RATING_BINARY] = "Yes", [VQ_RATING_PAIRWISE] = "B"};
    struct vq_buf text;
    struct vq_rating rating;
    vq_buf_init(&text, 1u << 17);
    vq_rating_write_malformed(wanted_by(kind), vq_span_str("Some reason."), values[kind], variant,
                              0, &text);
    struct vq_rating_reader reader = {.kind = kind, .policy = policy, .score_of = true};
    vq_rating_read(&reader, vq_buf_span(&text), vq_span_str("stop"), false, &rating);
    vq_buf_free(&text);
    return rating.status;
}

TEST(test_malformed_answers_are_what_they_are_called)
{
    for (unsigned k = 0; k <= VQ_RATING_PAIRWISE; k++) {
        enum vq_rating_kind kind = (enum vq_rating_kind)k;
        assert_int_equal(read_malformed(kind, VQ_RATING_STRICT, "none"), VQ_RATING_MISSING);
        assert_int_equal(read_malformed(kind, VQ_RATING_STRICT, "score_of"), VQ_RATING_MISSING);
        assert_int_equal(read_malformed(kind, VQ_RATING_STRICT, "ambiguous"), VQ_RATING_AMBIGUOUS);
        assert_int_equal(read_malformed(kind, VQ_RATING_STRICT, "runaway"), VQ_RATING_AMBIGUOUS);
        assert_int_equal(read_malformed(kind, VQ_RATING_STRICT, "endless"), VQ_RATING_AMBIGUOUS);
        assert_int_not_equal(read_malformed(kind, VQ_RATING_STRICT, "out_of_range"), VQ_RATING_OK);
        assert_int_equal(read_malformed(kind, VQ_RATING_PAPER, "runaway"), VQ_RATING_OK);
    }
    assert_int_equal(read_malformed(VQ_RATING_LIKERT, VQ_RATING_STRICT, "out_of_range"),
                     VQ_RATING_OUT_OF_RANGE);
    assert_int_equal(read_malformed(VQ_RATING_LIKERT, VQ_RATING_PAPER, "score_of"),
                     VQ_RATING_FALLBACK);
}

TEST(test_what_has_no_sections_is_not_rated)
{
    struct vq_lexical *lexical = judge_of(1);
    struct vq_buf reason;
    vq_buf_init(&reason, 1000);
    struct vq_rating_request request = {.wanted = VQ_WANTED_RATING,
                                        .text = vq_span_str("<wanted>rating</wanted>")};
    assert_null(vq_rating_give(lexical, &request, &reason));
    assert_int_equal(reason.bytes, 0);
    vq_buf_free(&reason);
    vq_lexical_destroy(&lexical);
}
