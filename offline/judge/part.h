/* Answers to the prompts of the method that do not ask for a verdict: axes, differences, shorter
 * lists, names, matches, kinds of prompts. Everything is a function of seed and prompt. Pure. */
#pragma once

#include "offline/judge/lexical.h"
#include "offline/judge/wanted.h"

struct vq_part_request {
    enum vq_wanted wanted;
    enum vq_judge_kind kind;
    struct vq_span text; /* of the user message */
    int64_t seed;        /* the request's seed; 0: not given */
    bool is_malformed;   /* written in the form of a careless model, with the same content */
    const char *variant; /* of the malformed forms, see vq_axes_form_find; "": drawn */
};

/* Appends the answer to `to`; only for kinds for which vq_wanted_is_part is true. VQ_NOMEM. */
enum vq_status vq_part_answer(struct vq_lexical *lexical, const struct vq_part_request *request,
                              struct vq_buf *to) VQ_WARN_UNUSED;
