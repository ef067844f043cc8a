/* Private to this folder: the rating in a JSON object, without memory of its own. */
#pragma once

#include "common/base/buf.h"

/* The value of the member `result` of the object that the text is or begins, at any depth; where it
 * has none, of `rating`, `score`, `answer` or `verdict`. A string comes without its quotes.
 * `closed`: a character after it ends it. False: the text is no object, or it has none of them, or
 * two. Linear. */
bool vq_rating_json(struct vq_span text, struct vq_span *ret_value, bool *ret_closed);
