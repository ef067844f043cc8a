/* Rates by their dimension, the larger of two, and a share of them. */

#include "tests/unit/test.h"

#include "common/base/limit.h"

TEST(test_rates_by_dimension)
{
    struct vq_rates rates = {.requests = 1, .input_tokens = 2, .output_tokens = 3, .tokens = 4};
    struct vq_rates other = {.requests = 9, .input_tokens = 1, .output_tokens = 8, .tokens = 2};
    for (int i = 0; i < VQ_RATE__COUNT; i++) {
        assert_true(rates.of[i] == i + 1);
        struct vq_rates set = {.requests = 0};
        set.of[i] = 5;
        for (int k = 0; k < VQ_RATE__COUNT; k++) {
            assert_true(set.of[k] == (k == i ? 5 : 0));
        }
    }
    struct vq_rates larger = vq_rates_larger(&rates, &other);
    assert_true(larger.requests == 9 && larger.input_tokens == 2 && larger.output_tokens == 8 &&
                larger.tokens == 4);
}

TEST(test_a_share_of_the_rates)
{
    struct vq_rates rates = {.requests = 60, .tokens = 100};
    struct vq_rates part = vq_rates_part(&rates, 0.5);
    assert_true(part.requests == 30 && part.tokens == 50);
    assert_true(part.input_tokens == 0 && part.output_tokens == 0);
}
