/* Exact permutation tests and the paired t-test against the fixtures. */
#include "tests/unit/methods/stats/fixtures.h"

#include "methods/stats/intervals/compare.h"
#include "methods/stats/intervals/proportions.h"

TEST(test_fixtures)
{
    json_t *root = fixture_json("separability/permutation_exact.json");
    const json_t *cases = json_object_get(root, "cases");
    assert_int_equal(json_array_size(cases), 8);
    for (size_t c = 0; c < json_array_size(cases); c++) {
        const json_t *want = json_array_get(cases, c);
        size_t n_a;
        size_t n_b;
        double *a = numbers(json_object_get(want, "a"), &n_a);
        double *b = numbers(json_object_get(want, "b"), &n_b);
        struct vq_permutation got;
        if (strcmp(text(want, "kind"), "paired_sign_flip") == 0) {
            assert_int_equal(n_a, n_b);
            assert_int_equal(vq_compare_paired(a, b, n_a, &got), VQ_OK);
            struct vq_paired_t t;
            vq_compare_paired_t(a, b, n_a, &t);
            assert_int_equal(t.n, n_a);
            assert_near(t.mean, number(want, "observed"), 1e-12, 0.0);
            assert_near(t.t, number(want, "t_rel"), 1e-12, 0.0);
            assert_near(t.p, number(want, "p_t_rel"), REL_P, 0.0);
        } else {
            assert_int_equal(vq_compare_two_sample(a, n_a, b, n_b, &got), VQ_OK);
        }
        assert_near(got.observed, number(want, "observed"), 1e-12, 0.0);
        assert_int_equal(got.arrangements,
                         json_integer_value(json_object_get(want, "arrangements")));
        assert_near(got.p_two_sided, number(want, "p_two_sided_abs"), 1e-15, 0.0);
        assert_near(got.p_greater, number(want, "p_greater"), 1e-15, 0.0);
        vq_free(a);
        vq_free(b);
    }
    json_decref(root);
}

/* Flipping signs of +1 and -1 is the sign test. */
TEST(test_flips_are_the_sign_test)
{
    const double a[12] = {1, 1, 1, -1, 1, 1, 0, 1, -1, 1, 1, 0};
    const double zero[12] = {0};
    struct vq_permutation got;
    assert_int_equal(vq_compare_paired(a, zero, 12, &got), VQ_OK);
    assert_near(got.p_two_sided, vq_proportion_binomial_half(8, 10), 1e-12, 0.0);
}

TEST(test_limits)
{
    double many[60] = {0};
    struct vq_permutation got;
    assert_int_equal(vq_compare_two_sample(many, 30, many, 30, &got), VQ_LIMIT);
    assert_int_equal(vq_compare_paired(many, many, 30, &got), VQ_LIMIT);
    assert_int_equal(vq_compare_paired(many, many, 60, &got), VQ_LIMIT);
    assert_int_equal(vq_compare_paired(many, many, 0, &got), VQ_INVALID);
    assert_int_equal(vq_compare_two_sample(many, 0, many, 3, &got), VQ_INVALID);
    many[0] = NAN;
    assert_int_equal(vq_compare_two_sample(many, 2, many, 2, &got), VQ_INVALID);
    assert_int_equal(vq_compare_two_sample(many + 1, 58, many + 1, 1, &got), VQ_OK);
    assert_int_equal(got.arrangements, 59);
    assert_near(got.p_two_sided, 1.0, 0.0, 0.0);
}

TEST(test_paired_t_corners)
{
    const double a[4] = {1, 2, NAN, 3};
    const double b[4] = {0.9, 1.9, 1, 2.9};
    struct vq_paired_t t;
    vq_compare_paired_t(a, b, 4, &t);
    assert_int_equal(t.n, 3);
    assert_near(t.mean, 0.1, 1e-14, 0.0);
    assert_true(isnan(t.t) && isnan(t.p)); /* no variance but rounding */
    vq_compare_paired_t(a, b, 1, &t);
    assert_true(isnan(t.t));
    vq_compare_paired_t(a, b, 0, &t);
    assert_true(isnan(t.mean));
}
