/* Rows of float vectors (embeddings): the view, its limits, and the two sums that all other
 * functions use. */
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

/* VQ_OK, VQ_LIMIT (more rows or columns than the maxima above), VQ_INVALID (no columns, or a cell
 * that is NaN, infinite or over VQ_VECTORS_VALUE_MAX; `err` names row and column from 0). Zero rows
 * are valid. */
enum vq_status vq_vectors_check(struct vq_vectors x, struct vq_error *err) VQ_WARN_UNUSED;

const float *vq_vectors_row(struct vq_vectors x, size_t row);

/* Both sum in double, in an order that depends only on `cols`: equal vectors give equal bits. */
double vq_vectors_dot(const float *a, const float *b, size_t cols);
double vq_vectors_distance_squared(const float *a, const float *b, size_t cols); /* 0 iff equal */
