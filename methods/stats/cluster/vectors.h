/* Rows of float vectors (embeddings): the view, its limits, and the two sums everything else is
 * made from. */
#pragma once

#include "common/base/status.h"

#define VQ_VECTORS_ROWS_MAX ((size_t)1 << 20)
#define VQ_VECTORS_COLS_MAX ((size_t)1 << 14)
#define VQ_VECTORS_VALUE_MAX                                                                       \
    1e15F /* of |cell|: a distance still fits a float, its square a double */

/* Borrowed, row-major and packed: row i begins at at[i * cols]. */
struct vq_vectors {
    const float *at;
    size_t rows;
    size_t cols;
};

/* VQ_OK, VQ_LIMIT (rows or columns over the maxima above), VQ_INVALID (no columns, a cell that is
 * NaN, infinite or over VQ_VECTORS_VALUE_MAX; `err` names row and column from 0). No rows is
 * fine. */
enum vq_status vq_vectors_check(struct vq_vectors x, struct vq_error *err) VQ_WARN_UNUSED;

const float *vq_vectors_row(struct vq_vectors x, size_t row);

/* Sums in double, in an order that depends on `cols` alone: equal vectors give equal bits wherever
 * they stand. */
double vq_vectors_dot(const float *a, const float *b, size_t cols);
double vq_vectors_distance_squared(const float *a, const float *b, size_t cols); /* 0 iff equal */
