/* Bradley-Terry strengths from a table of wins (Bradley and Terry 1952; existence: Ford 1957). */
#pragma once

#include "methods/stats/stats.h"

enum vq_bradley_status {
    VQ_BRADLEY_OK,
    /* some items never lose to, or never beat, the others: strengths go to infinity */
    VQ_BRADLEY_INFINITE,
    VQ_BRADLEY_NOT_IDENTIFIED, /* some groups of items were never compared */
    VQ_BRADLEY_NOT_CONVERGED,
};

struct vq_bradley {
    enum vq_bradley_status status;
    /* owned by the caller, with item 0 at 0; unchanged unless the status is ok */
    double *log_strength;
};

/* wins: items x items, (i, j) = number of times that i beat j; a tie is half a win for each; the
 * diagonal is ignored. VQ_OK, VQ_INVALID, VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_bradley_fit(struct vq_matrix wins, struct vq_bradley *ret,
                              struct vq_error *err) VQ_WARN_UNUSED;
