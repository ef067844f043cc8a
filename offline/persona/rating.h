/* The rubric judge: rates by counts in a text. It knows the built-in criteria by name. For another
 * criterion it reads the rubric as the ranker's judge reads an axis; if that fails, it counts the
 * rubric's words in the response. It needs no model and does not understand meaning. Everything is
 * a function of the server's seed, the request's seed and the prompt. Pure. */
#pragma once

#include "offline/judge/lexical.h"
#include "offline/judge/wanted.h"

struct vq_rating_request {
    enum vq_wanted wanted; /* RATING, YES_NO or BETTER */
    enum vq_judge_kind kind;
    struct vq_span text; /* of the user message */
    int64_t seed;        /* the request's seed; 0: not given */
};

/* The value as text ("4", "No", "B"). Appends one or two sentences of reason to `reason`. NULL, and
 * no reason: the sections of the template are missing. */
const char *vq_rating_give(struct vq_lexical *lexical, const struct vq_rating_request *request,
                           struct vq_buf *reason);

/* A whole answer in the form that the templates require. */
void vq_rating_write(struct vq_span reason, const char *value, struct vq_buf *to);

/* The same content in a wrong form, as some judges write it (variants of the fault wrong_format):
 *   score_of      the value is only in the text
 *   out_of_range  a value that the question does not have
 *   ambiguous     two values after the result
 *   none          reasons without a result
 *   runaway       a result, then kilobytes of text with both values
 *   endless       the same until max_tokens cuts it, or 64 KiB; never drawn
 * Another variant draws one of them from `draw`. */
void vq_rating_write_malformed(enum vq_wanted wanted, struct vq_span reason, const char *value,
                               const char *variant, uint64_t draw, struct vq_buf *to);
