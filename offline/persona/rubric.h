/* The prompt of a rubric judge, as prompts/likert.txt, binary.txt and pairwise.txt lay it out:
 * sections between tags that stand on lines of their own. Pure; borrows from the text. */
#pragma once

#include "common/base/buf.h"

struct vq_rated_rubric {
    struct vq_span prompt;
    struct vq_span responses[2]; /* the second only of a comparison */
    struct vq_span criterion;
    struct vq_span text; /* of the rubric */
    /* Of a prompt with <user_query>: what it holds, and who is played. Of another: the prompt, and
     * nothing. */
    struct vq_span query;
    struct vq_span role;
    struct vq_span description;
};

/* A tag inside a text does no harm if the real one is on a line of its own:
 * the responses end at their last closing tags, the criterion is the last one. VQ_NOT_FOUND without
 * a response, or without a criterion. */
enum vq_status vq_rubric_find(struct vq_span text, bool is_pairwise,
                              struct vq_rated_rubric *ret_rubric) VQ_WARN_UNUSED;

/* What stands behind "VALUE:" at the start of a line of the rubric ("5:", "Yes:"); empty when there
 * is no such line. */
struct vq_span vq_rubric_line(struct vq_span rubric, const char *value);
