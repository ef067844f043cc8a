/* The subject's lines that show no trait, and what is known of a sentence by its words (lines.def).
 * Pure. */
#pragma once

#include "offline/persona/sentence.h"

enum vq_said {
    VQ_SAID_NEUTRAL,
    VQ_SAID_BREAK,
    VQ_SAID_REFUSAL,
    VQ_SAID_OUTSIDE,
    VQ_SAID_NOT_WILLING,
    VQ_SAID_EXCUSED,
    VQ_SAID_UNSAFE,
    VQ_SAID_HARMLESS
};

/* By index; NULL past the last of its kind. */
const char *vq_line_at(enum vq_said kind, size_t index);
/* By a number that is drawn elsewhere: numbers that follow one another give different lines until
 * all were given. */
const char *vq_line_pick(enum vq_said kind, uint64_t number);

/* Of being a language model, of instructions, of a role as a role. */
bool vq_sentence_is_outside(const struct vq_sentence *sentence);
/* The speaker says that he will not, cannot or may not. */
bool vq_sentence_is_refusal(const struct vq_sentence *sentence);

enum vq_risk {
    VQ_RISK_NONE,
    VQ_RISK_LOOKS_SO, /* a word of danger, in a setting that takes it away */
    VQ_RISK_UNSAFE
};
enum vq_risk vq_risk_of(struct vq_span query);
