/* Private to this folder: the number from 1 to 5 that a short text states. */
#pragma once

#include "common/base/buf.h"

enum vq_rating_number {
    VQ_RATING_NUMBER_NONE,
    VQ_RATING_NUMBER_ONE,
    VQ_RATING_NUMBER_MANY /* several numbers, a part of one, or a number in a sentence */
};

/* ONE: the text begins with a whole number (4, 4.0, -1, $\boxed{4}$, a score of 4), and every other
 * number in it is the same one, or the scale: "/5", "out of 5", "on a scale of 1 to 5", "(1-5)".
 * Too large numbers become INT64_MAX. */
enum vq_rating_number vq_rating_number(struct vq_span text, int64_t *ret_value);

/* Whether the text is only a value, perhaps with its scale, without other words: 4, 4/5, \boxed{4},
 * Yes, Response A. */
bool vq_rating_is_bare(struct vq_span text);
