/* Logistic regression beside the fixtures: the reference numbers of the mirrored form, missing
 * cells, weights, every kind of separation against an exhaustive search, and inputs that must be
 * refused. */
#include "tests/unit/methods/stats/fixtures.h"

#include "common/base/rng.h"
#include "methods/stats/logit/logit.h"

static const double ONES[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static struct vq_logit_data mirrored(const double *x, const double *y, size_t rows, size_t cols)
{
    return (struct vq_logit_data){
        .x = {.at = x, .rows = rows, .cols = cols}, .y = y, .mirrored = true};
}

static struct vq_logit_fit l2_fit(const struct vq_logit_data *data, double c)
{
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_l2(data, c, &fit, NULL), VQ_OK);
    assert_int_equal(fit.status, VQ_LOGIT_OK);
    return fit;
}

static struct vq_logit_fit mle_fit(const struct vq_logit_data *data)
{
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_mle(data, &fit, NULL), VQ_OK);
    return fit;
}

static double accuracy(const struct vq_logit_data *data, const double *coef)
{
    struct vq_logit_score score;
    assert_int_equal(vq_logit_score(data, 0.0, coef, &score, NULL), VQ_OK);
    return score.accuracy_ties_half;
}

TEST(test_reference_one_vibe)
{
    const double x[10] = {1, 1, 1, 1, 1, 1, 1, 1, -1, 0};
    const double c[4] = {1e-4, 1e-2, 1.0, 1e4};
    const double want[4] = {0.00069969, 0.0669867, 1.4420647, 2.0793246};
    struct vq_logit_data data = mirrored(x, ONES, 10, 1);
    for (size_t i = 0; i < 4; i++) {
        struct vq_logit_fit fit = l2_fit(&data, c[i]);
        assert_near(fit.coef[0], want[i], 0.0, 1e-7);
        assert_near(accuracy(&data, fit.coef), 0.85, 0.0, 1e-15);
        vq_logit_fit_free(&fit);
    }
    struct vq_logit_fit fit = mle_fit(&data);
    assert_near(fit.coef[0], log(8.0), 1e-12, 0.0);
    vq_logit_fit_free(&fit);
}

TEST(test_reference_two_vibes)
{
    const double x[20] = {1, 1, 1, 0, 1, -1, 0, 1, 1, .5, -1, 0, 1, 1, .5, -1.0, 0, 0., 1, -.5};
    const double y[10] = {1, 1, 0, 1, 1, 0, 1, 0, 1, 0};
    struct vq_logit_data mm = mirrored(x, ONES, 10, 2);
    struct vq_logit_data pp = mirrored(x, y, 10, 2);
    struct vq_logit_fit fit = l2_fit(&mm, 1.0);
    assert_near(fit.coef[0], 1.3104139, 0.0, 1e-7);
    assert_near(fit.coef[1], 0.2382406, 0.0, 1e-7);
    assert_near(accuracy(&mm, fit.coef), 0.85, 0.0, 1e-15);
    vq_logit_fit_free(&fit);
    fit = l2_fit(&pp, 1.0);
    assert_near(fit.coef[0], 0.6150141, 0.0, 1e-7);
    assert_near(fit.coef[1], 1.9090335, 0.0, 1e-7);
    assert_near(accuracy(&pp, fit.coef), 0.95, 0.0, 1e-15);
    vq_logit_fit_free(&fit);
}

/* The explicit mirror with a free intercept is the same fit. */
TEST(test_mirror_is_explicit_mirror)
{
    enum {
        ROWS = 60,
        COLS = 4
    };
    double x[2 * ROWS * COLS];
    double y[2 * ROWS];
    struct vq_rng rng;
    vq_rng_seed(&rng, 7);
    for (size_t row = 0; row < ROWS; row++) {
        y[row] = vq_rng_unit(&rng) < 0.6 ? 1.0 : 0.0;
        y[ROWS + row] = 1.0 - y[row];
        for (size_t col = 0; col < COLS; col++) {
            double cell = (double)vq_rng_below(&rng, 3) - 1.0 + (y[row] > 0.5 ? 0.2 : 0.0);
            x[row * COLS + col] = cell;
            x[(ROWS + row) * COLS + col] = -cell;
        }
    }
    struct vq_logit_data half = mirrored(x, y, ROWS, COLS);
    struct vq_logit_data whole = {
        .x = {.at = x, .rows = 2 * ROWS, .cols = COLS}, .y = y, .intercept = true};
    struct vq_logit_fit a = l2_fit(&half, 0.3);
    struct vq_logit_fit b = l2_fit(&whole, 0.3);
    assert_near(b.intercept, 0.0, 0.0, 1e-12);
    for (size_t col = 0; col < COLS; col++) {
        assert_near(a.coef[col], b.coef[col], 1e-10, 1e-12);
    }
    assert_near(a.objective, b.objective, 1e-12, 0.0);
    vq_logit_fit_free(&a);
    vq_logit_fit_free(&b);
}

TEST(test_missing_is_neutral)
{
    const double holes[12] = {1, NAN, 1, 1, -1, 1, 0, NAN, 1, -1, NAN, NAN};
    double filled[12];
    for (size_t i = 0; i < 12; i++) {
        filled[i] = isnan(holes[i]) ? 0.0 : holes[i];
    }
    struct vq_logit_data data = mirrored(holes, ONES, 6, 2);
    struct vq_logit_data zeros = mirrored(filled, ONES, 6, 2);
    struct vq_logit_fit a = l2_fit(&data, 1.0);
    struct vq_logit_fit b = l2_fit(&zeros, 1.0);
    assert_memory_equal(a.coef, b.coef, 2 * sizeof(double));
    assert_int_equal(a.cells_imputed, 4);
    assert_int_equal(b.cells_imputed, 0);
    struct vq_logit_score score;
    assert_int_equal(vq_logit_score(&data, 0.0, a.coef, &score, NULL), VQ_OK);
    assert_int_equal(score.cells_imputed, 4);
    vq_logit_fit_free(&a);
    vq_logit_fit_free(&b);
}

TEST(test_complete_case_accuracy)
{
    const double x[8] = {1, NAN, -1, 1, 1, 1, 1, -1};
    const double coef[2] = {1.0, 0.5};
    struct vq_logit_data data = mirrored(x, ONES, 4, 2);
    struct vq_logit_score score;
    assert_int_equal(vq_logit_score(&data, 0.0, coef, &score, NULL), VQ_OK);
    assert_near(score.accuracy_ties_half, 0.75, 0.0, 0.0);
    assert_near(score.complete_accuracy_ties_half, 2.0 / 3.0, 1e-15, 0.0);
}

/* Weight 0 is absence, whatever the row holds; weight 2 is the row twice. */
TEST(test_weights)
{
    const double x[6] = {1, -1, 0.5, -1, 0.25, 1};
    const double y[6] = {1, 0, 0, 1, NAN, 1};
    const double weights[6] = {2, 1, 1, 1, 0, 1};
    const double twice_x[6] = {1, 1, -1, 0.5, -1, 1};
    const double twice_y[6] = {1, 1, 0, 0, 1, 1};
    struct vq_logit_data data = {
        .x = {.at = x, .rows = 6, .cols = 1}, .y = y, .weights = weights, .intercept = true};
    struct vq_logit_data twice = {
        .x = {.at = twice_x, .rows = 6, .cols = 1}, .y = twice_y, .intercept = true};
    struct vq_logit_fit a = mle_fit(&data);
    struct vq_logit_fit b = mle_fit(&twice);
    assert_int_equal(a.status, VQ_LOGIT_OK);
    assert_near(a.coef[0], b.coef[0], 1e-12, 0.0);
    assert_near(a.se[0], b.se[0], 1e-12, 0.0);
    assert_near(a.loglik, b.loglik, 1e-12, 0.0);
    vq_logit_fit_free(&a);
    vq_logit_fit_free(&b);
}

/* A perfect vibe: no estimate without a penalty, accuracy 1, and a finite coefficient with one. */
TEST(test_perfect_vibe)
{
    struct vq_logit_data data = mirrored(ONES, ONES, 12, 1);
    struct vq_logit_fit fit = mle_fit(&data);
    assert_int_equal(fit.status, VQ_LOGIT_SEPARATED);
    assert_int_equal(fit.separation, VQ_LOGIT_COMPLETE);
    assert_true(isnan(fit.coef[0]));
    vq_logit_fit_free(&fit);
    fit = l2_fit(&data, 1e4);
    assert_true(fit.coef[0] > 5.0 && fit.coef[0] < 20.0);
    assert_near(accuracy(&data, fit.coef), 1.0, 0.0, 0.0);
    vq_logit_fit_free(&fit);
    assert_int_equal(vq_logit_fit_firth(&data, &fit, NULL), VQ_OK);
    assert_int_equal(fit.status, VQ_LOGIT_OK);
    assert_near(fit.coef[0], log(25.0), 1e-9, 0.0); /* p = 12.5 / 13 */
    vq_logit_fit_free(&fit);
}

/* Rows of zeros stay undecided: separation of the others is not complete. */
TEST(test_zero_rows_stay)
{
    const double x[5] = {1, 1, 0, 0, 1};
    struct vq_logit_data data = mirrored(x, ONES, 5, 1);
    struct vq_logit_fit fit = mle_fit(&data);
    assert_int_equal(fit.status, VQ_LOGIT_SEPARATED);
    assert_int_equal(fit.separation, VQ_LOGIT_QUASI_COMPLETE);
    vq_logit_fit_free(&fit);
}

/* Two columns diverge together while their difference stays finite. */
TEST(test_joint_divergence)
{
    const double x[24] = {1, 1, 0, 1, 1, 1,  1, -1, 1, 1,  -1, -1,
                          0, 0, 1, 0, 0, -1, 0, 0,  1, -1, 1,  1};
    struct vq_logit_data data = mirrored(x, ONES, 8, 3);
    struct vq_logit_fit fit = mle_fit(&data);
    assert_int_equal(fit.status, VQ_LOGIT_SEPARATED);
    assert_int_equal(fit.separation, VQ_LOGIT_QUASI_COMPLETE);
    vq_logit_fit_free(&fit);
}

static double dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Independent of the code under test: in three dimensions an extreme ray of {b : a_i.b >= 0} lies
 * on two of the planes, so the cross products of all pairs of rows, both ways, are all there is to
 * try (full rank). */
static bool separable_by_search(double a[][3], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            for (double sign = -1.0; sign < 2.0; sign += 2.0) {
                double b[3] = {sign * (a[i][1] * a[j][2] - a[i][2] * a[j][1]),
                               sign * (a[i][2] * a[j][0] - a[i][0] * a[j][2]),
                               sign * (a[i][0] * a[j][1] - a[i][1] * a[j][0])};
                bool holds = true;
                bool strict = false;
                for (size_t l = 0; l < n; l++) {
                    double side = dot3(a[l], b);
                    holds = holds && side >= 0.0;
                    strict = strict || side > 0.0;
                }
                if (holds && strict) {
                    return true;
                }
            }
        }
    }
    return false;
}

TEST(test_separation_against_search)
{
    size_t seen[2] = {0, 0};
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct vq_rng rng;
        vq_rng_seed(&rng, seed);
        double a[24][3];
        double x[48];
        double y[24];
        size_t n = 6 + vq_rng_below(&rng, 18);
        double lean = vq_rng_unit(&rng);
        for (size_t row = 0; row < n; row++) {
            y[row] = vq_rng_unit(&rng) < 0.5 ? 1.0 : 0.0;
            double sign = y[row] > 0.5 ? 1.0 : -1.0;
            for (size_t col = 0; col < 2; col++) {
                double score = (double)vq_rng_below(&rng, 5) / 2.0 - 1.0;
                x[row * 2 + col] = vq_rng_unit(&rng) < lean ? sign * fabs(score) : score;
            }
            a[row][0] = sign;
            a[row][1] = sign * x[row * 2];
            a[row][2] = sign * x[row * 2 + 1];
        }
        struct vq_logit_data data = {
            .x = {.at = x, .rows = n, .cols = 2}, .y = y, .intercept = true};
        struct vq_logit_fit fit = mle_fit(&data);
        if (fit.status == VQ_LOGIT_OK || fit.status == VQ_LOGIT_SEPARATED) {
            bool want = separable_by_search(a, n);
            if ((fit.status == VQ_LOGIT_SEPARATED) != want) {
                fail_msg("seed %lu: said %s", (unsigned long)seed,
                         vq_logit_status_name(fit.status));
            }
            seen[want ? 1 : 0]++;
        } else {
            assert_int_not_equal(fit.status, VQ_LOGIT_NOT_CONVERGED);
        }
        vq_logit_fit_free(&fit);
    }
    assert_true(seen[0] > 500 && seen[1] > 500);
}

/* Overlap by a single row among many is still overlap, and its large estimate is printed. */
TEST(test_thin_overlap)
{
    enum {
        ROWS = 2000
    };
    static double x[ROWS];
    static double y[ROWS];
    for (size_t row = 0; row < ROWS; row++) {
        y[row] = row % 2 == 0 ? 1.0 : 0.0;
        x[row] = y[row] > 0.5 ? 1.0 : -1.0;
    }
    x[0] = -1.0; /* a positive among the negatives */
    struct vq_logit_data data = {
        .x = {.at = x, .rows = ROWS, .cols = 1}, .y = y, .intercept = true};
    struct vq_logit_fit fit = mle_fit(&data);
    assert_int_equal(fit.status, VQ_LOGIT_SEPARATED); /* no negative among the positives */
    assert_int_equal(fit.separation, VQ_LOGIT_QUASI_COMPLETE);
    vq_logit_fit_free(&fit);
    x[1] = 1.0;
    fit = mle_fit(&data);
    assert_int_equal(fit.status, VQ_LOGIT_OK);
    assert_near(fit.coef[0], log(999.0), 1e-10, 0.0);
    vq_logit_fit_free(&fit);
}

/* How far a penalised fit is from its optimality conditions: the gradient of what is smooth,
 * against what the l1 part allows. Relative to the size of the terms. */
static double optimality_gap(const struct vq_logit_data *data, const struct vq_logit_fit *fit,
                             double c, double l1_ratio)
{
    double gap = 0.0;
    double whole = 0.0;
    for (size_t j = 0; j <= data->x.cols; j++) {
        double slope = 0.0;
        whole = 0.0;
        for (size_t row = 0; row < data->x.rows; row++) {
            double eta;
            struct vq_matrix one = {data->x.at + row * data->x.cols, 1, data->x.cols};
            vq_logit_predict(one, fit->intercept, fit->coef, &eta);
            double cell = j == data->x.cols ? 1.0 : one.at[j];
            slope += c * data->weights[row] * (1.0 / (1.0 + exp(-eta)) - data->y[row]) * cell;
            whole += c * data->weights[row];
        }
        double off = slope;
        if (j < data->x.cols) {
            double w = fit->coef[j];
            off = slope + (1.0 - l1_ratio) * w;
            off = w == 0.0 ? fmax(0.0, fabs(off) - l1_ratio) : off + copysign(l1_ratio, w);
        } else if (!data->intercept) {
            off = 0.0;
        }
        gap = fmax(gap, fabs(off));
    }
    return gap / (1.0 + whole);
}

/* Random problems, separable ones among them, over the whole grid of C: every penalised fit is a
 * minimum. */
TEST(test_penalised_fits_are_minima)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct vq_rng rng;
        vq_rng_seed(&rng, seed);
        double x[60 * 5];
        double y[60];
        double weights[60];
        size_t rows = 8 + vq_rng_below(&rng, 52);
        size_t cols = 1 + vq_rng_below(&rng, 5);
        double lean = vq_rng_unit(&rng);
        for (size_t row = 0; row < rows; row++) {
            y[row] = row % 2 == 0 ? 1.0 : 0.0;
            weights[row] = 1.0 + (double)vq_rng_below(&rng, 3);
            for (size_t col = 0; col < cols; col++) {
                double score = (double)vq_rng_below(&rng, 5) / 2.0 - 1.0;
                bool leans = vq_rng_unit(&rng) < lean;
                double sign = y[row] > 0.5 ? 1.0 : -1.0;
                x[row * cols + col] = leans ? sign * fabs(score) : score;
            }
        }
        struct vq_logit_data data = {.x = {.at = x, .rows = rows, .cols = cols},
                                     .y = y,
                                     .weights = weights,
                                     .intercept = seed % 2 == 0};
        for (double exponent = -4.0; exponent <= 4.0; exponent += 2.0) {
            for (double l1_ratio = 0.0; l1_ratio <= 1.0; l1_ratio += 0.5) {
                double c = pow(10.0, exponent);
                struct vq_logit_fit fit;
                assert_int_equal(vq_logit_fit_elasticnet(&data, c, l1_ratio, &fit, NULL), VQ_OK);
                assert_int_equal(fit.status, VQ_LOGIT_OK);
                assert_near(optimality_gap(&data, &fit, c, l1_ratio), 0.0, 0.0, 1e-8);
                vq_logit_fit_free(&fit);
            }
        }
    }
}

TEST(test_single_class_and_no_rows)
{
    const double x[3] = {1, 0, -1};
    const double nothing[3] = {0, 0, 0};
    struct vq_logit_data data = {
        .x = {.at = x, .rows = 3, .cols = 1}, .y = ONES, .intercept = true};
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_l2(&data, 1.0, &fit, NULL), VQ_OK);
    assert_int_equal(fit.status, VQ_LOGIT_SINGLE_CLASS);
    assert_true(isnan(fit.coef[0]));
    vq_logit_fit_free(&fit);
    data.weights = nothing;
    assert_int_equal(vq_logit_fit_mle(&data, &fit, NULL), VQ_OK);
    assert_int_equal(fit.status, VQ_LOGIT_NO_ROWS);
    vq_logit_fit_free(&fit);
    struct vq_logit_score score;
    const double coef[1] = {1.0};
    assert_int_equal(vq_logit_score(&data, 0.0, coef, &score, NULL), VQ_OK);
    assert_true(isnan(score.accuracy_ties_half));
}

TEST(test_no_columns)
{
    const double y[4] = {1, 1, 1, 0};
    struct vq_logit_data data = {.x = {.at = y, .rows = 4, .cols = 0}, .y = y, .intercept = true};
    struct vq_logit_fit fit = mle_fit(&data);
    assert_int_equal(fit.status, VQ_LOGIT_OK);
    assert_near(fit.intercept, log(3.0), 1e-12, 0.0);
    vq_logit_fit_free(&fit);
    data.intercept = false;
    fit = mle_fit(&data);
    assert_near(fit.loglik, -4.0 * log(2.0), 1e-14, 0.0);
    vq_logit_fit_free(&fit);
}

static void refused(struct vq_logit_data data, double c, const char *word)
{
    struct vq_logit_fit fit = {.iterations = -7};
    struct vq_error err = {{0}};
    assert_int_equal(vq_logit_fit_l2(&data, c, &fit, &err), VQ_INVALID);
    assert_int_equal(fit.iterations, -7); /* untouched */
    if (strstr(err.text, word) == NULL) {
        fail_msg("'%s' does not speak of '%s'", err.text, word);
    }
}

TEST(test_refusals)
{
    const double x[2] = {1, -1};
    const double infinite[2] = {1, INFINITY};
    const double y[2] = {1, 0};
    const double odd[2] = {1, 2};
    const double negative[2] = {1, -1};
    struct vq_logit_data good = {.x = {.at = x, .rows = 2, .cols = 1}, .y = y};
    struct vq_logit_data bad = good;
    refused(good, 0.0, "C must be");
    refused(good, INFINITY, "C must be");
    refused(good, NAN, "C must be");
    bad.y = odd;
    refused(bad, 1.0, "y of row 1");
    bad = good;
    bad.weights = negative;
    refused(bad, 1.0, "weight of row 1");
    bad = good;
    bad.x.at = infinite;
    refused(bad, 1.0, "row 1, column 0");
    bad = good;
    bad.mirrored = true;
    bad.intercept = true;
    refused(bad, 1.0, "intercept");
    bad = good;
    bad.x.cols = VQ_STATS_COLS_MAX + 1;
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_mle(&bad, &fit, NULL), VQ_LIMIT);
}

/* Every allocation that fails is reported, and nothing leaks (the sanitizer run sees to that). */
TEST(test_out_of_memory)
{
    const double x[12] = {1, 0, 1, 1, 1, 0, -1, 0, 0, 1, 0, -1};
    const double y[6] = {1, 1, 1, 0, 0, 1};
    struct vq_logit_data data = {.x = {.at = x, .rows = 6, .cols = 2}, .y = y, .intercept = false};
    struct vq_logit_data separated = mirrored(x, ONES, 3, 2);
    for (int which = 0; which < 4; which++) {
        bool failed = true;
        size_t tries = 0;
        for (uint64_t at = 1; failed && at < 200; at++, tries++) {
            struct vq_logit_fit fit;
            vq_alloc_fail_at(at);
            enum vq_status status = which == 0   ? vq_logit_fit_mle(&data, &fit, NULL)
                                    : which == 1 ? vq_logit_fit_mle(&separated, &fit, NULL)
                                    : which == 2 ? vq_logit_fit_l2(&data, 1.0, &fit, NULL)
                                                 : vq_logit_fit_firth(&data, &fit, NULL);
            vq_alloc_fail_at(0);
            assert_true(status == VQ_OK || status == VQ_NOMEM);
            failed = status != VQ_OK;
            if (!failed) {
                vq_logit_fit_free(&fit);
            }
        }
        assert_false(failed);
        assert_true(tries > 10);
    }
}

/* The intercept of a lasso is free, its other coefficients reach exactly 0 under a strong
 * penalty. */
TEST(test_lasso_to_zero)
{
    const double x[10] = {1, -1, 1, 1, 0, -1, 0, 1, -1, 0};
    const double y[10] = {1, 0, 1, 1, 1, 0, 1, 0, 1, 1};
    struct vq_logit_data data = {.x = {.at = x, .rows = 10, .cols = 1}, .y = y, .intercept = true};
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_elasticnet(&data, 1e-3, 1.0, &fit, NULL), VQ_OK);
    assert_true(fit.coef[0] == 0.0);
    assert_near(fit.intercept, log(7.0 / 3.0), 1e-9, 0.0);
    vq_logit_fit_free(&fit);
}

TEST_START(vq_stats_init)
