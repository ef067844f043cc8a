/* The rubric judge: rates by what can be counted in a text. It knows the built-in criteria by name;
 * of another it reads the rubric as the ranker's judge reads an axis, or else counts the rubric's
 * words in the response. It needs no model and knows nothing of meaning. Everything is a function
 * of server's seed, request's seed and prompt. Pure. */
#pragma once

#include "offline/judge/lexical.h"
#include "offline/judge/wanted.h"

struct vq_rating_request {
    enum vq_wanted wanted; /* RATING, YES_NO or BETTER */
    enum vq_judge_kind kind;
    struct vq_span text; /* of the user message */
    int64_t seed;        /* the request's own; 0 when none is given */
};

/* The value as it is written ("4", "No", "B"), with one or two sentences of reason appended to
 * `reason`; NULL, and no reason, when the sections of the template are not there. */
const char *vq_rating_give(struct vq_lexical *lexical, const struct vq_rating_request *request,
                           struct vq_buf *reason);

/* A whole answer in the form that the templates ask for. */
void vq_rating_write(struct vq_span reason, const char *value, struct vq_buf *to);

/* The same content otherwise, as judges write that do not keep to the form (variants of the fault
 * wrong_format):
 *   score_of      the value stands in the text only
 *   out_of_range  a value that the question does not have
 *   ambiguous     two values behind the result
 *   none          reasons without a result
 *   runaway       a result that goes on talking for kilobytes of both values
 *   endless       the same until max_tokens cuts it, or 64 KiB; never drawn
 * Another variant draws one of them from `draw`. */
void vq_rating_write_malformed(enum vq_wanted wanted, struct vq_span reason, const char *value,
                               const char *variant, uint64_t draw, struct vq_buf *to);
