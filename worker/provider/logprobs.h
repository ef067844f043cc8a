/* Private to this folder: log-probabilities of a verdict's label. Includes jansson: for .c files
 * only. */
#pragma once

#include "worker/provider/read.h"

#define VQ_LOGPROBS_TOP 5 /* alternatives that are asked for: as many as there are labels */

/* How a dialect writes them: a list of the tokens of the answer, and for each one its
 * alternatives. */
struct vq_logprobs_shape {
    const char *token, *logprob; /* members of a token and of an alternative */
    /* The alternatives at token `at`. NULL: none. */
    const json_t *(*top)(const json_t *all, size_t at);
};

/* Finds the token at which the last label after a keyword stands, and writes what its alternatives
 * say of the labels into reply->label_logprobs: "A=-0.105 B=-2.3", natural logarithms; alternatives
 * that are the same label are added. Nothing is written where nothing is found. VQ_NOMEM only. */
enum vq_status vq_logprobs_take(const json_t *tokens, const json_t *all,
                                const struct vq_logprobs_shape *shape,
                                struct vq_reply *reply) VQ_WARN_UNUSED;
