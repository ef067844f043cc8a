/* The answers to the prompts of the method that ask for no verdict: axes, differences, lists made
 * shorter, names, matches, kinds of prompts. Everything is a function of seed and prompt. Pure. */
#pragma once

#include "offline/judge/lexical.h"
#include "offline/judge/wanted.h"

struct vq_part_request {
    enum vq_wanted wanted;
    enum vq_judge_kind kind;
    struct vq_span text; /* of the user message */
    int64_t seed;        /* the request's own; 0 when none is given */
    bool is_malformed;   /* written as a sloppy model would, with the same content */
    const char *variant; /* of the malformed forms, see vq_axes_form_find; "" draws one */
};

/* Appends the answer to `to`; only for kinds of which vq_wanted_is_part is true. VQ_NOMEM. */
enum vq_status vq_part_answer(struct vq_lexical *lexical, const struct vq_part_request *request,
                              struct vq_buf *to) VQ_WARN_UNUSED;
