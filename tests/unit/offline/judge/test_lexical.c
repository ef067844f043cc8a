

#include "tests/unit/test.h"

#include "common/base/rng.h"
#include "offline/judge/lexical.h"

#include <stdio.h>
#include <stdlib.h>

#define AXES_MAX 32

struct axis {
    char name[128];
    char low[256];
    char high[256];
};

/* Takes the text after "KEY: ", without quotes. */
static bool take(const char *line, const char *key, char *to, size_t bytes)
{
    const char *at = strstr(line, key);
    if (at == NULL) {
        return false;
    }
    at += strlen(key);
    at += strspn(at, " \"");
    (void)snprintf(to, bytes, "%s", at);
    to[strcspn(to, "\"\n")] = '\0';
    return true;
}

static size_t load_presets(struct axis axes[AXES_MAX])
{
    FILE *file = fopen(VQ_SOURCE_DIR "/prompts/preset-vibes.yaml", "r");
    assert_non_null(file);
    char line[512];
    size_t n = 0;
    while (fgets(line, sizeof(line), file) != NULL && n < AXES_MAX) {
        if (line[0] == '#') {
            continue;
        }
        if (take(line, "- name: ", axes[n].name, sizeof(axes[n].name))) {
            n++;
        } else if (n > 0) {
            (void)take(line, "  low: ", axes[n - 1].low, sizeof(axes[n - 1].low));
            (void)take(line, "  high: ", axes[n - 1].high, sizeof(axes[n - 1].high));
        }
    }
    (void)fclose(file);
    return n;
}

static struct vq_sections question(const struct axis *axis, const char *a, const char *b)
{
    return (struct vq_sections){.prompt = vq_span_str("What now?"),
                                .output_a = vq_span_str(a),
                                .output_b = vq_span_str(b),
                                .axis_name = vq_span_str(axis->name),
                                .axis_low = vq_span_str(axis->low),
                                .axis_high = vq_span_str(axis->high),
                                .has_axis = true};
}

/* One of two texts for each preset, the second clearly higher. */
static const struct {
    const char *name;
    const char *lower;
    const char *higher;
} clear_cases[] = {
    {"Assertiveness", "Perhaps you could try it. It might help, maybe. It depends.",
     "You must do it. It is the only way. Always start with this, without doubt."},
    {"Detail & Elaboration", "Use salt.",
     "Use salt when the water boils, about 10 grams for each litre, because it needs time to "
     "spread. For example, "
     "pasta for 4 people wants 4 litres and a pan that is wide enough to stir it."},
    {"Formality", "Hey, it's super easy, you'll love it! Don't worry, it's just a bit of stuff.",
     "It is advisable to obtain sufficient information prior to the commencement of the "
     "procedure."},
    {"Emotional Tone", "The train leaves at nine from the second platform.",
     "I am so happy for you! What a joy, I love it and I hope you feel proud!"},
    {"Creativity & Originality", "It is a city with many streets and houses.",
     "Imagine the city as a garden: it opens like a flower, as if the streets were a story and a "
     "dream."},
    {"Explicitness", "Some things take a while, and various stuff happens somehow.",
     "It takes exactly 12 minutes at 180 degrees, specifically at least 10 minutes per side."},
    {"Humor and Playfulness", "The report is due on Monday and needs two signatures.",
     "Spoiler: my pan is a wizard, haha! A silly joke, but it is funny, lol."},
    {"Engagement", "The device has two parts.",
     "What do you think? Would you try it with your own friends? Let's see!"},
    {"Logical Rigor", "It is so. People say it. That is all.",
     "First, the sum is even, because both terms are even. Therefore it is divisible by 2, so that "
     "the claim follows."},
    {"Conciseness",
     "Well, you know, it is really just basically a question of what you would actually like to do "
     "in the end, and of "
     "course there are very many ways to go about it, quite honestly.",
     "Do it now."},
};

TEST(every_preset_is_understood_and_points_the_right_way)
{
    struct axis axes[AXES_MAX] = {0};
    size_t n = load_presets(axes);
    assert_int_equal(n, VQ_COUNT(clear_cases));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(axes[i].name, clear_cases[i].name);
        for (int kind = 0; kind < VQ_JUDGE_KIND__COUNT; kind++) {
            /* Offline-b reads creativity as choice of words, in which the two texts hardly differ.
             */
            if (kind == VQ_JUDGE_KIND_B && strncmp(axes[i].name, "Creativity", 10) == 0) {
                continue;
            }
            struct vq_sections q = question(&axes[i], clear_cases[i].lower, clear_cases[i].higher);
            struct vq_buf analysis;
            vq_buf_init(&analysis, 4096);
            enum vq_opinion opinion =
                vq_lexical_judge(*state, (enum vq_judge_kind)kind, &q, 0, &analysis);
            if (opinion != VQ_OPINION_B) {
                fail_msg("%s, judge %d: %s (%s)", axes[i].name, kind, vq_opinion_text(opinion),
                         analysis.at);
            }
            vq_buf_free(&analysis);
        }
    }
}

TEST(other_axes_are_understood_too)
{
    static const struct {
        struct axis axis;
        const char *lower;
        const char *higher;
    } cases[] = {
        {{"Structure", "plain prose", "bullet lists and headings"},
         "One, two and three.",
         "# Plan\n- one\n- two\n- **three**"},
        {{"Questions", "asks nothing", "asks many questions"}, "Done.", "Why? When? How?"},
        {{"Length", "less", "more"},
         "Short.",
         "A text that is a good deal longer than the other text beside it, by far."},
        {{"Formality", "not formal", "formal"},
         "hey it's cool, don't",
         "It is required to obtain sufficient funds."},
        {{"Courtesy", "blunt", "polite"},
         "Go away.",
         "Thank you, please feel free to ask. I appreciate it."},
        {{"Numbers", "few numbers", "many numbers and statistics"},
         "It is big.",
         "It is 12 by 15 and 3 high."},
        {{"Citations", "unsupported claims", "cites sources"},
         "It is so.",
         "According to a study, published in a journal, research shows it."},
        {{"Hedging", "plain", "hedged and tentative"},
         "It works.",
         "It might perhaps work, possibly, it seems."},
        {{"Examples", "stays abstract", "gives concrete examples"},
         "It is large.",
         "For example, a whale, such as this one."},
        {{"Warmth", "cold and curt", "warm and friendly"},
         "No.",
         "Hello dear friend, happy to help you!"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_sections q = question(&cases[i].axis, cases[i].lower, cases[i].higher);
        enum vq_opinion opinion = vq_lexical_judge(*state, VQ_JUDGE_KIND_A, &q, 0, NULL);
        if (opinion != VQ_OPINION_B) {
            fail_msg("%s: %s", cases[i].axis.name, vq_opinion_text(opinion));
        }
    }
}

TEST(an_axis_of_unknown_words_is_not_applicable)
{
    static const struct axis axes[] = {
        {"Colour", "blue as the sea", "green as the grass"},
        {"", "", ""},
        {"Formality", "left", "right"}, /* the name alone gives no direction */
        {"Formality", "formal", "formal"},
    };
    for (size_t i = 0; i < VQ_COUNT(axes); i++) {
        struct vq_sections q =
            question(&axes[i], "Yes!", "It is required to obtain sufficient funds.");
        assert_int_equal(vq_lexical_judge(*state, VQ_JUDGE_KIND_A, &q, 0, NULL), VQ_OPINION_NA);
        assert_int_equal(vq_lexical_judge(*state, VQ_JUDGE_KIND_B, &q, 0, NULL), VQ_OPINION_NA);
    }
}

static const char *const vocabulary[] = {
    "maybe",     "must",   "happy!",  "the",      "city",        "12",       "because", "therefore",
    "you",       "don't",  "exactly", "some",     "for example", "like a",   "story",   "?",
    "haha",      "please", "well",    "requires", "information", "\n- item", "\n",      "just",
    "wonderful", "a",      "of",      "Imagine",  "I",           "it's"};

static void random_text(struct vq_rng *rng, char *to, size_t bytes)
{
    size_t at = 0;
    size_t words = vq_rng_below(rng, 40);
    to[0] = '\0';
    for (size_t i = 0; i < words && at + 32 < bytes; i++) {
        at += (size_t)snprintf(to + at, bytes - at, "%s ",
                               vocabulary[vq_rng_below(rng, VQ_COUNT(vocabulary))]);
    }
}

static enum vq_opinion with_swapped_ends(struct vq_lexical *lexical, enum vq_judge_kind kind,
                                         struct vq_sections q)
{
    struct vq_span low = q.axis_low;
    q.axis_low = q.axis_high;
    q.axis_high = low;
    return vq_lexical_judge(lexical, kind, &q, 0, NULL);
}

static enum vq_opinion with_swapped_outputs(struct vq_lexical *lexical, enum vq_judge_kind kind,
                                            struct vq_sections q)
{
    struct vq_span a = q.output_a;
    q.output_a = q.output_b;
    q.output_b = a;
    return vq_lexical_judge(lexical, kind, &q, 0, NULL);
}

/* Decision 15: both symmetries hold exactly, noise and thresholds included. */
TEST(swapping_mirrors_every_opinion)
{
    struct axis axes[AXES_MAX] = {0};
    size_t n = load_presets(axes);
    struct vq_rng rng;
    vq_rng_seed(&rng, 7);
    size_t counts[VQ_OPINION__COUNT] = {0};
    for (int round = 0; round < 3000; round++) {
        char a[2048];
        char b[2048];
        random_text(&rng, a, sizeof(a));
        random_text(&rng, b, sizeof(b));
        struct vq_sections q = question(&axes[vq_rng_below(&rng, n)], a, b);
        enum vq_judge_kind kind = (enum vq_judge_kind)vq_rng_below(&rng, VQ_JUDGE_KIND__COUNT);
        enum vq_opinion opinion = vq_lexical_judge(*state, kind, &q, 0, NULL);
        counts[opinion]++;
        assert_int_equal(with_swapped_outputs(*state, kind, q), vq_opinion_mirrored(opinion));
        assert_int_equal(with_swapped_ends(*state, kind, q), vq_opinion_mirrored(opinion));
        q.output_b = q.output_a;
        assert_int_equal(vq_lexical_judge(*state, kind, &q, 0, NULL), VQ_OPINION_EQUAL);
    }
    assert_true(counts[VQ_OPINION_A] > 300 && counts[VQ_OPINION_B] > 300 &&
                counts[VQ_OPINION_EQUAL] > 300);
    assert_int_equal(counts[VQ_OPINION_NA], 0);
}

/* The same seed gives the same opinions; another seed, another judge or another draw differs
 * somewhere. */
TEST(noise_follows_seed_judge_and_draw)
{
    struct axis axes[AXES_MAX] = {0};
    size_t n = load_presets(axes);
    struct vq_lexical *again = NULL;
    struct vq_lexical *other = NULL;
    assert_int_equal(vq_lexical_create(1, &again), VQ_OK);
    assert_int_equal(vq_lexical_create(2, &other), VQ_OK);
    struct vq_rng rng;
    vq_rng_seed(&rng, 8);
    int by_seed = 0;
    int by_judge = 0;
    int by_draw = 0;
    for (int round = 0; round < 1000; round++) {
        char a[2048];
        char b[2048];
        random_text(&rng, a, sizeof(a));
        random_text(&rng, b, sizeof(b));
        struct vq_sections q = question(&axes[vq_rng_below(&rng, n)], a, b);
        enum vq_opinion opinion = vq_lexical_judge(*state, VQ_JUDGE_KIND_A, &q, 0, NULL);
        assert_int_equal(vq_lexical_judge(again, VQ_JUDGE_KIND_A, &q, 0, NULL), opinion);
        by_seed += vq_lexical_judge(other, VQ_JUDGE_KIND_A, &q, 0, NULL) != opinion;
        by_judge += vq_lexical_judge(*state, VQ_JUDGE_KIND_B, &q, 0, NULL) != opinion;
        by_draw += vq_lexical_judge(*state, VQ_JUDGE_KIND_A, &q, 1, NULL) != opinion;
    }
    vq_lexical_destroy(&again);
    vq_lexical_destroy(&other);
    assert_in_range(by_seed, 20, 600);
    assert_in_range(by_judge, 20, 600);
    assert_in_range(by_draw, 20, 600);
}

TEST(preference_needs_no_axis)
{
    struct vq_sections q = {
        .prompt = vq_span_str("How?"),
        .output_a = vq_span_str("No."),
        .output_b = vq_span_str("Because the pan is hot, it takes 3 minutes. For example, an egg "
                                "is ready then, so that you can serve it at once.")};
    for (int kind = 0; kind < VQ_JUDGE_KIND__COUNT; kind++) {
        assert_int_equal(vq_lexical_judge(*state, (enum vq_judge_kind)kind, &q, 0, NULL),
                         VQ_OPINION_B);
    }
}

TEST(preference_does_not_depend_on_the_order)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 11);
    int seen[VQ_OPINION__COUNT] = {0};
    int by_judge = 0;
    for (int round = 0; round < 1000; round++) {
        char a[2048];
        char b[2048];
        random_text(&rng, a, sizeof(a));
        random_text(&rng, b, sizeof(b));
        struct vq_sections q = {
            .prompt = vq_span_str("How?"), .output_a = vq_span_str(a), .output_b = vq_span_str(b)};
        struct vq_sections swapped = q;
        swapped.output_a = q.output_b;
        swapped.output_b = q.output_a;
        enum vq_opinion of[VQ_JUDGE_KIND__COUNT];
        for (int kind = 0; kind < VQ_JUDGE_KIND__COUNT; kind++) {
            of[kind] = vq_lexical_judge(*state, (enum vq_judge_kind)kind, &q, 0, NULL);
            enum vq_opinion turned =
                vq_lexical_judge(*state, (enum vq_judge_kind)kind, &swapped, 0, NULL);
            assert_int_equal(turned, vq_opinion_mirrored(of[kind]));
            seen[of[kind]]++;
        }
        by_judge += of[0] != of[1];
    }
    assert_true(seen[VQ_OPINION_A] > 200 && seen[VQ_OPINION_B] > 200);
    assert_true(seen[VQ_OPINION_EQUAL] > 20);
    assert_int_equal(seen[VQ_OPINION_NA], 0);
    assert_in_range(by_judge, 50, 700);
}

/* Up to a point longer is liked better, and beyond it worse. */
TEST(a_moderate_length_is_preferred)
{
    static char texts[3][16384];
    static const size_t words[] = {6, 120, 2500};
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        for (size_t w = 0; w < words[i]; w++) {
            (void)snprintf(texts[i] + 5 * w, 6, "balo%c", w % 9 == 8 ? '.' : ' ');
        }
    }
    for (int kind = 0; kind < VQ_JUDGE_KIND__COUNT; kind++) {
        for (size_t i = 0; i < VQ_COUNT(words); i += 2) {
            struct vq_sections q = {.prompt = vq_span_str("How?"),
                                    .output_a = vq_span_str(texts[1]),
                                    .output_b = vq_span_str(texts[i])};
            assert_int_equal(vq_lexical_judge(*state, (enum vq_judge_kind)kind, &q, 0, NULL),
                             VQ_OPINION_A);
        }
    }
}

static int set_up(void **state)
{
    struct vq_lexical *lexical = NULL;
    if (vq_lexical_create(1, &lexical) != VQ_OK) {
        return -1;
    }
    *state = lexical;
    return 0;
}

static int tear_down(void **state)
{
    struct vq_lexical *lexical = *state;
    vq_lexical_destroy(&lexical);
    return 0;
}

TEST_GROUP(set_up, tear_down)
