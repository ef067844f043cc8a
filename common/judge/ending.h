/* Private to this folder: what a provider's reason for ending an answer says of it. */
#ifndef VQ_JUDGE_ENDING_H
#define VQ_JUDGE_ENDING_H

#include "common/base/buf.h"

bool vq_ending_is_refusal(struct vq_span finish_reason, bool refusal); /* refused or filtered */
bool vq_ending_is_cut(struct vq_span finish_reason);                   /* at the token limit */

#endif
