/* The subject's lines that show no trait, and the classes of a sentence by its words (lines.def).
 * Pure. */
#pragma once

#include "offline/persona/sentence.h"

enum vq_line_kind {
    VQ_SAID_NEUTRAL,
    VQ_SAID_BREAK,
    VQ_SAID_REFUSAL,
    VQ_SAID_OUTSIDE,
    VQ_SAID_NOT_WILLING,
    VQ_SAID_EXCUSED,
    VQ_SAID_UNSAFE,
    VQ_SAID_HARMLESS
};

/* By index; NULL: after the last of its kind. */
const char *vq_line_at(enum vq_line_kind kind, size_t index);
/* By a drawn number: consecutive numbers give different lines until all lines were used. */
const char *vq_line_pick(enum vq_line_kind kind, uint64_t number);

/* About being a language model, about instructions, about a role as a role. */
bool vq_sentence_is_outside(const struct vq_sentence *sentence);
/* The speaker will not, cannot or may not. */
bool vq_sentence_is_refusal(const struct vq_sentence *sentence);

enum vq_risk {
    VQ_RISK_NONE,
    VQ_RISK_LOOKS_SO, /* a word of danger in a harmless setting */
    VQ_RISK_UNSAFE
};
enum vq_risk vq_risk_of(struct vq_span query);
