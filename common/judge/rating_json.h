/* Private to this folder: finds the rating in a JSON object; allocates nothing. */
#pragma once

#include "common/base/buf.h"

/* Finds the value of the member `result`, at any depth, in the object at the front of the text
 * (which may be cut); if there is none, of `rating`, `score`, `answer` or `verdict`. *ret_value of
 * a string has no quotes. *ret_closed: the value is followed by a character that ends it. False:
 * the text is not an object, or has no such member, or two. Linear. */
bool vq_rating_json(struct vq_span text, struct vq_span *ret_value, bool *ret_closed);
