/* A cascade of two judges: when the second judge is asked, and the numbers that the second judge
 * alone would give on all rows, estimated from both judges' scores. Pure. */
#pragma once

#include "methods/vibecheck/numbers/vibecheck.h"

#include <math.h>

/* The reasons to ask the second judge about a cell; bits. */
enum vq_cascade_why {
    VQ_CASCADE_MARGIN = 1,   /* two labels are nearly equally probable for the first judge */
    VQ_CASCADE_DISAGREE = 2, /* the first judge's two orders do not name the same model */
    VQ_CASCADE_NO_SCORE = 4, /* the first judge's calls failed */
    VQ_CASCADE_AUDIT = 8,    /* the cell was drawn among all cells */
    VQ_CASCADE_UNKNOWN = 16, /* not a reason: a margin is needed, but unknown */
};

static inline bool vq_cascade_asks(uint8_t why)
{
    return (why & ~(unsigned)VQ_CASCADE_UNKNOWN) != 0;
}

/* Whether a reason in the first judge's answers exists. */
static inline bool vq_cascade_is_escalated(uint8_t why)
{
    return (why & (VQ_CASCADE_MARGIN | VQ_CASCADE_DISAGREE | VQ_CASCADE_NO_SCORE)) != 0;
}

/* The reasons in the first judge's answers to a cell, and UNKNOWN. `both` and `margins` are indexed
 * by order; NaN: the margin is unknown. */
uint8_t vq_cascade_escalates(const struct vq_conf_escalate *conf, enum vq_pair_rule rule,
                             const uint8_t both[2], const double margins[2]);

/* Sets row scores: the second judge's score if it was asked, else the first judge's. If the second
 * judge failed on an escalated cell, the row has no score; on an audited cell it keeps the first
 * judge's. Without a cascade, nothing changes. */
void vq_cascade_scores(const struct vq_vibecheck_input *in, struct vq_scores *scores);

/* Estimated calls of the second judge if it answered every cell, from its calls on the audited
 * cells; NaN if no cell was audited. */
static inline double vq_cascade_everywhere(const struct vq_cascade_counts *n)
{
    return n->audit == 0 ? NAN : (double)n->audit_calls / (double)n->audit * (double)n->cells;
}
