/* What is thought of one question: by the oracle if there is one, else by the lexical judge. */
#pragma once

#include "offline/answer.h"

/* Of `question`, which is the request's own or one of several that it asks. Appends the reason to
 * `analysis`. VQ_NOT_FOUND, with a sentence: the oracle does not know the question. */
enum vq_status vq_opinion_find(const struct vq_answerer *answerer,
                               const struct vq_chat_request *request,
                               const struct vq_sections *question,
                               const struct vq_answer_context *context, struct vq_buf *analysis,
                               struct vq_oracle_answer *ret_said,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* The whole answer to a request that asks for verdicts by number (VQ_WANTED_VERDICTS). What a
 * verdict's fault does to it:
 *   wrong_format  variant missing: every second number is left out; json, numbers, markdown: the
 *                 same verdicts otherwise written; any other: prose without a number
 *   always_a      A for every number
 * A number whose verdict the oracle fails to give is left out. */
enum vq_status vq_opinions_write(const struct vq_answerer *answerer,
                                 const struct vq_chat_request *request,
                                 const struct vq_answer_context *context, struct vq_buf *to,
                                 struct vq_error *err) VQ_WARN_UNUSED;
