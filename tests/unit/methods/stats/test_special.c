/* Distribution functions: closed forms, identities, and deep tails. */
#include "fixtures.h"

#include "methods/stats/special.h"

TEST(test_normal)
{
    assert_near(vq_normal_two_sided(0.0), 1.0, 0.0, 0.0);
    assert_near(vq_normal_two_sided(1.0), 2.0 * (1.0 - 0.84134474606854293), 1e-14, 0.0);
    assert_near(vq_normal_two_sided(-1.959963984540054), 0.05, 1e-14, 0.0);
    /* The asymptotic series of Mills' ratio is exact to rounding this far out. */
    double z = 37.0;
    double r = 1.0 / (z * z);
    double mills = (1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r)))) / z;
    double tail = exp(-0.5 * z * z) / sqrt(2.0 * acos(-1.0)) * mills;
    assert_near(vq_normal_two_sided(z), 2.0 * tail, 1e-10, 0.0);
    assert_true(isnan(vq_normal_two_sided(NAN)));
}

TEST(test_normal_quantile)
{
    assert_near(vq_normal_quantile(0.975), VQ_NORMAL_975, 1e-15, 0.0);
    assert_near(vq_normal_quantile(0.5), 0.0, 0.0, 1e-15);
    for (double exponent = -300.0; exponent < -0.4; exponent += 0.7) {
        double p = pow(10.0, exponent);
        assert_near(vq_normal_two_sided(vq_normal_quantile(p)), 2.0 * p, 1e-11, 0.0);
    }
    assert_true(isinf(vq_normal_quantile(0.0)) && isinf(vq_normal_quantile(1.0)));
    assert_true(isnan(vq_normal_quantile(-0.1)));
}

TEST(test_beta)
{
    for (double x = 0.0; x <= 1.0; x += 0.0625) {
        assert_near(vq_beta_lower(1.0, 1.0, x), x, 1e-14, 0.0);
        assert_near(vq_beta_lower(2.0, 1.0, x), x * x, 1e-14, 0.0);
        assert_near(vq_beta_lower(1.0, 3.0, x), 1.0 - pow(1.0 - x, 3.0), 1e-13, 1e-15);
        assert_near(vq_beta_lower(0.5, 0.5, x), 2.0 / acos(-1.0) * asin(sqrt(x)), 1e-13, 0.0);
        assert_near(vq_beta_lower(7.5, 2.25, x), 1.0 - vq_beta_lower(2.25, 7.5, 1.0 - x), 1e-12,
                    1e-15);
    }
    assert_near(vq_beta_lower(1e6, 1e6, 0.5), 0.5, 1e-10, 0.0);
    assert_true(isnan(vq_beta_lower(0.0, 1.0, 0.5)) && isnan(vq_beta_lower(1.0, 1.0, 1.5)));
}

TEST(test_beta_quantile)
{
    const double shapes[6][2] = {{0.5, 0.5},     {0.5, 10.5},        {3.0, 999998.0},
                                 {480.5, 520.5}, {523411., 476590.}, {20.0, 1.0}};
    const double p[6] = {1e-12, 0.005, 0.025, 0.5, 0.975, 0.995};
    for (size_t s = 0; s < 6; s++) {
        for (size_t i = 0; i < 6; i++) {
            double x = vq_beta_quantile(shapes[s][0], shapes[s][1], p[i]);
            assert_true(x > 0.0 && x < 1.0);
            assert_near(vq_beta_lower(shapes[s][0], shapes[s][1], x), p[i], 1e-8, 0.0);
        }
    }
    assert_near(vq_beta_quantile(2.0, 3.0, 0.0), 0.0, 0.0, 0.0);
    assert_near(vq_beta_quantile(2.0, 3.0, 1.0), 1.0, 0.0, 0.0);
}

TEST(test_student)
{
    const double pi = acos(-1.0);
    for (double t = 0.01; t < 1e5; t *= 2.3) {
        assert_near(vq_student_two_sided(t, 1.0), 2.0 * atan2(1.0, t) / pi, 1e-12, 0.0);
        double two = t / sqrt(2.0 + t * t);
        assert_near(vq_student_two_sided(-t, 2.0), 2.0 / ((2.0 + t * t) * (1.0 + two)), 1e-12, 0.0);
    }
    assert_near(vq_student_two_sided(0.0, 5.0), 1.0, 0.0, 0.0);
    assert_near(vq_student_two_sided(3.0, 1e7), vq_normal_two_sided(3.0), 1e-5, 0.0);
    assert_near(vq_student_two_sided(INFINITY, 5.0), 0.0, 0.0, 0.0);
    assert_true(isnan(vq_student_two_sided(1.0, 0.0)));
}

TEST(test_logistic)
{
    assert_near(vq_logistic(0.0), 0.5, 0.0, 0.0);
    assert_near(vq_logistic(-700.0), exp(-700.0), 1e-12, 0.0);
    assert_near(vq_logistic(800.0), 1.0, 0.0, 0.0);
    assert_near(vq_log1pexp(-40.0), exp(-40.0), 1e-14, 0.0);
    assert_near(vq_log1pexp(1000.0), 1000.0, 0.0, 0.0);
    assert_near(vq_log1pexp(0.0), log(2.0), 1e-15, 0.0);
}
