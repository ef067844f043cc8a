/* Models that take no system message: what would be one goes in front of what the user says first,
 * with an empty line between, as chat templates of such models have it. */
#pragma once

#include "worker/provider/provider.h"

/* Nothing is changed where the judge takes a system part, or there is none. Else `prompt` has none
 * any more, and its first message of the user is `text`, which was cleared, and must live as long
 * as the prompt. `history` is what prompt->history borrows, of which the first one is then
 * replaced. What may be cached reaches as far as before. VQ_OK; VQ_LIMIT: over the limit of `text`;
 * VQ_NOMEM. */
enum vq_status vq_prompt_fold(const struct vq_judge *judge, struct vq_span *history,
                              struct vq_prompt *prompt, struct vq_buf *text) VQ_WARN_UNUSED;
