/* How certain a judge was of its label, by the log-probabilities that the store has for a call
 * (worker/provider/logprobs.h). Pure. */
#pragma once

#include "common/base/buf.h"

/* `text` is "A=-0.1 B=-2.4": natural logarithms, in any order. The margin is the probability of the
 * likeliest label minus that of the second, in [0, 1]; labels that are not named have probability
 * 0. False: no label is named, or the text is not of this form. */
bool vq_label_margin(struct vq_span text, double *ret_margin);
