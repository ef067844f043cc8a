/* A question is the pair of a prompt's number and an image's number. Not its job: reading
 * either. */
#include "methods/data/questions.h"

#include "common/base/alloc.h"

enum vq_status vq_questions_init(struct vq_questions *q, size_t rows_max)
{
    *q = (struct vq_questions){.rows_max = rows_max};
    return VQ_ALLOC(q->numbers, 2 * rows_max);
}

enum vq_status vq_questions_add(struct vq_questions *q, struct vq_span prompt, struct vq_span image,
                                uint32_t *ret_number)
{
    VQ_ASSERT(q->rows < q->rows_max);
    uint32_t *pair = &q->numbers[2 * q->rows++];
    VQ_TRY(vq_intern_add(&q->prompts, prompt, &pair[0]));
    VQ_TRY(vq_intern_add(&q->images, image, &pair[1]));
    return vq_intern_add(&q->pairs, vq_span((const char *)pair, 2 * sizeof(*pair)), ret_number);
}

void vq_questions_free(struct vq_questions *q)
{
    vq_intern_free(&q->prompts);
    vq_intern_free(&q->images);
    vq_intern_free(&q->pairs);
    vq_free(q->numbers);
    *q = (struct vq_questions){.rows = 0};
}
