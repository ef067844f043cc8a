/* A provider's limits: sliding windows of requests and tokens, concurrent calls, a ramp, days and
 * money, for each account (a number). Pure: times are arguments. */
#pragma once

#include "offline/faults/limits.h"

struct vq_limiter;

enum vq_status vq_limiter_create(const struct vq_limits *limits,
                                 struct vq_limiter **ret_limiter) VQ_WARN_UNUSED;
void vq_limiter_destroy(struct vq_limiter **limiter);

struct vq_limit_call {
    uint64_t account;
    int64_t now_ns;  /* monotonic, never earlier than at the last call */
    int64_t unix_ms; /* for days */
    bool pacific;    /* days end at midnight US Pacific */
    uint64_t input;  /* tokens, except those read from a cache */
    uint64_t cached;
    uint64_t written;   /* of input: written to a cache, at 1.25 times the price */
    bool counts_cached; /* against the limit of input */
    uint64_t output;    /* of the answer, known in advance */
    uint64_t output_max;
    /* it fails independently of the limits: it counts as a request, and is never refused */
    bool is_failed;
};

/* The share of an admitted call; release it with vq_limiter_done. */
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
    /* until it would be admitted if no other call came; 0: unknown */
    int64_t wait_ns;
    bool never; /* this call alone exceeds the limit */
    /* of the limit that refused it, before this call; money in billionths of a dollar */
    uint64_t used;
    uint64_t asked;
    uint64_t asked_in; /* tokens that this call is charged for */
    uint64_t asked_out;
    uint64_t left[VQ_LIMIT_WINDOWED]; /* in the window, after this call */
    int64_t reset_ns;                 /* until the window is empty */
    struct vq_limit_hold hold;
};

/* Requests admission for one call. VQ_NOMEM, VQ_LIMIT (too many accounts, or calls in a window). */
enum vq_status vq_limiter_ask(struct vq_limiter *limiter, const struct vq_limit_call *call,
                              struct vq_admission *ret_admission) VQ_WARN_UNUSED;
/* The call is over: if tokens are settled, unused reserved tokens are released. Ends the hold; a
 * hold that is not held changes nothing. */
void vq_limiter_done(struct vq_limiter *limiter, struct vq_limit_hold *hold);
