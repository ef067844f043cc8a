/* Shared parts of the statistics: the matrix view, limits, and the one call that fixes the
 * behaviour of the libraries.
 *
 * Invariant: everything in this folder is pure: double arrays in, structs out; no clock, no files,
 * no log, and no randomness except from a seed that the caller passes. A missing value is NaN. The
 * same input gives the same bits on one CPU type.
 *
 * Tests compare all of it with the reference numbers in tests/data/stats. */
#pragma once

#include "common/base/status.h"

#define VQ_STATS_ROWS_MAX  ((size_t)1 << 27)
#define VQ_STATS_COLS_MAX  ((size_t)512)
#define VQ_STATS_DRAWS_MAX ((size_t)1000000)

/* Call this once, before any other function of this folder and before threads start. It sets
 * OpenBLAS to one thread, so that the order of its sums, and with it the last digits of a result,
 * does not depend on the number of cores. */
void vq_stats_init(void);

/* Borrowed, row-major and packed: cell (row, col) is at[row * cols + col]. For scores, a row is a
 * sample, a column is a vibe, and NaN is a missing score. */
struct vq_matrix {
    const double *at;
    size_t rows;
    size_t cols;
};

/* An interval; both ends are NaN if there is none. */
struct vq_interval {
    double lo;
    double hi;
};

/* VQ_OK, VQ_LIMIT (more rows or columns than the maxima above), VQ_INVALID (an infinite cell, or
 * NaN cells if `allow_missing` is false; `err` names row and column from 0). */
enum vq_status vq_stats_check(struct vq_matrix x, bool allow_missing,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* Quantile of n > 0 ascending values, by linear interpolation between order statistics at (n - 1) *
 * q (type 7 of Hyndman and Fan, 1996); q is in [0, 1]. */
double vq_stats_quantile(const double *sorted, size_t n, double q);
void vq_stats_sort(double *values, size_t n); /* ascending; no NaN */

/* The scale of mirrored columns, whose mean is 0: the root of the mean square over present cells; 1
 * for a column in which all cells are 0 or missing. `ret_scale` has x.cols values. */
void vq_stats_root_mean_square(struct vq_matrix x, double *ret_scale);
