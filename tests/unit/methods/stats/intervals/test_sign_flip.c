/* The sign-flip test: exact values worked out by hand, the exact permutation of another file, drawn
 * against exact, repeats. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/intervals/proportions.h"
#include "methods/stats/intervals/sign_flip.h"

static struct vq_sign_flip flip(const double *at, size_t n, const uint32_t *groups, uint64_t seed)
{
    struct vq_sign_flip got;
    assert_int_equal(vq_sign_flip_test(at, n, 1, groups, seed, &got), VQ_OK);
    return got;
}

/* Ten prompts of 20 copies each: what counts is ten prompts, or five. */
TEST(test_copies_are_one_unit)
{
    double at[100];
    uint32_t groups[100];
    for (uint32_t i = 0; i < 100; i++) {
        groups[i] = 40 + i % 5;
        at[i] = i % 5 == 0 ? -1.0 : 1.0; /* separability 0.6 */
    }
    struct vq_sign_flip got = flip(at, 100, groups, 1);
    assert_int_equal(got.units, 5);
    assert_true(got.exact);
    assert_near(got.p, 0.375, 0.0, 1e-15);
    got = flip(at, 100, NULL, 1);
    assert_int_equal(got.units, 100);
    assert_near(got.p, vq_proportion_binomial_half(80, 100), 0.0, 1e-15);
}

TEST(test_all_patterns)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 7);
    for (size_t n = 2; n <= 14; n++) {
        double a[14], sum = 0.0;
        for (size_t i = 0; i < n; i++) {
            a[i] = (double)vq_rng_below(&rng, 9) / 4.0 - 0.9;
            sum += a[i];
        }
        uint32_t extreme = 0;
        for (uint32_t signs = 0; signs < 1u << n; signs++) {
            double flipped = 0.0;
            for (size_t i = 0; i < n; i++) {
                flipped += (signs >> i & 1) != 0 ? -a[i] : a[i];
            }
            extreme += fabs(flipped) >= fabs(sum) - 1e-9;
        }
        assert_near(flip(a, n, NULL, 1).p, extreme / (double)(1u << n), 0.0, 1e-12);
    }
}

/* 60 units of two sizes: the drawn p is within four standard errors of the exact one, which two
 * binomials give. */
TEST(test_drawn)
{
    double at[60];
    for (size_t i = 0; i < 60; i++) {
        double size = i < 30 ? 1.0 : 0.5;
        at[i] = i % 30 < 19 ? size : -size;
    }
    double sum = 30 * 1.5 - 2 * 11 * 1.5; /* 12 */
    double exact = 0.0;
    for (int j = 0; j <= 30; j++) {
        for (int k = 0; k <= 30; k++) {
            double s = (2 * j - 30) + 0.5 * (2 * k - 30);
            if (fabs(s) >= sum - 1e-9) {
                exact += exp(lgamma(31) * 2 - lgamma(j + 1) - lgamma(31 - j) - lgamma(k + 1) -
                             lgamma(31 - k) - 60 * log(2));
            }
        }
    }
    struct vq_sign_flip got = flip(at, 60, NULL, 3);
    assert_false(got.exact);
    assert_near(got.p, exact, 0.0, 4 * sqrt(exact / VQ_SIGN_FLIP_DRAWS));
    assert_near(flip(at, 60, NULL, 3).p, got.p, 0.0, 0.0);
}

/* Null data of 60 prompts with four fully correlated copies: the share of p <= 0.05 stays about
 * 0.05. */
TEST(test_level_with_copies)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 11);
    size_t rejected = 0;
    for (uint64_t round = 0; round < 1000; round++) {
        double at[240];
        uint32_t groups[240];
        for (uint32_t i = 0; i < 60; i++) {
            double score = (double)vq_rng_below(&rng, 3) - 1.0;
            for (uint32_t k = 0; k < 4; k++) {
                at[4 * i + k] = score;
                groups[4 * i + k] = i;
            }
        }
        rejected += flip(at, 240, groups, round).p <= 0.05;
    }
    assert_true(rejected <= 65); /* 50 expected of a test without gaps: sd 7 */
    assert_true(rejected >= 10);
}

TEST(test_nothing)
{
    const double none[3] = {NAN, NAN, NAN};
    assert_true(isnan(flip(none, 3, NULL, 1).p));
    assert_true(isnan(flip(none, 0, NULL, 1).p));
    const double zeros[3] = {0.0, NAN, 0.0};
    struct vq_sign_flip got = flip(zeros, 3, NULL, 1);
    assert_int_equal(got.units, 2);
    assert_near(got.p, 1.0, 0.0, 0.0);
}

/* Of two columns that mirror each other it is the test of one. */
TEST(test_vectors_of_two)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 3);
    for (uint32_t n = 0; n <= 12; n++) {
        double at[12], both[24];
        for (uint32_t i = 0; i < n; i++) {
            at[i] = floor(9.0 * vq_rng_unit(&rng)) - 3.0;
            both[2 * i] = at[i];
            both[2 * i + 1] = -at[i];
        }
        struct vq_sign_flip got;
        assert_int_equal(vq_sign_flip_vectors((struct vq_matrix){both, n, 2}, 1, &got), VQ_OK);
        struct vq_sign_flip want = flip(at, n, NULL, 1);
        assert_near(got.p, want.p, 1e-12, 0.0);
        assert_int_equal(got.units, want.units);
        assert_int_equal(got.nonzero, want.nonzero);
        assert_true(got.exact);
    }
}

TEST(test_level_of_vectors)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 21);
    size_t rejected = 0;
    for (uint64_t round = 0; round < 400; round++) {
        /* three models, all pairs of each prompt: sums of scores that are not independent */
        double at[40 * 3];
        for (size_t u = 0; u < 40; u++) {
            double s01 = (double)vq_rng_below(&rng, 3) - 1.0,
                   s02 = (double)vq_rng_below(&rng, 3) - 1.0;
            double s12 = (double)vq_rng_below(&rng, 3) - 1.0;
            at[3 * u] = s01 + s02;
            at[3 * u + 1] = s12 - s01;
            at[3 * u + 2] = -s02 - s12;
        }
        struct vq_sign_flip got;
        assert_int_equal(vq_sign_flip_vectors((struct vq_matrix){at, 40, 3}, round, &got), VQ_OK);
        assert_false(got.exact);
        rejected += got.p <= 0.05;
    }
    print_message("  level of vectors, seed 21: %zu of 400 at 0.05\n", rejected);
    assert_true(rejected >= 8 && rejected <= 34);
}
