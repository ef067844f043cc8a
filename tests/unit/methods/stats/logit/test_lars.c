/* The lasso order: hand-made cases, and random data against coordinate descent over a grid of
 * penalties. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/logit/lars.h"

static const double ONES[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

TEST(test_one_perfect_vibe)
{
    const double x[12] = {1, 0, 1, 1, 1, -1, 1, 0, 1, 1, 1, -1};
    size_t order[2];
    double coef[2];
    assert_int_equal(vq_lars_order((struct vq_matrix){x, 6, 2}, ONES, NULL, order, coef, NULL),
                     VQ_OK);
    assert_int_equal(order[0], 0);
    assert_near(coef[0], 1.0, 1e-12, 0.0); /* the fit is perfect, the path ends there */
    assert_near(coef[1], 0.0, 0.0, 0.0);
}

/* Orthogonal columns: the path is the soft threshold. Four of six rows high: rms 1, correlation 1/3
 * and 1/3. */
TEST(test_ties_by_separability)
{
    const double x[24] = {1,  0, 0, 1, 1, 0, 0, 1,  1,  0, 0, -1,
                          -1, 0, 0, 1, 1, 0, 0, -1, -1, 0, 0, 1};
    const double low_first[2] = {0.1, -0.3};
    size_t order[2];
    double coef[2];
    struct vq_matrix matrix = {x, 12, 2};
    assert_int_equal(vq_lars_order(matrix, ONES, low_first, order, coef, NULL), VQ_OK);
    assert_near(coef[0], coef[1], 1e-12, 0.0);
    assert_int_equal(order[0], 1);
    assert_int_equal(vq_lars_order(matrix, ONES, NULL, order, NULL, NULL), VQ_OK);
    assert_int_equal(order[0], 0);
}

TEST(test_scaling_is_rms)
{
    double x[16];
    for (size_t row = 0; row < 8; row++) {
        x[row * 2] = row < 6 ? 0.5 : -0.5; /* the same vibe at half the size */
        x[row * 2 + 1] = row < 6 ? 1.0 : -1.0;
    }
    x[1] = 0.0; /* a little worse */
    size_t order[2];
    assert_int_equal(vq_lars_order((struct vq_matrix){x, 8, 2}, ONES, NULL, order, NULL, NULL),
                     VQ_OK);
    assert_int_equal(order[0], 0);
}

TEST(test_degenerate_columns)
{
    double x[48];
    for (size_t row = 0; row < 12; row++) {
        double v = row < 9 ? 1.0 : -1.0;
        x[row * 4] = 0.0;
        x[row * 4 + 1] = v;
        x[row * 4 + 2] = -v; /* a combination */
        x[row * 4 + 3] = NAN;
    }
    size_t order[4];
    double coef[4];
    const double sep[4] = {0.0, 0.5, -0.5, NAN};
    assert_int_equal(vq_lars_order((struct vq_matrix){x, 12, 4}, ONES, sep, order, coef, NULL),
                     VQ_OK);
    assert_int_equal(order[0], 1);
    assert_int_equal(order[1], 2);
    assert_near(coef[1], 0.5, 1e-12, 0.0);
    for (size_t col = 0; col < 4; col += col == 0 ? 2 : 1) {
        assert_near(coef[col], 0.0, 0.0, 0.0);
    }
}

TEST(test_no_rows)
{
    const double nothing[1] = {0.0};
    const double sep[3] = {0.1, -0.4, 0.2};
    size_t order[3];
    assert_int_equal(
        vq_lars_order((struct vq_matrix){nothing, 0, 3}, nothing, sep, order, NULL, NULL), VQ_OK);
    assert_int_equal(order[0], 1);
    assert_int_equal(order[1], 2);
    assert_int_equal(order[2], 0);
    const double bad[1] = {NAN};
    assert_int_equal(vq_lars_order((struct vq_matrix){nothing, 1, 1}, bad, sep, order, NULL, NULL),
                     VQ_INVALID);
}

enum {
    ROWS = 120,
    COLS = 6
};

struct scaled {
    double z[ROWS][COLS];
    double target[ROWS];
};

static double aic_of(const struct scaled *s, const double *coef)
{
    double rss = 0.0;
    double df = 0.0;
    for (size_t row = 0; row < ROWS; row++) {
        double rest = s->target[row];
        for (size_t col = 0; col < COLS; col++) {
            rest -= s->z[row][col] * coef[col];
        }
        rss += rest * rest;
    }
    for (size_t col = 0; col < COLS; col++) {
        df += coef[col] != 0.0 ? 1.0 : 0.0;
    }
    return ROWS * log(rss / ROWS) + 2.0 * df;
}

static double correlation(const struct scaled *s, const double *coef, size_t col)
{
    double sum = 0.0;
    for (size_t row = 0; row < ROWS; row++) {
        double rest = s->target[row];
        for (size_t other = 0; other < COLS; other++) {
            rest -= s->z[row][other] * coef[other];
        }
        sum += s->z[row][col] * rest / ROWS;
    }
    return sum;
}

/* Lasso at one penalty by coordinate descent. */
static void descend(const struct scaled *s, double penalty, double *coef)
{
    for (int sweep = 0; sweep < 400; sweep++) {
        double moved = 0.0;
        for (size_t col = 0; col < COLS; col++) {
            double free_value = coef[col] + correlation(s, coef, col);
            double to = free_value > penalty    ? free_value - penalty
                        : free_value < -penalty ? free_value + penalty
                                                : 0.0;
            moved = fmax(moved, fabs(to - coef[col]));
            coef[col] = to;
        }
        if (moved < 1e-12) {
            break;
        }
    }
}

/* The coefficients are a lasso solution, and no penalty gives a lower AIC: inside of a segment of
 * the path the AIC falls towards its end, so that the least one is at a knot. */
static void check_random(uint64_t seed, bool preference)
{
    static double x[ROWS * COLS];
    static struct scaled s;
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    double square[COLS] = {0};
    for (size_t row = 0; row < ROWS; row++) {
        s.target[row] = preference && vq_rng_unit(&rng) < 0.5 ? -1.0 : 1.0;
        double shared = (double)vq_rng_below(&rng, 3) - 1.0;
        for (size_t col = 0; col < COLS; col++) {
            double score = vq_rng_unit(&rng) < 0.3 ? shared : (double)vq_rng_below(&rng, 5) / 2 - 1;
            bool pulled = vq_rng_unit(&rng) < 0.08 * (double)col;
            x[row * COLS + col] = pulled ? s.target[row] : score;
            square[col] += x[row * COLS + col] * x[row * COLS + col] / ROWS;
        }
    }
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t col = 0; col < COLS; col++) {
            s.z[row][col] = x[row * COLS + col] / sqrt(square[col]);
        }
    }
    size_t order[COLS];
    double coef[COLS];
    struct vq_matrix matrix = {x, ROWS, COLS};
    assert_int_equal(vq_lars_order(matrix, s.target, NULL, order, coef, NULL), VQ_OK);
    double level = 0.0;
    for (size_t col = 0; col < COLS; col++) {
        level = fmax(level, fabs(correlation(&s, coef, col)));
    }
    for (size_t col = 0; col < COLS; col++) {
        if (coef[col] != 0.0) {
            double sign = coef[col] > 0.0 ? 1.0 : -1.0;
            assert_near(correlation(&s, coef, col), sign * level, 0.0, 1e-9);
        }
        assert_true(col == 0 || fabs(coef[order[col - 1]]) >= fabs(coef[order[col]]) - 1e-12);
    }
    double least = INFINITY;
    double walk[COLS] = {0};
    for (int step = 0; step <= 300; step++) {
        descend(&s, 1.0 * pow(1e-4, step / 300.0), walk);
        least = fmin(least, aic_of(&s, walk));
    }
    assert_true(aic_of(&s, coef) <= least + 1e-6);
}

TEST(test_random_against_descent)
{
    for (uint64_t seed = 1; seed <= 24; seed++) {
        check_random(seed, seed % 2 == 0);
    }
}

TEST_START(vq_stats_init)
