/* Agreement between judges: Cohen's kappa, Krippendorff's alpha. */
#pragma once

#include "methods/stats/stats.h"

#define VQ_AGREEMENT_CATEGORIES_MAX 64

enum vq_agreement_status {
    VQ_AGREEMENT_OK,
    VQ_AGREEMENT_UNDEFINED, /* 0/0: every rating is the same category */
    VQ_AGREEMENT_NO_ROWS,   /* no row was rated by both */
};

/* NaN if a value does not exist. */
struct vq_kappa {
    enum vq_agreement_status status;
    double n;                  /* number of rows that both rated */
    double observed, expected; /* agreement; if the status is undefined, both are 1 */
    double kappa;              /* Cohen 1960, unweighted */
    double kappa_quadratic;    /* weights (i - j)^2 by category position */
    double se;                 /* large sample (Fleiss, Cohen and Everitt 1969) */
    struct vq_interval ci95;   /* kappa -+ 1.96 se */
};

/* counts[i * categories + j]: number of rows with category i by the first and j by the second
 * rater; categories are in ascending order. VQ_OK, VQ_INVALID (a count is negative or not finite),
 * VQ_LIMIT (too many categories). */
enum vq_status vq_agreement_cohen_counts(const double *counts, size_t categories,
                                         struct vq_kappa *ret_kappa) VQ_WARN_UNUSED;

/* The scores -1, 0, +1 of two judges; rows where either is NaN are left out. VQ_INVALID for another
 * value. `ret_mirrored` (may be NULL): each row is counted with both signs, as in the mirrored
 * regression (decisions 7). Its se and ci95 are NaN, because mirrored rows are no new data, and its
 * n is the number of rows. */
enum vq_status vq_agreement_cohen(const double *a, const double *b, size_t n,
                                  struct vq_kappa *ret_kappa,
                                  struct vq_kappa *ret_mirrored) VQ_WARN_UNUSED;

/* Any number of judges: `ratings` has one row per item and one column per judge; values are -1, 0,
 * +1 or NaN. */
struct vq_kappa_pairs {
    size_t pairs;         /* J (J - 1) / 2 */
    size_t pairs_defined; /* pairs with status ok; the means use only these */
    size_t pairs_equal;   /* pairs with status undefined: both constant and equal */
    double mean_kappa, mean_kappa_mirrored;
    enum vq_agreement_status alpha_status;
    /* Krippendorff's alpha, nominal, over items with at least two ratings; NaN unless the status is
     * ok */
    double alpha;
};

enum vq_status vq_agreement_pairs(struct vq_matrix ratings,
                                  struct vq_kappa_pairs *ret_pairs) VQ_WARN_UNUSED;
