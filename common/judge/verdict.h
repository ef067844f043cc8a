/* Reads answers. A verdict names a position ("Output A": shown first), not a model. A failure is
 * never a vote. Coordinator and worker share this code. Redis and the ledger store the numbers of
 * `enum vq_outcome`: never renumber. */
#pragma once

#include "common/base/buf.h"
#include "common/judge/stage.h"

enum vq_outcome {
    VQ_OUTCOME_NONE = 0, /* open: no answer and no failure yet */
    /* answered: a vote */
    VQ_OUTCOME_FIRST = 1,  /* the output shown first is higher ("A") */
    VQ_OUTCOME_SECOND = 2, /* the output shown second is higher ("B") */
    VQ_OUTCOME_EQUAL = 3,
    VQ_OUTCOME_NA = 4,
    VQ_OUTCOME_UNSURE = 5,
    /* answered as requested, but not a vote: a text or vectors. Settles no score */
    VQ_OUTCOME_TEXT = 8,
    /* answered: a rating by a rubric. Of two responses, the better one is FIRST or SECOND */
    VQ_OUTCOME_RATED_1 = 9,
    VQ_OUTCOME_RATED_2 = 10,
    VQ_OUTCOME_RATED_3 = 11,
    VQ_OUTCOME_RATED_4 = 12,
    VQ_OUTCOME_RATED_5 = 13,
    VQ_OUTCOME_YES = 14,
    VQ_OUTCOME_NO = 15,
    /* answered, but not a vote: stored, and not bought again unless requested */
    VQ_OUTCOME_REFUSED = 16,
    VQ_OUTCOME_TRUNCATED = 17,   /* cut, or an unknown finish reason */
    VQ_OUTCOME_UNPARSEABLE = 18, /* also after a repair */
    VQ_OUTCOME_EMPTY = 19,       /* no text, or only thinking: a repair is impossible */
    /* settled without an answer */
    VQ_OUTCOME_NOT_NEEDED = 32,
    VQ_OUTCOME_BLOCKED = 33,
    /* failed, with a reason */
    /* the provider reported an error that a retry does not change (400) */
    VQ_OUTCOME_ERROR = 48,
    VQ_OUTCOME_TOO_LONG = 49,     /* too long for the model */
    VQ_OUTCOME_UNAVAILABLE = 50,  /* tries used up on 5xx, timeouts, resets */
    VQ_OUTCOME_BAD_RESPONSE = 51, /* tries used up on responses that are not answers */
    VQ_OUTCOME_WORKER_LOST = 52,  /* four workers were lost while they held it */
};

static inline bool vq_outcome_is_vote(enum vq_outcome o)
{
    return o >= VQ_OUTCOME_FIRST && o <= VQ_OUTCOME_UNSURE;
}

/* Whether it is equal, N/A or unsure. Under the strict rule such a verdict settles the score,
 * whatever the other order's verdict is. */
static inline bool vq_outcome_settles(enum vq_outcome o)
{
    return o >= VQ_OUTCOME_EQUAL && o <= VQ_OUTCOME_UNSURE;
}

static inline bool vq_outcome_is_rating(enum vq_outcome o)
{
    return o >= VQ_OUTCOME_RATED_1 && o <= VQ_OUTCOME_NO;
}

/* Whether it is a vote, a rating, a text or vectors, as requested. The task is not asked again. */
static inline bool vq_outcome_is_good(enum vq_outcome o)
{
    return vq_outcome_is_vote(o) || vq_outcome_is_rating(o) || o == VQ_OUTCOME_TEXT;
}

static inline bool vq_outcome_is_answered(enum vq_outcome o)
{
    return vq_outcome_is_good(o) || (o >= VQ_OUTCOME_REFUSED && o <= VQ_OUTCOME_EMPTY);
}

static inline bool vq_outcome_is_failed(enum vq_outcome o)
{
    return o >= VQ_OUTCOME_ERROR && o <= VQ_OUTCOME_WORKER_LOST;
}

/* Sets of failures, one bit each. */
#define VQ_FAILURES_ALL 0x1fu
static inline uint32_t vq_outcome_failure_bit(enum vq_outcome o) /* 0: no failure */
{
    return vq_outcome_is_failed(o) ? 1u << ((uint32_t)o - (uint32_t)VQ_OUTCOME_ERROR) : 0;
}

static inline bool vq_outcome_is_terminal(enum vq_outcome o)
{
    return o != VQ_OUTCOME_NONE;
}

/* "A", "B", "equal", "N/A", "unsure", "1" to "5", "yes", "no", "refused", ...; "open" for none; "?"
 * for an unknown byte. */
const char *vq_outcome_name(enum vq_outcome outcome);

#define VQ_ANSWER_BYTES_MAX (1u << 20)

/* Reads the verdict of a ranker's answer, by the table of docs/method/verdicts.md. `finish_reason`:
 * as the provider reported, may be empty. `refusal`: the provider marked the answer as a refusal or
 * filtered it. Reads any bytes; an unreadable answer is UNPARSEABLE. Returns FIRST..UNSURE,
 * REFUSED, TRUNCATED, UNPARSEABLE or EMPTY; NONE: no memory, so the answer was not read. */
enum vq_outcome vq_verdict_ranker(struct vq_span answer, struct vq_span finish_reason,
                                  bool refusal);
/* The same for the answer to preference.txt, whose labels are A, B and tie: EQUAL for a tie. There
 * is no N/A and no unsure. Returns FIRST, SECOND, EQUAL, REFUSED, TRUNCATED, UNPARSEABLE or EMPTY;
 * NONE as above. */
enum vq_outcome vq_verdict_preference(struct vq_span answer, struct vq_span finish_reason,
                                      bool refusal);
/* The one reader of raw answers, for every kind of stage. RANK, PREFER: as above. TEXT, CHAT,
 * PROBE: TEXT if the answer is not blank, whatever its ending; else REFUSED, UNPARSEABLE. EMBED:
 * TEXT for packed vectors (vectors.h), UNPARSEABLE. LIKERT, BINARY, PAIRWISE: under the strict
 * policy (rating.h): RATED_1 to RATED_5; YES, NO; FIRST, SECOND; else REFUSED, TRUNCATED,
 * UNPARSEABLE, EMPTY. NONE: no memory. */
enum vq_outcome vq_verdict_of(enum vq_stage_kind kind, struct vq_span answer,
                              struct vq_span finish_reason, bool refusal);
