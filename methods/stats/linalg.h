/* Private to this room: small dense symmetric systems. Matrices are n x n, row-major, only the
 * lower triangle is read unless said otherwise. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Cholesky factor in place; false (content undefined) when not positive definite to working
 * precision or not finite. */
bool vq_linalg_cholesky(double *a, size_t n);
void vq_linalg_solve(const double *factor, size_t n, double *b); /* b := A^-1 b */
bool vq_linalg_inverse(double *factor, size_t n);         /* factor := A^-1, both triangles */
double vq_linalg_log_det(const double *factor, size_t n); /* of A, from its factor */

/* Sequential Cholesky that passes over columns which are, but for `tolerance` of their squared
 * norm, combinations of the earlier kept ones: how R aliases. `gram` (both triangles or the lower)
 * is untouched. */
void vq_linalg_alias(const double *gram, size_t n, double tolerance, double *work_nn,
                     bool *ret_aliased);

/* Least squares of m equations in n <= m unknowns by Householder QR; a is m x n row-major and is
 * destroyed; b holds m values, its first n become the solution. False when the rank is short. */
bool vq_linalg_least_squares(double *a, size_t m, size_t n, double *b);
