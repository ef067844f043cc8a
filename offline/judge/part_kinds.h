/* Private to this folder: the answers of part.h, one function per kind. Each appends to
 * part->to. */
#pragma once

#include "offline/judge/features.h"
#include "offline/judge/part.h"

#define VQ_NO_DIFFERENCES "No differences found."

struct vq_part {
    struct vq_lexical *lexical;
    const struct vq_part_request *request;
    uint64_t draw; /* of seed, request's seed and prompt */
    struct vq_buf *to;
};

/* One draw per purpose. */
uint64_t vq_part_draw(const struct vq_part *part, uint64_t purpose);
/* Writes axes in a form that is drawn for this prompt, or in a malformed one if that is requested;
 * `plain_form` is drawn more often than the others. */
void vq_part_write_axes(const struct vq_part *part, const struct vq_axis_text *axes, size_t n,
                        enum vq_axes_form plain_form);

enum vq_status vq_part_axes(const struct vq_part *part) VQ_WARN_UNUSED; /* also for new axes */
enum vq_status vq_part_differences(const struct vq_part *part) VQ_WARN_UNUSED;
enum vq_status vq_part_formalise(const struct vq_part *part) VQ_WARN_UNUSED;
enum vq_status vq_part_reduce(const struct vq_part *part) VQ_WARN_UNUSED; /* three kinds */
enum vq_status vq_part_dedup(const struct vq_part *part) VQ_WARN_UNUSED;
enum vq_status vq_part_match(const struct vq_part *part) VQ_WARN_UNUSED;
enum vq_status vq_part_generate(const struct vq_part *part) VQ_WARN_UNUSED;
enum vq_status vq_part_interview(const struct vq_part *part) VQ_WARN_UNUSED;
enum vq_status vq_part_question_types(const struct vq_part *part) VQ_WARN_UNUSED;
