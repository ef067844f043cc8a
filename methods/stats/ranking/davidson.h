/* Strengths of items that are compared in pairs, with ties (Davidson 1970): for strengths l and log
 * tie parameter d
 *
 *     P(i wins) : P(tie) : P(j wins) = exp((l_i - l_j) / 2) : exp(d) : exp((l_j - l_i) / 2)
 *
 * so l_i - l_j is the log odds of a win of i against a win of j. Without ties this is the model of
 * Bradley and Terry. Intervals and tests count clusters of rows (prompts), not rows. */
#pragma once

#include "methods/stats/stats.h"

#define VQ_DAVIDSON_ITEMS_MAX    64u
#define VQ_DAVIDSON_CLUSTERS_MIN 8u /* with fewer clusters there is no interval */

/* One comparison: shares of its verdicts (several judges may differ), not negative; all are 0 for a
 * row without a verdict. */
struct vq_davidson_row {
    uint32_t i, j; /* different items */
    uint32_t cluster;
    double win, tie, loss; /* of i */
};

enum vq_davidson_status {
    VQ_DAVIDSON_OK,
    VQ_DAVIDSON_FEW_CLUSTERS, /* strengths, but no intervals */
    /* no estimate exists: the strengths are those with half a win added for each side of each
     * pair */
    VQ_DAVIDSON_SEPARATED,
    VQ_DAVIDSON_NO_DECISION, /* every verdict is a tie: all strengths are 0 */
    VQ_DAVIDSON_UNCONNECTED, /* some groups of items were never compared */
};
const char *vq_davidson_status_name(enum vq_davidson_status status);

/* The caller owns the arrays. */
struct vq_davidson {
    enum vq_davidson_status status;
    size_t clusters;      /* number of clusters with a verdict */
    double log_tie;       /* NaN: no ties, or status is not OK, FEW_CLUSTERS */
    double loglik;        /* NaN: as log_tie */
    double *log_strength; /* items values, sum 0; NaN if UNCONNECTED */
    double *covariance;   /* items x items, of the strengths; NaN unless OK */
};

/* Maximum likelihood by Newton; the covariance is that of the one-step jackknife over clusters.
 * VQ_OK, VQ_INVALID (number of items, or shares), VQ_NOMEM. */
enum vq_status vq_davidson_fit(const struct vq_davidson_row *rows, size_t rows_count,
                               uint32_t items, struct vq_davidson *ret,
                               struct vq_error *err) VQ_WARN_UNUSED;

struct vq_davidson_place {
    struct vq_interval ci95; /* of the strength; Student t with clusters - 1 degrees */
    uint32_t rank;           /* 1 is the strongest; equal strengths in the order of the items */
    /* simultaneous 95 % set: items that differ by a Holm test of all pairs; 1 and `items`
     * without covariances */
    uint32_t rank_from, rank_to;
};
/* `ret_places` holds items values. VQ_OK, VQ_NOMEM. */
enum vq_status vq_davidson_places(const struct vq_davidson *fit, uint32_t items,
                                  struct vq_davidson_place *ret_places) VQ_WARN_UNUSED;
