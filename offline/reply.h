/* The server's reply to one request, and its data for the log. */
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
    int64_t error_wait_ms;      /* for errors with the wait in the body; -1: none */
    const char *error_quota;    /* the quota that a 429 of Gemini names; NULL: none */
    uint64_t error_quota_value; /* 0: none */
    uint64_t n;                 /* number of the request in the log; 0: not a call, so not logged */
    bool is_of_batches;         /* the call manages files or batches, and needs no model */
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
    char tier[VQ_CHAT_TIER_BYTES]; /* the tier that served; empty: none */
    uint64_t prompt_tokens;
    uint64_t completion_tokens;

    struct vq_limiter *limiter; /* of `hold` */
    struct vq_limit_hold hold;  /* released when the request is answered */
    uint64_t counted_out;       /* output tokens that the limits finally counted */
};

void vq_offline_reply_init(struct vq_offline_reply *reply);
void vq_offline_reply_free(struct vq_offline_reply *reply);
/* Headers beyond the limit are dropped. The server's own headers fit. */
void vq_offline_reply_header(struct vq_offline_reply *reply, const char *name, const char *fmt, ...)
    VQ_PRINTF(3, 4);
/* Writes an error as OpenAI has it as a body in the reply's dialect, which may also change the
 * status. */
void vq_offline_reply_error(struct vq_offline_reply *reply, unsigned status, const char *message,
                            const char *type, const char *code);
