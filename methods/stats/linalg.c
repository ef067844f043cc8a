/* Thin, checked calls into LAPACKE for small systems. The lower triangle of a row-major matrix is
 * the upper one of a column-major matrix, which saves LAPACKE its transposed copies. Owns nothing
 * and allocates nothing itself (LAPACKE does in least squares). */
#include "methods/stats/linalg.h"

#include "common/base/status.h"

#include <lapacke.h>
#include <math.h>

static lapack_int as_int(size_t n)
{
    VQ_ASSERT(n <= 1 << 20);
    return (lapack_int)n;
}

bool vq_linalg_cholesky(double *a, size_t n)
{
    if (n == 0) {
        return true;
    }
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', as_int(n), a, as_int(n)) != 0) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i * n + i])) {
            return false;
        }
    }
    return true;
}

void vq_linalg_solve(const double *factor, size_t n, double *b)
{
    if (n > 0) {
        (void)LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', as_int(n), 1, factor, as_int(n), b,
                                  as_int(n));
    }
}

bool vq_linalg_inverse(double *factor, size_t n)
{
    if (n == 0) {
        return true;
    }
    if (LAPACKE_dpotri(LAPACK_COL_MAJOR, 'U', as_int(n), factor, as_int(n)) != 0) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            factor[j * n + i] = factor[i * n + j];
        }
    }
    return true;
}

double vq_linalg_log_det(const double *factor, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += log(factor[i * n + i]);
    }
    return 2.0 * sum;
}

void vq_linalg_alias(const double *gram, size_t n, double tolerance, double *work_nn,
                     bool *ret_aliased)
{
    for (size_t i = 0; i < n; i++) {
        double *row = work_nn + i * n;
        double left = gram[i * n + i];
        for (size_t j = 0; j < i; j++) {
            double value = 0.0;
            if (!ret_aliased[j]) {
                value = gram[i * n + j];
                for (size_t l = 0; l < j; l++) {
                    value -= row[l] * work_nn[j * n + l];
                }
                value /= work_nn[j * n + j];
            }
            row[j] = value;
            left -= value * value;
        }
        ret_aliased[i] = !(left > tolerance * gram[i * n + i]);
        row[i] = ret_aliased[i] ? 0.0 : sqrt(left);
    }
}

bool vq_linalg_least_squares(double *a, size_t m, size_t n, double *b)
{
    VQ_ASSERT(n <= m);
    if (n == 0) {
        return true;
    }
    return LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', as_int(m), as_int(n), 1, a, as_int(n), b, 1) == 0;
}
