/* Separability: the fixture columns, missing cells and their bounds, overlaps. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/intervals/bootstrap.h"
#include "methods/stats/intervals/separability.h"

struct scores {
    struct table table;
    double *x; /* rows x 8 */
    double *preference;
};

static struct scores load_scores(void)
{
    struct scores s = {.table = fixture_table("separability/scores.csv")};
    size_t cols = s.table.cols - 1;
    s.x = vq_alloc(s.table.rows * cols, sizeof(double));
    s.preference = vq_alloc(s.table.rows, sizeof(double));
    for (size_t row = 0; row < s.table.rows; row++) {
        s.preference[row] = s.table.at[row * s.table.cols];
        memcpy(s.x + row * cols, s.table.at + row * s.table.cols + 1, cols * sizeof(double));
    }
    return s;
}

static void unload_scores(struct scores *s)
{
    vq_free(s->table.at);
    vq_free(s->x);
    vq_free(s->preference);
}

static void check_column(const struct vq_separability *got, const json_t *want)
{
    assert_near(got->mean, number(want, "separability"), 0.0, ABS_AGREE);
    assert_near(fabs(got->mean), number(want, "separability_abs"), 0.0, ABS_AGREE);
    assert_near(got->pref_mean, number(want, "pref_score"), 0.0, ABS_AGREE);
    assert_near(got->bounds.lo, got->mean, 0.0, 1e-15);
    assert_near(got->bounds.hi, got->mean, 0.0, 1e-15);
}

TEST(test_fixture_columns)
{
    json_t *root = fixture_json("separability/expected.json");
    struct scores s = load_scores();
    size_t cols = s.table.cols - 1;
    const json_t *columns = json_object_get(root, "columns");
    assert_int_equal(json_array_size(columns), 8);
    for (size_t col = 0; col < cols; col++) {
        struct vq_separability sep;
        vq_separability_column(s.x + col, s.table.rows, cols, s.preference, &sep);
        check_column(&sep, json_array_get(columns, col));
    }
    unload_scores(&s);
    json_decref(root);
}

TEST(test_fixture_matrix)
{
    json_t *root = fixture_json("separability/expected.json");
    struct scores s = load_scores();
    struct vq_matrix x = {s.x, s.table.rows, 8};
    const json_t *rows = json_object_get(root, "correlation_live_columns");
    for (size_t i = 0; i < 7; i++) {
        for (size_t j = 0; j < 7; j++) {
            double want = number_of(json_array_get(json_array_get(rows, i), j));
            assert_near(vq_separability_overlap(x, i, j, VQ_OVERLAP_PEARSON), want, 0.0, ABS_AGREE);
        }
        assert_true(isnan(vq_separability_overlap(x, i, 7, VQ_OVERLAP_PEARSON)));
        assert_true(isnan(vq_separability_overlap(x, i, 7, VQ_OVERLAP_COSINE)));
    }
    unload_scores(&s);
    json_decref(root);
}

/* Two judges' near-constant twins: Pearson does not see them, the cosine does (decisions 8). */
TEST(test_near_constant_twins)
{
    double x[60];
    for (size_t i = 0; i < 60; i++) {
        x[i] = 1.0;
    }
    x[10] = 0.0; /* row 5, first column */
    x[41] = 0.0; /* row 20, second column */
    struct vq_matrix matrix = {x, 30, 2};
    assert_true(vq_separability_overlap(matrix, 0, 1, VQ_OVERLAP_COSINE) > 0.9);
    assert_true(vq_separability_overlap(matrix, 0, 1, VQ_OVERLAP_PEARSON) < 0.1);
    x[41] = 1.0;
    assert_true(isnan(vq_separability_overlap(matrix, 0, 1, VQ_OVERLAP_PEARSON)));
    assert_near(vq_separability_overlap(matrix, 1, 1, VQ_OVERLAP_COSINE), 1.0, 0.0, 1e-15);
}

/* Two independent vibes, each +1 on 90 % of the rows: the cosine calls them the same, Pearson does
 * not. */
TEST(test_mostly_positive_is_not_the_same)
{
    double x[400];
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    for (size_t i = 0; i < 400; i++) {
        x[i] = vq_rng_below(&rng, 10) == 0 ? -1.0 : 1.0;
    }
    struct vq_matrix matrix = {x, 200, 2};
    assert_true(fabs(vq_separability_overlap(matrix, 0, 1, VQ_OVERLAP_PEARSON)) < 0.3);
    assert_false(vq_separability_nearly_constant(x, 200, 2));
}

TEST(test_nearly_constant)
{
    double x[50];
    for (size_t i = 0; i < 50; i++) {
        x[i] = i < 4 ? -1.0 : i < 10 ? NAN : 1.0;
    }
    assert_true(vq_separability_nearly_constant(x, 50, 1));
    x[20] = 0.5;
    assert_false(vq_separability_nearly_constant(x, 50, 1));
    assert_true(vq_separability_nearly_constant(x, 4, 1));
    assert_true(vq_separability_nearly_constant(x, 0, 1));
}

/* The interval as the pipeline makes it holds the truth in at least 90 % of cases, for a column
 * that is +1 in 95 % of its rows and -1, or 0, in the others; the percentiles alone do not. */
TEST(test_interval_of_a_nearly_constant_column)
{
    static const size_t sizes[] = {10, 12, 17, 25, 50, 100, 200, 300};
    for (int zero = 0; zero < 2; zero++) {
        double truth = zero ? 0.95 : 0.9;
        for (size_t s = 0; s < VQ_COUNT(sizes); s++) {
            struct vq_rng rng;
            vq_rng_seed(&rng, 17 + s);
            size_t covered = 0, percentile = 0, rounds = 400;
            for (size_t round = 0; round < rounds; round++) {
                double x[300];
                for (size_t i = 0; i < sizes[s]; i++) {
                    x[i] = vq_rng_unit(&rng) < 0.95 ? 1.0 : zero ? 0.0 : -1.0;
                }
                struct vq_bootstrap_options options = {.draws = 400, .level = 0.95, .seed = round};
                struct vq_bootstrap_mean mean;
                assert_int_equal(vq_bootstrap_means((struct vq_matrix){x, sizes[s], 1}, NULL, NULL,
                                                    &options, &mean, NULL),
                                 VQ_OK);
                struct vq_interval ci;
                assert_int_equal(
                    vq_separability_interval(x, sizes[s], 1, NULL, mean.percentile, &ci), VQ_OK);
                covered += ci.lo <= truth && truth <= ci.hi;
                percentile += mean.percentile.lo <= truth && truth <= mean.percentile.hi;
            }
            print_message("  P(+1) = 0.95, else %d, n = %zu: %.3f (percentiles %.3f)\n", zero - 1,
                          sizes[s], (double)covered / (double)rounds,
                          (double)percentile / (double)rounds);
            assert_true(covered >= rounds * 9 / 10);
        }
    }
}

TEST(test_overlap_pairwise)
{
    const double x[10] = {1, 1, NAN, -1, 1, NAN, 0.5, 1, -1, -1};
    struct vq_matrix matrix = {x, 5, 2};
    /* rows 0, 3, 4: (1,1) (.5,1) (-1,-1) */
    assert_near(vq_separability_overlap(matrix, 0, 1, VQ_OVERLAP_COSINE), 2.5 / sqrt(2.25 * 3.0),
                0.0, 1e-15);
}

TEST(test_missing_and_bounds)
{
    const double at[10] = {1, 1, 1, 0, NAN, NAN, 0.5, -1, 1, -0.5};
    const double preference[10] = {1, -1, 1, 1, 1, -1, NAN, -1, 1, 1};
    struct vq_separability sep;
    vq_separability_column(at, 10, 1, preference, &sep);
    assert_int_equal(sep.missing, 2);
    assert_near(sep.mean, 3.0 / 8.0, 0.0, 1e-15);
    assert_near(sep.bounds.lo, 0.1, 0.0, 1e-15);
    assert_near(sep.bounds.hi, 0.5, 0.0, 1e-15);
    assert_near(sep.pref_mean, (1.0 - 1.0 + 1.0 + 0.0 + 1.0 + 1.0 - 0.5) / 7.0, 0.0, 1e-15);
}

TEST(test_gate_could_flip)
{
    struct {
        double positive, zero, missing;
        bool flips;
    } cases[] = {
        {50, 50, 0, false},  /* nothing missing */
        {50, 40, 10, false}, /* 0.4 .. 0.6: passes whatever they are */
        {8, 82, 10, true},   /* -0.02 .. 0.18 */
        {2, 95, 3, false},   /* at most 0.05: strict, still no pass */
        {2, 94, 4, true},    /* at most 0.06 */
        {10, 85, 5, true},   /* passes now, could be exactly 0.05, which does not */
        {10, 84, 6, true},   /* passes now, could be 0.04 */
    };
    for (size_t c = 0; c < VQ_COUNT(cases); c++) {
        double at[100];
        for (size_t i = 0; i < 100; i++) {
            double place = (double)i;
            bool one = place < cases[c].positive;
            at[i] = one ? 1.0 : (place < cases[c].positive + cases[c].zero ? 0.0 : NAN);
        }
        struct vq_separability sep;
        vq_separability_column(at, 100, 1, NULL, &sep);
        assert_int_equal(vq_separability_gate_could_flip(&sep, 0.05), cases[c].flips);
    }
}

TEST(test_empty)
{
    const double nothing[3] = {NAN, NAN, NAN};
    struct vq_separability sep;
    vq_separability_column(nothing, 3, 1, NULL, &sep);
    assert_true(isnan(sep.mean));
    assert_near(sep.bounds.lo, -1.0, 0.0, 0.0);
    assert_near(sep.bounds.hi, 1.0, 0.0, 0.0);
    assert_true(vq_separability_gate_could_flip(&sep, 0.05));
    vq_separability_column(nothing, 0, 1, NULL, &sep);
    assert_true(isnan(sep.bounds.lo));
    const double single[1] = {1.0};
    vq_separability_column(single, 1, 1, NULL, &sep);
    assert_near(sep.mean, 1.0, 0.0, 0.0);
}
