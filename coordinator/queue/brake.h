/* The brake of one judge on one pool: it is pulled if the first calls all failed the same way and
 * none was answered. Then the rest would fail like them, and each call may cost money. Pure:
 * (state, a call that ended) -> whether this call pulls the brake. */
#pragma once

#include "common/judge/verdict.h"
#include "proto/messages.h"

#define VQ_BRAKE_ROWS       3u   /* failures of this number of different rows are needed */
#define VQ_BRAKE_WAY_BYTES  192u /* bytes of an error's normalised text that are compared */
#define VQ_BRAKE_TEXT_BYTES 256u /* bytes of an error's text that are stored for people */

struct vq_brake_call { /* a call whose end is committed */
    enum vq_call_end end;
    enum vq_outcome outcome;
    bool final; /* no more results follow for its task under its lease */
    uint32_t row;
    uint32_t http_status; /* 0: none */
    struct vq_span error;
};

/* All zero: no call yet. */
struct vq_brake {
    bool answered; /* one call was answered: the brake is never pulled */
    bool pulled;
    uint32_t failures; /* in a row, all alike */
    uint32_t rows[VQ_BRAKE_ROWS];
    uint32_t rows_count;
    uint8_t end, outcome; /* how they are alike: the end, the outcome read in the answer, ... */
    uint32_t http_status;
    char way[VQ_BRAKE_WAY_BYTES];   /* ... and the text, normalised */
    char text[VQ_BRAKE_TEXT_BYTES]; /* of the first one, for people */
};

/* An error's text without the parts that differ from call to call: lower case, one "#" for each
 * word with a digit (request ids, counts), one blank for any other characters. Cut to fit. */
void vq_brake_normalise(struct vq_span text, char ret_way[VQ_BRAKE_WAY_BYTES]);

/* Counts a call of this judge on this pool. Returns true for the call that pulls the brake, so at
 * most once. `calls` failures are needed; 0: never. */
bool vq_brake_see(struct vq_brake *brake, uint32_t calls, const struct vq_brake_call *call);

/* Counts a call of an earlier process of the run, but never pulls the brake: the person may have
 * restarted the run after a repair, and the next call shows whether it helped. */
void vq_brake_recall(struct vq_brake *brake, uint32_t calls, const struct vq_brake_call *call);

/* The row is one of the first VQ_BRAKE_ROWS failed rows. */
bool vq_brake_saw(const struct vq_brake *brake, uint32_t row);

/* The call failed like those that pulled the brake: it was in flight at that time. */
bool vq_brake_alike(const struct vq_brake *brake, const struct vq_brake_call *call);

/* All calls so far failed the same way, and either at once or after they were charged. The judge
 * then gets one call at a time on this pool, until the brake is pulled or twice `calls` failed. */
bool vq_brake_suspects(const struct vq_brake *brake, uint32_t calls);
