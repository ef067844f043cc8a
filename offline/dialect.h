/* The dialects of providers' chats: paths, place of the key, requests, answers, errors. Their
 * content is the same: a request is converted into the tree of an OpenAI chat, and read as that. No
 * sockets, no clock. */
#pragma once

#include "offline/chat.h"

const char *vq_dialect_name(enum vq_dialect dialect); /* "openai" ... */

/* The kind of request of a path. */
enum vq_route_kind {
    VQ_ROUTE_NONE, /* not a path for POST requests */
    VQ_ROUTE_CHAT,
    VQ_ROUTE_EMBED,
    VQ_ROUTE_BATCH /* batches and their files, with any method */
};

struct vq_route {
    enum vq_route_kind kind;
    enum vq_dialect dialect;
    char model[VQ_CHAT_MODEL_BYTES]; /* if the path names the model; else empty */
    bool needs_version;              /* ?api-version= */
};

/* /v1/chat/completions, /v1/embeddings; the same under /openai/v1 and /openai/deployments/MODEL;
 * /v1/messages; /v1beta/models/MODEL:generateContent and :batchEmbedContents; and the paths of
 * batches. `path` is without query, percent-decoded. */
void vq_route_of(const char *path, struct vq_route *ret_route);
/* "Authorization", "x-api-key" ...; *ret_prefix is the text before the key ("" or "Bearer "). */
const char *vq_route_key_header(const struct vq_route *route, const char **ret_prefix);

/* Converts the parsed body into the tree of an OpenAI chat. Takes `tree` (a json_t object) and
 * returns the tree to read; the caller owns both as one. NULL: no memory. */
void *vq_dialect_request(const struct vq_route *route, void *take_tree);

/* Fills the fronts of a request. Anthropic: everything before the last `cache_control` of the last
 * message. The other providers cache every prefix that is long enough. `tree` is the tree to
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

/* An error as OpenAI has it, and the additional values of other dialects. */
struct vq_dialect_error {
    unsigned status;
    const char *message;
    const char *code;     /* NULL: none */
    int64_t wait_ms;      /* for dialects with the wait in the body; negative: not given */
    const char *quota;    /* of a 429 of Gemini; NULL: none */
    uint64_t quota_value; /* 0: none */
};

/* Writes the error in the form of the dialect; returns its status. */
unsigned vq_dialect_write_error(struct vq_buf *body, enum vq_dialect dialect,
                                const struct vq_dialect_error *said);
