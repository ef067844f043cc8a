/* What calls will take, as it is learned. */

#include "tests/unit/test.h"

#include "common/base/rng.h"
#include "worker/core/reserve.h"

#include <math.h>

static uint64_t price_of(const struct vq_price *price, double input, double cached, double output)
{
    const struct vq_usage usage = {.input = input, .cached = cached, .output = output};
    return vq_price_of(price, &usage);
}

TEST(test_cached_tokens_are_not_reserved_where_limits_do_not_count_them)
{
    struct vq_ratio ratio = {0};
    for (int i = 0; i < 200; i++) {
        vq_ratio_learn(&ratio, 500, 100, 1000);
    }
    assert_true(fabs(vq_ratio_tokens(&ratio, 1000) - 100) < 10);
    assert_true(fabs(vq_ratio_tokens_mean(&ratio, 1000) - 500) < 1);
    assert_true(vq_ratio_tokens_most(&ratio, 1000) >= 500); /* they are paid for */
}

TEST(test_a_ratio_is_learned)
{
    struct vq_ratio ratio = {0};
    assert_true(vq_ratio_tokens(&ratio, 4000) == 1000);
    assert_true(vq_ratio_tokens(&ratio, 0) == 1);
    assert_true(vq_ratio_tokens_most(&ratio, 3000) >= 1000);
    struct vq_rng rng;
    vq_rng_seed(&rng, 3);
    uint32_t below = 0;
    double excess = 0;
    for (int i = 0; i < 2000; i++) {
        double bytes = 500 + 4000 * vq_rng_unit(&rng);
        double tokens = bytes * (0.20 + 0.02 * vq_rng_unit(&rng));
        if (i >= 100) {
            below += vq_ratio_tokens(&ratio, bytes) < tokens ? 1 : 0;
            excess += vq_ratio_tokens(&ratio, bytes) / tokens - 1;
            assert_true(vq_ratio_tokens_most(&ratio, bytes) >= tokens);
        }
        vq_ratio_learn(&ratio, tokens, tokens, bytes);
    }
    assert_true(below < 60);           /* of 1,900 */
    assert_true(excess / 1900 < 0.08); /* and not by much */
    for (int i = 0; i < 200; i++) {    /* another kind of text */
        vq_ratio_learn(&ratio, 600, 600, 1000);
    }
    assert_true(fabs(vq_ratio_tokens(&ratio, 1000) - 600) < 20);
    vq_ratio_learn(&ratio, 5, 5, 0); /* nothing to learn from */
    vq_ratio_learn(&ratio, 0, 0, 100);
    assert_true(isfinite(vq_ratio_tokens(&ratio, 1000)));
}

/* Who comes late goes by what others saw, until it knows enough itself. */
TEST(test_what_others_saw)
{
    struct vq_answers answers = {.prior = 60};
    assert_true(vq_answers_tokens(&answers, 300) == 60);
    assert_true(vq_answers_tokens(&answers, 50) == 50);
    vq_answers_learn(&answers, 90); /* longer than any before */
    assert_true(vq_answers_tokens(&answers, 300) == 90);
    for (int i = 0; i < 40; i++) {
        vq_answers_learn(&answers, 10);
    }
    assert_true(vq_answers_tokens(&answers, 300) < 30);
}

TEST(test_answers_are_learned)
{
    struct vq_answers answers = {0};
    assert_true(vq_answers_tokens(&answers, 300) == 300);
    vq_answers_learn(&answers, 10);
    vq_answers_learn(&answers, 40);
    assert_true(vq_answers_tokens(&answers, 300) == 300); /* too few yet */
    for (int i = 0; i < 13; i++) {
        vq_answers_learn(&answers, 10);
        assert_true(vq_answers_tokens(&answers, 300) == 80);
        assert_true(vq_answers_tokens(&answers, 30) == 30);
    }
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    uint32_t above = 0;
    for (int i = 0; i < 4000; i++) {
        uint64_t tokens = 20 + vq_rng_below(&rng, 100);
        if (i > 500) {
            double reserved = vq_answers_tokens(&answers, 4096);
            above += (double)tokens > reserved ? 1 : 0;
            assert_true(reserved >= 90 && reserved <= 150);
            assert_true(vq_answers_tokens(&answers, 50) == 50);
        }
        vq_answers_learn(&answers, tokens);
    }
    assert_true(above < 3500 / 10);
    for (int i = 0; i < 3000; i++) { /* what was long ago counts no more */
        vq_answers_learn(&answers, 5);
    }
    assert_true(vq_answers_tokens(&answers, 4096) <= 8);
    vq_answers_learn(&answers, 0);
    vq_answers_learn(&answers, UINT64_MAX);
    assert_true(isfinite(vq_answers_tokens(&answers, 4096)));
}

TEST(test_prices)
{
    const struct vq_price price = {.input = 2500, .cached = 250, .output = 10000};
    assert_int_equal(price_of(&price, 1000, 0, 100), 2500000 + 1000000);
    assert_int_equal(price_of(&price, 1000, 400, 100), 1500000 + 100000 + 1000000);
    assert_int_equal(price_of(&price, 10, 400, 0), 2500); /* not more than there are */
    const struct vq_price writes = {
        .input = 1000, .cached = 100, .written = 1250, .written_long = 2000, .output = 4000};
    struct vq_usage usage = {.input = 100, .cached = 60, .written = 30, .output = 5};
    assert_int_equal(vq_price_of(&writes, &usage), 10 * 1000 + 60 * 100 + 30 * 1250 + 5 * 4000);
    usage.written_long = 20; /* of the 30 */
    assert_int_equal(vq_price_of(&writes, &usage),
                     10 * 1000 + 60 * 100 + 10 * 1250 + 20 * 2000 + 5 * 4000);
    usage = (struct vq_usage){.input = 100, .cached = 60, .written = 90, .written_long = 95};
    assert_int_equal(vq_price_of(&writes, &usage), 60 * 100 + 40 * 2000); /* no more than is left */
    const struct vq_price cheap = {.input = 0.4};
    assert_int_equal(price_of(&cheap, 1, 0, 0), 1); /* rounded up */
    assert_int_equal(price_of(&cheap, 0, 0, 0), 0);
    const struct vq_price mad = {.input = 1e300};
    assert_true(price_of(&mad, 1e9, 0, 0) <= UINT64_C(1000000000000000000));
}
