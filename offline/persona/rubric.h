/* The prompt of a rubric judge, in the layout of prompts/likert.txt, binary.txt and pairwise.txt:
 * sections between tags on separate lines. Pure; borrows from the text. */
#pragma once

#include "common/base/buf.h"

struct vq_rated_rubric {
    struct vq_span prompt;
    struct vq_span responses[2]; /* the second only for a comparison */
    struct vq_span criterion;
    struct vq_span text; /* of the rubric */
    /* Of a prompt with <user_query>: its text, and the role. Otherwise: the prompt, and empty. */
    struct vq_span query;
    struct vq_span role;
    struct vq_span description;
};

/* A tag inside a text does no harm if the real one is on a separate line: the responses end at
 * their last closing tags, and the last criterion counts. VQ_NOT_FOUND: no response, or no
 * criterion. */
enum vq_status vq_rubric_find(struct vq_span text, bool is_pairwise,
                              struct vq_rated_rubric *ret_rubric) VQ_WARN_UNUSED;

/* The text after "VALUE:" at the start of a line of the rubric ("5:", "Yes:"); empty: there is no
 * such line. */
struct vq_span vq_rubric_line(struct vq_span rubric, const char *value);
