/* The distribution functions that the tests need: normal, Student t, beta. Relative accuracy is
 * about 1e-12 in the body and 1e-10 in tails down to 1e-300. NaN in, NaN out; arguments outside of
 * the domain give NaN. */
#pragma once

#define VQ_NORMAL_975 1.959963984540054 /* the 0.975 quantile of the normal */

double vq_normal_two_sided(double z);               /* P(|Z| >= |z|) */
double vq_normal_quantile(double p);                /* p in [0, 1]; 0 and 1 give infinities */
double vq_beta_lower(double a, double b, double x); /* regularised I_x(a, b), a, b > 0 */
double vq_beta_quantile(double a, double b, double p);
double vq_student_two_sided(double t, double df); /* P(|T| >= |t|) */
double vq_student_975(double df);                 /* the 0.975 quantile of Student's t */
double vq_logistic(double eta);                   /* 1 / (1 + exp(-eta)) without overflow */
double vq_log1pexp(double eta);                   /* log(1 + exp(eta)) without overflow */
