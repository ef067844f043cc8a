/* Bradley-Terry strengths against the fixtures. */
#include "tests/unit/methods/stats/fixtures.h"

#include "methods/stats/ranking/bradley.h"
#include "methods/stats/special.h"

enum {
    ITEMS_MAX = 8
};

struct result {
    double strength[ITEMS_MAX];
    struct vq_bradley fit;
};

static void fit(struct vq_matrix wins, struct result *r)
{
    memset(r, 0, sizeof(*r));
    r->fit.log_strength = r->strength;
    assert_int_equal(vq_bradley_fit(wins, &r->fit, NULL), VQ_OK);
}

static void check_list(const double *got, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        assert_near(got[i], number_of(json_array_get(list, i)), REL_COEF, ABS_COEF);
    }
}

static void check_ok(const struct result *r, const json_t *want, size_t items)
{
    check_list(r->strength, json_object_get(want, "log_strength_first_zero"));
    const json_t *table = json_object_get(want, "win_probability");
    for (size_t i = 0; i < items; i++) {
        for (size_t j = 0; j < items; j++) {
            assert_near(vq_logistic(r->strength[i] - r->strength[j]),
                        number_of(json_array_get(json_array_get(table, i), j)), REL_COEF, 0.0);
        }
    }
}

TEST(test_fixtures)
{
    static const char *const names[] = {
        [VQ_BRADLEY_OK] = "ok",
        [VQ_BRADLEY_INFINITE] = "infinite",
        [VQ_BRADLEY_NOT_IDENTIFIED] = "not_identified",
        [VQ_BRADLEY_NOT_CONVERGED] = "not_converged",
    };
    json_t *root = fixture_json("tests/bradley_terry.json");
    const json_t *cases = json_object_get(root, "cases");
    assert_int_equal(json_array_size(cases), 7);
    for (size_t c = 0; c < json_array_size(cases); c++) {
        const json_t *want = json_array_get(cases, c);
        const json_t *table = json_object_get(want, "wins");
        size_t n;
        double *wins = numbers(table, &n);
        size_t items = json_array_size(table);
        struct result r;
        print_message("  %s\n", text(want, "name"));
        fit((struct vq_matrix){wins, items, items}, &r);
        assert_string_equal(names[r.fit.status], text(want, "status"));
        if (r.fit.status == VQ_BRADLEY_OK) {
            check_ok(&r, want, items);
        } else {
            assert_near(r.strength[0], 0.0, 0.0, 0.0); /* untouched */
        }
        vq_free(wins);
    }
    json_decref(root);
}

TEST(test_corners)
{
    const double one[1] = {3};
    struct result r;
    fit((struct vq_matrix){one, 1, 1}, &r);
    assert_int_equal(r.fit.status, VQ_BRADLEY_OK);
    assert_near(r.strength[0], 0.0, 0.0, 0.0);
    const double negative[4] = {0, 1, -1, 0};
    assert_int_equal(vq_bradley_fit((struct vq_matrix){negative, 2, 2}, &r.fit, NULL), VQ_INVALID);
    assert_int_equal(vq_bradley_fit((struct vq_matrix){negative, 1, 2}, &r.fit, NULL), VQ_INVALID);
    const double holes[4] = {0, NAN, 1, 0};
    assert_int_equal(vq_bradley_fit((struct vq_matrix){holes, 2, 2}, &r.fit, NULL), VQ_INVALID);
    const double never_loses[9] = {0, 5, 0, 4, 0, 0, 6, 7, 0};
    fit((struct vq_matrix){never_loses, 3, 3}, &r);
    assert_int_equal(r.fit.status, VQ_BRADLEY_INFINITE);
}

TEST_START(vq_stats_init)
