/* Reads the answer of a rubric judge: a rating from 1 to 5, yes or no, or the better of two
 * responses. The template asks for a line `**Result:** VALUE` after the `**Reasoning:**`. An answer
 * without a value gives no rating; only the paper's policy guesses, as the paper's code did.
 * Sources: Luz de Araujo et al. 2025 (arXiv 2512.12775), sections A and 5 of the method's page; the
 * rules of `strict` are vibeq's own. */
#pragma once

#include "common/base/buf.h"

enum vq_rating_kind {
    VQ_RATING_LIKERT,  /* 1 to 5 */
    VQ_RATING_BINARY,  /* 1 yes, 0 no */
    VQ_RATING_PAIRWISE /* 0: the response shown first (A), 1: the second (B) */
};
#define VQ_RATING_LIKERT_MIN 1
#define VQ_RATING_LIKERT_MAX 5

enum vq_rating_policy {
    /* The value is a whole word in its range, and the only value after `Result`; thinking blocks
     * are ignored. */
    VQ_RATING_STRICT,
    /* As in the paper's code: the first `**Result:**` anywhere counts, a prefix is enough, and the
     * range is not checked. For the three criteria of a dialogue, `score of N` counts if there is
     * no result. A pairwise answer without a result is drawn from the seed. */
    VQ_RATING_PAPER
};

enum vq_rating_status { /* every rate is reported with these counts */
    VQ_RATING_OK,
    VQ_RATING_FALLBACK,     /* paper: the value is in the text (`score of N`) */
    VQ_RATING_OUT_OF_RANGE, /* a number that is not 1 to 5; under paper it counts */
    VQ_RATING_AMBIGUOUS,    /* several values, or a value that the answer revokes */
    VQ_RATING_MISSING,      /* no value; under paper, a pairwise value is drawn */
    VQ_RATING_TRUNCATED,    /* no value, because the answer was cut */
    VQ_RATING_REFUSED,      /* the provider marked the answer as refused or filtered */
    VQ_RATING__COUNT
};
/* "ok", "fallback", "out_of_range", "ambiguous", "missing", "truncated", "refused"; "?": another
 * number. */
const char *vq_rating_status_name(enum vq_rating_status status);

struct vq_rating {
    enum vq_rating_status status;
    bool has_value; /* the rating counts; under strict only with OK */
    int64_t value;
    /* a part of the answer: from `Reasoning:` to the result, or all text before the result;
     * trimmed */
    struct vq_span reasoning;
};

struct vq_rating_reader {
    enum vq_rating_kind kind;
    enum vq_rating_policy policy;
    /* paper, Likert: `score of N` is a fallback (the three criteria of a dialogue) */
    bool score_of;
    uint64_t seed; /* paper, pairwise: draws the value of an answer without a result */
};

/* Reads any bytes and never fails. `finish_reason` and `refusal`: as the provider reported. Linear
 * in the answer. */
void vq_rating_read(const struct vq_rating_reader *reader, struct vq_span answer,
                    struct vq_span finish_reason, bool refusal, struct vq_rating *ret_rating);
