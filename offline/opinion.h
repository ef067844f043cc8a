/* The opinion on one question: of the oracle if there is one, else of the lexical judge. */
#pragma once

#include "offline/answer.h"

/* The opinion on `question`, which is the request's only question or one of several. Appends the
 * reason to `analysis`. VQ_NOT_FOUND, with a sentence: the oracle does not know the question. */
enum vq_status vq_opinion_find(const struct vq_answerer *answerer,
                               const struct vq_chat_request *request,
                               const struct vq_sections *question,
                               const struct vq_answer_context *context, struct vq_buf *analysis,
                               struct vq_oracle_answer *ret_said,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* Writes the whole answer to a request that asks for verdicts by number (VQ_WANTED_VERDICTS). The
 * faults of verdicts:
 *   wrong_format  variant missing: every second number is left out; json, numbers, markdown: the
 *                 same verdicts in another form; any other: prose without a number
 *   always_a      A for every number
 * A number is left out if the oracle gives no verdict for it. */
enum vq_status vq_opinions_write(const struct vq_answerer *answerer,
                                 const struct vq_chat_request *request,
                                 const struct vq_answer_context *context, struct vq_buf *to,
                                 struct vq_error *err) VQ_WARN_UNUSED;
