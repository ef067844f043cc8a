/* A SPEC message, decoded, checked and owned: judges, pools, axes, parsed templates, and one asker
 * per judge. */
#pragma once

#include "common/judge/chain.h"
#include "common/judge/template.h"
#include "proto/limits.h"
#include "proto/wire.h"
#include "worker/core/reserve.h"

/* A judge, as the worker calls it. The spec owns the strings; they are NUL-terminated. */
struct vq_work_judge {
    struct vq_judge judge;
    uint32_t tries_max;
    uint32_t *pools; /* the pools that may answer; owned by the spec, at least one */
    uint32_t pools_count;
    struct vq_asker asker;
};

/* A pool, as the worker calls it. */
struct vq_work_endpoint {
    const char *name; /* the pool's name */
    const char *dialect, *base_url, *model;
    const char *max_tokens_field;       /* "": the judge's */
    const char *keys[VQ_WIRE_KEYS_MAX]; /* "env:NAME" or "file:PATH": hints */
    uint32_t keys_count;                /* 0: no key is sent */
    bool allow_http;
    bool refuses_temperature, refuses_seed;
    struct vq_price price; /* zero: not known */
    uint32_t window_ms;
    uint32_t connect_timeout_ms, first_byte_timeout_ms, total_timeout_ms;
    const char *service_tier; /* that requests name; "": none */
    double tier_price;        /* factor of `price` */
    uint32_t tier_tries;      /* refusals by the tier until a call goes to the ordinary tier */
    uint32_t batch_calls;     /* the most in one batch; 0: not a batch pool */
    uint64_t batch_bytes;     /* the most in its document */
    uint32_t batch_wait_ms, batch_poll_ms;
};

struct vq_work_spec {
    struct vq_hash hash;
    enum vq_stage_kind kind;
    uint32_t stage;
    struct vq_template *ranker; /* the question: judge, preference, or the text as it is */
    struct vq_template *repair; /* NULL: repair off */
    bool truncate;
    bool lazy_swap;
    enum vq_prefix_cache prefix_cache;
    bool context_strict;
    struct vq_axis *axes;
    uint32_t axes_count;
    struct vq_work_judge *judges;
    uint32_t judges_count;
    struct vq_work_endpoint *pools;
    uint32_t pools_count;
    char **strings; /* owned; all strings of the spec point to these */
    size_t strings_count, strings_cap;
};

/* Decodes and checks the body of a SPEC message. VQ_INVALID, VQ_LIMIT, VQ_NOMEM; err names the
 * wrong part. Caller owns. */
enum vq_status vq_work_spec_create(struct vq_span body, const struct vq_hash *hash,
                                   struct vq_work_spec **ret_spec,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_work_spec_destroy(struct vq_work_spec **spec);
