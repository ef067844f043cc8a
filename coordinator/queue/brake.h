/* The brake of one judge on one pool: the first calls all failed the same way, and none was
 * answered. Then the rest would fail like them, and each one may cost money. Pure: (state, a call
 * that ended) -> whether the brake is pulled by it. */
#pragma once

#include "common/judge/verdict.h"
#include "proto/messages.h"

#define VQ_BRAKE_ROWS       3u   /* failures of this number of different rows are needed */
#define VQ_BRAKE_WAY_BYTES  192u /* of an error's text, normalised, that are compared */
#define VQ_BRAKE_TEXT_BYTES 256u /* of an error's text that are kept for people */

struct vq_brake_call { /* a call whose end is committed */
    enum vq_call_end end;
    enum vq_outcome outcome;
    bool final; /* nothing more comes for its task from its lease */
    uint32_t row;
    uint32_t http_status; /* 0: none */
    struct vq_span error;
};

/* All zero: nothing was seen yet. */
struct vq_brake {
    bool answered; /* it answered once: it is never pulled */
    bool pulled;
    uint32_t failures; /* in a row, all the same way */
    uint32_t rows[VQ_BRAKE_ROWS];
    uint32_t rows_count;
    uint8_t end, outcome; /* the way: how they ended, what was read in an answer, ... */
    uint32_t http_status;
    char way[VQ_BRAKE_WAY_BYTES];   /* ... and the text, normalised */
    char text[VQ_BRAKE_TEXT_BYTES]; /* of the first one, for people */
};

/* An error's text without what differs from call to call: small letters, one "#" for each word with
 * a digit in it (request ids, counts), one blank for any others. Cut to fit. */
void vq_brake_normalise(struct vq_span text, char ret_way[VQ_BRAKE_WAY_BYTES]);

/* A call of this judge on this pool. true: it is the one that pulls the brake; so at most once.
 * `calls` failures are needed; 0: never. */
bool vq_brake_see(struct vq_brake *brake, uint32_t calls, const struct vq_brake_call *call);

/* A call of an earlier process of the run. It counts as any, but never pulls the brake: the run was
 * started again to find out whether that has been put right, which the next call shows. */
void vq_brake_recall(struct vq_brake *brake, uint32_t calls, const struct vq_brake_call *call);

/* The row is one of those that failed so far, of the first VQ_BRAKE_ROWS. */
bool vq_brake_saw(const struct vq_brake *brake, uint32_t row);

/* The call failed as those did that pulled the brake: it was on its way then. */
bool vq_brake_alike(const struct vq_brake *brake, const struct vq_brake_call *call);

/* All that came so far failed the same way, and at once or for money: it is tried with one call at
 * a time until the brake is pulled, or twice `calls` failed. */
bool vq_brake_suspects(const struct vq_brake *brake, uint32_t calls);
