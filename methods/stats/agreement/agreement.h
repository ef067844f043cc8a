/* Agreement between judges: Cohen, Fleiss, Randolph, Krippendorff. */
#ifndef VQ_METHODS_STATS_AGREEMENT_AGREEMENT_H
#define VQ_METHODS_STATS_AGREEMENT_AGREEMENT_H

#include "methods/stats/stats.h"

#define VQ_AGREEMENT_CATEGORIES_MAX 64

enum vq_agreement_status {
    VQ_AGREEMENT_OK,
    VQ_AGREEMENT_UNDEFINED, /* 0/0: every rating is the same category */
    VQ_AGREEMENT_NO_ROWS,   /* nothing was rated by two */
};

const char *vq_agreement_status_name(enum vq_agreement_status status);

/* NaN where a value does not exist. */
struct vq_kappa {
    enum vq_agreement_status status;
    double n;                             /* rows rated by both */
    double observed, expected;            /* agreement; with status undefined both are 1 */
    double kappa;                         /* Cohen 1960, unweighted */
    double kappa_linear, kappa_quadratic; /* weights |i - j| and (i - j)^2 by category position */
    double se;                            /* large sample (Fleiss, Cohen and Everitt 1969) */
    double se_null;                       /* under kappa = 0 */
    struct vq_interval ci95;              /* kappa -+ 1.96 se */
    double z, p;                          /* kappa / se_null, two-sided normal */
};

/* counts[i * categories + j]: rows with category i by the first and j by the second rater;
 * categories in ascending order. VQ_OK, VQ_INVALID (negative or not finite), VQ_LIMIT
 * (categories). */
enum vq_status vq_agreement_cohen_counts(const double *counts, size_t categories,
                                         struct vq_kappa *ret_kappa) VQ_WARN_UNUSED;

/* The three scores -1, 0, +1 of two judges; rows where either is NaN are left out. VQ_INVALID for
 * another value. `ret_mirrored` (NULL = not wanted): each row counted with both signs, as in the
 * mirrored regression (decisions 7); its se, ci95, z and p are NaN, since mirrored rows are no new
 * data, and its n is that of the rows. */
enum vq_status vq_agreement_cohen(const double *a, const double *b, size_t n,
                                  struct vq_kappa *ret_kappa,
                                  struct vq_kappa *ret_mirrored) VQ_WARN_UNUSED;

/* Any number of judges: ratings has a row an item and a column a judge, values -1, 0, +1 or NaN. */
struct vq_kappa_pairs {
    size_t pairs;         /* J (J - 1) / 2 */
    size_t pairs_defined; /* those with status ok; only they are in the means */
    size_t pairs_equal;   /* status undefined: both constant and equal */
    double mean_kappa, mean_kappa_mirrored;
    enum vq_agreement_status alpha_status;
    double alpha; /* Krippendorff, nominal */
};

enum vq_status vq_agreement_pairs(struct vq_matrix ratings,
                                  struct vq_kappa_pairs *ret_pairs) VQ_WARN_UNUSED;

/* counts: a row an item, a column a category; the same number (>= 2) of ratings in every row. */
struct vq_fleiss {
    /* of fleiss; Randolph's is always defined when there are items */
    enum vq_agreement_status status;
    double fleiss, randolph;
};

/* VQ_INVALID when the rows' totals differ or are below 2. */
enum vq_status vq_agreement_fleiss(struct vq_matrix counts,
                                   struct vq_fleiss *ret_fleiss) VQ_WARN_UNUSED;

enum vq_agreement_level {
    VQ_AGREEMENT_NOMINAL,
    VQ_AGREEMENT_ORDINAL,
    VQ_AGREEMENT_INTERVAL,
};

/* Krippendorff's alpha from the coincidence matrix; ratings has a row an item and a column a rater,
 * NaN = missing. Items with fewer than two ratings are left out. *ret_alpha is NaN unless the
 * status is ok. VQ_OK, VQ_LIMIT (distinct values), VQ_NOMEM, VQ_INVALID (infinite). */
enum vq_status vq_agreement_krippendorff(struct vq_matrix ratings, enum vq_agreement_level level,
                                         enum vq_agreement_status *ret_status,
                                         double *ret_alpha) VQ_WARN_UNUSED;

#endif
