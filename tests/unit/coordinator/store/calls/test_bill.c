/* Sums of a pool's calls, and the sentences that follow from them: whatever the order of arrival,
 * with counts. */

#include "tests/unit/test.h"

#include "coordinator/store/calls/bill.h"

#include <stdio.h>

static struct vq_bill bill;
static char said[2048];

static int setup(void **state)
{
    (void)state;
    bill = (struct vq_bill){0};
    return 0;
}

static void add(struct vq_bill_call call, uint32_t times)
{
    call.answered = true;
    for (uint32_t i = 0; i < times; i++) {
        vq_bill_add(&bill, &call);
    }
}

/* "" where there is no sentence. */
static const char *note(enum vq_bill_note which, bool strict)
{
    struct vq_buf out;
    vq_buf_init(&out, sizeof(said));
    bool any = vq_bill_note(&bill, which, "pool", strict, &out);
    (void)snprintf(said, sizeof(said), "%s", any ? out.at : "");
    assert_int_equal(any, out.bytes > 0);
    vq_buf_free(&out);
    return said;
}

TEST_WITH(test_nothing_is_said_of_a_good_provider, setup, NULL)
{
    add((struct vq_bill_call){.tokens_in = 25000,
                              .prompt_chars = 100000,
                              .cost_nano = 100,
                              .provider_nano = 102,
                              .model = vq_span_str("m-1")},
        50);
    for (int n = 0; n < VQ_BILL_NOTES; n++) {
        assert_string_equal(note((enum vq_bill_note)n, false), "");
    }
}

TEST_WITH(test_usage_that_is_missing, setup, NULL)
{
    add((struct vq_bill_call){.unreported = true}, 3);
    add((struct vq_bill_call){.tokens_in = 5}, 1);
    assert_non_null(
        strstr(note(VQ_BILL_USAGE, false), "pool: the provider reports no usage (3 of 4 answers)"));
}

TEST_WITH(test_prompts_that_are_cut, setup, NULL)
{
    add((struct vq_bill_call){.tokens_in = 2048, .prompt_chars = 94856}, 24);
    assert_non_null(strstr(note(VQ_BILL_CUT, false),
                           "the server read about a tenth of the prompt; its context is too short "
                           "(24 of 24 answers; on average 2,048 tokens of 94,856 characters)"));
    assert_non_null(strstr(said, "set judging.context_check: strict"));
    assert_non_null(strstr(note(VQ_BILL_CUT, true), "these answers count as missing"));
}

/* Not far too few tokens, but the same for all prompts. */
TEST_WITH(test_a_count_that_does_not_change, setup, NULL)
{
    add((struct vq_bill_call){.tokens_in = 2048, .prompt_chars = 12000}, 4);
    add((struct vq_bill_call){.tokens_in = 700, .prompt_chars = 2500}, 9);
    add((struct vq_bill_call){.tokens_in = 2048, .prompt_chars = 20000}, 3);
    assert_string_equal(note(VQ_BILL_CUT, false), "");
    add((struct vq_bill_call){.tokens_in = 2048, .prompt_chars = 15000}, 1);
    assert_non_null(strstr(note(VQ_BILL_CUT, false),
                           "its context is too short (8 answers have 2,048 prompt tokens each, for "
                           "prompts of 12,000 to 20,000 characters)"));
    add((struct vq_bill_call){.tokens_in = 5000, .prompt_chars = 20000}, 1); /* it reads more */
    assert_string_equal(note(VQ_BILL_CUT, false), "");
}

TEST_WITH(test_dollars_of_the_provider, setup, NULL)
{
    add((struct vq_bill_call){.cost_nano = 1000000000, .provider_nano = 1040000000}, 10);
    add((struct vq_bill_call){.cost_nano = 1000000000}, 10); /* says nothing: not compared */
    assert_string_equal(note(VQ_BILL_COST, false), "");
    add((struct vq_bill_call){.cost_nano = 1000000000, .provider_nano = 3000000000}, 10);
    assert_non_null(strstr(note(VQ_BILL_COST, false),
                           "charges $40.40 for 20 calls; by its prices vibeq makes it $20.00"));
    bill = (struct vq_bill){0};
    add((struct vq_bill_call){.provider_nano = 30000}, 1);
    assert_non_null(
        strstr(note(VQ_BILL_COST, false), "charges $3e-05 for 1 call; vibeq has no prices for it"));
}

TEST_WITH(test_models_are_told_apart, setup, NULL)
{
    add((struct vq_bill_call){.model = vq_span_str("b")}, 2);
    add((struct vq_bill_call){.model = vq_span_str("")}, 2);
    assert_string_equal(note(VQ_BILL_MODELS, false), "");
    add((struct vq_bill_call){.model = vq_span_str("a")}, 20);
    assert_non_null(
        strstr(note(VQ_BILL_MODELS, false), "answered with 2 different models: a (20), b (2). "));
    for (char c = 'c'; c < 'n'; c++) {
        add((struct vq_bill_call){.model = vq_span(&c, 1)}, 1);
    }
    assert_int_equal(bill.models_count, VQ_BILL_MODELS_MAX);
    assert_non_null(strstr(note(VQ_BILL_MODELS, false), "8 or more different models: a (20)"));
    assert_non_null(strstr(said, "others (5)"));
}

TEST(test_answers_by_the_tier_that_served)
{
    struct vq_bill tiered = {.answers = 0};
    static const char *const tiers[] = {"flex", "default", "flex", ""};
    for (size_t i = 0; i < VQ_COUNT(tiers); i++) {
        struct vq_bill_call call = {.answered = true, .tier = vq_span_str(tiers[i])};
        vq_bill_add(&tiered, &call);
    }
    struct vq_bill_call refused = {.tier = vq_span_str("flex"), .no_capacity = true};
    vq_bill_add(&tiered, &refused);
    assert_int_equal(tiered.tiers_count, 2);
    assert_string_equal(tiered.tiers[0].name, "flex");
    assert_int_equal(tiered.tiers[0].answers, 2);
    assert_int_equal(tiered.tiers[1].answers, 1);
    assert_int_equal(tiered.no_capacity, 1);
    for (char c = 'a'; c <= 'z'; c++) { /* more than there are: not counted */
        struct vq_bill_call call = {.answered = true, .tier = vq_span(&c, 1)};
        vq_bill_add(&tiered, &call);
    }
    assert_int_equal(tiered.tiers_count, VQ_BILL_TIERS_MAX);
}
