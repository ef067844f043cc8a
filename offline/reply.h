/* What the server sends back for one request, and what its log says of it. */
#pragma once

#include "common/base/buf.h"
#include "offline/chat.h"
#include "offline/faults/limiter.h"
#include "offline/faults/rules.h"

#define VQ_REPLY_HEADERS_MAX 20
#define VQ_REPLY_BYTES_MAX   (512u << 20) /* the results of a batch */

struct vq_offline_reply_header {
    char name[64];
    char value[112];
};

struct vq_offline_reply {
    enum vq_dialect dialect;    /* of errors */
    int64_t error_wait_ms;      /* for errors that say in the body how long to wait; -1 */
    const char *error_quota;    /* the quota that a 429 of Gemini names; NULL: none */
    uint64_t error_quota_value; /* 0: none */
    uint64_t n;                 /* number of the request in the log; 0: not a call, not logged */
    bool is_of_batches;         /* the call manages files or batches, and asks no model */
    unsigned status;
    const char *content_type; /* static text */
    struct vq_buf body;       /* owned */
    struct vq_offline_reply_header headers[VQ_REPLY_HEADERS_MAX];
    size_t headers_n;

    enum vq_fault fault;
    uint64_t fault_bytes;
    int64_t fault_interval_ms;

    int64_t delay_ns; /* from receiving to answering */
    bool paid;
    const char *outcome;           /* "ok", "refused", "truncated", "error" ...; static text */
    const char *verdict;           /* static text or NULL */
    char tier[VQ_CHAT_TIER_BYTES]; /* that served; empty: none */
    uint64_t prompt_tokens;
    uint64_t completion_tokens;

    struct vq_limiter *limiter; /* of `hold` */
    struct vq_limit_hold hold;  /* given back when the request is answered */
    uint64_t counted_out;       /* output tokens that the limits were charged with, in the end */
};

void vq_offline_reply_init(struct vq_offline_reply *reply);
void vq_offline_reply_free(struct vq_offline_reply *reply);
/* Headers beyond the limit are dropped: the set is our own and fits. */
void vq_offline_reply_header(struct vq_offline_reply *reply, const char *name, const char *fmt, ...)
    VQ_PRINTF(3, 4);
/* An error as OpenAI calls it, as body in the reply's dialect, which may change the status too. */
void vq_offline_reply_error(struct vq_offline_reply *reply, unsigned status, const char *message,
                            const char *type, const char *code);
