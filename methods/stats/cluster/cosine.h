/* Cosine similarity of float vectors. Invariant: the cosine of a vector of zeros with any vector,
 * including itself, is defined as 0, because it has no direction. */
#pragma once

#include "methods/stats/cluster/vectors.h"

/* In [-1, 1]. The vectors must have passed vq_vectors_check. */
double vq_cosine(const float *a, const float *b, size_t cols);

/* ret_nearest[i]: the row of `among` with the largest cosine to row i of `of`; the first one if
 * several are equal, so 0 for a row of zeros if no cosine is larger. `ret_cosine` (may be NULL)
 * gets that cosine. Both have of.rows values. Equal rows of `among` tie exactly. VQ_OK, VQ_INVALID
 * (different numbers of columns, `among` is empty, an invalid cell), VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_cosine_nearest(struct vq_vectors of, struct vq_vectors among,
                                 uint32_t *ret_nearest, double *ret_cosine,
                                 struct vq_error *err) VQ_WARN_UNUSED;
