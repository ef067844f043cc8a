/* Adjusted p-values against the fixtures. */
#include "tests/unit/methods/stats/fixtures.h"

#include "methods/stats/intervals/multiple.h"

static const char *const NAMES[] = {
    [VQ_MULTIPLE_BH] = "bh",
    [VQ_MULTIPLE_HOLM] = "holm",
};

static size_t rejected(const double *adjusted, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += adjusted[i] <= 0.05 ? 1 : 0;
    }
    return count;
}

TEST(test_fixtures)
{
    json_t *root = fixture_json("tests/multiple_testing.json");
    const json_t *cases = json_object_get(root, "cases");
    assert_int_equal(json_array_size(cases), 9);
    for (size_t c = 0; c < json_array_size(cases); c++) {
        const json_t *want = json_array_get(cases, c);
        size_t n;
        double *p = numbers(json_object_get(want, "p"), &n);
        double *got = vq_alloc(n, sizeof(*got));
        for (size_t method = 0; method < VQ_COUNT(NAMES); method++) {
            assert_int_equal(vq_multiple_adjust((enum vq_multiple_method)method, p, n, got), VQ_OK);
            const json_t *list = json_object_get(want, NAMES[method]);
            assert_int_equal(json_array_size(list), n);
            for (size_t i = 0; i < n; i++) {
                assert_near(got[i], number_of(json_array_get(list, i)), 1e-12, ABS_P);
            }
            char key[64];
            (void)snprintf(key, sizeof(key), "%s_rejected_at_0.05", NAMES[method]);
            if (json_object_get(want, key) != NULL) {
                assert_int_equal(rejected(got, n), json_integer_value(json_object_get(want, key)));
            }
        }
        vq_free(p);
        vq_free(got);
    }
    json_decref(root);
}

TEST(test_missing_and_in_place)
{
    double p[4] = {0.04, NAN, 0.01, NAN};
    assert_int_equal(vq_multiple_adjust(VQ_MULTIPLE_BH, p, 4, p), VQ_OK);
    assert_near(p[0], 0.04, 1e-15, 0.0);
    assert_near(p[2], 0.02, 1e-15, 0.0);
    assert_true(isnan(p[1]) && isnan(p[3]));
}

TEST(test_refusals)
{
    const double p[2] = {0.5, 1.5};
    double got[2] = {7, 7};
    assert_int_equal(vq_multiple_adjust(VQ_MULTIPLE_BH, p, 2, got), VQ_INVALID);
    assert_near(got[0], 7.0, 0.0, 0.0);
    assert_int_equal(vq_multiple_adjust(VQ_MULTIPLE_BH, p, 0, got), VQ_OK);
}
