/* Puts the system part at the beginning of the first message. Not its job: which judges need that
 * (the configuration). */
#include "worker/provider/fold.h"

static const char gap[] = "\n\n";

enum vq_status vq_prompt_fold(const struct vq_judge *judge, struct vq_span *history,
                              struct vq_prompt *prompt, struct vq_buf *text)
{
    if (judge->system_role != VQ_SYSTEM_ROLE_NONE || prompt->system.bytes == 0) {
        return VQ_OK;
    }
    struct vq_span *first = prompt->history_count > 0 ? &history[0] : &prompt->user;
    vq_buf_clear(text);
    vq_buf_append(text, prompt->system.at, prompt->system.bytes);
    vq_buf_puts(text, gap);
    vq_buf_append(text, first->at, first->bytes);
    VQ_TRY(text->status);
    if (first == &prompt->user && prompt->shared_bytes > 0) {
        prompt->shared_bytes += prompt->system.bytes + sizeof(gap) - 1;
    }
    *first = vq_buf_span(text);
    prompt->system = vq_span("", 0);
    return VQ_OK;
}
