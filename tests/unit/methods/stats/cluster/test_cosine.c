/* Cosines: closed forms, ties, zero vectors, refusals. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/cluster/cosine.h"

TEST(test_closed_forms)
{
    const float a[5] = {3, 4, 0, 0, 0}, b[5] = {4, 3, 0, 0, 0}, c[5] = {0, 0, 0, 0, 2},
                zero[5] = {0};
    assert_near(vq_cosine(a, b, 5), 0.96, 1e-15, 0.0);
    assert_near(vq_cosine(a, a, 5), 1.0, 0.0, 0.0);
    assert_near(vq_cosine(a, c, 5), 0.0, 0.0, 0.0);
    const float opposite[5] = {-6, -8, 0, 0, 0};
    assert_near(vq_cosine(a, opposite, 5), -1.0, 0.0, 0.0);
    assert_near(vq_cosine(a, zero, 5), 0.0, 0.0, 0.0);
    assert_near(vq_cosine(zero, zero, 5), 0.0, 0.0, 0.0);
    const float large[2] = {1e15F, 1e15F}, small[2] = {1e-38F, 0};
    assert_near(vq_cosine(large, small, 2), sqrt(0.5), 1e-12, 0.0);
}

TEST(test_nearest)
{
    const float among[] = {0, 0, 1, 0, 0, 1, 1, 0, -1, -1};
    const float of[] = {5, 1, 1, 5, -2, -2, 0, 0, 2, 2};
    uint32_t nearest[5];
    double cosine[5];
    struct vq_vectors left = {of, 5, 2}, right = {among, 5, 2};
    assert_int_equal(vq_cosine_nearest(left, right, nearest, cosine, NULL), VQ_OK);
    assert_int_equal(nearest[0], 1); /* row 3 is the same: the first */
    assert_int_equal(nearest[1], 2);
    assert_int_equal(nearest[2], 4);
    assert_int_equal(nearest[3], 0); /* zeros: all cosines 0 */
    assert_int_equal(nearest[4], 1); /* as near to 2 */
    assert_near(cosine[0], 5 / sqrt(26.0), 1e-15, 0.0);
    assert_near(cosine[3], 0.0, 0.0, 0.0);
    const float away[] = {-1, 0, 0, 0};
    assert_int_equal(vq_cosine_nearest((struct vq_vectors){of, 1, 2},
                                       (struct vq_vectors){away, 2, 2}, nearest, NULL, NULL),
                     VQ_OK);
    assert_int_equal(nearest[0], 1); /* a row of zeros is nearer than the opposite */
}

/* Rows that are each nearest to themselves, repeated: the first copy is found whatever its
 * place. */
TEST(test_first_of_equals)
{
    enum {
        N = 30,
        D = 37
    };
    static float at[2 * N * D];
    struct vq_rng rng;
    vq_rng_seed(&rng, 1);
    for (size_t cell = 0; cell < N * D; cell++) {
        at[cell] = at[N * D + cell] = (float)vq_rng_unit(&rng) - 0.5F;
    }
    uint32_t nearest[2 * N];
    struct vq_vectors both = {at, 2 * N, D};
    assert_int_equal(vq_cosine_nearest(both, both, nearest, NULL, NULL), VQ_OK);
    for (size_t i = 0; i < 2 * N; i++) {
        assert_int_equal(nearest[i], i % N);
    }
}

TEST(test_refusals)
{
    const float good[2] = {1, 2}, bad[2] = {1, NAN}, endless[2] = {INFINITY, 0};
    uint32_t nearest[1] = {7};
    struct vq_vectors fine = {good, 1, 2}, none = {good, 0, 2}, other = {good, 2, 1},
                      nan = {bad, 1, 2}, inf = {endless, 1, 2};
    assert_int_equal(vq_cosine_nearest(fine, none, nearest, NULL, NULL), VQ_INVALID);
    assert_int_equal(vq_cosine_nearest(fine, other, nearest, NULL, NULL), VQ_INVALID);
    assert_int_equal(vq_cosine_nearest(fine, nan, nearest, NULL, NULL), VQ_INVALID);
    assert_int_equal(vq_cosine_nearest(inf, fine, nearest, NULL, NULL), VQ_INVALID);
    assert_int_equal(nearest[0], 7);
    assert_int_equal(vq_cosine_nearest(none, fine, nearest, NULL, NULL), VQ_OK);
    assert_int_equal(nearest[0], 7);
}

TEST_START(vq_stats_init)
