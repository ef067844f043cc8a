/* Agglomerative clustering of float vectors by Euclidean distance.
 *
 * Nearest-neighbour chain (Murtagh 1983) on one condensed matrix of distances, which the updates of
 * Lance and Williams (1967) overwrite. Ward is the variance criterion on Euclidean distances with
 * SciPy's heights (Ward 1963). Time is of the order n^2 (d + a small number), memory is n (n - 1) /
 * 2 floats and a few MB.
 *
 * Distances are computed in double and rounded once to float: heights have a relative error of
 * about 1e-6, and equal vectors have a distance of exactly 0. The same input gives the same bits on
 * one CPU type, because blocks have a fixed size and OpenBLAS uses one thread (vq_stats_init).
 * Another block size, or another CPU, may change a distance only in its last float digit. */
#pragma once

#include "methods/stats/cluster/vectors.h"

#define VQ_CLUSTER_ROWS_MAX ((size_t)1 << 15) /* 2 GiB of distances */

enum vq_cluster_linkage {
    VQ_CLUSTER_WARD,
    VQ_CLUSTER_AVERAGE,
    VQ_CLUSTER_COMPLETE,
};

/* Clusters 0 .. rows - 1 are the rows; merge m makes cluster rows + m. */
struct vq_cluster_merge {
    uint32_t a, b; /* a < b */
    uint32_t size; /* number of rows in the new cluster */
    double height;
};

/* rows - 1 merges by ascending height, owned by this struct. Ties: among equally near neighbours,
 * the cluster that the chain came from is taken, else the one with the lowest row. A chain begins
 * at the lowest remaining row. Merges of equal height are in the order of discovery. */
struct vq_cluster_tree {
    size_t rows;
    struct vq_cluster_merge *merges;
};

/* VQ_OK (free *ret_tree with vq_cluster_tree_free), VQ_INVALID (no rows, or as vq_vectors_check),
 * VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_cluster_build(struct vq_vectors x, enum vq_cluster_linkage linkage,
                                struct vq_cluster_tree *ret_tree,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_cluster_tree_free(struct vq_cluster_tree *tree);

/* Cuts give each row a label 0 .. k - 1, numbered by first appearance. VQ_OK, VQ_NOMEM, or
 * VQ_INVALID. */

/* Gives exactly k clusters, 1 <= k <= rows, by undoing the last k - 1 merges, even if heights are
 * equal. */
enum vq_status vq_cluster_cut_count(const struct vq_cluster_tree *tree, size_t k,
                                    uint32_t *ret_labels, struct vq_error *err) VQ_WARN_UNUSED;
