/* Reads a cell as a person's rating, to be compared with those of judges. Pure. */
#pragma once

#include "common/base/buf.h"
#include "common/judge/rating.h"

/* `label` is trimmed and not empty. Likert: 1 to 5. Binary: 1 for yes, y, true, t, pass, passed or
 * 1, and 0 for their opposites. Zeros after the point of a number are ignored (1.0). Pairwise: 1
 * for A, -1 for B, 0 for tie, equal, both, neither or N/A; if `names` is not NULL, its two names
 * mean A and B. Only names are case-sensitive. Returns false if the label is none of these. */
bool vq_human_label_read(enum vq_rating_kind kind, const char *const names[2], struct vq_span label,
                         double *ret_value);
