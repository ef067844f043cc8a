/* The lexical judge: decides by counted words which of two outputs is higher on an axis. It needs
 * no model and does not understand meaning; it exists so that the whole system can be tried and
 * tested. Pure. */
#pragma once

#include "offline/judge/axis.h"
#include "offline/judge/sections.h"

enum vq_opinion {
    VQ_OPINION_A,
    VQ_OPINION_B,
    VQ_OPINION_EQUAL,
    VQ_OPINION_NA, /* the axis is about nothing that is measured */
    VQ_OPINION__COUNT
};

const char *vq_opinion_text(enum vq_opinion opinion); /* "A", "B", "equal", "N/A" */
enum vq_opinion vq_opinion_mirrored(enum vq_opinion opinion);

struct vq_lexical; /* word lists, and caches of axes and outputs */

enum vq_status vq_lexical_create(uint64_t seed, struct vq_lexical **ret_lexical) VQ_WARN_UNUSED;
void vq_lexical_destroy(struct vq_lexical **lexical);

/* The existing judges: a NULL-terminated list of names; VQ_NOT_FOUND: another name. */
extern const char *const vq_lexical_judges[];
enum vq_status vq_lexical_find(const char *model, enum vq_judge_kind *ret_kind) VQ_WARN_UNUSED;

/* Judges a question, and appends one or two sentences of analysis to `analysis` unless it is NULL.
 * Exchanging the outputs mirrors the opinion (A for B), and so does exchanging low and high. Noise
 * is a function of seed, judge, prompt, axis and the unordered pair of outputs; `draw` (the
 * request's seed, usually 0) makes repeats differ. */
enum vq_opinion vq_lexical_judge(struct vq_lexical *lexical, enum vq_judge_kind kind,
                                 const struct vq_sections *question, int64_t draw,
                                 struct vq_buf *analysis);

/* Measures a text; caches the result. */
void vq_lexical_measure(struct vq_lexical *lexical, struct vq_span text,
                        struct vq_measures *ret_measures);
/* The difference that the judge sees between two texts, in [-1, 1], before noise. */
double vq_lexical_difference(const struct vq_axis_weights *weights, const struct vq_measures *a,
                             const struct vq_measures *b);
uint64_t vq_lexical_seed(const struct vq_lexical *lexical);
