/* Private to this folder: the number from 1 to 5 that a short text states. */
#pragma once

#include "common/base/buf.h"

enum vq_rating_number {
    VQ_RATING_NUMBER_NONE,
    VQ_RATING_NUMBER_ONE,
    VQ_RATING_NUMBER_MANY /* it speaks of several, of a part of one, or of one in a sentence */
};

/* ONE: the text begins with a whole number (4, 4.0, -1, $\boxed{4}$, a score of 4), and all else
 * that it numbers is the same one, or the scale: "/5", "out of 5", "on a scale of 1 to 5", "(1-5)".
 * Numbers too large to hold come out as INT64_MAX. */
enum vq_rating_number vq_rating_number(struct vq_span text, int64_t *ret_value);

/* Whether the text is a value and perhaps its scale, with no words beside: 4, 4/5, \boxed{4}, Yes,
 * Response A. */
bool vq_rating_is_bare(struct vq_span text);
