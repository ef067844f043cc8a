/* Private to this folder: log-probabilities of a verdict's label. Includes jansson: for .c files
 * only. */
#pragma once

#include "worker/provider/read.h"

#define VQ_LOGPROBS_TOP 5 /* alternatives per token; the number of labels */

/* The form of log-probabilities in a dialect: a list of the tokens of the answer, and alternatives
 * for each one. */
struct vq_logprobs_shape {
    const char *token, *logprob; /* members of a token and of an alternative */
    /* The alternatives at token `at`. NULL: none. */
    const json_t *(*top)(const json_t *all, size_t at);
};

/* Finds the token of the last label after a keyword, and writes the log-probabilities of the labels
 * among its alternatives into reply->label_logprobs: "A=-0.105 B=-2.3", natural logarithms.
 * Alternatives that are the same label are added. If there is no such token, nothing is written.
 * VQ_NOMEM only. */
enum vq_status vq_logprobs_take(const json_t *tokens, const json_t *all,
                                const struct vq_logprobs_shape *shape,
                                struct vq_reply *reply) VQ_WARN_UNUSED;
