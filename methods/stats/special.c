/* Distribution functions on top of libm's erfc and lgamma. Pure functions, no state.
 *
 * The incomplete beta is a continued fraction (modified Lentz) times a binomial weight in Loader's
 * saddle-point form (2000), because differences of lgamma lose the digits of large counts.
 * Quantiles are bracketed Newton steps on these functions. */
#include "methods/stats/special.h"

#include <math.h>
#include <stdbool.h>

#define HALF_LOG_2PI      0.91893853320467274178
#define SQRT_HALF         0.70710678118654752440
#define FRACTION_STEPS    200000
#define QUANTILE_STEPS    1200
#define FRACTION_TINY     1e-300
#define FRACTION_ACCURACY 1e-16

double vq_normal_two_sided(double z)
{
    return erfc(fabs(z) * SQRT_HALF);
}

/* The log of the normal distribution function is concave, so Newton on it approaches the root from
 * below, from any start. */
static double normal_quantile_lower(double p)
{
    double z = -sqrt(-2.0 * log(p));
    double log_p = log(p);
    for (int step = 0; step < 100; step++) {
        double cdf = 0.5 * erfc(-z * SQRT_HALF);
        double density = exp(-0.5 * z * z - HALF_LOG_2PI);
        double change = (log_p - log(cdf)) * cdf / density;
        z += change;
        if (fabs(change) <= 1e-15 * (1.0 + fabs(z))) {
            break;
        }
    }
    return z;
}

double vq_normal_quantile(double p)
{
    if (isnan(p) || p < 0.0 || p > 1.0) {
        return NAN;
    }
    if (p <= 0.0 || p >= 1.0) {
        return p <= 0.0 ? -INFINITY : INFINITY;
    }
    return p <= 0.5 ? normal_quantile_lower(p) : -normal_quantile_lower(1.0 - p);
}

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* lgamma(n + 1) - (n + 1/2) log n + n - log(2 pi) / 2 */
static double stirling_error(double n)
{
    if (n < 16.0) {
        return log_gamma(n + 1.0) - (n + 0.5) * log(n) + n - HALF_LOG_2PI;
    }
    double r = 1.0 / (n * n);
    return (1.0 / 12.0 -
            r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r * (1.0 / 1188.0))))) /
           n;
}

/* x log(x / m) + m - x, accurate also if x is near m */
static double deviance_part(double x, double m)
{
    double gap = x - m;
    if (fabs(gap) >= 0.1 * (x + m)) {
        return x * log(x / m) - gap;
    }
    double v = gap / (x + m);
    double sum = gap * v;
    double term = 2.0 * x * v;
    for (int j = 3; j < 1000; j += 2) {
        term *= v * v;
        double next = sum + term / j;
        if (next == sum) {
            break;
        }
        sum = next;
    }
    return sum;
}

/* x^a (1-x)^b / B(a, b), given both x and y = 1 - x */
static double beta_weight(double a, double b, double x, double y)
{
    double n = a + b;
    double exponent = stirling_error(n) - stirling_error(a) - stirling_error(b) -
                      deviance_part(a, n * x) - deviance_part(b, n * y);
    return sqrt(a * b / n) * exp(exponent - HALF_LOG_2PI);
}

static double away_from_zero(double value)
{
    return fabs(value) < FRACTION_TINY ? FRACTION_TINY : value;
}

static double beta_fraction(double a, double b, double x)
{
    double c = 1.0;
    double d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    double h = d;
    for (int m = 1; m < FRACTION_STEPS; m++) {
        double m2 = 2.0 * m;
        double even = m * (b - m) * x / ((a + m2 - 1.0) * (a + m2));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        h *= d * c;
        if (fabs(d * c - 1.0) <= FRACTION_ACCURACY) {
            break;
        }
    }
    return h;
}

/* I_x(a, b). y = 1 - x is a parameter of its own, so that neither tail loses its digits. */
static double beta_regularised(double a, double b, double x, double y)
{
    if (x <= 0.0) {
        return 0.0;
    }
    if (y <= 0.0) {
        return 1.0;
    }
    double weight = beta_weight(a, b, x, y);
    if (x <= (a + 1.0) / (a + b + 2.0)) {
        return weight * beta_fraction(a, b, x) / a;
    }
    return 1.0 - weight * beta_fraction(b, a, y) / b;
}

double vq_beta_lower(double a, double b, double x)
{
    if (!(a > 0.0) || !(b > 0.0) || !(x >= 0.0) || !(x <= 1.0)) {
        return NAN;
    }
    return beta_regularised(a, b, x, 1.0 - x);
}

double vq_beta_quantile(double a, double b, double p)
{
    if (!(a > 0.0) || !(b > 0.0) || !(p >= 0.0) || !(p <= 1.0)) {
        return NAN;
    }
    if (p <= 0.0 || p >= 1.0) {
        return p;
    }
    double lo = 0.0;
    double hi = 1.0;
    double x = a / (a + b);
    for (int step = 0; step < QUANTILE_STEPS; step++) {
        double excess = vq_beta_lower(a, b, x) - p;
        if (excess == 0.0) {
            break;
        }
        if (excess > 0.0) {
            hi = x;
        } else {
            lo = x;
        }
        double density = beta_weight(a, b, x, 1.0 - x) / (x * (1.0 - x));
        double next = x - excess / density;
        if (!(next > lo && next < hi)) {
            next = 0.5 * (lo + hi);
        }
        bool still = fabs(next - x) <= 1e-16 * x;
        x = next;
        if (still || !(lo < hi)) {
            break;
        }
    }
    return x;
}

double vq_student_two_sided(double t, double df)
{
    if (isnan(t) || !(df > 0.0)) {
        return NAN;
    }
    if (isinf(t)) {
        return 0.0;
    }
    double whole = df + t * t;
    return beta_regularised(0.5 * df, 0.5, df / whole, t * t / whole);
}

/* From I_x(df/2, 1/2) with x = df / (df + t^2). */
double vq_student_975(double df)
{
    double x = vq_beta_quantile(0.5 * df, 0.5, 0.05);
    return sqrt(df * (1 - x) / x);
}

double vq_logistic(double eta)
{
    double e = exp(-fabs(eta));
    return eta >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

double vq_log1pexp(double eta)
{
    return log1p(exp(-fabs(eta))) + (eta > 0.0 ? eta : 0.0);
}
