/* Decisions about the sign of a mean from a part of the numbers: the exact bound against all ways
 * to go on, and the share of wrong decisions over 1,000 seeds with a look after each number. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/intervals/betting.h"

#define SEEDS   1000u
#define NUMBERS 200u
#define ALPHA   0.05

static struct vq_drawn drawn(const double *y, size_t n, size_t total)
{
    return (struct vq_drawn){y, n, total, -1.0, 1.0};
}

static void shuffle(struct vq_rng *rng, double *y, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t other = vq_rng_below(rng, i);
        double kept = y[i - 1];
        y[i - 1] = y[other];
        y[other] = kept;
    }
}

/* Scores -1, 0 and 1: exact is exactly "all 3^rest ways to go on have that sign". */
TEST(the_exact_bound_is_that_of_all_ways)
{
    enum {
        TOTAL = 9
    };
    double y[TOTAL];
    uint32_t decided = 0;
    for (uint32_t code = 0; code < 19683; code += 7) {
        uint32_t left = code;
        for (size_t i = 0; i < TOTAL; i++, left /= 3) {
            y[i] = (double)(left % 3) - 1.0;
        }
        for (size_t n = 0; n <= TOTAL; n++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++) {
                sum += y[i];
            }
            struct vq_drawn d = drawn(y, n, TOTAL);
            bool up = sum - (double)(TOTAL - n) > 0, down = sum + (double)(TOTAL - n) < 0;
            assert_int_equal(vq_decided_above(&d, 0), up ? VQ_DECIDED_EXACTLY : VQ_DECIDED_NOT);
            assert_int_equal(vq_decided_below(&d, 0), down ? VQ_DECIDED_EXACTLY : VQ_DECIDED_NOT);
            decided += up || down;
        }
    }
    assert_true(decided > 1000);
}

/* A set of numbers whose mean is 0, or just on the wrong side of it. */
static void world(unsigned kind, double *y)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        double half = i < NUMBERS / 2 ? 1.0 : -1.0;
        y[i] = kind == 0   ? half
               : kind == 1 ? (i < 6              ? half
                              : i >= NUMBERS - 6 ? -1.0
                                                 : 0.0)
               : kind == 2 ? (i < 20 ? 0.9 : -0.1) /* skewed */
                           : (i < 20 ? -0.9 : 0.1);
    }
}

/* Coverage: the mean is 0, and no look after any number may say more than seldom that it is not. */
TEST(wrong_at_any_look_in_at_most_alpha)
{
    static double y[NUMBERS];
    for (unsigned kind = 0; kind < 4; kind++) {
        uint32_t wrong[2] = {0, 0};
        for (uint32_t seed = 1; seed <= SEEDS; seed++) {
            struct vq_rng rng;
            vq_rng_seed(&rng, seed * 4 + kind);
            world(kind, y);
            shuffle(&rng, y, NUMBERS);
            /* a decision at a look stays one at every later look */
            struct vq_drawn all = drawn(y, NUMBERS, NUMBERS);
            wrong[0] += vq_decided_above(&all, ALPHA) != VQ_DECIDED_NOT;
            wrong[1] += vq_decided_below(&all, ALPHA) != VQ_DECIDED_NOT;
        }
        print_message("world %u: %u and %u of %u seeds wrong\n", kind, wrong[0], wrong[1], SEEDS);
        /* 40,000 seeds: 1.9 to 4.6 % wrong. Of 1,000, three standard errors more may be */
        double most = ALPHA * SEEDS + 3 * sqrt(ALPHA * (1 - ALPHA) * SEEDS);
        assert_true(wrong[0] <= most && wrong[1] <= most);
    }
}

/* What the coverage above relies on. */
TEST(a_decision_stays)
{
    static double y[NUMBERS];
    for (uint32_t seed = 1; seed <= 40; seed++) {
        struct vq_rng rng;
        vq_rng_seed(&rng, seed);
        for (size_t i = 0; i < NUMBERS; i++) {
            y[i] = vq_rng_unit(&rng) < 0.3 ? 1.0 : vq_rng_unit(&rng) < 0.4 ? -1.0 : 0.0;
        }
        bool decided = false;
        for (size_t n = 0; n <= NUMBERS; n++) {
            struct vq_drawn d = drawn(y, n, NUMBERS);
            bool now = vq_decided_above(&d, 0.5) != VQ_DECIDED_NOT;
            assert_true(now || !decided);
            decided = now;
        }
    }
}

TEST(a_clear_mean_is_decided_early)
{
    static double y[NUMBERS];
    uint64_t looked = 0;
    for (uint32_t seed = 1; seed <= 100; seed++) {
        struct vq_rng rng;
        vq_rng_seed(&rng, seed);
        for (size_t i = 0; i < NUMBERS; i++) {
            y[i] = i % 10 < 6 ? 1.0 : i % 10 < 8 ? 0.0 : -1.0;
        }
        shuffle(&rng, y, NUMBERS);
        struct vq_drawn d = drawn(y, 0, NUMBERS);
        while (vq_decided_above(&d, 0.01) == VQ_DECIDED_NOT) {
            d.n++;
            assert_true(d.n < NUMBERS);
        }
        assert_int_equal(vq_decided_below(&d, 0.01), VQ_DECIDED_NOT);
        looked += d.n;
    }
    print_message("mean 0.4, alpha 0.01: decided after %.0f of %u on average\n",
                  (double)looked / 100, NUMBERS);
    assert_true(looked < 100 * NUMBERS / 3);
}

TEST(nothing_decides_nothing)
{
    struct vq_drawn d = drawn(NULL, 0, 10);
    assert_int_equal(vq_decided_above(&d, 0.05), VQ_DECIDED_NOT);
    assert_int_equal(vq_decided_below(&d, 0.05), VQ_DECIDED_NOT);
}
