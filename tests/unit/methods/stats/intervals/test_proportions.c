/* Intervals of proportions and the exact binomial test, against the fixtures and against sums by
 * hand. */
#include "tests/unit/methods/stats/fixtures.h"

#include "methods/stats/intervals/proportions.h"

static void check_method(const json_t *want, const char *name, enum vq_proportion_method method)
{
    for (int level = 95; level <= 99; level += 4) {
        char key[64];
        (void)snprintf(key, sizeof(key), "%s_%d", name, level);
        const json_t *ends = json_object_get(want, key);
        assert_non_null(ends);
        struct vq_interval got = vq_proportion_interval(method, number(want, "successes"),
                                                        number(want, "n"), level / 100.0);
        double lo = number_of(json_array_get(ends, 0));
        double hi = number_of(json_array_get(ends, 1));
        /* Tiny rates must not hide behind the absolute tolerance. */
        assert_near(got.lo, lo, 1e-9, lo > 1e-9 ? 0.0 : ABS_AGREE);
        assert_near(got.hi, hi, 1e-9, 0.0);
    }
}

TEST(test_fixtures)
{
    json_t *root = fixture_json("tests/proportions.json");
    const json_t *cases = json_object_get(root, "cases");
    assert_true(json_array_size(cases) >= 10);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *want = json_array_get(cases, i);
        check_method(want, "wilson", VQ_PROPORTION_WILSON);
        check_method(want, "clopper_pearson", VQ_PROPORTION_CLOPPER_PEARSON);
        check_method(want, "agresti_coull", VQ_PROPORTION_AGRESTI_COULL);
        check_method(want, "jeffreys", VQ_PROPORTION_JEFFREYS);
        check_method(want, "normal", VQ_PROPORTION_NORMAL);
        assert_near(vq_proportion_binomial_half(number(want, "successes"), number(want, "n")),
                    number(want, "p_binomial_two_sided_half"), REL_P, ABS_P);
    }
    json_decref(root);
}

/* Every n up to 60 by summing the coefficients, which are exact in a double. */
TEST(test_binomial_by_sum)
{
    for (int n = 0; n <= 60; n++) {
        for (int k = 0; k <= n; k++) {
            int fewer = k < n - k ? k : n - k;
            double term = 1.0;
            double sum = 0.0;
            for (int j = 0; j <= fewer; j++) {
                sum += term;
                term = term * (n - j) / (j + 1);
            }
            double want = fmin(1.0, 2.0 * sum * pow(0.5, n));
            want = 2 * fewer == n ? 1.0 : want;
            assert_near(vq_proportion_binomial_half(k, n), want, 1e-12, 0.0);
        }
    }
}

TEST(test_deep_tail)
{
    assert_near(vq_proportion_binomial_half(0, 990), 2.0 * pow(0.5, 990), 1e-10, 0.0);
    assert_near(vq_proportion_binomial_half(1, 990), 2.0 * 991.0 * pow(0.5, 990), 1e-10, 0.0);
}

TEST(test_no_interval)
{
    const double bad[5][3] = {
        {0, 0, 0.95}, {-1, 10, 0.95}, {11, 10, 0.95}, {5, 10, 1.0}, {NAN, 10, 0.95}};
    for (size_t i = 0; i < 5; i++) {
        struct vq_interval got =
            vq_proportion_interval(VQ_PROPORTION_WILSON, bad[i][0], bad[i][1], bad[i][2]);
        assert_true(isnan(got.lo) && isnan(got.hi));
    }
    assert_true(isnan(vq_proportion_binomial_half(2.5, 10)));
    assert_true(isnan(vq_proportion_binomial_half(11, 10)));
    assert_near(vq_proportion_binomial_half(0, 0), 1.0, 0.0, 0.0);
}

/* Half a success for a tie lies between its neighbours. */
TEST(test_half_successes)
{
    struct vq_interval a = vq_proportion_interval(VQ_PROPORTION_WILSON, 60, 125, 0.95);
    struct vq_interval b = vq_proportion_interval(VQ_PROPORTION_WILSON, 60.5, 125, 0.95);
    struct vq_interval c = vq_proportion_interval(VQ_PROPORTION_WILSON, 61, 125, 0.95);
    assert_true(a.lo < b.lo && b.lo < c.lo && a.hi < b.hi && b.hi < c.hi);
}

/* 40 units of five equal rows are 40 trials; independent rows are about as many trials as rows;
 * agreeing units never give [1, 1]. */
TEST(test_clustered)
{
    double outcomes[200];
    uint32_t groups[200];
    for (uint32_t i = 0; i < 200; i++) {
        groups[i] = i / 5;
        outcomes[i] = i / 5 % 4 == 0 ? 0.0 : 1.0;
    }
    struct vq_interval got;
    assert_int_equal(vq_proportion_clustered(outcomes, 200, groups, 0.95, &got), VQ_OK);
    struct vq_interval units = vq_proportion_interval(VQ_PROPORTION_WILSON, 29.25, 39, 0.95);
    assert_near(got.lo, units.lo, 1e-9, 0.0); /* 40 units, less the degree of the mean */
    assert_near(got.hi, units.hi, 1e-9, 0.0);
    assert_int_equal(vq_proportion_clustered(outcomes, 200, NULL, 0.95, &got), VQ_OK);
    struct vq_interval rows = vq_proportion_interval(VQ_PROPORTION_WILSON, 149.25, 199, 0.95);
    assert_near(got.lo, rows.lo, 1e-9, 0.0);
    for (uint32_t i = 0; i < 200; i++) {
        outcomes[i] = 1.0;
    }
    assert_int_equal(vq_proportion_clustered(outcomes, 200, groups, 0.95, &got), VQ_OK);
    units = vq_proportion_interval(VQ_PROPORTION_WILSON, 40, 40, 0.95);
    assert_near(got.lo, units.lo, 1e-12, 0.0);
    assert_int_equal(vq_proportion_clustered(outcomes, 5, groups, 0.95, &got), VQ_OK);
    assert_true(isnan(got.lo) && isnan(got.hi)); /* one unit */
}
