/* The names that providers have for how an answer ended. Not its job: what the answer says all the same. */
#include "common/judge/ending.h"

#include "common/judge/label.h"

bool vq_ending_is_refusal(struct vq_span finish_reason, bool refusal)
{
    static const char *const filtered[] = {"content_filter", "refusal", "safety"};
    return refusal || vq_label_word_is_any(finish_reason, filtered, VQ_COUNT(filtered));
}

bool vq_ending_is_cut(struct vq_span finish_reason)
{
    static const char *const cut[] = {"length", "max_tokens", "model_length"};
    return vq_label_word_is_any(finish_reason, cut, VQ_COUNT(cut));
}
