/* Bradley-Terry strengths from a table of wins (Bradley and Terry 1952; existence: Ford 1957). */
#ifndef VQ_METHODS_STATS_RANKING_BRADLEY_H
#define VQ_METHODS_STATS_RANKING_BRADLEY_H

#include "methods/stats/stats.h"

enum vq_bradley_status {
    VQ_BRADLEY_OK,
    /* some items never lose to, or never beat, the others: strengths run to infinity */
    VQ_BRADLEY_INFINITE,
    VQ_BRADLEY_NOT_IDENTIFIED, /* groups that were never compared */
    VQ_BRADLEY_NOT_CONVERGED,
};

const char *vq_bradley_status_name(enum vq_bradley_status status);

/* Arrays of the caller, items values each; untouched unless the status is ok. */
struct vq_bradley {
    enum vq_bradley_status status;
    double *log_strength;       /* sums to 0 */
    double *se;                 /* of those */
    double *log_strength_first; /* with item 0 at 0 */
    double *se_first;           /* of those; 0 for item 0 */
    double loglik;              /* without binomial coefficients */
};

/* wins: items x items, (i, j) = times i beat j; a tie is half a win for each; the diagonal is
 * ignored. The caller sets the four pointers (each may be NULL). VQ_OK, VQ_INVALID, VQ_LIMIT,
 * VQ_NOMEM. */
enum vq_status vq_bradley_fit(struct vq_matrix wins, struct vq_bradley *ret,
                              struct vq_error *err) VQ_WARN_UNUSED;

#endif
