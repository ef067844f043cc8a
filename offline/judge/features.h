/* The features that differ between the two outputs of a batch of rows. Pure. */
#pragma once

#include "offline/judge/axis_list.h"
#include "offline/judge/lexical.h"
#include "offline/judge/wanted.h"

#define VQ_FEATURES_MAX 6u

struct vq_feature {
    enum vq_topic topic;
    double mean;     /* of the rows' differences, output 1 minus output 2, in [-1, 1] */
    double strength; /* |mean| in standard errors */
};

/* The measures of both outputs of each row. */
struct vq_row_measures {
    struct vq_measures outputs[2];
};

/* The strongest first; returns their number, at most VQ_FEATURES_MAX. A feature counts if its
 * difference has the same direction in most rows and is large relative to its spread. A feature
 * that shares measures with a stronger one counts only by its additional difference. Left out:
 * features of the axes in `current` or `rejected` (either may be NULL). */
size_t vq_features_find(enum vq_judge_kind kind, const struct vq_row_measures *rows, size_t n,
                        const struct vq_axis_list *current, const struct vq_axis_list *rejected,
                        struct vq_feature ret_features[VQ_FEATURES_MAX]);
