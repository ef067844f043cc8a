/* The dialects of providers' chats: paths, place of the key, requests, answers, errors. Their
 * content is the same: a request is turned into the tree of an OpenAI chat, and read as one. No
 * sockets, no clock. */
#pragma once

#include "offline/chat.h"

const char *vq_dialect_name(enum vq_dialect dialect); /* "openai" ... */

/* What a path asks for. */
enum vq_route_kind {
    VQ_ROUTE_NONE, /* nothing that is posted to */
    VQ_ROUTE_CHAT,
    VQ_ROUTE_EMBED,
    VQ_ROUTE_BATCH /* batches and their files, with any method */
};

struct vq_route {
    enum vq_route_kind kind;
    enum vq_dialect dialect;
    char model[VQ_CHAT_MODEL_BYTES]; /* where the path names it; else empty */
    bool needs_version;              /* ?api-version= */
};

/* /v1/chat/completions, /v1/embeddings; the same under /openai/v1 and /openai/deployments/MODEL;
 * /v1/messages; /v1beta/models/MODEL:generateContent and :batchEmbedContents; and those of batches.
 * `path` without query, percent-decoded. */
void vq_route_of(const char *path, struct vq_route *ret_route);
/* "Authorization", "x-api-key" ...; *ret_prefix is what stands before the key ("" or "Bearer "). */
const char *vq_route_key_header(const struct vq_route *route, const char **ret_prefix);

/* The parsed body as that of an OpenAI chat: takes `tree` (a json_t object) and gives the one to
 * read, both of which the caller then owns as one. NULL without memory. */
void *vq_dialect_request(const struct vq_route *route, void *take_tree);

/* Fills the fronts of a request. Anthropic: all that stands before the last `cache_control` of the
 * last message. The others cache by themselves, whatever is long enough. `tree` is the one to
 * read. */
void vq_dialect_read_fronts(const void *tree, struct vq_chat_request *request);

/* Bodies of the dialects other than OpenAI's. */
void vq_dialect_write(struct vq_buf *body, enum vq_dialect dialect,
                      const struct vq_chat_answer *answer);

#define VQ_DIALECT_QUOTA_REQUESTS     "GenerateRequestsPerMinutePerProjectPerModel"
#define VQ_DIALECT_QUOTA_INPUT        "GenerateContentInputTokensPerMinutePerProjectPerModel"
#define VQ_DIALECT_QUOTA_TOKENS       "GenerateContentTokensPerMinutePerProjectPerModel"
#define VQ_DIALECT_QUOTA_DAY_REQUESTS "GenerateRequestsPerDayPerProjectPerModel"
#define VQ_DIALECT_QUOTA_DAY_TOKENS   "GenerateContentTokensPerDayPerProjectPerModel"

/* An error as OpenAI calls it, and what others say beside it. */
struct vq_dialect_error {
    unsigned status;
    const char *message;
    const char *code;  /* NULL: none */
    int64_t wait_ms;   /* for dialects that say in the body how long to wait; negative: not said */
    const char *quota; /* of a 429 of Gemini; NULL: none is named */
    uint64_t quota_value; /* 0: none */
};

/* The error in the dialect's own words; returns its status. */
unsigned vq_dialect_write_error(struct vq_buf *body, enum vq_dialect dialect,
                                const struct vq_dialect_error *said);
