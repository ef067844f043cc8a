/* The limits of a provider for one account: the numbers, and their text on the command line.
 * Pure. */
#pragma once

#include "common/base/status.h"

/* The limits that can refuse a call. The first four count over sliding windows. */
enum vq_limit_kind {
    VQ_LIMIT_NONE,
    VQ_LIMIT_REQUESTS,
    VQ_LIMIT_INPUT,
    VQ_LIMIT_OUTPUT,
    VQ_LIMIT_TOKENS,
    VQ_LIMIT_CONCURRENCY,
    VQ_LIMIT_RAMP,
    VQ_LIMIT_DAY_REQUESTS,
    VQ_LIMIT_DAY_TOKENS,
    VQ_LIMIT_MONEY,
    VQ_LIMIT__COUNT
};
#define VQ_LIMIT_WINDOWED 5 /* kinds below this one, from VQ_LIMIT_REQUESTS */

/* The output tokens that a call is charged for. */
enum vq_limit_count {
    VQ_LIMIT_COUNT_ACTUAL, /* those of its answer, when the call arrives */
    VQ_LIMIT_COUNT_MAX,    /* max_tokens; none are given back */
    VQ_LIMIT_COUNT_SETTLE  /* max_tokens until it is answered, then those of its answer */
};

struct vq_limits {
    uint64_t per_minute[VQ_LIMIT_WINDOWED]; /* by kind; 0: no limit, as everywhere in this struct */
    uint64_t per_window[VQ_LIMIT_WINDOWED]; /* per_minute * window_ns / 60 s, rounded down */
    int64_t window_ns;                      /* default 60 s */
    uint64_t concurrency;                   /* calls at a time */
    uint64_t day_requests;
    uint64_t day_tokens;
    int64_t day_ms; /* days end at multiples of it; 0: at midnight, of US Pacific for gemini */
    uint64_t ramp_percent; /* a window may have this percentage more requests than the last one */
    uint64_t ramp_floor;   /* per minute; always allowed */
    uint64_t ramp_free;    /* the floor in a ramp window */
    int64_t ramp_ns;       /* the ramp's window; default window_ns */
    uint64_t nano_usd;     /* the sum of all calls */
    uint64_t nano_usd_in;  /* per token */
    uint64_t nano_usd_cached;
    uint64_t nano_usd_out;
    enum vq_limit_count count;
    bool per_key;
    bool per_model;
    bool count_refused; /* refused calls count as requests, too */
    bool count_failed;  /* calls that faults made fail count as requests, too */
    bool headers;       /* every answer has headers with the rest */
    /* the part of the true waiting time that is sent; 100 = right; -1 = none */
    int64_t hint_percent;
};

/* No limits; counted by key. */
void vq_limits_init(struct vq_limits *limits);
/* Sets one value: "rpm", "600". VQ_INVALID: the name or the value is not valid. */
enum vq_status vq_limits_set(struct vq_limits *limits, const char *name,
                             const char *value) VQ_WARN_UNUSED;
/* Computes the derived values; once, after all were set. VQ_INVALID with a sentence: a limit allows
 * less than one per window. */
enum vq_status vq_limits_finish(struct vq_limits *limits, struct vq_error *err) VQ_WARN_UNUSED;
bool vq_limits_any(const struct vq_limits *limits);

const char *vq_limit_name(enum vq_limit_kind kind); /* "requests" ...; "none" */
