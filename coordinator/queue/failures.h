/* The failures of a run by kind, so that the end of the run can name the most frequent one. Pure:
 * (state, a call that ended) -> counts. */
#pragma once

#include "coordinator/queue/brake.h"

/* kinds that are counted separately; further kinds are counted together */
#define VQ_FAILURES_KINDS_MAX  32u
#define VQ_FAILURES_POOL_BYTES 64u

struct vq_failure {
    uint64_t count;
    uint8_t end;
    uint32_t http_status;
    char pool[VQ_FAILURES_POOL_BYTES];
    char way[VQ_BRAKE_WAY_BYTES];   /* the text, normalised */
    char text[VQ_BRAKE_TEXT_BYTES]; /* of the first failure */
};

/* All zero: no failure yet. */
struct vq_failures {
    struct vq_failure kinds[VQ_FAILURES_KINDS_MAX];
    uint32_t count;
    uint64_t others;
};

/* Answers, refusals for lack of capacity and unknown ends are not failures. */
void vq_failures_see(struct vq_failures *failures, const struct vq_result *result);

/* The most frequent kind; of equal ones, the earliest; NULL: none. */
const struct vq_failure *vq_failures_most(const struct vq_failures *failures);

/* "27 calls of pool P failed with HTTP status 400: TEXT. HINT." Empty if there is no failure. */
void vq_failures_text(const struct vq_failures *failures, char *ret_text, size_t cap);
