/* The limit of a pool that binds now, and whether the pool is slow: for status, metrics and the
 * alarm. Pure: (status of a pool, now) -> answer. */
#pragma once

#include "coordinator/pools/authority.h"

#define VQ_LIMITED_TEXT_BYTES 384u

enum vq_limited_by {
    VQ_LIMITED_BY_NOTHING, /* no work waits */
    VQ_LIMITED_BY_STATE,   /* it is paused, parked, closed ... */
    VQ_LIMITED_BY_REQUESTS,
    VQ_LIMITED_BY_INPUT,
    VQ_LIMITED_BY_OUTPUT,
    VQ_LIMITED_BY_TOKENS,
    VQ_LIMITED_BY_CONCURRENCY,
    VQ_LIMITED_BY_WORKERS, /* work waits, and no limit is reached */
    VQ_LIMITED_BY__COUNT
};

struct vq_limited {
    enum vq_limited_by by;
    enum vq_limit_source source; /* of a rate or of the concurrency */
    double limit;                /* in force: per minute, or calls in flight; 0: none */
    double configured;           /* of the same kind; 0: none */
    struct vq_authority_why why; /* of a learned limit; at_ns 0: not learned from a refusal */
};

/* A word without blanks, for a label. */
const char *vq_limited_word(enum vq_limited_by by);
struct vq_limited vq_limited_of(const struct vq_authority_pool_status *status);
/* "limited by requests a minute: 620, learned at 07:01 after 14 refusals at 620 a minute;
 * configured 3,600". `clock` is the time of day at why.at_ns. Cut at `bytes`. */
void vq_limited_text(const struct vq_limited *limited,
                     const struct vq_authority_pool_status *status, const char *clock,
                     char *ret_text, size_t bytes);

/* ---- a slow pool: work waits, the pool runs below a part of its configured rate, and refusals do
 * not explain it ---- */

struct vq_slow {
    int64_t since_ns; /* since when; 0: it is not slow */
    bool raised;
};

enum vq_slow_change {
    VQ_SLOW_SAME,
    VQ_SLOW_RAISED,
    VQ_SLOW_CLEARED
};

/* after_ns: how long it must be slow before it is raised; 0: never. */
enum vq_slow_change vq_slow_look(struct vq_slow *slow,
                                 const struct vq_authority_pool_status *status, int64_t after_ns,
                                 int64_t now_ns) VQ_WARN_UNUSED;
