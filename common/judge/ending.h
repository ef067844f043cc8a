/* What a provider's word for how an answer ended says of it (endings.def). */
#ifndef VQ_JUDGE_ENDING_H
#define VQ_JUDGE_ENDING_H

#include "common/base/buf.h"

enum vq_ending {
    VQ_ENDING_ORDINARY, /* also where there is no word */
    VQ_ENDING_CUT,      /* at the token limit */
    VQ_ENDING_REFUSED,  /* refused or filtered */
    VQ_ENDING_UNKNOWN   /* no row: perhaps cut, perhaps stopped; never a vote */
};

/* `refusal`: the provider marked the answer as one. */
enum vq_ending vq_ending_of(struct vq_span finish_reason, bool refusal);

#endif
