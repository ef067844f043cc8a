/* The legacy bootstrap against itself written out: the drawn rows are copied out one by one and
 * fitted as plain data. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/logit/legacy.h"

enum {
    ROWS = 30,
    COLS = 3,
    DRAWS = 40
};

struct planted {
    double x[ROWS * COLS]; /* the first column says much, the second nothing, the third is all 0 */
    double y[ROWS];
    struct vq_logit_data data;
};

static void plant(struct planted *p)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 77);
    for (size_t row = 0; row < ROWS; row++) {
        p->y[row] = row % 3 == 0 ? 0.0 : 1.0;
        double sign = vq_rng_unit(&rng) < 0.9 ? 1.0 : -1.0;
        p->x[row * COLS] = p->y[row] > 0.5 ? sign : -sign;
        p->x[row * COLS + 1] = row % 2 == 0 ? 0.1 : -0.1;
        p->x[row * COLS + 2] = 0.0;
    }
    p->data = (struct vq_logit_data){.x = {p->x, ROWS, COLS}, .y = p->y, .mirrored = true};
}

static void mirror(const struct planted *p, size_t row, double *x, double *y)
{
    double sign = row < ROWS ? 1.0 : -1.0;
    for (size_t col = 0; col < COLS; col++) {
        x[col] = sign * p->x[row % ROWS * COLS + col];
    }
    *y = row < ROWS ? p->y[row] : 1.0 - p->y[row - ROWS];
}

static void one_draw(const struct planted *p, struct vq_rng *rng, double *ret_coef,
                     double *ret_accuracy)
{
    double drawn_x[2 * ROWS * COLS], drawn_y[2 * ROWS];
    double all_x[2 * ROWS * COLS], all_y[2 * ROWS];
    for (size_t row = 0; row < 2 * ROWS; row++) {
        mirror(p, row, all_x + row * COLS, all_y + row);
        mirror(p, vq_rng_below(rng, 2 * (uint64_t)ROWS), drawn_x + row * COLS, drawn_y + row);
    }
    struct vq_logit_data drawn = {.x = {drawn_x, 2 * ROWS, COLS}, .y = drawn_y, .intercept = true};
    struct vq_logit_data all = {.x = {all_x, 2 * ROWS, COLS}, .y = all_y, .intercept = true};
    struct vq_logit_fit fit;
    struct vq_logit_score score;
    assert_int_equal(vq_logit_fit_elasticnet(&drawn, 1.0, 0.5, &fit, NULL), VQ_OK);
    assert_int_equal(vq_logit_score(&all, fit.intercept, fit.coef, &score, NULL), VQ_OK);
    memcpy(ret_coef, fit.coef, COLS * sizeof(*ret_coef));
    *ret_accuracy = score.accuracy_ties_half;
    vq_logit_fit_free(&fit);
}

TEST(test_written_out)
{
    struct planted p;
    plant(&p);
    struct vq_legacy_coef coef[COLS];
    struct vq_legacy legacy = {.coef = coef};
    struct vq_bootstrap_options options = {.draws = DRAWS, .level = 0.9, .seed = 5};
    assert_int_equal(vq_legacy_bootstrap(&p.data, &options, &legacy, NULL), VQ_OK);
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    double draw[COLS + 1][DRAWS];
    double mean[COLS + 1] = {0}, square[COLS + 1] = {0}, other[COLS + 1] = {0};
    for (size_t d = 0; d < DRAWS; d++) {
        double one[COLS + 1];
        one_draw(&p, &rng, one, &one[COLS]);
        for (size_t j = 0; j <= COLS; j++) {
            draw[j][d] = one[j];
            mean[j] += one[j] / DRAWS;
            other[j] += fabs(one[j]) > 0.0 ? 1.0 / DRAWS : 0.0;
        }
    }
    for (size_t j = 0; j <= COLS; j++) {
        for (size_t d = 0; d < DRAWS; d++) {
            square[j] += (draw[j][d] - mean[j]) * (draw[j][d] - mean[j]) / (DRAWS - 1);
        }
        vq_stats_sort(draw[j], DRAWS);
    }
    for (size_t col = 0; col < COLS; col++) {
        assert_near(coef[col].mean, mean[col], 1e-6, 1e-8);
        assert_near(coef[col].sd, sqrt(square[col]), 1e-6, 1e-8);
        assert_near(coef[col].percentile.lo, vq_stats_quantile(draw[col], DRAWS, 0.05), 1e-6, 1e-8);
        assert_near(coef[col].percentile.hi, vq_stats_quantile(draw[col], DRAWS, 0.95), 1e-6, 1e-8);
        assert_near(coef[col].p, 1.0 - other[col], 0.0, 1e-12);
    }
    assert_near(legacy.accuracy_mean, mean[COLS], 1e-12, 0.0);
    assert_near(legacy.accuracy_sd, sqrt(square[COLS]), 1e-9, 1e-12);
    assert_near(coef[0].p, 0.0, 0.0, 1e-12); /* never dropped */
    assert_true(coef[1].p > 0.5);            /* mostly dropped */
    assert_near(coef[2].mean, 0.0, 0.0, 0.0);
    assert_near(coef[2].p, 1.0, 0.0, 0.0);
}

TEST(test_refusals)
{
    struct planted p;
    plant(&p);
    struct vq_legacy_coef coef[COLS];
    struct vq_legacy legacy = {.coef = coef};
    struct vq_bootstrap_options options = {.draws = 0, .level = 0.9};
    assert_int_equal(vq_legacy_bootstrap(&p.data, &options, &legacy, NULL), VQ_LIMIT);
    options.draws = 3;
    options.level = 1.0;
    assert_int_equal(vq_legacy_bootstrap(&p.data, &options, &legacy, NULL), VQ_INVALID);
    options.level = 0.9;
    p.data.weights = p.y;
    assert_int_equal(vq_legacy_bootstrap(&p.data, &options, &legacy, NULL), VQ_INVALID);
    p.data.weights = NULL;
    p.data.mirrored = false;
    assert_int_equal(vq_legacy_bootstrap(&p.data, &options, &legacy, NULL), VQ_INVALID);
    p.data.mirrored = true;
    p.data.x.rows = 0;
    assert_int_equal(vq_legacy_bootstrap(&p.data, &options, &legacy, NULL), VQ_INVALID);
    p.data.x.rows = 1; /* two mirrored rows: some draws hold one class and are drawn again */
    assert_int_equal(vq_legacy_bootstrap(&p.data, &options, &legacy, NULL), VQ_OK);
    assert_true(isfinite(coef[0].mean));
}

TEST_START(vq_stats_init)
