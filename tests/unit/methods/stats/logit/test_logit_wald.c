/* Wald tests: a closed form, agreement with the maximum-likelihood fit, and where there is none. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/logit/logit.h"
#include "methods/stats/special.h"

enum {
    ROWS = 80
};

static void plant(double *x, double *y, size_t cols)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 12);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t col = 0; col < cols; col++) {
            x[row * cols + col] = (double)vq_rng_below(&rng, 3) - 1.0;
        }
        y[row] = vq_rng_unit(&rng) < vq_logistic(x[row * cols]) ? 1.0 : 0.0;
    }
}

/* One column of ones and minus ones: the information at w is n s (1 - s) with s = 1 / (1 +
 * exp(-w)). */
TEST(test_closed_form)
{
    const double x[10] = {1, 1, 1, -1, 1, 1, -1, 1, 1, 1};
    const double y[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct vq_logit_data data = {.x = {x, 10, 1}, .y = y, .mirrored = true};
    const double w = 0.7;
    double s = 1.0 / (1.0 + exp(-w));
    double want = 1.0 / sqrt(10.0 * s * (1.0 - s));
    double se, p;
    assert_int_equal(vq_logit_wald(&data, 0.0, &w, &se, &p, NULL), VQ_OK);
    assert_near(se, want, 1e-13, 0.0);
    assert_near(p, vq_student_two_sided(w / want, 9.0), 1e-12, 0.0);
    const double doubled[10] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    data.weights = doubled;
    assert_int_equal(vq_logit_wald(&data, 0.0, &w, &se, &p, NULL), VQ_OK);
    assert_near(se, want / sqrt(2.0), 1e-13, 0.0);
    assert_near(p, vq_student_two_sided(w / se, 19.0), 1e-12, 0.0);
    const double none = 0.0;
    assert_int_equal(vq_logit_wald(&data, 0.0, &none, NULL, &p, NULL), VQ_OK);
    assert_near(p, 1.0, 0.0, 0.0);
}

TEST(test_agrees_with_mle)
{
    double x[ROWS * 3], y[ROWS];
    plant(x, y, 3);
    x[4] = NAN;
    for (int intercept = 0; intercept < 2; intercept++) {
        struct vq_logit_data data = {
            .x = {x, ROWS, 3}, .y = y, .intercept = intercept == 1, .mirrored = intercept == 0};
        struct vq_logit_fit fit;
        assert_int_equal(vq_logit_fit_mle(&data, &fit, NULL), VQ_OK);
        assert_int_equal(fit.status, VQ_LOGIT_OK);
        double se[3], p[3];
        double b = intercept == 1 ? fit.intercept : 0.0;
        assert_int_equal(vq_logit_wald(&data, b, fit.coef, se, p, NULL), VQ_OK);
        for (size_t col = 0; col < 3; col++) {
            assert_near(se[col], fit.se[col], 1e-7, 0.0);
            assert_near(p[col],
                        vq_student_two_sided(fit.coef[col] / fit.se[col], ROWS - 3.0 - intercept),
                        1e-6, 0.0);
        }
        vq_logit_fit_free(&fit);
    }
}

TEST(test_where_there_is_none)
{
    double x[ROWS * 2], y[ROWS], se[2], p[2];
    plant(x, y, 2);
    for (size_t row = 0; row < ROWS; row++) {
        x[row * 2 + 1] = -2.0 * x[row * 2];
    }
    const double coef[2] = {0.3, 0.1};
    struct vq_logit_data data = {.x = {x, ROWS, 2}, .y = y, .mirrored = true};
    assert_int_equal(vq_logit_wald(&data, 0.0, coef, se, p, NULL), VQ_OK);
    assert_true(isnan(se[0]) && isnan(se[1]) && isnan(p[0]) && isnan(p[1]));
    const double square[4] = {1, 0, 0, 1}; /* as many rows as parameters: no degree is left */
    data.x = (struct vq_matrix){square, 2, 2};
    assert_int_equal(vq_logit_wald(&data, 0.0, coef, se, p, NULL), VQ_OK);
    assert_true(isnan(p[0]) && isnan(p[1]));
    data.x.rows = 0;
    assert_int_equal(vq_logit_wald(&data, 0.0, coef, se, p, NULL), VQ_OK);
    assert_true(isnan(p[0]));
    const double endless[2] = {INFINITY, 1};
    data.x = (struct vq_matrix){endless, 1, 2};
    assert_int_equal(vq_logit_wald(&data, 0.0, coef, se, p, NULL), VQ_INVALID);
}

TEST_START(vq_stats_init)
