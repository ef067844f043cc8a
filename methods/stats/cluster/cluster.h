/* Agglomerative clustering of float vectors by Euclidean distance.
 *
 * Nearest-neighbour chain (Murtagh 1983) on one condensed matrix of distances that Lance and
 * Williams' (1967) updates overwrite; Ward is the variance criterion on Euclidean distances with
 * heights as SciPy gives them (Ward 1963). Time is of the order n^2 (d + a few), memory n (n - 1) /
 * 2 floats and a few MB.
 *
 * Distances are rounded once to float, from sums in double: heights are right to about 1e-6 of
 * themselves, equal vectors are exactly 0 apart. Same input, same bits, on one CPU type: blocks
 * have a fixed size and OpenBLAS one thread (vq_stats_init). Another size of block, or another CPU,
 * may move a distance by its last float digit, no further. */
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
    uint32_t size; /* rows in the new cluster */
    double height;
};

/* rows - 1 merges by ascending height, owned by this struct. Ties: of equally near neighbours the
 * one the chain came from is taken, else the one whose lowest row is lowest; chains begin at the
 * lowest row left; merges of one height stand in the order in which they were found. */
struct vq_cluster_tree {
    size_t rows;
    struct vq_cluster_merge *merges;
};

/* VQ_OK (free with vq_cluster_tree_free), VQ_INVALID (no rows, or as vq_vectors_check), VQ_LIMIT,
 * VQ_NOMEM. */
enum vq_status vq_cluster_build(struct vq_vectors x, enum vq_cluster_linkage linkage,
                                struct vq_cluster_tree *ret_tree,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_cluster_tree_free(struct vq_cluster_tree *tree);

/* Cuts write a label 0 .. k - 1 for each row, numbered by first appearance. VQ_OK, VQ_NOMEM, or
 * VQ_INVALID. */

/* Exactly k clusters, 1 <= k <= rows: the last k - 1 merges are undone, also where heights tie. */
enum vq_status vq_cluster_cut_count(const struct vq_cluster_tree *tree, size_t k,
                                    uint32_t *ret_labels, struct vq_error *err) VQ_WARN_UNUSED;
