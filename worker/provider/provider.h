/* A provider's dialect: a call as an HTTP request, and the meaning of a response or of a failed
 * exchange. Pure: the HTTP layer moves the bytes, and the worker's core acts on the class. One file
 * per dialect (openai.c, azure.c, anthropic.c, gemini.c). */
#pragma once

#include "common/judge/request.h"
#include "common/judge/verdict.h"
#include "common/net/transport.h"
#include "proto/messages.h"

#define VQ_REQUEST_BODY_BYTES_MAX  (64u << 20) /* a sample may grow sixfold by JSON escapes */
#define VQ_RESPONSE_BODY_BYTES_MAX (4u << 20)
#define VQ_EMBED_BODY_BYTES_MAX    (8u << 20) /* of a response with vectors */
/* longer waits are cut to this; then the call is retried */
#define VQ_RETRY_AFTER_MS_MAX      INT64_C(3600000)
#define VQ_REPLY_NAME_BYTES_MAX    128 /* model, finish reason, ... */
#define VQ_REPLY_MESSAGE_BYTES_MAX 512
#define VQ_REPLY_COST_USD_MAX      1e6 /* of one call; a larger value is not a price */

enum vq_reply_class {
#define VQ_REPLY_CLASS(name, end, pool) VQ_REPLY_##name,
#include "worker/provider/reply_class.def"
#undef VQ_REPLY_CLASS
    VQ_REPLY__COUNT
};

const char *vq_reply_class_name(enum vq_reply_class class); /* "RATE" */

/* The header values of one kind of limit; -1: not given. */
struct vq_ratelimit {
    int64_t limit;
    int64_t remaining;
    int64_t reset_ms;     /* from now */
    int64_t reset_unix_s; /* if the header is a date; a reply has it as reset_ms, too */
};
#define VQ_RATELIMIT_NONE ((struct vq_ratelimit){-1, -1, -1, -1})

/* The headers of a response that a dialect uses. They are added one header line at a time, so the
 * HTTP layer need not store them. No allocation. */
struct vq_reply_headers {
    int64_t retry_seconds_ms;  /* from Retry-After in seconds; -1 none */
    int64_t retry_ms;          /* from retry-after-ms; -1 none */
    int64_t retry_date_unix_s; /* from Retry-After as a date; -1 none */
    int64_t date_unix_s;       /* the server's own clock; -1 none */
    struct vq_ratelimit requests;
    struct vq_ratelimit tokens; /* input and output together */
    struct vq_ratelimit input_tokens;
    struct vq_ratelimit output_tokens;
    uint64_t organisation;                      /* hash of the billed organisation; 0: not named */
    double cost_usd;                            /* the charge of a gateway; 0: not given */
    char request_id[VQ_REPLY_NAME_BYTES_MAX];   /* the provider's id, for people; empty: none */
    char service_tier[VQ_REPLY_NAME_BYTES_MAX]; /* as in struct vq_reply */
};
void vq_reply_headers_init(struct vq_reply_headers *headers);
/* Adds one header; `name` is without the colon, in any case. Unknown and unreadable headers are
 * ignored. */
void vq_reply_headers_add(struct vq_reply_headers *headers, struct vq_span name,
                          struct vq_span value);

/* The wait that the headers ask for, at most VQ_RETRY_AFTER_MS_MAX; -1: not given. retry-after-ms
 * comes before Retry-After. A date is relative to the response's own Date, or else to `now_unix_s`;
 * a past one gives 0. */
int64_t vq_retry_after_ms(const struct vq_reply_headers *headers, int64_t now_unix_s);

/* The result of one exchange. Owns `content`; everything else is inside the struct. Strings are
 * NUL-terminated UTF-8 without control characters, cut to fit. Token counts are -1 if the provider
 * did not report them. */
struct vq_reply {
    enum vq_reply_class class;
    enum vq_transport transport;
    int status;            /* HTTP; 0: no response */
    bool maybe_billed;     /* no answer came, but the request may have been carried out */
    struct vq_buf content; /* the answer's text; empty: none */
    bool refusal;          /* refused or filtered by the provider; `content` has its text */
    char finish_reason[VQ_REPLY_NAME_BYTES_MAX];
    char model[VQ_REPLY_NAME_BYTES_MAX]; /* as returned */
    char system_fingerprint[VQ_REPLY_NAME_BYTES_MAX];
    /* as reported, in small letters and without a leading SERVICE_TIER_ */
    char service_tier[VQ_REPLY_NAME_BYTES_MAX];
    int64_t tokens_in;
    int64_t tokens_cached;             /* of tokens_in: read from a cache */
    int64_t tokens_uncounted;          /* of tokens_in: no rate limit counts them */
    int64_t tokens_cache_written;      /* of tokens_in: written to a cache, at a higher price */
    int64_t tokens_cache_written_long; /* of these: stored for an hour, at a still higher price */
    int64_t tokens_out;
    int64_t tokens_reasoning;  /* of tokens_out */
    double cost_usd;           /* the charge of a gateway; 0: not given */
    int64_t retry_after_ms;    /* -1: not given */
    bool parks;                /* retry_after_ms comes from the limit itself: wait for all of it */
    int64_t park_until_unix_s; /* when a daily or monthly quota is renewed; -1: none */
    uint32_t cap;              /* the most calls at a time, as a refusal named it; 0: none */
    uint64_t organisation;     /* as in the headers */
    struct vq_ratelimit requests;
    struct vq_ratelimit tokens; /* input and output together */
    struct vq_ratelimit input_tokens;
    struct vq_ratelimit output_tokens;
    char request_id[VQ_REPLY_NAME_BYTES_MAX];
    char label_logprobs[VQ_REPLY_NAME_BYTES_MAX]; /* "A=-0.1 B=-2.4": at the verdict's label */
    char error_type[VQ_REPLY_NAME_BYTES_MAX];
    char error_param[VQ_REPLY_NAME_BYTES_MAX]; /* the parameter that the error is about */
    uint32_t params_refused; /* enum vq_param: refused by the error, if the request had them */
    char error_code[VQ_REPLY_MESSAGE_BYTES_MAX]; /* some providers name several */
    /* A message for a person. For an answer: the reason why it cannot have a verdict; empty: it can
     * have one. */
    char error_message[VQ_REPLY_MESSAGE_BYTES_MAX];
};
void vq_reply_init(struct vq_reply *reply);
void vq_reply_free(struct vq_reply *reply); /* leaves it as after init */

/* The reply as the call record has it: how the call ended, and the new state of its pool. */
enum vq_call_end vq_reply_end(const struct vq_reply *reply);
enum vq_pool_state vq_reply_pool(const struct vq_reply *reply);
/* The limits per minute that the headers named. */
struct vq_rates vq_reply_rates(const struct vq_reply *reply);

/* Overwrites every occurrence of the key in the reply's texts with '*': some servers repeat it in
 * their errors. Call it before any part of the reply is stored, sent or logged. */
void vq_reply_hide(struct vq_reply *reply, struct vq_span key);

/* A whole response. Borrowed for the length of the call. */
struct vq_response {
    int status;
    const struct vq_reply_headers *headers;
    struct vq_span body;
    int64_t now_unix_s;
    const char *answer_field; /* the judge's; NULL or "": none */
};

struct vq_provider_header {
    const char *name;
    const char *value;
};

/* The kind of answer that a prompt asks for. A judge with `structured` sends the schema of this
 * kind, and one with `logprobs` asks for log-probabilities. */
enum vq_prompt_asks {
    VQ_PROMPT_ASKS_TEXT = 0,
    VQ_PROMPT_ASKS_VERDICT,
    VQ_PROMPT_ASKS_PREFERENCE
};

/* Of a dialogue: the length of the prompt's front that other calls of the run share. */
enum vq_prompt_front {
    VQ_PROMPT_FRONT_NONE = 0,
    VQ_PROMPT_FRONT_HISTORY, /* up to the current question */
    VQ_PROMPT_FRONT_ALL      /* the whole prompt: the next turn begins with it */
};

/* The texts of one call: a system part, the earlier messages of a dialogue (user and assistant in
 * turn, the user first), and the new user message. `shared_bytes`: the first bytes of `user` that,
 * after the same `system`, are the same in other calls of the run; 0: too few to matter. Dialects
 * that mark the part to be cached use it; the texts are the same for all dialects. */
struct vq_prompt {
    struct vq_span system;
    struct vq_span user;
    size_t shared_bytes;
    enum vq_prompt_asks asks;
    const struct vq_span *history;
    size_t history_count; /* even */
    enum vq_prompt_front front;
    /* common/judge/image.h; sent before `user`, in the same message. Empty: none */
    struct vq_span image;
    const char *service_tier; /* the tier to request; NULL or empty: no tier is named */
};

/* A dialect. Functions that write into a vq_buf clear it first; VQ_LIMIT: above the buffer's limit;
 * VQ_NOMEM. */
struct vq_provider {
    const char *dialect;     /* "openai", "azure", "anthropic", "gemini" */
    const char *auth_header; /* the HTTP layer adds "HEADER: PREFIXkey" */
    const char *auth_prefix;
    /* the same for every call; the header with the key comes on top */
    const struct vq_provider_header *headers;
    size_t headers_count;
    const char *call_id_header; /* carries the call id */

    /* The URL to POST to: `base_url` (with or without a slash at its end, with or without a query)
     * and the dialect's path, which may name the model. */
    enum vq_status (*url)(const struct vq_judge *judge, const char *base_url,
                          struct vq_buf *url) VQ_WARN_UNUSED;
    /* The JSON body: model, messages, and parameters. If `system` is empty, there is no system
     * message. The judge names the role of the system message if the dialect has two (fold.h: if it
     * has none). Bytes that are not UTF-8 are sent as U+FFFD. */
    enum vq_status (*body)(const struct vq_judge *judge, const struct vq_prompt *prompt,
                           struct vq_buf *body) VQ_WARN_UNUSED;
    /* Reads a response, which may be any bytes. Fills `reply`, which must be initialised; VQ_NOMEM
     * only. */
    enum vq_status (*read)(const struct vq_response *response,
                           struct vq_reply *reply) VQ_WARN_UNUSED;

    /* The same three functions for a batch of texts to embed; NULL if the dialect has no
     * embeddings. `texts` is a JSON array of at most VQ_EMBED_BATCH_MAX strings, else VQ_INVALID.
     * The reply's content is the packed vectors (common/judge/vectors.h) of `count` texts, in their
     * order; anything else from a server is a bad response. */
    enum vq_status (*embed_url)(const struct vq_judge *judge, const char *base_url,
                                struct vq_buf *url) VQ_WARN_UNUSED;
    enum vq_status (*embed_body)(const struct vq_judge *judge, struct vq_span texts,
                                 struct vq_buf *body, uint32_t *ret_count) VQ_WARN_UNUSED;
    enum vq_status (*embed_read)(const struct vq_response *response, uint32_t count,
                                 struct vq_reply *reply) VQ_WARN_UNUSED;
};

/* NULL: the dialect does not exist. */
const struct vq_provider *vq_provider_find(const char *dialect);

/* A failed exchange (not VQ_TRANSPORT_OK) as a reply. `sent`: request bytes may have reached the
 * server. */
void vq_reply_from_transport(enum vq_transport transport, bool sent, struct vq_reply *reply);
