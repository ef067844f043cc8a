/* Gives each question a number, 0, 1, 2 ... in order of first appearance. A question is a prompt,
 * or a prompt with an image: "describe this picture" about two pictures is two questions. The rows
 * of one question are the unit of resampling. */
#pragma once

#include "common/text/intern.h"

struct vq_questions { /* zeroed: empty, and no row may be added */
    struct vq_intern prompts, images, pairs;
    /* the keys of `pairs` point into this: the numbers of a row's prompt and image */
    uint32_t *numbers;
    size_t rows, rows_max;
};

/* The texts are borrowed and must outlive *ret_questions. VQ_NOMEM. */
enum vq_status vq_questions_init(struct vq_questions *questions, size_t rows_max) VQ_WARN_UNUSED;
/* `image` may be empty: none. To be called at most rows_max times. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_questions_add(struct vq_questions *questions, struct vq_span prompt,
                                struct vq_span image, uint32_t *ret_number) VQ_WARN_UNUSED;
static inline uint32_t vq_questions_count(const struct vq_questions *questions)
{
    return questions->pairs.count;
}
void vq_questions_free(struct vq_questions *questions);
