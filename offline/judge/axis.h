/* What an axis asks for: its name, low and high text turned into weights over the measures of a
 * text. Pure. */
#pragma once

#include "offline/judge/measure.h"

enum vq_judge_kind {
    VQ_JUDGE_KIND_A, /* reads topics.def's first column of weights */
    VQ_JUDGE_KIND_B, /* the second */
    VQ_JUDGE_KIND__COUNT
};

/* What an axis can speak of: the features of a text. */
enum vq_topic {
#define TOPIC(id, label) VQ_TOPIC_##id,
#define TERM(topic, measure, weight_a, weight_b)
#define CUE(topic, sign, text)
#include "offline/judge/topics.def"
#undef TOPIC
#undef TERM
#undef CUE
    VQ_TOPIC__COUNT
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

/* The subject of an axis, for comparing axes. */
struct vq_axis_reading {
    double topics[VQ_TOPIC__COUNT]; /* signed as the weights are */
    struct vq_axis_weights weights;
    enum vq_topic main; /* the topic that weighs most; VQ_TOPIC__COUNT when nothing is understood */
};

/* Reads an axis as vq_axis_read does; where that finds no direction, every topic that name, low and
 * high speak of counts, without a sign (enough for comparing axes). */
void vq_axis_understand(enum vq_judge_kind kind, struct vq_span name, struct vq_span low,
                        struct vq_span high, struct vq_axis_reading *ret_reading);

#define VQ_AXIS_ALIKE 0.8
/* |cosine| of the weights, in [0, 1]; 0 when one of them is not understood. */
double vq_axis_likeness(const struct vq_axis_weights *a, const struct vq_axis_weights *b);
/* Whether two axes speak of the same feature: the same main topic, or a likeness of at least
 * VQ_AXIS_ALIKE (length and conciseness, caution and assertiveness). Never for one that is not
 * understood. The ends may be exchanged. */
bool vq_axis_same(const struct vq_axis_reading *a, const struct vq_axis_reading *b);

/* The weights of one topic alone, more of it being high. */
void vq_topic_weights(enum vq_judge_kind kind, enum vq_topic topic,
                      struct vq_axis_weights *ret_weights);
/* How often a text speaks of each topic, whether it affirms or denies it. */
void vq_topic_mentions(struct vq_span text, double ret_mentions[VQ_TOPIC__COUNT]);
