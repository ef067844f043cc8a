/* Private to this folder: small dense symmetric systems. Matrices are n x n, row-major. Only the
 * lower triangle is read unless the comment says otherwise. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Cholesky factor in place. False (content undefined) if A is not positive definite to working
 * precision, or not finite. */
bool vq_linalg_cholesky(double *a, size_t n);
void vq_linalg_solve(const double *factor, size_t n, double *b); /* b := A^-1 b */
bool vq_linalg_inverse(double *factor, size_t n);         /* factor := A^-1, both triangles */
double vq_linalg_log_det(const double *factor, size_t n); /* of A, from its factor */

/* Sequential Cholesky that marks a column as aliased if it is a combination of earlier kept
 * columns, up to `tolerance` of its squared norm: the rule of R. `gram` (both triangles or the
 * lower one) does not change. */
void vq_linalg_alias(const double *gram, size_t n, double tolerance, double *work_nn,
                     bool *ret_aliased);

/* Least squares of m equations in n <= m unknowns by Householder QR. a is m x n row-major and is
 * destroyed; b has m values, and its first n become the solution. False if the rank is less than
 * n. */
bool vq_linalg_least_squares(double *a, size_t m, size_t n, double *b);
