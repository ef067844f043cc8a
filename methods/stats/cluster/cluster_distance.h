/* Private to this folder: the condensed matrix of Euclidean distances. */
#pragma once

#include "methods/stats/cluster/vectors.h"

#define VQ_CLUSTER_BLOCK ((size_t)256) /* rows per side of a block */

/* Number of pairs of n rows: n (n - 1) / 2. */
size_t vq_cluster_pairs(size_t n);

/* Index of the pair (i, j), i < j < n: the rows of the upper triangle, one after the other. */
static inline size_t vq_cluster_pair(size_t n, size_t i, size_t j)
{
    return i * (2 * n - i - 1) / 2 + (j - i - 1);
}

/* Writes vq_cluster_pairs(x.rows) distances. `x` must have passed vq_vectors_check; `block` >= 1.
 * VQ_OK or VQ_NOMEM. */
enum vq_status vq_cluster_distances(struct vq_vectors x, size_t block,
                                    float *ret_distances) VQ_WARN_UNUSED;
