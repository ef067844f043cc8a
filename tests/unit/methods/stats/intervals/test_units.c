/* Units of several rows: their means, and weights that let each count once. */
#include "tests/unit/methods/stats/fixtures.h"

#include "methods/stats/intervals/units.h"

static const uint32_t GROUPS[6] = {9, 4, 9, 4, 9, 7};

TEST(test_means)
{
    const double at[6] = {1, 0, NAN, 1, -1, NAN};
    double means[6];
    size_t units = 0;
    assert_int_equal(vq_unit_means(at, 6, 1, GROUPS, means, &units), VQ_OK);
    assert_int_equal(units, 3);
    assert_near(means[0], 0.0, 0.0, 1e-15);
    assert_near(means[1], 0.5, 0.0, 1e-15);
    assert_true(isnan(means[2]));
    assert_int_equal(vq_unit_means(at, 6, 1, NULL, means, &units), VQ_OK);
    assert_int_equal(units, 6);
}

TEST(test_weights)
{
    double weights[6], sum = 0;
    size_t units = 0;
    assert_int_equal(vq_unit_weights(GROUPS, 6, weights, &units), VQ_OK);
    assert_int_equal(units, 3);
    for (int i = 0; i < 6; i++) {
        sum += weights[i];
    }
    assert_near(sum, 3.0, 0.0, 1e-12);
    assert_near(weights[1], 0.5, 0.0, 1e-15);
    assert_near(weights[5], 1.0, 0.0, 1e-15);
}
