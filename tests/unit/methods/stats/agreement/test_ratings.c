/* Agreement of two raters, by hand. */
#include "tests/unit/methods/stats/fixtures.h"

#include "methods/stats/agreement/ratings.h"

TEST(by_hand)
{
    static const double a[] = {1, 2, 3, 4, 5, 5, NAN, 2};
    static const double b[] = {1, 2, 4, 2, 5, 4, 3, NAN};
    struct vq_ratings_agreement r;
    assert_int_equal(vq_ratings_agree(a, b, VQ_COUNT(a), 1, 5, &r), VQ_OK);
    assert_int_equal(r.rows, 6);
    assert_true(fabs(r.exact - 3.0 / 6) < 1e-12);
    assert_true(fabs(r.absolute_error - 4.0 / 6) < 1e-12);
    assert_true(fabs(r.within_one - 5.0 / 6) < 1e-12);
    assert_true(fabs(r.mean_a - 20.0 / 6) < 1e-12 && fabs(r.mean_b - 18.0 / 6) < 1e-12);
    /* 1 - sum of squared distances / expected: 6 / (sum over pairs of (a_i - b_j)^2 / 6) */
    double expected = 0;
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            expected += (a[i] - b[j]) * (a[i] - b[j]) / 6;
        }
    }
    assert_true(fabs(r.kappa.kappa_quadratic - (1 - 6 / expected)) < 1e-12);
}

TEST(edges)
{
    struct vq_ratings_agreement r;
    static const double yes[] = {1, 1}, no[] = {0, NAN}, half[] = {0.5, 1}, six[] = {6, 1};
    assert_int_equal(vq_ratings_agree(yes, yes, 2, 0, 1, &r), VQ_OK);
    assert_true(r.exact == 1 && r.kappa.status == VQ_AGREEMENT_UNDEFINED);
    assert_int_equal(vq_ratings_agree(yes, no, 2, 0, 1, &r), VQ_OK);
    assert_true(r.rows == 1 && r.exact == 0 && r.within_one == 1);
    assert_int_equal(vq_ratings_agree(no + 1, no + 1, 1, 0, 1, &r), VQ_OK);
    assert_true(r.rows == 0 && isnan(r.exact) && isnan(r.mean_a));
    assert_int_equal(vq_ratings_agree(half, yes, 2, 0, 1, &r), VQ_INVALID);
    assert_int_equal(vq_ratings_agree(six, yes, 2, 1, 5, &r), VQ_INVALID);
    assert_int_equal(vq_ratings_agree(yes, yes, 2, 0, VQ_AGREEMENT_CATEGORIES_MAX, &r), VQ_LIMIT);
}
