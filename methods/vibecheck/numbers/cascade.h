/* A cascade of two judges: when the second one is asked, and the numbers that it alone would give
 * on all rows, estimated from what both said. Pure. */
#pragma once

#include "methods/vibecheck/numbers/vibecheck.h"

#include <math.h>

/* Why the second judge is asked a cell; bits. */
enum vq_cascade_why {
    VQ_CASCADE_MARGIN = 1,   /* two labels of the first judge are nearly as likely */
    VQ_CASCADE_DISAGREE = 2, /* the first judge's orders do not name the same model */
    VQ_CASCADE_NO_SCORE = 4, /* the first judge's calls failed */
    VQ_CASCADE_AUDIT = 8,    /* drawn among all cells */
    VQ_CASCADE_UNKNOWN = 16, /* not a reason: a margin is asked for, and none is known */
};

static inline bool vq_cascade_asks(uint8_t why)
{
    return (why & ~(unsigned)VQ_CASCADE_UNKNOWN) != 0;
}

/* By what the first judge said alone. */
static inline bool vq_cascade_is_escalated(uint8_t why)
{
    return (why & (VQ_CASCADE_MARGIN | VQ_CASCADE_DISAGREE | VQ_CASCADE_NO_SCORE)) != 0;
}

/* The reasons in the first judge's answers to a cell, and UNKNOWN; `both` and `margins` by order,
 * NaN where a margin is not known. */
uint8_t vq_cascade_escalates(const struct vq_conf_escalate *conf, enum vq_pair_rule rule,
                             const uint8_t both[2], const double margins[2]);

/* The row's score: the second judge's where it was asked, and the first one's elsewhere. An
 * escalated cell whose second judge failed has none; an audited one keeps the first one's. Without
 * a cascade: nothing changes. */
void vq_cascade_scores(const struct vq_vibecheck_input *in, struct vq_scores *scores);

/* Calls of the second judge if it answered every cell, by those that it made on the audited cells;
 * NaN without an audited cell. */
static inline double vq_cascade_everywhere(const struct vq_cascade_counts *n)
{
    return n->audit == 0 ? NAN : (double)n->audit_calls / (double)n->audit * (double)n->cells;
}
