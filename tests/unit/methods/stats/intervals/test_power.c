/* Power of the sign-flip test: tails worked out by hand, the test itself simulated, and runs that
 * are too small for any. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/intervals/power.h"
#include "methods/stats/intervals/sign_flip.h"

#include <math.h>

TEST(test_by_hand)
{
    /* six units: all of one sign, 2 / 64; power ((1 + s) / 2)^6 + ((1 - s) / 2)^6 */
    assert_near(vq_power_of(6, 0.05, 0.5), pow(0.75, 6) + pow(0.25, 6), 0.0, 1e-12);
    assert_near(vq_power_of(6, 0.05, 1.0), 1.0, 0.0, 1e-12);
    assert_near(vq_power_of(6, 0.05, 0.0), 2.0 / 64, 0.0, 1e-12);
    assert_true(isnan(vq_power_smallest(5, 0.05, 0.8))); /* 2 / 32 is above the level */
    assert_true(isnan(vq_power_smallest(0, 0.05, 0.8)));
    assert_near(pow((1 + vq_power_smallest(6, 0.05, 0.8)) / 2, 6), 0.8, 0.0, 1e-4);
}

/* The share of drawn runs in which the test that is used rejects, at the separability that is
 * named, is 80 %. */
TEST(test_the_test_has_that_power)
{
    static const struct {
        size_t units;
        uint32_t tests;
    } cases[] = {{12, 1}, {40, 1}, {71, 10}, {300, 10}};
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        struct vq_power plan = vq_power_plan(cases[c].units, cases[c].tests);
        double alpha = 0.05 / cases[c].tests, at[300];
        unsigned told = 0, null = 0, runs = 2000;
        for (unsigned r = 0; r < 2 * runs; r++) {
            double up = r < runs ? (1 + plan.smallest) / 2 : 0.5;
            for (size_t i = 0; i < cases[c].units; i++) {
                at[i] = vq_rng_unit(&rng) < up ? 1 : -1;
            }
            struct vq_sign_flip flip;
            assert_int_equal(vq_sign_flip_test(at, cases[c].units, 1, NULL, r, &flip), VQ_OK);
            *(r < runs ? &told : &null) += flip.p <= alpha;
        }
        print_message("%zu prompts, %u vibes: separability %.3f, power %.3f, level %.4f\n",
                      cases[c].units, cases[c].tests, plan.smallest, (double)told / runs,
                      (double)null / runs);
        assert_true(fabs((double)told / runs - 0.8) < 0.03);
        assert_true((double)null / runs < alpha + 0.012);
    }
}

TEST(test_half_and_twice)
{
    struct vq_power p = vq_power_plan(100, 5);
    assert_true(p.smallest_half > p.smallest && p.smallest > p.smallest_twice);
    assert_near(p.smallest_half, vq_power_smallest(50, 0.01, 0.8), 0.0, 1e-12);
    p = vq_power_plan(100, 1);
    assert_near(p.smallest, (1.96 + 0.8416) / 10, 0.0, 0.02); /* the normal approximation */
}

TEST(test_units)
{
    static const uint32_t groups[] = {7, 3, 7, 7, 0, 3};
    assert_int_equal(vq_power_units(groups, 6), 3);
    assert_int_equal(vq_power_units(groups, 0), 0);
}
