/* A provider's limits as it keeps them: sliding windows of requests and tokens, calls at a time, a
 * ramp, days and money, for each account (given as a number). Pure: times are given. */
#pragma once

#include "offline/faults/limits.h"

struct vq_limiter;

enum vq_status vq_limiter_create(const struct vq_limits *limits,
                                 struct vq_limiter **ret_limiter) VQ_WARN_UNUSED;
void vq_limiter_destroy(struct vq_limiter **limiter);

struct vq_limit_call {
    uint64_t account;
    int64_t now_ns;  /* monotonic, never earlier than that of the call before */
    int64_t unix_ms; /* for days */
    bool pacific;    /* days end at midnight US Pacific */
    uint64_t input;  /* tokens, but for those read from a cache */
    uint64_t cached;
    uint64_t written;   /* of input: into a cache, a quarter dearer */
    bool counts_cached; /* against the limit of input */
    uint64_t output;    /* of the answer, which is known in advance */
    uint64_t output_max;
    /* it fails whatever the limits say: it counts as a request, and is never refused */
    bool is_failed;
};

/* An admitted call's share, to be given back with vq_limiter_done. */
struct vq_limit_hold {
    bool is_held;
    uint64_t account;
    uint64_t ticket;
    uint64_t asked_out;
    uint64_t settled_out;
    int64_t day_end_ms;
};

struct vq_admission {
    enum vq_limit_kind refused_by; /* VQ_LIMIT_NONE: admitted */
    int64_t wait_ns;               /* until it would be admitted if nothing else came; 0: unknown */
    bool never;                    /* this call alone is greater than the limit */
    uint64_t used;                 /* of what refused it, before this call; billionths of money */
    uint64_t asked;
    uint64_t asked_in; /* tokens that this call is charged with */
    uint64_t asked_out;
    uint64_t left[VQ_LIMIT_WINDOWED]; /* in the window, after this call */
    int64_t reset_ns;                 /* until the window is empty */
    struct vq_limit_hold hold;
};

/* Asks for one call. VQ_NOMEM, VQ_LIMIT (too many accounts, or calls in a window). */
enum vq_status vq_limiter_ask(struct vq_limiter *limiter, const struct vq_limit_call *call,
                              struct vq_admission *ret_admission) VQ_WARN_UNUSED;
/* The call is over: tokens that were reserved and not used are given back where they are settled.
 * Does nothing with a hold that is not held, and ends it. */
void vq_limiter_done(struct vq_limiter *limiter, struct vq_limit_hold *hold);
