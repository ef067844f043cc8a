/* Request hashes: what they depend on and what not, swapped models, draws by hash; rendering of
 * both messages. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/judge/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 4000

struct fixture {
    struct vq_template *ranker;
    struct vq_template *repair;
    struct vq_judge judge;
    struct vq_axis vibe;
    struct vq_sample sample;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    assert_int_equal(vq_template_parse(VQ_TEMPLATE_JUDGE, vq_template_builtin(VQ_TEMPLATE_JUDGE),
                                       "judge.txt", &f->ranker, NULL),
                     VQ_OK);
    assert_int_equal(vq_template_parse(VQ_TEMPLATE_REPAIR, vq_template_builtin(VQ_TEMPLATE_REPAIR),
                                       "repair.txt", &f->repair, NULL),
                     VQ_OK);
    f->judge = (struct vq_judge){.name = "first",
                                 .model = "model-1",
                                 .dialect = "openai",
                                 .identity = "api.example.com/v1",
                                 .temperature = 0.0,
                                 .send_temperature = true,
                                 .max_tokens = 600,
                                 .max_tokens_field = "max_tokens",
                                 .seed = -1};
    f->vibe = (struct vq_axis){"Formality", "casual", "formal"};
    f->sample = (struct vq_sample){vq_span_str("Say hello."), vq_span_str("Good day."),
                                   vq_span_str("hey!")};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    vq_template_destroy(&f->ranker);
    vq_template_destroy(&f->repair);
    free(f);
    return 0;
}

static struct vq_hash hash_with(const struct fixture *f, unsigned order, uint32_t repeat)
{
    struct vq_asker asker;
    struct vq_sample_id id;
    struct vq_hash hash;
    vq_asker_init(&asker, &f->judge, f->ranker, f->repair);
    vq_sample_identify(&f->sample, &id);
    vq_request_hash(&asker, &id, &f->vibe, order, repeat, &hash);
    return hash;
}

static struct vq_sample swapped(struct vq_sample sample)
{
    return (struct vq_sample){sample.prompt, sample.b, sample.a, sample.image};
}

/* What is stored under these hashes was paid for: a change of the bytes that are hashed makes every
 * store worthless. */
TEST(test_hashes_are_those_of_the_first_release)
{
    const struct fixture *f = *state;
    struct vq_template *template = NULL;
    struct vq_span text = vq_span_str("@user\n{{prompt}}{{output_a}}{{output_b}}{{vibe_name}}"
                                      "{{vibe_low}}{{vibe_high}}");
    assert_int_equal(vq_template_parse(VQ_TEMPLATE_JUDGE, text, "t", &template, NULL), VQ_OK);
    struct fixture fixed = *f;
    fixed.ranker = template;
    struct vq_hash hash = hash_with(&fixed, 0, 0);
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    vq_hex(hash.b, VQ_HASH_BYTES, hex);
    assert_string_equal(hex, "0ade3e7dda9b57620a261e4d81d278eff947e033cd829398cbdf006b1790677a");
    vq_template_destroy(&template);
}

TEST(test_every_input_changes_the_hash)
{
    struct fixture *f = *state;
    struct vq_hash hashes[32];
    size_t n = 0;
    hashes[n++] = hash_with(f, 0, 0);
    hashes[n++] = hash_with(f, 1, 0);
    hashes[n++] = hash_with(f, 0, 1);
    const struct fixture base = *f;
#define CHANGED(change)                                                                            \
    do {                                                                                           \
        *f = base;                                                                                 \
        change;                                                                                    \
        hashes[n++] = hash_with(f, 0, 0);                                                          \
    } while (0)
    CHANGED(f->judge.identity = "api.example.com/v2");
    CHANGED(f->judge.dialect = "other");
    CHANGED(f->judge.model = "model-2");
    CHANGED(f->judge.temperature = 0.5);
    CHANGED(f->judge.send_temperature = false);
    CHANGED(f->judge.max_tokens = 601);
    CHANGED(f->judge.max_tokens_field = "max_completion_tokens");
    CHANGED(f->judge.answer_field = "reasoning_content");
    CHANGED(f->judge.seed = 0);
    CHANGED(f->judge.seed = 1);
    CHANGED(f->judge.truncate = true);
    CHANGED(f->judge.structured = true);
    CHANGED(f->judge.logprobs = true);
    CHANGED((f->judge.structured = true, f->judge.logprobs = true));
    CHANGED(f->vibe.name = "Formal");
    CHANGED(f->vibe.low = "casua");
    CHANGED(f->vibe.high = "formall");
    CHANGED(f->sample.prompt = vq_span_str("Say hello"));
    CHANGED(f->sample.a = vq_span_str("Good day"));
    CHANGED(f->sample.b = vq_span_str("hey"));
    CHANGED(f->sample.image = vq_span_str("https://x/1.png"));
    CHANGED(f->sample.image = vq_span_str("https://x/2.png"));
    CHANGED((f->vibe.name = "Formalityc", f->vibe.low = "asual"));
#undef CHANGED
    *f = base;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (vq_hash_eq(&hashes[i], &hashes[k])) {
                fail_msg("%zu and %zu are equal", k, i);
            }
        }
    }
}

TEST(test_what_is_not_sent_does_not_change_the_hash)
{
    struct fixture *f = *state;
    const struct fixture base = *f;
    struct vq_hash hash = hash_with(f, 1, 2);
    f->judge.name = "another name";
    struct vq_hash renamed = hash_with(f, 1, 2);
    assert_true(vq_hash_eq(&hash, &renamed));
    f->judge.temperature = -0.0;
    struct vq_hash negative_zero = hash_with(f, 1, 2);
    assert_true(vq_hash_eq(&hash, &negative_zero));
    f->judge.send_temperature = false;
    struct vq_hash unsent = hash_with(f, 1, 2);
    f->judge.temperature = 0.7;
    struct vq_hash unsent_other = hash_with(f, 1, 2);
    assert_true(vq_hash_eq(&unsent, &unsent_other));
    *f = base;
}

TEST(test_hashes_of_a_sample_are_neighbours)
{
    const struct fixture *f = *state;
    struct vq_sample_id id;
    vq_sample_identify(&f->sample, &id);
    struct vq_hash ask = hash_with(f, 0, 0);
    struct vq_hash other = hash_with(f, 1, 3);
    assert_memory_equal(ask.b, id.id.b, 8);
    assert_memory_equal(other.b, id.id.b, 8);

    struct vq_asker asker;
    struct vq_hash repair;
    struct vq_hash repair_of_other_text;
    vq_asker_init(&asker, &f->judge, f->ranker, f->repair);
    vq_repair_hash(&asker, &ask, vq_span_str("hm"), &repair);
    vq_repair_hash(&asker, &ask, vq_span_str("hmm"), &repair_of_other_text);
    assert_memory_equal(repair.b, id.id.b, 8);
    assert_false(vq_hash_eq(&repair, &ask));
    assert_false(vq_hash_eq(&repair, &repair_of_other_text));
    vq_repair_hash(&asker, &ask, vq_span_str("hm"), &ask); /* in place */
    assert_true(vq_hash_eq(&repair, &ask));
}

static struct vq_sample numbered(char text[2][32], unsigned i)
{
    (void)snprintf(text[0], 32, "a%u", i * 7919 % 5000);
    (void)snprintf(text[1], 32, "a%u", i * 104729 % 4999);
    return (struct vq_sample){vq_span_str("p"), vq_span_str(text[0]), vq_span_str(text[1])};
}

/* With the models swapped, order o shows what order 1 - o showed, and all else is the same. */
TEST(test_swapped_models_ask_the_same_questions)
{
    const struct fixture *f = *state;
    struct vq_asker asker;
    vq_asker_init(&asker, &f->judge, f->ranker, f->repair);
    for (unsigned i = 1; i < SAMPLES; i++) {
        char text[2][32];
        struct vq_sample sample = numbered(text, i);
        struct vq_sample other = swapped(sample);
        struct vq_sample_id id, other_id;
        vq_sample_identify(&sample, &id);
        vq_sample_identify(&other, &other_id);
        if (vq_span_eq(sample.a, sample.b)) {
            assert_false(id.flipped);
            continue;
        }
        assert_true(vq_hash_eq(&id.id, &other_id.id));
        assert_int_not_equal(id.flipped, other_id.flipped);
        for (unsigned order = 0; order < 2; order++) {
            struct vq_hash hash, other_hash;
            vq_request_hash(&asker, &id, &f->vibe, order, 0, &hash);
            vq_request_hash(&asker, &other_id, &f->vibe, 1 - order, 0, &other_hash);
            assert_true(vq_hash_eq(&hash, &other_hash));
        }
        assert_int_equal(vq_first_order(&id, &f->judge), 1 - vq_first_order(&other_id, &f->judge));
        assert_int_equal(vq_audited(&id, &f->vibe, &f->judge, 0.1),
                         vq_audited(&other_id, &f->vibe, &f->judge, 0.1));
    }
}

/* Shares of 4,000 draws: 0.5 and 0.1 within five standard errors. */
TEST(test_draws_have_their_shares_and_are_unrelated)
{
    struct fixture *f = *state;
    unsigned first = 0, audited = 0, retested = 0, both = 0, both_judges = 0, edges = 0;
    struct vq_judge other = f->judge;
    other.model = "model-2";
    for (unsigned i = 0; i < SAMPLES; i++) {
        char text[2][32];
        struct vq_sample sample = numbered(text, i);
        struct vq_sample_id id;
        vq_sample_identify(&sample, &id);
        first += vq_first_order(&id, &f->judge);
        both_judges += vq_first_order(&id, &f->judge) == vq_first_order(&id, &other);
        audited += vq_audited(&id, &f->vibe, &f->judge, 0.1);
        retested += vq_retested(&id, &f->vibe, &f->judge, 0.1);
        both +=
            vq_audited(&id, &f->vibe, &f->judge, 0.1) && vq_retested(&id, &f->vibe, &f->judge, 0.1);
        edges += vq_audited(&id, &f->vibe, &f->judge, 0.0);
        edges += vq_retested(&id, &f->vibe, &f->judge, 0.0);
        edges += !vq_retested(&id, &f->vibe, &f->judge, 1.0);
        edges += !vq_audited(&id, &f->vibe, &f->judge, 1.0);
    }
    assert_in_range(first, 2000 - 158, 2000 + 158);
    assert_in_range(both_judges, 2000 - 158, 2000 + 158);
    assert_in_range(audited, 400 - 95, 400 + 95);
    assert_in_range(retested, 400 - 95, 400 + 95);
    assert_in_range(both, 40 - 32, 40 + 32);
    assert_int_equal(edges, 0);
}

TEST(test_rendering_follows_the_order)
{
    struct fixture *f = *state;
    struct vq_asker asker;
    vq_asker_init(&asker, &f->judge, f->ranker, NULL);
    struct vq_buf system, user;
    vq_buf_init(&system, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&user, VQ_RENDER_BYTES_MAX);
    static const char *const expected[2] = {
        "<prompt>\nSay hello.\n</prompt>\n<output_a>\nGood day.\n</output_a>\n<output_b>\nhey!\n"
        "</output_b>\n<axis>\nName: Formality\nLow: casual\nHigh: formal\n</axis>\n",
        "<prompt>\nSay hello.\n</prompt>\n<output_a>\nhey!\n</output_a>\n<output_b>\nGood day.\n"
        "</output_b>\n<axis>\nName: Formality\nLow: casual\nHigh: formal\n</axis>\n",
    };
    for (unsigned order = 0; order < 2; order++) {
        assert_int_equal(vq_request_render(&asker, &f->sample, &f->vibe, order, 3, &system, &user),
                         VQ_OK); /* 3: ignored, this judge does not truncate */
        assert_int_equal(strncmp(user.at, expected[order], strlen(expected[order])), 0);
        assert_non_null(strstr(system.at, "Model: {A, B, equal, N/A, unsure}"));
        assert_null(strstr(system.at, "Formality"));
    }
    vq_buf_free(&system);
    vq_buf_free(&user);
}

/* The front that all vibes share is what the rendered messages have in common, up to whole
 * lines. */
TEST(test_shared_front)
{
    struct fixture *f = *state;
    struct vq_asker asker;
    vq_asker_init(&asker, &f->judge, f->ranker, NULL);
    struct vq_axis other = {"Formality 2", "x", "y"};
    struct vq_buf system, one, two;
    vq_buf_init(&system, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&one, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&two, VQ_RENDER_BYTES_MAX);
    for (unsigned order = 0; order < 2; order++) {
        size_t shared = vq_request_shared_bytes(&asker, &f->sample, order, 0);
        assert_int_equal(vq_request_render(&asker, &f->sample, &f->vibe, order, 0, &system, &one),
                         VQ_OK);
        assert_int_equal(vq_request_render(&asker, &f->sample, &other, order, 0, &system, &two),
                         VQ_OK);
        assert_true(shared < one.bytes && memcmp(one.at, two.at, shared) == 0);
        assert_int_equal(strncmp(one.at + shared, "Name: Formality", 15), 0);
    }
    f->judge.truncate = true;
    assert_true(vq_request_shared_bytes(&asker, &f->sample, 0, 3) <
                vq_request_shared_bytes(&asker, &f->sample, 0, 0));
    f->judge.truncate = false;
    vq_buf_free(&system);
    vq_buf_free(&one);
    vq_buf_free(&two);
}

static void check_fixed(const char *text, size_t expected)
{
    struct vq_template *template = NULL;
    const struct vq_span values[VQ_PLACEHOLDER__COUNT] = {[VQ_PLACEHOLDER_ROWS] =
                                                              vq_span_str("12345")};
    assert_int_equal(
        vq_template_parse(VQ_TEMPLATE_QUESTION_TYPES, vq_span_str(text), "t", &template, NULL),
        VQ_OK);
    assert_int_equal(vq_template_fixed_bytes(template, 1u << VQ_PLACEHOLDER_AXIS, values),
                     expected);
    vq_template_destroy(&template);
}

TEST(test_fixed_bytes_of_templates)
{
    check_fixed("@system\nlong words\n@user\n{{rows}}\nand: {{axis}}", 6);
    check_fixed("@user\n{{rows}} and {{axis}} {{axis}}", 10);
    check_fixed("@user\n{{rows}}{{axis}}", 5);
    check_fixed("@user\n{{axis}} {{rows}}", 0);
    check_fixed("@system\n{{axis}}\n@user\n{{rows}}", 0);
    check_fixed("@user\na\nb {{rows}} {{axis}}", 10);
}

TEST(test_truncation_cuts_both_alike_and_not_a_character)
{
    struct fixture *f = *state;
    f->judge.truncate = true;
    struct vq_sample sample = {vq_span_str("long prompt stays"), vq_span_str("abcd\xC3\xA9xyz"),
                               vq_span_str("ab")};
    struct vq_asker asker;
    vq_asker_init(&asker, &f->judge, f->ranker, NULL);
    struct vq_buf system, user;
    vq_buf_init(&system, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&user, VQ_RENDER_BYTES_MAX);
    assert_int_equal(vq_request_render(&asker, &sample, &f->vibe, 1, 5, &system, &user), VQ_OK);
    assert_non_null(strstr(user.at, "long prompt stays"));
    assert_non_null(strstr(user.at, "<output_a>\nab\n</output_a>"));
    assert_non_null(strstr(user.at, "<output_b>\nabcd\n</output_b>"));
    assert_int_equal(vq_request_render(&asker, &sample, &f->vibe, 1, 0, &system, &user), VQ_OK);
    assert_non_null(strstr(user.at, "abcd\xC3\xA9xyz"));
    f->judge.truncate = false;
    vq_buf_free(&system);
    vq_buf_free(&user);
}

TEST(test_repair_holds_the_answer)
{
    struct fixture *f = *state;
    struct vq_asker asker;
    vq_asker_init(&asker, &f->judge, f->ranker, f->repair);
    struct vq_buf system, user;
    vq_buf_init(&system, VQ_RENDER_BYTES_MAX);
    vq_buf_init(&user, VQ_RENDER_BYTES_MAX);
    assert_int_equal(vq_repair_render(&asker, vq_span_str("A {{answer}}, or B"), &system, &user),
                     VQ_OK);
    assert_non_null(strstr(user.at, "<answer>\nA {{answer}}, or B\n</answer>"));
    vq_buf_free(&user);
    vq_buf_init(&user, 20);
    assert_int_equal(vq_repair_render(&asker, vq_span_str("x"), &system, &user), VQ_LIMIT);
    vq_buf_free(&system);
    vq_buf_free(&user);
}

TEST(test_no_memory_while_rendering)
{
    struct fixture *f = *state;
    struct vq_asker asker;
    vq_asker_init(&asker, &f->judge, f->ranker, f->repair);
    bool ok = false;
    for (uint64_t n = 1; !ok && n < 50; n++) {
        struct vq_buf system, user;
        vq_buf_init(&system, VQ_RENDER_BYTES_MAX);
        vq_buf_init(&user, VQ_RENDER_BYTES_MAX);
        vq_alloc_fail_at(n);
        enum vq_status status =
            vq_request_render(&asker, &f->sample, &f->vibe, 0, 0, &system, &user);
        vq_alloc_fail_at(0);
        assert_true(status == VQ_OK || status == VQ_NOMEM);
        assert_true(n > 1 || status == VQ_NOMEM);
        ok = status == VQ_OK;
        vq_buf_free(&system);
        vq_buf_free(&user);
    }
    assert_true(ok);
}

TEST_GROUP(setup, teardown)
