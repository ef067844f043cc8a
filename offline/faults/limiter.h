/* A provider's rate limit, as a sliding window: requests, tokens and calls at a time, each for a
 * pool (a key, a model, or both). Pure: `now_ns` is monotonic and given. */
#ifndef VQ_OFFLINE_FAULTS_LIMITER_H
#define VQ_OFFLINE_FAULTS_LIMITER_H

#include "common/base/status.h"

struct vq_limits {
    uint64_t requests;    /* a window; 0 = no limit, as everywhere here */
    uint64_t tokens;      /* a window: prompt and most that may be answered */
    uint64_t concurrency; /* calls at a time */
    int64_t window_ns;    /* 60 s unless told */
    bool per_key;
    bool per_model;
    bool count_refused;   /* refused requests use up the window too */
    int64_t hint_percent; /* of the true waiting time is told; 100 = right; -1 = none is told */
};

/* "rpm=60,tpm=9000,concurrency=4,window_ms=1000,per=key|model|both|all,count_refused=1,
 * hint=right|absent|PERCENT" */
enum vq_status vq_limits_parse(const char *text, struct vq_limits *ret_limits,
                               struct vq_error *err) VQ_WARN_UNUSED;
bool vq_limits_any(const struct vq_limits *limits);

enum vq_limit_kind {
    VQ_LIMIT_NONE,
    VQ_LIMIT_REQUESTS,
    VQ_LIMIT_TOKENS,
    VQ_LIMIT_CONCURRENCY
};

struct vq_admission {
    enum vq_limit_kind refused_by; /* VQ_LIMIT_NONE: admitted */
    int64_t wait_ns;               /* until it would be admitted; 0 when unknown (concurrency) */
    bool never;                    /* this request alone is greater than the limit */
    uint64_t requests_left;
    uint64_t tokens_left;
    int64_t reset_ns; /* until the window is empty */
};

struct vq_limiter;

enum vq_status vq_limiter_create(const struct vq_limits *limits,
                                 struct vq_limiter **ret_limiter) VQ_WARN_UNUSED;
void vq_limiter_destroy(struct vq_limiter **limiter);

/* Asks for one request of `tokens` in a pool (a number that stands for it). An admitted one must be
 * given back with vq_limiter_done. VQ_NOMEM, VQ_LIMIT (too many pools). */
enum vq_status vq_limiter_ask(struct vq_limiter *limiter, uint64_t pool, uint64_t tokens,
                              int64_t now_ns, struct vq_admission *ret_admission) VQ_WARN_UNUSED;
void vq_limiter_done(struct vq_limiter *limiter, uint64_t pool);

#endif
