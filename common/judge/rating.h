/* What a rubric judge's answer says: a rating from 1 to 5, yes or no, or which of two responses is
 * better. The answer is asked to end with a line `**Result:** VALUE` after its `**Reasoning:**`. A
 * reply that gives no value is no rating, never a guess, but for the policy that repeats what the
 * paper's code did. Sources: Luz de Araujo et al. 2025 (arXiv 2512.12775), sections A and 5 of the
 * method's page; what `strict` demands is our own. */
#pragma once

#include "common/base/buf.h"

enum vq_rating_kind {
    VQ_RATING_LIKERT,  /* 1 to 5 */
    VQ_RATING_BINARY,  /* 1 yes, 0 no */
    VQ_RATING_PAIRWISE /* 0 the response shown first (A), 1 the second (B) */
};
#define VQ_RATING_LIKERT_MIN 1
#define VQ_RATING_LIKERT_MAX 5

enum vq_rating_policy {
    /* The value is a whole word and the only one that stands behind `Result`, in its range;
     * thinking blocks say nothing. */
    VQ_RATING_STRICT,
    /* As the paper's code read it: the first `**Result:**` anywhere, a prefix is enough, no range;
     * for the three criteria of a dialogue `score of N` stands in for it; a pairwise answer without
     * a result is drawn from the seed. */
    VQ_RATING_PAPER
};

enum vq_rating_status { /* counted beside every rate */
    VQ_RATING_OK,
    VQ_RATING_FALLBACK,     /* paper: the value stands in the text (`score of N`) */
    VQ_RATING_OUT_OF_RANGE, /* a number, but none from 1 to 5. paper: it counts all the same */
    VQ_RATING_AMBIGUOUS,    /* it speaks of several values, or takes back the one that it states */
    VQ_RATING_MISSING,      /* it states none. paper, pairwise: the value was drawn */
    VQ_RATING_TRUNCATED,    /* it states none, since it was cut off */
    VQ_RATING_REFUSED,      /* the provider marked the answer as refused or filtered */
    VQ_RATING__COUNT
};
/* "ok", "fallback", "out_of_range", "ambiguous", "missing", "truncated", "refused"; "?" for another
 * number. */
const char *vq_rating_status_name(enum vq_rating_status status);

struct vq_rating {
    enum vq_rating_status status;
    bool has_value; /* it counts. strict: only with OK */
    int64_t value;
    /* in the answer: between `Reasoning:` and the result, or all before it; trimmed */
    struct vq_span reasoning;
};

struct vq_rating_reader {
    enum vq_rating_kind kind;
    enum vq_rating_policy policy;
    /* paper, Likert: `score of N` is a fallback (the three criteria of a dialogue) */
    bool score_of;
    uint64_t seed; /* paper, pairwise: of the draw for an answer without a result */
};

/* Reads any bytes and never fails. `finish_reason` and `refusal` as the provider gave them. Linear
 * in the answer. */
void vq_rating_read(const struct vq_rating_reader *reader, struct vq_span answer,
                    struct vq_span finish_reason, bool refusal, struct vq_rating *ret_rating);
