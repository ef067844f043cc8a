/* What an axis asks for: its name, low and high text turned into weights over the measures of a
 * text. Pure. */
#ifndef VQ_OFFLINE_JUDGE_AXIS_H
#define VQ_OFFLINE_JUDGE_AXIS_H

#include "offline/judge/measure.h"

enum vq_judge_kind {
    VQ_JUDGE_KIND_A, /* reads topics.def's first column of weights */
    VQ_JUDGE_KIND_B, /* the second */
    VQ_JUDGE_KIND__COUNT
};

/* A weight is positive where more of the measure is towards the high side of the axis. */
struct vq_axis_weights {
    double at[VQ_MEASURE__COUNT];
    bool any; /* false: no word of the axis speaks of something that can be measured */
};

/* Changing low and high changes the sign of every weight, exactly. A name alone gives no direction:
 * then, and when no word matches, `any` is false. */
void vq_axis_read(enum vq_judge_kind kind, struct vq_span name, struct vq_span low,
                  struct vq_span high, struct vq_axis_weights *ret_weights);

#endif
