/* Firth's estimate with profile intervals, held to the penalised likelihood written out by hand and
 * searched without derivatives. */
#include "tests/unit/methods/stats/fixtures.h"

#include "methods/stats/logit/logit.h"

#define CHI2_95 3.841458820694124

static double log_sigma(double x)
{
    return x > 0 ? -log1p(exp(-x)) : x - log1p(exp(x));
}

/* All 30 scores +1 and no intercept: 30 log s(b) + log(30 s(b) s(-b)) / 2. */
static double one_parameter(double b)
{
    return 30 * log_sigma(b) + 0.5 * log(30) + 0.5 * (log_sigma(b) + log_sigma(-b));
}

static double find_end(double inside, double outside, double top)
{
    for (int i = 0; i < 200; i++) {
        double mid = 0.5 * (inside + outside);
        *(2 * (top - one_parameter(mid)) < CHI2_95 ? &inside : &outside) = mid;
    }
    return inside;
}

TEST(test_all_scores_equal)
{
    double x[30], y[30];
    for (int i = 0; i < 30; i++) {
        x[i] = y[i] = 1.0;
    }
    struct vq_logit_data data = {.x = {x, 30, 1}, .y = y, .mirrored = true};
    struct vq_logit_fit fit;
    assert_int_equal(vq_logit_fit_firth(&data, &fit, NULL), VQ_OK);
    assert_int_equal(fit.status, VQ_LOGIT_OK);
    assert_near(fit.coef[0], log(61), 1e-9, 0.0);
    double top = one_parameter(log(61));
    assert_near(fit.ci95[0].lo, find_end(log(61), 0, top), 1e-5, 0.0);
    assert_near(fit.ci95[0].hi, find_end(log(61), 60, top), 1e-5, 0.0);
    assert_near(fit.p[0], erfc(sqrt(top - one_parameter(0))), 1e-6, 0.0);
    vq_logit_fit_free(&fit);
}

/* Ten rows, an intercept and a column that separates them; and one that does not. */
static const double column[2][10] = {{-3, -2.5, -2, -1, -0.5, 0.5, 1, 1.5, 2.5, 4},
                                     {-3, 2.5, -2, -1, 0.5, 0.5, -1, 1.5, 2.5, 4}};
static const double class_of[10] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};

static double two_parameters(int which, double a, double b)
{
    double sum = 0, w0 = 0, w1 = 0, w2 = 0;
    for (int i = 0; i < 10; i++) {
        double x = column[which][i], eta = a + b * x;
        sum += log_sigma(class_of[i] > 0.5 ? eta : -eta);
        double w = exp(log_sigma(eta) + log_sigma(-eta));
        w0 += w;
        w1 += w * x;
        w2 += w * x * x;
    }
    return sum + 0.5 * log(w0 * w2 - w1 * w1);
}

static double best_over_intercept(int which, double b)
{
    double lo = -30, hi = 30;
    for (int i = 0; i < 200; i++) {
        double m1 = lo + (hi - lo) * 0.382, m2 = lo + (hi - lo) * 0.618;
        *(two_parameters(which, m1, b) < two_parameters(which, m2, b) ? &lo : &hi) =
            two_parameters(which, m1, b) < two_parameters(which, m2, b) ? m1 : m2;
    }
    return two_parameters(which, 0.5 * (lo + hi), b);
}

TEST(test_profile_over_an_intercept)
{
    for (int which = 0; which < 2; which++) {
        struct vq_logit_data data = {.x = {column[which], 10, 1}, .y = class_of, .intercept = true};
        struct vq_logit_fit fit;
        assert_int_equal(vq_logit_fit_firth(&data, &fit, NULL), VQ_OK);
        assert_int_equal(fit.status, VQ_LOGIT_OK);
        double top = best_over_intercept(which, fit.coef[0]);
        assert_true(top >= best_over_intercept(which, fit.coef[0] + 1e-3));
        assert_true(top >= best_over_intercept(which, fit.coef[0] - 1e-3));
        assert_near(2 * (top - best_over_intercept(which, fit.ci95[0].lo)), CHI2_95, 1e-5, 0.0);
        assert_near(2 * (top - best_over_intercept(which, fit.ci95[0].hi)), CHI2_95, 1e-5, 0.0);
        assert_true(fit.ci95[0].lo < fit.coef[0] && fit.coef[0] < fit.ci95[0].hi);
        assert_near(fit.p[0], erfc(sqrt(top - best_over_intercept(which, 0))), 1e-5, 0.0);
        vq_logit_fit_free(&fit);
    }
}

/* Weights are frequencies: the same rows, twice at half the weight. */
TEST(test_copies_at_part_of_the_weight)
{
    double x[20], y[20], weights[20];
    for (int i = 0; i < 20; i++) {
        x[i] = column[0][i / 2];
        y[i] = class_of[i / 2];
        weights[i] = 0.5;
    }
    struct vq_logit_data once = {.x = {column[0], 10, 1}, .y = class_of, .intercept = true};
    struct vq_logit_data copies = {.x = {x, 20, 1}, .y = y, .weights = weights, .intercept = true};
    struct vq_logit_fit a, b;
    assert_int_equal(vq_logit_fit_firth(&once, &a, NULL), VQ_OK);
    assert_int_equal(vq_logit_fit_firth(&copies, &b, NULL), VQ_OK);
    assert_near(a.coef[0], b.coef[0], 1e-8, 0.0);
    assert_near(a.ci95[0].lo, b.ci95[0].lo, 1e-5, 0.0);
    assert_near(a.ci95[0].hi, b.ci95[0].hi, 1e-5, 0.0);
    vq_logit_fit_free(&a);
    vq_logit_fit_free(&b);
}

/* One row, or many that count as one: the penalty is as strong as the likelihood. log s(b) +
 * log(s(b) s(-b)) / 2 has its top at log 3. */
TEST(test_one_row)
{
    double x[60], y[60], weights[60];
    for (int i = 0; i < 60; i++) {
        x[i] = i % 10 == 0 ? -1.0 : 1.0;
        y[i] = 1.0;
        weights[i] = 1.0 / 60.0;
    }
    struct vq_logit_data one = {.x = {x + 1, 1, 1}, .y = y, .mirrored = true};
    struct vq_logit_data many = {.x = {x, 60, 1}, .y = y, .weights = weights, .mirrored = true};
    struct vq_logit_fit a, b;
    assert_int_equal(vq_logit_fit_firth(&one, &a, NULL), VQ_OK);
    assert_int_equal(vq_logit_fit_firth(&many, &b, NULL), VQ_OK);
    assert_int_equal(a.status, VQ_LOGIT_OK);
    assert_int_equal(b.status, VQ_LOGIT_OK);
    assert_near(a.coef[0], log(3), 1e-9, 0.0);
    assert_near(b.coef[0], log(1.4 / 0.6), 1e-9, 0.0);
    assert_true(a.ci95[0].lo < 0 && b.ci95[0].lo < 0 && b.ci95[0].hi > b.coef[0]);
    vq_logit_fit_free(&a);
    vq_logit_fit_free(&b);
}

/* One column of +1 and -1, as a vibe's scores are: the profile interval's coverage over all
 * outcomes, weighted by their chances. No simulation. */
TEST(test_coverage_of_small_samples)
{
    static const int sizes[] = {5, 8, 12, 30};
    static const double shares[] = {0.5, 0.7, 0.8, 0.9, 0.95};
    for (size_t s = 0; s < VQ_COUNT(sizes); s++) {
        int n = sizes[s];
        double covered[VQ_COUNT(shares)] = {0};
        for (int up = 0; up <= n; up++) {
            double x[30], y[30];
            for (int i = 0; i < n; i++) {
                x[i] = i < up ? 1.0 : -1.0;
                y[i] = 1.0;
            }
            struct vq_logit_data data = {.x = {x, (size_t)n, 1}, .y = y, .mirrored = true};
            struct vq_logit_fit fit;
            assert_int_equal(vq_logit_fit_firth(&data, &fit, NULL), VQ_OK);
            for (size_t k = 0; k < VQ_COUNT(shares); k++) {
                double truth = log(shares[k] / (1 - shares[k]));
                double chance = exp(lgamma(n + 1) - lgamma(up + 1) - lgamma(n - up + 1) +
                                    up * log(shares[k]) + (n - up) * log(1 - shares[k]));
                covered[k] += fit.ci95[0].lo <= truth && truth <= fit.ci95[0].hi ? chance : 0.0;
            }
            vq_logit_fit_free(&fit);
        }
        for (size_t k = 0; k < VQ_COUNT(shares); k++) {
            print_message("  %d rows, P(+1) = %.2f: %.3f\n", n, shares[k], covered[k]);
            assert_true(covered[k] >= 0.90);
        }
    }
}
