/* Cosine similarity of float vectors. A vector of zeros has no direction: its cosine with anything,
 * itself included, is defined as 0, so that it is nearest to nothing in particular and never
 * undefined. */
#pragma once

#include "methods/stats/cluster/vectors.h"

/* In [-1, 1]. The vectors must have passed vq_vectors_check. */
double vq_cosine(const float *a, const float *b, size_t cols);

/* ret_nearest[i]: the row of `among` with the largest cosine to row i of `of`; the first among
 * equals, so 0 for a row of zeros whose best cosine is 0. `ret_cosine` (NULL = not wanted) gets
 * that cosine. Both hold of.rows values. Equal rows of `among` tie exactly. VQ_OK, VQ_INVALID
 * (columns differ, `among` empty, a bad cell), VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_cosine_nearest(struct vq_vectors of, struct vq_vectors among,
                                 uint32_t *ret_nearest, double *ret_cosine,
                                 struct vq_error *err) VQ_WARN_UNUSED;
