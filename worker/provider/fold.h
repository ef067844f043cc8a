/* Models that take no system message: the system part goes in front of the first user message, with
 * an empty line between, as the chat templates of such models do it. */
#pragma once

#include "worker/provider/provider.h"

/* Changes nothing if the judge takes a system part, or the prompt has none. Otherwise the prompt
 * has no system part afterwards, and its first user message is `text`. `text` is cleared first, and
 * must live as long as the prompt. `history` is the array that prompt->history borrows; its first
 * message may be replaced. shared_bytes grows by the system part. VQ_OK; VQ_LIMIT: over the limit
 * of `text`; VQ_NOMEM. */
enum vq_status vq_prompt_fold(const struct vq_judge *judge, struct vq_span *history,
                              struct vq_prompt *prompt, struct vq_buf *text) VQ_WARN_UNUSED;
