/* The bootstrap: Monte Carlo against the exact law, groups, missing cells, refits. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/special.h"

static void check_law(const struct vq_bootstrap_mean *got, const json_t *want, const char *key)
{
    const json_t *ends = json_object_get(want, key);
    double step = 3.0 / number(want, "n") + 1e-12;
    assert_near(got->percentile.lo, number_of(json_array_get(ends, 0)), 0.0, step);
    assert_near(got->percentile.hi, number_of(json_array_get(ends, 1)), 0.0, step);
}

TEST(test_exact_law)
{
    json_t *root = fixture_json("separability/expected.json");
    struct table table = fixture_table("separability/scores.csv");
    struct vq_bootstrap_options options = {.draws = 5000, .level = 0.95, .seed = 20};
    struct vq_bootstrap_mean at95[9];
    struct vq_bootstrap_mean at90[9];
    struct vq_matrix x = {table.at, table.rows, table.cols};
    assert_int_equal(vq_bootstrap_means(x, NULL, NULL, &options, at95, NULL), VQ_OK);
    options.level = 0.9;
    assert_int_equal(vq_bootstrap_means(x, NULL, NULL, &options, at90, NULL), VQ_OK);
    const json_t *columns = json_object_get(root, "columns");
    for (size_t i = 0; i < 7; i++) {
        const json_t *want = json_array_get(columns, i);
        assert_near(at95[i + 1].mean, number(want, "separability"), 0.0, 1e-15);
        check_law(&at95[i + 1], want, "bootstrap_ci95_exact");
        check_law(&at90[i + 1], want, "bootstrap_ci90_exact");
        assert_near(at95[i + 1].se, number(want, "bootstrap_se_exact"), 0.05, 0.0);
    }
    assert_near(at95[8].se, 0.0, 0.0, 0.0); /* the all-zero column */
    vq_free(table.at);
    json_decref(root);
}

TEST(test_seed_decides)
{
    double x[60];
    for (size_t i = 0; i < 60; i++) {
        x[i] = (double)(i * 7 % 3) - 1.0 + (i % 5 == 0 ? 0.5 : 0.0);
    }
    struct vq_bootstrap_options options = {.draws = 300, .level = 0.95, .seed = 1};
    struct vq_bootstrap_mean a[2];
    struct vq_bootstrap_mean b[2];
    struct vq_bootstrap_mean alone;
    struct vq_matrix both = {x, 30, 2};
    assert_int_equal(vq_bootstrap_means(both, NULL, NULL, &options, a, NULL), VQ_OK);
    assert_int_equal(vq_bootstrap_means(both, NULL, NULL, &options, b, NULL), VQ_OK);
    assert_memory_equal(a, b, sizeof(a));
    double first[30];
    for (size_t row = 0; row < 30; row++) {
        first[row] = x[2 * row];
    }
    struct vq_matrix one = {first, 30, 1};
    assert_int_equal(vq_bootstrap_means(one, NULL, NULL, &options, &alone, NULL), VQ_OK);
    assert_near(alone.se, a[0].se, 1e-13, 0.0); /* draws do not depend on the other columns */
    options.seed = 2;
    assert_int_equal(vq_bootstrap_means(both, NULL, NULL, &options, b, NULL), VQ_OK);
    assert_true(fabs(a[0].se - b[0].se) > 1e-9);
}

/* Rows that repeat in pairs hold half the information: the grouped error is larger by the root of
 * 2. */
TEST(test_groups_stay_together)
{
    enum {
        PAIRS = 200
    };
    double x[2 * PAIRS];
    uint32_t groups[2 * PAIRS];
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    for (size_t i = 0; i < PAIRS; i++) {
        x[i] = (double)vq_rng_below(&rng, 3) - 1.0;
        x[PAIRS + i] = x[i];
        groups[i] = 1000 + (uint32_t)i;
        groups[PAIRS + i] = 1000 + (uint32_t)i;
    }
    struct vq_bootstrap_options options = {.draws = 4000, .level = 0.95, .seed = 3};
    struct vq_bootstrap_mean rows;
    struct vq_bootstrap_mean grouped;
    struct vq_matrix matrix = {x, 2 * PAIRS, 1};
    assert_int_equal(vq_bootstrap_means(matrix, NULL, NULL, &options, &rows, NULL), VQ_OK);
    assert_int_equal(vq_bootstrap_means(matrix, NULL, groups, &options, &grouped, NULL), VQ_OK);
    assert_near(grouped.se / rows.se, sqrt(2.0), 0.05, 0.0);
    /* One group: every draw is the data. */
    memset(groups, 0, sizeof(groups));
    assert_int_equal(vq_bootstrap_means(matrix, NULL, groups, &options, &grouped, NULL), VQ_OK);
    assert_near(grouped.se, 0.0, 0.0, 1e-12);
    assert_near(grouped.percentile.lo, grouped.mean, 0.0, 1e-12);
}

TEST(test_missing_and_factor)
{
    const double x[12] = {1, NAN, 1, 1, NAN, NAN, 0, NAN, -1, NAN, 1, NAN};
    const double preference[6] = {1, -1, 1, NAN, -1, 1};
    struct vq_bootstrap_options options = {.draws = 500, .level = 0.95, .seed = 9};
    struct vq_bootstrap_mean ret[2];
    struct vq_matrix matrix = {x, 6, 2};
    assert_int_equal(vq_bootstrap_means(matrix, NULL, NULL, &options, ret, NULL), VQ_OK);
    assert_near(ret[0].mean, 0.4, 0.0, 1e-15);
    assert_near(ret[1].mean, 1.0, 0.0, 0.0);
    assert_near(ret[1].percentile.lo, 1.0, 0.0, 0.0); /* draws without its one cell are left out */
    assert_int_equal(vq_bootstrap_means(matrix, preference, NULL, &options, ret, NULL), VQ_OK);
    assert_near(ret[0].mean, (1.0 - 1.0 + 1.0 + 1.0) / 4.0, 0.0, 1e-15);
    assert_near(ret[1].mean, -1.0, 0.0, 0.0);
    const double nothing[2] = {NAN, NAN};
    struct vq_matrix empty = {nothing, 2, 1};
    assert_int_equal(vq_bootstrap_means(empty, NULL, NULL, &options, ret, NULL), VQ_OK);
    assert_true(isnan(ret[0].mean) && isnan(ret[0].percentile.lo) && isnan(ret[0].se));
    empty.rows = 0;
    assert_int_equal(vq_bootstrap_means(empty, NULL, NULL, &options, ret, NULL), VQ_OK);
    assert_true(isnan(ret[0].percentile.hi));
}

TEST(test_coefficients)
{
    enum {
        ROWS = 250
    };
    double x[ROWS * 2];
    double y[ROWS];
    struct vq_rng rng;
    vq_rng_seed(&rng, 11);
    for (size_t row = 0; row < ROWS; row++) {
        y[row] = 1.0;
        x[row * 2] = vq_rng_unit(&rng) < 0.7 ? 1.0 : -1.0;
        x[row * 2 + 1] = (double)vq_rng_below(&rng, 3) - 1.0;
    }
    struct vq_logit_data data = {.x = {.at = x, .rows = ROWS, .cols = 2}, .y = y, .mirrored = true};
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_mle(&data, &fit, NULL), VQ_OK);
    struct vq_bootstrap_options options = {.draws = 400, .level = 0.95, .seed = 4};
    struct vq_interval ci[2];
    struct vq_interval again[2];
    double p[2];
    assert_int_equal(vq_bootstrap_coefficients(&data, 1e4, 0.0, NULL, &options, ci, NULL, p, NULL),
                     VQ_OK);
    assert_near(p[0], 2.0 / 401.0, 1e-12, 0.0); /* no draw is at 0 or below */
    assert_true(p[1] <= 1.0);
    assert_int_equal(p[1] > 0.05, ci[1].lo < 0.0 && ci[1].hi > 0.0); /* as the interval says */
    for (size_t col = 0; col < 2;
         col++) { /* near the Wald interval, without a penalty to speak of */
        double half = VQ_NORMAL_975 * fit.se[col], slack = 0.25 * fit.se[col] + 0.02;
        assert_near(ci[col].lo, fit.coef[col] - half, 0.0, slack);
        assert_near(ci[col].hi, fit.coef[col] + half, 0.0, slack);
    }
    assert_int_equal(
        vq_bootstrap_coefficients(&data, 1e4, 0.0, NULL, &options, again, NULL, NULL, NULL), VQ_OK);
    assert_memory_equal(ci, again, sizeof(ci));
    assert_int_equal(vq_bootstrap_coefficients(&data, 1e-4, 1.0, NULL, &options, ci, NULL, p, NULL),
                     VQ_OK);
    assert_near(p[0], 1.0, 0.0, 0.0); /* the lasso leaves nothing: every draw is 0 */
    vq_logit_fit_free(&fit);
}

TEST(test_refusals)
{
    const double x[2] = {1, INFINITY};
    struct vq_matrix good = {x, 1, 1};
    struct vq_matrix bad = {x, 2, 1};
    struct vq_bootstrap_mean ret;
    struct vq_bootstrap_options options = {.draws = 0, .level = 0.95};
    assert_int_equal(vq_bootstrap_means(good, NULL, NULL, &options, &ret, NULL), VQ_LIMIT);
    options.draws = 10;
    options.level = 1.0;
    assert_int_equal(vq_bootstrap_means(good, NULL, NULL, &options, &ret, NULL), VQ_INVALID);
    options.level = 0.95;
    assert_int_equal(vq_bootstrap_means(bad, NULL, NULL, &options, &ret, NULL), VQ_INVALID);
}

TEST_START(vq_stats_init)
