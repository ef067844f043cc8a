/* The meaning of an axis: its name, low and high text as weights over the measures of a text.
 * Pure. */
#pragma once

#include "offline/judge/measure.h"

enum vq_judge_kind {
    VQ_JUDGE_KIND_A, /* reads topics.def's first column of weights */
    VQ_JUDGE_KIND_B, /* reads the second column */
    VQ_JUDGE_KIND__COUNT
};

/* The features of a text that an axis can be about. */
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

/* A weight is positive if a larger measure means the high side of the axis. */
struct vq_axis_weights {
    double at[VQ_MEASURE__COUNT];
    bool any; /* false: no word of the axis is about anything that can be measured */
};

/* Exchanging low and high changes the sign of every weight, exactly. A name alone gives no
 * direction; then, and if no word matches, `any` is false. */
void vq_axis_read(enum vq_judge_kind kind, struct vq_span name, struct vq_span low,
                  struct vq_span high, struct vq_axis_weights *ret_weights);

/* The subject of an axis, for comparing axes. */
struct vq_axis_reading {
    double topics[VQ_TOPIC__COUNT]; /* with the sign of the weights */
    struct vq_axis_weights weights;
    /* the topic with the largest weight; VQ_TOPIC__COUNT: the axis is not understood */
    enum vq_topic main;
};

/* Reads an axis like vq_axis_read. If that finds no direction, every topic in name, low and high
 * counts, without a sign (enough for comparing axes). */
void vq_axis_understand(enum vq_judge_kind kind, struct vq_span name, struct vq_span low,
                        struct vq_span high, struct vq_axis_reading *ret_reading);

#define VQ_AXIS_ALIKE 0.8
/* osine| of the weights, in [0, 1]; 0: one of the axes is not understood. */
double vq_axis_likeness(const struct vq_axis_weights *a, const struct vq_axis_weights *b);
/* Whether two axes are about the same feature: the same main topic, or a likeness of at least
 * VQ_AXIS_ALIKE (length and conciseness, caution and assertiveness). False if one of them is not
 * understood. The ends may be exchanged. */
bool vq_axis_same(const struct vq_axis_reading *a, const struct vq_axis_reading *b);

/* The weights of one topic alone; more of it is high. */
void vq_topic_weights(enum vq_judge_kind kind, enum vq_topic topic,
                      struct vq_axis_weights *ret_weights);
/* The number of times that a text mentions each topic, affirmed or denied. */
void vq_topic_mentions(struct vq_span text, double ret_mentions[VQ_TOPIC__COUNT]);
