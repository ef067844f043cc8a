/* Requests of the OpenAI-compatible chat: reading them, and writing the answers' bodies. No
 * sockets, no clock. */
#pragma once

#include "offline/judge/sections.h"
#include "offline/judge/wanted.h"

#define VQ_CHAT_MESSAGES_MAX 4096
#define VQ_CHAT_MODEL_BYTES  128
#define VQ_CHAT_TIER_BYTES   32

/* The prompt prefixes ("fronts") that a provider caches automatically: at least MIN tokens, in
 * steps of STEP, up to MAX steps. */
#define VQ_CHAT_FRONT_TOKENS_MIN 1024u
#define VQ_CHAT_FRONT_STEP       128u
#define VQ_CHAT_FRONTS_MAX       256u

/* The dialect of a request (dialect.h). */
enum vq_dialect {
    VQ_DIALECT_OPENAI = 0,
    VQ_DIALECT_AZURE,
    VQ_DIALECT_ANTHROPIC,
    VQ_DIALECT_GEMINI
};
struct vq_route;

struct vq_chat_request {
    enum vq_dialect dialect;
    void *tree;                      /* the parsed JSON; owns the texts below */
    char model[VQ_CHAT_MODEL_BYTES]; /* need not be an existing model */
    /* the user message that asks a known question, else the last one */
    struct vq_span question_text;
    struct vq_buf joined; /* has question_text if it came in parts */
    enum vq_wanted wanted;
    /* of JUDGEMENT, PREFERENCE and VERDICTS; without the axes of VERDICTS */
    struct vq_sections question;
    bool asks_for_tie; /* the instructions offer "tie" rather than "equal" */
    bool wants_json;
    bool wants_logprobs;
    char json_verdict[64]; /* property names of the requested JSON object */
    char json_analysis[64];
    uint64_t prompt_tokens;
    struct vq_chat_front {
        uint64_t hash, tokens;
        /* prefixes of the prompt that may be cached; the shortest first */
    } fronts[VQ_CHAT_FRONTS_MAX];
    size_t fronts_n;
    uint64_t cached_tokens;        /* set by the service */
    uint64_t cache_written_tokens; /* likewise; only in dialects where this has a price */
    uint64_t tokens_max;           /* 0: no limit */
    int64_t seed;                  /* 0: not given */
    char tier[VQ_CHAT_TIER_BYTES]; /* the requested service tier; empty: none */
};

/* VQ_INVALID with a sentence for the client. After VQ_OK free it with vq_chat_request_free. */
enum vq_status vq_chat_parse(struct vq_span body, const struct vq_route *route,
                             struct vq_chat_request *ret_request,
                             struct vq_error *err) VQ_WARN_UNUSED;
void vq_chat_request_free(struct vq_chat_request *request);

uint64_t vq_chat_tokens(uint64_t bytes); /* bytes / 4, rounded up */

struct vq_chat_answer {
    const char *id;
    const char *model;
    const char *fingerprint; /* system_fingerprint */
    struct vq_span content;
    bool content_is_null;
    const char *refusal; /* NULL: none */
    const char *finish_reason;
    const char *tier; /* the tier that served the request */
    int64_t created_s;
    uint64_t prompt_tokens;
    uint64_t cache_read_tokens; /* of prompt_tokens */
    uint64_t cache_written_tokens;
    uint64_t completion_tokens;
    bool with_usage;
    bool with_logprobs;
};

/* The tier that serves a request: the requested one if that is flex or priority, else the ordinary
 * tier of its dialect. */
const char *vq_chat_tier(const struct vq_chat_request *request);

/* In OpenAI's shape; the others are in dialect.h. */
void vq_chat_write(struct vq_buf *body, const struct vq_chat_answer *answer);
/* {"error":{"message","type","param","code"}} */
void vq_chat_write_error(struct vq_buf *body, const char *message, const char *type,
                         const char *code);
